//! Rankings by windows against those by whole runs.

use super::*;
use crate::choice::choose;
use ssdtune_experiment::{FlowSet, Preparation, RequestSource, Start};
use ssdtune_model::{Calibrated, Nanos, Provenance, Sectors, TenantId, presets, scramble};
use ssdtune_sim::Replay;
use ssdtune_trace::Request;

/// Requests of changing size at random places in 40 MiB, every third a write, eight at once.
fn requests(count: u64, gap_ns: u64) -> RequestSource {
    in_bursts(count, gap_ns, 8)
}

fn in_bursts(count: u64, gap_ns: u64, burst: u64) -> RequestSource {
    let one = |n: u64| Request {
        at: Nanos(gap_ns * (n - n % burst)),
        lba: Sectors(8 * (scramble(n) % 10_007)),
        sectors: 8 << (scramble(n ^ 77) % 3),
        tenant: TenantId(0),
        op: if n.is_multiple_of(3) { Op::Write } else { Op::Read },
    };
    RequestSource::of_requests("made", (0..count).map(one).collect::<Vec<_>>())
}

fn candidate(name: &str, times: u64, page_bytes: u32) -> Candidate {
    let mut config = presets::load("samsung-850-pro").unwrap();
    config.flash.blocks_per_plane = 64;
    config.flash.page_bytes = page_bytes;
    for time in &mut config.flash.read_latency {
        time.0 *= times;
    }
    let device = config.check().unwrap();
    Candidate { name: name.to_owned(), device, calibrated: None }
}

fn question(source: RequestSource, start: &str, by: Figure) -> Question {
    Question {
        flows: FlowSet::single(source, Replay::Open),
        preparation: Preparation::of(start.parse::<Start>().unwrap(), 0),
        by,
        windows: 20,
    }
}

fn sampling(windows: usize) -> Sampling {
    let options = SampleOptions { windows, warm_up: 60, measured: 100, ..SampleOptions::default() };
    Sampling { options, precision: None }
}

fn ask(drives: &[Candidate], question: &Question, sampling: &Sampling) -> Choice {
    let stop = AtomicBool::new(false);
    choose_sampled(drives, question, sampling, &stop, &|_, _, _| {}).unwrap()
}

fn refused(question: &Question) -> String {
    let (drives, stop) = ([candidate("a", 1, 8192)], AtomicBool::new(false));
    let answer = choose_sampled(&drives, question, &sampling(80), &stop, &|_, _, _| {});
    answer.unwrap_err().to_string()
}

/// The order, the figures and what is decided, beside the run of the whole trace.
#[test]
fn windows_rank_drives_as_whole_runs_do() {
    let drives =
        [candidate("slow", 4, 8192), candidate("fast", 1, 8192), candidate("twin", 1, 8192)];
    for by in [Figure::Mean, Figure::P99] {
        let question = question(requests(24_000, 60_000), "footprint", by);
        let (told, stop) = (ask(&drives, &question, &sampling(80)), AtomicBool::new(false));
        let whole = choose(&drives, &question, &stop, &|_, _, _| {}).unwrap();
        let names = |choice: &Choice| -> Vec<String> {
            choice.ranked.iter().map(|one| one.drive.clone()).collect()
        };
        assert_eq!(names(&told), names(&whole), "{}", told.text());
        for (own, whole) in told.ranked.iter().zip(&whole.ranked) {
            for figure in [Figure::Mean, Figure::P99, Figure::Throughput] {
                let (own, truth) = (own.figures.get(figure).unwrap(), whole.figures.get(figure));
                let (truth, low) = (truth.unwrap().value, own.low.unwrap());
                // What was restored may be 2 % off besides.
                let is_held = 0.98 * low <= truth && truth <= 1.02 * own.high.unwrap();
                assert!(is_held, "{figure}: {truth} is not within {own:?}");
            }
        }
        let times = |at: usize| told.ranked[at].times_first.unwrap().get(by).unwrap();
        let values = |at: usize| told.ranked[at].figures.get(by).unwrap().value;
        assert_eq!((times(1).value, times(1).is_decided), (1.0, false));
        assert!(times(2).is_decided && times(2).low.unwrap() > 1.0, "{}", told.text());
        assert!((times(2).value / (values(2) / values(0)) - 1.0).abs() < 1e-9);
        let own = |at: usize| told.ranked[at].times_first.unwrap().throughput_bytes_per_s.unwrap();
        let rates = |at: usize| told.ranked[at].figures.throughput_bytes_per_s.unwrap().value;
        assert!((own(2).value / (rates(2) / rates(0)) - 1.0).abs() < 1e-9);
        let text = told.text().to_string();
        for words in ["slow against fast: ", "): decided", "twin against fast: ", "undecided"] {
            assert!(text.contains(words), "{words}\n{text}");
        }
        assert!(text.contains("TBW is not told from windows"), "{text}");
        assert_eq!(told.ranked[0].figures.terabytes_written, None);
    }
}

