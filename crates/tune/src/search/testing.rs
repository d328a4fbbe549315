//! Shared by tests of the search: a task, and an evaluator whose answers are a formula.

use super::{Algorithm, Found, PriorKnowledge, Settings, Trial, run};
use crate::evaluate::{
    Busy, CachedEvaluator, EvaluationError, Evaluator, Job, Measurement, RunFacts,
};
use crate::grade::{Figures, Weights};
use crate::limits::Limits;
use crate::space::{DRAM, LAYOUT, Point, Space};
use crate::task::Task;
use crate::workload::{Trace, Workload};
use ssdtune_experiment::Preparation;
use ssdtune_model::{Nanos, Sectors, presets};
use ssdtune_trace::{Op, Request, TenantId};
use std::sync::LazyLock;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

/// A flag that never stops anything.
pub(crate) static GO_ON: AtomicBool = AtomicBool::new(false);

/// An evaluator that computes figures by a formula. More channels and a faster bus help, with
/// diminishing returns. One plane order is best. Channels cost power. A wide bus hurts every
/// workload called "other" a little, and the same on traces called "unseen" much.
#[derive(Default)]
pub(crate) struct Formula {
    /// Evaluations so far.
    pub count: AtomicU64,
    /// Whether measurements state power.
    pub counts_energy: bool,
}

impl Evaluator for Formula {
    fn identity(&self) -> String {
        "formula".to_owned()
    }

    fn preparation(&self) -> Preparation {
        Preparation::default()
    }

    fn measure(&self, job: &Job, _: &AtomicBool) -> Result<Measurement, EvaluationError> {
        self.count.fetch_add(1, Ordering::Relaxed);
        let config = job.config;
        let channels = f64::from(config.bus.channels);
        let rate = f64::from(config.bus.rate_mts) * f64::from(config.bus.width_bytes);
        let order = match config.mapping.plane_order.name() {
            "PCWD" => 0.8,
            "CWDP" => 1.0,
            _ => 1.1,
        };
        let mut latency_ns = 20_000.0 + 1e6 / channels * order + 4e7 / rate;
        for (name, each_byte) in [("other", 500.0), ("unseen", 30_000.0)] {
            if job.trace.name == name {
                let width = f64::from(config.bus.width_bytes);
                latency_ns = 20_000.0 + each_byte * width + 1e6 / channels;
            }
        }
        let throughput_bps = 1e9 * channels.sqrt();
        let facts = RunFacts {
            latency_ns_mean: latency_ns,
            latency_ns_p99: 0,
            latency_ns_p999: None,
            total_latency_ns_mean: latency_ns,
            bandwidth_bps: throughput_bps,
            seconds: 1.0,
            left_seconds: 0.0,
            busy: Busy { dies: 0.1, channels: 0.0, link_down: 0.0, link_up: 0.0, dram: 0.0 },
            collections: 0,
            mapping_misses: 0,
            unwritten_share: 0.0,
            write_amplification: 1.0,
            never_fired: Vec::new(),
            requests: job.trace.requests().len() as u64,
            energy_j: None,
            average_watts: self.counts_energy.then_some(channels),
            peak_watts: None,
        };
        let figures = Figures { latency_ns, throughput_bps };
        let [open, closed] = [facts.clone(), facts].map(Some);
        Ok(Measurement { open, closed, ..Measurement::of(figures) })
    }
}

/// A workload of reads at rising addresses, one each microsecond. Workloads must differ in their
/// requests and not only in their names, because evaluations are remembered by the requests.
pub(crate) fn workload(name: &str, sectors: u32, requests: u64) -> Workload {
    let request = |number: u64| Request {
        at: Nanos(number * 1_000),
        lba: Sectors(number * 64),
        sectors,
        tenant: TenantId(0),
        op: Op::Read,
    };
    let trace = Trace::new(name, (0..requests).map(request).collect());
    Workload { name: name.to_owned(), depth: 4, traces: vec![trace] }
}

/// The axes that tests search beside those that move in groups: the axes of the formula, and one
/// more. With all 28 axes a search takes several times as long, most of it for predictions.
const AXES: [&str; 4] = ["bus.width_bytes", "bus.rate_mts", "mapping.plane_order", "gc.threshold"];

/// A task with two workloads of this many requests each.
pub(crate) fn task_of(requests: u64) -> Task {
    let base = presets::load("intel-750").unwrap();
    let is_searched =
        |key: &str| LAYOUT.contains(&key) || DRAM.contains(&key) || AXES.contains(&key);
    Task {
        space: Space::autoblox().around(&base).only(is_searched),
        limits: Limits::around(&base),
        base: base.check().unwrap(),
        target: workload("target", 8, requests),
        others: vec![workload("other", 16, requests)],
        weights: Weights::default(),
        max_harm: None,
    }
}

/// A task with two workloads of 100 requests each.
pub(crate) static TASK: LazyLock<Task> = LazyLock::new(|| task_of(100));

/// The seed of the searches that tests share.
pub(crate) const SEED: u64 = 5;

/// A search of [`TASK`] by each algorithm, with [`settings`] for [`SEED`], on two threads. A search
/// takes about a second, so tests share it.
pub(crate) fn shared_search(algorithm: Algorithm) -> &'static Found {
    fn found(algorithm: Algorithm) -> Found {
        let prior = PriorKnowledge::default();
        search(&TASK, &prior, &settings(algorithm, SEED), &Formula::default(), 2)
    }
    static BAYES: LazyLock<Found> = LazyLock::new(|| found(Algorithm::Bayes));
    static AUTOBLOX: LazyLock<Found> = LazyLock::new(|| found(Algorithm::Autoblox));
    static RANDOM: LazyLock<Found> = LazyLock::new(|| found(Algorithm::Random));
    match algorithm {
        Algorithm::Bayes => &BAYES,
        Algorithm::Autoblox => &AUTOBLOX,
        Algorithm::Random => &RANDOM,
        Algorithm::Own => panic!("nobody proposes here"),
    }
}

/// Settings with a budget of 25 evaluations.
pub(crate) fn settings(algorithm: Algorithm, seed: u64) -> Settings {
    Settings { algorithm, seed, budget: 25.0, batch: 2, ..Settings::default() }
}

/// Runs a search on a number of threads.
pub(crate) fn search(
    task: &Task,
    prior: &PriorKnowledge,
    settings: &Settings,
    evaluator: &dyn Evaluator,
    threads: usize,
) -> Found {
    let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
    pool.install(|| {
        let cached = CachedEvaluator::new(evaluator, None, &GO_ON, &|_| {});
        run(task, prior, settings, &cached, &mut |_, _| {}).unwrap()
    })
}

/// What a search decided before its last race, which a smaller budget than another's may cut.
pub(crate) fn decisions_before_the_end(found: &Found, settings: &Settings) -> Vec<Decision> {
    // A whole race has six candidates for each proposal of a batch, on the prefix.
    let race = 6.0 * settings.batch as f64 * settings.prefix + 1.0;
    let is_bayes = settings.algorithm == Algorithm::Bayes;
    let end = if is_bayes { settings.budget - race } else { settings.budget };
    let before = found.curve.iter().take_while(|point| point.spent <= end).count();
    let mut decisions = decisions(found);
    decisions.truncate(before);
    decisions
}

/// The point and the grade of a trial.
pub(crate) type Decision = (Point, Option<f64>);

/// What a search decided: the point and the grade of each trial, in order.
pub(crate) fn decisions(found: &Found) -> Vec<Decision> {
    let one = |trial: &Trial| (trial.point.clone(), trial.grade);
    found.trials.iter().map(one).collect()
}
