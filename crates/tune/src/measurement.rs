//! What an evaluator finds out about a drive on a trace: latency, throughput, and facts that
//! explain them.
//!
//! Field names are part of the format of AutoDB.

use crate::grade::{Figures, LatencyFigure, Speedup};
use serde::{Deserialize, Serialize};

/// What a drive achieved on a trace, in two runs from the same initial state.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Measurement {
    /// Latency and throughput: what grades are made of.
    pub figures: Figures,
    /// Further facts about the open-loop run. External evaluators report none.
    pub open: Option<RunFacts>,
    /// Further facts about the closed-loop run. External evaluators report none.
    pub closed: Option<RunFacts>,
    /// What each window gave, of a trace that is measured on windows; then the facts above are
    /// those of the windows.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub windows: Vec<WindowFigures>,
    /// Which response time `figures` has.
    #[serde(default, skip_serializing_if = "LatencyFigure::is_mean")]
    pub latency: LatencyFigure,
    /// Latency and throughput of the drive under MQSim's rules. `None` unless speedups must hold
    /// under both ([`GradedBy::both_rules`]).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub by_mqsim: Option<Figures>,
}

impl Measurement {
    /// A measurement of figures alone, the latency a mean.
    pub fn of(figures: Figures) -> Self {
        let (open, closed, windows) = (None, None, Vec::new());
        Self { figures, open, closed, windows, latency: LatencyFigure::Mean, by_mqsim: None }
    }

    /// The speedup over another drive on this trace. Where MQSim's rules were tried too, each part
    /// is the lesser of both.
    pub fn over(&self, reference: &Self) -> Speedup {
        let own = self.figures.over(&reference.figures);
        match (&self.by_mqsim, &reference.by_mqsim) {
            (Some(drive), Some(reference)) => own.least(&drive.over(reference)),
            _ => own,
        }
    }

    /// The figures under the drive's own rules, with nothing charged for work that was left undone.
    fn served(&self) -> Figures {
        let (Some(open), Some(closed)) = (&self.open, &self.closed) else { return self.figures };
        match (self.latency.of(open), open.left_seconds + closed.left_seconds > 0.0) {
            (Some(latency_ns), true) => {
                Figures { latency_ns, throughput_bps: closed.bandwidth_bps }
            }
            _ => self.figures,
        }
    }
}

/// What an evaluator makes figures of. By default the latency is a mean, under the drive's own
/// rules.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct GradedBy {
    /// Which response time stands for latency.
    #[serde(skip_serializing_if = "LatencyFigure::is_mean")]
    pub latency: LatencyFigure,
    /// Whether speedups must hold under MQSim's rules too: each is then the lesser of both.
    #[serde(skip_serializing_if = "is_false")]
    pub both_rules: bool,
}

impl GradedBy {
    /// Whether it is what is measured without a wish.
    pub fn is_default(&self) -> bool {
        *self == Self::default()
    }
}

/// The signature is serde's.
#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde hands references")]
fn is_false(value: &bool) -> bool {
    !value
}

/// What a drive did with the measured requests of a window.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct WindowFigures {
    /// With what chance the window was drawn.
    pub chance: f64,
    /// The sum of their response times in the open loop, in nanoseconds.
    pub latency_ns: f64,
    /// The time that they took in the closed loop, in nanoseconds.
    pub closed_ns: f64,
    /// In the open loop they waited longer than the window knows of, because the drive cannot keep
    /// up with the trace there.
    #[serde(default)]
    pub is_late: bool,
    /// The trace writes pages again and again, and the drive is soon done with it in the closed
    /// loop, so that luck decides what its data cache keeps.
    #[serde(default)]
    pub few_seconds: bool,
    /// The closed loop fills the write buffer and waits for flash, which a window does not see.
    #[serde(default)]
    pub waits_for_flash: bool,
}

/// What a drive achieved on a workload: one measurement for each trace, in the order of the traces.
#[derive(Clone, Debug, PartialEq)]
pub struct WorkloadMeasurement {
    traces: Vec<Measurement>,
}

impl WorkloadMeasurement {
    /// Bundles the measurements of a workload's traces, in the order of the traces.
    pub(crate) fn new(traces: Vec<Measurement>) -> Self {
        Self { traces }
    }

    /// The measurements, one for each trace.
    pub fn traces(&self) -> &[Measurement] {
        &self.traces
    }

    /// The geometric mean over the traces of the speedup against another drive on this workload.
    pub fn speedup_over(&self, reference: &Self) -> Speedup {
        let pairs = self.traces.iter().zip(&reference.traces);
        let each: Vec<Speedup> = pairs.map(|(a, b)| a.over(b)).collect();
        Speedup::mean(&each)
    }

