//! How far speedups are known that come from windows of long traces, or from whole traces on drives
//! in several states.

use crate::evaluate::{WindowFigures, WorkloadMeasurement};
use crate::grade::Speedup;
use crate::workload::{Trace, Workload};
use serde::Serialize;
use ssdtune_estimate::{Interval, Measured, Ratio, WINDOWS_MIN};
use ssdtune_experiment::sampled::LATE_MAX;

/// A half-width that is good enough for a drive that is recommended: 2 %.
pub(crate) const PRECISION: f64 = 0.02;

/// Where the speedups of a drive lie with 95 %.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct SpeedupInterval {
    /// That of latency; `None` where windows do not tell.
    pub latency: Option<Interval>,
    /// That of throughput.
    pub throughput: Option<Interval>,
    /// Windows that were measured, over all traces; 0 if traces ran whole.
    pub windows: usize,
    /// States of the drives from which whole traces ran, equally likely ones; 0 for windows.
    #[serde(skip_serializing_if = "is_zero")]
    pub states: usize,
    /// Requests of the traces that ran whole since windows do not tell them to 2 %; 0 for others.
    /// `collects`, `is_late`, `few_seconds`, `waits_for_flash` then say what its windows are like.
    #[serde(skip_serializing_if = "is_zero")]
    pub whole: usize,
    /// One of the drives collects in the windows: what they say depends on how far it is in that,
    /// and intervals have been seen to lie.
    pub collects: bool,
    /// One of the drives cannot keep up with the trace in windows that have more than a twentieth
    /// of all latency: how much waits there when they begin is not known.
    pub is_late: bool,
    /// A trace writes pages again and again, and one of the drives is soon done with it in the
    /// closed loop: what its data cache keeps depends on luck.
    pub few_seconds: bool,
    /// The closed loop fills the write buffer of one of the drives and waits for flash: how full
    /// the buffer is when a window begins is not known.
    pub waits_for_flash: bool,
}

impl SpeedupInterval {
    /// The interval of a drive over another on a workload; `None` if no trace of it is measured on
    /// windows.
    pub(crate) fn of(
        workload: &Workload,
        own: &WorkloadMeasurement,
        reference: &WorkloadMeasurement,
    ) -> Option<Self> {
        workload.traces.iter().find_map(Trace::windows)?;
        let pairs = || own.traces().iter().zip(reference.traces());
        let collects = pairs().any(|(own, reference)| {
            let runs = [&own.open, &own.closed, &reference.open, &reference.closed];
            runs.into_iter().flatten().any(|run| run.collections > 0)
        });
        let windows = pairs().map(|(own, _)| own.windows.len()).sum();
        let none = Self { windows, collects, ..Self::default() };
        if collects {
            return Some(none);
        }
        let each: Vec<Option<[Ratio; 2]>> = (workload.traces.iter().zip(pairs()))
            .filter_map(|(trace, (own, reference))| {
                let reach = trace.windows()?.reach();
                let both = own.windows.iter().zip(&reference.windows);
                let ratio = |value: fn(&WindowFigures) -> f64| {
                    let measured = both.clone().map(|(own, reference)| Measured {
                        chance: own.chance,
                        below: value(own),
                        above: value(reference),
                    });
                    Ratio::of(&measured.collect::<Vec<_>>(), reach)
                };
                Some((|| Some([ratio(|own| own.latency_ns)?, ratio(|own| own.closed_ns)?]))())
            })
            .collect();
        let joined = |of: usize| joined(&each, of, workload.traces.len());
        let is_late = [own, reference].iter().any(|one| late_share(one) > LATE_MAX);
        let latency = joined(0).filter(|_| !is_late);
        let any = |is: fn(&WindowFigures) -> bool| {
            pairs().any(|(own, reference)| own.windows.iter().chain(&reference.windows).any(is))
        };
        let few_seconds = any(|window| window.few_seconds);
        let waits_for_flash = any(|window| window.waits_for_flash);
        let throughput = joined(1).filter(|_| !few_seconds && !waits_for_flash);
        Some(Self { latency, throughput, is_late, few_seconds, waits_for_flash, ..none })
    }

    /// The interval of speedups that were measured from several states of used drives. Their
    /// logarithms are taken to be normally distributed.
    pub(crate) fn of_states(speedups: &[Speedup]) -> Self {
        let of = |part: fn(&Speedup) -> f64| {
            let logs: Vec<f64> = speedups.iter().map(|speedup| part(speedup).ln()).collect();
            mean_interval(&logs).map(|[low, high]| Interval { low: low.exp(), high: high.exp() })
        };
        Self {
            latency: of(|speedup| speedup.latency),
            throughput: of(|speedup| speedup.throughput),
            states: speedups.len(),
            ..Self::default()
        }
    }

