//! The network that is shipped in `configs/keeper/ssdkeeper.json`: it is read, decides as it did
//! when it was recorded, and its decisions make sense in a simulation.

use crate::scenes::read;
use ssdtune_experiment::{Preparation, Share, Shares, Start};
use ssdtune_keeper::compare::{Aim, Aims, PlanOutcome};
use ssdtune_keeper::evaluation::{MapPoint, choice_map};
use ssdtune_keeper::mix::{MINORITY, REQUEST_PAGES, RequestOptions};
use ssdtune_keeper::policy::NetworkKind;
use ssdtune_keeper::{
    CompareOptions, Comparison, Decision, Keeper, LabelSource, MeanLatencies, Mix, MixSimulator,
    MixStyle, MixTenant, PlacedTarget, Plan, PlanRunner, Policy, Repeat, SimulationSettings,
    Strategy, Target, labelled_allocation,
};
use ssdtune_model::config::Allocation;
use ssdtune_model::{CheckedConfig, Nanos, TenantId, presets};
use ssdtune_sim::Border;
use ssdtune_trace::Request;
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;

fn path() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../configs/keeper/ssdkeeper.json")
}

fn shipped() -> Policy {
    Policy::read(&path()).expect("the shipped network")
}

#[test]
fn it_is_for_the_preset_of_its_name() {
    let policy = shipped();
    assert_eq!((policy.kind, policy.channels), (NetworkKind::Parts, 8));
    assert_eq!(policy.strategies, Strategy::all(8, 4));
    let mut device = presets::load(&policy.device).expect("a preset");
    assert!(policy.is_for(&device));
    device.mapping.allocation = Allocation::Hybrid;
    assert!(policy.is_for(&device), "hybrid allocation comes on top");
    device.bus.rate_mts += 1;
    assert!(!policy.is_for(&device));
}

/// Tenants, intensity level from 0, the writers' share in tenths, and what was chosen.
const RECORDED: [(usize, u8, u32, &str); 18] = [
    (4, 0, 5, "Shared"),
    (4, 9, 4, "3:5"),
    (4, 7, 3, "3:5"),
    (4, 12, 2, "Shared"),
    (4, 16, 1, "1:7"),
    (4, 19, 9, "Shared"),
    (2, 0, 5, "Isolated"),
    (2, 4, 6, "Isolated"),
    (2, 18, 5, "Isolated"),
    (2, 9, 3, "3:5"),
    (2, 15, 2, "2:6"),
    (2, 19, 1, "1:7"),
    (6, 9, 3, "3:5"),
    (6, 16, 1, "1:7"),
    (6, 19, 9, "Shared"),
    (8, 12, 2, "2:6"),
    (8, 16, 1, "1:7"),
    (8, 19, 9, "Shared"),
];

#[test]
fn it_decides_as_it_was_recorded() {
    let policy = shipped();
    for (tenants, level, tenths, expected) in RECORDED {
        let share = f64::from(tenths) / 10.0;
        let map = choice_map(&policy, tenants).unwrap();
        // Recorded as networks count levels, from 0.
        let is_it = |point: &&MapPoint| point.level == level + 1 && point.write_share == share;
        let point = map.iter().find(is_it);
        let found = point.expect("every level and share").strategy.to_string();
        assert_eq!(found, expected, "{tenants} tenants, level {level}, {tenths}0 % writes");
    }
}

/// The network that learned on the drive with dynamic page allocation.
#[test]
fn one_is_for_dynamic_page_allocation() {
    let policy = Policy::read(&path().with_file_name("ssdkeeper-dynamic.json"));
    let policy = policy.expect("the shipped network");
    let mut device = presets::load("ssdkeeper").unwrap();
    for (allocation, is_it) in
        [(Allocation::Dynamic, true), (Allocation::Static, false), (Allocation::Hybrid, false)]
    {
        device.mapping.allocation = allocation;
        assert_eq!((policy.is_for(&device), shipped().is_for(&device)), (is_it, !is_it));
        // Whatever the seed of the labels.
        device.mapping.allocation = labelled_allocation(&device);
        let settings = SimulationSettings { seed: 7, ..crate::scenes::settings() };
        let labels = LabelSource::new(&device, String::new(), vec![2], settings);
        let are_its = [&policy, &shipped()].map(|own| own.is_for_labels(&labels));
        assert_eq!(are_its, [is_it, !is_it]);
    }
}

