//! The network that learned from several drives, `configs/keeper/any-drive.json`: it is put on
//! drives that it has not seen, and divides their channels to their good.

use crate::scenes::{policy, settings};
use ssdtune_experiment::{Preparation, Start};
use ssdtune_keeper::train::{RECIPES, TrainingSchedule, train};
use ssdtune_keeper::{
    Fitted, Keeper, LabelSource, LabelledMix, Labels, Mix, MixSimulator, MixTenant, PeriodDemand,
    Plan, PlanRunner, Policy, SimulationSettings, Strategy,
};
use ssdtune_model::config::{Allocation, GcUnit};
use ssdtune_model::{CheckedConfig, DeviceConfig, Nanos, presets};
use ssdtune_trace::Request;
use std::path::Path;
use std::sync::atomic::AtomicBool;

fn any_drive() -> Policy {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../configs/keeper/any-drive.json");
    Policy::read(&path).expect("the shipped network")
}

/// The drive of Table I with fast channels and slow chips, and few blocks.
fn slow_chips() -> DeviceConfig {
    let mut config = presets::load("ssdkeeper").unwrap();
    config.bus.rate_mts = 667;
    config.flash.program_latency[0] = Nanos::from_us(600);
    config.flash.blocks_per_plane = 256;
    config
}

fn fitted(policy: Policy, config: &CheckedConfig) -> Fitted {
    policy.for_drive(config, &AtomicBool::new(false)).expect("the drive can be measured")
}

/// A calibrated drive, whose superblocks have a block in every plane.
#[test]
fn drives_whose_superblocks_lie_in_all_channels_are_refused() {
    let mut config = presets::load("micron-7450-max-800gb").unwrap();
    let stop = AtomicBool::new(false);
    let checked = config.clone().check().unwrap();
    let refused = any_drive().for_drive(&checked, &stop).unwrap_err().to_string();
    assert!(refused.contains("cannot be divided") && refused.contains("gc.unit=die"), "{refused}");
    let begin = |config: &CheckedConfig, start| {
        let preparation = Preparation::of(start, 0);
        PlanRunner::new(config, preparation, 2, &[], &stop).map(drop)
    };
    assert_eq!(begin(&checked, Start::Footprint).unwrap_err().to_string(), refused);
    config.gc.unit = GcUnit::Die;
    let checked = config.check().unwrap();
    let refused = begin(&checked, Start::Empty).unwrap_err().to_string();
    assert!(refused.contains("--start footprint"), "{refused}");
    begin(&checked, Start::Footprint).expect("a drive that holds what is read");
}

#[test]
fn it_is_put_on_a_drive_in_the_unit_of_that_drive() {
    let (policy, config) = (any_drive(), slow_chips().check().unwrap());
    assert!(policy.drives > 10 && !policy.is_for(&config));
    let pages =
        |policy: &Policy| policy.intensity.requests_per_s_max * policy.collect_ns as f64 / 1e9;
    let before = pages(&policy);
    let Fitted { policy: own, note } = fitted(policy.clone(), &config);
    let note = note.expect("it was measured");
    assert!(note.contains("was put on ssdkeeper, which can serve"), "{note}");
    assert!(own.is_for(&config) && own.flash.program_ns == 600_000.0);
    // The channels carry 326,000 pages a second, the chips 107,000 if all are written.
    let rate = own.intensity.requests_per_s_max;
    assert!((50_000.0..200_000.0).contains(&rate), "{rate}");
    assert!((pages(&own) / before - 1.0).abs() < 0.01, "T is as many pages");
    // What was put on a drive is for it.
    assert!(fitted(own, &config).note.is_none());
}

#[test]
fn a_network_of_one_drive_stays_as_it_is_and_says_so() {
    let config = slow_chips().check().unwrap();
    let Fitted { policy: own, note } = fitted(policy("5:3"), &config);
    assert_eq!(own, policy("5:3"));
    assert!(note.is_some_and(|note| note.contains("was trained for test")));
    // Nor is a network for 8 channels put on 4: an allocator refuses it.
    let four = DeviceConfig {
        bus: ssdtune_model::config::Bus { channels: 4, ..slow_chips().bus },
        ..slow_chips()
    };
    let fitted = fitted(any_drive(), &four.check().unwrap());
    assert_eq!(fitted.policy, any_drive());
    assert!(fitted.note.is_none() && !fitted.policy.is_put());
}

