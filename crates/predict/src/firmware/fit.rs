//! Learners judged on workloads they have not seen, and a model of the best.
//!
//! Every learner is trained once for each workload without it, and then predicts it (§3 of the
//! paper); networks as many times as there are seeds. If wanted, the shape of the paper's network
//! is searched before that. The model holds the learner with the least error of the average, and
//! the learner from a simulator's counts, both trained on all records.
//!
//! Cost: seconds for a thousand records without networks; hours with them.

mod gain;
mod judge;
mod model;
mod search;

pub use gain::{Gain, Gains};
pub use judge::{
    Figures, FirmwareShare, Judgement, PredictionErrors, WorkloadError, percentile_99,
};
pub use model::{FirmwareModel, FirmwareProvenance, PredictError, PredictedGroup};

use super::events::{TABLE_5, TABLE_5_PAPER, TLB_EVENTS};
use super::predictor::Predictor;
use super::profile::{Profile, Statistic};
use super::records::{HOST_NS, JoinError, Record, Records, join};
use super::regress::{Learner, NetworkShape, TrainError, passes};
use judge::{judge, shares};
use rayon::prelude::*;
use search::{ShapedLearner, search};
use serde::Serialize;
use ssdtune_learn::Version;
use ssdtune_learn::selection::{self, SplitError};
use std::collections::BTreeMap;

/// Which networks are trained.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Networks {
    /// None. Others are trained by the program `ssdtune-train`.
    None,
    /// Networks of the paper's shape.
    PaperShape,
    /// Networks of the paper's shape, and the paper's network with the shapes that a search over
    /// Table 2 finds.
    Search,
}

/// How a model is fitted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FitOptions {
    /// Which of the repeated times of a group is taken for its time.
    pub statistic: Statistic,
    /// Which networks are trained.
    pub networks: Networks,
    /// How many times training of a network passes over the rows; `None` for as many as make the
    /// paper's number of steps.
    pub epochs: Option<usize>,
    /// With how many seeds each network is trained.
    pub seeds: u64,
    /// Decides the folds of the search.
    pub seed: u64,
    /// The program and the version of its simulator's results, for the provenance.
    pub program: String,
}

/// A function that is told what becomes of networks, in one line for each shape that a search has
/// tried and for each network that is judged: a fit with networks takes minutes to hours.
pub type Say<'a> = &'a (dyn Fn(&str) + Sync);

