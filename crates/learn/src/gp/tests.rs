//! Gaussian processes against closed forms, finite differences and brute force.

use super::likelihood::Likelihood;
use super::*;
use crate::{DataError, random};
use ndarray::{Array1, Array2, array, s};
use proptest::prelude::*;
use rand::RngExt;

fn hyper(length_scales: Vec<f64>) -> Hyperparameters {
    Hyperparameters {
        rbf_variance: 1.3,
        rq_variance: 0.7,
        rq_alpha: 0.8,
        rq_ratio: 1.7,
        noise_variance: 0.05,
        length_scales,
        mean: 0.4,
    }
}

/// The kernel as its formula says.
fn kernel(h: &Hyperparameters, a: &[f64], b: &[f64]) -> f64 {
    let r2: f64 = (0..a.len()).map(|d| ((a[d] - b[d]) / h.length(d)).powi(2)).sum();
    let tail = (1.0 + r2 / (2.0 * h.rq_alpha * h.rq_ratio.powi(2))).powf(-h.rq_alpha);
    h.rbf_variance * (-r2 / 2.0).exp() + h.rq_variance * tail
}

/// A smooth function of the first two columns, with noise. Other columns do not matter.
fn data(rows: usize, columns: usize, seed: u64) -> (Array2<f64>, Array1<f64>) {
    let mut rng = random::stream(seed, 7);
    let x = Array2::from_shape_fn((rows, columns), |_| rng.random_range(0.0..1.0));
    let y = x
        .rows()
        .into_iter()
        .map(|r: ndarray::ArrayView1<'_, f64>| {
            (6.0 * r[0]).sin() + r[columns.min(2) - 1].powi(2) + rng.random_range(-0.05..0.05)
        })
        .collect();
    (x, y)
}

/// Three points on a line, solved by Cramer's rule.
#[test]
fn three_points_by_hand() {
    let h = hyper(vec![0.9]);
    let points = [[0.0], [1.0], [2.5]];
    let targets = [1.0, 0.2, -0.5];
    let model = GpModel::with_hyperparameters(
        array![[0.0], [1.0], [2.5]].view(),
        array![1.0, 0.2, -0.5].view(),
        h.clone(),
    )
    .unwrap();
    let mut k = [[0.0; 3]; 3];
    for i in 0..3 {
        for j in 0..3 {
            k[i][j] =
                kernel(&h, &points[i], &points[j]) + if i == j { h.noise_variance } else { 0.0 };
        }
    }
    let det = |m: [[f64; 3]; 3]| {
        m[0][0] * (m[1][1] * m[2][2] - m[1][2] * m[2][1])
            - m[0][1] * (m[1][0] * m[2][2] - m[1][2] * m[2][0])
            + m[0][2] * (m[1][0] * m[2][1] - m[1][1] * m[2][0])
    };
    let solve = |right: [f64; 3]| -> [f64; 3] {
        std::array::from_fn(|column| {
            let mut m = k;
            (0..3).for_each(|row| m[row][column] = right[row]);
            det(m) / det(k)
        })
    };
    let rest = targets.map(|t| t - h.mean);
    let weights = solve(rest);
    let quadratic: f64 = (0..3).map(|i| rest[i] * weights[i]).sum();
    let expected = -0.5 * quadratic - 0.5 * det(k).ln() - 1.5 * (2.0 * std::f64::consts::PI).ln();
    assert!((model.log_marginal_likelihood() - expected).abs() < 1e-12);
    let asked = [0.7];
    let cross: [f64; 3] = std::array::from_fn(|i| kernel(&h, &points[i], &asked));
    let mean = h.mean + (0..3).map(|i| cross[i] * weights[i]).sum::<f64>();
    let pulled = solve(cross);
    let variance = kernel(&h, &asked, &asked) - (0..3).map(|i| cross[i] * pulled[i]).sum::<f64>();
    let predicted = model.predict(array![[0.7]].view()).unwrap();
    assert!((predicted.means[0] - mean).abs() < 1e-12);
    assert!((predicted.variances[0] - variance).abs() < 1e-12);
}

