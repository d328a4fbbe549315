//! Networks: evaluation by hand, storing, wrong input, and training where libtorch is there.

use super::model::Layer;
use super::*;
use crate::DataError;
use ndarray::array;
use rand::RngExt;

/// Two inputs, two logistic units, two classes, by hand.
fn small(output: Output) -> MlpModel {
    let first = Layer { inputs: 2, weights: vec![1.0, -1.0, 2.0, 0.5], bias: vec![0.0, 0.25] };
    let second = Layer { inputs: 2, weights: vec![1.0, 0.0, -1.0, 3.0], bias: vec![0.5, -0.5] };
    MlpModel::new(Activation::Logistic, output, vec![first, second])
}

#[test]
fn a_small_network_by_hand() {
    let logistic = |x: f64| 1.0 / (1.0 + (-x).exp());
    let (a, b) = (logistic(0.3 + 2.0 * 0.8), logistic(-0.3 + 0.5 * 0.8 + 0.25));
    let (c, d) = (a - b + 0.5, 3.0 * b - 0.5);
    let mut buffer = Buffer::default();
    let linear = small(Output::Linear);
    let out = linear.predict_one(&[0.3, 0.8], &mut buffer).unwrap();
    assert!((out[0] - c).abs() < 1e-15 && (out[1] - d).abs() < 1e-15);
    let classes = small(Output::Softmax).predict(array![[0.3, 0.8]].view()).unwrap();
    assert!((classes[[0, 0]] - c.exp() / (c.exp() + d.exp())).abs() < 1e-15);
    assert_eq!(linear.classify_one(&[0.3, 0.8], &mut buffer).unwrap(), usize::from(d > c));
    assert_eq!((linear.inputs(), linear.outputs(), linear.parameters()), (2, 2, 12));
}

#[test]
fn great_numbers_saturate() {
    let model = small(Output::Softmax);
    for far in [1e6, -1e6, 1e300, -1e300] {
        let mut buffer = Buffer::default();
        let out = model.predict_one(&[far, -far], &mut buffer).unwrap();
        assert!(out.iter().all(|p| (0.0..=1.0).contains(p)), "{far}: {out:?}");
        assert!((out.iter().sum::<f64>() - 1.0).abs() < 1e-12);
    }
}

#[test]
fn layers_of_any_width_add_up_in_the_order_of_their_inputs() {
    let (mut rng, mut buffer) = (crate::random::stream(8, 0), Buffer::default());
    for (inputs, outputs) in (1..=70).flat_map(|outputs| [(1, outputs), (9, outputs)]) {
        let mut draw = |count: usize| -> Vec<f64> {
            (0..count).map(|_| rng.random_range(-1.0..1.0)).collect()
        };
        let (weights, bias, row) = (draw(inputs * outputs), draw(outputs), draw(inputs));
        let one_by_one = |output: usize| {
            let products = row.iter().enumerate().map(|(n, v)| v * weights[n * outputs + output]);
            products.fold(bias[output], |sum, product| sum + product)
        };
        let expected: Vec<f64> = (0..outputs).map(one_by_one).collect();
        let layer = Layer { inputs, weights: weights.clone(), bias: bias.clone() };
        let model = MlpModel::new(Activation::Relu, Output::Linear, vec![layer]);
        assert_eq!(model.predict_one(&row, &mut buffer).unwrap(), expected, "{inputs} x {outputs}");
    }
}

#[test]
fn a_model_survives_its_file_and_a_damaged_one_does_not() {
    let model = small(Output::Softmax);
    let text = serde_json::to_string(&model).unwrap();
    assert_eq!(serde_json::from_str::<MlpModel>(&text).unwrap(), model);
    for (from, to) in
        [("\"inputs\":2", "\"inputs\":3"), ("\"version\":1", "\"version\":2"), ("0.25", "1e999")]
    {
        let damaged = text.replacen(from, to, 1);
        assert_ne!(damaged, text);
        assert!(serde_json::from_str::<MlpModel>(&damaged).is_err(), "{to}");
    }
}

