//! Windows that stand for long traces: which are drawn, and what drives get on them.

use super::*;
use crate::evaluate::{CachedEvaluator, InProcess};
use crate::task::Task;
use crate::workload::{LoadOptions, NamedWorkload, Sampling, Workload};
use crate::{Weights, limits::Limits, space::Space};
use ssdtune_experiment::AddressFit;
use ssdtune_model::{CheckedConfig, Sectors, presets};
use ssdtune_trace::workload::{Generator, Seed, bundled};
use std::collections::BTreeSet;
use std::sync::atomic::AtomicBool;

const REQUESTS: usize = 40_000;

/// The first requests of a model, in a file.
fn file(directory: &tempfile::TempDir) -> String {
    let model = bundled("database").unwrap();
    let requests = Generator::new(&model, Seed::default()).unwrap().take(REQUESTS);
    let rows: Vec<String> = requests
        .map(|own| {
            let op = if own.op == ssdtune_trace::Op::Write { 'W' } else { 'R' };
            format!("{},0,{op},{},{}\n", own.at.0, own.lba.0, own.sectors)
        })
        .collect();
    let path = directory.path().join("long.csv");
    std::fs::write(&path, format!("time_ns,tenant,op,lba,sectors\n{}", rows.concat())).unwrap();
    path.to_str().unwrap().to_owned()
}

fn options(above: u64) -> LoadOptions {
    LoadOptions {
        seed: Seed::default(),
        requests: REQUESTS,
        space: Sectors(1 << 40),
        fit: None,
        depth: None,
        sampled: Some(Sampling { above, page_bytes: 4_096 }),
    }
}

fn drives() -> [CheckedConfig; 2] {
    ["100000", "400000"].map(|nanos| {
        let mut config = presets::load("intel-750").unwrap();
        ssdtune_model::set(&mut config, "flash.page_read_latency_lsb_ns", nanos).unwrap();
        ssdtune_model::set(&mut config, "flash.page_read_latency_msb_ns", nanos).unwrap();
        config.check().unwrap()
    })
}

#[test]
fn a_long_trace_is_measured_on_windows_as_it_is_measured_whole() {
    let directory = tempfile::tempdir().unwrap();
    let named = NamedWorkload::parse(&file(&directory)).unwrap();
    let whole = named.load(&options(1_000_000)).unwrap();
    let mut sampled = named.load(&options(10_000)).unwrap();
    assert!(whole.traces[0].windows().is_none());
    assert_eq!(whole.traces[0].requests().len(), REQUESTS);
    let all = sampled.traces[0].windows().unwrap().every();
    sampled.traces[0] = sampled.traces[0].with_windows(all);
    let evaluator = InProcess::default();
    let stop = AtomicBool::new(false);
    let evaluator = CachedEvaluator::new(&evaluator, None, &stop, &|_| {});
    let [base, slow] = drives();
    let speedup = |workload: &Workload| {
        let questions = [(&base, workload), (&slow, workload)];
        let answers = evaluator.measure_workloads(&questions).unwrap();
        let [base, slow] = [0, 1].map(|nth: usize| answers[nth].clone().unwrap());
        (base.traces()[0].clone(), slow.speedup_over(&base))
    };
    let ((run, ratio), (windows, told)) = (speedup(&whole), speedup(&sampled));
    let near = |one: f64, other: f64| (one / other).ln().abs();
    assert!(ratio.latency < 0.5, "{ratio:?}");
    assert!(near(told.latency, ratio.latency) < 0.05, "{told:?} instead of {ratio:?}");
    assert!(near(told.throughput, ratio.throughput) < 0.05, "{told:?} instead of {ratio:?}");
    assert!(near(windows.figures.latency_ns, run.figures.latency_ns) < 0.05);
    let (own, true_facts) = (windows.open.unwrap(), run.open.unwrap());
    assert!(near(own.average_watts.unwrap(), true_facts.average_watts.unwrap()) < 0.05);
    let (busy, truth) = (own.busy.dies, true_facts.busy.dies);
    assert!(near(busy, truth) < 0.1, "{busy} instead of {truth}");
    let stored = serde_json::to_string(&windows.windows).unwrap();
    assert_eq!(windows.windows.len(), sampled.traces[0].windows().unwrap().drawn().len());
    assert!(stored.contains("closed_ns"), "{stored}");
}

#[test]
fn a_sampled_trace_can_be_read_again_unless_it_has_changed() {
    let directory = tempfile::tempdir().unwrap();
    let path = file(&directory);
    let named = NamedWorkload::parse(&path).unwrap();
    for fit in [None, Some(AddressFit::Compact), Some(AddressFit::Wrap)] {
        let space = Sectors(if fit == Some(AddressFit::Wrap) { 1 << 20 } else { 1 << 40 });
        let sampled = named.load(&LoadOptions { fit, space, ..options(10_000) }).unwrap();
        assert!(sampled.can_run_whole());
        let again = sampled.traces[0].whole().expect("it has not changed");
        assert_eq!(again.requests().len(), REQUESTS);
        // What was sampled lies where it lay.
        let places = |own: &[Request]| -> BTreeSet<(u64, u64)> {
            own.iter().map(|request| (request.at.0, request.lba.0)).collect()
        };
        let windows = &sampled.traces[0].windows().unwrap().points().windows;
        let whole = places(again.requests());
        assert!(windows.iter().all(|window| places(&window.requests).is_subset(&whole)), "{fit:?}");
    }
    let mut halves = named.load(&options(10_000)).unwrap();
    assert!(halves.split_windows().can_run_whole() && halves.can_run_whole());
    let text = std::fs::read_to_string(&path).unwrap();
    let other = text.replacen(",W,", ",R,", 1);
    assert_eq!(text.len(), other.len());
    for changed in [other, text.lines().take(30_000).collect::<Vec<_>>().join("\n")] {
        std::fs::write(&path, changed).unwrap();
        assert!(halves.traces[0].whole().is_none());
    }
    std::fs::remove_file(&path).unwrap();
    assert!(halves.traces[0].whole().is_none());
}

