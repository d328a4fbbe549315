//! Progress on standard error: share done, rate, time left. On a terminal only.

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use std::io::IsTerminal as _;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

/// Parts of a cell that the bar tells apart.
const PARTS: f64 = 1000.0;

/// The progress of several cells.
pub(crate) struct Progress {
    bar: ProgressBar,
    parts: Vec<AtomicU64>,
    requests: AtomicU64,
    start: Instant,
}

impl Progress {
    /// Of so many cells; nothing is drawn unless wanted and standard error is a terminal.
    pub(crate) fn new(cells: usize, wanted: bool) -> Self {
        let target = match wanted && std::io::stderr().is_terminal() {
            true => ProgressDrawTarget::stderr_with_hz(4),
            false => ProgressDrawTarget::hidden(),
        };
        let bar = ProgressBar::with_draw_target(Some(cells as u64 * PARTS as u64), target);
        let template = "{bar:30} {percent:>3} %  {msg}  {elapsed} gone, {eta} left";
        if let Ok(style) = ProgressStyle::with_template(template) {
            bar.set_style(style);
        }
        let parts = (0..cells).map(|_| AtomicU64::new(0)).collect();
        Self { bar, parts, requests: AtomicU64::new(0), start: Instant::now() }
    }

    /// A cell has come so far (0 to 1) and completed so many more requests.
    pub(crate) fn cell(&self, cell: usize, done: f64, requests: u64) {
        let part = (done * PARTS) as u64;
        let before = self.parts[cell].fetch_max(part, Ordering::Relaxed);
        self.bar.inc(part.saturating_sub(before));
        let total = self.requests.fetch_add(requests, Ordering::Relaxed) + requests;
        let rate = total as f64 / self.start.elapsed().as_secs_f64().max(1e-3);
        if !self.bar.is_hidden() {
            self.bar.set_message(format!("{:.2} M requests/s", rate / 1e6));
        }
    }

    /// Takes the bar away.
    pub(crate) fn finish(&self) {
        self.bar.finish_and_clear();
    }
}
