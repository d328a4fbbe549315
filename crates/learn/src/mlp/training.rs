//! What a training is given to learn, and what it gives back.

use super::{MlpError, MlpModel};
use crate::errors::{DataError, check_matrix};
use ndarray::ArrayView2;
use serde::{Deserialize, Serialize};

/// What is learned for each row.
#[derive(Clone, Copy, Debug)]
pub enum Targets<'a> {
    /// One class of `classes`, numbered from 0.
    Classes {
        /// How many there are.
        classes: usize,
        /// The class of each row.
        labels: &'a [usize],
    },
    /// One or more numbers.
    Values(ArrayView2<'a, f64>),
}

/// Figures after each epoch, on all training rows and on those held back.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Curves {
    /// Cross entropy, or mean squared error of targets scaled to unit variance.
    pub train_loss: Vec<f64>,
    /// Fraction of rows classified rightly; empty for regression.
    pub train_accuracy: Vec<f64>,
    /// The loss on rows held back; empty without early stopping.
    pub held_back_loss: Vec<f64>,
    /// The accuracy on rows held back.
    pub held_back_accuracy: Vec<f64>,
}

/// A trained network and how it came about.
#[derive(Clone, Debug)]
pub struct Training {
    /// The network: after the last epoch, or with early stopping after the best.
    pub model: MlpModel,
    /// Figures after each epoch.
    pub curves: Curves,
    /// The epoch the network is from, from 0.
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
