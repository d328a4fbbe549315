//! The search of a network's shape over Table 2.
//!
//! The paper trains all 48 shapes to the end, 15 times each. Here all groups are divided into three
//! folds of whole workloads, and shapes are dropped in rounds: all are trained with a sixteenth of
//! the passes, the best quarter of them with a quarter, and the best quarter of those with all.
//! That costs a twentieth, and a shape that learns slowly but well may be dropped. Shapes are kept
//! by the average or by the 99th percentile. As in the paper, the search has seen every workload,
//! so shapes that it finds are judged a little too well; the paper's own shape is not.

use super::judge::PredictionErrors;
use super::{FitError, Say};
use crate::firmware::records::{Record, Records};
use crate::firmware::regress::{Learner, NetworkShape, TrainError};
use rayon::prelude::*;
use ssdtune_learn::selection::{Split, SplitError, k_fold};

/// Folds of the search.
const FOLDS: usize = 3;
/// One of this number of shapes stays after a round, and then gets this number of times the passes.
const KEPT: usize = 4;
/// Rounds before the last.
const ROUNDS: u32 = 2;

/// A function from a shape to the learner that is searched for.
pub(super) type ShapedLearner = fn(NetworkShape) -> Learner;

/// The shapes of Table 2 with which a learner predicts unseen workloads best: by the average of a
/// workload, and by its 99th percentile.
pub(super) fn search(
    learner: ShapedLearner,
    records: &Records,
    epochs: usize,
    seed: u64,
    say: Say<'_>,
) -> Result<[NetworkShape; 2], FitError> {
    let folds = workload_folds(&records.rows, seed)?;
    let judged = |shapes: &[NetworkShape], epochs: usize| -> Result<Vec<_>, TrainError> {
        let one = |&shape: &NetworkShape| {
            let shape = NetworkShape { epochs, ..shape };
            let errors = unseen_errors(learner(shape), records, &folds)?;
            let [average, p99] = [errors.average_percent, errors.p99_percent];
            say(&format!("{shape}: average {average:.1} % off, 99th percentile {p99:.1} %"));
            Ok(errors)
        };
        shapes.par_iter().map(one).collect()
    };
    let mut shapes = NetworkShape::table_2(epochs);
    for round in (1..=ROUNDS).rev() {
        let errors = judged(&shapes, epochs.div_ceil(KEPT.pow(round)))?;
        let kept = shapes.len().div_ceil(KEPT);
        let orders = orders(&errors);
        let is_kept = |place: &usize| orders.iter().any(|order| order[..kept].contains(place));
        shapes = (0..shapes.len()).filter(is_kept).map(|place| shapes[place]).collect();
    }
    Ok(orders(&judged(&shapes, epochs)?).map(|order| shapes[order[0]]))
}

/// The places of some errors from the least to the greatest: by the average, and by the 99th
/// percentile.
fn orders(errors: &[PredictionErrors]) -> [Vec<usize>; 2] {
    let by = |of: fn(&PredictionErrors) -> f64| {
        let mut order: Vec<usize> = (0..errors.len()).collect();
        order.sort_by(|&a, &b| of(&errors[a]).total_cmp(&of(&errors[b])));
        order
    };
    [by(|one| one.average_percent), by(|one| one.p99_percent)]
}

/// The errors of a learner over all folds, each predicted by a model that has not seen it.
fn unseen_errors(
    learner: Learner,
    records: &Records,
    folds: &[Split],
) -> Result<PredictionErrors, TrainError> {
    let inputs = learner.inputs(records);
    let mut groups = Vec::with_capacity(records.rows.len());
    for fold in folds {
        let train: Vec<&Record> = fold.train.iter().map(|&row| &records.rows[row]).collect();
        let model = learner.train(&inputs, &train)?;
        for row in fold.test.iter().map(|&row| &records.rows[row]) {
            groups.push((row.workload.as_str(), row.target_ns, model.predict(row)?));
        }
    }
    Ok(PredictionErrors::of(groups.into_iter()))
}

/// Folds that keep the records of a workload together, since a shape must suit workloads that it
/// has not seen.
fn workload_folds(rows: &[Record], seed: u64) -> Result<Vec<Split>, SplitError> {
    let mut labels: Vec<&str> = rows.iter().map(|row| row.workload.as_str()).collect();
    labels.sort_unstable();
    labels.dedup();
    let of = |places: &[usize]| -> Vec<usize> {
        let chosen =
            |row: &usize| places.iter().any(|&place| labels[place] == rows[*row].workload.as_str());
        (0..rows.len()).filter(chosen).collect()
    };
    let folds = k_fold(labels.len(), FOLDS, seed)?;
    Ok(folds.iter().map(|fold| Split { train: of(&fold.train), test: of(&fold.test) }).collect())
}

#[cfg(test)]
mod tests {
    use super::super::super::regress::tests::made_up;
    use super::*;

    #[test]
    fn folds_keep_workloads_whole() {
        let rows = made_up(&["AA", "BB", "CC", "DD"], 5).rows;
        let folds = workload_folds(&rows, 0).unwrap();
        let mut tested: Vec<usize> = folds.iter().flat_map(|fold| fold.test.clone()).collect();
        tested.sort_unstable();
        assert_eq!(tested, (0..20).collect::<Vec<_>>());
        let label = |row: &usize| rows[*row].workload.as_str();
        for fold in &folds {
            assert_eq!(fold.train.len() + fold.test.len(), 20);
            let both = |one| fold.train.iter().any(|row| label(row) == one);
            assert!(!fold.test.iter().map(label).any(both));
        }
        assert!(workload_folds(&rows[..10], 0).is_err(), "two workloads make no three folds");
    }

    /// A learner that trains in no time stands for the networks: of its shapes only one is not
    /// blind.
    #[test]
    fn the_shape_that_predicts_best_is_found() {
        let best = |shape: NetworkShape| match (shape.layers, shape.neurons) {
            (5, 256) if shape.learning_rate == 0.0002 => Learner::Linear,
            _ => Learner::Static,
        };
        let found = search(best, &made_up(&["AA", "BB", "CC", "DD"], 12), 32, 0, &|_| ()).unwrap();
        for shape in found {
            assert_eq!((shape.layers, shape.neurons, shape.epochs), (5, 256, 32), "{shape}");
            assert_eq!(shape.learning_rate, 0.0002);
        }
    }
}