#[test]
fn bad_parameters_and_data_are_refused() {
    let x = array![[0.0], [1.0]];
    let classes = |labels| Targets::Classes { classes: 2, labels };
    let fit = |params: MlpParams, labels| params.fit(x.view(), classes(labels)).unwrap_err();
    let params = || MlpParams::new([4]);
    assert_eq!(fit(MlpParams::new([4, 0]), &[0, 1]), MlpError::Zero("a hidden layer"));
    assert_eq!(fit(params().epochs(0), &[0, 1]), MlpError::Zero("epochs"));
    let optimiser = Optimiser::Sgd { learning_rate: 0.1, momentum: 1.0 };
    let error = fit(params().optimiser(optimiser), &[0, 1]);
    assert!(matches!(error, MlpError::Parameter { name: "momentum", .. }));
    assert_eq!(fit(params(), &[0]), MlpError::TargetCount { rows: 2, targets: 1 });
    assert_eq!(fit(params(), &[0, 2]), MlpError::Class { row: 1, class: 2, classes: 2 });
    let values = array![[0.0], [f64::NAN]];
    let error = params().fit(x.view(), Targets::Values(values.view())).unwrap_err();
    assert!(matches!(error, MlpError::Data(DataError::TargetNotFinite { row: 1, .. })));
}

#[cfg(not(feature = "torch"))]
#[test]
fn without_libtorch_the_error_says_what_to_do() {
    let targets = Targets::Classes { classes: 2, labels: &[0, 1] };
    let error = MlpParams::new([4]).fit(array![[0.0], [1.0]].view(), targets).unwrap_err();
    let text = error.to_string();
    assert!(
        text.contains("scripts/setup-libtorch.sh") && text.contains("--features torch"),
        "{text}"
    );
}

#[cfg(feature = "torch")]
mod torch {
    use super::super::*;
    use crate::{metrics, random, selection};
    use ndarray::{Array1, Array2, Axis, array};
    use rand::RngExt;

    #[test]
    fn exclusive_or_is_learned() {
        let x = array![[0.0, 0.0], [0.0, 1.0], [1.0, 0.0], [1.0, 1.0]];
        let targets = Targets::Classes { classes: 2, labels: &[0, 1, 1, 0] };
        for (activation, seed) in [(Activation::Logistic, 1), (Activation::Relu, 2)] {
            let params = MlpParams::new([8]).activation(activation).epochs(400).seed(seed);
            let training = params.fit(x.view(), targets).unwrap();
            assert_eq!(
                training.model.classify(x.view()).unwrap(),
                array![0, 1, 1, 0],
                "{activation:?}"
            );
            assert!(training.curves.train_loss[399] < 0.05);
        }
    }

    /// Ten overlapping groups in 9 dimensions.
    fn groups(rows: usize, seed: u64) -> (Array2<f64>, Vec<usize>) {
        let mut centres = random::stream(99, 0);
        let centres = Array2::from_shape_fn((10, 9), |_| centres.random_range(0.0..4.0));
        let mut rng = random::stream(seed, 1);
        let labels: Vec<usize> = (0..rows).map(|_| rng.random_range(0..10)).collect();
        let x = Array2::from_shape_fn((rows, 9), |(row, column)| {
            let noise: f64 = (0..6).map(|_| rng.random_range(-0.5..0.5f64)).sum::<f64>() * 1.4;
            centres[[labels[row], column]] + noise
        });
        (x, labels)
    }

    /// Every optimiser of SSDKeeper's table 3 lowers the loss, and the plain network scores what
    /// the curve says. How well they learn is compared in tests/sklearn.rs.
    #[test]
    fn curves_are_of_the_network_that_is_kept() {
        let (x, labels) = groups(600, 1);
        for optimiser in [
            Optimiser::Sgd { learning_rate: 0.2, momentum: 0.0 },
            Optimiser::Sgd { learning_rate: 0.1, momentum: 0.9 },
            Optimiser::Adam { learning_rate: 0.02 },
        ] {
            let params = MlpParams::new([32]).optimiser(optimiser).epochs(30).seed(3);
            let training =
                params.fit(x.view(), Targets::Classes { classes: 10, labels: &labels }).unwrap();
            let found = training.model.classify(x.view()).unwrap().to_vec();
            let last = training.curves.train_accuracy[29];
            assert!((metrics::accuracy(&labels, &found).unwrap() - last).abs() < 1e-12);
            assert!(training.curves.train_loss[29] < training.curves.train_loss[0]);
        }
    }

