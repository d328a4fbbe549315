//! Networks: evaluation by hand, storing, wrong input. Training is tested in crate ssdtune-train.

use super::model::Layer;
use super::*;
use crate::DataError;
use ndarray::array;
use rand::RngExt;

/// Two inputs, two logistic units, two classes, by hand.
fn small(output: Output) -> MlpModel {
    let first = Layer { inputs: 2, weights: vec![1.0, -1.0, 2.0, 0.5], bias: vec![0.0, 0.25] };
    let second = Layer { inputs: 2, weights: vec![1.0, 0.0, -1.0, 3.0], bias: vec![0.5, -0.5] };
    MlpModel::new(Activation::Logistic, output, vec![first, second]).unwrap()
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
        let model = MlpModel::new(Activation::Relu, Output::Linear, vec![layer]).unwrap();
        assert_eq!(model.predict_one(&row, &mut buffer).unwrap(), expected, "{inputs} x {outputs}");
    }
}

#[test]
fn rows_are_predicted_together_as_they_are_alone() {
    let (mut rng, mut buffer) = (crate::random::stream(9, 0), Buffer::default());
    let mut draw =
        |count: usize| -> Vec<f64> { (0..count).map(|_| rng.random_range(-1.0..1.0)).collect() };
    for outputs in [1, 2, 3, 7, 8, 11, 34] {
        let layers = [(5, 13), (13, outputs)].map(|(inputs, units)| Layer {
            inputs,
            weights: draw(inputs * units),
            bias: draw(units),
        });
        for output in [Output::Linear, Output::Softmax] {
            let model = MlpModel::new(Activation::Logistic, output, layers.to_vec()).unwrap();
            for rows in [1, 3, 7, 8, 9, 16, 70] {
                let all = draw(rows * 5);
                let alone: Vec<f64> = all
                    .chunks(5)
                    .flat_map(|row| model.predict_one(row, &mut buffer).unwrap().to_vec())
                    .collect();
                let at = format!("{rows} rows, {outputs} outputs, {output:?}");
                assert_eq!(model.predict_rows(&all, &mut buffer).unwrap(), alone, "{at}");
                let matrix = ndarray::Array2::from_shape_vec((rows, 5), all).unwrap();
                let found = model.predict(matrix.view()).unwrap();
                assert_eq!(found.into_raw_vec_and_offset().0, alone, "{at}");
            }
        }
        let model = MlpModel::new(Activation::Relu, Output::Linear, layers.to_vec()).unwrap();
        let mut error = |rows: &[f64]| model.predict_rows(rows, &mut buffer).unwrap_err();
        assert_eq!(error(&[0.0; 9]), DataError::ColumnCount { expected: 5, found: 4 });
        assert_eq!(error(&[]), DataError::NoRows);
        let bad = [[0.0; 5], [0.0, 0.0, f64::INFINITY, 0.0, 0.0]].concat();
        let (row, column, value) = (1, 2, f64::INFINITY);
        assert_eq!(error(&bad), DataError::NotFinite { row, column, value });
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
    let fit = |params: MlpParams, labels| params.job(x.view(), classes(labels)).unwrap_err();
    let params = || MlpParams::new([4]);
    assert_eq!(fit(MlpParams::new([4, 0]), &[0, 1]), MlpError::Zero("a hidden layer"));
    assert_eq!(fit(params().epochs(0), &[0, 1]), MlpError::Zero("epochs"));
    let optimiser = Optimiser::Sgd { learning_rate: 0.1, momentum: 1.0 };
    let error = fit(params().optimiser(optimiser), &[0, 1]);
    assert!(matches!(error, MlpError::Parameter { name: "momentum", .. }));
    assert_eq!(fit(params(), &[0]), MlpError::TargetCount { rows: 2, targets: 1 });
    assert_eq!(fit(params(), &[0, 2]), MlpError::Class { row: 1, class: 2, classes: 2 });
    let values = array![[0.0], [f64::NAN]];
    let error = params().job(x.view(), Targets::Values(values.view())).unwrap_err();
    assert!(matches!(error, MlpError::Data(DataError::TargetNotFinite { row: 1, .. })));
}
