//! The learners against answers of scikit-learn, which `tests/reference/learn_sklearn.py` records.

#[path = "shared/uniform.rs"]
mod uniform;

use ndarray::{Array1, Array2, ArrayView2};
use serde::Deserialize;
use ssdtune_learn::gp::{GpModel, GpParams, Hyperparameters, LengthScales, PriorMean};
use ssdtune_learn::kmeans::KMeansParams;
use ssdtune_learn::metrics;
use ssdtune_learn::pca::PcaParams;
use ssdtune_learn::ridge::RidgeParams;
use ssdtune_learn::tree::{BagParams, Leaves, TreeParams, Weighting};
use std::f64::consts::PI;
use uniform::{Uniform, smooth};

#[derive(Deserialize)]
struct Recorded {
    gp: Vec<GpCase>,
    gp_trained: Vec<GpTrained>,
    gp_one_start: Vec<GpTrained>,
    kmeans: Vec<KMeansCase>,
    pca: Vec<PcaCase>,
    ridge: Vec<RidgeCase>,
    tree: Vec<TreeCase>,
}

#[derive(Deserialize)]
struct GpCase {
    seed: u64,
    rows: usize,
    columns: usize,
    hyper: [f64; 5],
    scales: Vec<f64>,
    mean: f64,
    likelihood: f64,
    means: Vec<f64>,
    variances_with_noise: Vec<f64>,
}

#[derive(Deserialize)]
struct GpTrained {
    seed: u64,
    rows: usize,
    columns: usize,
    likelihood: f64,
}

#[derive(Deserialize)]
struct KMeansCase {
    seed: u64,
    rows: usize,
    columns: usize,
    groups: usize,
    clusters: usize,
    inertia: f64,
}

#[derive(Deserialize)]
struct PcaCase {
    seed: u64,
    rows: usize,
    columns: usize,
    variances: Vec<f64>,
    ratios: Vec<f64>,
    components: Vec<f64>,
}

#[derive(Deserialize)]
struct RidgeCase {
    seed: u64,
    rows: usize,
    columns: usize,
    penalty: f64,
    coefficients: Vec<f64>,
    intercept: f64,
}

#[derive(Deserialize)]
struct TreeCase {
    function: u32,
    tree_mre: f64,
    forest_mre: f64,
}

fn recorded() -> Recorded {
    serde_json::from_str(include_str!("../../../tests/reference/learn_sklearn.json")).unwrap()
}

fn close(ours: f64, theirs: f64, tolerance: f64, what: &str) {
    assert!((ours - theirs).abs() <= tolerance, "{what}: {ours} here, {theirs} by scikit-learn");
}

#[test]
fn gaussian_process_likelihoods_and_predictions() {
    for case in recorded().gp {
        let mut draw = Uniform::seeded(case.seed);
        let x = draw.matrix(case.rows, case.columns);
        let asked = draw.matrix(7, case.columns);
        let y = smooth(&mut draw, &x);
        let [rbf_variance, rq_variance, rq_alpha, rq_ratio, noise_variance] = case.hyper;
        // A length scale for each column. Where all are equal, also one for all columns.
        let equal = case.scales.iter().all(|&scale| scale == case.scales[0]);
        let mut ways = vec![case.scales.clone()];
        ways.extend(equal.then(|| vec![case.scales[0]]));
        for length_scales in ways {
            let hyper = Hyperparameters {
                rbf_variance,
                rq_variance,
                rq_alpha,
                rq_ratio,
                noise_variance,
                length_scales,
                mean: case.mean,
            };
            let model = GpModel::with_hyperparameters(x.view(), y.view(), hyper).unwrap();
            assert_eq!(model.jitter(), 0.0);
            close(model.log_marginal_likelihood(), case.likelihood, 1e-6, "likelihood");
            let predicted = model.predict(asked.view()).unwrap();
            for i in 0..7 {
                close(predicted.means[i], case.means[i], 1e-6, "mean");
                let variance = predicted.variances[i] + noise_variance;
                close(variance, case.variances_with_noise[i], 1e-6, "variance");
            }
        }
    }
}

