//! Tests of fits.

use super::super::results::ResultsSource;
use super::super::simulated_drive::Performance;
use super::*;
use ssdtune_model::DeviceConfig;
use std::collections::BTreeMap;

/// Latency follows the depth and IOPS follow the size, so their trees differ in their leaves.
#[test]
fn intervals_are_those_of_the_leaves_of_each_targets_own_tree() {
    let mut rows = Vec::new();
    for depth in 1..=16 {
        for kib in [4, 8, 16, 32, 64, 128, 256, 512] {
            for random in [0, 50, 100] {
                let name = format!("w0-q{depth}-R{kib}k.r{random}");
                let point: Point = name.parse().unwrap();
                let wobble = 1.0 + 0.01 * f64::from((depth * 7 + kib * 3 + random) % 11);
                let performance = Performance {
                    latency_ns: 1e5 * f64::from(depth) * wobble,
                    iops: 4e6 / f64::from(kib) * wobble,
                    bandwidth_bps: 1e9 * wobble,
                    offered_iops: None,
                    requests: 1_000,
                };
                rows.push(PointResult { key: name, point, performance });
            }
        }
    }
    let (config, settings) = (DeviceConfig::default(), MeasureSettings::default());
    let source = ResultsSource::simulated(&config, "test".into(), settings, &[]);
    let results = Results { source, rows };
    let (program, command) = ("test".to_owned(), String::new());
    let options = FitOptions { train: 300, seed: 1, folds: 3, program, command };
    let (model, _) = fit(&results, &options).unwrap();
    let (train, _) = divide(results.rows.len(), &options).unwrap();
    let train = Measured::of(train.iter().map(|&row| &results.rows[row]));
    let mut all = Vec::new();
    for both in &model.targets {
        let mut counts: BTreeMap<usize, usize> = BTreeMap::new();
        for leaf in leaves(&both.tree.regressor, &train.workloads).unwrap() {
            *counts.entry(leaf).or_default() += 1;
        }
        let wanted: Vec<usize> = counts.into_keys().collect();
        for banded in [&both.tree, &both.strong] {
            assert_eq!(banded.leaves.keys().copied().collect::<Vec<_>>(), wanted);
        }
        all.push(wanted);
    }
    assert_ne!(all[0], all[1], "the trees must differ for this to say anything");
}