    /// The geometric mean over the traces of the speedup by what the drives did, under their own
    /// rules, until the last request was served: nothing is charged for work left undone.
    pub fn served_speedup_over(&self, reference: &Self) -> Speedup {
        let pairs = self.traces.iter().zip(&reference.traces);
        let each: Vec<Speedup> = pairs.map(|(a, b)| a.served().over(&b.served())).collect();
        Speedup::mean(&each)
    }

    /// Pages programmed for each page that the host wrote, as a mean over the traces' open loops.
    /// `None` where the host wrote nothing, or the evaluator does not tell.
    pub fn write_amplification(&self) -> Option<f64> {
        let each: Vec<f64> = (self.traces.iter())
            .map(|trace| trace.open.as_ref().map(|open| open.write_amplification))
            .collect::<Option<_>>()?;
        let mean = each.iter().sum::<f64>() / each.len().max(1) as f64;
        (mean.is_finite() && mean > 0.0).then_some(mean)
    }

    /// The mean over the traces of the average power in the open loop, in watt. `None` unless the
    /// evaluator counted energy in all of them.
    pub fn average_watts(&self) -> Option<f64> {
        let watts = |trace: &Measurement| trace.open.as_ref().and_then(|open| open.average_watts);
        let each: Vec<f64> = self.traces.iter().map(watts).collect::<Option<_>>()?;
        (!each.is_empty()).then(|| each.iter().sum::<f64>() / each.len() as f64)
    }
}

/// Facts about one run of a drive.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RunFacts {
    /// Mean response time of the drive, in nanoseconds.
    pub latency_ns_mean: f64,
    /// The response time that 99 % of the requests did not exceed, in nanoseconds.
    pub latency_ns_p99: u64,
    /// The response time that 99.9 % of the requests did not exceed, in nanoseconds; `None` where
    /// it was not counted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub latency_ns_p999: Option<u64>,
    /// Mean time from arrival to completion, in nanoseconds. It is longer than the response time
    /// where requests wait for a queue entry.
    pub total_latency_ns_mean: f64,
    /// Bytes moved for each second of simulated time.
    pub bandwidth_bps: f64,
    /// Simulated time in seconds.
    pub seconds: f64,
    /// Work that the drive had left for after the last request, in seconds of the mean die. Only
    /// drives that were used before are asked; it is charged in the figures that are compared.
    #[serde(default)]
    pub left_seconds: f64,
    /// How busy the parts of the drive were.
    pub busy: Busy,
    /// Blocks that garbage collection has emptied.
    pub collections: u64,
    /// Look-ups of the mapping table that had to read flash.
    pub mapping_misses: u64,
    /// Share of page reads of pages that were never written.
    pub unwritten_share: f64,
    /// Pages programmed for each page that the host wrote.
    pub write_amplification: f64,
    /// Mechanisms that the run never used, by their names in the simulator's report.
    pub never_fired: Vec<String>,
    /// Requests completed.
    pub requests: u64,
    /// Energy in joule; `None` where the evaluator counts none.
    pub energy_j: Option<f64>,
    /// Average power in watt; `None` where the evaluator counts no energy.
    pub average_watts: Option<f64>,
    /// Highest power over a millisecond, in watt; `None` where the evaluator counts no energy.
    pub peak_watts: Option<f64>,
}

impl LatencyFigure {
    /// This response time of a run, in nanoseconds; `None` where it was not counted.
    pub fn of(self, run: &RunFacts) -> Option<f64> {
        match self {
            Self::Mean => Some(run.latency_ns_mean),
            Self::P99 => Some(run.latency_ns_p99 as f64),
            Self::P999 => run.latency_ns_p999.map(|own| own as f64),
        }
    }
}

/// The share of the time, 0 to 1, that each part of a drive was busy. Where there are several equal
/// parts, it is their mean.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Busy {
    /// Flash dies.
    pub dies: f64,
    /// Flash channels.
    pub channels: f64,
    /// The host link in the direction to the drive.
    pub link_down: f64,
    /// The host link in the direction to the host.
    pub link_up: f64,
    /// The DRAM channel.
    pub dram: f64,
}

impl Busy {
    /// The name and the share of the busiest part.
    pub fn busiest(&self) -> (&'static str, f64) {
        let parts = [
            ("dies", self.dies),
            ("channels", self.channels),
            ("link down", self.link_down),
            ("link up", self.link_up),
            ("dram", self.dram),
        ];
        parts.into_iter().max_by(|a, b| a.1.total_cmp(&b.1)).unwrap_or(parts[0])
    }
}