fn likelihood_at(x: &Array2<f64>, y: &Array1<f64>, logs: &[f64], mean: PriorMean) -> f64 {
    let targets = y.to_vec();
    let mut likelihood = Likelihood::new(x.view(), &targets, mean);
    likelihood.solve(&Hyperparameters::from_logs(logs, 1.0, 0.0), 0.0).unwrap();
    likelihood.take_solved().unwrap().likelihood
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(ProptestConfig::default().cases / 10))]

    /// The gradient against finite differences, for both kinds of length scales and of means.
    #[test]
    fn the_gradient_is_the_finite_difference(
        seed: u64,
        shift in prop::collection::vec(-0.7f64..0.7, 9),
        ard: bool,
        trained: bool,
    ) {
        let (x, y) = data(23, 4, seed);
        let mean = if trained { PriorMean::Trained } else { PriorMean::Fixed(0.3) };
        let base = [0.0, -0.3, 0.2, 0.4, -2.0, -0.5, -0.2, 0.1, 0.4];
        let length = if ard { 9 } else { 6 };
        let logs: Vec<f64> = (0..length).map(|i| base[i] + shift[i]).collect();
        let targets = y.to_vec();
        let mut likelihood = Likelihood::new(x.view(), &targets, mean);
        likelihood.solve(&Hyperparameters::from_logs(&logs, 1.0, 0.0), 0.0).unwrap();
        let mut gradient = vec![0.0; length];
        likelihood.gradient(&mut gradient);
        for i in 0..length {
            // Richardson's extrapolation of two central differences: the error is of order step⁴.
            let difference = |step: f64| {
                let moved = |by: f64| {
                    let mut logs = logs.clone();
                    logs[i] += by;
                    likelihood_at(&x, &y, &logs, mean)
                };
                (moved(step) - moved(-step)) / (2.0 * step)
            };
            let numeric = (4.0 * difference(5e-4) - difference(1e-3)) / 3.0;
            let scale = gradient[i].abs().max(1.0);
            let ours = gradient[i];
            prop_assert!((ours - numeric).abs() < 1e-6 * scale, "{i}: {ours} {numeric}");
        }
    }

    /// A model that grew row by row equals one conditioned on all rows.
    #[test]
    fn added_observations_are_as_fitted(seed: u64, first in 2usize..20) {
        let (x, y) = data(26, 3, seed);
        let h = hyper(vec![0.3, 0.5, 2.0]);
        let head = (x.slice(s![..first, ..]), y.slice(s![..first]));
        let mut grown = GpModel::with_hyperparameters(head.0, head.1, h.clone()).unwrap();
        for row in first..26 {
            grown.add(&x.row(row).to_vec(), y[row]).unwrap();
        }
        let whole = GpModel::with_hyperparameters(x.view(), y.view(), h).unwrap();
        let (asked, _) = data(9, 3, seed ^ 1);
        let (a, b) = (grown.predict(asked.view()).unwrap(), whole.predict(asked.view()).unwrap());
        prop_assert!((a.means - b.means).iter().all(|gap| gap.abs() < 1e-9));
        prop_assert!((a.variances - b.variances).iter().all(|gap| gap.abs() < 1e-9));
        let gap = grown.log_marginal_likelihood() - whole.log_marginal_likelihood();
        prop_assert!(gap.abs() < 1e-8);
    }

    /// The closed form against models conditioned on all observations but one.
    #[test]
    fn leave_one_out_is_what_it_says(seed: u64) {
        let (x, y) = data(12, 2, seed);
        let h = hyper(vec![0.4]);
        let whole = GpModel::with_hyperparameters(x.view(), y.view(), h.clone()).unwrap();
        let all = whole.leave_one_out();
        for out in 0..12 {
            let rest: Vec<usize> = (0..12).filter(|&row| row != out).collect();
            let rows = x.select(ndarray::Axis(0), &rest);
            let targets = y.select(ndarray::Axis(0), &rest);
            let (rows, targets) = (rows.view(), targets.view());
            let model = GpModel::with_hyperparameters(rows, targets, h.clone()).unwrap();
            let one = model.predict(x.slice(s![out..=out, ..])).unwrap();
            prop_assert!((all.means[out] - one.means[0]).abs() < 1e-9);
            prop_assert!((all.variances[out] - one.variances[0] - h.noise_variance).abs() < 1e-9);
            prop_assert!((all.errors[out] - (y[out] - one.means[0])).abs() < 1e-9);
        }
    }
}

