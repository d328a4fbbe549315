//! Tests of limits, prices, inequalities, and completions.

use super::*;
use crate::space::{Point, Space};
use proptest::prelude::*;
use ssdtune_model::config::PlacementPolicy;
use ssdtune_model::{Bytes, presets};

fn intel() -> DeviceConfig {
    presets::load("intel-750").unwrap()
}

#[test]
fn a_baseline_keeps_the_limits_around_it() {
    for name in presets::names() {
        let base = presets::load(name).unwrap();
        assert!(Limits::around(&base).check(&base).is_ok(), "{name}");
    }
}

#[test]
fn shipped_files_read() {
    let paper = Limits::parse(include_str!("../../../../configs/constraints/nvme-mlc-512gb.toml"));
    assert!(paper.unwrap().check(&intel()).is_ok());
    let sata = Limits::parse(include_str!("../../../../configs/constraints/sata-mlc-256gb.toml"));
    assert!(sata.unwrap().check(&presets::load("samsung-850-pro").unwrap()).is_ok());
}

/// Presets whose blocks are too large for a drive of 64 GiB.
const TOO_LARGE: [&str; 2] = ["samsung-pm9a3-960gb", "solidigm-p5520-1920gb"];

#[test]
fn a_baseline_gets_the_capacity_that_is_asked_for() {
    for name in presets::names() {
        let base = presets::load(name).unwrap().check().unwrap();
        let own = base.geometry().raw_capacity();
        for wanted in [Bytes::from_gib(64), own, Bytes::from_gib(1_024), Bytes(4_000_000_000_000)] {
            let mut limits = Limits::default();
            limits.constraints.capacity = Some(wanted);
            limits.constraints.capacity_tolerance = 0.1;
            let resized = match limits.resized(&base) {
                Ok(resized) => resized,
                // So few of their large blocks leave none to collect with, which is said.
                Err(faults) if wanted == Bytes::from_gib(64) && TOO_LARGE.contains(&name) => {
                    assert!(faults.to_string().contains("spare blocks of"), "{name}: {faults}");
                    continue;
                }
                Err(faults) => panic!("{name}: {faults}"),
            };
            assert!(wanted != own || resized.is_none(), "{name}");
            let base = resized.unwrap_or_else(|| base.clone());
            limits.complete_from(&base);
            assert!(limits.check(&base).is_ok(), "{name} at {wanted}");
        }
    }
    let mut limits = Limits::default();
    limits.constraints.capacity = Some(Bytes::from_mib(1));
    let refused = limits.resized(&intel().check().unwrap()).unwrap_err().to_string();
    assert!(refused.contains("1 MiB would take 1 blocks in each plane"), "{refused}");
    limits.constraints.capacity = Some(Bytes::from_gib(64));
    let large = presets::load("samsung-pm9a3-960gb").unwrap().check().unwrap();
    let refused = limits.resized(&large).unwrap_err().to_string();
    assert!(refused.contains("leaves 1.84 spare blocks of 15 per plane"), "{refused}");
}

#[test]
fn prices_and_inequalities_bind() {
    let text = "max_price = 100\ninequalities = [\"bus.channels * bus.chips_per_channel <= 60\", \
                \"dram_bytes < 2 GiB\"]\n[prices]\nper_channel = 5\nper_dram_gib = 10.0\n";
    let limits = Limits::parse(text).unwrap();
    // 12 channels, 800 + 256 MiB of DRAM.
    let price = limits.prices.as_ref().unwrap().of(&intel());
    assert!((price - (60.0 + 10.0 * 1056.0 / 1024.0)).abs() < 1e-9, "{price}");
    assert!(limits.check(&intel()).is_ok());
    let mut more = intel();
    more.bus.channels = 20;
    let broken = limits.check(&more).unwrap_err();
    let said: Vec<String> = broken.iter().map(ToString::to_string).collect();
    assert_eq!(said.len(), 2, "{said:?}");
    assert!(said[1].contains("100 against 60"), "{said:?}");
}

#[test]
fn what_is_wrong_in_a_file_is_named() {
    for (text, expected) in [
        ("max_price = 3", "needs a table [prices]"),
        ("[prices]\nper_chanel = 1", "per_chanel has no price"),
        ("inequalities = [\"bus.chanels <= 3\"]", "did you mean bus.channels?"),
        ("inequalities = [\"gc.policy == 3\"]", "it holds a name"),
        ("inequalities = [\"chips\"]", "no comparison"),
        ("inequalities = [\"chips <= (3\"]", "not closed"),
        ("inequalities = [\"chips <= 3 4\"]", "cannot read on from `4`"),
        ("inequality = 3", "did you mean inequalities?"),
    ] {
        let said = Limits::parse(text).unwrap_err().to_string();
        assert!(said.contains(expected), "{text}: {said}");
    }
}

