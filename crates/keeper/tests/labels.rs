//! Labels by simulation: elimination changes none, and files are continued where they ended.

use crate::scenes::{config, fast, settings};
use ssdtune_keeper::mix::RequestOptions;
use ssdtune_keeper::{
    LabelSource, LabelledMix, Labels, LabelsError, Mix, MixSimulator, MixTenant, PeriodDemand,
    SimulationSettings, Strategy, label_mixes,
};
use ssdtune_model::config::Allocation;
use ssdtune_trace::Request;
use std::sync::atomic::AtomicBool;

#[test]
fn elimination_changes_no_label_and_gives_most_strategies_up() {
    let (config, stop) = (config(Allocation::Static), AtomicBool::new(false));
    let strategies = Strategy::all(8, 4);
    let (mut given_up, mut all) = (0, 0);
    for number in 0..6 {
        let mix = Mix::draw(11, number, 4, settings().style);
        let entries = [true, false].map(|eliminate| {
            let simulator =
                MixSimulator::new(&config, SimulationSettings { eliminate, ..settings() }, &stop);
            simulator.race(&strategies, &mix, number).expect("a label")
        });
        let [raced, whole] = entries.map(|entries| LabelledMix {
            number,
            mix: mix.clone(),
            seen: PeriodDemand::default(),
            entries,
            switches: Vec::new(),
        });
        assert_eq!(raced.best(), whole.best(), "mix {number}");
        for entry in raced.entries.iter().filter(|entry| entry.behind.is_none()) {
            assert!(whole.entries.contains(entry), "{entry:?}");
        }
        given_up += raced.entries.iter().filter(|entry| entry.behind.is_some()).count();
        all += raced.entries.len();
    }
    assert!(2 * given_up > all, "{given_up} of {all}");
}

#[test]
fn a_file_is_the_same_for_any_number_of_threads_and_after_an_interruption() {
    let directory = tempfile::tempdir().unwrap();
    let (config, stop) = (config(Allocation::Static), AtomicBool::new(false));
    let settings = SimulationSettings { requests: 200, ..settings() };
    let simulator = MixSimulator::new(&config, settings, &stop);
    let source = LabelSource::new(&config, "test".to_owned(), vec![4, 2], settings);
    let whole = |name: &str, threads: usize| {
        let path = directory.path().join(name);
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        let labels =
            pool.install(|| label_mixes(&simulator, &source, 0..5, &path, &|_| {})).unwrap();
        assert_eq!(labels.mixes.len(), 5);
        assert_eq!(labels, Labels::read(&path).unwrap());
        std::fs::read_to_string(path).unwrap()
    };
    let one = whole("one", 1);
    assert_eq!(one, whole("three", 3));
    let lines: Vec<&str> = one.lines().collect();
    let half = format!("{}\n{}\n{}", lines[0], lines[4], &lines[2][..50]);
    std::fs::write(directory.path().join("half"), half).unwrap();
    assert_eq!(one, whole("half", 2));
    // Other settings and changed lines are refused.
    let other = LabelSource::new(&config, "other".to_owned(), vec![4, 2], settings);
    let error =
        label_mixes(&simulator, &other, 0..5, &directory.path().join("one"), &|_| {}).unwrap_err();
    assert!(matches!(error, LabelsError::Other { .. }), "{error}");
    // Pages placed by load have rules of their own, whose version a file tells.
    let dynamic = Allocation::Dynamic;
    let by_load = LabelSource::new(&self::config(dynamic), "test".to_owned(), vec![2], settings);
    assert_eq!(by_load.simulator, format!("test, by load {}", ssdtune_sim::BY_LOAD_VERSION));
    for (from, to, problem) in [
        ("\"level\":", "\"level\":1", "line 2: mix 0 is not that of line 1"),
        ("\"number\":1,", "\"number\":0,", "line 3: mix 0 is not that of line 1"),
        ("\"entries\"", "\"entry\"", "line 2: no labelled mix: missing field `entries`"),
        ("\"strategy\":\"Shared\"", "\"strategy\":\"9\"", "no labelled mix: `9` is no strategy"),
    ] {
        let path = directory.path().join("wrong");
        assert!(one.contains(from), "{from}");
        std::fs::write(&path, one.replace(from, to)).unwrap();
        let error = Labels::read(&path).unwrap_err().to_string();
        assert!(error.contains(problem), "{error}");
    }
}

#[test]
fn two_parts_separate_what_disturbs_each_other() {
    // Readers beside as many writers: their latency is less when they share no chip with them.
    let ((config, settings), stop) = (fast(Allocation::Static), AtomicBool::new(false));
    let simulator = MixSimulator::new(&config, settings, &stop);
    let tenants = [true, false].map(|writes| MixTenant::plain(writes, 0.5));
    let mix = Mix { level: 10, tenants: tenants.into() };
    let options = RequestOptions { minority: 0.0, ..simulator.request_options(0) };
    let requests: Vec<Request> = mix.requests(options).collect();
    let run = |name: &str| {
        simulator.run(&name.parse().unwrap(), &mix.writers(), &requests).expect("a run")
    };
    let (shared, parted) = (run("Shared"), run("5:3"));
    assert!(parted.read_ns < 0.8 * shared.read_ns, "{shared:?} {parted:?}");
}
