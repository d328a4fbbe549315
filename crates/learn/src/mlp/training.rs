//! What a training is given to learn, and what it returns.

use super::{MlpError, MlpModel};
use crate::errors::{DataError, check_matrix};
use ndarray::ArrayView2;
use serde::{Deserialize, Serialize};

/// What a network shall learn to predict from each row.
#[derive(Clone, Copy, Debug)]
pub enum Targets<'a> {
    /// A class. The network predicts a probability for each class.
    Classes {
        /// Number of classes.
        classes: usize,
        /// The class of each row, from 0 to below `classes`.
        labels: &'a [usize],
    },
    /// One or more numbers: one row of targets for each row of the data.
    Values(ArrayView2<'a, f64>),
}

/// Loss and accuracy after each epoch, on the rows trained on and on the rows held back.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Curves {
    /// Loss on the rows trained on. For classes it is the cross entropy, for numbers the mean
    /// squared error of the targets scaled to unit variance.
    pub train_loss: Vec<f64>,
    /// Fraction of the rows trained on that are classified rightly; empty for numbers.
    pub train_accuracy: Vec<f64>,
    /// Loss on the rows held back; empty without early stopping.
    pub held_back_loss: Vec<f64>,
    /// Fraction of the rows held back that are classified rightly; empty for numbers and without
    /// early stopping.
    pub held_back_accuracy: Vec<f64>,
}

/// A trained network, and how its training went.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Training {
    /// The network after the last epoch; with early stopping, after the epoch with the least loss
    /// on the rows held back.
    pub model: MlpModel,
    /// Loss and accuracy after each epoch.
    pub curves: Curves,
    /// Number of the epoch that the network is from, from 0.
    pub epoch: usize,
}

impl Targets<'_> {
    /// Accepts one finite target, or one class that exists, for each row.
    pub(super) fn check(&self, rows: usize) -> Result<(), MlpError> {
        let targets = match self {
            Self::Classes { labels, .. } => labels.len(),
            Self::Values(values) => values.nrows(),
        };
        if rows != targets {
            return Err(MlpError::TargetCount { rows, targets });
        }
        match *self {
            Self::Classes { classes, labels } => {
                match labels.iter().enumerate().find(|(_, class)| **class >= classes) {
                    Some((row, &class)) => Err(MlpError::Class { row, class, classes }),
                    None => Ok(()),
                }
            }
            Self::Values(values) => match check_matrix(values) {
                Err(DataError::NotFinite { row, value, .. }) => {
                    Err(DataError::TargetNotFinite { row, value }.into())
                }
                other => Ok(other?),
            },
        }
    }
}
