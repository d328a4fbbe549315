//! Tests of pruning with the simulator in this process.

use super::*;
use crate::evaluate::InProcess;
use crate::limits::Limits;
use crate::space::Space;
use crate::workload::{Trace, Workload};
use ssdtune_model::{DeviceConfig, presets};
use ssdtune_trace::workload::{Seed, bundled};
use std::sync::atomic::AtomicBool;

static GO_ON: AtomicBool = AtomicBool::new(false);

/// A task for a workload on the Intel 750.
fn task(name: &str, requests: usize) -> Task {
    task_from(presets::load("intel-750").unwrap(), name, requests)
}

fn task_from(base: DeviceConfig, name: &str, requests: usize) -> Task {
    let trace = Trace::of_model(&bundled(name).unwrap(), Seed::default(), requests).unwrap();
    Task {
        space: Space::autoblox().around(&base),
        limits: Limits::around(&base),
        base: base.check().unwrap(),
        target: Workload { name: name.to_owned(), depth: 16, traces: vec![trace] },
        others: Vec::new(),
        weights: crate::grade::Weights::default(),
        max_harm: None,
    }
}

fn finding<'a>(pruning: &'a Pruning, key: &str) -> &'a Finding {
    let found = pruning.coarse.iter().find(|sweep| sweep.key == key);
    &found.unwrap_or_else(|| panic!("{key} was not swept")).finding
}

#[test]
fn a_read_only_workload_cares_for_the_bus_and_says_nothing_of_collection() {
    let task = task("websearch", 300);
    let evaluator = InProcess::default();
    let cached = CachedEvaluator::new(&evaluator, None, &GO_ON, &|_| {});
    let settings = PruneSettings { samples: 20, pairs: false, ..PruneSettings::default() };
    let pruning = prune(&task, &settings, &cached, &|_| {}).unwrap();
    assert_eq!(finding(&pruning, "bus.width_bytes"), &Finding::Sensitive);
    assert_eq!(finding(&pruning, "flash.page_read_latency_lsb_ns"), &Finding::Sensitive);
    let no_collection = Finding::NotExercised("garbage collection".to_owned());
    assert_eq!(finding(&pruning, "mapping.overprovisioning"), &no_collection);
    assert!(matches!(finding(&pruning, "flash.page_metadata_bytes"), Finding::NoEffect(_)));
    assert!(matches!(finding(&pruning, "host.sata_processing_delay_ns"), Finding::NoEffect(_)));
    // The drive becomes slower as reads of flash take longer.
    let sweep = pruning.coarse.iter().find(|sweep| sweep.key == "flash.page_read_latency_lsb_ns");
    let performances: Vec<f64> = sweep.unwrap().performances.iter().flatten().copied().collect();
    assert!(performances.windows(2).all(|pair| pair[0] > pair[1]), "{performances:?}");
    // The order is by absolute coefficient, and dropped parameters are not in it.
    let sizes: Vec<f64> =
        pruning.order.0.iter().map(|parameter| parameter.coefficient.abs()).collect();
    assert!(sizes.windows(2).all(|pair| pair[0] >= pair[1]) && !sizes.is_empty());
    assert!(pruning.order.0.iter().all(|parameter| parameter.key != "mapping.overprovisioning"));
}

#[test]
fn what_was_pruned_is_found_again() {
    // The findings do not matter here, and there are many pairs. So requests are few, and the drive
    // is small.
    let mut base = presets::load("intel-750").unwrap();
    base.flash.blocks_per_plane /= 16;
    let task = task_from(base, "websearch", 20);
    let directory = tempfile::tempdir().unwrap();
    let db = AutoDb::open(directory.path().join("db")).unwrap();
    assert_eq!(Pruning::load(&db, &task).unwrap(), None);
    let evaluator = InProcess::default();
    let cached = CachedEvaluator::new(&evaluator, Some(&db), &GO_ON, &|_| {});
    let settings = PruneSettings { samples: 5, pairs: true, ..PruneSettings::default() };
    let pruning = prune(&task, &settings, &cached, &|_| {}).unwrap();
    assert!(pruning.pairs_tried > 0);
    pruning.store(&db).unwrap();
    assert_eq!(Pruning::load(&db, &task).unwrap(), Some(pruning));
}
