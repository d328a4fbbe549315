//! Trees against exact cases and brute force; pruning, smoothing, storing, wrong input.

use super::*;
use crate::DataError;
use crate::metrics;
use crate::random;
use ndarray::{Array1, Array2, array};
use proptest::prelude::*;
use rand::RngExt;

fn uniform(rows: usize, columns: usize, seed: u64) -> Array2<f64> {
    let mut rng = random::stream(seed, 3);
    Array2::from_shape_fn((rows, columns), |_| rng.random_range(0.0..1.0))
}

fn targets(x: &Array2<f64>, f: impl Fn(&[f64]) -> f64) -> Array1<f64> {
    x.rows().into_iter().map(|row| f(&row.to_vec())).collect()
}

/// Two planes that meet at x0 = 0.5: one split, two exact leaves.
#[test]
fn two_planes_are_found_exactly() {
    let x = uniform(400, 3, 1);
    let y = targets(&x, |r| if r[0] <= 0.5 { 1.0 + 2.0 * r[1] } else { 9.0 - 4.0 * r[2] });
    let model = TreeParams::new(Leaves::Linear).thresholds(400).fit(x.view(), y.view()).unwrap();
    assert_eq!((model.leaves(), model.depth()), (2, 1));
    let predicted = model.predict(x.view()).unwrap();
    assert!(metrics::rmse(&y.to_vec(), &predicted.to_vec()).unwrap() < 1e-6);
    let text = model.describe(&["a", "b", "c"], "y").unwrap();
    let lines: Vec<&str> = text.lines().collect();
    assert!(lines[0].starts_with("a <= 0.") && lines[0].ends_with("[400 rows]"), "{text}");
    assert!(lines[1].contains("y = 1 ") && lines[1].contains("+ 2 b"), "{text}");
    assert!(lines[3].contains("y = 9 ") && lines[3].contains("- 4 c"), "{text}");
}

/// By brute force: no threshold of any column leaves less error than the root's.
#[test]
fn the_first_split_is_the_best_of_all() {
    let x = uniform(60, 3, 2);
    let y = targets(&x, |r| (7.0 * r[0]).sin() + r[1]);
    let params = TreeParams::new(Leaves::Constant).prune(Prune::No).max_depth(1).min_leaf(5);
    let model = params.thresholds(1000).fit(x.view(), y.view()).unwrap();
    let error = |rows: &[usize]| {
        let mean = rows.iter().map(|&r| y[r]).sum::<f64>() / rows.len() as f64;
        rows.iter().map(|&r| (y[r] - mean).powi(2)).sum::<f64>()
    };
    let mut least = f64::INFINITY;
    for column in 0..3 {
        for cut in 0..60 {
            let (low, high): (Vec<usize>, Vec<usize>) =
                (0..60).partition(|&row| x[[row, column]] <= x[[cut, column]]);
            if low.len() >= 5 && high.len() >= 5 {
                least = least.min(error(&low) + error(&high));
            }
        }
    }
    let predicted = model.predict(x.view()).unwrap();
    let ours = (&y - &predicted).mapv(|e| e * e).sum();
    assert!((ours - least).abs() < 1e-9, "{ours} {least}");
}

/// The prediction equals the value at the end of the path that explains it.
#[test]
fn predictions_are_those_of_the_path() {
    let x = uniform(500, 7, 11);
    let y = targets(&x, |r| (9.0 * r[0]).sin() * r[1] + r[6]);
    for leaves in [Leaves::Constant, Leaves::Linear] {
        let model = TreeParams::new(leaves).fit(x.view(), y.view()).unwrap();
        assert!(model.leaves() > 3);
        for row in uniform(200, 7, 12).rows() {
            let row = row.to_vec();
            assert_eq!(model.predict_one(&row).unwrap(), model.path(&row).unwrap().value);
        }
    }
}

/// Smoothing by hand on four points: a leaf is the weighted mean of its own and the root's model.
#[test]
fn smoothing_averages_with_the_parent() {
    let x = array![[0.0], [1.0], [2.0], [3.0]];
    let y = array![0.0, 0.0, 8.0, 8.0];
    let params = TreeParams::new(Leaves::Constant).prune(Prune::No).min_leaf(2);
    let plain = params.clone().fit(x.view(), y.view()).unwrap();
    assert_eq!(plain.predict_one(&[3.0]).unwrap(), 8.0);
    let smooth = params.smoothing(6.0).fit(x.view(), y.view()).unwrap();
    // 2 rows at 8 and 6 rows at the root's 4 make 5, which is clamped to the leaf's range.
    assert_eq!(smooth.leaves(), 2);
    assert_eq!(smooth.predict_one(&[3.0]).unwrap(), 8.0);
    // Noise around a plane, in small leaves: the parent's model is better.
    let (x, asked) = (uniform(300, 6, 15), uniform(300, 6, 16));
    let plane = |r: &[f64]| r.iter().sum::<f64>();
    let mut rng = random::stream(15, 9);
    let y: Array1<f64> =
        targets(&x, plane).iter().map(|y| y + rng.random_range(-0.5..0.5)).collect();
    let error = |rows: f64| {
        let params = TreeParams::new(Leaves::Linear).prune(Prune::No).min_leaf(10).smoothing(rows);
        let model = params.fit(x.view(), y.view()).unwrap();
        let found = model.predict(asked.view()).unwrap().to_vec();
        metrics::rmse(&targets(&asked, plane).to_vec(), &found).unwrap()
    };
    assert!(error(15.0) < 0.8 * error(0.0), "{} {}", error(15.0), error(0.0));
    let refused = TreeParams::new(Leaves::Linear).smoothing(-1.0).fit(x.view(), y.view());
    assert_eq!(refused.unwrap_err(), TreeError::Smoothing(-1.0));
}