/// 4 starts reach at least the likelihood that scikit-learn reaches with 11.
#[test]
fn gaussian_process_training() {
    for case in recorded().gp_trained {
        let mut draw = Uniform::seeded(case.seed);
        let x = draw.matrix(case.rows, case.columns);
        let y = smooth(&mut draw, &x);
        let mean = y.sum() / y.len() as f64;
        let deviation = y.mapv(|v| (v - mean) * (v - mean)).mean().unwrap().sqrt();
        let y = y.mapv(|v| (v - mean) / deviation);
        let params = GpParams::new(LengthScales::Isotropic).mean(PriorMean::Fixed(0.0));
        let model = params.fit(x.view(), y.view()).unwrap();
        let (ours, theirs) = (model.log_marginal_likelihood(), case.likelihood);
        assert!(ours > theirs - 1e-3, "{ours} here, {theirs} by scikit-learn");
    }
}

/// The start of the benchmark leads to at least the likelihood to which it leads scikit-learn.
#[test]
fn gaussian_process_training_from_one_start() {
    for case in recorded().gp_one_start {
        let mut draw = Uniform::seeded(case.seed);
        let x = draw.matrix(case.rows, case.columns);
        let y = smooth(&mut draw, &x);
        let start = Hyperparameters {
            rbf_variance: 0.5,
            rq_variance: 0.5,
            rq_alpha: 1.0,
            rq_ratio: 1.0,
            noise_variance: 0.01,
            length_scales: vec![3.0],
            mean: 0.0,
        };
        let params = GpParams::new(LengthScales::Isotropic).starts(1).warm_start(start);
        let model = params.fit(x.view(), y.view()).unwrap();
        let (ours, theirs) = (model.log_marginal_likelihood(), case.likelihood);
        println!("{} rows: {ours:.4} after {}; {theirs:.4}", case.rows, model.evaluations());
        assert!(ours > theirs - 1e-3, "{ours} here, {theirs} by scikit-learn");
    }
}

fn blobs(case: &KMeansCase) -> Array2<f64> {
    let mut draw = Uniform::seeded(case.seed);
    let centres = draw.matrix(case.groups, case.columns) * 10.0;
    let mut x = Array2::zeros((case.rows, case.columns));
    for ((row, column), cell) in x.indexed_iter_mut() {
        let noise = draw.draw() + draw.draw() + draw.draw() - 1.5;
        *cell = centres[[row % case.groups, column]] + 2.0 * noise;
    }
    x
}

#[test]
fn kmeans_inertia_is_within_half_a_percent() {
    for case in recorded().kmeans {
        let model = KMeansParams::new(case.clusters).seed(1).fit(blobs(&case).view()).unwrap();
        let ratio = model.inertia() / case.inertia;
        assert!(ratio < 1.005, "seed {}: {ratio} of scikit-learn's best of 10", case.seed);
    }
}

#[test]
fn principal_components() {
    for case in recorded().pca {
        let mut draw = Uniform::seeded(case.seed);
        let directions = draw.matrix(9, case.columns) - 0.5;
        let mut weights = draw.matrix(case.rows, 9) - 0.5;
        let noise = draw.matrix(case.rows, case.columns) - 0.5;
        weights.indexed_iter_mut().for_each(|((_, j), w)| *w *= 0.6f64.powi(j as i32));
        let x = weights.dot(&directions) + noise * 0.05 + 2.0;
        let keep = case.variances.len();
        let model = PcaParams::new(keep).fit(x.view()).unwrap();
        let theirs = ArrayView2::from_shape((keep, case.columns), &case.components).unwrap();
        // How much of their directions is outside our subspace: at least the sine of the greatest
        // angle between the two.
        let inside = theirs.dot(&model.components().t());
        let outside = &theirs - &inside.dot(&model.components());
        let sine = outside.rows().into_iter().map(|r| r.dot(&r)).sum::<f64>().sqrt();
        assert!(sine < 1e-8, "subspace angle {sine:e}");
        for i in 0..keep {
            let size = case.variances[0];
            close(
                model.explained_variance()[i],
                case.variances[i],
                1e-12 * size.max(1.0),
                "variance",
            );
            close(model.explained_variance_ratio()[i], case.ratios[i], 1e-12, "ratio");
        }
    }
}

