//! How far predictions are from the truth: mean relative error, RMSE, R², percentiles, accuracy.
//!
//! ```
//! use ssdtune_learn::metrics::ErrorReport;
//!
//! let report = ErrorReport::new(&[10.0, 20.0, 40.0], &[11.0, 20.0, 40.0])?;
//! assert!((report.relative_max - 0.1).abs() < 1e-12);
//! assert!((report.mre - 0.1 / 3.0).abs() < 1e-12);
//! # Ok::<(), ssdtune_learn::metrics::MetricsError>(())
//! ```
//!
//! The truth always comes first, the prediction second. The relative error of one value is
//! `|prediction - truth| / |truth|`. R² is `1 - SSE / SST`: the share of the truth's variance that
//! the predictions explain, negative if they are worse than the mean of the truth.

use serde::{Deserialize, Serialize};

/// Why predictions cannot be compared with the truth.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum MetricsError {
    /// There are no values.
    #[error("no predictions to compare: give at least one")]
    Empty,
    /// There are more or fewer predictions than true values.
    #[error("{truths} true values, but {predictions} predictions: give one for each")]
    Length {
        /// Number of true values given.
        truths: usize,
        /// Number of predictions given.
        predictions: usize,
    },
    /// A true or predicted value is NaN or infinite.
    #[error("value {at}: truth {truth}, prediction {prediction}: both must be finite numbers")]
    NotFinite {
        /// Position of the pair, from 0.
        at: usize,
        /// The true value there.
        truth: f64,
        /// The prediction there.
        prediction: f64,
    },
    /// A true value is 0, and its relative error is undefined.
    #[error(
        "true value {at} is 0, so its relative error is undefined: leave it out, or use the RMSE"
    )]
    ZeroTruth {
        /// Position of the value, from 0.
        at: usize,
    },
    /// The percentile asked for is not from 0 to 100.
    #[error("percentile {0}: give a number from 0 to 100")]
    Percentile(f64),
}

/// How far a list of predictions is from the truth, in several figures.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct ErrorReport {
    /// Number of values compared.
    pub count: usize,
    /// Mean relative error, as a fraction.
    pub mre: f64,
    /// Mean absolute percentage error: the mean relative error in percent.
    pub mape_percent: f64,
    /// Mean absolute error, in the unit of the targets.
    pub mae: f64,
    /// Root of the mean squared error, in the unit of the targets.
    pub rmse: f64,
    /// Coefficient of determination R². If the truth does not vary, it is 1 for predictions without
    /// error and 0 otherwise.
    pub r2: f64,
    /// Median of the relative error, as a fraction.
    pub relative_p50: f64,
    /// 90th percentile of the relative error, as a fraction.
    pub relative_p90: f64,
    /// 99th percentile of the relative error, as a fraction.
    pub relative_p99: f64,
    /// Greatest relative error, as a fraction.
    pub relative_max: f64,
}

impl ErrorReport {
    /// Compares predictions with the truth. No true value may be 0.
    pub fn new(truth: &[f64], predictions: &[f64]) -> Result<Self, MetricsError> {
        let mut relative = relative_errors(truth, predictions)?;
        relative.sort_by(f64::total_cmp);
        let mre = mean(&relative);
        Ok(Self {
            count: truth.len(),
            mre,
            mape_percent: 100.0 * mre,
            mae: truth.iter().zip(predictions).map(|(t, p)| (p - t).abs()).sum::<f64>()
                / truth.len() as f64,
            rmse: rmse(truth, predictions)?,
            r2: r2(truth, predictions)?,
            relative_p50: interpolated(&relative, 50.0),
            relative_p90: interpolated(&relative, 90.0),
            relative_p99: interpolated(&relative, 99.0),
            relative_max: relative[relative.len() - 1],
        })
    }
}

/// The relative errors `|prediction - truth| / |truth|` as fractions, in the order of the values.
/// No true value may be 0.
pub fn relative_errors(truth: &[f64], predictions: &[f64]) -> Result<Vec<f64>, MetricsError> {
    check(truth, predictions)?;
    if let Some(at) = truth.iter().position(|&t| t == 0.0) {
        return Err(MetricsError::ZeroTruth { at });
    }
    Ok(truth.iter().zip(predictions).map(|(t, p)| ((p - t) / t).abs()).collect())
}

/// Mean relative error, as a fraction. No true value may be 0.
pub fn mre(truth: &[f64], predictions: &[f64]) -> Result<f64, MetricsError> {
    Ok(mean(&relative_errors(truth, predictions)?))
}

/// Mean absolute percentage error: the mean relative error in percent. No true value may be 0.
pub fn mape_percent(truth: &[f64], predictions: &[f64]) -> Result<f64, MetricsError> {
    Ok(100.0 * mre(truth, predictions)?)
}

/// Root of the mean squared error, in the unit of the values.
pub fn rmse(truth: &[f64], predictions: &[f64]) -> Result<f64, MetricsError> {
    check(truth, predictions)?;
    Ok((squared_error(truth, predictions) / truth.len() as f64).sqrt())
}

