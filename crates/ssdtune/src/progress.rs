//! Progress bars on standard error: share done, rate, time left. They are drawn on a terminal only.

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use ssdtune_trace::{Followed, Source};
use std::io::IsTerminal as _;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

/// Steps of the bar for one cell.
const PARTS: f64 = 1000.0;

/// A bar of `length` steps. It is drawn if it is wanted and standard error is a terminal. `rate` is
/// the part of its template between the share and the times; if empty, a message stands below.
pub(crate) fn bar(length: u64, rate: &str, wanted: bool) -> ProgressBar {
    let target = match wanted && std::io::stderr().is_terminal() {
        true => ProgressDrawTarget::stderr_with_hz(4),
        false => ProgressDrawTarget::hidden(),
    };
    let bar = ProgressBar::with_draw_target(Some(length), target);
    let template = match rate {
        // What is said besides takes a line of its own, cut to the width of the terminal.
        "" => "{bar:30} {percent:>3} %  {elapsed} gone, {eta} left\n{wide_msg}".to_owned(),
        _ => format!("{{bar:30}} {{percent:>3}} %  {rate}  {{elapsed}} gone, {{eta}} left"),
    };
    if let Ok(style) = ProgressStyle::with_template(&template) {
        bar.set_style(style);
    }
    bar
}

/// The progress of reading files, once or several times.
#[derive(Clone)]
pub(crate) struct Reading {
    bar: ProgressBar,
    /// Bytes that earlier passes have read.
    before: u64,
}

impl Reading {
    /// The progress of reading `bytes` in all passes together; 0 if that is not known, and then
    /// nothing is drawn.
    pub(crate) fn new(bytes: u64, wanted: bool) -> Self {
        Self { bar: bar(bytes, "{binary_bytes_per_sec}", wanted && bytes > 0), before: 0 }
    }

    /// Wraps a source so that the bar follows how far it has been read.
    pub(crate) fn watch<S: Source>(&self, source: S) -> impl Source + use<S> {
        let reading = self.clone();
        Followed::new(source, move |read: Option<u64>| match read {
            Some(bytes) => reading.bar.set_position(reading.before + bytes),
            // The error message would otherwise share its line with the bar.
            None => reading.finish(),
        })
    }

    /// Begins the next pass over the files.
    pub(crate) fn next_pass(&mut self) {
        self.before = self.bar.position();
    }

    /// Calls `say`, which may print lines, while the bar is hidden.
    pub(crate) fn aside(&self, say: impl FnOnce()) {
        self.bar.suspend(say);
    }

    /// Takes the bar away.
    pub(crate) fn finish(&self) {
        self.bar.finish_and_clear();
    }
}

/// The progress of several simulations, called cells, that run side by side.
pub(crate) struct Progress {
    bar: ProgressBar,
    parts: Vec<AtomicU64>,
    requests: AtomicU64,
    start: Instant,
}

impl Progress {
    /// The progress of `cells` cells.
    pub(crate) fn new(cells: usize, wanted: bool) -> Self {
        let bar = bar(cells as u64 * PARTS as u64, "{msg}", wanted);
        let parts = (0..cells).map(|_| AtomicU64::new(0)).collect();
        Self { bar, parts, requests: AtomicU64::new(0), start: Instant::now() }
    }

    /// Tells which share of a cell is done, 0 to 1, and how many requests it has completed since
    /// the last time.
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