/// What is told of a drive is what the report of its windows tells, by other code.
#[test]
fn figures_are_those_of_the_report_of_windows() {
    let drive = candidate("drive", 1, 8192);
    let question = question(in_bursts(16_000, 400_000, 1), "footprint", Figure::Mean);
    let sampling = sampling(100);
    let told = ask(std::slice::from_ref(&drive), &question, &sampling);
    let experiment = question.flows.experiment(&drive.device, &question.preparation);
    let stop = AtomicBool::new(false);
    let points = experiment.sample(&sampling.options, &stop, &|_| {}).unwrap();
    let report = experiment.run_sampled(&points, None, &stop, &|_| {}).unwrap();
    assert_eq!(told.sampled, Some(report.run));
    let figures = told.ranked[0].figures;
    // Requests come so slowly, and one by one, that each waits for the commands of SATA alone.
    let sata_ns = drive.device.host.sata_processing_delay.0 as f64;
    let rate = report.bandwidth_bytes_per_s;
    for (own, other, more) in [
        (figures.latency_ns_mean, report.latency_ns[0].mean, sata_ns),
        (figures.throughput_bytes_per_s, rate, 0.0),
        (figures.write_amplification, report.write_amplification.unwrap(), 0.0),
    ] {
        let (own, interval) = (own.unwrap(), other.interval.unwrap());
        assert!((own.value / (other.value + more) - 1.0).abs() < 1e-12, "{own:?} {other:?}");
        // A constant changes intervals of ratios a little.
        assert!((own.low.unwrap() / (interval.low + more) - 1.0).abs() < 2e-3, "{own:?} {other:?}");
    }
    let warnings = &told.ranked[0].warnings;
    assert!(warnings[0].starts_with("no garbage was collected in the windows"), "{warnings:?}");
}

