use super::*;
use crate::db::AutoDb;
use crate::workload::Trace;
use ssdtune_model::presets;
use ssdtune_trace::workload::{Seed, bundled};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

fn config(name: &str) -> CheckedConfig {
    presets::load(name).unwrap().check().unwrap()
}

fn trace(name: &str, requests: usize) -> Trace {
    Trace::of_model(&bundled(name).unwrap(), Seed::default(), requests).unwrap()
}

static GO_ON: AtomicBool = AtomicBool::new(false);

/// Counts how often it is asked.
struct Counting<'a>(InProcess, &'a AtomicU64);

impl Evaluator for Counting<'_> {
    fn identity(&self) -> String {
        self.0.identity()
    }

    fn initial_state(&self) -> InitialState {
        self.0.initial_state()
    }

    fn measure(&self, job: &Job, stop: &AtomicBool) -> Result<Measurement, EvaluationError> {
        self.1.fetch_add(1, Ordering::Relaxed);
        self.0.measure(job, stop)
    }
}

#[test]
fn a_footprint_leaves_nothing_unwritten_and_costs_flash_reads() {
    let (drive, trace) = (config("intel-750"), trace("websearch", 500));
    let job = Job { config: &drive, trace: &trace, depth: 16 };
    let measure = |state| InProcess { state }.measure(&job, &GO_ON).unwrap();
    let (empty, written) = (measure(InitialState::Empty), measure(InitialState::Footprint));
    assert_eq!(empty.open.unwrap().unwritten_share, 1.0);
    assert_eq!(written.open.as_ref().unwrap().unwritten_share, 0.0);
    assert!(written.figures.latency_ns > empty.figures.latency_ns + 50_000.0);
    // The closed loop is not paced by arrivals of 4 MB/s.
    assert!(written.figures.throughput_bps > 10.0 * written.open.unwrap().bandwidth_bps);
}

#[test]
fn nothing_is_measured_twice_and_answers_keep_the_order_of_questions() {
    let (intel, zssd) = (config("intel-750"), config("z-ssd"));
    let traces = [trace("websearch", 300), trace("database", 300)];
    let directory = tempfile::tempdir().unwrap();
    let asked = AtomicU64::new(0);
    let evaluator = Counting(InProcess::default(), &asked);
    let mut jobs = Vec::new();
    for config in [&intel, &zssd, &intel] {
        jobs.extend(traces.iter().map(|trace| Job { config, trace, depth: 4 }));
    }
    let alone: Vec<Measurement> =
        jobs.iter().map(|job| InProcess::default().measure(job, &GO_ON).unwrap()).collect();
    for (round, expected) in [(0, 4), (1, 4)] {
        let db = AutoDb::open(directory.path().join("db")).unwrap();
        let lab = Lab::new(&evaluator, Some(&db), &GO_ON, &|_| {});
        let answers = lab.measure(&jobs).unwrap();
        assert_eq!(asked.load(Ordering::Relaxed), expected, "round {round}");
        for (answer, alone) in answers.iter().zip(&alone) {
            assert_eq!(answer.as_ref().unwrap(), alone);
        }
    }
}

#[test]
fn a_drive_that_cannot_serve_is_an_answer_and_an_interruption_is_none() {
    let mut small = presets::load("intel-750").unwrap();
    for (key, value) in [("bus.channels", "1"), ("bus.chips_per_channel", "1")] {
        ssdtune_model::set(&mut small, key, value).unwrap();
    }
    for (key, value) in [("flash.dies_per_chip", "1"), ("flash.blocks_per_plane", "32")] {
        ssdtune_model::set(&mut small, key, value).unwrap();
    }
    let (small, trace) = (small.check().unwrap(), trace("kvstore", 2_000));
    let jobs = [Job { config: &small, trace: &trace, depth: 4 }];
    let evaluator = InProcess::default();
    let lab = Lab::new(&evaluator, None, &GO_ON, &|_| {});
    let answers = lab.measure(&jobs).unwrap();
    if let Ok(measured) = &answers[0] {
        assert!(measured.open.as_ref().unwrap().collections > 0);
    }
    let stopped = AtomicBool::new(true);
    let lab = Lab::new(&evaluator, None, &stopped, &|_| {});
    assert!(matches!(lab.measure(&jobs), Err(LabError::Interrupted)));
}

#[test]
fn what_decides_a_result_decides_the_key() {
    let (intel, zssd) = (config("intel-750"), config("z-ssd"));
    let trace = trace("websearch", 100);
    let states = [
        InitialState::Empty,
        InitialState::Footprint,
        InitialState::Filled { occupancy: 0.5, overwrites: 1 },
        InitialState::Filled { occupancy: 0.5, overwrites: 2 },
    ];
    let mut keys = std::collections::BTreeSet::new();
    let prefix = trace.prefix(50);
    for state in states {
        let evaluator = InProcess { state };
        let lab = Lab::new(&evaluator, None, &GO_ON, &|_| {});
        for config in [&intel, &zssd] {
            for trace in [&trace, &prefix] {
                for depth in [4, 8] {
                    keys.insert(lab.key(&Job { config, trace, depth }));
                }
            }
        }
    }
    assert_eq!(keys.len(), 4 * 8);
}
