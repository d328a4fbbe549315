//! How far a search has come, and how long it will still take.

use crate::grade::Speedup;
use std::fmt;

/// How far a search has come. Its text says so in words: evaluations of the target spent and
/// allowed, and what is best so far. With the time before it, it fits on a line of 80 columns.
#[derive(Clone, Copy, Debug)]
pub struct Progress {
    /// Evaluations of the target spent.
    pub spent: f64,
    /// Evaluations of the target that may be spent in all.
    pub budget: f64,
    /// The best grade so far; `None` while no trial keeps every limit.
    pub best_grade: Option<f64>,
    /// Speedup of the target in the best trial so far; that of the baseline while there is none.
    pub best_target: Speedup,
    /// The hypervolume of the front so far; `None` of a search without aims.
    pub hypervolume: Option<f64>,
}

impl Progress {
    /// The number that the search makes greater: the best grade, or the hypervolume.
    pub fn reached(&self) -> Option<f64> {
        self.hypervolume.or(self.best_grade)
    }
}

impl fmt::Display for Progress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { spent, budget, best_grade, best_target, hypervolume } = self;
        write!(f, "{spent:.1}/{budget} runs, ")?;
        if let Some(volume) = hypervolume {
            return write!(f, "hypervolume {volume:.3}");
        }
        let Speedup { latency, throughput } = best_target;
        match best_grade {
            Some(grade) => {
                write!(f, "grade {grade:.2}: {latency:.2}x latency, {throughput:.2}x throughput")
            }
            None => f.write_str("nothing within the limits yet"),
        }
    }
}

/// The pace of a search, by what this process measures itself: what a resumed search finds in
/// AutoDB takes no time and says nothing about the rest.
#[derive(Clone, Copy, Debug, Default)]
pub struct Pace {
    /// Evaluations that this process had run when it was told of the first trial, the baseline.
    run_at_first: Option<u64>,
    /// Seconds gone and evaluations spent before this process measured a proposal itself.
    before: (f64, f64),
}

impl Pace {
    /// Seconds that the rest of the budget takes at the pace so far; `None` while this process has
    /// measured no proposal. It is told after each trial, with the seconds since the beginning and
    /// the evaluations that this process has run.
    pub fn seconds_left(&mut self, elapsed: f64, progress: &Progress, run: u64) -> Option<f64> {
        if *self.run_at_first.get_or_insert(run) == run {
            self.before = (elapsed, progress.spent);
        }
        let (since, spent) = (elapsed - self.before.0, progress.spent - self.before.1);
        (spent > 0.0).then(|| (progress.budget - progress.spent).max(0.0) * since / spent)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_of_progress_is_short() {
        let best_target = Speedup { latency: 18.89, throughput: 3.18 };
        let told = |best_grade, hypervolume| {
            Progress { spent: 101.3, budget: 120.0, best_grade, best_target, hypervolume }
                .to_string()
        };
        for text in [told(Some(2.0482), None), told(Some(2.0), Some(5.94)), told(None, None)] {
            assert!(text.len() <= 60, "{text}");
        }
    }

    #[test]
    fn the_time_left_is_told_of_what_this_process_measures_and_never_negative() {
        let mut pace = Pace::default();
        let mut left = |elapsed, spent, run| {
            let best_target = Speedup { latency: 1.0, throughput: 1.0 };
            let progress =
                Progress { spent, budget: 20.0, best_grade: None, best_target, hypervolume: None };
            pace.seconds_left(elapsed, &progress, run)
        };
        // A resumed search finds ten evaluations in a second, then runs one in three seconds.
        assert_eq!(left(0.5, 0.0, 0), None);
        assert_eq!(left(1.0, 10.0, 0), None);
        assert_eq!(left(4.0, 11.0, 1), Some(27.0));
        assert_eq!(left(31.0, 20.0, 10), Some(0.0));
        assert_eq!(left(31.0, 20.5, 10), Some(0.0));
    }
}
