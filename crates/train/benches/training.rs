//! How long the training of networks takes: in SSDKeeper's shape, with how well they classify, and
//! in that of the firmware's time.
//!
//! ```text
//! cargo bench -p ssdtune-train --features torch
//! ```

#[path = "../../learn/tests/shared/uniform.rs"]
#[expect(dead_code, reason = "shared with the tests of learn, which use all of it")]
mod uniform;

use ndarray::Array2;
use ssdtune_learn::metrics::accuracy;
use ssdtune_learn::mlp::{Activation, MlpParams, Optimiser, Targets};
use ssdtune_train::train;
use std::hint::black_box;
use std::time::Instant;
use uniform::Uniform;

fn main() {
    // A test asks only whether it runs, not how long it takes.
    let is_test = std::env::args().any(|word| word == "--test");
    let (runs, epochs) = if is_test { (1, 2) } else { (3, 200) };
    let mut draw = Uniform::seeded(28);
    firmware_time(&mut draw, if is_test { 1 } else { 5 });
    let centres = draw.matrix(42, 9);
    let mut sample = |rows: usize| {
        let labels: Vec<usize> = (0..rows).map(|row| row % 42).collect();
        let x = Array2::from_shape_fn((rows, 9), |(row, column)| {
            let noise = draw.draw() + draw.draw() + draw.draw() - 1.5;
            centres[[row % 42, column]] + 0.35 * noise
        });
        (x, labels)
    };
    let ((x, labels), (asked, truth)) = (sample(3500), sample(1500));
    let logistic = Activation::Logistic;
    for (name, activation, optimiser) in [
        ("SGD 0.2", logistic, Optimiser::Sgd { learning_rate: 0.2, momentum: 0.0 }),
        ("SGD 0.2, momentum 0.9", logistic, Optimiser::Sgd { learning_rate: 0.2, momentum: 0.9 }),
        ("Adam 0.02, ReLU", Activation::Relu, Optimiser::Adam { learning_rate: 0.02 }),
        ("Adam 0.02, logistic", logistic, Optimiser::Adam { learning_rate: 0.02 }),
    ] {
        let params =
            MlpParams::new([64]).activation(activation).optimiser(optimiser).epochs(epochs);
        let targets = Targets::Classes { classes: 42, labels: &labels };
        let job = params.job(x.view(), targets).unwrap();
        let mut least = f64::INFINITY;
        for _ in 0..runs {
            let start = Instant::now();
            black_box(train(&job).unwrap());
            least = least.min(start.elapsed().as_secs_f64());
        }
        println!(
            "mlp/train_9_64_42_{epochs}_epochs {name}: least of {runs}: {:.1} ms",
            1e3 * least
        );
        let training = train(&job).unwrap();
        let found = training.model.classify(asked.view()).unwrap().to_vec();
        println!(
            "mlp/train_9_64_42_{epochs}_epochs {name}: loss {:.3}, accuracy {:.3} on 1500 new rows",
            training.curves.train_loss[epochs - 1],
            accuracy(&truth, &found).unwrap()
        );
    }
}

/// Networks of Table 2 of the learned firmware time: 1,500 groups with 12 events each.
fn firmware_time(draw: &mut Uniform, epochs: usize) {
    let x = draw.matrix(1500, 12);
    let y = Array2::from_shape_fn((1500, 1), |(row, _)| x.row(row).sum().exp());
    for (layers, neurons) in [(6, 128), (5, 512)] {
        let params = MlpParams::new(vec![neurons; layers])
            .activation(Activation::Logistic)
            .optimiser(Optimiser::Adam { learning_rate: 0.001 })
            .epochs(epochs)
            .batch(32);
        let job = params.job(x.view(), Targets::Values(y.view())).unwrap();
        let start = Instant::now();
        black_box(train(&job).unwrap());
        let step = start.elapsed().as_secs_f64() / (epochs * x.nrows().div_ceil(32)) as f64;
        println!("mlp/train_{layers}x{neurons} Adam, batch of 32: {:.2} ms a step", 1e3 * step);
    }
}
