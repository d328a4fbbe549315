//! Tests of evaluators, with and without memory.

use super::*;
use crate::aim::Aim;
use crate::grade::LatencyFigure;
use crate::memory::configuration_digest;
use crate::memory::{AutoDb, RecordKind};
use crate::workload::Trace;
use ssdtune_experiment::{Age, Preparation, Start};
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

/// An evaluator that counts its measurements.
struct Counting<'a>(InProcess, &'a AtomicU64);

impl Evaluator for Counting<'_> {
    fn identity(&self) -> String {
        self.0.identity()
    }

    fn preparation(&self) -> Preparation {
        self.0.preparation()
    }

    fn measure(&self, job: &Job, stop: &AtomicBool) -> Result<Measurement, EvaluationError> {
        self.1.fetch_add(1, Ordering::Relaxed);
        self.0.measure(job, stop)
    }
}

fn in_state(start: Start, age: Option<Age>) -> InProcess {
    let ages = age.into_iter().collect();
    InProcess::new(Preparation { ages, ..Preparation::of(start, 0) }).unwrap()
}

fn graded(preparation: Start, latency: LatencyFigure, both_rules: bool) -> InProcess {
    in_state(preparation, None).graded_by(GradedBy { latency, both_rules })
}

fn measure_by(evaluator: &InProcess, config: &CheckedConfig) -> Measurement {
    let trace = trace("database", 2_000);
    evaluator.measure(&Job { config, trace: &trace, depth: 16 }, &GO_ON).unwrap()
}

#[test]
fn a_percentile_can_stand_for_latency_and_its_debts_are_charged() {
    let config = config("intel-750");
    for start in [Start::Footprint, Start::steady(0.9)] {
        let of = |latency| measure_by(&graded(start.clone(), latency, false), &config);
        let all = [LatencyFigure::Mean, LatencyFigure::P99, LatencyFigure::P999].map(of);
        let latencies = all.each_ref().map(|measured| measured.figures.latency_ns);
        assert!(latencies.is_sorted(), "{latencies:?}");
        let open = all[1].open.as_ref().unwrap();
        let charged = latencies[1] / open.latency_ns_p99 as f64;
        match open.left_seconds > 0.0 {
            true => assert!(charged > 1.0, "{charged}"),
            false => assert_eq!(charged, 1.0),
        }
        // An aim is charged as the grade is.
        let whole = WorkloadMeasurement::new(vec![all[0].clone()]);
        for (aim, graded) in [(Aim::P99, latencies[1]), (Aim::P999, latencies[2])] {
            let aimed = aim.value(&config, &whole, None).unwrap();
            assert!((aimed / graded - 1.0).abs() < 1e-6, "{aim}: {aimed} and {graded}");
        }
        // Throughput is no other for that.
        assert_eq!(all[0].figures.throughput_bps, all[2].figures.throughput_bps);
    }
}

#[test]
fn under_both_rules_a_speedup_is_the_lesser_one() {
    let (slow, fast) = (config("intel-750"), config("samsung-pm9a3-960gb"));
    let as_mqsim = |drive: &CheckedConfig| {
        let mut other = ssdtune_mqsim::as_mqsim(drive);
        other.compat.analytic_start = false;
        other.check().unwrap()
    };
    let both = graded(Start::Footprint, LatencyFigure::Mean, true);
    let own = graded(Start::Footprint, LatencyFigure::Mean, false);
    let speedup = measure_by(&both, &fast).over(&measure_by(&both, &slow));
    let by_own = measure_by(&own, &fast).over(&measure_by(&own, &slow));
    let by_mqsim = measure_by(&own, &as_mqsim(&fast)).over(&measure_by(&own, &as_mqsim(&slow)));
    assert_ne!(by_own, by_mqsim);
    assert_eq!(speedup, by_own.least(&by_mqsim));
}

/// Two ways to grade must not answer each other's questions from memory.
#[test]
fn the_identity_says_what_is_graded() {
    let of = |latency, both| graded(Start::Empty, latency, both).identity();
    let [mean, tail, both] = [
        of(LatencyFigure::Mean, false),
        of(LatencyFigure::P99, false),
        of(LatencyFigure::Mean, true),
    ];
    assert_eq!(mean, in_state(Start::Empty, None).identity());
    assert!(mean != tail && tail != both && mean != both, "{mean}, {tail}, {both}");
}

/// Stored evaluations are found by these words, so they must not change.
#[test]
fn preparations_are_described_as_they_always_were() {
    let of = |start, age| described(&in_state(start, age).preparation());
    assert_eq!(of(Start::Empty, None), "empty");
    assert_eq!(of(Start::Footprint, None), "footprint written");
    assert_eq!(of(Start::steady(0.7), None), "in steady state, 70 % filled");
    let overwritten = of(Start::sequential(0.5), Some(Age::Random { times: 2 }));
    assert_eq!(overwritten, "50 % filled, overwritten 2x");
    assert_eq!(of(Start::sequential(0.5), None), "start sequential:0.5");
    let aged = of(Start::Footprint, Some(Age::Trace { times: 2 }));
    assert_eq!(aged, "start footprint, aged by trace:2");
}

