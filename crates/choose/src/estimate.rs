//! Figures of drives with their intervals, and differences between drives.
//!
//! Intervals are of 95 %, by the jackknife: the figure is taken once more without each window, and
//! how far these values lie apart says how far the figure of another trace like this one may lie.
//! Figures vary by factors, so their intervals are taken over logarithms and lie above zero; a
//! figure that is 0 without one of the windows has none. A difference of two drives is taken
//! without the same windows for both, so that what the windows have in common drops out; it has
//! either sign, so no logarithm is taken of it. An interval is about the trace; how far a simulated
//! drive is from the real one, its calibration says.

use serde::Serialize;
use ssdtune_estimate::student;
use std::fmt;

/// What drives are compared by.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Figure {
    /// The mean latency.
    Mean,
    /// The 99th percentile of latency.
    P99,
    /// Bytes moved in a second.
    Throughput,
    /// Pages programmed for each page that the host wrote.
    WriteAmplification,
    /// Bytes that the host can write until the flash is worn out.
    Endurance,
}

impl Figure {
    /// All figures, in the order of [`Figures`].
    pub const ALL: [Self; 5] =
        [Self::Mean, Self::P99, Self::Throughput, Self::WriteAmplification, Self::Endurance];

    /// Its name on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Self::Mean => "mean",
            Self::P99 => "p99",
            Self::Throughput => "throughput",
            Self::WriteAmplification => "write-amplification",
            Self::Endurance => "endurance",
        }
    }

    /// Whether less of it is better.
    pub fn is_cost(self) -> bool {
        !matches!(self, Self::Throughput | Self::Endurance)
    }
}

impl fmt::Display for Figure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl std::str::FromStr for Figure {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let found = Self::ALL.into_iter().find(|figure| figure.name() == text);
        found.ok_or_else(|| format!("write {}", Self::ALL.map(Self::name).join(", ")))
    }
}

/// A value for each figure. Latencies are in nanoseconds, from the arrival at the host to the
/// completion.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Figures<T> {
    /// Mean latency.
    pub latency_ns_mean: Option<T>,
    /// 99th percentile of latency.
    pub latency_ns_p99: Option<T>,
    /// Bytes moved in a second.
    pub throughput_bytes_per_s: Option<T>,
    /// Pages programmed for each page that the host wrote.
    pub write_amplification: Option<T>,
    /// Bytes that the host can write until the flash is worn out, in units of 10^12.
    pub terabytes_written: Option<T>,
}

impl<T: Copy> Figures<T> {
    /// From the value of each figure, by its place in [`Figure::ALL`].
    pub(crate) fn of(value: impl Fn(usize) -> Option<T>) -> Self {
        Self {
            latency_ns_mean: value(0),
            latency_ns_p99: value(1),
            throughput_bytes_per_s: value(2),
            write_amplification: value(3),
            terabytes_written: value(4),
        }
    }

    /// The value of a figure.
    pub fn get(&self, figure: Figure) -> Option<T> {
        match figure {
            Figure::Mean => self.latency_ns_mean,
            Figure::P99 => self.latency_ns_p99,
            Figure::Throughput => self.throughput_bytes_per_s,
            Figure::WriteAmplification => self.write_amplification,
            Figure::Endurance => self.terabytes_written,
        }
    }
}

/// A figure and its interval.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Estimate {
    /// The figure.
    pub value: f64,
    /// The lower end of its interval; `None` with too few windows.
    pub low: Option<f64>,
    /// The upper end.
    pub high: Option<f64>,
}

/// How far a figure is above that of another drive.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Difference {
    /// The difference.
    pub value: f64,
    /// The lower end of its interval; `None` with too few windows.
    pub low: Option<f64>,
    /// The upper end.
    pub high: Option<f64>,
    /// Whether the interval lies on one side of 0. Without an interval nothing is decided.
    pub is_decided: bool,
}

/// How many times that of another drive a figure is, as windows of a trace tell it.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Times {
    /// The ratio.
    pub value: f64,
    /// The lower end of its interval; `None` where windows tell none.
    pub low: Option<f64>,
    /// The upper end.
    pub high: Option<f64>,
    /// Whether the interval lies on one side of 1. Without an interval nothing is decided.
    pub is_decided: bool,
}

/// The place of write amplification in [`Figure::ALL`].
const WRITE_AMPLIFICATION: usize = 3;

/// The figures of a run: each over all windows, and over all but each one.
#[derive(Clone, Debug)]
pub(crate) struct Measured {
    pub(crate) figures: [Option<(f64, Vec<f64>)>; 5],
    pub(crate) windows: usize,
}

impl Measured {
    pub(crate) fn estimates(&self) -> Figures<Estimate> {
        Figures::of(|at| {
            let (value, parts) = self.figures[at].as_ref()?;
            let logs: Vec<f64> = parts.iter().map(|part| part.ln()).collect();
            let known = half_width(&logs).filter(|half| half.is_finite());
            let factor = known.map(f64::exp);
            let (low, high) = (factor.map(|by| value / by), factor.map(|by| value * by));
            // Each page of the host is programmed once at least.
            let written = self.figures[WRITE_AMPLIFICATION].as_ref().map_or(1.0, |own| own.0);
            let (low, high) = match Figure::ALL[at] {
                Figure::WriteAmplification => (low.map(|low| low.max(1.0)), high),
                Figure::Endurance => (low, high.map(|high| high.min(value * written))),
                _ => (low, high),
            };
            Some(Estimate { value: *value, low, high })
        })
    }