/// Why no model could be fitted.
#[derive(Debug, thiserror::Error)]
pub enum FitError {
    /// The profiles do not belong together, or lack events or times.
    #[error(transparent)]
    Join(#[from] JoinError),
    /// A learner failed.
    #[error(transparent)]
    Train(#[from] TrainError),
    /// There are too few records.
    #[error(transparent)]
    Split(#[from] SplitError),
}

/// How the number of an event goes with the target's time, as in Table 5.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Correlation {
    /// Name of the event.
    pub event: String,
    /// Pearson's coefficient here; `None` if the source of events does not have the event.
    pub here: Option<f64>,
    /// Pearson's coefficient in the paper; `None` for events that it left out.
    pub paper: Option<f64>,
}

/// What a fit found.
#[derive(Clone, Debug, Serialize)]
pub struct FitReport {
    /// How many groups both profiles have.
    pub records: usize,
    /// How each event goes with the target's time, as in Table 5.
    pub correlations: Vec<Correlation>,
    /// Pearson's coefficient of the host's time with the target's.
    pub host_correlation: f64,
    /// The least and the greatest ratio of the target's time of a workload to the host's.
    pub ratio: (f64, f64),
    /// How far one time of the target is from the median of its group, relative to it.
    pub target_noise: f64,
    /// How far one time of the host is from the median of its group, relative to it.
    pub host_noise: f64,
    /// Relative standard error of the target's medians.
    pub target_floor: f64,
    /// The share of firmware in the time of firmware and flash for each workload, as in Fig. 1.
    pub shares: Vec<FirmwareShare>,
    /// How good each learner is on workloads it has not seen.
    pub judgements: Vec<Judgement>,
    /// Name of the learner with the least error of the average.
    pub best: String,
    /// How networks were shaped and trained, by the names of the learners.
    pub networks: BTreeMap<String, NetworkShape>,
}

/// Fits every learner to the groups that a host's and a target's profile have in common, and makes
/// a model of the best.
///
/// # Errors
/// The profiles do not belong together, or a learner fails.
pub fn fit(
    host: &Profile,
    target: &Profile,
    options: &FitOptions,
    say: Say<'_>,
) -> Result<(FirmwareModel, FitReport), FitError> {
    let records = join(host, target, options.statistic)?;
    let (report, profiled, counts) = fit_records(&records, options, say)?;
    let errors = |name: &str| {
        let found = report.judgements.iter().find(|one| one.learner == name);
        found.map(|one| one.plain.clone()).expect("every learner is judged")
    };
    let model = FirmwareModel {
        firmware_time_model: Version,
        provenance: FirmwareProvenance {
            host: host.source.clone(),
            target: target.source.clone(),
            groups: report.records,
            statistic: options.statistic,
            program: options.program.clone(),
        },
        learner: report.best.clone(),
        profiled,
        counts,
        profiled_errors: errors(&report.best),
        counts_errors: errors(Learner::Counts.name()),
    };
    Ok((model, report))
}

/// The report, the best learner's function, and the function of a simulator's counts.
fn fit_records(
    records: &Records,
    options: &FitOptions,
    say: Say<'_>,
) -> Result<(FitReport, Predictor, Predictor), FitError> {
    let named = learners(records, options, say)?;
    let mut judgements = Vec::new();
    for (name, learner) in &named {
        if learner.shape().is_some() {
            say(&format!("judging {name}"));
        }
        judgements.push(judged(name, *learner, records, options)?);
    }
    let factor = judgements.iter().find(|one| one.learner == Learner::ScaledHost.name()).cloned();
    for one in judgements.iter_mut().filter(|one| one.learner != Learner::ScaledHost.name()) {
        one.gains = factor.as_ref().map(|factor| one.gains_over(factor));
    }
    let error = |place: &usize| judgements[*place].plain.average_percent;
    // The learner of counts needs no profile: it is kept in any case, and does not compete.
    let profiled = (0..named.len()).filter(|&place| named[place].1 != Learner::Counts);
    let best = profiled.min_by(|a, b| error(a).total_cmp(&error(b))).unwrap_or(0);
    let all: Vec<&Record> = records.rows.iter().collect();
    let train = |learner: Learner| learner.train(&learner.inputs(records), &all);
    let (model, counts) = (train(named[best].1)?, train(Learner::Counts)?);
    let report = FitReport {
        records: records.rows.len(),
        correlations: correlations(records),
        host_correlation: correlation(records, HOST_NS).unwrap_or(0.0),
        ratio: ratio(records),
        target_noise: records.target_noise,
        host_noise: records.host_noise,
        target_floor: records.target_floor,
        shares: shares(records),
        best: judgements[best].learner.clone(),
        judgements,
        networks: named.into_iter().filter_map(|(name, one)| Some((name, one.shape()?))).collect(),
    };
    Ok((report, model, counts))
}

/// The learners to judge, each with its name in the report.
type NamedLearners = Vec<(String, Learner)>;

/// The learners to judge. A shape that a search finds twice is judged once.
fn learners(
    records: &Records,
    options: &FitOptions,
    say: Say<'_>,
) -> Result<NamedLearners, FitError> {
    let plain = [
        Learner::Static,
        Learner::ScaledHost,
        Learner::Linear,
        Learner::Costs,
        Learner::Corrected,
        Learner::Powers,
        Learner::Trees,
        Learner::Counts,
    ];
    let mut named: NamedLearners =
        plain.iter().map(|&learner| (learner.name().to_owned(), learner)).collect();
    let epochs = options.epochs.unwrap_or_else(|| passes(records.rows.len()));
    let networks: [ShapedLearner; 2] = [Learner::Dnn, Learner::RateDnn];
    if options.networks != Networks::None {
        let paper = networks.map(|network| network(NetworkShape::paper(epochs)));
        named.extend(paper.map(|learner| (learner.name().to_owned(), learner)));
    }
    if options.networks == Networks::Search {
        let network: ShapedLearner = Learner::Dnn;
        let found = search(network, records, epochs, options.seed, say)?.map(network);
        for (learner, which) in found.into_iter().zip(["searched", "by p99"]) {
            if !named.iter().any(|(_, known)| *known == learner) {
                named.push((format!("{}, {which}", learner.name()), learner));
            }
        }
    }
    Ok(named)
}

/// How good a learner is on workloads it has not seen.
fn judged(
    name: &str,
    learner: Learner,
    records: &Records,
    options: &FitOptions,
) -> Result<Judgement, FitError> {
    let seeded = learner.seeded(options.seeds);
    let each: Result<Vec<Judgement>, FitError> =
        seeded.iter().map(|&one| Ok(judge(name, records, &unseen(one, records)?))).collect();
    let mut each = each?;
    match learner.shape() {
        Some(_) => Ok(Judgement::of_seeds(&each)),
        None => Ok(each.swap_remove(0)),
    }
}

/// What a learner predicts for every record when it has not seen the record's workload.
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

/// How each event of Table 5 and of TLBs goes with the target's time.
fn correlations(records: &Records) -> Vec<Correlation> {
    let paper = TABLE_5_PAPER.into_iter().map(Some).chain([None; TLB_EVENTS.len()]);
    let rows = TABLE_5.iter().chain(&TLB_EVENTS).zip(paper).map(|(&event, paper)| Correlation {
        event: event.to_owned(),
        here: correlation(records, event),
        paper,
    });
    rows.collect()
}

/// Pearson's coefficient of an input with the target's time; `None` if the input never varies or a
/// record lacks it.
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

/// The least and the greatest ratio of the target's time of a workload to the host's.
fn ratio(records: &Records) -> (f64, f64) {
    let mut sums: BTreeMap<&str, (f64, f64)> = BTreeMap::new();
    for row in &records.rows {
        let entry = sums.entry(&row.workload).or_default();
        entry.0 += row.inputs.get(HOST_NS).copied().unwrap_or(0.0);
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
        let options = FitOptions {
            statistic: Statistic::Median,
            networks: Networks::None,
            epochs: None,
            seeds: 1,
            seed: 0,
            program: String::new(),
        };
        let (fitted, model, counts) = fit_records(&records, &options, &|_| ()).unwrap();
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