#[test]
fn a_footprint_leaves_nothing_unwritten_and_costs_flash_reads() {
    let (drive, trace) = (config("intel-750"), trace("websearch", 500));
    let job = Job { config: &drive, trace: &trace, depth: 16 };
    let measure = |start| in_state(start, None).measure(&job, &GO_ON).unwrap();
    let (empty, written) = (measure(Start::Empty), measure(Start::Footprint));
    assert_eq!(empty.open.unwrap().unwritten_share, 1.0);
    assert_eq!(written.open.as_ref().unwrap().unwritten_share, 0.0);
    assert!(written.figures.latency_ns > empty.figures.latency_ns + 10_000.0);
    // Arrivals pace the open loop to 4 MB/s; the closed loop is faster.
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
        let cached = CachedEvaluator::new(&evaluator, Some(&db), &GO_ON, &|_| {});
        let answers = cached.measure(&jobs).unwrap();
        assert_eq!(asked.load(Ordering::Relaxed), expected, "round {round}");
        for (answer, alone) in answers.iter().zip(&alone) {
            assert_eq!(answer.as_ref().unwrap(), alone);
        }
    }
}

/// The text of a drive is stored once for three evaluations. Each record written takes a
/// generation.
#[test]
fn the_text_of_a_drive_is_stored_once() {
    let intel = config("intel-750");
    let traces = [trace("websearch", 300), trace("database", 300), trace("recomm", 300)];
    let directory = tempfile::tempdir().unwrap();
    let db = AutoDb::open(directory.path().join("db")).unwrap();
    let before = db.generation();
    let evaluator = InProcess::default();
    let cached = CachedEvaluator::new(&evaluator, Some(&db), &GO_ON, &|_| {});
    for trace in &traces {
        cached.measure(&[Job { config: &intel, trace, depth: 4 }]).unwrap();
    }
    assert_eq!(db.generation().0 - before.0, 4);
    let text = db.get::<String>(RecordKind::Configuration, configuration_digest(&intel).as_bytes());
    assert!(text.unwrap().is_some());
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
    let cached = CachedEvaluator::new(&evaluator, None, &GO_ON, &|_| {});
    let answers = cached.measure(&jobs).unwrap();
    if let Ok(measured) = &answers[0] {
        assert!(measured.open.as_ref().unwrap().collections > 0);
    }
    let stopped = AtomicBool::new(true);
    let cached = CachedEvaluator::new(&evaluator, None, &stopped, &|_| {});
    assert!(matches!(cached.measure(&jobs), Err(MeasureError::Interrupted)));
}

#[test]
fn a_steady_drive_collects_from_the_first_writes_on() {
    let (intel, trace) = (config("intel-750"), trace("kvstore", 3_000));
    let job = Job { config: &intel, trace: &trace, depth: 4 };
    let facts = |start| {
        let measured = in_state(start, None).measure(&job, &GO_ON).unwrap();
        measured.closed.unwrap()
    };
    let steady = facts(Start::steady(0.9));
    let fresh = facts(Start::Footprint);
    assert!(steady.collections > 0 && fresh.collections == 0, "{steady:?} {fresh:?}");
    assert!(steady.write_amplification > fresh.write_amplification);
    assert!(steady.unwritten_share < 1e-9);
}

#[test]
fn what_decides_a_result_decides_the_key() {
    let (intel, zssd) = (config("intel-750"), config("z-ssd"));
    let trace = trace("websearch", 100);
    let random = |times| Some(Age::Random { times });
    let states = [
        (Start::Empty, None),
        (Start::Footprint, None),
        (Start::steady(0.5), None),
        (Start::steady(0.6), None),
        (Start::sequential(0.5), None),
        (Start::sequential(0.5), random(1)),
        (Start::sequential(0.5), random(2)),
        (Start::Footprint, Some(Age::Trace { times: 1 })),
    ];
    let mut keys = std::collections::BTreeSet::new();
    let prefix = trace.prefix(50);
    for (start, age) in states {
        let evaluator = in_state(start, age);
        let cached = CachedEvaluator::new(&evaluator, None, &GO_ON, &|_| {});
        for config in [&intel, &zssd] {
            for trace in [&trace, &prefix] {
                for depth in [4, 8] {
                    keys.insert(cached.key(&Job { config, trace, depth }));
                }
            }
        }
    }
    assert_eq!(keys.len(), 8 * 8);
}

#[cfg(unix)]
mod external {
    use super::super::external::{full_queue, outstanding};
    use super::*;
    use ssdtune_model::{DeviceConfig, Nanos};
    use ssdtune_trace::Request;
    use std::os::unix::fs::PermissionsExt as _;
    use std::time::Duration;

