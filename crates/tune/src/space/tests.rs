//! Tests of spaces, their files, points and distances.

use super::*;
use ssdtune_model::presets;

#[test]
fn the_papers_space_has_its_axes_and_every_preset_lies_in_it_once_around() {
    let space = Space::autoblox();
    assert_eq!(space.axes().len(), 28);
    assert!(space.size() > 1e9, "billions of configurations: {}", space.size());
    for name in presets::names() {
        let base = presets::load(name).unwrap();
        let around = space.around(&base);
        let point = around.point(&base).unwrap_or_else(|| panic!("{name}"));
        assert_eq!(around.config(&base, &point), base, "{name}");
    }
    assert!(Space::what_if().axes().len() > 15);
}

#[test]
fn rows_of_values_have_their_ends() {
    let text = "name = \"x\"\n[gc]\nthreshold = { from = 0.1, to = 0.3, pieces = 4 }\n[cache]\n\
                capacity_bytes = { from = \"64 MiB\", to = \"192 MiB\", by = \"64 MiB\" }\n";
    let space = Space::parse(text).unwrap();
    let labels = |key: &str| space.axes()[space.axis(key).unwrap()].labels().collect::<Vec<_>>();
    let expected = [0.1, 0.15, 0.2, 0.25, 0.3].map(|real| Label::Value(Value::Real(real)));
    assert_eq!(labels("gc.threshold"), expected);
    let expected = [1_u64, 2, 3].map(|n| Label::Value(Value::Int(n << 26)));
    assert_eq!(labels("cache.capacity_bytes"), expected);
}

#[test]
fn every_fault_is_named_with_its_line_and_the_nearest_name() {
    let text = "[bus]\nchanels = [4]\nwidth_bytes = [0]\nrate_mts = 3\n[bsu]\nx = 1\n\
                [gc]\npolicy = [\"best\"]\n";
    let faults = Space::parse(text).unwrap_err();
    let said = faults.to_string();
    assert_eq!(faults.0.len(), 5, "{said}");
    assert!(
        said.contains("line 2: bus.chanels: no such key; did you mean bus.channels?"),
        "{said}"
    );
    assert!(said.contains("line 3: bus.width_bytes: 0 is not among its legal values"), "{said}");
    assert!(said.contains("line 8: gc.policy"), "{said}");
    assert!(Space::parse("name = \"x\"").is_err());
}

#[test]
fn steps_are_counted_by_rank_and_names_by_difference() {
    let base = presets::load("intel-750").unwrap();
    let space = Space::autoblox().around(&base);
    let here = space.point(&base).unwrap();
    let mut there = base.clone();
    ssdtune_model::set(&mut there, "bus.channels", "16").unwrap();
    ssdtune_model::set(&mut there, "mapping.plane_order", "PDWC").unwrap();
    let there = space.point(&there).unwrap();
    assert_eq!(space.manhattan(&here, &there), 2 + 1);
    let (a, b) = (space.encode(&here), space.encode(&there));
    assert_eq!((a.len(), b.len()), (space.columns(), space.columns()));
    assert!(a.iter().chain(&b).all(|cell| (0.0..=1.0).contains(cell)));
    // A change of name changes two columns by 1/√2 each, so its distance is 1.
    let apart: f64 = a.iter().zip(&b).map(|(a, b)| (a - b) * (a - b)).sum();
    assert!((apart - (1.0 + (2.0_f64 / 14.0).powi(2))).abs() < 1e-9, "{apart}");
}

#[test]
fn points_that_are_the_same_drive_are_the_same_point() {
    let mut base = presets::load("intel-750").unwrap();
    // With equal thresholds pre-emption has no effect.
    base.gc.hard_threshold = base.gc.threshold;
    let space = Space::autoblox().around(&base);
    let rest = space.point(&base).unwrap();
    let mut other = rest.clone();
    let axis = space.axis("gc.preemptible").unwrap();
    other.0[axis] = 1 - other.0[axis];
    assert_eq!(space.canonical(&base, &other, &rest), rest);
    let channels = space.axis("bus.channels").unwrap();
    other.0[channels] += 1;
    assert_eq!(space.canonical(&base, &other, &rest).0[channels], rest.0[channels] + 1);
}