#[test]
fn training_finds_what_matters() {
    let (x, y) = data(80, 4, 3);
    let model = GpParams::new(LengthScales::Ard).fit(x.view(), y.view()).unwrap();
    let lengths = &model.hyperparameters().length_scales;
    assert!(lengths[0] < lengths[2] && lengths[0] < lengths[3], "{lengths:?}");
    let (asked, truth) = data(200, 4, 4);
    let predicted = model.predict(asked.view()).unwrap();
    let error = (&predicted.means - &truth).mapv(|e| e * e).mean().unwrap().sqrt();
    // The noise has a deviation of 0.029.
    assert!(error < 0.06, "{error}");
    let inside =
        predicted.means.iter().zip(&predicted.variances).zip(&truth).filter(|((m, v), t)| {
            (*t - *m).abs() < 2.0 * (*v + model.hyperparameters().noise_variance).sqrt()
        });
    let covered = inside.count();
    assert!((170..=200).contains(&covered), "{covered} of 200 within two deviations");
}

#[test]
fn more_starts_are_never_worse_and_threads_do_not_matter() {
    let (x, y) = data(40, 3, 5);
    let fit = |starts| {
        GpParams::new(LengthScales::Isotropic).starts(starts).fit(x.view(), y.view()).unwrap()
    };
    assert!(fit(6).log_marginal_likelihood() >= fit(1).log_marginal_likelihood() - 1e-9);
    let single = rayon::ThreadPoolBuilder::new().num_threads(1).build().unwrap();
    let alone = single.install(|| fit(4));
    assert_eq!(alone.hyperparameters(), fit(4).hyperparameters());
}

#[test]
fn a_warm_start_goes_on_from_where_it_was() {
    let (x, y) = data(50, 3, 6);
    let cold = GpParams::new(LengthScales::Isotropic).fit(x.view(), y.view()).unwrap();
    let warm = GpParams::new(LengthScales::Isotropic)
        .starts(1)
        .warm_start(cold.hyperparameters().clone())
        .fit(x.view(), y.view())
        .unwrap();
    assert!(warm.evaluations() * 4 < cold.evaluations());
    assert!((warm.log_marginal_likelihood() - cold.log_marginal_likelihood()).abs() < 1e-3);
}

#[test]
fn units_of_the_targets_do_not_matter() {
    let (x, y) = data(40, 2, 8);
    let fit = |y: &Array1<f64>| {
        GpParams::new(LengthScales::Isotropic).starts(2).fit(x.view(), y.view()).unwrap()
    };
    let (plain, large) = (fit(&y), fit(&y.mapv(|v| 1e6 * v - 3e6)));
    let (a, b) = (plain.predict(x.view()).unwrap(), large.predict(x.view()).unwrap());
    assert!(a.means.iter().zip(&b.means).all(|(a, b)| ((b + 3e6) / 1e6 - a).abs() < 1e-4));
}

#[test]
fn repeated_rows_without_noise_get_jitter() {
    let x = array![[0.0], [0.5], [0.5], [1.0], [1.0]];
    let y = array![0.0, 0.5, 0.5, 1.0, 1.0];
    let mut h = hyper(vec![0.5]);
    h.noise_variance = 1e-30;
    let mut model = GpModel::with_hyperparameters(x.view(), y.view(), h).unwrap();
    assert!(model.jitter() > 0.0 && model.jitter() < 1e-5);
    assert!((model.predict(array![[0.5]].view()).unwrap().means[0] - 0.5).abs() < 1e-3);
    model.add(&[0.5], 0.5).unwrap();
    assert_eq!(model.len(), 6);
}

