//! Measuring on windows that stand for a long trace.
//!
//! A window counts with one over the chance of its drawing. Two drives are measured on the same
//! windows, so the ratio of their figures is the paired estimate of `ssdtune_estimate::Ratio`.

use super::in_process::{InProcess, facts, widened};
use super::{Busy, EvaluationError, Job, Measurement, RunFacts};
use crate::grade::Figures;
use crate::measurement::WindowFigures;
use crate::workload::Windows;
use ssdtune_experiment::Preparation;
use ssdtune_experiment::livepoints::LivePointsError;
use ssdtune_experiment::sampled::{
    Dues, SampledError, WindowRun, WindowServer, WindowTask, seconds_are_few,
};
use ssdtune_model::{CheckedConfig, Nanos};
use ssdtune_sim::{BusyTime, Replay};
use std::sync::atomic::AtomicBool;

impl InProcess {
    /// Measures a drive on the windows of a trace.
    pub(super) fn measure_windows(
        &self,
        job: &Job,
        windows: &Windows,
        stop: &AtomicBool,
    ) -> Result<Measurement, EvaluationError> {
        let wide = widened(job.config, job.depth)?;
        let (open, closed) = rayon::join(
            || serve(job.config, &self.preparation, windows, Replay::Open, stop),
            || serve(&wide, &self.preparation, windows, Replay::Closed(job.depth), stop),
        );
        let (open, closed) = (open?, closed?);
        let drawn = windows.drawn().iter().map(|drawn| 1.0 / drawn.chance);
        let dues = Dues::weighted(closed.iter().zip(drawn));
        let each = || windows.drawn().iter().zip(open.iter().zip(&closed));
        let sum = |value: &dyn Fn(&WindowRun, &WindowRun) -> f64| -> f64 {
            each().map(|(drawn, (open, closed))| value(open, closed) / drawn.chance).sum()
        };
        let latency_ns =
            sum(&|open, _| open.served.latency_ns) / sum(&|open, _| open.served.requests as f64);
        let throughput_bps = 512.0 * sum(&|_, closed| closed.served.sectors as f64)
            / (sum(&|_, closed| dues.taken_ns(closed)) / 1e9);
        if !(latency_ns > 0.0 && throughput_bps > 0.0 && throughput_bps.is_finite()) {
            return Err(EvaluationError::Unfit(format!(
                "{} moves no data on it, so there is nothing to compare",
                job.trace.name
            )));
        }
        let few_seconds = seconds_are_few(windows.points(), &closed);
        let figures = each().map(|(drawn, (open, closed))| WindowFigures {
            chance: drawn.chance,
            latency_ns: open.served.latency_ns,
            closed_ns: dues.taken_ns(closed),
            is_late: open.is_late(),
            few_seconds,
            waits_for_flash: dues.waits_for_flash,
        });
        let chances: Vec<f64> = windows.drawn().iter().map(|drawn| drawn.chance).collect();
        let (open_facts, closed_facts) = (joined(&open, &chances), joined(&closed, &chances));
        Ok(Measurement {
            windows: figures.collect(),
            open: Some(RunFacts { latency_ns_mean: latency_ns, ..open_facts }),
            closed: Some(RunFacts { bandwidth_bps: throughput_bps, ..closed_facts }),
            ..Measurement::of(Figures { latency_ns, throughput_bps })
        })
    }
}

/// What a drive takes in the open loop for each window, in nanoseconds.
pub(super) fn sizes(
    config: &CheckedConfig,
    preparation: &Preparation,
    windows: &Windows,
    stop: &AtomicBool,
) -> Result<Vec<f64>, EvaluationError> {
    let runs = serve(config, preparation, windows, Replay::Open, stop)?;
    Ok(runs.iter().map(|run| run.served.latency_ns).collect())
}

