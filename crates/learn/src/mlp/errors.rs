//! What can go wrong with a multilayer perceptron.

use crate::DataError;

/// Why a network cannot be trained.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum MlpError {
    /// There is no program that trains networks.
    #[error(
        "training a network needs the program ssdtune-train: run scripts/setup-libtorch.sh, then \
         `cargo build --release --features torch`, or say by SSDTUNE_TRAIN where it is"
    )]
    NoTrainer,
    /// The program that trains networks failed; the text says how.
    #[error("{0}")]
    Trainer(String),
    /// The named parameter is 0, but must be at least 1.
    #[error("{0} is 0: give at least 1")]
    Zero(&'static str),
    /// A parameter is outside its legal range.
    #[error("{name} is {value}: give {legal}")]
    Parameter {
        /// Name of the parameter.
        name: &'static str,
        /// The value given.
        value: f64,
        /// The values that are legal.
        legal: &'static str,
    },
    /// The number of targets is not the number of rows.
    #[error("{rows} rows, but {targets} targets: give one for each row")]
    TargetCount {
        /// Number of rows of the data.
        rows: usize,
        /// Number of targets given.
        targets: usize,
    },
    /// A row's class is not below the number of classes.
    #[error("row {row} is of class {class}, but there are {classes} classes, numbered from 0")]
    Class {
        /// Number of the row, from 0.
        row: usize,
        /// Class of the row.
        class: usize,
        /// Number of classes declared.
        classes: usize,
    },
    /// The loss became infinite or NaN.
    #[error("the loss is not finite after epoch {epoch}: lower the learning rate")]
    Diverged {
        /// Number of the epoch, from 0.
        epoch: usize,
    },
    /// The matrix or the targets cannot be used.
    #[error(transparent)]
    Data(#[from] DataError),
}
