//! Labels by simulation: elimination changes none, files go on where they ended, and a policy made of a plain rule
//! is judged and obeyed.

use ssdtune_keeper::allocator::{Allocator, AllocatorError, Repeat};
use ssdtune_keeper::bench::{Bench, Settings};
use ssdtune_keeper::compare::{Contest, Data, Plan};
use ssdtune_keeper::eval;
use ssdtune_keeper::features::Period;
use ssdtune_keeper::labels::{Labels, LabelsError, Row, Source, label};
use ssdtune_keeper::mix::{MINORITY, Mix, MixTenant};
use ssdtune_keeper::policy::Policy;
use ssdtune_keeper::strategy::Strategy;
use ssdtune_model::config::Allocation;
use ssdtune_model::{CheckedConfig, Nanos, presets};
use ssdtune_sim::{Observe, Simulator, Tenant};
use ssdtune_trace::Request;
use std::sync::atomic::AtomicBool;

/// The drive of Table I with fewer blocks.
fn config(allocation: Allocation) -> CheckedConfig {
    let mut config = presets::load("ssdkeeper").expect("a preset");
    config.flash.blocks_per_plane = 128;
    config.mapping.allocation = allocation;
    config.check().expect("legal")
}

/// The same with channels so fast that tenants compete for chips alone, and its settings.
fn fast(allocation: Allocation) -> (CheckedConfig, Settings) {
    let mut fast = (*config(allocation)).clone();
    fast.bus.rate_mts = 333;
    let settings = Settings { rate_max_pages: 80_000.0, ..settings() };
    (fast.check().expect("legal"), settings)
}

fn settings() -> Settings {
    Settings {
        rate_max_pages: 16_000.0,
        requests: 1_500,
        working_set_pages: 1_024,
        minority: MINORITY,
        request_pages: [1, 1],
        bursty: 0.5,
        collect_ns: 50_000_000,
        seed: 11,
        eliminate: true,
    }
}

/// Weights that add a constant to each output: a network that always says the same.
fn policy(best: &str) -> Policy {
    let strategies = Strategy::all(8, 4);
    let bias: Vec<f64> =
        strategies.iter().map(|s| if s.to_string() == best { -0.5 } else { 0.0 }).collect();
    let text = serde_json::json!({
        "version": 1, "device": "test", "device_digest": "", "channels": 8, "made_by": "", "seed": 0,
        "intensity": { "requests_per_s_max": 16_000.0 }, "collect_ns": 50_000_000, "kind": "ranker",
        "abstain": 0.01, "risk": 0.0, "burst_max": 20.0,
        "strategies": strategies,
        "network": { "version": 1, "activation": "relu", "output": "linear",
            "layers": [{ "inputs": 9, "weights": vec![0.0; 9 * 42], "bias": bias }] },
    });
    read(&text.to_string()).expect("a policy")
}

/// A policy from the text of its file; an error as it is shown.
fn read(text: &str) -> Result<Policy, String> {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("policy.json");
    std::fs::write(&path, text).unwrap();
    Policy::read(&path).map_err(|error| error.to_string())
}

