//! Progress of a search on standard error: a bar on a terminal, elsewhere a line for each
//! improvement.

use crate::context::{Context, Level};
use crate::progress::bar;
use indicatif::ProgressBar;
use ssdtune_tune::search::Progress;
use std::io::IsTerminal as _;
use std::sync::Mutex;
use std::time::Instant;

/// Steps of the bar for one evaluation.
const PARTS: f64 = 10.0;

pub(crate) struct Bar {
    bar: ProgressBar,
    start: Instant,
    /// Whether improvements are printed as lines.
    lines: bool,
    best_grade: Mutex<f64>,
}

impl Bar {
    /// The progress of a search that may spend `budget` evaluations.
    pub(crate) fn new(budget: f64, context: &Context) -> Self {
        let wanted = context.level() > Level::Quiet;
        Self {
            bar: bar((budget * PARTS) as u64, "{msg}", wanted),
            start: Instant::now(),
            lines: wanted && !std::io::stderr().is_terminal(),
            best_grade: Mutex::new(0.0),
        }
    }

    /// Tells how far the search is after a trial.
    pub(crate) fn trial(&self, progress: &Progress) {
        self.bar.set_position((progress.spent * PARTS) as u64);
        let said = format!(
            "{:.1} evaluations, best grade {:.4} ({:.2}x latency, {:.2}x throughput)",
            progress.spent,
            progress.best_grade,
            progress.best_target.latency,
            progress.best_target.throughput
        );
        let mut best = self.best_grade.lock().unwrap_or_else(|held| held.into_inner());
        let better = progress.best_grade > std::mem::replace(&mut *best, progress.best_grade);
        if self.lines && better {
            let elapsed = self.seconds();
            let left = (progress.budget - progress.spent) * elapsed / progress.spent.max(0.1);
            anstream::eprintln!("{elapsed:7.1} s  {said}, {left:.0} s left at most");
        }
        self.bar.set_message(said);
    }

    /// Tells what comes after the trials.
    pub(crate) fn say(&self, what: &'static str) {
        self.bar.set_message(what);
        if self.lines {
            anstream::eprintln!("{:7.1} s  {what}", self.seconds());
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
