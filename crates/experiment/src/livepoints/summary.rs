//! What there is to say of live-points that were just made.

use super::{LivePoints, Window};
use serde::Serialize;
use ssdtune_model::{Bytes, Nanos};
use ssdtune_report::Text;

/// What a pass over a trace has made, and what it took.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Sampled {
    /// What the user calls the trace.
    pub trace: String,
    /// The fingerprint of its requests, in hexadecimal digits.
    pub fingerprint: String,
    /// Its requests.
    pub requests: u64,
    /// From its first request to its last.
    pub span_ns: u64,
    /// Windows that were kept.
    pub windows: usize,
    /// Requests of each that are measured.
    pub measured: u32,
    /// Requests of each that warm up.
    pub warm_up: u32,
    /// Bytes of a page.
    pub page_bytes: u32,
    /// What decided where the windows lie.
    pub seed: u64,
    /// What the trace touches, in pages of 4 KiB.
    pub footprint_bytes: u64,
    /// Memory of the records of pages.
    pub records_bytes: u64,
    /// Memory of the windows.
    pub windows_bytes: u64,
    /// Size of the file.
    pub file_bytes: u64,
    /// How long the pass took, reading included.
    pub seconds: f64,
}

impl Window {
    /// Heap memory in bytes.
    pub fn memory_bytes(&self) -> u64 {
        let bytes = size_of_val(&self.requests[..])
            + size_of_val(&self.before[..])
            + size_of_val(&self.samples[..])
            + size_of_val(&self.recent[..])
            + size_of_val(&self.depths[..]);
        bytes as u64
    }
}

impl LivePoints {
    /// What to say of them. `records` is the memory that the pass took for records of pages.
    pub fn sampled(&self, records: u64, file: u64, seconds: f64) -> Sampled {
        let digits = self.about.fingerprint.iter().map(|byte| format!("{byte:02x}"));
        Sampled {
            trace: self.about.trace.clone(),
            fingerprint: digits.collect(),
            requests: self.requests,
            span_ns: (self.about.last - self.about.first).0,
            windows: self.windows.len(),
            measured: self.options.measured,
            warm_up: self.options.warm_up,
            page_bytes: self.options.page_bytes,
            seed: self.options.seed,
            footprint_bytes: 4_096 * self.footprint.len(),
            records_bytes: records,
            windows_bytes: self.windows.iter().map(Window::memory_bytes).sum(),
            file_bytes: file,
            seconds,
        }
    }
}

impl Sampled {
    /// For people.
    pub fn text(&self) -> Text {
        let mut text = Text::new();
        let mut line =
            |name: &str, value: String| _ = text.line(format_args!("{name:<12} {value}"));
        let share = self.windows as f64 * f64::from(self.measured) / self.requests as f64;
        let each = self.file_bytes / self.windows.max(1) as u64;
        let rate = self.requests as f64 / self.seconds.max(1e-6) / 1e6;
        line("trace", self.trace.clone());
        line("requests", format!("{} in {}", self.requests, Nanos(self.span_ns)));
        line("touched", Bytes(self.footprint_bytes).to_string());
        line(
            "windows",
            format!(
                "{} of {} requests after {} that warm up: {:.1} % of the trace",
                self.windows,
                self.measured,
                self.warm_up,
                100.0 * share
            ),
        );
        line("pages", format!("of {}; a drive must have these", Bytes(self.page_bytes.into())));
        line("file", format!("{}, {} a window", Bytes(self.file_bytes), Bytes(each)));
        let (records, windows) = (Bytes(self.records_bytes), Bytes(self.windows_bytes));
        line("memory", format!("{records} for what was touched, {windows} for windows"));
        line("time", format!("{:.1} s, {rate:.2} million requests a second", self.seconds));
        text
    }
}