/// Serves windows on a drive that was prepared with its own seed.
fn serve(
    config: &CheckedConfig,
    preparation: &Preparation,
    windows: &Windows,
    replay: Replay,
    stop: &AtomicBool,
) -> Result<Vec<WindowRun>, EvaluationError> {
    let preparation = Preparation { seed: config.run.seed, ..preparation.clone() };
    let (points, device) = (windows.points(), config);
    let task = WindowTask { points, device, preparation: &preparation, replay };
    let drawn: Vec<usize> = windows.drawn().iter().map(|drawn| drawn.window).collect();
    let served = WindowServer::new(task, &drawn, stop)
        .and_then(|server| server.serve(&drawn, stop, &|_| {}));
    served.map_err(|error| match error {
        SampledError::Interrupted => EvaluationError::Interrupted,
        SampledError::Points(LivePointsError::OutOfSpace) => {
            EvaluationError::Unfit("it runs out of free blocks in a window".to_owned())
        }
        other => EvaluationError::Unfit(other.to_string()),
    })
}

/// What the runs of windows have in common: sums, and means by how much each window counts.
fn joined(runs: &[WindowRun], chances: &[f64]) -> RunFacts {
    let each: Vec<RunFacts> = runs.iter().map(|run| facts(&run.report)).collect();
    let weights: Vec<f64> = chances.iter().map(|chance| 1.0 / chance).collect();
    let total: f64 = weights.iter().sum();
    let mean = |value: &dyn Fn(&RunFacts) -> f64| -> f64 {
        each.iter().zip(&weights).map(|(own, weight)| value(own) * weight).sum::<f64>() / total
    };
    let sum = |value: &dyn Fn(&WindowRun) -> f64| -> f64 {
        runs.iter().zip(&weights).map(|(own, weight)| value(own) * weight).sum()
    };
    let never = each.first().map_or(Vec::new(), |first| first.never_fired.clone());
    let never =
        never.into_iter().filter(|name| each.iter().all(|own| own.never_fired.contains(name)));
    let programmed =
        |run: &WindowRun| (run.flash.host + run.flash.moved + run.flash.mapping) as f64;
    let host = sum(&|run| run.flash.host as f64);
    let (joule, seconds) = (sum(&|run| run.energy.0), sum(&|run| run.energy.1));
    let busy = |of: &dyn Fn(&BusyTime) -> Nanos| {
        (sum(&|run| of(&run.busy).0 as f64 / 1e9) / seconds.max(1e-9)).min(1.0)
    };
    RunFacts {
        latency_ns_mean: mean(&|own| own.latency_ns_mean),
        latency_ns_p99: percentile(runs, &weights),
        latency_ns_p999: None,
        total_latency_ns_mean: mean(&|own| own.total_latency_ns_mean),
        bandwidth_bps: mean(&|own| own.bandwidth_bps),
        seconds: each.iter().map(|own| own.seconds).sum(),
        left_seconds: 0.0,
        busy: Busy {
            dies: busy(&|own| own.dies),
            channels: busy(&|own| own.channels),
            link_down: busy(&|own| own.link_down),
            link_up: busy(&|own| own.link_up),
            dram: busy(&|own| own.dram),
        },
        collections: each.iter().map(|own| own.collections).sum(),
        mapping_misses: each.iter().map(|own| own.mapping_misses).sum(),
        unwritten_share: mean(&|own| own.unwritten_share),
        write_amplification: if host > 0.0 { sum(&programmed) / host } else { 1.0 },
        never_fired: never.collect(),
        requests: runs.iter().map(|run| run.served.requests).sum(),
        energy_j: Some(runs.iter().map(|run| run.energy.0).sum()),
        average_watts: Some(if seconds > 0.0 { joule / seconds } else { 0.0 }),
        peak_watts: each.iter().filter_map(|own| own.peak_watts).max_by(f64::total_cmp),
    }
}

/// The response time that 99 % of the requests do not exceed.
fn percentile(runs: &[WindowRun], weights: &[f64]) -> u64 {
    let pairs: Vec<_> =
        runs.iter().zip(weights).map(|(run, weight)| (1.0 / weight, &run.latencies)).collect();
    ssdtune_estimate::weighted_percentile(&pairs, 0.99).unwrap_or(0.0) as u64
}
