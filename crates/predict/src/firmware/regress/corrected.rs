//! Costs with a small learned correction.
//!
//! `costs` adds up what events cost, and no event gives time back. What a sum cannot say, such as
//! that misses overlap, is left in its relative error. This learner predicts the logarithm of that
//! error by Ridge regression from rates, and multiplies the sum by a share of it.
//!
//! The correction is learned from errors on workloads that costs had not seen: errors on what was
//! learned from are too small and point nowhere. How strong it is, and whether there is any, is
//! chosen by leaving out each workload of the training set in turn. A correction must be better
//! than none by more than its standard error over these workloads.

use super::{TrainError, by_rate, costs, scaled_ridge};
use crate::firmware::predictor::Form;
use crate::firmware::records::Record;
use ndarray::{Array1, Array2, Axis};
use ssdtune_learn::selection::{Split, leave_one_group_out};

/// Penalties of the regression that are tried, on columns of unit variance.
const PENALTIES: [f64; 3] = [0.1, 1.0, 10.0];
/// Shares of the correction that are tried.
const SHARES: [f64; 3] = [0.25, 0.5, 1.0];

/// A correction: the logarithm of what the sum of costs is multiplied by.
struct Correction {
    intercept: f64,
    powers: Vec<f64>,
    /// The correction is never larger than this, up or down: the largest error that was seen.
    limit: f64,
}

/// Learns costs and their correction.
pub(super) fn corrected(
    x: &Array2<f64>,
    y: &Array1<f64>,
    inputs: &[String],
    rows: &[&Record],
) -> Result<Form, TrainError> {
    let (rates, _) = by_rate(x, y, inputs, rows)?;
    let labels: Vec<&str> = rows.iter().map(|row| row.workload.as_str()).collect();
    let splits = leave_one_group_out(&labels).unwrap_or_default();
    let splits: Vec<Split> = splits.into_iter().map(|(_, split)| split).collect();
    let found = correction(x, y, &rates, &splits)?;
    let none = || Correction { intercept: 0.0, powers: vec![0.0; inputs.len()], limit: 0.0 };
    let Correction { intercept, powers, limit } = found.unwrap_or_else(none);
    Ok(Form::Corrected { coefficients: costs(x, y), intercept, powers, limit })
}

/// The correction that does best on workloads left out; `None` if none is better than no
/// correction.
fn correction(
    x: &Array2<f64>,
    y: &Array1<f64>,
    rates: &Array2<f64>,
    splits: &[Split],
) -> Result<Option<Correction>, TrainError> {
    if splits.len() < 3 {
        return Ok(None);
    }
    let sums = unseen_sums(x, y, splits);
    let errors = (y / &sums).mapv(f64::ln);
    let limit = errors.iter().fold(0.0f64, |most, error| most.max(error.abs()));
    let without = off(splits, y, &sums);
    let mut best: Option<(f64, f64, f64)> = None;
    for penalty in PENALTIES {
        let mut logs = Array1::zeros(y.len());
        for split in splits {
            let train = |all: &Array1<f64>| all.select(Axis(0), &split.train);
            let (intercept, powers) =
                scaled_ridge(&rates.select(Axis(0), &split.train), &train(&errors), penalty)?;
            let powers = Array1::from(powers);
            for &row in &split.test {
                logs[row] = intercept + rates.row(row).dot(&powers);
            }
        }
        for share in SHARES {
            let factor = logs.mapv(|log| (share * log.clamp(-limit, limit)).exp());
            let gain = sure_gain(&without, &off(splits, y, &(&sums * &factor)));
            if gain > best.map_or(0.0, |(gain, ..)| gain) {
                best = Some((gain, penalty, share));
            }
        }
    }
    let Some((_, penalty, share)) = best else { return Ok(None) };
    let (intercept, powers) = scaled_ridge(rates, &errors, penalty)?;
    let powers = powers.iter().map(|power| share * power).collect();
    Ok(Some(Correction { intercept: share * intercept, powers, limit: share * limit }))
}

