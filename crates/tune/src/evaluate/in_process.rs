//! Measuring with the simulator in this process.
//!
//! Cost: two simulations of the trace, which rayon may put on two threads; four where MQSim's rules
//! count too.

use super::{
    Busy, EvaluationError, Evaluator, GradedBy, Job, Measurement, RunFacts, debt, described,
};
use crate::grade::Figures;
use crate::memory::BUILT_IN;
use ssdtune_experiment::{
    Blank, Preparation, PreparationError, PrepareError, Served, Start, serve,
};
use ssdtune_model::{CheckedConfig, DeviceConfig};
use ssdtune_sim::{Observe, Replay, Report, Stream, Tenant, Work};
use std::sync::atomic::AtomicBool;

/// An evaluator that runs the simulator of `ssdtune-sim`, with one tenant on the whole drive.
///
/// By default a drive holds all data that the trace touches, and latency is a mean.
#[derive(Clone, Debug)]
pub struct InProcess {
    pub(super) preparation: Preparation,
    graded_by: GradedBy,
}

impl InProcess {
    /// An evaluator that prepares each drive in this way before each run, with the drive's own
    /// seed.
    ///
    /// # Errors
    /// The parts of the preparation do not go together.
    pub fn new(preparation: Preparation) -> Result<Self, PreparationError> {
        preparation.check()?;
        Ok(Self { preparation, graded_by: GradedBy::default() })
    }

    /// Says which latency is graded and under which rules. Percentiles and MQSim's rules need whole
    /// traces: of windows neither is known, and every drive is told to be unfit for them.
    pub fn graded_by(self, graded_by: GradedBy) -> Self {
        Self { graded_by, ..self }
    }
}

impl Default for InProcess {
    /// An evaluator whose drives hold all data that the trace touches.
    fn default() -> Self {
        Self { preparation: Preparation::of(Start::Footprint, 0), graded_by: GradedBy::default() }
    }
}

impl Evaluator for InProcess {
    fn identity(&self) -> String {
        // The measurement widens queues to the closed loop's depth, so the identity says it.
        let past = described(&self.preparation);
        let debts = if self.preparation.is_used() { ", work left over is charged" } else { "" };
        let GradedBy { latency, both_rules } = self.graded_by;
        let tail =
            if latency.is_mean() { String::new() } else { format!(", latency by {latency}") };
        let rules = if both_rules { ", under MQSim's rules too" } else { "" };
        format!("{BUILT_IN}, {past}, queues as deep as the closed loop{debts}{tail}{rules}")
    }

    fn graded_by(&self) -> GradedBy {
        self.graded_by
    }

    fn preparation(&self) -> Preparation {
        self.preparation.clone()
    }

    fn measure(&self, job: &Job, stop: &AtomicBool) -> Result<Measurement, EvaluationError> {
        if let Some(windows) = job.trace.windows() {
            if !self.graded_by.is_default() {
                let cause = "windows give means under the own rules only: measure whole traces";
                return Err(EvaluationError::Unfit(cause.to_owned()));
            }
            return self.measure_windows(job, windows, stop);
        }
        if !self.graded_by.both_rules {
            return self.measure_under_own_rules(job, stop);
        }
        let as_mqsim = as_mqsim(job.config)?;
        let judged = Job { config: &as_mqsim, ..*job };
        let (own, by_mqsim) = rayon::join(
            || self.measure_under_own_rules(job, stop),
            || self.measure_under_own_rules(&judged, stop),
        );
        Ok(Measurement { by_mqsim: Some(by_mqsim?.figures), ..own? })
    }
}

/// The drive as MQSim would have it, but for the start: MQSim's own begins a used drive with half
/// the free blocks that collection keeps, so that a short run is all about getting them.
fn as_mqsim(config: &CheckedConfig) -> Result<CheckedConfig, EvaluationError> {
    let mut other = ssdtune_mqsim::as_mqsim(config);
    other.compat.analytic_start = false;
    let unfit = |faults| EvaluationError::Unfit(format!("not possible in MQSim: {faults}"));
    other.check().map_err(unfit)
}

/// The drive with queues that hold at least `depth` requests, for a closed loop.
pub(super) fn widened(
    config: &CheckedConfig,
    depth: u32,
) -> Result<CheckedConfig, EvaluationError> {
    let mut wide: DeviceConfig = (**config).clone();
    wide.host.queue_depth = wide.host.queue_depth.max(depth);
    wide.host.queue_fetch_size = wide.host.queue_fetch_size.max(depth);
    wide.check().map_err(|faults| EvaluationError::Unfit(faults.to_string()))
}

