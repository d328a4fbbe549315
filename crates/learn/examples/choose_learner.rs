//! Compares four learners on one data set by cross-validation, then keeps the best for later use.
//!
//! ```text
//! cargo run --example choose_learner -p ssdtune-learn
//! ```
//!
//! The data are made up: the time of a job depends on its size, on a setting with an optimum, and
//! on a second setting that matters only for large jobs. Nothing here needs libtorch.

use ndarray::{Array1, Array2, ArrayView1, ArrayView2, Axis};
use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64;
use ssdtune_learn::gp::LengthScales;
use ssdtune_learn::metrics::ErrorReport;
use ssdtune_learn::selection::k_fold;
use ssdtune_learn::tree::Leaves;
use ssdtune_learn::{BagParams, GpParams, RidgeParams, TreeModel, TreeParams};
use std::error::Error;
use std::time::Instant;

/// Trains on the first two arguments and predicts the rows of the third.
type Learner = fn(
    ArrayView2<'_, f64>,
    ArrayView1<'_, f64>,
    ArrayView2<'_, f64>,
) -> Result<Array1<f64>, Box<dyn Error>>;

const LEARNERS: [(&str, Learner); 4] = [
    ("Ridge regression", |x, y, asked| Ok(RidgeParams::new(1.0).fit(x, y)?.predict(asked)?)),
    ("regression tree", |x, y, asked| Ok(tree().fit(x, y)?.predict(asked)?)),
    ("bag of 20 trees", |x, y, asked| Ok(BagParams::new(20, tree()).fit(x, y)?.predict(asked)?)),
    ("Gaussian process", |x, y, asked| {
        Ok(GpParams::new(LengthScales::Ard).starts(1).fit(x, y)?.predict(asked)?.means)
    }),
];

fn tree() -> TreeParams {
    TreeParams::new(Leaves::Linear)
}

fn main() -> Result<(), Box<dyn Error>> {
    let (x, y) = jobs(300);
    // Every row is predicted once, by a model that was trained on the four other folds.
    let splits = k_fold(x.nrows(), 5, 0)?;
    println!("{:20} {:>10} {:>10} {:>8} {:>8}", "", "mean error", "90 % below", "R²", "seconds");
    for (name, learner) in LEARNERS {
        let start = Instant::now();
        let (mut truth, mut found) = (Vec::new(), Vec::new());
        for split in &splits {
            let part = |rows: &[usize]| (x.select(Axis(0), rows), y.select(Axis(0), rows));
            let ((x, y), (asked, targets)) = (part(&split.train), part(&split.test));
            found.extend(learner(x.view(), y.view(), asked.view())?);
            truth.extend(targets);
        }
        let report = ErrorReport::new(&truth, &found)?;
        println!(
            "{name:20} {:>8.2} % {:>8.2} % {:>8.4} {:>8.2}",
            100.0 * report.mre,
            100.0 * report.relative_p90,
            report.r2,
            start.elapsed().as_secs_f64()
        );
    }

    // The tree is best here, because the data jump at one size, and it can be read.
    let model = tree().fit(x.view(), y.view())?;
    print!("\n{}", model.describe(&["size", "setting", "other"], "seconds")?);

    // Every model serialises with its version and is checked when it is read. JSON needs
    // serde_json's feature `float_roundtrip`, or the last bits of the numbers change.
    let text = serde_json::to_string(&model)?;
    let read: TreeModel = serde_json::from_str(&text)?;
    println!("\nstored in {} bytes", text.len());
    println!("a job of size 0.8 takes {:.2} s", read.predict_one(&[0.8, 0.4, 0.1])?);
    Ok(())
}

/// Sizes and settings from 0 to 1, and the seconds each job takes, with 2 % of noise.
fn jobs(rows: usize) -> (Array2<f64>, Array1<f64>) {
    let mut rng = Pcg64::seed_from_u64(1);
    let x = Array2::from_shape_simple_fn((rows, 3), || rng.random_range(0.0..1.0));
    let seconds = |job: ArrayView1<'_, f64>| {
        let detour = if job[0] > 0.5 { 3.0 * job[2] } else { 0.0 };
        1.0 + 4.0 * job[0] + 5.0 * (job[1] - 0.4f64).powi(2) + detour
    };
    let noise = |rng: &mut Pcg64| rng.random_range(0.98..1.02);
    let y = x.rows().into_iter().map(|job| seconds(job) * noise(&mut rng)).collect();
    (x, y)
}
