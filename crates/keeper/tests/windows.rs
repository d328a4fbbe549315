//! Plans on windows of a mix beside the same plans on the whole of it.

use crate::scenes::{config, fast, policy, settings};
use ssdtune_experiment::livepoints::SampleOptions;
use ssdtune_experiment::{AddressFit, Age, Preparation, RequestSource, Start};
use ssdtune_keeper::compare::{LongMix, MIX_WINDOWS, MergeOptions, Untold, WindowPlans};
use ssdtune_keeper::{
    CompareError, Keeper, Mix, MixSimulator, MixTenant, Plan, PlanRunner, Policy,
    SimulationSettings, Strategy, WindowComparison,
};
use ssdtune_model::config::{Allocation, CacheMode, Sharing};
use ssdtune_model::{Bytes, CheckedConfig, Nanos};
use ssdtune_trace::{Request, TenantId};
use std::sync::atomic::AtomicBool;

/// The requests of a writer and of a reader, and those of each as a source.
fn mix(config: &CheckedConfig, level: u8, requests: u64) -> (Vec<Request>, Vec<RequestSource>) {
    let stop = AtomicBool::new(false);
    let settings = SimulationSettings { requests, ..settings() };
    let simulator = MixSimulator::new(config, settings, &stop);
    let tenants =
        [(true, 0.4), (false, 0.6)].map(|(writes, share)| MixTenant::plain(writes, share));
    let mix = Mix { level, tenants: tenants.into() };
    let mut all: Vec<Request> = mix.requests(simulator.request_options(0)).collect();
    let first = all[0].at;
    all.iter_mut().for_each(|request| request.at -= first);
    let source = |tenant: u16| {
        let own = all.iter().copied().filter(|request| request.tenant == TenantId(tenant));
        let source =
            RequestSource::of_requests(format!("tenant {tenant}"), own.collect::<Vec<_>>());
        RequestSource { fit: Some(AddressFit::Wrap), ..source }
    };
    let sources = vec![source(0), source(1)];
    (all, sources)
}

fn told(
    device: &CheckedConfig,
    preparation: &Preparation,
    sources: &[RequestSource],
    options: SampleOptions,
    (policy, collect): (&Policy, Nanos),
) -> Result<WindowComparison, CompareError> {
    let stop = AtomicBool::new(false);
    let intensity = policy.intensity;
    let merge = MergeOptions { even: false, requests_max: usize::MAX, level: None, intensity };
    let mix = LongMix::new(device, sources, merge, &stop)?;
    WindowPlans::new(device, preparation, &mix, options, &stop)?.compare(policy, collect)
}

const SHORT: SampleOptions =
    SampleOptions { windows: 100, warm_up: 200, measured: 150, ..MIX_WINDOWS };

/// Whole runs of all plans, and what windows say of them: the allocator decides after a third of
/// the mix, so that some data lie where all tenants wrote and some where one does.
fn windows_hold_the_whole(device: &CheckedConfig, start: Start, off_max: f64) {
    let (all, sources) = mix(device, 8, 20_000);
    let preparation = Preparation::of(start, 1);
    let third = Nanos(all[all.len() / 3].at.0);
    let policy = policy("5:3");
    let told = told(device, &preparation, &sources, SHORT, (&policy, third)).unwrap();
    assert!((40..=100).contains(&told.run.windows), "{:?}", told.run);

    let stop = AtomicBool::new(false);
    let runner = PlanRunner::new(device, preparation, 2, &all, &stop).unwrap();
    let writers = runner.writers();
    assert_eq!(told.writers, writers);
    let run = |plan: Plan<'_>, allocation| runner.run(plan, allocation, None).unwrap();
    let fixed =
        |strategy: &Strategy| run(Plan::Fixed { strategy, writers: &writers }, Allocation::Static);
    let shared_ns = fixed(&Strategy::Shared).means.total_ns();
    let once = Plan::Keeper(Keeper { collect: third, ..Keeper::of(&policy) });
    let (keeper, hybrid) = (run(once, Allocation::Static), run(once, Allocation::Hybrid));
    assert_eq!(told.decisions, keeper.decisions);
    assert_eq!(keeper.decisions[0].strategy.to_string(), "5:3");
    let strategies = ["Isolated", "6:2", "5:3"].map(|name| name.parse().unwrap());
    let mut plans: Vec<(String, f64)> = (strategies.iter())
        .map(|own: &Strategy| (own.to_string(), fixed(own).means.total_ns()))
        .collect();
    plans.push(("SSDKeeper".into(), keeper.means.total_ns()));
    plans.push(("SSDKeeper + hybrid".into(), hybrid.means.total_ns()));
    for (plan, whole_ns) in plans {
        let mut lines = told.strategies.iter().chain(&told.lines);
        let line = lines.find(|line| line.plan == plan).unwrap();
        let truth = whole_ns / shared_ns;
        let off = line.over_shared / truth - 1.0;
        let said = line.over_shared_interval;
        assert!(off.abs() < off_max, "{plan}: {truth:.4} whole and {:.4}", line.over_shared);
        let is_cached = device.cache.mode != CacheMode::Off;
        // Writes leave the parts of the allocator alone.
        let is_open = plan.starts_with("SSDKeeper") && line.strategy != "Shared";
        assert_eq!(said.is_none(), is_cached || is_open, "{plan}: {line:?}");
        assert!(said.is_none_or(|own| own.holds(truth)), "{plan}: {truth:.4} and {said:?}");
    }
}

