//! Progress of a search on standard error: a bar on a terminal, elsewhere a line for each
//! improvement. What is measured after the search has a bar of its own.
//!
//! The time left is told of what this process measures itself: what a resumed search finds in
//! AutoDB takes no time and says nothing about the rest.

use crate::context::{Context, Level};
use crate::progress::bar;
use indicatif::ProgressBar;
use ssdtune_tune::search::Progress;
use std::io::IsTerminal as _;
use std::sync::{Mutex, MutexGuard};
use std::time::Instant;

/// Steps of the bar for one evaluation of the search.
const PARTS: f64 = 10.0;

pub(crate) struct Bar {
    bar: ProgressBar,
    start: Instant,
    /// Whether improvements are printed as lines.
    lines: bool,
    told: Mutex<Told>,
}

/// What was told so far.
#[derive(Default)]
struct Told {
    best_grade: Option<f64>,
    /// Evaluations that this process had run when it told the first trial, the baseline.
    run_at_first: Option<u64>,
    /// Seconds gone and evaluations spent before this process measured a proposal itself.
    before: (f64, f64),
    /// Evaluations answered before those after the search; `None` during the search.
    answered: Option<u64>,
}

impl Told {
    /// Seconds that the rest of the budget takes at the pace so far; `None` while this process has
    /// measured no proposal.
    fn seconds_left(&mut self, elapsed: f64, progress: &Progress, run: u64) -> Option<f64> {
        if *self.run_at_first.get_or_insert(run) == run {
            self.before = (elapsed, progress.spent);
        }
        let (since, spent) = (elapsed - self.before.0, progress.spent - self.before.1);
        (spent > 0.0).then(|| (progress.budget - progress.spent).max(0.0) * since / spent)
    }
}

impl Bar {
    /// The progress of a search that may spend `budget` evaluations.
    pub(crate) fn new(budget: f64, context: &Context) -> Self {
        let wanted = context.level() > Level::Quiet;
        Self {
            bar: bar((budget * PARTS) as u64, "{msg}", wanted),
            start: Instant::now(),
            lines: wanted && !std::io::stderr().is_terminal(),
            told: Mutex::default(),
        }
    }

    fn told(&self) -> MutexGuard<'_, Told> {
        self.told.lock().unwrap_or_else(|held| held.into_inner())
    }

    /// Tells how far the search is after a trial. This process has run `run` evaluations.
    pub(crate) fn trial(&self, progress: &Progress, run: u64) {
        let (mut told, elapsed) = (self.told(), self.seconds());
        let left = told.seconds_left(elapsed, progress, run);
        self.bar.set_position((progress.spent * PARTS) as u64);
        if left.is_none() {
            self.bar.reset_eta();
        }
        let target = progress.best_target;
        let best = match progress.best_grade {
            Some(grade) => format!(
                "best grade {grade:.4} ({:.2}x latency, {:.2}x throughput)",
                target.latency, target.throughput
            ),
            None => "nothing within the limits yet".to_owned(),
        };
        let said = format!("{:.1} of {} evaluations, {best}", progress.spent, progress.budget);
        let before = std::mem::replace(&mut told.best_grade, progress.best_grade);
        if self.lines && progress.best_grade > before {
            let left = left.map(|left| format!(", about {left:.0} s left to search"));
            anstream::eprintln!("{elapsed:7.1} s  {said}{}", left.unwrap_or_default());
        }
        self.bar.set_message(format!("search: {said}"));
    }

    /// Begins the work after the search: `what`, at most `most` evaluations. So far `answered`
    /// evaluations were answered.
    pub(crate) fn after(&self, what: &str, most: u64, answered: u64) {
        self.told().answered = Some(answered);
        self.bar.set_position(0);
        self.bar.set_length(most);
        self.bar.reset_eta();
        let said = format!("{what}: at most {most} evaluations, apart from the budget");
        if self.lines {
            anstream::eprintln!("{:7.1} s  {said}", self.seconds());
        }
        self.bar.set_message(said);
    }

    /// Tells how many evaluations were answered. During the search the budget is what counts.
    pub(crate) fn answered(&self, answered: u64) {
        if let Some(before) = self.told().answered {
            self.bar.set_position(answered - before);
        }
    }

    /// Seconds since the search began.
    pub(crate) fn seconds(&self) -> f64 {
        self.start.elapsed().as_secs_f64()
    }

    /// Takes the bar away.
    pub(crate) fn finish(&self) {
        self.bar.finish_and_clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ssdtune_tune::Speedup;

    #[test]
    fn the_time_left_is_told_of_what_this_process_measures_and_never_negative() {
        let mut told = Told::default();
        let mut left = |elapsed, spent, run| {
            let best_target = Speedup { latency: 1.0, throughput: 1.0 };
            let progress = Progress { spent, budget: 20.0, best_grade: None, best_target };
            told.seconds_left(elapsed, &progress, run)
        };
        // A resumed search finds ten evaluations in a second, then runs one in three seconds.
        assert_eq!(left(0.5, 0.0, 0), None);
        assert_eq!(left(1.0, 10.0, 0), None);
        assert_eq!(left(4.0, 11.0, 1), Some(27.0));
        assert_eq!(left(31.0, 20.0, 10), Some(0.0));
        assert_eq!(left(31.0, 20.5, 10), Some(0.0));
    }
}
