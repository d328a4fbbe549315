//! Trains a network on the exclusive or and prints what it answers.
//!
//! ```text
//! cargo run -p ssdtune-train --features torch --example exclusive_or
//! ```

use ssdtune_learn::mlp::{MlpParams, Targets};
use ssdtune_learn::ndarray::array;
use std::error::Error;

fn main() -> Result<(), Box<dyn Error>> {
    let x = array![[0.0, 0.0], [0.0, 1.0], [1.0, 0.0], [1.0, 1.0]];
    let wanted = Targets::Classes { classes: 2, labels: &[0, 1, 1, 0] };
    // Eight hidden units, 300 times through the four rows; another seed is another beginning.
    let job = MlpParams::new([8]).epochs(300).seed(1).job(x.view(), wanted)?;
    let training = ssdtune_train::train(&job)?;
    let answers = training.model.classify(x.view())?;
    for (row, answer) in x.rows().into_iter().zip(&answers) {
        println!("{} xor {} = {answer}", row[0], row[1]);
    }
    let loss = training.curves.train_loss.last().expect("an epoch at least");
    println!("cross entropy {loss:.4} after {} epochs", training.curves.train_loss.len());
    Ok(())
}