    /// A shell script in a directory of its own, as an evaluator.
    fn program(text: &str) -> (tempfile::TempDir, External) {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("sim");
        std::fs::write(&path, format!("#!/bin/sh\n{text}\n")).unwrap();
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).unwrap();
        let command = format!("{} {{config.xml}} {{workload.xml}}", path.display());
        (directory, External::parse(&command).unwrap())
    }

    fn measure(external: &External) -> Result<Measurement, EvaluationError> {
        let (drive, trace) = (config("intel-750"), trace("websearch", 50));
        external.measure(&Job { config: &drive, trace: &trace, depth: 8 }, &GO_ON)
    }

    #[test]
    fn a_program_that_prints_json_is_an_evaluator() {
        // The script counts lines of the trace and checks the drive's channels.
        let text = "lines=$(wc -l < requests.trace)\n\
                    grep -q '<Flash_Channel_Count>12<' $1 || exit 3\n\
                    grep -q requests.trace $2 || exit 4\n\
                    echo noise\necho \"{\\\"latency_ns\\\": $lines, \\\"throughput_bps\\\": 7}\"";
        let (_directory, external) = program(text);
        let figures = measure(&external).unwrap().figures;
        assert_eq!((figures.latency_ns, figures.throughput_bps), (50.0, 7.0));
    }

    #[test]
    fn what_mqsims_files_cannot_say_of_a_drive_is_named() {
        let (_directory, external) = program("");
        assert_eq!(external.untold(&config("intel-750")), [""; 0]);
        let untold = external.untold(&config("intel-750-400gb"));
        assert!(untold.contains(&"mapping.unit_bytes = 4096".to_owned()), "{untold:?}");
        assert!(!untold.iter().any(|setting| setting.contains("channels")), "{untold:?}");
    }

    #[test]
    fn mqsims_result_file_is_read_by_littles_law() {
        let text = "echo '<R><Device_Response_Time>200</Device_Response_Time></R>' \
                    > workload_scenario_1.xml";
        let (_directory, external) = program(text);
        let figures = measure(&external).unwrap().figures;
        assert_eq!(figures.latency_ns, 200_000.0);
        let trace = trace("websearch", 50);
        let bytes: u64 =
            trace.requests().iter().map(|request| 512 * u64::from(request.sectors)).sum();
        // 8 requests in service and 5 that wait, each 200 us long.
        let expected = 13.0 / 200e-6 * bytes as f64 / 50.0;
        assert!((figures.throughput_bps / expected - 1.0).abs() < 1e-12);
    }

    /// Requests that all come at once are served about as fast as in a closed loop of that depth.
    #[test]
    fn a_full_queue_keeps_the_drive_at_the_loops_depth() {
        for depth in [4, 16, 256] {
            let mut full: DeviceConfig = (*config("intel-750")).clone();
            (full.host.queue_depth, full.host.queue_fetch_size) = full_queue(depth);
            assert_eq!(outstanding(&full), depth + depth / 2 + 1);
            let at_once = trace("websearch", 2_000);
            let at_once =
                at_once.requests().iter().map(|request| Request { at: Nanos(0), ..*request });
            let at_once = Trace::new("at once", at_once.collect());
            let full = full.check().unwrap();
            let job = Job { config: &full, trace: &at_once, depth };
            let both = InProcess::default().measure(&job, &GO_ON).unwrap();
            let (open, closed) = (both.open.unwrap(), both.closed.unwrap());
            let ratio = open.bandwidth_bps / closed.bandwidth_bps;
            assert!((0.8..1.25).contains(&ratio), "{depth}: {ratio}");
        }
    }

    #[test]
    fn failures_name_the_end_of_standard_error_after_their_attempts() {
        let (directory, mut external) =
            program("echo x >> ${0}.runs\necho no such luck >&2\nexit 9");
        external.retries = 2;
        let Err(EvaluationError::Unfit(reason)) = measure(&external) else { panic!("it failed") };
        assert!(reason.contains("no such luck") && reason.contains('9'), "{reason}");
        let runs = std::fs::read_to_string(directory.path().join("sim.runs")).unwrap();
        assert_eq!(runs.lines().count(), 3);
    }

    #[test]
    fn a_run_that_does_not_end_is_killed() {
        let (_directory, mut external) = program("exec sleep 60");
        (external.timeout, external.retries) = (Duration::from_millis(100), 0);
        let Err(EvaluationError::Unfit(reason)) = measure(&external) else { panic!("it hung") };
        assert!(reason.contains("took longer than"), "{reason}");
    }

    #[test]
    fn what_cannot_be_started_or_understood_is_said() {
        assert!(External::parse("sim {config.xml}").is_err());
        let nothing = External::parse("/no/such {config.xml} {workload.xml}").unwrap();
        assert!(matches!(measure(&nothing), Err(EvaluationError::Broken(_))));
        let (_directory, mut external) = program("echo hello");
        external.retries = 0;
        let Err(EvaluationError::Unfit(reason)) = measure(&external) else { panic!("no figures") };
        assert!(reason.contains("`hello`"), "{reason}");
        let mqsim = External::parse("mqsim:/opt/MQSim").unwrap();
        assert!(mqsim.identity().starts_with("/opt/MQSim -i {config.xml} -w {workload.xml}"));
    }
}
