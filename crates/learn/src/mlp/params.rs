//! Parameters of a multilayer perceptron, and their check.

use super::MlpError;
use crate::guard::guarded_params;
use serde::{Deserialize, Serialize};

/// The function that is applied to the sums of each hidden layer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Activation {
    /// The logistic function `1 / (1 + e^-x)`, also called the sigmoid.
    #[serde(alias = "sigmoid")]
    Logistic,
    /// `max(x, 0)`.
    Relu,
}

/// The method that changes the weights by their gradients.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Optimiser {
    /// Stochastic gradient descent, with or without momentum.
    Sgd {
        /// Step for a gradient of 1; above 0.
        learning_rate: f64,
        /// Share of the last step that is added to the next: from 0 (none) to below 1.
        momentum: f64,
    },
    /// Adam with the usual constants 0.9, 0.999 and 1e-8.
    Adam {
        /// Size of a step; above 0.
        learning_rate: f64,
    },
}

impl Optimiser {
    /// The learning rate of either method.
    pub const fn learning_rate(self) -> f64 {
        match self {
            Self::Sgd { learning_rate, .. } | Self::Adam { learning_rate } => learning_rate,
        }
    }
}

/// Stops training when the loss on rows held back no longer falls.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct EarlyStopping {
    /// Share of the rows that are held back and not trained on: between 0 and 1.
    pub fraction: f64,
    /// Training stops after this many epochs without a new least loss, at least 1. The network of
    /// the least loss is returned.
    pub patience: usize,
}

/// Parameters of a network. [`Self::fit`] checks them.
#[derive(Clone, Debug, PartialEq)]
pub struct MlpParams(MlpValidParams);

/// Parameters of a network that have passed their check.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
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
    /// A network with hidden layers of these widths, each at least 1. Without hidden layers it is a
    /// linear model.
    ///
    /// Defaults: logistic layers, Adam with a learning rate of 0.02, 200 epochs in mini-batches of
    /// 64 rows, no cooling, no early stopping, seed 0.
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

    /// Sets the function that is applied to the sums of each hidden layer.
    #[must_use]
    pub fn activation(mut self, activation: Activation) -> Self {
        self.0.activation = activation;
        self
    }

    /// Sets the method that changes the weights by their gradients.
    #[must_use]
    pub fn optimiser(mut self, optimiser: Optimiser) -> Self {
        self.0.optimiser = optimiser;
        self
    }

    /// Sets how many times training goes through all rows, at least once.
    #[must_use]
    pub fn epochs(mut self, epochs: usize) -> Self {
        self.0.epochs = epochs;
        self
    }

    /// Sets the number of rows of a mini-batch, at least 1.
    #[must_use]
    pub fn batch(mut self, batch: usize) -> Self {
        self.0.batch = batch;
        self
    }

    /// Sets whether the learning rate falls to 0 over the epochs, along half a cosine. This brings
    /// the predictions closer to numbers that have to be met exactly.
    #[must_use]
    pub fn cooling(mut self, cooling: bool) -> Self {
        self.0.cooling = cooling;
        self
    }

    /// Holds rows back and stops when they are not predicted better any more.
    #[must_use]
    pub fn early_stopping(mut self, early_stopping: EarlyStopping) -> Self {
        self.0.early_stopping = Some(early_stopping);
        self
    }

    /// Sets the seed of the initial weights, the mini-batches and the rows held back.
    #[must_use]
    pub fn seed(mut self, seed: u64) -> Self {
        self.0.seed = seed;
        self
    }
}

impl MlpValidParams {
    /// The function that is applied to the sums of each hidden layer.
    pub fn activation(&self) -> Activation {
        self.activation
    }

    /// The method that changes the weights by their gradients.
    pub fn optimiser(&self) -> Optimiser {
        self.optimiser
    }

    /// How many times training goes through all rows.
    pub fn epochs(&self) -> usize {
        self.epochs
    }

    /// Number of rows of a mini-batch.
    pub fn batch(&self) -> usize {
        self.batch
    }

    /// Whether the learning rate falls to 0 over the epochs, along half a cosine.
    pub fn cooling(&self) -> bool {
        self.cooling
    }

    /// When training stops before its last epoch.
    pub fn early_stopping(&self) -> Option<EarlyStopping> {
        self.early_stopping
    }

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
