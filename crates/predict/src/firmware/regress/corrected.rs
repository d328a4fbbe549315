//! Costs with a small learned correction.
//!
//! `costs` adds up what events cost, and no event gives time back. What a sum cannot say, such as
//! that misses overlap, is left in its relative error. This learner predicts the logarithm of that
//! error by Ridge regression from rates, and multiplies the sum by a share of it.
//!
//! How strong the correction is, and whether there is any, is chosen by leaving out each workload
//! of the training set in turn: costs and correction are learned from the others and judged on it.
//! A correction must be better than none by more than two standard errors over these workloads,
//! which luck gives to one in forty, and by more than a thousandth of the time.

use super::{TrainError, by_rate, costs, scaled_ridge};
use crate::firmware::predictor::Form;
use crate::firmware::records::Record;
use ndarray::{Array1, Array2, Axis};
use ssdtune_learn::selection::leave_one_group_out;

/// Penalties of the regression that are tried, on columns of unit variance.
const PENALTIES: [f64; 3] = [0.01, 0.1, 1.0];
/// Shares of the correction that are tried.
const SHARES: [f64; 3] = [0.25, 0.5, 1.0];

/// A correction that gains less of the time is not worth having.
const GAIN_MIN: f64 = 0.001;

/// A correction: the logarithm of what the sum of costs is multiplied by.
struct Correction {
    intercept: f64,
    powers: Array1<f64>,
    /// The correction is never larger than this, up or down: the largest error that was seen.
    limit: f64,
}

/// Groups to learn from, with the rates of their inputs.
struct Groups<'a> {
    x: &'a Array2<f64>,
    y: &'a Array1<f64>,
    rates: Array2<f64>,
}

/// Learns costs and their correction.
pub(super) fn corrected(
    x: &Array2<f64>,
    y: &Array1<f64>,
    inputs: &[String],
    rows: &[&Record],
) -> Result<Form, TrainError> {
    let groups = Groups { x, y, rates: by_rate(x, y, inputs, rows)?.0 };
    let labels: Vec<&str> = rows.iter().map(|row| row.workload.as_str()).collect();
    let all: Vec<usize> = (0..rows.len()).collect();
    let costs = groups.costs(&all);
    let (correction, share) = match groups.choose(&labels)? {
        Some((penalty, share)) => (groups.correction(&costs, &all, penalty)?, share),
        None => {
            let powers = Array1::zeros(inputs.len());
            (Correction { intercept: 0.0, powers, limit: 0.0 }, 0.0)
        }
    };
    Ok(Form::Corrected {
        coefficients: costs.to_vec(),
        intercept: share * correction.intercept,
        powers: (correction.powers * share).to_vec(),
        limit: share * correction.limit,
    })
}

impl Groups<'_> {
    /// The penalty and the share that do best on workloads left out; `None` if none of them is
    /// surely better than no correction.
    fn choose(&self, labels: &[&str]) -> Result<Option<(f64, f64)>, TrainError> {
        // With two workloads nothing is left to choose by.
        let splits = leave_one_group_out(labels).unwrap_or_default();
        if splits.len() < 3 {
            return Ok(None);
        }
        let mut without = Vec::new();
        let mut with = vec![Vec::new(); PENALTIES.len() * SHARES.len()];
        for (_, split) in &splits {
            let costs = self.costs(&split.train);
            let off = |factor: &dyn Fn(usize) -> f64| {
                let sum = |row: usize| self.x.row(row).dot(&costs) * factor(row);
                let (mut predicted, mut truth) = (0.0, 0.0);
                for &row in &split.test {
                    (predicted, truth) = (predicted + sum(row), truth + self.y[row]);
                }
                (predicted / truth.max(1.0) - 1.0).abs()
            };
            without.push(off(&|_| 1.0));
            for (place, penalty) in PENALTIES.into_iter().enumerate() {
                let found = self.correction(&costs, &split.train, penalty)?;
                for (at, share) in SHARES.into_iter().enumerate() {
                    let factor = |row: usize| (share * found.log(&self.rates, row)).exp();
                    with[place * SHARES.len() + at].push(off(&factor));
                }
            }
        }
        let mut best = (GAIN_MIN, None);
        for (place, errors) in with.iter().enumerate() {
            let gain = sure_gain(&without, errors);
            if gain > best.0 {
                let (penalty, share) = (place / SHARES.len(), place % SHARES.len());
                best = (gain, Some((PENALTIES[penalty], SHARES[share])));
            }
        }
        Ok(best.1)
    }

    /// Costs learned from some rows.
    fn costs(&self, rows: &[usize]) -> Array1<f64> {
        costs(&self.x.select(Axis(0), rows), &self.y.select(Axis(0), rows)).into()
    }

    /// The correction of costs, learned from the rows that these were learned from.
    fn correction(
        &self,
        costs: &Array1<f64>,
        rows: &[usize],
        penalty: f64,
    ) -> Result<Correction, TrainError> {
        let error = |&row: &usize| (self.y[row] / self.x.row(row).dot(costs).max(1.0)).ln();
        let errors: Array1<f64> = rows.iter().map(error).collect();
        let limit = errors.iter().fold(0.0f64, |most, error| most.max(error.abs()));
        let (intercept, powers) =
            scaled_ridge(&self.rates.select(Axis(0), rows), &errors, penalty)?;
        Ok(Correction { intercept, powers: powers.into(), limit })
    }
}

impl Correction {
    /// The correction of a row.
    fn log(&self, rates: &Array2<f64>, row: usize) -> f64 {
        (self.intercept + rates.row(row).dot(&self.powers)).clamp(-self.limit, self.limit)
    }
}

/// How much less the second errors are in the mean, if that is more than two standard errors; else
/// 0.
fn sure_gain(before: &[f64], after: &[f64]) -> f64 {
    let gains: Vec<f64> = before.iter().zip(after).map(|(before, after)| before - after).collect();
    let count = gains.len() as f64;
    let mean = gains.iter().sum::<f64>() / count;
    let squares: f64 = gains.iter().map(|gain| (gain - mean).powi(2)).sum();
    let error = (squares / (count - 1.0) / count).sqrt();
    if mean > 2.0 * error { mean } else { 0.0 }
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
    fn what_costs_cannot_say_is_corrected() {
        let mut records = made_up(&LABELS, 20);
        for row in &mut records.rows {
            // The more misses come, the less time: no event may give time back.
            let (misses, instructions) = (row.inputs["LLC_MISSES"], row.inputs["INSTR"]);
            row.target_ns = instructions * (200.0 * misses / instructions).powf(-0.3);
        }
        let (corrected, costs) =
            (unseen(Learner::Corrected, &records), unseen(Learner::Costs, &records));
        assert!(corrected < 0.5 * costs, "{corrected} corrected, {costs} before");
    }

    #[test]
    fn a_gain_of_one_workload_alone_is_not_sure() {
        assert_eq!(sure_gain(&[0.5, 0.1, 0.1, 0.1], &[0.1, 0.1, 0.1, 0.15]), 0.0);
        let gain = sure_gain(&[0.3, 0.4, 0.3, 0.4], &[0.1, 0.2, 0.2, 0.2]);
        assert!((gain - 0.175).abs() < 1e-12);
    }
}