    /// This one, of whole traces, in place of that of their windows.
    pub(crate) fn in_place_of(self, windows: Self, whole: &Workload) -> Self {
        let Self { collects, is_late, few_seconds, waits_for_flash, .. } = windows;
        let whole = whole.traces.iter().map(|trace| trace.requests().len()).sum();
        Self { whole, collects, is_late, few_seconds, waits_for_flash, ..self }
    }

    /// Whether anything is left open: figures of whole traces need not differ from state to state.
    pub(crate) fn has_width(&self) -> bool {
        [self.latency, self.throughput].iter().any(|own| own.is_none_or(|own| own.low < own.high))
    }

    /// Whether both are known to 2 %.
    pub fn is_precise(&self) -> bool {
        [self.latency, self.throughput]
            .iter()
            .all(|own| own.is_some_and(|own| own.half_width() <= PRECISION))
    }

    /// How many times as many windows would tell both to 2 %; `None` if that is reached, or if more
    /// windows would tell nothing. A width shrinks with the square root of the number of windows.
    pub(crate) fn windows_missing(&self) -> Option<f64> {
        if self.states > 0 {
            return None;
        }
        let few = WINDOWS_MIN as f64 / self.windows.max(1) as f64;
        let each = [self.latency, self.throughput].into_iter().flatten();
        let widest = each.map(|own| own.half_width()).fold(0.0, f64::max);
        let wanted = few.max((widest / PRECISION).powi(2));
        (!self.collects && wanted > 1.0).then_some(wanted)
    }

    /// What to say of a drive that is known to be worse than the baseline, by these intervals of
    /// requests that no search has seen, where it was not worse on those of the search.
    pub(crate) fn worse(&self, seen: &Speedup) -> Option<String> {
        let figures = [
            (self.latency, seen.latency, "latency"),
            (self.throughput, seen.throughput, "throughput"),
        ];
        let worse = |(own, seen, name): (Option<Interval>, f64, &str)| {
            let own = own.filter(|own| own.high < 1.0 && seen > 1.0 - PRECISION)?;
            Some(format!("{name} {:.2}x to {:.2}x", own.low, own.high))
        };
        let worse: Vec<String> = figures.into_iter().filter_map(worse).collect();
        (!worse.is_empty()).then(|| {
            let on = match self.whole {
                0 => "on requests that the search has not seen",
                _ => "over the whole trace",
            };
            // With --requests a search would leave the windows for the first requests alone.
            let advice = match (self.whole, self.windows) {
                (0, 0) => "more --requests, or a larger --budget",
                _ => "a larger --budget",
            };
            let worse = worse.join(", ");
            format!(
                "{on} the drive is worse than the baseline (95 %: {worse}): search with {advice}"
            )
        })
    }

    /// What a reader must know of it, if 2 % are not reached.
    pub(crate) fn note(&self) -> Option<String> {
        let windows = self.windows;
        if self.whole > 0 {
            return Some(self.note_of_whole());
        }
        if self.collects {
            return Some(format!(
                "told from {windows} windows in which a drive collects, so no interval is given; \
                 --requests runs the first requests whole"
            ));
        }
        let reasons = [
            (
                self.is_late,
                format!(
                    "in some of {windows} windows a drive cannot keep up with the trace, and how \
                     much waits there is not known: no interval of latency is given"
                ),
            ),
            (
                self.few_seconds,
                "the trace writes pages again and again, and in a closed loop a drive is done with \
                 it in less than 100 seconds, so that luck decides what its data cache keeps: no \
                 interval of throughput is given"
                    .to_owned(),
            ),
            (
                self.waits_for_flash,
                "the closed loop fills a drive's write buffer and then waits for flash, which \
                 windows do not see: no interval of throughput is given"
                    .to_owned(),
            ),
        ];
        let reasons: Vec<String> =
            reasons.into_iter().filter_map(|(is, reason)| is.then_some(reason)).collect();
        if !reasons.is_empty() {
            return Some(reasons.join("; "));
        }
        let from = match self.states {
            0 => format!("{windows} windows"),
            states => format!("{states} states of a used drive"),
        };
        (!self.is_precise()).then(|| format!("told from {from}: the interval is wider than 2 %"))
    }
}

