//! Learners judged on workloads they have not seen, the best kept.
//!
//! Every learner is trained fifteen times, each time without one workload, and predicts that one
//! (§3 of the paper). The network's shape is searched before that on a tenth of the records, on
//! three folds of whole workloads, which saves nine tenths of the paper's exhaustive search. As
//! there, the search has seen every workload when one is left out, so a searched shape is judged a
//! little too well; the paper's shape is not. The model file holds the learner with the least error
//! of the average, and that from a simulator's counts, both trained on all records.

mod judge;
mod model;

pub use judge::{Errors, Flash, Judgement, Share, WorkloadError, percentile_99};
pub use model::{FirmwareModel, Provenance};

use super::events::{TABLE_5, TABLE_5_PAPER};
use super::predictor::Predictor;
use super::records::{Record, Records};
use super::regress::{Learner, Shape, TrainError};
use judge::{judge, shares};
use rayon::prelude::*;
use serde::Serialize;
use ssdtune_learn::selection::{self, GridError, SplitError};
use std::collections::BTreeMap;

/// How networks are dealt with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Networks {
    /// None is trained.
    None,
    /// Of the paper's shape.
    PaperShape,
    /// Of the paper's shape, and of those that a search over Table 2 finds.
    Search,
}

/// What to fit, and how.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FitOptions {
    /// Networks.
    pub networks: Networks,
    /// Passes over the rows that a network takes.
    pub epochs: usize,
    /// What decides folds.
    pub seed: u64,
}