/// Coefficient of determination R². If the truth does not vary, it is 1 for predictions without
/// error and 0 otherwise.
pub fn r2(truth: &[f64], predictions: &[f64]) -> Result<f64, MetricsError> {
    check(truth, predictions)?;
    let centre = mean(truth);
    let total: f64 = truth.iter().map(|t| (t - centre) * (t - centre)).sum();
    let left = squared_error(truth, predictions);
    Ok(match (total > 0.0, left > 0.0) {
        (true, _) => 1.0 - left / total,
        (false, true) => 0.0,
        (false, false) => 1.0,
    })
}

/// The percentile `percent`, from 0 to 100, interpolated between neighbouring values (as NumPy does
/// by default).
pub fn percentile(values: &[f64], percent: f64) -> Result<f64, MetricsError> {
    if !(0.0..=100.0).contains(&percent) {
        return Err(MetricsError::Percentile(percent));
    }
    check(values, values)?;
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    Ok(interpolated(&sorted, percent))
}

/// Fraction of predicted classes that are the true ones.
pub fn accuracy(truth: &[usize], predictions: &[usize]) -> Result<f64, MetricsError> {
    if truth.is_empty() {
        return Err(MetricsError::Empty);
    }
    if truth.len() != predictions.len() {
        return Err(MetricsError::Length { truths: truth.len(), predictions: predictions.len() });
    }
    let right = truth.iter().zip(predictions).filter(|(t, p)| t == p).count();
    Ok(right as f64 / truth.len() as f64)
}

/// A percentile of values in rising order.
fn interpolated(sorted: &[f64], percent: f64) -> f64 {
    let position = percent / 100.0 * (sorted.len() - 1) as f64;
    let below = position.floor() as usize;
    let above = (below + 1).min(sorted.len() - 1);
    sorted[below] + (position - below as f64) * (sorted[above] - sorted[below])
}

fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}

fn squared_error(truth: &[f64], predictions: &[f64]) -> f64 {
    truth.iter().zip(predictions).map(|(t, p)| (p - t) * (p - t)).sum()
}

/// Accepts finite values, as many predictions as truths, at least one.
fn check(truth: &[f64], predictions: &[f64]) -> Result<(), MetricsError> {
    if truth.len() != predictions.len() {
        return Err(MetricsError::Length { truths: truth.len(), predictions: predictions.len() });
    }
    if truth.is_empty() {
        return Err(MetricsError::Empty);
    }
    let mut pairs = truth.iter().zip(predictions).enumerate();
    match pairs.find(|(_, (t, p))| !(t.is_finite() && p.is_finite())) {
        Some((at, (&truth, &prediction))) => Err(MetricsError::NotFinite { at, truth, prediction }),
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_by_hand() {
        let report = ErrorReport::new(&[1.0, 2.0, 4.0], &[1.1, 1.8, 4.0]).unwrap();
        assert!((report.mre - (0.1 + 0.1 + 0.0) / 3.0).abs() < 1e-12);
        assert!((report.mape_percent - 100.0 * report.mre).abs() < 1e-12);
        assert!((report.mae - 0.1).abs() < 1e-12);
        assert!((report.rmse - (0.05f64 / 3.0).sqrt()).abs() < 1e-12);
        let total =
            (1.0f64 - 7.0 / 3.0).powi(2) + (2.0f64 - 7.0 / 3.0).powi(2) + (5.0f64 / 3.0).powi(2);
        assert!((report.r2 - (1.0 - 0.05 / total)).abs() < 1e-12);
        assert!((report.relative_max - 0.1).abs() < 1e-12);
    }

    #[test]
    fn percentiles_interpolate_as_numpy_does() {
        let values = [4.0, 1.0, 3.0, 2.0];
        assert_eq!(percentile(&values, 0.0).unwrap(), 1.0);
        assert_eq!(percentile(&values, 50.0).unwrap(), 2.5);
        assert!((percentile(&values, 90.0).unwrap() - 3.7).abs() < 1e-12);
        assert_eq!(percentile(&values, 100.0).unwrap(), 4.0);
        assert_eq!(percentile(&values, 101.0), Err(MetricsError::Percentile(101.0)));
    }

    #[test]
    fn what_cannot_be_compared_is_an_error() {
        assert_eq!(mre(&[1.0, 0.0], &[1.0, 1.0]), Err(MetricsError::ZeroTruth { at: 1 }));
        assert_eq!(mre(&[], &[]), Err(MetricsError::Empty));
        assert_eq!(rmse(&[1.0], &[]), Err(MetricsError::Length { truths: 1, predictions: 0 }));
        assert!(matches!(r2(&[f64::NAN], &[1.0]), Err(MetricsError::NotFinite { at: 0, .. })));
    }

    #[test]
    fn r2_of_a_truth_that_does_not_vary() {
        assert_eq!(r2(&[2.0, 2.0], &[2.0, 2.0]).unwrap(), 1.0);
        assert_eq!(r2(&[2.0, 2.0], &[2.0, 3.0]).unwrap(), 0.0);
    }
}