#[test]
fn drives_with_pages_of_other_sizes_serve_the_same_windows() {
    let drives = [candidate("large", 3, 16_384), candidate("small", 1, 8192)];
    let question = question(requests(12_000, 400_000), "footprint", Figure::Mean);
    let told = ask(&drives, &question, &sampling(60));
    assert_eq!((told.failed.len(), told.ranked[1].drive.as_str()), (0, "large"));
    let times = told.ranked[1].times_first.unwrap().latency_ns_mean.unwrap();
    assert!(times.is_decided && times.value > 1.2, "{times:?}");
    // Live-points of pages of one size are refused for the other drive alone.
    let folder = std::env::temp_dir().join(format!("choose-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let file = folder.join("long.points");
    let experiment = question.flows.experiment(&drives[1].device, &question.preparation);
    let stop = AtomicBool::new(false);
    let points = experiment.sample(&sampling(60).options, &stop, &|_| {}).unwrap();
    points.write(&file).unwrap();
    let origin = ssdtune_experiment::Origin::File(file);
    let source = RequestSource::new(origin, ssdtune_trace::ReadOptions::default());
    let flows = FlowSet::single(source, Replay::Open);
    let from_file = ask(&drives, &Question { flows, ..question }, &sampling(7));
    std::fs::remove_dir_all(folder).unwrap();
    assert_eq!(from_file.ranked[0].figures, told.ranked[0].figures);
    assert_eq!(from_file.failed[0].drive, "large");
    assert!(from_file.failed[0].error.contains("pages of"), "{:?}", from_file.failed);
}

#[test]
fn nothing_is_decided_where_windows_tell_no_interval() {
    let drives = [candidate("slow", 3, 8192), candidate("fast", 1, 8192)];
    let source = || requests(12_000, 400_000);
    let old = question(source(), "steady:0.9", Figure::Mean);
    let few = question(source(), "footprint", Figure::Mean);
    for (question, windows, reason, words) in [
        (&old, 60, NoInterval::Collection, "fast, slow: no intervals: the drive collects"),
        (&few, 30, NoInterval::FewWindows, "no intervals: fewer than 40 windows"),
    ] {
        let told = ask(&drives, question, &sampling(windows));
        let text = told.text().to_string();
        assert_eq!(told.ranked[1].no_interval, Some(reason), "{text}");
        assert!(text.contains(words) && text.contains("(no interval): undecided"), "{text}");
        let table = text.split("\n\n").nth(1).expect("a table below the head");
        assert!(table.contains("fast") && !table.contains(" to "), "{table}");
        assert!(told.ranked[0].figures.latency_ns_mean.is_some());
        let times = told.ranked[1].times_first.unwrap().latency_ns_mean.unwrap();
        assert!(!times.is_decided && times.value > 1.0, "{times:?}");
    }
    // Requests that come twice as fast as the drive serves them wait from before the windows.
    let flood = question(requests(12_000, 1_000), "footprint", Figure::Mean);
    let told = ask(&drives, &flood, &sampling(60));
    assert_eq!(told.ranked[0].no_interval, Some(NoInterval::Backlog), "{}", told.text());
}

#[test]
fn a_precision_ends_with_fewer_windows_for_all_drives_alike() {
    let drives = [candidate("slow", 2, 8192), candidate("fast", 1, 8192)];
    let question = question(requests(60_000, 400_000), "footprint", Figure::Mean);
    let all = ask(&drives, &question, &sampling(240));
    let coarse = Sampling { precision: Some(0.1), ..sampling(240) };
    let some = ask(&drives, &question, &coarse);
    assert!(some.windows < all.windows / 2, "{} of {}", some.windows, all.windows);
    for drive in &some.ranked {
        let own = drive.figures.latency_ns_mean.unwrap();
        assert!(own.high.unwrap() / own.value < 1.11, "{own:?}");
    }
    let impossible = Sampling { precision: Some(1e-9), ..sampling(240) };
    assert_eq!(ask(&drives, &question, &impossible).ranked, all.ranked);
}

#[test]
fn what_windows_cannot_tell_is_refused() {
    let source = || requests(12_000, 400_000);
    let endurance = question(source(), "footprint", Figure::Endurance);
    assert!(refused(&endurance).starts_with("--by endurance: windows do not tell it"));
    let empty = question(source(), "empty", Figure::Mean);
    assert!(refused(&empty).starts_with("--start empty: a window begins on"));
    let short = question(requests(200, 400_000), "footprint", Figure::Mean);
    let told = ask(&[candidate("a", 1, 8192)], &short, &sampling(80));
    assert!(told.failed[0].error.contains("two windows need"), "{:?}", told.failed);
    let (stop, drives) = (AtomicBool::new(true), [candidate("a", 1, 8192)]);
    let stopped = choose_sampled(&drives, &short, &sampling(80), &stop, &|_, _, _| {});
    assert!(stopped.is_err());
}

#[test]
fn calibrated_drives_say_where_the_windows_leave_their_range() {
    let mut drive = candidate("real", 1, 8192);
    let tested = vec![ssdtune_model::TestedLoad {
        direction: ssdtune_model::Direction::Read,
        sequential: false,
        read_percent: [100.0; 2],
        block_bytes: [4096, 8192],
        outstanding: Some([1, 32]),
        offered_iops: None,
    }];
    let provenance = Provenance { drive: "Real".to_owned(), tested, ..Provenance::default() };
    drive.calibrated = Some(Calibrated { provenance, config: (*drive.device).clone() });
    let question = question(requests(12_000, 400_000), "footprint", Figure::Mean);
    let told = ask(std::slice::from_ref(&drive), &question, &sampling(60));
    let stop = AtomicBool::new(false);
    let whole = choose(&[drive], &question, &stop, &|_, _, _| {}).unwrap();
    let outside = |choice: &Choice| {
        choice.ranked[0].calibrated.as_ref().unwrap().outside_tested_range.clone()
    };
    assert!(outside(&told).len() >= 2, "{:?}", outside(&told));
    assert_eq!(outside(&told), outside(&whole));
}
