//! How the throughput of a run falls from that of a drive with free blocks to that of one which
//! collects as much as it is given.
//!
//! Levels are in MiB/s, times in seconds from the beginning of the run. Measured and predicted runs
//! are looked at in the same samples by the same rule.

use serde::{Deserialize, Serialize};

/// The part of the span that is written at the level before, and at the lowest.
const SHARE: f64 = 0.05;
/// Where the level after is above this part of the one before, nothing fell.
const STEADY: f64 = 0.9;

/// What the host wrote up to a time, since the sample before.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
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
    /// How well the time is known, in seconds in each direction, unless the fall is sudden: half
    /// the time between the middles of the parts before and behind it, each as long as it takes to
    /// write 5 % of the span, and one sample at least.
    pub known_within: Option<f64>,
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
        let middle = f64::midpoint(before, after);
        let is_fall = after <= STEADY * before;
        let at = is_fall.then(|| crossing(&joined(&parts, share), middle)).flatten();
        Some(Self {
            before,
            after,
            lowest,
            seconds: at.map(|at| at.seconds),
            passes: at.map(|at| at.written / span),
            known_within: at.map(|at| at.within),
        })
    }
}

/// The samples until the first 5 % of the span are written, those of the level before.
pub(crate) fn first(samples: &[Sample], span_bytes: u64) -> &[Sample] {
    let mut left = SHARE * span_bytes as f64 / 1_048_576.0;
    let is_enough = |(from, until, rate): (f64, f64, f64)| {
        left -= (until - from) * rate;
        left <= 0.0
    };
    let end = parts(samples).into_iter().position(is_enough);
    &samples[..end.map_or(samples.len(), |end| end + 1)]
}

/// The mean throughput of samples, in MiB/s.
pub(crate) fn mean(samples: &[Sample]) -> Option<f64> {
    Some(written(samples) / samples.last()?.seconds)
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

/// Where the throughput falls below a level for good.
#[derive(Clone, Copy, Debug)]
struct Crossing {
    seconds: f64,
    /// MiB until then.
    written: f64,
    /// How well the time is known.
    within: f64,
}

/// When the throughput falls below a level for good. Of the last part above it and the first one
/// below, one may hold a sudden fall: it was when the throughput before them would have to change
/// into that behind them so that as much is written in both. So the time of a sudden fall is known
/// better than parts are long; it is never outside of these two.
fn crossing(parts: &[(f64, f64, f64)], level: f64) -> Option<Crossing> {
    let last = parts.iter().rposition(|part| part.2 >= level)?;
    let (above, below) = (parts[last], *parts.get(last + 1)?);
    let ahead = last.checked_sub(1).map_or(above.2, |at| parts[at].2).max(above.2);
    let behind = parts.get(last + 2).map_or(below.2, |part| part.2).min(below.2);
    let (from, length) = (above.0, below.1 - above.0);
    let both = (above.1 - above.0) * above.2 + (below.1 - below.0) * below.2;
    let share = ((both / length - behind) / (ahead - behind)).clamp(0.0, 1.0);
    let before: f64 = parts[..last].iter().map(|part| (part.1 - part.0) * part.2).sum();
    let within = (f64::midpoint(below.0, below.1) - f64::midpoint(above.0, above.1)) / 2.0;
    let seconds = from + share * length;
    Some(Crossing { seconds, written: before + share * length * ahead, within })
}

/// Samples joined so that each part writes `share` MiB, and is one sample at least: what is left in
/// the end belongs to the last one.
fn joined(parts: &[(f64, f64, f64)], share: f64) -> Vec<(f64, f64, f64)> {
    let mut all: Vec<(f64, f64, f64)> = Vec::new();
    let mut is_full = true;
    for &(from, until, rate) in parts {
        match all.last_mut() {
            Some(last) if !is_full => {
                let written = (last.1 - last.0) * last.2 + (until - from) * rate;
                *last = (last.0, until, written / (until - last.0));
            }
            _ => all.push((from, until, rate)),
        }
        is_full = all.last().is_none_or(|last| (last.1 - last.0) * last.2 >= share);
    }
    all
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
        assert!((fall.seconds.unwrap() - 4.0).abs() < 1e-9, "{fall:?}");
        assert!((fall.passes.unwrap() - 0.4).abs() < 1e-9, "{fall:?}");
        // The first part behind the fall has the 5th and the 6th second.
        assert_eq!(fall.known_within, Some(0.75));
        // 5 % of the span, 50 MiB, take the two seconds at 20 and 30 MiB/s.
        assert!((fall.lowest - 25.0).abs() < 1e-9, "{fall:?}");
        assert_eq!(written(&all), rates.iter().sum::<f64>());
        // The first sample writes 10 % of the span; of a span twice as long two are needed.
        assert_eq!((first(&all, SPAN).len(), first(&all, 3 * SPAN).len()), (1, 2));
        assert_eq!(mean(first(&all, 9 * SPAN)), Some((400.0 + 20.0 + 30.0) / 6.0));
        // Coarser samples of the same run: the same levels, and nearly the same time.
        let coarse = samples(2.0, &[100.0, 100.0, 25.0, 40.0, 40.0, 41.0]);
        let other = Fall::of(&coarse, SPAN).unwrap();
        assert!((other.seconds.unwrap() / fall.seconds.unwrap() - 1.0).abs() < 0.05, "{other:?}");
    }

    /// However the samples lie, as long as one of a level is on each side.
    #[test]
    fn a_sudden_fall_is_found_in_long_samples() {
        for (at, step) in [(210.0, 60.0), (240.0, 60.0), (250.0, 60.0), (299.0, 60.0), (250.0, 7.0)]
        {
            let until = |end: f64| 1000.0 * end.min(at) + 300.0 * (end - at).max(0.0);
            let sample = |nth: u32| {
                let (from, seconds) = (step * f64::from(nth), step * f64::from(nth + 1));
                Sample { seconds, mib_per_second: (until(seconds) - until(from)) / step }
            };
            let all: Vec<Sample> = (0..200).map(sample).collect();
            let fall = Fall::of(&all, 1000 * SPAN / 5).unwrap();
            assert!((fall.seconds.unwrap() - at).abs() < 1e-6, "{at} {step}: {fall:?}");
            assert!((fall.passes.unwrap() - at / 200.0).abs() < 1e-6, "{at} {step}: {fall:?}");
        }
    }

    #[test]
    fn a_rise_above_the_middle_counts_and_what_does_not_fall_has_no_time() {
        let rates = [100.0, 30.0, 90.0, 90.0, 20.0, 20.0, 20.0, 20.0, 20.0];
        let fall = Fall::of(&samples(1.0, &rates), SPAN).unwrap();
        assert!((fall.seconds.unwrap() - 4.0).abs() < 1e-9, "{fall:?}");
        // One sample above the middle, as short as it is, is no rise.
        let rates = [100.0, 100.0, 20.0, 20.0, 61.0, 20.0, 20.0, 20.0, 20.0, 20.0, 20.0, 20.0];
        let short = Fall::of(&samples(1.0, &rates), 2 * SPAN).unwrap();
        assert!((1.9..2.7).contains(&short.seconds.unwrap()), "{short:?}");
        let steady = Fall::of(&samples(1.0, &[100.0, 95.0, 96.0, 94.0]), SPAN).unwrap();
        assert_eq!((steady.seconds, steady.passes), (None, None));
        assert_eq!(Fall::of(&samples(1.0, &[10.0, 10.0]), SPAN), None);
        assert_eq!(Fall::of(&[], SPAN), None);
    }
}
