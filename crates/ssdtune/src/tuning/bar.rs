//! Progress of a search on standard error: a bar on a terminal, a line at each improvement
//! elsewhere.

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use ssdtune_tune::search::Progress;
use std::io::IsTerminal as _;
use std::time::Instant;

/// Parts of an evaluation that the bar tells apart.
const PARTS: f64 = 10.0;

pub(crate) struct Bar {
    bar: ProgressBar,
    start: Instant,
    terminal: bool,
    wanted: bool,
    best: std::cell::Cell<f64>,
}

impl Bar {
    /// Says nothing unless `wanted`.
    pub(crate) fn new(budget: f64, wanted: bool) -> Self {
        let terminal = std::io::stderr().is_terminal();
        let target = match wanted && terminal {
            true => ProgressDrawTarget::stderr_with_hz(4),
            false => ProgressDrawTarget::hidden(),
        };
        let bar = ProgressBar::with_draw_target(Some((budget * PARTS) as u64), target);
        let template = "{bar:30} {percent:>3} %  {msg}  {elapsed} gone, {eta} left";
        if let Ok(style) = ProgressStyle::with_template(template) {
            bar.set_style(style);
        }
        Self { bar, start: Instant::now(), terminal, wanted, best: std::cell::Cell::new(0.0) }
    }

    /// A trial is known.
    pub(crate) fn trial(&self, progress: &Progress) {
        self.bar.set_position((progress.spent * PARTS) as u64);
        let said = format!(
            "{:.1} evaluations, best grade {:.4} ({:.2}x latency, {:.2}x throughput)",
            progress.spent,
            progress.best_grade,
            progress.best_target.latency,
            progress.best_target.throughput
        );
        let better = progress.best_grade > self.best.replace(progress.best_grade);
        if self.wanted && !self.terminal && better {
            let elapsed = self.start.elapsed().as_secs_f64();
            let left = (progress.budget - progress.spent) * elapsed / progress.spent.max(0.1);
            anstream::eprintln!("{elapsed:7.1} s  {said}, {left:.0} s left at most");
        }
        self.bar.set_message(said);
    }

    /// What comes after the trials.
    pub(crate) fn say(&self, what: &'static str) {
        self.bar.set_message(what);
        if self.wanted && !self.terminal {
            anstream::eprintln!("{:7.1} s  {what}", self.start.elapsed().as_secs_f64());
        }
    }

    pub(crate) fn seconds(&self) -> f64 {
        self.start.elapsed().as_secs_f64()
    }

    pub(crate) fn finish(&self) {
        self.bar.finish_and_clear();
    }
}