/// Labels of nothing, which no network can learn from.
fn labels(config: &DeviceConfig, settings: SimulationSettings) -> Labels {
    let source = LabelSource::new(config, "t".to_owned(), vec![2], settings);
    let one = |number| LabelledMix {
        number,
        mix: source.mix(number),
        seen: PeriodDemand::default(),
        entries: Vec::new(),
        switches: Vec::new(),
    };
    Labels { mixes: (0..10).map(one).collect(), source }
}

#[test]
fn files_that_no_network_can_learn_from_together_are_refused() {
    let refused = |files: &[Labels]| {
        let made = train(files, RECIPES[5], TrainingSchedule::default(), String::new());
        made.expect_err("nothing to learn from").to_string()
    };
    assert!(refused(&[]).contains("0 labelled mixes are too few"));
    let slow = labels(&slow_chips(), settings());
    let mut four = slow_chips();
    four.bus.channels = 4;
    let error = refused(&[slow.clone(), labels(&four, settings())]);
    assert!(error.contains("drives of 8 and of 4 channels"), "{error}");
    let error = refused(&[slow.clone(), slow.clone()]);
    assert!(error.contains("two files hold the same mixes of the drive ssdkeeper"), "{error}");
    // A drive that is twice as fast, with a T as long.
    let fast = SimulationSettings { rate_max_pages: 32_000.0, ..settings() };
    let error = refused(&[slow.clone(), labels(&small_pages(), fast)]);
    assert!(error.contains("800 pages in one file and 1600 in another"), "{error}");
    // With a T half as long the files go together, and are too small.
    let fast = SimulationSettings { collect_ns: settings().collect_ns / 2, ..fast };
    let error = refused(&[slow, labels(&small_pages(), fast)]);
    assert!(error.contains("10 labelled mixes are too few"), "{error}");
}

/// Another drive of as many channels.
fn small_pages() -> DeviceConfig {
    let mut config = slow_chips();
    config.flash.page_bytes /= 2;
    config
}

/// Two light writers beside two heavy readers, at 80 % of what the drive can do.
#[test]
fn it_divides_a_drive_that_it_never_saw_to_its_good() {
    let config = slow_chips().check().unwrap();
    let own = fitted(any_drive(), &config).policy;
    let stop = AtomicBool::new(false);
    let settings = SimulationSettings {
        rate_max_pages: own.intensity.requests_per_s_max,
        requests: 30_000,
        request_pages: [4, 1],
        working_set_pages: 16_384,
        ..settings()
    };
    let simulator = MixSimulator::new(&config, settings, &stop);
    let tenants =
        [(true, 0.03), (true, 0.03), (false, 0.47), (false, 0.47)].map(|(writes, share)| {
            MixTenant { minority: Some(0.002), ..MixTenant::plain(writes, share) }
        });
    let mix = Mix { level: 17, tenants: tenants.into() };
    let requests: Vec<Request> = mix.requests(simulator.request_options(0)).collect();
    let empty = Preparation::of(Start::Empty, 0);
    let plans = PlanRunner::new(&config, empty, 4, &requests, &stop).expect("legal");
    let writers = mix.writers();
    let shared = Plan::Fixed { strategy: &Strategy::Shared, writers: &writers };
    let keeper = Plan::Keeper(Keeper::of(&own));
    let [shared, kept] =
        [shared, keeper].map(|plan| plans.run(plan, Allocation::Static, None).expect("a run"));
    assert_ne!(kept.decisions[0].strategy, Strategy::Shared, "{:?}", kept.decisions);
    let gained = kept.means.total_ns() / shared.means.total_ns();
    assert!(gained < 0.98, "{gained}");
}
