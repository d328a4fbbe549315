//! How the throughput of a run falls from that of a drive with free blocks to that of one which
//! collects as much as it is given.
//!
//! Levels are in MiB/s, times in seconds from the beginning of the run. Measured and predicted runs
//! are looked at in the same samples by the same rule.

use serde::Serialize;

/// The part of the span that is written at the level before, and at the lowest.
const SHARE: f64 = 0.05;
/// Where the level after is above this part of the one before, nothing fell.
const STEADY: f64 = 0.9;

/// What the host wrote up to a time, since the sample before.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Sample {
    /// The end of the sample.
    pub seconds: f64,
    /// Its mean throughput.
    pub mib_per_second: f64,
}

/// The throughput of a run before and after it falls.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Fall {
    /// MiB/s while the first 5 % of the span are written, and in the first sample at least.
    pub before: f64,
    /// MiB/s in the end: the median over the last third of the time.
    pub after: f64,
    /// MiB/s while 5 % of the span are written, where that takes longest.
    pub lowest: f64,
    /// When the throughput fell below the middle of before and after for good; `None` where the
    /// level after is above 90 % of the level before.
    pub seconds: Option<f64>,
    /// How many times the span was written until then.
    pub passes: Option<f64>,
}

impl Fall {
    /// `None` without samples, or where less than 5 % of the span was written.
    pub fn of(samples: &[Sample], span_bytes: u64) -> Option<Self> {
        let span = span_bytes as f64 / 1_048_576.0;
        let parts = parts(samples);
        let share = SHARE * span;
        let before = *slices(&parts, share).first()?;
        let lowest = slices(&parts, share).into_iter().fold(before, f64::min);
        let after = level_after(samples);
        let at = (after <= STEADY * before).then(|| crossing(&parts, f64::midpoint(before, after)));
        let (seconds, written) = at.flatten().unzip();
        let passes = written.map(|written: f64| written / span);
        Some(Self { before, after, lowest, seconds, passes })
    }
}

/// What was written in all, in MiB.
pub(super) fn written(samples: &[Sample]) -> f64 {
    parts(samples).iter().map(|(from, until, rate)| (until - from) * rate).sum()
}

/// The median of the last third of the time.
pub(super) fn level_after(samples: &[Sample]) -> f64 {
    let end = samples.last().map_or(0.0, |last| last.seconds);
    let last = samples.iter().filter(|sample| sample.seconds > end * 2.0 / 3.0);
    let mut rates: Vec<f64> = last.map(|sample| sample.mib_per_second).collect();
    rates.sort_by(f64::total_cmp);
    rates.get(rates.len() / 2).copied().unwrap_or(0.0)
}

/// Beginning, end and throughput of each sample.
fn parts(samples: &[Sample]) -> Vec<(f64, f64, f64)> {
    let starts = [0.0].into_iter().chain(samples.iter().map(|sample| sample.seconds));
    let part = |(from, sample): (f64, &Sample)| (from, sample.seconds, sample.mib_per_second);
    starts.zip(samples).map(part).collect()
}

/// The throughput of the fewest samples from each one on that write `share` MiB.
fn slices(parts: &[(f64, f64, f64)], share: f64) -> Vec<f64> {
    let (mut all, mut last, mut written) = (Vec::new(), 0, 0.0);
    for (first, (from, until, rate)) in parts.iter().enumerate() {
        while written < share {
            let Some((from, until, rate)) = parts.get(last) else { return all };
            (last, written) = (last + 1, written + (until - from) * rate);
        }
        debug_assert!(last > first);
        all.push(written / (parts[last - 1].1 - from));
        written -= (until - from) * rate;
    }
    all
}

/// When the throughput falls below a level for good, and how many MiB were written until then.
/// Between the middles of two samples it is taken as a straight line.
fn crossing(parts: &[(f64, f64, f64)], level: f64) -> Option<(f64, f64)> {
    let last = parts.iter().rposition(|part| part.2 >= level)?;
    let (above, below) = (parts[last], parts.get(last + 1)?);
    let middle = |part: &(f64, f64, f64)| f64::midpoint(part.0, part.1);
    let share = (above.2 - level) / (above.2 - below.2);
    let seconds = middle(&above) + share * (middle(below) - middle(&above));
    let in_part = |part: &(f64, f64, f64)| (seconds.min(part.1) - part.0).max(0.0) * part.2;
    Some((seconds, parts[..=last + 1].iter().map(in_part).sum()))
}

#[cfg(test)]
mod tests {
    use super::*;

    const SPAN: u64 = 1000 << 20;

    fn samples(step: f64, rates: &[f64]) -> Vec<Sample> {
        let one = |(nth, rate): (usize, &f64)| Sample {
            seconds: step * (nth + 1) as f64,
            mib_per_second: *rate,
        };
        rates.iter().enumerate().map(one).collect()
    }

    #[test]
    fn a_fall_has_levels_a_time_and_what_was_written_until_then() {
        let rates = [100.0, 100.0, 100.0, 100.0, 20.0, 30.0, 40.0, 40.0, 40.0, 40.0, 40.0, 42.0];
        let all = samples(1.0, &rates);
        let fall = Fall::of(&all, SPAN).unwrap();
        assert_eq!((fall.before, fall.after), (100.0, 40.0));
        // 70 is 3/8 of the way from 100 to 20, between the middles of the 4th and 5th second.
        assert!((fall.seconds.unwrap() - 3.875).abs() < 1e-9, "{fall:?}");
        assert!((fall.passes.unwrap() - 0.3875).abs() < 1e-9, "{fall:?}");
        // 5 % of the span, 50 MiB, take the two seconds at 20 and 30 MiB/s.
        assert!((fall.lowest - 25.0).abs() < 1e-9, "{fall:?}");
        assert_eq!(written(&all), rates.iter().sum::<f64>());
        // Coarser samples of the same run: the same levels, and nearly the same time.
        let coarse = samples(2.0, &[100.0, 100.0, 25.0, 40.0, 40.0, 41.0]);
        let other = Fall::of(&coarse, SPAN).unwrap();
        assert!((other.seconds.unwrap() / fall.seconds.unwrap() - 1.0).abs() < 0.05, "{other:?}");
    }

    #[test]
    fn a_rise_above_the_middle_counts_and_what_does_not_fall_has_no_time() {
        let rates = [100.0, 30.0, 90.0, 90.0, 20.0, 20.0, 20.0, 20.0, 20.0];
        let fall = Fall::of(&samples(1.0, &rates), SPAN).unwrap();
        assert!((3.5..4.0).contains(&fall.seconds.unwrap()), "{fall:?}");
        let steady = Fall::of(&samples(1.0, &[100.0, 95.0, 96.0, 94.0]), SPAN).unwrap();
        assert_eq!((steady.seconds, steady.passes), (None, None));
        assert_eq!(Fall::of(&samples(1.0, &[10.0, 10.0]), SPAN), None);
        assert_eq!(Fall::of(&[], SPAN), None);
    }
}