    #[test]
    fn one_seed_gives_one_network_on_any_thread() {
        let (x, labels) = groups(200, 4);
        let fit = |seed| {
            let targets = Targets::Classes { classes: 10, labels: &labels };
            MlpParams::new([16]).epochs(5).seed(seed).fit(x.view(), targets).unwrap().model
        };
        let alone = fit(7);
        let (a, b) = rayon::join(|| fit(7), || fit(7));
        assert!(a == alone && b == alone);
        assert_ne!(fit(8), alone);
    }

    #[test]
    fn values_of_any_size_are_learned() {
        let mut rng = random::stream(5, 0);
        let x = Array2::from_shape_fn((400, 2), |_| rng.random_range(0.0..1000.0));
        let value = |r: ndarray::ArrayView1<'_, f64>| 1e6 + 50.0 * r[0] * f64::sin(r[1] / 300.0);
        let y: Array1<f64> = x.rows().into_iter().map(value).collect();
        let targets = y.clone().insert_axis(Axis(1));
        let params = MlpParams::new([32, 32]).activation(Activation::Relu);
        let params = params.optimiser(Optimiser::Adam { learning_rate: 0.005 }).epochs(150);
        let training = params.fit(x.view(), Targets::Values(targets.view())).unwrap();
        let predicted = training.model.predict(x.view()).unwrap().column(0).to_vec();
        assert!(metrics::r2(&y.to_vec(), &predicted).unwrap() > 0.99);
        assert!(training.curves.train_accuracy.is_empty());
    }

    #[test]
    fn early_stopping_keeps_the_best() {
        let (x, labels) = groups(300, 6);
        let stopping = EarlyStopping { fraction: 0.3, patience: 5 };
        let params = MlpParams::new([64]).epochs(500).early_stopping(stopping);
        let training =
            params.fit(x.view(), Targets::Classes { classes: 10, labels: &labels }).unwrap();
        let losses = &training.curves.held_back_loss;
        assert!(losses.len() < 500);
        assert_eq!(losses.len() - 1 - training.epoch, 5);
        assert!(losses.iter().all(|&loss| loss >= losses[training.epoch]));
    }

    #[test]
    fn a_rate_too_great_is_an_error() {
        let x = Array2::from_shape_fn((50, 2), |(i, j)| ((i * (j + 3)) % 17) as f64);
        let y = x.clone();
        let params = MlpParams::new([16, 16]).activation(Activation::Relu);
        let params = params.optimiser(Optimiser::Sgd { learning_rate: 1e6, momentum: 0.9 });
        let error = params.fit(x.view(), Targets::Values(y.view())).unwrap_err();
        assert!(matches!(error, MlpError::Diverged { .. }), "{error}");
    }

    #[test]
    fn a_grid_is_searched_in_parallel() {
        let (x, labels) = groups(400, 8);
        let candidates: Vec<MlpParams> = [0.0005, 0.02]
            .into_iter()
            .flat_map(|rate| [[4usize], [32]].map(|hidden| (rate, hidden)))
            .map(|(learning_rate, hidden)| {
                MlpParams::new(hidden).optimiser(Optimiser::Adam { learning_rate }).epochs(8)
            })
            .collect();
        let splits = selection::k_fold(400, 3, 1).unwrap();
        let result = selection::grid_search(&candidates, &splits, |params, split| {
            let of = |rows: &[usize]| -> (Array2<f64>, Vec<usize>) {
                (x.select(Axis(0), rows), rows.iter().map(|&row| labels[row]).collect())
            };
            let ((x, labels), (asked, truth)) = (of(&split.train), of(&split.test));
            let training =
                params.fit(x.view(), Targets::Classes { classes: 10, labels: &labels })?;
            let found = training.model.classify(asked.view())?.to_vec();
            Ok::<f64, MlpError>(1.0 - metrics::accuracy(&truth, &found).unwrap())
        })
        .unwrap();
        assert_eq!(result.best, 3, "{:?}", result.scored);
    }
}