/// Products bind tighter than sums, and operations of one rank are computed from left to right.
#[test]
fn arithmetic_is_the_usual_one() {
    let holds = |text: &str| Inequality::parse(text).unwrap().holds(&intel());
    assert!(holds("2 + 3 * 4 == 14"));
    assert!(holds("(2 + 3) * 4 == 20"));
    assert!(holds("10 - 4 - 3 == 3"));
    assert!(holds("1 GiB == 1024 * 1MiB"));
    assert!(holds("bus.channels != 13"));
    assert!(!holds("0 / 0 == 0 / 0"));
    assert!(Inequality::parse(&"(".repeat(100_000)).is_err());
}

#[test]
fn what_a_placement_policy_remembers_is_paid_for_and_needs_spare_blocks() {
    let base = presets::load("micron-7450-max-800gb").unwrap();
    let mut limits = Limits::default();
    limits.complete_for_purchase_from(&base);
    let prices = Prices { dram_modules: Vec::new(), ..Prices::market() };
    let mut placed = base.clone();
    placed.placement.policy = PlacementPolicy::Lifespan;
    // 8 B for each 4 KiB that the host sees are a 512th of them.
    let more = prices.of(&placed) - prices.of(&base);
    let gib = Ledger::of(&base).visible_bytes.0 as f64 / 512.0 / f64::from(1 << 30);
    assert!((more / (gib * prices.per_dram_gib) - 1.0).abs() < 0.001, "{more} {gib}");
    assert!(limits.check(&placed).is_ok());
    // As many spare blocks as stand open and are kept free, and a few more.
    limits.constraints.usable_capacity = None;
    limits.max_price = None;
    let told = |spare: f64| {
        let mut small = placed.clone();
        small.mapping.overprovisioning = spare / f64::from(small.flash.blocks_per_plane);
        limits.check(&small).map(|_| ()).map_err(|broken| broken[0].to_string())
    };
    let needed = f64::from(placed.placement.blocks_needed(!placed.mapping.ideal));
    assert_eq!(told(needed + 0.5), Ok(()));
    let refused = told(needed - 0.5).unwrap_err();
    assert!(refused.contains("placement.policy lifespan needs more than"), "{refused}");
}

/// The paper's space with limits on raw flash, and the market's with limits on what the host sees.
fn worlds() -> [(Space, Limits); 2] {
    let base = intel();
    let mut market = Limits::default();
    market.complete_for_purchase_from(&base);
    // What is completed may cost more than the baseline: here only the capacity is of interest.
    market.max_price = None;
    [
        (Space::autoblox().around(&base), Limits::around(&base)),
        (Space::market().around(&base), market),
    ]
}

fn points(world: usize) -> impl Strategy<Value = (Point, usize)> {
    let space = worlds()[world].0.clone();
    let ranks: Vec<_> = space.axes().iter().map(|axis| 0..axis.count() as u16).collect();
    let axes = space.axes().len();
    (ranks.prop_map(Point), 0..axes)
}

proptest! {
    /// Every completion keeps every limit, lies at its point, and has the proposed value.
    #[test]
    fn completions_keep_every_limit(
        (world, (wild, axis)) in (0..2_usize).prop_flat_map(|world| (Just(world), points(world)))
    ) {
        let (base, (space, limits)) = (intel(), worlds()[world].clone());
        let mut point = space.point(&base).unwrap();
        point.0[axis] = wild.0[axis];
        for done in limits.complete(&space, &base, &point, axis) {
            prop_assert_eq!(done.point.0[axis], wild.0[axis]);
            prop_assert_eq!(&space.config(&base, &done.point), &*done.config);
            prop_assert!(limits.check(&done.config).is_ok());
            prop_assert!(limits.constraints.violations(&done.config).is_empty());
            prop_assert_eq!(space.violations(&base, &done.point), vec![]);
        }
        for done in limits.complete(&space, &base, &wild, axis) {
            prop_assert!(limits.check(&done.config).is_ok());
        }
    }

    #[test]
    fn no_text_makes_the_reader_panic(text in "[a-z.0-9<>=+*/() -]{0,40}") {
        if let Ok(one) = Inequality::parse(&text) {
            one.holds(&intel());
        }
    }
}

#[test]
fn every_layout_value_within_a_factor_of_two_can_be_completed() {
    let base = intel();
    let (space, limits) = (Space::autoblox().around(&base), Limits::around(&base));
    let here = space.point(&base).unwrap();
    assert_eq!(space.layout_axes().len(), 6);
    for axis in space.layout_axes() {
        let searched = &space.axes()[axis];
        let base_value = searched.number(here.0[axis]);
        for rank in 0..searched.count() as u16 {
            let (key, value) = (searched.key(), searched.number(rank));
            let ratio = value / base_value;
            if !(0.5..=2.0).contains(&ratio) {
                continue;
            }
            let mut point = here.clone();
            point.0[axis] = rank;
            assert!(!limits.complete(&space, &base, &point, axis).is_empty(), "{key} = {value}");
        }
    }
}