impl InProcess {
    /// Runs a trace in an open and in a closed loop, under the rules of the drive's configuration.
    fn measure_under_own_rules(
        &self,
        job: &Job,
        stop: &AtomicBool,
    ) -> Result<Measurement, EvaluationError> {
        let widened = widened(job.config, job.depth)?;
        let (open, closed) = rayon::join(
            || self.run(job, job.config, Replay::Open, stop),
            || self.run(job, &widened, Replay::Closed(job.depth), stop),
        );
        let ((open, open_work), (closed, closed_work)) = (open?, closed?);
        let program_ns = debt::program_ns(job.config);
        let latency = self.graded_by.latency;
        let served_ns = latency.of(&open).unwrap_or(f64::NAN);
        let latency_ns =
            debt::latency_ns((latency, served_ns), open.seconds, open_work, program_ns);
        let throughput_bps = debt::throughput(closed.bandwidth_bps, closed.seconds, closed_work);
        // Grades take the logarithm of both.
        if !(latency_ns > 0.0 && throughput_bps > 0.0) {
            return Err(EvaluationError::Unfit(format!(
                "{} moves no data on it, so there is nothing to compare",
                job.trace.name
            )));
        }
        let figures = Figures { latency_ns, throughput_bps };
        let (open, closed) = (Some(open), Some(closed));
        Ok(Measurement { latency, open, closed, ..Measurement::of(figures) })
    }

    /// Prepares a drive and runs the requests on it once. A drive that was used before settles
    /// afterwards; else nothing is said to be left.
    fn run(
        &self,
        job: &Job,
        config: &CheckedConfig,
        replay: Replay,
        stop: &AtomicBool,
    ) -> Result<(RunFacts, Work), EvaluationError> {
        let unfit = |error: PrepareError| EvaluationError::Unfit(error.to_string());
        let tenants = [Tenant::sole(config)];
        let blank = Blank::new(config, &tenants, Observe::default());
        let preparation = Preparation { seed: config.run.seed, ..self.preparation.clone() };
        let mut drive = blank.prepare(&preparation, job.trace, stop).map_err(unfit)?;
        let requests = job.trace.requests().iter().copied();
        let stream = Stream { replay, ..Stream::open(requests) };
        match serve(&mut drive, vec![stream], None, stop, |_, _, _| true) {
            Served::Completed => {
                let mut facts = facts(&drive.report());
                let is_used = self.preparation.is_used();
                let work = if is_used { drive.settle() } else { Some(Work::default()) };
                let work = work.ok_or_else(|| {
                    let trace = &job.trace.name;
                    EvaluationError::Unfit(format!("{trace} leaves it without free blocks"))
                })?;
                facts.left_seconds = work.left.as_secs_f64();
                Ok((facts, work))
            }
            Served::Interrupted | Served::GivenUp => Err(EvaluationError::Interrupted),
            Served::OutOfSpace { unserved } => Err(EvaluationError::Unfit(format!(
                "{} runs it out of free blocks with {unserved} requests unserved",
                job.trace.name
            ))),
        }
    }
}

pub(super) fn facts(report: &Report) -> RunFacts {
    let (all, busy) = (&report.total.all, &report.utilisation);
    let device = all.device_latency_ns.as_ref();
    RunFacts {
        latency_ns_mean: device.map_or(0.0, |latency| latency.mean),
        latency_ns_p99: device.map_or(0, |latency| latency.p99),
        latency_ns_p999: device.map(|latency| latency.p999),
        total_latency_ns_mean: all.total_latency_ns.as_ref().map_or(0.0, |total| total.mean),
        bandwidth_bps: all.bandwidth_bytes_per_s,
        seconds: report.time.seconds,
        left_seconds: 0.0,
        busy: Busy {
            dies: busy.dies.mean,
            channels: busy.channels.mean,
            link_down: busy.link_down,
            link_up: busy.link_up,
            dram: busy.dram,
        },
        collections: report.collection.executions,
        mapping_misses: report.mapping.misses_read + report.mapping.misses_write,
        unwritten_share: report.unwritten_reads.share,
        write_amplification: report.write_amplification.total,
        never_fired: report.never_fired.clone(),
        requests: report.requests.completed,
        energy_j: Some(report.energy.total_j),
        average_watts: Some(report.energy.average_power_w),
        peak_watts: Some(report.energy.peak_power_w),
    }
}
