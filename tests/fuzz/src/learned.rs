//! Readers of what the command writes for itself: models, labels, results, profiles, and what fio
//! writes. What was read answers without a panic.

use ssdtune_calibrate::Figures;
use ssdtune_keeper::features::SLOTS;
use ssdtune_keeper::{Labels, ObservedMix, PeriodDemand, Policy, Strategy};
use ssdtune_model::DeviceConfig;
use ssdtune_predict::blackbox::{Point, Results, fio};
use ssdtune_predict::firmware::{Profile, WorkCounts};
use ssdtune_predict::{BlackBoxModel, Characteristics, FirmwareModel};
use ssdtune_sim::Demand;
use std::path::Path;

/// Calls `read` with a file that holds `bytes`.
fn with_file(bytes: &[u8], read: impl FnOnce(&Path)) {
    let file = tempfile::NamedTempFile::new().expect("room for a small file");
    std::fs::write(file.path(), bytes).expect("room for a small file");
    read(file.path());
}

/// SSDKeeper's trained network and its strategies: it divides the channels of its drive among
/// tenants that it serves.
pub(crate) fn policy(bytes: &[u8]) {
    with_file(bytes, |path| {
        let Ok(policy) = Policy::read(path) else { return };
        let mut memory = policy.memory();
        assert!(policy.bytes() > 0);
        assert!(!policy.is_for(&DeviceConfig::default()) || !policy.strategies.is_empty());
        for tenants in [2, 4] {
            if policy.kind.check_tenants(tenants).is_err() {
                continue;
            }
            let observed = ObservedMix::new(&uneven_demand(tenants), policy.intensity);
            let choice = policy.choose(&observed, &mut memory);
            let is_possible = match &choice.strategy {
                Strategy::Parts(parts) => {
                    parts.len() == tenants && parts.iter().sum::<u32>() == policy.channels
                }
                Strategy::ByKind { .. } | Strategy::Isolated | Strategy::Shared => true,
            };
            assert!(is_possible, "{choice:?}");
        }
    });
}

/// A second in which the first tenant writes in one slot twice what each other one reads in all.
fn uneven_demand(tenants: usize) -> PeriodDemand {
    let writer = Demand { writes: 500, written_pages: 1_000, ..Demand::default() };
    let reader = Demand { reads: 500, read_pages: 500, ..Demand::default() };
    let mut burst = vec![[0, 0]; SLOTS as usize];
    burst[7] = [0, 1_000];
    let mut asked = vec![reader; tenants];
    let mut slots = vec![vec![[2, 0]; SLOTS as usize]; tenants];
    (asked[0], slots[0]) = (writer, burst);
    PeriodDemand { seconds: 1.0, asked, slots }
}

/// Labelled mixes: every mix has a best strategy.
pub(crate) fn labels(bytes: &[u8]) {
    with_file(bytes, |path| {
        let Ok(labels) = Labels::read(path) else { return };
        let wins: usize = labels.wins().values().sum();
        assert_eq!(wins, labels.mixes.len());
    });
}

/// A black-box model: it predicts finite numbers.
pub(crate) fn black_box(bytes: &[u8]) {
    with_file(bytes, |path| {
        let Ok(model) = BlackBoxModel::read(path) else { return };
        let _ = model.predict(&Characteristics::default());
        let again: serde_json::Value =
            serde_json::from_str(&model.to_json()).expect("a model is JSON");
        assert!(again.is_object());
    });
}

/// Measured points, a line for each.
pub(crate) fn results(bytes: &[u8]) {
    with_file(bytes, |path| {
        let Ok(results) = Results::<Point>::read(path) else { return };
        assert!(results.rows.iter().all(|row| row.performance.latency_ns > 0.0));
        assert!(!results.digest().is_empty());
    });
}

/// What fio writes with `--output-format=json`: every job that is taken moved something.
pub(crate) fn fio_json(bytes: &[u8]) {
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    let files = [("fuzz.json".to_owned(), text.to_owned())];
    let Ok((_, points)) = fio::import("drive".to_owned(), &files) else { return };
    assert!(!points.is_empty());
    assert!(points.iter().all(|(_, measured)| measured.latency_ns > 0.0 && measured.iops > 0.0));
}

/// Points of real drives, in any of their formats: what was measured is positive.
pub(crate) fn points(bytes: &[u8]) {
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    let Ok(points) = ssdtune_calibrate::parse(Path::new("fuzz"), "fuzz", text) else { return };
    assert!(!points.is_empty());
    for point in points {
        assert!(point.block_bytes.is_multiple_of(512) && point.block_bytes > 0, "{point}");
        assert!(point.outstanding() != Some(0) && point.numjobs > 0, "{point}");
        assert!((0.0..=100.0).contains(&point.read_percent), "{point}");
        let Figures { iops, bandwidth, mean, p50, p99, p999 } = point.figures;
        let rates = [iops.map(|rate| rate.0), bandwidth.map(|rate| rate.0)];
        let latencies = [mean, p50, p99, p999].map(|latency| latency.map(|latency| latency.0));
        let all = rates.into_iter().chain(latencies).flatten();
        all.for_each(|figure| assert!(figure.is_finite() && figure > 0.0, "{point}: {figure}"));
    }
}

/// A model of firmware time.
pub(crate) fn firmware_model(bytes: &[u8]) {
    with_file(bytes, |path| {
        let Ok(model) = FirmwareModel::read(path) else { return };
        let _ = model.of_counts(&WorkCounts::default());
    });
}

/// A profile of firmware: its groups have different names.
pub(crate) fn profile(bytes: &[u8]) {
    with_file(bytes, |path| {
        let Ok(profile) = Profile::read(path) else { return };
        let names: std::collections::BTreeSet<&str> =
            profile.rows.iter().map(|row| row.id.as_str()).collect();
        assert_eq!(names.len(), profile.rows.len());
    });
}