/// Wherever a recorded decision divides the channels, readers and writers wait less in a simulation
/// than on shared channels.
#[test]
fn what_it_divides_is_faster_than_shared() {
    let policy = shipped();
    let mut device = presets::load(&policy.device).unwrap();
    device.mapping.allocation = Allocation::Static;
    let device = device.check().unwrap();
    let settings = SimulationSettings {
        rate_max_pages: policy.intensity.requests_per_s_max,
        requests: 10_000,
        working_set_pages: 16_384,
        minority: MINORITY,
        request_pages: REQUEST_PAGES,
        style: MixStyle::PLAIN,
        collect_ns: policy.collect_ns,
        seed: 3,
        eliminate: false,
    };
    let stop = AtomicBool::new(false);
    let simulator = MixSimulator::new(&device, settings, &stop);
    for (tenants, level, tenths, chosen) in RECORDED.into_iter().filter(|one| one.3 != "Shared") {
        let of_kind = |writes: bool, tenths: u32| {
            let share = f64::from(tenths) / 10.0 / (tenants / 2) as f64;
            vec![MixTenant::plain(writes, share); tenants / 2]
        };
        let tenants = [of_kind(true, tenths), of_kind(false, 10 - tenths)].concat();
        let mix = Mix { level: level + 1, tenants };
        let requests: Vec<Request> = mix.requests(simulator.request_options(0)).collect();
        let run = |name: &str| -> MeanLatencies {
            simulator.run(&name.parse().unwrap(), &mix.writers(), &requests).unwrap()
        };
        let (divided, shared) = (run(chosen).total_ns(), run("Shared").total_ns());
        assert!(divided < shared, "{mix:?}: {chosen} takes {divided} ns, Shared {shared} ns");
    }
}

/// A level from 1 and the writer's share of the pages, 0 to 1; or nothing of its own.
type Phase = Option<(u8, f64)>;

/// A light writer and a heavy reader at a level.
const fn light_writer(level: u8) -> Phase {
    Some((level, 0.1))
}

/// What an allocator that decides once does where the second phase begins after 1.2 s.
fn decided(start: Start, first: Phase, then: Phase) -> Vec<Decision> {
    decided_as(Repeat::Once, start, first, (1_200, then))
}

/// The drive of the network.
fn drive() -> CheckedConfig {
    let mut device = presets::load(&shipped().device).unwrap();
    (device.mapping.allocation, device.flash.blocks_per_plane) = (Allocation::Static, 256);
    device.check().unwrap()
}

/// Requests of a writer and a reader at a level and with a share of the pages that are the
/// writer's.
fn requests(phase: Phase) -> Vec<Request> {
    let Some((level, writes)) = phase else { return Vec::new() };
    let (policy, device, stop) = (shipped(), drive(), AtomicBool::new(false));
    let settings = SimulationSettings {
        rate_max_pages: policy.intensity.requests_per_s_max,
        requests: 8_000,
        collect_ns: policy.collect_ns,
        ..crate::scenes::settings()
    };
    let settings = SimulationSettings { working_set_pages: 65_536, ..settings };
    let simulator = MixSimulator::new(&device, settings, &stop);
    let tenants = [(true, writes), (false, 1.0 - writes)];
    let tenants = tenants.map(|(writes, share)| MixTenant {
        minority: Some(0.002),
        ..MixTenant::plain(writes, share)
    });
    let tenants = tenants.into();
    let options = RequestOptions { request_pages: REQUEST_PAGES, ..simulator.request_options(0) };
    Mix { level, tenants }.requests(options).collect()
}

/// Serves requests of two tenants, who were promised something, with an allocator.
fn serve(
    start: Start,
    requests: &[Request],
    repeat: Repeat,
    targets: &[PlacedTarget],
    border: Border,
) -> PlanOutcome {
    let (policy, stop) = (shipped(), AtomicBool::new(false));
    let start = Preparation::of(start, 0);
    let plans = PlanRunner::new(&drive(), start, 2, requests, &stop).expect("legal");
    let keeper = Keeper { repeat, targets, border, ..Keeper::of(&policy) };
    plans.run(Plan::Keeper(keeper), Allocation::Static, None).expect("a run")
}

