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
    let values = |key: &str| space.axes()[space.axis(key).unwrap()].values().to_vec();
    assert_eq!(values("gc.threshold"), [0.1, 0.15, 0.2, 0.25, 0.3].map(Value::Real));
    assert_eq!(values("cache.capacity_bytes"), [1_u64, 2, 3].map(|n| Value::Int(n << 26)));
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