#[test]
fn ridge_coefficients() {
    for case in recorded().ridge {
        let mut draw = Uniform::seeded(case.seed);
        let x = draw.matrix(case.rows, case.columns);
        let y = smooth(&mut draw, &x);
        let model = RidgeParams::new(case.penalty).fit(x.view(), y.view()).unwrap();
        close(model.intercept(), case.intercept, 1e-10, "intercept");
        for (ours, theirs) in model.coefficients().iter().zip(&case.coefficients) {
            close(*ours, *theirs, 1e-10, "coefficient");
        }
    }
}

/// Friedman's functions, with noise of at most 5 %.
fn friedman(function: u32, seed: u64, rows: usize) -> (Array2<f64>, Array1<f64>) {
    let mut draw = Uniform::seeded(seed);
    let mut x = draw.matrix(rows, if function == 1 { 10 } else { 4 });
    if function > 1 {
        let (widths, lows) = ([100.0, 520.0 * PI, 1.0, 10.0], [1.0, 40.0 * PI, 0.0, 1.0]);
        x.indexed_iter_mut().for_each(|((_, j), cell)| *cell = *cell * widths[j] + lows[j]);
    }
    let clean = |r: ndarray::ArrayView1<'_, f64>| -> f64 {
        if function == 1 {
            let curve = 10.0 * (PI * r[0] * r[1]).sin() + 20.0 * (r[2] - 0.5).powi(2);
            return curve + 10.0 * r[3] + 5.0 * r[4] + 2.0;
        }
        let (a, b) = (r[0], r[1] * r[2] - 1.0 / (r[1] * r[3]));
        if function == 2 { a.hypot(b) } else { 1.0 + (b / a).atan() }
    };
    let y: Vec<f64> = x.rows().into_iter().map(clean).collect();
    let y = y.into_iter().map(|value| value * (0.95 + 0.1 * draw.draw())).collect();
    (x, y)
}

/// Trees of both kinds of leaves err no more than scikit-learn's pruned tree, and a bag no more
/// than its forest of 100 trees, all with their defaults.
#[test]
fn trees_err_no_more_than_the_reference() {
    for case in recorded().tree {
        let (x, y) = friedman(case.function, 100 + u64::from(case.function), 2000);
        let (asked, truth) = friedman(case.function, 200 + u64::from(case.function), 1000);
        let error =
            |predicted: Array1<f64>| metrics::mre(&truth.to_vec(), &predicted.to_vec()).unwrap();
        let fit = |params: TreeParams| {
            error(params.fit(x.view(), y.view()).unwrap().predict(asked.view()).unwrap())
        };
        let linear = fit(TreeParams::new(Leaves::Linear));
        let constant = fit(TreeParams::new(Leaves::Constant));
        let relative = TreeParams::new(Leaves::Linear).weighting(Weighting::Relative);
        let weighted = fit(relative);
        let bag = BagParams::new(30, TreeParams::new(Leaves::Linear));
        let bag = error(bag.fit(x.view(), y.view()).unwrap().predict(asked.view()).unwrap());
        let TreeCase { function, tree_mre, forest_mre } = case;
        println!(
            "friedman {function}: MRE constant {constant:.4}, linear {linear:.4}, by relative \
             error {weighted:.4}, bag {bag:.4}; scikit-learn tree {tree_mre:.4}, forest \
             {forest_mre:.4}"
        );
        assert!(linear <= tree_mre, "friedman {function}: {linear} against {tree_mre}");
        // The folds that a seed draws change a constant tree's error by 1 %, on both sides.
        assert!(constant <= 1.02 * tree_mre, "friedman {function}: {constant} against {tree_mre}");
        assert!(weighted <= tree_mre, "friedman {function}: {weighted} against {tree_mre}");
        assert!(bag <= forest_mre, "friedman {function}: {bag} against {forest_mre}");
    }
}