/// Requests of a phase and, after some milliseconds, of another one, if there is one.
fn in_phases(first: Phase, (late_ms, then): (u64, Phase)) -> Vec<Request> {
    let mut all = requests(first);
    if then.is_some() {
        all.retain(|request| request.at < Nanos::from_ms(late_ms));
        let late = |one: Request| Request { at: one.at + Nanos::from_ms(late_ms), ..one };
        all.extend(requests(then).into_iter().map(late));
    }
    all
}

/// What an allocator decided where after some milliseconds another phase begins, if there is one.
fn decided_as(repeat: Repeat, start: Start, first: Phase, then: (u64, Phase)) -> Vec<Decision> {
    serve(start, &in_phases(first, then), repeat, &[], Border::Open).decisions
}

/// Mean latencies in nanoseconds: of the first tenant's writes, and of the second one's reads.
fn tenants_ns(outcome: &PlanOutcome) -> [f64; 2] {
    let [first, second] = [0, 1].map(|tenant| &outcome.report.tenants[tenant].metrics);
    [&first.write, &second.read]
        .map(|own| own.total_latency_ns.as_ref().expect("some were completed").mean)
}

/// Targets of the two tenants.
fn targets(all: &[String]) -> Vec<PlacedTarget> {
    let names = ["a", "b"].map(str::to_owned);
    let placed = |target: &String| -> PlacedTarget {
        target.parse::<Target>().expect("a target").placed(&names).expect("a tenant")
    };
    all.iter().map(placed).collect()
}

/// Requests of the same tenants with their numbers exchanged.
fn exchanged(requests: &[Request]) -> Vec<Request> {
    let other = |one: &Request| Request { tenant: TenantId(1 - one.tenant.0), ..*one };
    requests.iter().map(other).collect()
}

#[test]
fn channels_are_divided_for_who_was_promised_a_latency() {
    let all = requests(Some((17, 0.2)));
    let serve = |all: &[Request], of: &[String]| {
        serve(Start::Empty, all, Repeat::Once, &targets(of), Border::Open)
    };
    let is_shared = |outcome: &PlanOutcome| {
        outcome.decisions.iter().all(|decision| decision.strategy == Strategy::Shared)
    };
    let without = serve(&all, &[]);
    assert!(is_shared(&without), "{:?}", without.decisions);
    let [write_ns, read_ns] = tenants_ns(&without);
    let reachable = format!("a:write-mean<{}ns", 0.7 * write_ns);
    let with = serve(&all, std::slice::from_ref(&reachable));
    let [divided] = &with.decisions[..] else { panic!("{:?}", with.decisions) };
    assert_ne!(divided.strategy, Strategy::Shared);
    let worst = divided.division.as_ref().and_then(|one| one.worst_target).expect("a target");
    assert!(worst.now > 1.3 && worst.then <= 1.0, "{worst:?}");
    assert!(tenants_ns(&with)[0] <= 0.7 * write_ns, "{:?}", tenants_ns(&with));
    // Whoever comes first on the drive: of all requests that the writer makes one in 500 is a read.
    let of_second = format!("b:mean<{}ns", 0.7 * write_ns);
    let second = serve(&exchanged(&all), &[of_second]);
    assert_eq!(second.decisions[0].strategy, divided.strategy);
    // What no division keeps is not paid for. It keeps nothing from being done for others.
    let hopeless = "a:write-mean<10us".to_owned();
    let in_vain = serve(&all, std::slice::from_ref(&hopeless));
    assert!(is_shared(&in_vain), "{:?}", in_vain.decisions);
    assert_eq!(in_vain.means, without.means);
    assert_eq!(serve(&all, &[hopeless, reachable.clone()]).means, with.means);
    // Nor is one target kept by breaking another.
    let tight = format!("b:read-mean<{}ns", 1.01 * read_ns);
    assert!(is_shared(&serve(&all, &[reachable, tight])));
}