impl SpeedupInterval {
    /// Why whole traces ran, and what that tells.
    fn note_of_whole(&self) -> String {
        let causes = [
            (self.collects, "a drive collects in them"),
            (self.is_late, "in some a drive cannot keep up with the trace"),
            (self.few_seconds, "in a closed loop luck decides what a data cache keeps"),
            (self.waits_for_flash, "the closed loop fills a write buffer and waits for flash"),
        ];
        let causes: Vec<&str> =
            causes.iter().filter(|cause| cause.0).map(|cause| cause.1).collect();
        let cause = match causes.is_empty() {
            true => "too few, or too unlike each other".to_owned(),
            false => causes.join("; "),
        };
        let (whole, states) = (self.whole, self.states);
        let told = match (self.has_width(), self.is_precise()) {
            (false, _) => "and gave the same: exact for this trace, and nothing is told of others",
            (true, true) => "which is what the intervals are over",
            (true, false) => "which is what the intervals are over; they are wider than 2 %",
        };
        format!(
            "windows do not tell it to 2 % ({cause}), so all {whole} requests ran, those of the \
             search's windows among them; runs from {states} states of the drives {told}"
        )
    }
}

impl Speedup {
    /// That of latency, and how far it is known.
    pub(crate) fn latency_shown(&self, interval: Option<&SpeedupInterval>) -> String {
        format!("{:.2}x{}", self.latency, known(interval.and_then(|own| own.latency)))
    }

    /// That of throughput, and how far it is known.
    pub(crate) fn throughput_shown(&self, interval: Option<&SpeedupInterval>) -> String {
        format!("{:.2}x{}", self.throughput, known(interval.and_then(|own| own.throughput)))
    }

    /// Both, in a few letters where nothing is to be said of their intervals.
    pub(crate) fn both_shown(&self, interval: Option<&SpeedupInterval>) -> String {
        match interval {
            None => format!("{:.2}/{:.2}", self.latency, self.throughput),
            Some(_) => {
                format!("{} / {}", self.latency_shown(interval), self.throughput_shown(interval))
            }
        }
    }
}

/// What to say if the traces of a search tell another speedup than those that it has not seen:
/// their intervals do not meet, and they differ by more than [`PRECISION`]. Without an interval,
/// the speedup of the first is one; without one of the second nothing can be said.
pub(crate) fn disagreement(
    (seen, seen_interval): (&Speedup, Option<&SpeedupInterval>),
    (unseen, unseen_interval): (&Speedup, Option<&SpeedupInterval>),
) -> Option<String> {
    type Ends = fn(&SpeedupInterval) -> Option<Interval>;
    let of = |name: &str, [seen, unseen]: [f64; 2], ends: Ends| {
        let Interval { low, high } = ends(unseen_interval?)?;
        let own = seen_interval.and_then(ends).unwrap_or(Interval { low: seen, high: seen });
        let is_apart = own.high < low || own.low > high;
        let is_apart = is_apart && (seen / unseen).ln().abs() > PRECISION;
        is_apart.then(|| format!("{name} {seen:.2}x and {unseen:.2}x ({low:.2} to {high:.2})"))
    };
    let told = [
        of("latency", [seen.latency, unseen.latency], |interval| interval.latency),
        of("throughput", [seen.throughput, unseen.throughput], |interval| interval.throughput),
    ];
    let told: Vec<String> = told.into_iter().flatten().collect();
    (!told.is_empty()).then(|| {
        format!(
            "the traces of the search and those of the verdict disagree: {}; believe the second",
            told.join(", ")
        )
    })
}

fn is_zero(number: &usize) -> bool {
    *number == 0
}

/// The interval of 95 % of the mean of numbers that are normally distributed, by Student's t;
/// `None` of fewer than two or more than ten.
fn mean_interval(numbers: &[f64]) -> Option<[f64; 2]> {
    /// The 97.5 % quantiles of Student's t with 1, 2, ... degrees of freedom.
    const T: [f64; 9] = [12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262];
    let count = numbers.len() as f64;
    let t = T.get(numbers.len().checked_sub(2)?)?;
    let mean = numbers.iter().sum::<f64>() / count;
    let squares: f64 = numbers.iter().map(|number| (number - mean).powi(2)).sum();
    let half = t * (squares / (count - 1.0) / count).sqrt();
    Some([mean - half, mean + half])
}

/// ` +- 1.2 %`, ` (0.04 to 23.1)` where that is more than 100 %, or nothing where it is not known.
/// If the interval holds 1, it is not decided which drive is better.
fn known(interval: Option<Interval>) -> String {
    interval.map_or(String::new(), |own| {
        let undecided = if own.holds(1.0) && own.low < own.high { ", undecided" } else { "" };
        match own.half_width() {
            _ if own.low == own.high => String::new(),
            half if half <= 1.0 => format!(" +- {:.1} %{undecided}", 100.0 * half),
            _ => format!(" ({:.2} to {:.2}{undecided})", own.low, own.high),
        }
    })
}

/// The share of all latency that late windows have.
fn late_share(measured: &WorkloadMeasurement) -> f64 {
    let windows = || measured.traces().iter().flat_map(|trace| &trace.windows);
    let sum = |late: bool| -> f64 {
        let own = windows().filter(|window| !late || window.is_late);
        own.map(|window| window.latency_ns / window.chance).sum()
    };
    sum(true) / sum(false).max(f64::MIN_POSITIVE)
}