#[test]
fn a_sata_cable_is_not_tuned() {
    let axes = |preset: &str| {
        let space = Space::autoblox().around(&presets::load(preset).unwrap());
        space.axes().iter().filter(|axis| axis.key().starts_with("host.pcie")).count()
    };
    assert_eq!((axes("intel-750"), axes("samsung-850-pro")), (2, 0));
}

#[test]
fn every_preset_lies_in_the_market_around_it() {
    let market = Space::market();
    let parts = market.axes()[market.axis(PART).unwrap()].choice().unwrap();
    for part in parts.alternatives() {
        let told = [part.says(), part.source()];
        assert!(told.iter().all(|text| !text.is_empty()), "{} says nothing", part.name());
    }
    for name in presets::names() {
        let base = presets::load(name).unwrap();
        let around = market.around(&base);
        let point = around.point(&base).unwrap_or_else(|| panic!("{name}"));
        assert_eq!(around.config(&base, &point), base, "{name}");
        assert_eq!(around.violations(&base, &point), [], "{name}");
    }
}

/// What a search may choose of placement and victims, and that the page on searching says so.
#[test]
fn the_market_has_placement_and_victims_and_they_are_documented() {
    let market = Space::market();
    let labels = |key: &str| -> Vec<String> {
        let axis = market.axis(key).unwrap_or_else(|| panic!("no axis {key}"));
        market.axes()[axis].labels().map(|label| label.to_string()).collect()
    };
    let (policies, victims) = (labels("placement.policy"), labels("victims"));
    assert!(policies.len() > 4 && victims.len() > 4, "{policies:?} {victims:?}");
    for name in ["none", "lifespan"] {
        assert!(policies.iter().any(|own| own == name), "{policies:?}");
    }
    // With one application it is none with more to open.
    assert!(!policies.iter().any(|own| own == "auto-stream"), "{policies:?}");
    let told = include_str!("../../../../docs/search.md");
    for name in policies.iter().chain(&victims) {
        assert!(told.contains(&format!("`{name}`")), "docs/search.md lacks {name}");
    }
    // Victims are the baseline's own too, whatever they are.
    let mut base = presets::load("intel-750").unwrap();
    base.gc.policy = ssdtune_model::config::GcPolicy::RandomPlusPlus;
    let around = market.around(&base);
    let axis = around.axis("victims").unwrap();
    assert_eq!(around.axes()[axis].count(), victims.len() + 1);
    assert_eq!(around.config(&base, &around.point(&base).unwrap()), base);
}

/// Two parts, of which the slower one has a slow interface.
const PARTS: &str = "[choice.part]\nold = { flash.pe_cycles_limit = 1000, \
                     flash.planes_per_die = 2, at_most.\"bus.rate_mts\" = 400 }\n\
                     new = { flash.pe_cycles_limit = 3000 }\n\
                     [bus]\nrate_mts = [200, 400, 800]\n";

#[test]
fn settings_of_an_alternative_come_together() {
    let base = presets::load("intel-750").unwrap();
    let space = Space::parse(PARTS).unwrap().around(&base);
    let part = space.axis(PART).unwrap();
    let names: Vec<String> = space.axes()[part].labels().map(|label| label.to_string()).collect();
    assert_eq!(names, ["as in intel-750", "new", "old"]);
    assert_eq!(space.layout_axes(), [part], "the old part has two planes");
    let (mut point, rate) = (space.point(&base).unwrap(), space.axis("bus.rate_mts").unwrap());
    assert_eq!(point.0[part], 0);
    point.0[part] = space.axes()[part].rank_of("old").unwrap();
    let config = space.config(&base, &point);
    assert_eq!((config.flash.pe_cycles_limit, config.flash.planes_per_die), (1_000, 2));
    assert_eq!(space.point(&config).unwrap(), point);
    // What one alternative leaves out is as in the baseline.
    point.0[part] = space.axes()[part].rank_of("new").unwrap();
    assert_eq!(space.config(&base, &point).flash.planes_per_die, base.flash.planes_per_die);
    let told = changes(&space, &base, &space.config(&base, &point));
    assert_eq!(
        (told.len(), told[0].key.as_str(), told[0].recommended.as_str()),
        (1, "part", "new")
    );
    assert_eq!(told[0].settings.len(), 1);
    assert_eq!(space.columns(), 1 + 3);
    assert!(space.axes()[rate].is_numeric() && !space.axes()[part].is_numeric());
}

