//! Settings of the multi-layer perceptron, checked before fitting.

use super::MlpError;
use crate::guard::guarded_params;
use serde::{Deserialize, Serialize};

/// What follows each hidden layer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Activation {
    /// The logistic function `1 / (1 + e^-x)`, also called the sigmoid.
    #[serde(alias = "sigmoid")]
    Logistic,
    /// `max(x, 0)`.
    Relu,
}

/// How weights follow their gradients.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Optimiser {
    /// Stochastic gradient descent; `momentum` 0 is plain.
    Sgd {
        /// Step per gradient.
        learning_rate: f64,
        /// Share of the last step that is taken again.
        momentum: f64,
    },
    /// Adam with the usual 0.9, 0.999 and 1e-8.
    Adam {
        /// Step.
        learning_rate: f64,
    },
}

impl Optimiser {
    /// The length of a step.
    pub const fn learning_rate(self) -> f64 {
        match self {
            Self::Sgd { learning_rate, .. } | Self::Adam { learning_rate } => learning_rate,
        }
    }
}

/// When to stop before the last epoch.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct EarlyStopping {
    /// Share of the rows that is held back to judge by.
    pub fraction: f64,
    /// Epochs without a better loss after which training stops and the best weights return.
    pub patience: usize,
}

/// Parameters of a network, unchecked.
#[derive(Clone, Debug, PartialEq)]
pub struct MlpParams(MlpValidParams);

/// Parameters of a network, checked.
#[derive(Clone, Debug, PartialEq)]
pub struct MlpValidParams {
    pub(super) hidden: Vec<usize>,
    pub(super) activation: Activation,
    pub(super) optimiser: Optimiser,
    pub(super) epochs: usize,
    pub(super) batch: usize,
    pub(super) cooling: bool,
    pub(super) early_stopping: Option<EarlyStopping>,
    pub(super) seed: u64,
}

guarded_params!(MlpParams, MlpValidParams, MlpError);

impl MlpParams {
    /// These hidden layers, logistic, trained by Adam at 0.02 for 200 epochs of mini-batches of 64,
    /// no early stopping, seed 0. No hidden layer makes a linear model.
    pub fn new(hidden: impl Into<Vec<usize>>) -> Self {
        Self(MlpValidParams {
            hidden: hidden.into(),
            activation: Activation::Logistic,
            optimiser: Optimiser::Adam { learning_rate: 0.02 },
            epochs: 200,
            batch: 64,
            cooling: false,
            early_stopping: None,
            seed: 0,
        })
    }

    /// Sets what follows each hidden layer.
    #[must_use]
    pub fn activation(mut self, activation: Activation) -> Self {
        self.0.activation = activation;
        self
    }

    /// Sets how weights follow their gradients.
    #[must_use]
    pub fn optimiser(mut self, optimiser: Optimiser) -> Self {
        self.0.optimiser = optimiser;
        self
    }

    /// Sets how often all rows are seen.
    #[must_use]
    pub fn epochs(mut self, epochs: usize) -> Self {
        self.0.epochs = epochs;
        self
    }

    /// Sets the rows of a mini-batch.
    #[must_use]
    pub fn batch(mut self, batch: usize) -> Self {
        self.0.batch = batch;
        self
    }

    /// Lets the learning rate fall to 0 over the epochs, as half a cosine: for values that have to be met closely.
    #[must_use]
    pub fn cooling(mut self, cooling: bool) -> Self {
        self.0.cooling = cooling;
        self
    }

    /// Holds rows back and stops when they are predicted no better.
    #[must_use]
    pub fn early_stopping(mut self, early_stopping: EarlyStopping) -> Self {
        self.0.early_stopping = Some(early_stopping);
        self
    }

    /// Sets the seed of the first weights, the mini-batches, and the rows held back.
    #[must_use]
    pub fn seed(mut self, seed: u64) -> Self {
        self.0.seed = seed;
        self
    }
}

impl MlpValidParams {
    pub(super) fn verify(&self) -> Result<(), MlpError> {
        let narrowest = self.hidden.iter().copied().min().unwrap_or(1);
        let patience = self.early_stopping.map_or(1, |stopping| stopping.patience);
        let counts = [
            (narrowest, "a hidden layer"),
            (self.epochs, "epochs"),
            (self.batch, "batch"),
            (patience, "patience"),
        ];
        if let Some((_, name)) = counts.iter().find(|(count, _)| *count == 0) {
            return Err(MlpError::Zero(name));
        }
        let learning_rate = self.optimiser.learning_rate();
        let momentum = match self.optimiser {
            Optimiser::Sgd { momentum, .. } => momentum,
            Optimiser::Adam { .. } => 0.0,
        };
        let parameter = |name, value, legal| Err(MlpError::Parameter { name, value, legal });
        if !(learning_rate > 0.0 && learning_rate.is_finite()) {
            return parameter("learning_rate", learning_rate, "a finite number above 0");
        }
        if !(0.0..1.0).contains(&momentum) {
            return parameter("momentum", momentum, "a number from 0 to below 1");
        }
        match self.early_stopping {
            Some(EarlyStopping { fraction, .. }) if !(fraction > 0.0 && fraction < 1.0) => {
                parameter("fraction", fraction, "a number between 0 and 1")
            }
            _ => Ok(()),
        }
    }
}