/// Compares plans on a mix of two tenants, `a` and `b`.
fn compare(phase: Phase, aims: &Aims) -> Comparison {
    let (policy, stop, all) = (shipped(), AtomicBool::new(false), requests(phase));
    let start = Preparation::of(Start::Empty, 0);
    let plans = PlanRunner::new(&drive(), start, 2, &all, &stop).expect("legal");
    let collect = Nanos(policy.collect_ns);
    let options = CompareOptions { policy: &policy, collect, repeat: Some(0.03), aims };
    plans.compare(["a", "b"].map(str::to_owned).into(), options).expect("a comparison")
}

#[test]
fn a_comparison_tells_its_allocator_of_the_targets() {
    let compare = |target: Option<&str>| {
        let target = target.map(|target| target.parse::<Target>().expect("a target"));
        let aims = Aims { targets: target.into_iter().collect(), ..Aims::default() };
        compare(Some((17, 0.2)), &aims)
    };
    let strategies = |found: &Comparison| -> Vec<String> {
        let own = found.lines.iter().filter(|line| line.plan.starts_with("SSDKeeper"));
        own.map(|line| line.strategy.clone()).collect()
    };
    assert_eq!(strategies(&compare(None)), ["Shared"; 3]);
    let with = compare(Some("a:write-mean<1.3ms"));
    assert_eq!(strategies(&with), ["2:6", "2:6", "Shared"], "the last one decides again");
    let said = with.text().to_string();
    for part in ["to bring the worst target from ", "decides by latencies and these targets"] {
        assert!(said.contains(part), "{said}");
    }
}

#[test]
fn channels_are_divided_where_that_is_fairer() {
    let compare = |aim| compare(Some((17, 0.2)), &Aims { aim, ..Aims::default() });
    let told = |found: &Comparison, plan: &str| -> (String, f64, f64) {
        let line = found.lines.iter().find(|line| line.plan == plan).expect("a plan");
        let fairness = line.slowdown.min_over_max.expect("two tenants");
        let slowest = line.slowdown.tenants.iter().filter_map(|own| own.slowdown);
        (line.strategy.clone(), fairness, slowest.fold(0.0, f64::max))
    };
    let [by_latency, fair] = [Aim::Latency, Aim::Fairness].map(compare);
    assert_eq!(told(&by_latency, "SSDKeeper").0, "Shared");
    let (_, shared, slowest) = told(&fair, "Shared");
    let (strategy, fairness, greatest) = told(&fair, "SSDKeeper");
    assert_ne!(strategy, "Shared");
    assert!(fairness > 1.2 * shared && greatest < slowest, "{fairness} {shared}");
    // One that decides again knows no aim.
    assert_eq!(told(&fair, "SSDKeeper, repeated").0, "Shared");
    let said = fair.text().to_string();
    for part in ["to bring fairness from ", "decides by latencies and fairness"] {
        assert!(said.contains(part), "{said}");
    }
}

#[test]
fn channels_are_not_divided_where_that_breaks_a_promise() {
    let all = requests(light_writer(17));
    let serve = |of: &[String]| serve(Start::Empty, &all, Repeat::Once, &targets(of), Border::Open);
    let strategies = |outcome: &PlanOutcome| -> Vec<String> {
        outcome.decisions.iter().map(|decision| decision.strategy.to_string()).collect()
    };
    let without = serve(&[]);
    assert_eq!(strategies(&without), ["1:7"]);
    // Nothing keeps that, and with a channel less the reader would miss it by more.
    let shared = serve(&["b:read-mean<1ns".to_owned()]);
    assert_eq!(strategies(&shared), ["Shared"]);
    let read_ns = [&shared, &without].map(|outcome| tenants_ns(outcome)[1]);
    assert!(read_ns[1] > 1.02 * read_ns[0], "{read_ns:?}");
    let with = serve(&[format!("b:read-mean<{}ns", 1.02 * read_ns[0])]);
    assert_eq!(strategies(&with), ["Shared"]);
    // What is kept in any case changes nothing.
    let with = serve(&["b:read-p99<10s".to_owned()]);
    assert_eq!((strategies(&with), with.means), (strategies(&without), without.means));
}

