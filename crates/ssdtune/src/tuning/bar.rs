//! Progress of a search on standard error: a bar on a terminal, elsewhere a line for each
//! improvement. What is measured after the search has a bar of its own.

use crate::context::{Context, Level};
use crate::progress::bar;
use indicatif::ProgressBar;
use ssdtune_tune::search::{Pace, Progress};
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
    reached: Option<f64>,
    pace: Pace,
    /// Evaluations answered before those after the search; `None` during the search.
    answered: Option<u64>,
}

impl Bar {
    /// The progress of a search that may spend `budget` evaluations.
    pub(crate) fn new(budget: f64, context: &Context) -> Self {
        let wanted = context.level() > Level::Quiet;
        Self {
            bar: bar((budget * PARTS) as u64, "", wanted),
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
        let left = told.pace.seconds_left(elapsed, progress, run);
        self.bar.set_position((progress.spent * PARTS) as u64);
        if left.is_none() {
            self.bar.reset_eta();
        }
        let before = std::mem::replace(&mut told.reached, progress.reached());
        if self.lines && progress.reached() > before {
            let left = left.map_or(String::new(), |left| format!(", {left:.0} left"));
            anstream::eprintln!("{elapsed:7.1} s{left}  {progress}");
        }
        self.bar.set_message(format!("search: {progress}"));
    }

    /// Begins the work after the search: `what`, at most `most` evaluations. So far `answered`
    /// evaluations were answered.
    pub(crate) fn after(&self, what: &str, most: u64, answered: u64) {
        if most == 0 {
            return;
        }
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
