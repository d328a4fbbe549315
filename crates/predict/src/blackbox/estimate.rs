//! Predicted values, how far off they may be, and what was learned from.

use serde::{Deserialize, Serialize};

/// The range that holds the truth nine times in ten.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Interval {
    /// Lower end of the interval.
    pub low: f64,
    /// Upper end of the interval.
    pub high: f64,
}

impl Interval {
    /// The values within a factor of a value.
    pub(super) fn within(factor: f64, value: f64) -> Self {
        Self { low: value / factor, high: value * factor }
    }

    /// Whether a value is in the interval.
    pub fn holds(&self, value: f64) -> bool {
        (self.low..=self.high).contains(&value)
    }
}

/// A predicted value and its interval.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Estimate {
    /// The value predicted.
    pub value: f64,
    /// Its interval; `None` if it is not known how far off the model may be.
    #[serde(flatten, skip_serializing_if = "Option::is_none")]
    pub interval: Option<Interval>,
}

/// The values that one characteristic had in training.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Range {
    /// Name of the characteristic.
    pub name: String,
    /// The smallest value.
    pub low: f64,
    /// The largest value.
    pub high: f64,
}

/// A number with four significant digits.
pub(super) fn number(value: f64) -> String {
    let size = if value == 0.0 { 0 } else { value.abs().log10().floor() as i32 };
    if !(-4..9).contains(&size) {
        return format!("{value:.3e}");
    }
    let text = format!("{value:.*}", (3 - size).max(0) as usize);
    match text.contains('.') {
        true => text.trim_end_matches('0').trim_end_matches('.').to_owned(),
        false => text,
    }
}
