//! How much one policy differs from another, load by load, and whether that is more than chance.
//!
//! Loads differ far more than policies do, so both are compared on the same load: the logarithm of
//! the ratio of their figures, its mean over the loads, and the interval of the mean by Student's
//! distribution. An interval that holds zero decides nothing.

use serde::Serialize;
use ssdtune_estimate::student;
use ssdtune_report::Bar;

/// What an interval of 95 % says of a difference.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Verdict {
    /// The whole interval lies below zero.
    Less,
    /// The whole interval lies above zero.
    More,
    /// The interval holds zero, or there are fewer than two loads.
    Undecided,
}

impl Verdict {
    /// The verdict as a word.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Less => "less",
            Self::More => "more",
            Self::Undecided => "undecided",
        }
    }
}

/// How a figure of a policy differs from that of another.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Paired {
    /// The figure, such as `write_amplification`.
    pub figure: &'static str,
    /// The policy's label.
    pub policy: String,
    /// The label of the policy that it is compared with.
    pub beside: String,
    /// Loads that both were measured on.
    pub loads: usize,
    /// Geometric mean of the ratios, less one, in percent.
    pub change_percent: f64,
    /// Where the change lies with 95 % confidence, in percent; `None` with fewer than two loads.
    pub interval_percent: Option<[f64; 2]>,
    /// What that says.
    pub verdict: Verdict,
}

impl Paired {
    /// The change as a bar of a chart, with its interval.
    pub fn bar(&self) -> Bar {
        let label = format!("{:+.1} %", self.change_percent);
        Bar::from(self.change_percent).labelled(label).within(self.interval_percent)
    }

    /// Compares pairs of figures above zero: the policy's and the other's. `None` without any.
    pub fn of(
        figure: &'static str,
        policy: &str,
        beside: &str,
        pairs: impl IntoIterator<Item = (f64, f64)>,
    ) -> Option<Self> {
        let logs: Vec<f64> = pairs.into_iter().map(|(own, other)| (own / other).ln()).collect();
        let count = logs.len() as f64;
        let mean = logs.iter().sum::<f64>() / count;
        let percent = |log: f64| 100.0 * log.exp_m1();
        let interval_percent = (logs.len() > 1).then(|| {
            let squares: f64 = logs.iter().map(|log| (log - mean).powi(2)).sum();
            let half = student(count - 1.0) * (squares / (count - 1.0) / count).sqrt();
            [percent(mean - half), percent(mean + half)]
        });
        (!logs.is_empty()).then(|| Self {
            figure,
            policy: policy.to_owned(),
            beside: beside.to_owned(),
            loads: logs.len(),
            change_percent: percent(mean),
            interval_percent,
            verdict: match interval_percent {
                Some([_, high]) if high < 0.0 => Verdict::Less,
                Some([low, _]) if low > 0.0 => Verdict::More,
                _ => Verdict::Undecided,
            },
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn paired(pairs: &[(f64, f64)]) -> Option<Paired> {
        Paired::of("erases", "haml", "none", pairs.iter().copied())
    }

    #[test]
    fn a_difference_beyond_chance_is_named() {
        // Ratios of 0.5 and 0.25: logarithms of mean -1.0397, deviation 0.4901, error 0.3466, with
        // one degree of freedom +- 4.404.
        let two = paired(&[(1.0, 2.0), (1.0, 4.0)]).unwrap();
        assert!((two.change_percent - (100.0 * 8.0_f64.powf(-0.5) - 100.0)).abs() < 1e-9);
        let [low, high] = two.interval_percent.unwrap();
        assert!((low + 99.57).abs() < 0.01 && (high - 2791.0).abs() < 2.0, "{low} {high}");
        assert_eq!((two.loads, two.verdict), (2, Verdict::Undecided));
        let below = [(1.0, 2.0), (1.0, 2.1), (1.0, 1.9), (1.0, 2.0)];
        assert_eq!(paired(&below).unwrap().verdict, Verdict::Less);
        let above = below.map(|(own, other)| (other, own));
        assert_eq!(paired(&above).unwrap().verdict, Verdict::More);
    }

    #[test]
    fn one_load_decides_nothing_and_none_says_nothing() {
        let one = paired(&[(1.0, 2.0)]).unwrap();
        assert_eq!((one.interval_percent, one.verdict), (None, Verdict::Undecided));
        assert_eq!(paired(&[]), None);
        let same = paired(&[(1.0, 1.0), (3.0, 3.0)]).unwrap();
        assert_eq!((same.interval_percent, same.verdict), (Some([0.0; 2]), Verdict::Undecided));
    }
}