#[test]
fn a_part_allows_no_faster_bus_than_it_has() {
    let base = presets::load("intel-750").unwrap();
    let space = Space::parse(PARTS).unwrap().around(&base);
    let (part, rate) = (space.axis(PART).unwrap(), space.axis("bus.rate_mts").unwrap());
    let mut point = space.point(&base).unwrap();
    point.0[rate] = space.axes()[rate].rank_of("800").unwrap();
    let broken = |point: &Point| space.violations(&base, point).len();
    let with = |name: &str| {
        let mut with = point.clone();
        with.0[part] = space.axes()[part].rank_of(name).unwrap();
        with
    };
    assert_eq!((broken(&with("new")), broken(&with("old"))), (0, 1));
    // More than the baseline does is not known of its own flash.
    assert_eq!(broken(&point), 1);
    // A baseline that is of a part and faster than it allows is a drive all the same.
    let mut fast = space.config(&base, &with("old"));
    fast.bus.rate_mts = 800;
    let around = Space::parse(PARTS).unwrap().around(&fast);
    assert_eq!(around.violations(&fast, &around.point(&fast).unwrap()), []);
    let lower = space.within_alternatives(&with("old"), None);
    assert_eq!(space.config(&base, &lower).bus.rate_mts, 400);
    assert_eq!(space.within_alternatives(&with("old"), Some(rate)), with("old"));
}

#[test]
fn further_parts_are_added_and_faults_of_choices_are_named() {
    let more = "[mine]\nflash.pe_cycles_limit = 7\n[new]\nflash.pe_cycles_limit = 8\n";
    let space = Space::parse(PARTS).unwrap().with_parts(more).unwrap();
    let parts = space.axes()[0].choice().unwrap().alternatives();
    let names: Vec<&str> = parts.iter().map(Alternative::name).collect();
    assert_eq!(names, ["new", "old", "mine"]);
    assert_eq!(parts[0].value_of("flash.pe_cycles_limit"), Some(Value::Int(8)));
    assert!(Space::autoblox().with_parts(more).is_err(), "it has no choice of parts");
    // A part that leaves out what all of its cell type state would have the baseline's times.
    let bare = "[mine]\nflash.technology = \"tlc\"\n";
    let told = Space::market().with_parts(bare).unwrap_err().to_string();
    for key in ["flash.page_read_latency_msb_ns", "flash.pages_per_block", "flash.pe_cycles_limit"]
    {
        assert!(told.contains("mine") && told.contains(key), "{key}: {told}");
    }
    let told = |text: &str| Space::parse(text).unwrap_err().to_string();
    let wrong = "[choice.part]\none = { flash.pe_cycle_limit = 1 }\n";
    assert!(told(wrong).contains("did you mean flash.pe_cycles_limit?"), "{}", told(wrong));
    let wrong = "[choice.part]\none = { flash.technology = \"xlc\" }\n";
    assert!(told(wrong).contains("line 2: flash.technology"), "{}", told(wrong));
    let twice = "[choice.x]\none = { bus.channels = 4 }\n[bus]\nchannels = [4, 8]\n";
    assert!(told(twice).contains("both bus.channels and x set it"), "{}", told(twice));
    let twice = "[choice.x]\n\"y\" = { \"bus.channels\" = 4, bus.channels = 8 }\n";
    assert!(told(twice).contains("choice.x.y sets it twice"), "{}", told(twice));
    for wrong in ["[choice]\nx = \"catalogue\"", "[choice.x]", "[choice.x]\ny = 3", "[choice.x.y]"]
    {
        assert!(!told(wrong).is_empty(), "{wrong}");
    }
}