#[test]
fn data_that_stay_where_they_are_leave_nothing_to_divide() {
    let chosen = |start| decided(start, light_writer(17), None)[0].strategy.to_string();
    assert_eq!(chosen(Start::Empty), "1:7");
    let all = Start::Sequential(Shares(vec![Share::Pages(65_536)]));
    assert_eq!(chosen(all), "Shared");
}

#[test]
fn channels_that_stay_shared_at_first_may_be_divided_later() {
    let decisions = decided(Start::Empty, light_writer(1), light_writer(18));
    let [shared, divided] = &decisions[..] else { panic!("{decisions:?}") };
    assert_eq!((&shared.strategy, shared.at_ns), (&Strategy::Shared, 1_000_000_000));
    assert_eq!(divided.strategy.to_string(), "1:7");
    assert!([1_400_000_000, 2_000_000_000].contains(&divided.at_ns), "{divided:?}");
}

#[test]
fn nothing_is_decided_after_the_last_moment() {
    let late = (2_100, light_writer(18));
    let decisions = decided_as(Repeat::Once, Start::Empty, light_writer(1), late);
    let [shared] = &decisions[..] else { panic!("{decisions:?}") };
    assert_eq!((&shared.strategy, shared.at_ns), (&Strategy::Shared, 1_000_000_000));
}

#[test]
fn who_decides_after_every_period_decides_at_its_end() {
    let busy = (1_000, light_writer(18));
    let repeat = Repeat::Always { hysteresis: 0.03 };
    let decisions = decided_as(repeat, Start::Empty, light_writer(1), busy);
    let ends: Vec<u64> = decisions.iter().map(|decision| decision.at_ns / 1_000_000).collect();
    // Not after 1.4 s, where one that decides once divides these channels.
    assert_eq!(ends[..2], [1_000, 2_000], "{decisions:?}");
    assert_eq!(decisions[0].strategy, Strategy::Shared);
    let once = decided_as(Repeat::Once, Start::Empty, light_writer(1), busy);
    assert_eq!((once[1].at_ns, once[1].strategy.to_string()), (1_400_000_000, "1:7".to_owned()));
}

#[test]
fn a_run_begins_with_the_first_request() {
    let decisions = decided(Start::Empty, None, light_writer(18));
    let first = &decisions[0];
    // It is told at the end of the first period that was not silent. Four fifths of it were as busy
    // as that; of the time since the start it was two fifths.
    assert_eq!(first.at_ns, 2_000_000_000);
    assert!((13..=16).contains(&first.level), "{first:?}");
}

#[test]
fn a_division_that_ends_badly_is_taken_back_and_over_open_borders_does_not_end_badly() {
    let all = in_phases(light_writer(17), (1_200, Some((15, 0.6))));
    let [closed, open] = [Border::Closed, Border::Open]
        .map(|border| serve(Start::Empty, &all, Repeat::Once, &[], border));
    let PlanOutcome { means, decisions, .. } = closed;
    let [divided, back] = &decisions[..] else { panic!("{decisions:?}") };
    assert_eq!((divided.strategy.to_string(), divided.over_shared), ("1:7".to_owned(), None));
    assert_eq!(back.strategy, Strategy::Shared);
    assert!(back.over_shared.is_some_and(|over| (4.0..4.3).contains(&over)), "{back:?}");
    assert!(back.at_ns < 1_500_000_000, "{back:?}");
    assert_eq!(open.decisions.len(), 1, "{:?}", open.decisions);
    assert!(open.means.total_ns() < 0.5 * means.total_ns(), "{:?} {means:?}", open.means);
}

#[test]
fn a_network_with_a_field_missing_is_refused_with_what_to_do() {
    let text = std::fs::read_to_string(path()).unwrap();
    let whole: serde_json::Map<String, serde_json::Value> = serde_json::from_str(&text).unwrap();
    assert!(whole.len() >= 13);
    for field in whole.keys() {
        let mut part = whole.clone();
        part.remove(field);
        let error = read(&serde_json::to_string(&part).unwrap()).unwrap_err();
        assert!(error.contains(&format!("missing field `{field}`")), "{error}");
        assert!(error.ends_with("; `ssdtune keeper train` writes one"), "{error}");
        assert_eq!(error.lines().count(), 1, "{error}");
    }
}