#[test]
fn draws_are_nested_and_halves_have_nothing_in_common() {
    let directory = tempfile::tempdir().unwrap();
    let named = NamedWorkload::parse(&file(&directory)).unwrap();
    let trace = named.load(&options(10_000)).unwrap().traces.remove(0);
    let windows = trace.windows().unwrap().clone().draw(16);
    let trace = trace.with_windows(windows);
    let places = |trace: &Trace| -> Vec<usize> {
        trace.windows().unwrap().drawn().iter().map(|own| own.window).collect()
    };
    let (all, part) = (places(&trace), trace.prefix(trace.requests().len() / 3));
    assert_eq!(places(&part).len(), WINDOWS_MIN);
    assert!(places(&part).iter().all(|window| all.contains(window)));
    assert_ne!(part.digest(), trace.digest());
    assert_eq!(trace.requests().len(), 500 * all.len());
    let times = || trace.requests().iter().map(|request| request.at);
    assert!(times().zip(times().skip(1)).all(|(one, next)| one <= next));
    let (one, other) = trace.windows().unwrap().clone().halves();
    let (one, other) = (trace.with_windows(one.every()), trace.with_windows(other.every()));
    assert!(places(&one).iter().all(|window| !places(&other).contains(window)));
    let kept = trace.windows().unwrap().points().windows.len();
    assert_eq!(places(&one).len() + places(&other).len(), kept);
    let more =
        |trace: &Trace, times| trace.windows().unwrap().times(times).map(|own| own.drawn().len());
    assert_eq!(more(&one, 9.0), None);
    assert_eq!(
        [more(&part, 1.1), more(&part, 100.0)],
        [Some(2 * WINDOWS_MIN), Some(kept.min(MOST))]
    );
    assert_eq!(trace.footprint(), one.footprint());
}

/// A category of a long and a short trace: each is divided in its own way.
#[test]
fn a_short_trace_beside_a_long_one_is_divided_by_its_requests() {
    let directory = tempfile::tempdir().unwrap();
    let (long, short) = (file(&directory), directory.path().join("short.csv"));
    let head: Vec<String> =
        std::fs::read_to_string(&long).unwrap().lines().take(9).map(str::to_owned).collect();
    std::fs::write(&short, head.join("\n") + "\n").unwrap();
    let named = NamedWorkload::parse(&format!("both={long}+{}", short.display())).unwrap();
    let (learned, judged) = named.load_twice(&options(10_000), Seed::default()).unwrap();
    let places = |own: &Workload| -> Vec<usize> {
        own.traces[0].windows().unwrap().every().drawn().iter().map(|own| own.window).collect()
    };
    assert!(places(&learned).iter().all(|window| !places(&judged).contains(window)));
    for (own, requests) in [(&learned, 4), (&judged, 4)] {
        assert!(own.traces[1].windows().is_none());
        assert_eq!(own.traces[1].requests().len(), requests);
    }
}

#[test]
fn a_task_draws_windows_by_what_its_baseline_takes() {
    let directory = tempfile::tempdir().unwrap();
    let named = NamedWorkload::parse(&file(&directory)).unwrap();
    let mut target = named.load(&options(10_000)).unwrap();
    for trace in &mut target.traces {
        *trace = trace.with_windows(trace.windows().unwrap().clone().draw(12));
    }
    let judged = target.split_windows();
    let [base, _] = drives();
    let limits = Limits::default();
    let space = Space::autoblox().around(&base);
    let (others, weights, max_harm) = (Vec::new(), Weights::default(), None);
    let mut task = Task { base, space, limits, target, others, weights, max_harm };
    let evaluator = InProcess::default();
    let stop = AtomicBool::new(false);
    let evaluator = CachedEvaluator::new(&evaluator, None, &stop, &|_| {});
    let before = task.target.traces[0].digest();
    let mut held_out = vec![judged];
    task.draw_windows(Some(&mut held_out), &evaluator).unwrap();
    assert_ne!(task.target.traces[0].digest(), before);
    for workload in [&task.target, &held_out[0]] {
        let windows = workload.traces[0].windows().unwrap();
        let chances: Vec<f64> = windows.drawn().iter().map(|own| own.chance).collect();
        assert!(chances.iter().any(|chance| (chance - chances[0]).abs() > 1e-6), "{chances:?}");
        assert!(windows.reach().covered < 1.0);
    }
}