/// The interval of the geometric mean over `traces` traces, of which some were sampled. Their
/// errors have nothing in common.
fn joined(each: &[Option<[Ratio; 2]>], of: usize, traces: usize) -> Option<Interval> {
    let (mut squares, mut sum) = (0.0, 0.0);
    for pair in each {
        let ratio = &pair.as_ref()?[of];
        squares += ((ratio.interval?.high / ratio.value).ln() / traces as f64).powi(2);
        sum += ratio.value.ln() / traces as f64;
    }
    let half = squares.sqrt();
    Some(Interval { low: (sum - half).exp(), high: (sum + half).exp() })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The example of Student's paper of 1908: ten gains of sleep by a drug, whose mean of 0.75 h
    /// has a standard error of 0.566 h.
    #[test]
    fn the_interval_of_a_mean_is_students() {
        let hours = [0.7, -1.6, -0.2, -1.2, -0.1, 3.4, 3.7, 0.8, 0.0, 2.0];
        let [low, high] = mean_interval(&hours).unwrap();
        assert!((low + 0.5297).abs() < 1e-3 && (high - 2.0297).abs() < 1e-3, "{low} {high}");
        assert_eq!((mean_interval(&[1.0]), mean_interval(&[1.0; 11])), (None, None));
        assert_eq!(mean_interval(&[2.0, 2.0]), Some([2.0, 2.0]));
    }

    #[test]
    fn what_is_wholly_below_the_baseline_is_called_worse() {
        let better = Speedup { latency: 1.2, throughput: 1.2 };
        let states = |latency: f64| {
            let speedups = [0.9, 1.0, 1.1]
                .map(|times| Speedup { latency: latency * times, throughput: 2.0 * times });
            SpeedupInterval::of_states(&speedups)
        };
        let windows = SpeedupInterval { windows: 40, states: 0, ..states(0.2) }.worse(&better);
        assert!(windows.is_some_and(|own| own.ends_with("search with a larger --budget")));
        let told = |latency: f64| states(latency).worse(&better);
        let worse = told(0.2).expect("a fifth");
        assert!(worse.contains("more --requests"), "{worse}");
        assert!(worse.contains("latency 0.") && !worse.contains("throughput"), "{worse}");
        assert_eq!((told(0.95), told(2.0)), (None, None), "undecided, and better");
        // A drive of a front may be slower by choice: nothing is to be done about it.
        let slower = Speedup { latency: 0.3, ..better };
        assert_eq!(states(0.2).worse(&slower), None);
    }

    #[test]
    fn traces_disagree_if_their_intervals_do_not_meet() {
        let states = |latencies: [f64; 3]| {
            let speedups = latencies.map(|latency| Speedup { latency, throughput: 1.0 });
            SpeedupInterval::of_states(&speedups)
        };
        let unseen = states([1.2, 1.21, 1.22]);
        let with = |latency: f64, interval: Option<&SpeedupInterval>| {
            let [seen, other] = [latency, 1.21].map(|latency| Speedup { latency, throughput: 1.0 });
            disagreement((&seen, interval), (&other, Some(&unseen)))
        };
        assert_eq!(with(1.22, None), None);
        let told = with(1.7, None).unwrap();
        assert!(told.contains("latency 1.70x and 1.21x (1.19 to 1.24); believe"), "{told}");
        assert!(!told.contains("throughput"), "{told}");
        assert_eq!(with(1.7, Some(&states([1.1, 1.7, 2.6]))), None);
        assert!(with(1.7, Some(&states([1.69, 1.7, 1.71]))).is_some());
        let exact = states([1.21; 3]);
        let [seen, other] = [1.2101, 1.21].map(|latency| Speedup { latency, throughput: 1.0 });
        assert_eq!(disagreement((&seen, None), (&other, Some(&exact))), None, "0.01 % is nothing");
        let alone = Speedup { latency: 1.7, throughput: 1.0 };
        assert_eq!(disagreement((&alone, None), (&alone, None)), None);
    }

    #[test]
    fn states_of_a_drive_tell_an_interval() {
        let speedups = [1.9, 2.0, 2.1].map(|latency| Speedup { latency, throughput: 1.0 });
        let told = SpeedupInterval::of_states(&speedups);
        assert_eq!((told.states, told.windows, told.windows_missing()), (3, 0, None));
        let latency = told.latency.unwrap();
        assert!(latency.holds(2.0) && !latency.holds(1.5), "{latency:?}");
        assert_eq!(told.throughput, Some(Interval { low: 1.0, high: 1.0 }));
        assert!(!told.is_precise() && told.note().unwrap().contains("3 states of a used drive"));
    }
}