#[test]
fn windows_of_a_mix_hold_what_plans_do_to_the_whole() {
    let device = config(Allocation::Hybrid);
    windows_hold_the_whole(&device, Start::Empty, 0.02);
    windows_hold_the_whole(&device, Start::Footprint, 0.02);
}

/// Tenants share a data cache and a mapping cache that are smaller than what they touch.
#[test]
fn caches_that_tenants_share_are_restored_in_the_order_of_last_use() {
    let mut device = (*config(Allocation::Hybrid)).clone();
    device.cache.mode = CacheMode::ReadWrite;
    device.cache.capacity = Bytes(8 << 20);
    device.mapping.ideal = false;
    device.mapping.cmt_capacity = Bytes(8 << 10);
    windows_hold_the_whole(&device.clone().check().unwrap(), Start::Footprint, 0.08);
    let mut mapping = device.clone();
    mapping.cache.mode = CacheMode::Off;
    windows_hold_the_whole(&mapping.check().unwrap(), Start::Footprint, 0.02);

    let (_, sources) = mix(&config(Allocation::Hybrid), 5, 6_000);
    device.cache.sharing = Sharing::EqualPartitions;
    let own = device.check().unwrap();
    let (policy, collect) = (policy("5:3"), Nanos::from_ms(50));
    let footprint = Preparation::of(Start::Footprint, 1);
    let refused = told(&own, &footprint, &sources, SHORT, (&policy, collect)).unwrap_err();
    assert!(refused.to_string().contains("cache.sharing"), "{refused}");
}

#[test]
fn windows_say_when_they_do_not_know() {
    let device = config(Allocation::Hybrid);
    let (_, sources) = mix(&device, 5, 6_000);
    let (policy, collect) = (policy("5:3"), Nanos::from_ms(50));
    let of = |preparation: &Preparation, options| {
        told(&device, preparation, &sources, options, (&policy, collect))
    };
    let empty = Preparation::of(Start::Empty, 1);
    let few = of(&empty, SampleOptions { windows: 8, ..SHORT }).unwrap();
    assert!(few.lines.iter().all(|line| line.over_shared_interval.is_none()));
    assert!(few.lines.iter().all(|line| line.no_interval == Some(Untold::FewWindows)));
    assert!(few.text().to_string().contains("fewer than 40 windows"), "{}", few.text());
    let steady = of(&Preparation::of(Start::steady(0.5), 1), SHORT).unwrap_err();
    assert!(steady.to_string().contains("--start steady:0.5"), "{steady}");
    let ages = vec![Age::Trace { times: 1 }];
    let aged = Preparation { ages, ..Preparation::of(Start::Footprint, 1) };
    assert!(matches!(of(&aged, SHORT), Err(CompareError::Aged)));
    let dynamic = config(Allocation::Dynamic);
    let refused = told(&dynamic, &empty, &sources, SHORT, (&policy, collect)).unwrap_err();
    assert!(matches!(refused, CompareError::DynamicWindows) && refused.is_usage());

    // Parts that writes leave.
    let (_, sources) = mix(&device, 8, 20_000);
    let open = told(&device, &empty, &sources, SHORT, (&policy, collect)).unwrap();
    let keeper = open.lines.iter().find(|line| line.plan == "SSDKeeper").unwrap();
    assert_eq!((&keeper.strategy[..], keeper.no_interval), ("5:3", Some(Untold::OpenBorder)));
    assert!(open.text().to_string().contains("writes leave the allocator's parts"));

    // A drive that cannot keep up.
    let (fast, _) = fast(Allocation::Hybrid);
    let mut slow = (*fast).clone();
    slow.bus.rate_mts = 10;
    let slow = slow.check().unwrap();
    let (_, sources) = mix(&device, 20, 20_000);
    let late = told(&slow, &empty, &sources, SHORT, (&policy, collect)).unwrap();
    assert!(late.lines.iter().all(|line| line.no_interval == Some(Untold::Backlog)));
    assert!(late.text().to_string().contains("cannot keep up"), "{}", late.text());
}