#[test]
fn targets_and_columns_that_do_not_vary_still_train() {
    let x = array![[0.0, 3.0], [0.5, 3.0], [1.0, 3.0]];
    for scales in [LengthScales::Isotropic, LengthScales::Ard] {
        let model = GpParams::new(scales).fit(x.view(), array![2.0, 2.0, 2.0].view()).unwrap();
        assert!((model.predict(array![[0.3, 3.0]].view()).unwrap().means[0] - 2.0).abs() < 1e-6);
    }
}

#[test]
fn bad_parameters_and_data_are_refused() {
    let (x, y) = data(5, 2, 1);
    let params = || GpParams::new(LengthScales::Isotropic);
    assert_eq!(params().starts(0).fit(x.view(), y.view()).unwrap_err(), GpError::Zero("starts"));
    let fixed = params().mean(PriorMean::Fixed(f64::NAN)).fit(x.view(), y.view());
    assert!(matches!(fixed, Err(GpError::Parameter { name: "mean", .. })));
    let one = params().fit(x.slice(s![..1, ..]), y.slice(s![..1]));
    assert!(matches!(one, Err(GpError::Data(DataError::TooFewRows { needed: 2, .. }))));
    let wrong = GpModel::with_hyperparameters(x.view(), y.view(), hyper(vec![1.0; 3])).unwrap_err();
    assert_eq!(wrong, GpError::LengthScales { found: 3, columns: 2 });
    let mut negative = hyper(vec![1.0]);
    negative.rq_alpha = -1.0;
    let error = GpModel::with_hyperparameters(x.view(), y.view(), negative).unwrap_err();
    assert!(error.to_string().starts_with("rq_alpha is -1"), "{error}");
    let mut model = GpModel::with_hyperparameters(x.view(), y.view(), hyper(vec![1.0])).unwrap();
    assert!(model.add(&[0.0], 0.0).is_err() && model.add(&[0.0, 0.0], f64::NAN).is_err());
}

#[test]
fn a_model_survives_its_file_and_a_damaged_one_does_not() {
    let (x, y) = data(20, 3, 2);
    let model = GpModel::with_hyperparameters(x.view(), y.view(), hyper(vec![0.5])).unwrap();
    let text = serde_json::to_string(&model).unwrap();
    let read: GpModel = serde_json::from_str(&text).unwrap();
    assert_eq!(read.predict(x.view()).unwrap(), model.predict(x.view()).unwrap());
    for (from, to) in
        [("\"columns\":3", "\"columns\":4"), ("\"rq_alpha\":0.8", "\"rq_alpha\":-0.8")]
    {
        assert!(serde_json::from_str::<GpModel>(&text.replace(from, to)).is_err());
    }
}

/// Both forms predict the same values, also after storing, and with blocks that are not full.
#[test]
fn an_expectation_is_the_models_mean() {
    for rows in [3, 64, 150] {
        let (x, y) = data(rows, 5, 11);
        let lengths = vec![0.4, 0.9, 3.0, 1.0, 0.7];
        let model = GpModel::with_hyperparameters(x.view(), y.view(), hyper(lengths)).unwrap();
        let short = model.expectation();
        let (asked, _) = data(40, 5, 12);
        let means = model.predict(asked.view()).unwrap().means;
        let text = serde_json::to_string(&short).unwrap();
        let read: GpMean = serde_json::from_str(&text).unwrap();
        assert_eq!(read, short);
        for (row, mean) in asked.rows().into_iter().zip(means) {
            let found = short.predict_one(row.as_slice().unwrap()).unwrap();
            assert!((found - mean).abs() < 1e-9, "{rows} rows: {found} instead of {mean}");
        }
        assert!(short.predict_one(&[0.0; 4]).is_err());
        assert!(
            serde_json::from_str::<GpMean>(&text.replacen("\"columns\":5", "\"columns\":0", 1))
                .is_err()
        );
        assert!(
            serde_json::from_str::<GpMean>(&text.replacen("\"columns\":5", "\"columns\":4", 1))
                .is_err()
        );
    }
}