/// Why nothing was fitted.
#[derive(Debug, thiserror::Error)]
pub enum FitError {
    /// A learner.
    #[error(transparent)]
    Train(#[from] TrainError),
    /// The search of a network's shape.
    #[error("search of a network's shape: {0}")]
    Search(#[from] GridError<TrainError>),
    /// Too few records.
    #[error(transparent)]
    Split(#[from] SplitError),
}

/// Folds of the search, and one record of so many that it sees.
const FOLDS: usize = 3;
const TENTH: usize = 10;
/// But not fewer records than these, where there are as many: a shape shows nothing on a handful.
const SEARCH_MIN: usize = 300;

/// A coefficient of Table 5.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Correlation {
    /// The event.
    pub event: String,
    /// Pearson's, with the target's time; none where the source of events does not have it.
    pub here: Option<f64>,
    /// The paper's.
    pub paper: f64,
}

/// What was found.
#[derive(Clone, Debug, Serialize)]
pub struct Fitted {
    /// Records.
    pub records: usize,
    /// Table 5.
    pub correlations: Vec<Correlation>,
    /// Host's run time with the target's.
    pub host_correlation: f64,
    /// Least and most of the target's over the host's mean time of a workload.
    pub ratio: (f64, f64),
    /// What one run of the target is off its median.
    pub target_noise: f64,
    /// What one run of the host is off its median.
    pub host_noise: f64,
    /// What remains in the target's medians.
    pub target_floor: f64,
    /// Fig. 1: the firmware's share of firmware and flash time, workload by workload.
    pub shares: Vec<Share>,
    /// Every learner, judged.
    pub judgements: Vec<Judgement>,
    /// The best by the average.
    pub best: String,
    /// Shapes of networks that the search preferred: by the average, and by the 99th percentile.
    pub shapes: Option<[Shape; 2]>,
}

/// Fits every learner; the report, the best model, and the one from counts.
///
/// # Errors
/// A learner fails.
pub fn fit(
    records: &Records,
    options: FitOptions,
) -> Result<(Fitted, Predictor, Predictor), FitError> {
    let plain = [
        Learner::Static,
        Learner::ScaledHost,
        Learner::Linear,
        Learner::Costs,
        Learner::Powers,
        Learner::Trees,
        Learner::Counts,
    ];
    let mut named: Vec<(String, Learner)> =
        plain.iter().map(|&learner| (learner.name().to_owned(), learner)).collect();
    let mut networks = |shape: Shape, which: &str| {
        let both = [Learner::Dnn(shape), Learner::RateDnn(shape)];
        named.extend(both.map(|learner| (format!("{}{which}", learner.name()), learner)));
    };
    let mut shapes = None;
    if options.networks != Networks::None {
        networks(Shape::paper(options.epochs), "");
    }
    if options.networks == Networks::Search {
        let found = search(records, options)?;
        networks(found[0], ", searched");
        networks(found[1], ", by p99");
        shapes = Some(found);
    }
    let learners: Vec<Learner> = named.iter().map(|(_, learner)| *learner).collect();
    let mut judgements = Vec::new();
    for (name, learner) in &named {
        judgements.push(judge(name, records, &unseen(*learner, records)?));
    }
    let error = |place: &usize| judgements[*place].plain.average_percent;
    // What needs no profile is kept in any case, and does not compete.
    let profiled = (0..learners.len()).filter(|&place| learners[place] != Learner::Counts);
    let best = profiled.min_by(|a, b| error(a).total_cmp(&error(b))).unwrap_or(0);
    let all: Vec<&Record> = records.rows.iter().collect();
    let train = |learner: Learner| learner.train(&learner.inputs(records), &all);
    let (model, counts) = (train(learners[best])?, train(Learner::Counts)?);
    let fitted = Fitted {
        records: records.rows.len(),
        correlations: correlations(records),
        host_correlation: correlation(records, super::records::HOST_NS).unwrap_or(0.0),
        ratio: ratio(records),
        target_noise: records.target_noise,
        host_noise: records.host_noise,
        target_floor: records.target_floor,
        shares: shares(records),
        best: judgements[best].learner.clone(),
        judgements,
        shapes,
    };
    Ok((fitted, model, counts))
}

/// Predictions of every record by a model that has not seen its workload.
fn unseen(learner: Learner, records: &Records) -> Result<Vec<f64>, FitError> {
    let labels: Vec<&str> = records.rows.iter().map(|row| row.workload.as_str()).collect();
    let splits = selection::leave_one_group_out(&labels)?;
    let inputs = learner.inputs(records);
    let parts: Vec<Result<Vec<(usize, f64)>, TrainError>> = splits
        .par_iter()
        .map(|(_, split)| {
            let train: Vec<&Record> = split.train.iter().map(|&row| &records.rows[row]).collect();
            let model = learner.train(&inputs, &train)?;
            let one = |&row: &usize| Ok((row, model.predict(&records.rows[row])?));
            split.test.iter().map(one).collect()
        })
        .collect();
    let mut predictions = vec![0.0; records.rows.len()];
    for part in parts {
        for (row, prediction) in part? {
            predictions[row] = prediction;
        }
    }
    Ok(predictions)
}

/// The shapes of Table 2 that predict a tenth of the records best, from rates: by the mean relative
/// error, and by its 99th percentile.
fn search(records: &Records, options: FitOptions) -> Result<[Shape; 2], FitError> {
    let step = (records.rows.len() / SEARCH_MIN).clamp(1, TENTH);
    let tenth: Vec<&Record> = records.rows.iter().step_by(step).collect();
    let folds = workload_folds(&tenth, options.seed)?;
    let shapes = Shape::table_2(options.epochs);
    let inputs = Learner::RateDnn(shapes[0]).inputs(records);
    let errors = |shape: &Shape, fold: &selection::Split| -> Result<Vec<f64>, TrainError> {
        let train: Vec<&Record> = fold.train.iter().map(|&row| tenth[row]).collect();
        let model = Learner::RateDnn(*shape).train(&inputs, &train)?;
        let one =
            |&row: &usize| Ok((model.predict(tenth[row])? / tenth[row].target_ns - 1.0).abs());
        fold.test.iter().map(one).collect()
    };
    let tails = std::sync::Mutex::new(BTreeMap::<usize, f64>::new());
    let found = selection::grid_search(&shapes, &folds, |shape, fold| {
        let errors = errors(shape, fold)?;
        let place = shapes.iter().position(|other| other == shape).unwrap_or(0);
        let tail = percentile_99(&errors);
        *tails.lock().expect("nothing panics with it").entry(place).or_default() += tail;
        Ok(errors.iter().sum::<f64>() / errors.len() as f64)
    })?;
    let tails = tails.into_inner().expect("nothing panicked with it");
    let by_tail = tails.iter().min_by(|a, b| a.1.total_cmp(b.1)).map_or(found.best, |(at, _)| *at);
    Ok([shapes[found.best], shapes[by_tail]])
}

/// Folds that keep the records of a workload together: what a shape is for is a workload it has not
/// seen.
fn workload_folds(rows: &[&Record], seed: u64) -> Result<Vec<selection::Split>, SplitError> {
    let mut labels: Vec<&str> = rows.iter().map(|row| row.workload.as_str()).collect();
    labels.sort_unstable();
    labels.dedup();
    let of = |places: &[usize]| -> Vec<usize> {
        let chosen =
            |row: &usize| places.iter().any(|&place| labels[place] == rows[*row].workload.as_str());
        (0..rows.len()).filter(chosen).collect()
    };
    let folds = selection::k_fold(labels.len(), FOLDS, seed)?;
    Ok(folds
        .iter()
        .map(|fold| selection::Split { train: of(&fold.train), test: of(&fold.test) })
        .collect())
}

fn correlations(records: &Records) -> Vec<Correlation> {
    let known = |event: &str| records.events.iter().any(|known| known == event);
    let rows = TABLE_5.iter().zip(TABLE_5_PAPER).map(|(&event, paper)| Correlation {
        event: event.to_owned(),
        here: known(event).then(|| correlation(records, event)).flatten(),
        paper,
    });
    rows.collect()
}

/// Pearson's coefficient of an input with the target's time; none of an input that never varies.
fn correlation(records: &Records, input: &str) -> Option<f64> {
    let pairs: Option<Vec<(f64, f64)>> = (records.rows.iter())
        .map(|row| Some((row.inputs.get(input).copied()?, row.target_ns)))
        .collect();
    let pairs = pairs?;
    let count = pairs.len() as f64;
    let (x_mean, y_mean) =
        pairs.iter().fold((0.0, 0.0), |(x, y), pair| (x + pair.0 / count, y + pair.1 / count));
    let sum = |of: &dyn Fn(f64, f64) -> f64| -> f64 {
        pairs.iter().map(|(x, y)| of(x - x_mean, y - y_mean)).sum()
    };
    let (xx, yy, xy) = (sum(&|x, _| x * x), sum(&|_, y| y * y), sum(&|x, y| x * y));
    (xx > 0.0 && yy > 0.0).then(|| xy / (xx * yy).sqrt())
}

fn ratio(records: &Records) -> (f64, f64) {
    let mut sums: BTreeMap<&str, (f64, f64)> = BTreeMap::new();
    for row in &records.rows {
        let entry = sums.entry(&row.workload).or_default();
        entry.0 += row.inputs.get(super::records::HOST_NS).copied().unwrap_or(0.0);
        entry.1 += row.target_ns;
    }
    let ratios = sums.values().map(|(host, target)| target / host.max(1.0));
    ratios.fold((f64::INFINITY, 0.0), |(low, high), ratio| (low.min(ratio), high.max(ratio)))
}

#[cfg(test)]
mod tests {
    use super::super::regress::tests::made_up;
    use super::*;

    #[test]
    fn a_known_relation_is_found_on_unseen_workloads() {
        let records = made_up(&["AA", "BB", "CC", "DD"], 25);
        let options = FitOptions { networks: Networks::None, epochs: 20, seed: 0 };
        let (fitted, model, counts) = fit(&records, options).unwrap();
        let of = |name: &str| {
            fitted.judgements.iter().find(|one| one.learner == name).unwrap().plain.average_percent
        };
        assert!(of("linear") < 0.1 && of("costs") < 0.1, "{} {}", of("linear"), of("costs"));
        assert!(of("static") > 5.0, "{}", of("static"));
        assert!(["linear", "costs"].contains(&fitted.best.as_str()));
        let row = &records.rows[3];
        assert!((model.predict(row).unwrap() / row.target_ns - 1.0).abs() < 1e-3);
        assert!(counts.inputs.iter().all(|input| input != "HOST_NS"));
        assert_eq!(fitted.records, 100);
    }

    #[test]
    fn folds_keep_workloads_whole() {
        let records = made_up(&["AA", "BB", "CC", "DD"], 5);
        let rows: Vec<&Record> = records.rows.iter().collect();
        let folds = workload_folds(&rows, 0).unwrap();
        let mut tested: Vec<usize> = folds.iter().flat_map(|fold| fold.test.clone()).collect();
        tested.sort_unstable();
        assert_eq!(tested, (0..20).collect::<Vec<_>>());
        let label = |row: &usize| rows[*row].workload.as_str();
        for fold in &folds {
            assert_eq!(fold.train.len() + fold.test.len(), 20);
            assert!(
                !fold
                    .test
                    .iter()
                    .map(label)
                    .any(|one| fold.train.iter().any(|row| label(row) == one))
            );
        }
        assert!(workload_folds(&rows[..10], 0).is_err(), "two workloads make no three folds");
    }

    #[test]
    fn pearson_by_hand() {
        let mut records = made_up(&["AA", "BB"], 2);
        for (row, (x, y)) in
            records.rows.iter_mut().zip([(1.0, 1.0), (2.0, 3.0), (3.0, 2.0), (4.0, 4.0)])
        {
            row.inputs.insert("INSTR".to_owned(), x);
            row.target_ns = y;
        }
        // Deviations -1.5 -0.5 0.5 1.5 and -1.5 0.5 -0.5 1.5: 4 of 5.
        assert!((correlation(&records, "INSTR").unwrap() - 0.8).abs() < 1e-12);
        assert_eq!(correlation(&records, "requests"), None);
    }
}
