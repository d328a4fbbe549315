//! The allocator at work: it decides at T, obeys its policy and follows a change of phase.

use crate::scenes::{config, fast, policy, settings};
use ssdtune_experiment::{Blank, Nothing, Preparation, Start};
use ssdtune_keeper::{
    Allocator, AllocatorError, Keeper, MeanLatencies, Mix, MixSimulator, MixTenant, Plan,
    PlanRunner, Repeat, Strategy, StrategyOutcome, TenantsError,
};
use ssdtune_model::config::Allocation;
use ssdtune_model::{CheckedConfig, Nanos, presets};
use ssdtune_sim::{Border, Observe, Tenant};
use ssdtune_trace::Request;
use std::sync::atomic::AtomicBool;

#[test]
fn the_allocator_decides_at_t_and_obeys_its_policy() {
    let (config, stop) = (config(Allocation::Hybrid), AtomicBool::new(false));
    let simulator = MixSimulator::new(&config, settings(), &stop);
    let tenants = [(true, 0.4), (false, 0.3), (false, 0.2), (true, 0.1)]
        .map(|(writes, share)| MixTenant::plain(writes, share));
    let mix = Mix { level: 10, tenants: tenants.into() };
    let requests: Vec<Request> = mix.requests(simulator.request_options(0)).collect();
    let plans = PlanRunner::new(&config, Preparation::of(Start::Empty, 0), 4, &requests, &stop)
        .expect("legal");
    assert_eq!(plans.writers(), mix.writers());
    let policy = policy("4:1:2:1");
    let collect = Nanos::from_ms(20);
    let plan = |repeat| Plan::Keeper(Keeper { collect, repeat, ..Keeper::of(&policy) });
    let once = plans.run(plan(Repeat::Once), Allocation::Hybrid, None).expect("a run");
    let [decision] = &once.decisions[..] else { panic!("{:?}", once.decisions) };
    assert_eq!(decision.at_ns, collect.0);
    assert_eq!(decision.reads, [false, true, true, false]);
    // Ordered are the writers 0 and 3, then the readers 1 and 2.
    assert_eq!(decision.strategy.to_string(), "4:2:1:1");
    let again = plans
        .run(plan(Repeat::Always { hysteresis: 0.1 }), Allocation::Hybrid, None)
        .expect("a run");
    assert!(again.decisions.len() > 3, "{:?}", again.decisions);
    assert!(again.decisions.iter().all(|d| d.strategy.to_string() == "4:2:1:1"));
    assert_eq!(again.means, once.means, "nothing changed, so nothing was switched");
    // A policy that wants nothing leaves the run as it is under static allocation.
    let idle = self::policy("nothing");
    let plan = Plan::Keeper(Keeper { collect, ..Keeper::of(&idle) });
    let shared = Plan::Fixed { strategy: &Strategy::Shared, writers: &[false; 4] };
    let [idle, shared] =
        [plan, shared].map(|plan| plans.run(plan, Allocation::Static, None).expect("a run"));
    assert_eq!(idle.means, shared.means);
}

#[test]
fn a_change_of_phase_is_followed_after_two_looks_that_agree() {
    let ((config, settings), stop) = (fast(Allocation::Static), AtomicBool::new(false));
    let simulator = MixSimulator::new(&config, settings, &stop);
    // The tenants change roles in the middle.
    let half = |first: bool| {
        let tenants = [first, !first].map(|writes| MixTenant::plain(writes, 0.5));
        let mix = Mix { level: 10, tenants: tenants.into() };
        mix.requests(simulator.request_options(0)).collect::<Vec<_>>()
    };
    let mut requests = half(true);
    let middle = requests[requests.len() - 1].at;
    requests.extend(half(false).into_iter().map(|r| Request { at: r.at + middle, ..r }));
    let mut policy = policy("5:3");
    policy.intensity.requests_per_s_max = settings.rate_max_pages;
    let plans = PlanRunner::new(&config, Preparation::of(Start::Empty, 0), 2, &requests, &stop)
        .expect("legal");
    let collect = Nanos::from_ms(4);
    let run = |repeat, border| {
        let plan = Plan::Keeper(Keeper { collect, repeat, border, ..Keeper::of(&policy) });
        plans.run(plan, Allocation::Static, None).expect("a run")
    };
    let always = run(Repeat::Always { hysteresis: 0.01 }, Border::Closed);
    let once = run(Repeat::Once, Border::Closed);
    assert_eq!(once.decisions.len(), 1);
    let kinds: Vec<&[bool]> = always.decisions.iter().map(|d| &d.reads[..]).collect();
    assert_eq!((kinds[0], kinds[kinds.len() - 1]), (&[false, true][..], &[true, false][..]));
    assert!(always.means.total_ns() < once.means.total_ns(), "{:?} {:?}", always.means, once.means);
    // Over open borders it costs less not to follow.
    let open = run(Repeat::Once, Border::Open).means;
    assert!(open.total_ns() < 0.9 * once.means.total_ns(), "{open:?} {:?}", once.means);
}

/// A strategy that was run to its end, with its mean read latency in nanoseconds.
fn entry(name: &str, read_ns: f64) -> StrategyOutcome {
    StrategyOutcome {
        strategy: name.parse().unwrap(),
        means: MeanLatencies { read_ns, write_ns: 0.0 },
        parts: Vec::new(),
        behind: None,
        looks: 20,
    }
}