    /// How far these figures are above those of another drive with the same requests.
    pub(crate) fn above(&self, other: &Self) -> Figures<Difference> {
        Figures::of(|at| {
            let ((own, parts), (others, their)) =
                (self.figures[at].as_ref()?, other.figures[at].as_ref()?);
            let value = own - others;
            let differences: Vec<f64> = match parts.len() == their.len() {
                true => parts.iter().zip(their).map(|(one, other)| one - other).collect(),
                false => Vec::new(),
            };
            let half = half_width(&differences);
            let (low, high) = (half.map(|half| value - half), half.map(|half| value + half));
            let is_decided = half.is_some_and(|half| value.abs() > half);
            Some(Difference { value, low, high, is_decided })
        })
    }
}

/// Half the width of the interval of a figure, from its values without each window.
fn half_width(parts: &[f64]) -> Option<f64> {
    let count = parts.len() as f64;
    if parts.len() < 2 {
        return None;
    }
    let mean = parts.iter().sum::<f64>() / count;
    let squares: f64 = parts.iter().map(|part| (part - mean).powi(2)).sum();
    let variance = (count - 1.0) / count * squares;
    Some(student(count - 1.0) * variance.sqrt())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Of a mean, the jackknife is the textbook's interval.
    #[test]
    fn the_interval_of_a_mean_is_that_of_the_textbook() {
        let values = [3.0, 5.0, 4.0, 8.0, 6.0, 7.0];
        let count = values.len() as f64;
        let sum: f64 = values.iter().sum();
        let parts: Vec<f64> = values.iter().map(|value| (sum - value) / (count - 1.0)).collect();
        let mean = sum / count;
        let variance =
            values.iter().map(|value| (value - mean).powi(2)).sum::<f64>() / (count - 1.0);
        let expected = student(count - 1.0) * (variance / count).sqrt();
        assert!((half_width(&parts).unwrap() - expected).abs() < 1e-12);
        assert_eq!(half_width(&parts[..1]), None);
    }

    /// However much windows differ, no drive has a latency or an endurance below zero: the ends are
    /// as far away, as factors, as those of the logarithm's mean are in units.
    #[test]
    fn the_interval_of_a_figure_is_that_of_its_logarithm() {
        let told = |parts: Vec<f64>| {
            let mut figures = [const { None }; 5];
            figures[0] = Some((29.5, parts));
            Measured { figures, windows: 10 }.estimates().latency_ns_mean.unwrap()
        };
        let logs: Vec<f64> = (0..10).map(|at| f64::from(at * at) / 10.0).collect();
        let own = told(logs.iter().map(|log| log.exp()).collect());
        let half = half_width(&logs).unwrap();
        let (low, high) = (own.low.unwrap(), own.high.unwrap());
        assert!(low > 0.0 && half > 5.0, "{low} {half}");
        assert!(((high / own.value).ln() - half).abs() < 1e-12);
        assert!(((own.value / low).ln() - half).abs() < 1e-12);
        let mut figures = [const { None }; 5];
        figures[3] = Some((1.25, logs.iter().map(|log| log.exp()).collect()));
        figures[4] = Some((80.0, logs.iter().map(|log| (-log).exp()).collect()));
        let bounded = Measured { figures, windows: 10 }.estimates();
        assert_eq!(Figure::ALL[WRITE_AMPLIFICATION], Figure::WriteAmplification);
        assert_eq!(bounded.write_amplification.unwrap().low, Some(1.0));
        assert_eq!(bounded.terabytes_written.unwrap().high, Some(100.0), "if nothing is moved");
        let none = told(vec![1.0, 0.0, 2.0, 1.5, 1.0, 1.2]);
        assert_eq!((none.low, none.high), (None, None), "without one window nothing is left");
    }

    /// Two drives whose windows vary much, and together: the difference is known all the same.
    #[test]
    fn what_windows_have_in_common_drops_out_of_differences() {
        let run = |above: f64| {
            let parts: Vec<f64> = (0..10).map(|at| above + f64::from(at * at)).collect();
            let mut figures = [const { None }; 5];
            figures[0] = Some((above + 28.5, parts));
            Measured { figures, windows: 10 }
        };
        let difference = run(2.0).above(&run(1.0)).latency_ns_mean.unwrap();
        assert_eq!((difference.value, difference.is_decided), (1.0, true));
        let estimate = run(2.0).estimates().latency_ns_mean.unwrap();
        assert!(estimate.high.unwrap() - estimate.value > 10.0, "{estimate:?}");
        assert_eq!(run(2.0).above(&run(1.0)).write_amplification, None);
        let same = run(2.0).above(&run(2.0)).latency_ns_mean.unwrap();
        assert!(!same.is_decided);
    }
}
