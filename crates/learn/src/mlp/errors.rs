//! What can go wrong with the multi-layer perceptron.

use crate::DataError;

/// Why a network cannot be trained.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum MlpError {
    /// This program was built without libtorch.
    #[error(
        "training a network needs libtorch: run scripts/setup-libtorch.sh, then build with \
         `--features torch`"
    )]
    NoTorch,
    /// A count that must be at least one is zero.
    #[error("{0} is 0: give at least 1")]
    Zero(&'static str),
    /// A parameter is outside its range.
    #[error("{name} is {value}: give {legal}")]
    Parameter {
        /// Which one.
        name: &'static str,
        /// What was given.
        value: f64,
        /// What would do.
        legal: &'static str,
    },
    /// There are more or fewer targets than rows.
    #[error("{rows} rows, but {targets} targets: give one for each row")]
    TargetCount {
        /// Rows of the data.
        rows: usize,
        /// Targets given.
        targets: usize,
    },
    /// A class number is too great.
    #[error("row {row} is of class {class}, but there are {classes} classes, numbered from 0")]
    Class {
        /// Row, from 0.
        row: usize,
        /// Its class.
        class: usize,
        /// Classes declared.
        classes: usize,
    },
    /// The loss stopped being a number.
    #[error("the loss is not finite after epoch {epoch}: lower the learning rate")]
    Diverged {
        /// Epoch, from 0.
        epoch: usize,
    },
    /// The data cannot be used.
    #[error(transparent)]
    Data(#[from] DataError),
}