/// What costs predict for every row when they have not seen the row's workload, at least 1 ns.
fn unseen_sums(x: &Array2<f64>, y: &Array1<f64>, splits: &[Split]) -> Array1<f64> {
    let mut sums = Array1::zeros(y.len());
    for split in splits {
        let (x_train, y_train) = (x.select(Axis(0), &split.train), y.select(Axis(0), &split.train));
        let coefficients = Array1::from(costs(&x_train, &y_train));
        for &row in &split.test {
            sums[row] = x.row(row).dot(&coefficients).max(1.0);
        }
    }
    sums
}

/// The relative error of the total time of each workload.
fn off(splits: &[Split], truth: &Array1<f64>, predicted: &Array1<f64>) -> Vec<f64> {
    let total = |of: &Array1<f64>, rows: &[usize]| rows.iter().map(|&row| of[row]).sum::<f64>();
    let one = |split: &Split| {
        (total(predicted, &split.test) / total(truth, &split.test).max(1.0) - 1.0).abs()
    };
    splits.iter().map(one).collect()
}

/// How much less the second errors are in the mean, if that is more than its standard error; else
/// 0.
fn sure_gain(before: &[f64], after: &[f64]) -> f64 {
    let gains: Vec<f64> = before.iter().zip(after).map(|(before, after)| before - after).collect();
    let count = gains.len() as f64;
    let mean = gains.iter().sum::<f64>() / count;
    let squares: f64 = gains.iter().map(|gain| (gain - mean).powi(2)).sum();
    let error = (squares / (count - 1.0) / count).sqrt();
    if mean > error { mean } else { 0.0 }
}

#[cfg(test)]
mod tests {
    use super::super::Learner;
    use super::super::tests::made_up;
    use super::*;
    use crate::firmware::records::Records;

    const LABELS: [&str; 6] = ["AA", "BB", "CC", "DD", "EE", "FF"];

    /// The mean relative error of groups of the last workload, learned from the others.
    fn unseen(learner: Learner, records: &Records) -> f64 {
        let (test, train): (Vec<&Record>, Vec<&Record>) =
            records.rows.iter().partition(|row| row.workload == LABELS[5]);
        let model = learner.train(&learner.inputs(records), &train).unwrap();
        assert!(model.is_sound());
        let error = |row: &&Record| (model.predict(row).unwrap() / row.target_ns - 1.0).abs();
        test.iter().map(error).sum::<f64>() / test.len() as f64
    }

    #[test]
    fn where_costs_are_right_there_is_no_correction() {
        let records = made_up(&LABELS, 20);
        let rows: Vec<&Record> = records.rows.iter().collect();
        let learn = |learner: Learner| learner.train(&learner.inputs(&records), &rows).unwrap();
        let (corrected, costs) = (learn(Learner::Corrected), learn(Learner::Costs));
        for row in rows {
            let (own, plain) = (corrected.predict(row).unwrap(), costs.predict(row).unwrap());
            assert!((own / plain - 1.0).abs() < 1e-3, "{own} {plain}");
        }
    }

    #[test]
    fn a_loss_that_costs_cannot_say_is_corrected() {
        let mut records = made_up(&LABELS, 20);
        for row in &mut records.rows {
            // Misses that come often overlap: time is no sum of events.
            let (misses, instructions) = (row.inputs["LLC_MISSES"], row.inputs["INSTR"]);
            row.target_ns = instructions * (200.0 * misses / instructions).powf(0.6);
        }
        let (corrected, costs) =
            (unseen(Learner::Corrected, &records), unseen(Learner::Costs, &records));
        assert!(corrected < 0.7 * costs, "{corrected} corrected, {costs} before");
    }

    #[test]
    fn a_gain_of_one_workload_alone_is_not_sure() {
        assert_eq!(sure_gain(&[0.5, 0.1, 0.1, 0.1], &[0.1, 0.1, 0.1, 0.15]), 0.0);
        let gain = sure_gain(&[0.3, 0.4, 0.3, 0.4], &[0.1, 0.2, 0.2, 0.2]);
        assert!((gain - 0.175).abs() < 1e-12);
    }
}
