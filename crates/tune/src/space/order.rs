//! The order in which the axes of a space should be tuned.

use serde::{Deserialize, Serialize};

/// Parameters with their importance, the most important first. Empty where nothing is known.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct TuningOrder(pub Vec<OrderedParameter>);

/// A parameter's place in the tuning order. Field names are part of the format of AutoDB.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct OrderedParameter {
    /// The key of the parameter in the catalogue.
    pub key: String,
    /// The coefficient of the parameter in Ridge regression: how much it changes the performance.
    pub coefficient: f64,
}

impl TuningOrder {
    /// These parameters with equal importance, so that they are tuned together.
    #[must_use]
    pub fn together(&self) -> Self {
        let equal = |one: &OrderedParameter| OrderedParameter { coefficient: 1.0, ..one.clone() };
        Self(self.0.iter().map(equal).collect())
    }
}