/// Mean read plus mean write latency under an allocator that divides the channels by this strategy
/// at the end of the first period, over that of shared channels.
fn kept_over_shared(
    strategy: &str,
    mix: &Mix,
    number: u64,
    (allocation, border): (Allocation, Border),
) -> f64 {
    let (config, stop) = (config(allocation), AtomicBool::new(false));
    let simulator = MixSimulator::new(&config, settings(), &stop);
    let requests: Vec<Request> = mix.requests(simulator.request_options(number)).collect();
    let plans = PlanRunner::new(&config, Preparation::of(Start::Empty, 0), 2, &requests, &stop)
        .expect("legal");
    let policy = policy(strategy);
    let collect = Nanos(settings().collect_ns);
    let keeper = Plan::Keeper(Keeper { collect, border, ..Keeper::of(&policy) });
    let shared = Plan::Fixed { strategy: &Strategy::Shared, writers: &mix.writers() };
    let [keeper, shared] =
        [keeper, shared].map(|plan| plans.run(plan, allocation, None).expect("run"));
    assert_eq!(keeper.decisions[0].strategy.to_string(), strategy);
    keeper.means.total_ns() / shared.means.total_ns()
}

/// What a switch is labelled with is what an allocator does that makes it.
#[test]
fn a_switch_is_labelled_with_what_an_allocator_does() {
    // Where pages are placed by load, borders are open in labels, too.
    let fixed = switch_and_allocator((Allocation::Static, Border::Closed));
    let dynamic = switch_and_allocator((Allocation::Dynamic, Border::Open));
    assert_ne!(fixed, dynamic);
}

/// What a switch on a drive with this allocation is labelled with; an allocator with this border
/// does the same.
fn switch_and_allocator((allocation, border): (Allocation, Border)) -> f64 {
    let (config, stop) = (config(allocation), AtomicBool::new(false));
    let simulator = MixSimulator::new(&config, settings(), &stop);
    let tenants = [true, false].map(|writes| MixTenant::plain(writes, 0.5));
    let mix = Mix { level: 10, tenants: tenants.into() };
    let entries = [entry("Shared", 1.0), entry("5:3", 2.0), entry("2:6", 3.0)];
    // The mix of this number is tried at the end of the period, on a drive without data.
    let number = 3;
    let switches = simulator.switches(&mix, number, &entries).expect("switches");
    let again = simulator.switches(&mix, number, &entries).expect("switches");
    assert_eq!(switches, again);
    let at = |slots: u64| switches.iter().filter(move |one| one.slots == slots);
    assert!(at(25).count() >= 1 && at(250).count() >= 1, "{switches:?}");
    let last = at(250).find(|one| one.strategy.to_string() == "5:3").expect("the best one");
    let over_shared = kept_over_shared("5:3", &mix, number, (allocation, border));
    assert!((last.over_shared / over_shared - 1.0).abs() < 1e-12, "{last:?} {over_shared}");
    over_shared
}

/// A run that ends badly is cut off, and is told as no worse than it is.
#[test]
fn a_ruinous_switch_is_labelled_with_a_bound() {
    let (config, stop) = (config(Allocation::Static), AtomicBool::new(false));
    let simulator = MixSimulator::new(&config, settings(), &stop);
    let tenants = [(true, 0.9), (false, 0.1)].map(|(writes, own)| MixTenant::plain(writes, own));
    let mix = Mix { level: 19, tenants: tenants.into() };
    let number = 3;
    let switches =
        simulator.switches(&mix, number, &[entry("Shared", 1.0), entry("1:7", 1.0)]).expect("runs");
    let last = switches.iter().find(|one| one.slots == 250).expect("the end of the period");
    let closed = (Allocation::Static, Border::Closed);
    let over_shared = kept_over_shared("1:7", &mix, number, closed);
    assert!(2.0 <= last.over_shared && last.over_shared < over_shared, "{last:?} {over_shared}");
}

#[test]
fn a_policy_for_other_drives_is_refused() {
    let policy = policy("Shared");
    let new = |config: &CheckedConfig, tenants: usize| {
        let tenants = vec![Tenant::sole(config); tenants];
        let blank = Blank::new(config, &tenants, Observe::default());
        let stop = AtomicBool::new(false);
        let drive =
            blank.prepare(&Preparation::of(Start::Empty, 0), &Nothing, &stop).expect("a drive");
        Allocator::new(&policy, Nanos::from_ms(1), Repeat::Once, &drive).map(|_| ())
    };
    let fits = config(Allocation::Hybrid);
    let mut other = presets::load("ssdkeeper").expect("a preset");
    (other.bus.channels, other.flash.blocks_per_plane) = (4, 128);
    let other = other.check().expect("legal");
    assert!(new(&fits, 4).is_ok() && new(&fits, 2).is_ok());
    assert!(matches!(new(&fits, 1), Err(AllocatorError::Tenants(TenantsError { found: 1, .. }))));
    // The paper's vector has places for four.
    assert!(matches!(
        new(&fits, 5),
        Err(AllocatorError::Tenants(TenantsError { found: 5, most: 4 }))
    ));
    assert!(matches!(new(&other, 4), Err(AllocatorError::Channels { trained: 8, found: 4 })));
}
