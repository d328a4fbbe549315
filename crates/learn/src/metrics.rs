//! How far predictions are from the truth: MRE, MAPE, RMSE, R² and percentiles of the error.
//!
//! The mean relative error of the papers is `mean(|prediction - truth| / |truth|)`; MAPE is the
//! same in percent. R² is `1 - SSE / SST`, negative for a model worse than the mean.

use serde::{Deserialize, Serialize};

/// Why errors cannot be measured.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum MetricsError {
    /// Nothing to compare.
    #[error("no predictions to measure: give at least one")]
    Empty,
    /// Truth and prediction differ in length.
    #[error("{truths} true values, but {predictions} predictions: give one for each")]
    Length {
        /// True values given.
        truths: usize,
        /// Predictions given.
        predictions: usize,
    },
    /// A value is NaN or infinite.
    #[error("value {at}: truth {truth}, prediction {prediction}: both must be finite numbers")]
    NotFinite {
        /// Position, from 0.
        at: usize,
        /// The true value there.
        truth: f64,
        /// The prediction there.
        prediction: f64,
    },
    /// A relative error of a true zero does not exist.
    #[error(
        "true value {at} is 0, so its relative error is undefined: leave it out, or use the RMSE"
    )]
    ZeroTruth {
        /// Position, from 0.
        at: usize,
    },
    /// A percentile outside its range.
    #[error("percentile {0}: give a number from 0 to 100")]
    Percentile(f64),
}

/// The usual figures of one comparison.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct ErrorReport {
    /// Values compared.
    pub count: usize,
    /// Mean relative error, a fraction.
    pub mre: f64,
    /// Mean absolute percentage error: the MRE in percent.
    pub mape_percent: f64,
    /// Mean absolute error, in the unit of the targets.
    pub mae: f64,
    /// Root of the mean squared error, in the unit of the targets.
    pub rmse: f64,
    /// Coefficient of determination; 0 when the truth does not vary and is not matched, 1 when it
    /// is.
    pub r2: f64,
    /// Median relative error, a fraction.
    pub relative_p50: f64,
    /// 90th percentile of the relative error.
    pub relative_p90: f64,
    /// 99th percentile of the relative error.
    pub relative_p99: f64,
    /// The worst relative error.
    pub relative_max: f64,
}

impl ErrorReport {
    /// Compares predictions with the truth.
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

/// `|prediction - truth| / |truth|` of each value, in order.
pub fn relative_errors(truth: &[f64], predictions: &[f64]) -> Result<Vec<f64>, MetricsError> {
    check(truth, predictions)?;
    if let Some(at) = truth.iter().position(|&t| t == 0.0) {
        return Err(MetricsError::ZeroTruth { at });
    }
    Ok(truth.iter().zip(predictions).map(|(t, p)| ((p - t) / t).abs()).collect())
}

/// Mean relative error, a fraction.
pub fn mre(truth: &[f64], predictions: &[f64]) -> Result<f64, MetricsError> {
    Ok(mean(&relative_errors(truth, predictions)?))
}

/// Mean absolute percentage error: the MRE in percent.
pub fn mape_percent(truth: &[f64], predictions: &[f64]) -> Result<f64, MetricsError> {
    Ok(100.0 * mre(truth, predictions)?)
}

/// Root of the mean squared error.
pub fn rmse(truth: &[f64], predictions: &[f64]) -> Result<f64, MetricsError> {
    check(truth, predictions)?;
    Ok((squared_error(truth, predictions) / truth.len() as f64).sqrt())
}

/// Coefficient of determination.
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

/// The `percent`-th percentile, linear between neighbours (NumPy's default).
pub fn percentile(values: &[f64], percent: f64) -> Result<f64, MetricsError> {
    if !(0.0..=100.0).contains(&percent) {
        return Err(MetricsError::Percentile(percent));
    }
    check(values, values)?;
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    Ok(interpolated(&sorted, percent))
}

/// Fraction of equal labels.
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
    fn what_has_no_relative_error_is_named() {
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