#[test]
fn pruning_removes_what_is_noise() {
    let x = uniform(300, 4, 4);
    let mut rng = random::stream(4, 9);
    let y: Array1<f64> = (0..300).map(|_| rng.random_range(0.0..1.0)).collect();
    let full = TreeParams::new(Leaves::Constant).prune(Prune::No).fit(x.view(), y.view()).unwrap();
    let pruned = TreeParams::new(Leaves::Constant).fit(x.view(), y.view()).unwrap();
    assert!(full.leaves() > 20);
    assert!(pruned.leaves() <= 3, "{} leaves", pruned.leaves());
}

#[test]
fn importance_finds_the_columns_that_matter() {
    let x = uniform(500, 5, 5);
    let y = targets(&x, |r| 10.0 * r[1] + if r[3] > 0.5 { 5.0 } else { 0.0 });
    for leaves in [Leaves::Constant, Leaves::Linear] {
        let model = TreeParams::new(leaves).fit(x.view(), y.view()).unwrap();
        let shares = model.importance();
        assert!((shares.iter().sum::<f64>() - 1.0).abs() < 1e-12);
        assert!(shares[1] > shares[3] && shares[3] > 0.1, "{leaves:?}: {shares:?}");
        assert!(shares[0] + shares[2] + shares[4] < 0.05, "{leaves:?}: {shares:?}");
    }
}

#[test]
fn relative_weights_lower_the_relative_error() {
    let x = uniform(600, 2, 6);
    let y = targets(&x, |r| (8.0 * r[0]).exp() * (1.0 + r[1]));
    let fit = |weighting| {
        let params = TreeParams::new(Leaves::Linear).weighting(weighting);
        let predicted = params.fit(x.view(), y.view()).unwrap().predict(x.view()).unwrap();
        metrics::mre(&y.to_vec(), &predicted.to_vec()).unwrap()
    };
    assert!(fit(Weighting::Relative) < 0.5 * fit(Weighting::Uniform));
}

#[test]
fn predictions_stay_near_what_was_seen() {
    let x = uniform(100, 1, 7);
    let y = targets(&x, |r| 100.0 * r[0]);
    let model = TreeParams::new(Leaves::Linear).fit(x.view(), y.view()).unwrap();
    assert!(model.predict_one(&[50.0]).unwrap() <= 111.0);
}

#[test]
fn bad_parameters_and_data_are_refused() {
    let (x, y) = (array![[1.0], [2.0]], array![0.0, 1.0]);
    let params = || TreeParams::new(Leaves::Constant);
    let fit = |params: TreeParams| params.fit(x.view(), y.view()).unwrap_err();
    assert_eq!(fit(params().max_depth(0)), TreeError::Zero("max_depth"));
    assert_eq!(fit(params().min_leaf(0)), TreeError::Zero("min_leaf"));
    assert_eq!(fit(params().weighting(Weighting::Relative)), TreeError::ZeroTarget { row: 0 });
    let folds = Prune::CrossValidated { folds: 1, standard_errors: 0.0 };
    assert_eq!(fit(params().prune(folds)), TreeError::Folds(1));
    let short = params().fit(x.view(), array![1.0].view()).unwrap_err();
    assert_eq!(short, TreeError::Data(DataError::TargetCount { rows: 2, targets: 1 }));
    assert!(params().fit(x.view(), y.view()).unwrap().predict_one(&[1.0, 2.0]).is_err());
}

#[test]
fn a_damaged_file_is_refused() {
    let x = uniform(100, 2, 8);
    let y = targets(&x, |r| if r[0] > 0.5 { 1.0 } else { 0.0 });
    let model = TreeParams::new(Leaves::Constant).thresholds(100).fit(x.view(), y.view()).unwrap();
    let text = serde_json::to_string(&model).unwrap();
    assert_eq!(serde_json::from_str::<TreeModel>(&text).unwrap(), model);
    for (from, to) in [
        ("\"below\":1", "\"below\":0"),
        ("\"above\":2", "\"above\":9"),
        ("\"column\":0", "\"column\":7"),
    ] {
        let damaged = text.replace(from, to);
        assert_ne!(damaged, text);
        assert!(serde_json::from_str::<TreeModel>(&damaged).is_err(), "{to}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(ProptestConfig::default().cases / 8))]

    /// A tree can be grown on any data, its predictions stay in range, and one seed gives one tree.
    #[test]
    fn any_data_trains(
        cells in prop::collection::vec(prop::sample::select(vec![0.0, 1.0, 2.5, 1e9, -3.0]), 80),
        values in prop::collection::vec(-5.0f64..5.0, 20),
        linear: bool,
    ) {
        let x = Array2::from_shape_vec((20, 4), cells).unwrap();
        let y = Array1::from(values.clone());
        let leaves = if linear { Leaves::Linear } else { Leaves::Constant };
        let params = TreeParams::new(leaves).min_leaf(2);
        let model = params.fit(x.view(), y.view()).unwrap();
        prop_assert_eq!(&params.fit(x.view(), y.view()).unwrap(), &model);
        let range = 0.1 * 10.0;
        for value in model.predict(x.view()).unwrap() {
            prop_assert!((-5.0 - range..=5.0 + range).contains(&value));
        }
    }
}