#[test]
fn elimination_changes_no_label_and_gives_most_strategies_up() {
    let (config, stop) = (config(Allocation::Static), AtomicBool::new(false));
    let strategies = Strategy::all(8, 4);
    let (mut given_up, mut all) = (0, 0);
    for number in 0..6 {
        let mix = Mix::draw(11, number, 4, 0.5);
        let entries = [true, false].map(|eliminate| {
            let bench = Bench::new(&config, Settings { eliminate, ..settings() }, &stop);
            bench.race(&strategies, &mix, number).expect("a label")
        });
        let [raced, whole] = entries.map(|entries| Row {
            number,
            mix: mix.clone(),
            seen: Period::default(),
            run: Period::default(),
            entries,
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
    let settings = Settings { requests: 200, ..settings() };
    let bench = Bench::new(&config, settings, &stop);
    let source = Source::new(&config, "test".to_owned(), vec![4, 2], settings);
    let whole = |name: &str, threads: usize| {
        let path = directory.path().join(name);
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        let labels = pool.install(|| label(&bench, &source, 5, &path, &|_| {})).unwrap();
        assert_eq!(labels.rows.len(), 5);
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
    let other = Source::new(&config, "other".to_owned(), vec![4, 2], settings);
    let error = label(&bench, &other, 5, &directory.path().join("one"), &|_| {}).unwrap_err();
    assert!(matches!(error, LabelsError::Other { .. }), "{error}");
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
    let bench = Bench::new(&config, settings, &stop);
    let tenants = [true, false].map(|writes| MixTenant::plain(writes, 0.5));
    let mix = Mix { level: 10, tenants: tenants.into() };
    let play = ssdtune_keeper::mix::Play { minority: 0.0, ..bench.play(0) };
    let requests: Vec<Request> = mix.requests(play).collect();
    let run =
        |name: &str| bench.run(&name.parse().unwrap(), &mix.writers(), &requests).expect("a run");
    let (shared, parted) = (run("Shared"), run("5:3"));
    assert!(parted.read_ns < 0.8 * shared.read_ns, "{shared:?} {parted:?}");
}

#[test]
fn the_allocator_decides_at_t_and_obeys_its_policy() {
    let (config, stop) = (config(Allocation::Hybrid), AtomicBool::new(false));
    let bench = Bench::new(&config, settings(), &stop);
    let tenants = [(true, 0.4), (false, 0.3), (false, 0.2), (true, 0.1)]
        .map(|(writes, share)| MixTenant::plain(writes, share));
    let mix = Mix { level: 10, tenants: tenants.into() };
    let requests: Vec<Request> = mix.requests(bench.play(0)).collect();
    let contest = Contest::new(&config, Data::FirstTouch, 4, &requests, &stop).expect("legal");
    assert_eq!(contest.writers(), mix.writers());
    let policy = policy("4:1:2:1");
    let collect = Nanos::from_ms(20);
    let plan = |repeat| Plan::Keeper { policy: &policy, collect, repeat };
    let once = contest.run(plan(Repeat::Once), true, None).expect("a run");
    let [decision] = &once.decisions[..] else { panic!("{:?}", once.decisions) };
    assert_eq!(decision.at_ns, collect.0);
    assert_eq!(decision.reads, [false, true, true, false]);
    // Ordered are the writers 0 and 3, then the readers 1 and 2.
    assert_eq!(decision.strategy.to_string(), "4:2:1:1");
    let again = contest.run(plan(Repeat::Always { hysteresis: 0.1 }), true, None).expect("a run");
    assert!(again.decisions.len() > 3, "{:?}", again.decisions);
    assert!(again.decisions.iter().all(|d| d.strategy.to_string() == "4:2:1:1"));
    assert_eq!(again.means, once.means, "nothing changed, so nothing was switched");
    // Nor does one divide channels that bursts want, if it has learned of none.
    let calm = Policy { burst_max: -20.0, ..policy.clone() };
    let plan_calm = Plan::Keeper { policy: &calm, collect, repeat: Repeat::Once };
    let calm = contest.run(plan_calm, true, None).expect("a run");
    assert_eq!(calm.decisions[0].strategy, Strategy::Shared);
    // A policy that wants nothing leaves the run as it is under static allocation.
    let idle = self::policy("nothing");
    let plan = Plan::Keeper { policy: &idle, collect, repeat: Repeat::Once };
    let shared = Plan::Fixed(&Strategy::Shared, &[false; 4]);
    let [idle, shared] = [plan, shared].map(|plan| contest.run(plan, false, None).expect("a run"));
    assert_eq!(idle.means, shared.means);
}

#[test]
fn a_change_of_phase_is_followed_after_two_looks_that_agree() {
    let ((config, settings), stop) = (fast(Allocation::Static), AtomicBool::new(false));
    let bench = Bench::new(&config, settings, &stop);
    // The tenants change roles in the middle.
    let half = |first: bool| {
        let tenants = [first, !first].map(|writes| MixTenant::plain(writes, 0.5));
        let mix = Mix { level: 10, tenants: tenants.into() };
        mix.requests(bench.play(0)).collect::<Vec<_>>()
    };
    let mut requests = half(true);
    let middle = requests[requests.len() - 1].at;
    requests.extend(half(false).into_iter().map(|r| Request { at: r.at + middle, ..r }));
    let mut policy = policy("5:3");
    policy.intensity.requests_per_s_max = settings.rate_max_pages;
    let contest = Contest::new(&config, Data::FirstTouch, 2, &requests, &stop).expect("legal");
    let plan = |repeat| Plan::Keeper { policy: &policy, collect: Nanos::from_ms(4), repeat };
    let always =
        contest.run(plan(Repeat::Always { hysteresis: 0.01 }), false, None).expect("a run");
    let once = contest.run(plan(Repeat::Once), false, None).expect("a run");
    assert_eq!(once.decisions.len(), 1);
    let kinds: Vec<&[bool]> = always.decisions.iter().map(|d| &d.reads[..]).collect();
    assert_eq!((kinds[0], kinds[kinds.len() - 1]), (&[false, true][..], &[true, false][..]));
    assert!(always.means.total_ns() < once.means.total_ns(), "{:?} {:?}", always.means, once.means);
}

#[test]
fn a_policy_for_other_drives_is_refused() {
    let policy = policy("Shared");
    let new = |config: &CheckedConfig, tenants: usize| {
        let tenants = vec![Tenant::sole(config); tenants];
        let drive = Simulator::new(config, &tenants, Observe::default()).expect("a drive");
        Allocator::new(&policy, Nanos::from_ms(1), Repeat::Once, &drive).map(|_| ())
    };
    let fits = config(Allocation::Hybrid);
    let mut other = presets::load("ssdkeeper").expect("a preset");
    (other.bus.channels, other.flash.blocks_per_plane) = (4, 128);
    let other = other.check().expect("legal");
    assert!(new(&fits, 4).is_ok() && new(&fits, 2).is_ok());
    assert!(matches!(new(&fits, 1), Err(AllocatorError::Tenants { found: 1 })));
    assert!(matches!(new(&fits, 5), Err(AllocatorError::Tenants { found: 5 })));
    assert!(matches!(new(&other, 4), Err(AllocatorError::Channels { trained: 8, found: 4 })));
}

#[test]
fn files_that_are_no_policies_are_refused_with_a_reason() {
    let sound = serde_json::to_string(&policy("7:1")).unwrap();
    assert!(read(&sound).is_ok());
    for (from, to, problem) in [
        ("\"channels\":8", "\"channels\":9", "Isolated"),
        ("\"Shared\",", "", "9 inputs and 42 outputs where 9 and 41 are wanted"),
        ("\"ranker\"", "\"parts\"", "9 inputs and 42 outputs where 4 and 2 are wanted"),
        ("\"Shared\"", "\"1:7\"", "its first strategy is not Shared"),
        ("\"7:1\"", "\"7:2\"", "7:2 does not divide 8 channels"),
        ("\"abstain\":0.01", "\"abstain\":1e999", "number out of range"),
        ("16000.0", "-1.0", "intensity above 0"),
        ("\"collect_ns\":50000000", "\"collect_ns\":0", "collect_ns must be above 0"),
        ("\"seed\":0", "\"sed\":0", "unknown field `sed`"),
    ] {
        assert!(sound.contains(from), "{from}");
        let error = read(&sound.replacen(from, to, 1)).unwrap_err();
        let expected = if problem == "Isolated" { "does not divide 9 channels" } else { problem };
        assert!(error.contains(expected), "{error}");
    }
}

#[test]
fn scores_count_ties_and_regret() {
    let source = Source::new(&config(Allocation::Static), "t".into(), vec![2], settings());
    let means = |read_ns: f64| ssdtune_keeper::bench::Means { read_ns, write_ns: 100.0 };
    let entry = |name: &str, read_ns: f64, behind| ssdtune_keeper::bench::Entry {
        strategy: name.parse().unwrap(),
        means: means(read_ns),
        parts: Vec::new(),
        behind,
    };
    let entries = vec![
        entry("5:3", 100.0, None),
        entry("6:2", 101.0, None),
        entry("Shared", 120.0, None),
        entry("1:7", 110.0, Some(2.5)),
    ];
    let row = Row {
        number: 0,
        mix: source.mix(0),
        seen: Period::default(),
        run: Period::default(),
        entries,
    };
    let judge = |name: &str| eval::of_choices(&[&row], &[name.parse().unwrap()]);
    let (best, tie, bad) = (judge("5:3"), judge("6:2"), judge("1:7"));
    assert_eq!((best.accuracy, best.tie_accuracy, best.regret_mean), (1.0, 1.0, 0.0));
    assert_eq!((tie.accuracy, tie.tie_accuracy), (0.0, 1.0));
    assert!((tie.regret_p99 - 0.005).abs() < 1e-12);
    assert!((bad.regret_max - 1.5).abs() < 1e-12, "as far behind as when it was given up");
    assert!((bad.above_shared_max - (2.5 / 1.1 - 1.0)).abs() < 1e-12);
}
