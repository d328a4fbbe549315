//! Rates and burstiness of arrivals.
//!
//! Burstiness is the index of dispersion: the variance of the number of arrivals in windows of one
//! length, divided by its mean. A Poisson stream has 1 at every length. An index that grows with
//! the length shows bursts on several time scales.

use super::values::Values;
use serde::Serialize;

/// The lengths of the windows.
const SCALES_NS: [u64; 6] =
    [1_000_000, 10_000_000, 100_000_000, 1_000_000_000, 10_000_000_000, 100_000_000_000];
/// With fewer windows than this, no variance is estimated.
const WINDOWS_MIN: u64 = 10;

/// Rates and burstiness of arrivals.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct ArrivalsDescription {
    /// Requests divided by the duration.
    pub requests_per_s: f64,
    /// Bytes read, written or trimmed, divided by the duration.
    pub bytes_per_s: f64,
    /// The standard deviation of a gap divided by its mean; 1 for a Poisson stream.
    pub gap_variation: f64,
    /// The index of dispersion for each window length that fits into the trace ten times or more.
    pub dispersion: Vec<Dispersion>,
}

/// The index of dispersion for one window length.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Dispersion {
    /// The length of the windows.
    pub window_ns: u64,
    /// The number of whole windows in the trace.
    pub windows: u64,
    /// The variance of the number of arrivals in a window, divided by its mean.
    pub index: f64,
}

/// The arrivals in windows of one length.
#[derive(Clone, Copy, Debug, Default)]
struct Scale {
    window: u64,
    count: u64,
    sum: f64,
    squares: f64,
}

impl Scale {
    fn push(&mut self, window: u64) {
        if window != self.window {
            self.close();
            self.window = window;
        }
        self.count += 1;
    }

    fn close(&mut self) {
        self.sum += self.count as f64;
        self.squares += (self.count * self.count) as f64;
        self.count = 0;
    }
}

/// Measures rates and burstiness of a stream.
#[derive(Debug)]
pub(super) struct Arrivals {
    first_ns: Option<u64>,
    last_ns: u64,
    requests: u64,
    bytes: u64,
    gaps: Values,
    gap_sum: f64,
    gap_squares: f64,
    scales: [Scale; SCALES_NS.len()],
}

impl Arrivals {
    pub(super) fn new() -> Self {
        Self {
            first_ns: None,
            last_ns: 0,
            requests: 0,
            bytes: 0,
            gaps: Values::new(),
            gap_sum: 0.0,
            gap_squares: 0.0,
            scales: [Scale::default(); SCALES_NS.len()],
        }
    }

    pub(super) fn push(&mut self, at_ns: u64, bytes: u64) {
        self.requests += 1;
        self.bytes = self.bytes.saturating_add(bytes);
        let first = *self.first_ns.get_or_insert(at_ns);
        if self.requests > 1 {
            let gap = at_ns.saturating_sub(self.last_ns);
            self.gaps.record(gap);
            self.gap_sum += gap as f64;
            self.gap_squares += gap as f64 * gap as f64;
        }
        self.last_ns = self.last_ns.max(at_ns);
        for (scale, length) in self.scales.iter_mut().zip(SCALES_NS) {
            scale.push((self.last_ns - first) / length);
        }
    }

    pub(super) fn duration_ns(&self) -> u64 {
        self.first_ns.map_or(0, |first| self.last_ns - first)
    }

    pub(super) fn gaps(&self) -> &Values {
        &self.gaps
    }

    pub(super) fn describe(&self) -> ArrivalsDescription {
        let seconds = self.duration_ns() as f64 / 1e9;
        if seconds == 0.0 {
            return ArrivalsDescription::default();
        }
        let gaps = (self.requests - 1) as f64;
        let mean = self.gap_sum / gaps;
        let dispersion = self.scales.iter().zip(SCALES_NS).filter_map(|(scale, window_ns)| {
            // The last window is cut off by the end of the trace and does not count.
            let windows = self.duration_ns() / window_ns;
            let mean = scale.sum / windows as f64;
            let variance = scale.squares / windows as f64 - mean * mean;
            (windows >= WINDOWS_MIN).then_some(Dispersion {
                window_ns,
                windows,
                index: variance / mean,
            })
        });
        ArrivalsDescription {
            requests_per_s: gaps / seconds,
            bytes_per_s: self.bytes as f64 / seconds,
            gap_variation: (self.gap_squares / gaps / (mean * mean) - 1.0).max(0.0).sqrt(),
            dispersion: dispersion.collect(),
        }
    }
}
