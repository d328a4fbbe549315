//! A model of a drive of which few points are known, as of a real one: [`Bottleneck`] says what
//! holds requests up, and a Gaussian process what it leaves of the points.
//!
//! How far off it is, is measured by learning from random parts of the points and predicting the
//! others, ten times over. The model itself learns from all points, so it is somewhat better than
//! that. Intervals are made from the same errors ([`conformal`]).
//!
//! Only the latency is learned: in a closed loop IOPS are outstanding requests over latency, and
//! bandwidth is IOPS times the mean size.
//!
//! Cost: some 20 ms to learn from 100 points, ten times that for the errors; 2 us a prediction.

use super::bottleneck::{Bottleneck, Load};
use super::conformal;
use super::estimate::{Estimate, Interval, Range, number};
use super::features::{Characteristics, Features};
use super::fit::{FitOptions, GRID_TRAIN, GRID_TRAIN_MIN, TESTS_MIN};
use super::model::{BlackBoxModel, COVERAGE, LoopError, Provenance, Target};
use super::point::Point;
use super::regressor::{FitError, Learner, Recipe, Scale};
use super::results::{PointResult, Results};
use ndarray::{Array1, Array2};
use rayon::prelude::*;
use serde::de::IgnoredAny;
use serde::{Deserialize, Serialize};
use ssdtune_learn::gp::{GpMean, GpParams, LengthScales, PriorMean};
use ssdtune_learn::metrics::ErrorReport;
use ssdtune_learn::{ModelFile, ModelFileError, Version, selection};
use std::collections::BTreeSet;
use std::path::Path;
use std::time::Instant;

/// The fewest points that are learned from, and the fewest that test.
pub const FEW_MIN: usize = 5;
/// The fewest points that a process is learned from.
const PROCESS_MIN: usize = 8;
/// The most parts that points are taken out in, to see which other drive this one is like.
const FOLDS_MAX: usize = 10;
/// How often points are divided to test.
const DIVISIONS: u64 = 10;
/// Names of the columns.
const COLUMNS: [&str; 5] =
    ["log2 outstanding", "log2 jobs", "log2 sectors", "writes", "sequential"];

const FILE: ModelFile =
    ModelFile { holds: "model of few points", written_by: "ssdtune predict-perf fit" };

/// A model of a drive of which few points are known.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DriveModel {
    version: Version<1>,
    /// Where the model comes from.
    pub provenance: Provenance,
    bottleneck: Bottleneck,
    /// What the bottlenecks leave of the logarithms of latencies; `None` where points are too few.
    process: Option<GpMean>,
    /// The truth is between `value * low` and `value * high` nine times in ten; `None` where points
    /// are too few to say.
    factors: Option<Interval>,
    /// The ranges of the columns in training.
    ranges: Vec<Range>,
}

/// A model of either kind.
#[derive(Clone, Debug)]
pub enum AnyModel {
    /// Learned from a grid of points, or thousands of others.
    Grid(Box<BlackBoxModel>),
    /// Learned from few points.
    Few(Box<DriveModel>),
}

impl AnyModel {
    /// Reads a model from a file and checks it.
    ///
    /// # Errors
    /// The file cannot be read, or holds no model.
    pub fn read(path: &Path) -> Result<Self, ModelFileError> {
        #[derive(Deserialize)]
        struct Head {
            bottleneck: Option<IgnoredAny>,
        }
        let text = std::fs::read_to_string(path).unwrap_or_default();
        match serde_json::from_str(&text) {
            Ok(Head { bottleneck: Some(_) }) => DriveModel::read(path).map(Box::new).map(Self::Few),
            _ => BlackBoxModel::read(path).map(Box::new).map(Self::Grid),
        }
    }
}

/// What a model of few points predicts for a point.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct DrivePrediction {
    /// The point.
    pub point: Point,
    /// Mean latency in nanoseconds.
    pub latency: Estimate,
    /// Requests completed in a second.
    pub iops: Estimate,
    /// Bytes moved in a second.
    pub bandwidth: Estimate,
    /// A sentence for each characteristic that is outside of the training data.
    pub warnings: Vec<String>,
}

/// How good one kind of model is on points that it has not learned from.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct DriveEntry {
    /// The kind of model.
    pub model: &'static str,
    /// The target that is predicted.
    pub target: Target,
    /// Mean relative error, the mean of all divisions.
    pub mre: f64,
    /// The smallest and the greatest of a division.
    pub mre_range: [f64; 2],
    /// Median relative error, the mean of all divisions.
    pub relative_p50: f64,
    /// R², the mean of all divisions.
    pub r2: f64,
}

/// How good a model of few points is.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct DriveReport {
    /// Name of the device.
    pub device: String,
    /// Names of the other drives that this one may be like.
    pub others: Vec<String>,
    /// The one of them whose numbers are what is expected of this one; `None` if this is what is
    /// usual for drives.
    pub like: Option<String>,
    /// How many points there are. The model learns from all.
    pub points: usize,
    /// How many the tests learn from, and how many they predict.
    pub divided: [usize; 2],
    /// How often the points were divided at random.
    pub divisions: u64,
    /// Errors of every kind of model.
    pub entries: Vec<DriveEntry>,
    /// The share of latencies inside of the intervals that the errors of all other points make;
    /// `None` where points are too few.
    pub inside: Option<f64>,
    /// The upper end of an interval over its lower end.
    pub width: Option<f64>,
    /// Time to learn from all points, in seconds.
    pub fit_seconds: f64,
    /// Time of one prediction, in nanoseconds.
    pub predict_ns: f64,
}

/// A measured point, ready to learn from.
#[derive(Clone, Debug)]
struct Row {
    load: Load,
    outstanding: f64,
    bytes: f64,
    workload: Characteristics,
    truths: [f64; 3],
}

impl Row {
    fn of(result: &PointResult) -> Result<Self, FitError> {
        let open = || FitError::Rows(format!("{} is of an open loop", result.point));
        let outstanding = result.point.outstanding().ok_or_else(open)?;
        let workload = Characteristics::of_point(&result.point, None);
        let performance = &result.performance;
        Ok(Self {
            load: Load::of(&workload, f64::from(result.point.jobs())),
            outstanding,
            bytes: workload.mean_bytes(),
            workload,
            truths: [performance.latency_ns, performance.iops, performance.bandwidth_bps],
        })
    }

    fn log_latency(&self) -> f64 {
        self.truths[0].ln()
    }

    /// What a latency makes of all targets.
    fn all_of(&self, latency_ns: f64) -> [f64; 3] {
        let iops = self.outstanding * 1e9 / latency_ns;
        [latency_ns, iops, iops * self.bytes]
    }
}

/// What was learned from some rows.
struct Learned {
    bottleneck: Bottleneck,
    process: Option<GpMean>,
    /// The place of the other drive that it is like.
    like: Option<usize>,
}

impl Learned {
    fn from(rows: &[&Row], others: &[Bottleneck], seed: u64) -> Self {
        let loads: Vec<Load> = rows.iter().map(|row| row.load).collect();
        let logs: Vec<f64> = rows.iter().map(|row| row.log_latency()).collect();
        let like = most_alike(&loads, &logs, others, seed);
        let other = like.map(|at| &others[at]);
        let bottleneck = Bottleneck::fit(&loads, &logs, other, seed);
        let left: Vec<f64> =
            loads.iter().zip(&logs).map(|(load, log)| log - bottleneck.log_latency(load)).collect();
        Self { bottleneck, process: process(&loads, left, seed), like }
    }

    fn log_latency(&self, load: &Load) -> f64 {
        log_latency(&self.bottleneck, self.process.as_ref(), load)
    }
}

fn log_latency(bottleneck: &Bottleneck, process: Option<&GpMean>, load: &Load) -> f64 {
    let left = process.and_then(|own| own.predict_one(&load.columns()).ok());
    bottleneck.log_latency(load) + left.unwrap_or(0.0)
}

/// The place of the other drive beside which points are predicted best by those that are left when
/// they are taken out; `None` if what is usual for drives does as well.
fn most_alike(loads: &[Load], logs: &[f64], others: &[Bottleneck], seed: u64) -> Option<usize> {
    if others.is_empty() {
        return None;
    }
    let folds = selection::k_fold(loads.len(), loads.len().min(FOLDS_MAX), seed).ok()?;
    let error = |other: Option<&Bottleneck>| -> f64 {
        let of_fold = |split: &selection::Split| -> f64 {
            let known: Vec<Load> = split.train.iter().map(|&row| loads[row]).collect();
            let told: Vec<f64> = split.train.iter().map(|&row| logs[row]).collect();
            let drive = Bottleneck::fit(&known, &told, other, seed);
            let error = |&row: &usize| (drive.log_latency(&loads[row]) - logs[row]).abs();
            split.test.iter().map(error).sum()
        };
        folds.iter().map(of_fold).sum()
    };
    let all = others.iter().enumerate().map(|(at, other)| (error(Some(other)), Some(at)));
    let best = all.chain([(error(None), None)]).min_by(|a, b| a.0.total_cmp(&b.0));
    best.and_then(|(_, at)| at)
}

/// The process of what is left; `None` if that is next to nothing, or of too few points.
fn process(loads: &[Load], left: Vec<f64>, seed: u64) -> Option<GpMean> {
    let greatest = left.iter().fold(0f64, |most, one| most.max(one.abs()));
    if left.len() < PROCESS_MIN || greatest < 1e-3 {
        return None;
    }
    let columns = |(row, column): (usize, usize)| loads[row].columns()[column];
    let x = Array2::from_shape_fn((loads.len(), COLUMNS.len()), columns);
    let y = Array1::from(left);
    // Far from all points nothing is left: the bottlenecks extrapolate, and the process does not.
    let params = GpParams::new(LengthScales::Ard).mean(PriorMean::Fixed(0.0)).starts(2).seed(seed);
    params.fit(x.view(), y.view()).ok().map(|model| model.expectation())
}

impl DriveModel {
    /// Reads a model from a file and checks it.
    ///
    /// # Errors
    /// The file cannot be read, or holds no such model.
    pub fn read(path: &Path) -> Result<Self, ModelFileError> {
        FILE.read(path, Self::verify)
    }

    /// The model as a JSON document.
    pub fn to_json(&self) -> String {
        serde_json::to_string(self).expect("a model is plain data") + "\n"
    }

    fn verify(&self) -> Result<(), String> {
        let fits = self.process.as_ref().is_none_or(|own| own.columns() == COLUMNS.len());
        let factors = self.factors.is_none_or(|own| own.low > 0.0 && own.low <= own.high);
        match self.bottleneck.is_sound() && fits && factors && self.ranges.len() == COLUMNS.len() {
            true => Ok(()),
            false => Err("its parts do not fit together".to_owned()),
        }
    }

    /// Predicts a point of a closed loop.
    ///
    /// # Errors
    /// The point is of an open loop, or a rate is given.
    pub fn predict(&self, point: &Point, rate: Option<f64>) -> Result<DrivePrediction, LoopError> {
        let outstanding = point.outstanding().filter(|_| rate.is_none());
        let outstanding = outstanding.ok_or(LoopError::RateOfClosedLoop)?;
        let workload = Characteristics::of_point(point, None);
        let load = Load::of(&workload, f64::from(point.jobs()));
        let value = log_latency(&self.bottleneck, self.process.as_ref(), &load).exp();
        let iops = outstanding * 1e9 / value;
        let slow =
            self.factors.map(|own| Interval { low: value * own.low, high: value * own.high });
        // What takes longer is done less often.
        let fast =
            |of: f64| self.factors.map(|own| Interval { low: of / own.high, high: of / own.low });
        let bandwidth = iops * workload.mean_bytes();
        Ok(DrivePrediction {
            point: *point,
            latency: Estimate { value, interval: slow },
            iops: Estimate { value: iops, interval: fast(iops) },
            bandwidth: Estimate { value: bandwidth, interval: fast(bandwidth) },
            warnings: self.outside(&load),
        })
    }

    /// A sentence for each column that is outside of its range in training.
    fn outside(&self, load: &Load) -> Vec<String> {
        let outside = |(range, value): (&Range, f64)| {
            let Range { name, low, high } = range;
            let inside = (low - 1e-9..=high + 1e-9).contains(&value);
            (!inside).then(|| {
                let [value, low, high] = [value, *low, *high].map(number);
                format!("{name} = {value} is outside the training range {low} to {high}")
            })
        };
        self.ranges.iter().zip(load.columns()).filter_map(outside).collect()
    }
}

impl Results {
    /// Whether these are points of a real drive, and too few to learn from as from a grid: the
    /// [`GRID_TRAIN`] of the paper, or as many as `train` says.
    pub fn are_few(&self, train: Option<usize>) -> bool {
        let wanted = train.unwrap_or(GRID_TRAIN);
        let is_real = self.source.settings().is_none();
        is_real && (wanted < GRID_TRAIN_MIN || self.rows.len() < wanted + TESTS_MIN)
    }
}

/// Learns a model of all points, and measures how good its kind is by learning from
/// `options.train` of them at a time. With models of other drives the numbers of the most alike are
/// what is expected of this one, where that helps.
///
/// # Errors
/// There are too few points, or some are of an open loop.
pub fn fit_few(
    results: &Results,
    others: &[DriveModel],
    options: &FitOptions,
) -> Result<(DriveModel, DriveReport), FitError> {
    let FitOptions { train, seed, .. } = *options;
    let rows = results.rows.iter().map(Row::of).collect::<Result<Vec<_>, _>>()?;
    if train < FEW_MIN || rows.len() < train + FEW_MIN {
        return Err(FitError::Rows(format!(
            "{} points, {train} of them to learn from: learn from at least {FEW_MIN} and leave as \
             many to test on",
            rows.len()
        )));
    }
    let numbers: Vec<Bottleneck> = others.iter().map(|own| own.bottleneck).collect();
    let tests: Vec<Division> = (0..DIVISIONS)
        .into_par_iter()
        .map(|number| Division::new(&rows, train, &numbers, seed + number))
        .collect::<Result<_, _>>()?;
    let start = Instant::now();
    let Learned { bottleneck, process, like } =
        Learned::from(&rows.iter().collect::<Vec<_>>(), &numbers, seed);
    let fit_seconds = start.elapsed().as_secs_f64();
    let errors: Vec<(usize, f64)> = tests.iter().flat_map(|one| one.errors.clone()).collect();
    let factors = interval(errors.iter().map(|(_, error)| *error));
    let model = DriveModel {
        version: Version,
        provenance: Provenance {
            source: results.source.clone(),
            results_digest: results.digest(),
            points: rows.len(),
            trained_on: rows.len(),
            seed,
            program: options.program.clone(),
            command: options.command.clone(),
        },
        bottleneck,
        process,
        factors,
        ranges: ranges(&rows),
    };
    let name = |own: &DriveModel| own.provenance.source.device().to_owned();
    let start = Instant::now();
    results.rows.iter().for_each(|row| drop(model.predict(&row.point, None)));
    let report = DriveReport {
        device: results.source.device().to_owned(),
        others: others.iter().map(name).collect(),
        like: like.map(|at| name(&others[at])),
        points: rows.len(),
        divided: [train, rows.len() - train],
        divisions: DIVISIONS,
        entries: entries(&tests),
        inside: inside(&errors),
        width: factors.map(|own| own.high / own.low),
        fit_seconds,
        predict_ns: start.elapsed().as_secs_f64() * 1e9 / rows.len() as f64,
    };
    Ok((model, report))
}

/// What the points were divided into once, and what came of it.
struct Division {
    /// Errors of each kind of model, for each target.
    reports: Vec<(&'static str, [ErrorReport; 3])>,
    /// Logarithms of truth over prediction of the latencies, by the model of this file, each with
    /// the number of its point.
    errors: Vec<(usize, f64)>,
}

impl Division {
    fn new(rows: &[Row], train: usize, others: &[Bottleneck], seed: u64) -> Result<Self, FitError> {
        let share = train as f64 / rows.len() as f64;
        let parts = selection::partition(rows.len(), &[share, 1.0 - share], seed)?;
        let [known, new]: [Vec<&Row>; 2] =
            [0, 1].map(|part: usize| parts[part].iter().map(|&row| &rows[row]).collect());
        let learned = Learned::from(&known, others, seed);
        let found: Vec<f64> = new.iter().map(|row| learned.log_latency(&row.load)).collect();
        let error = |(row, log): (&&Row, &f64)| row.log_latency() - log;
        let errors = new.iter().zip(&found).map(error);
        let errors = parts[1].iter().copied().zip(errors).collect();
        let bottlenecks: Vec<f64> =
            new.iter().map(|row| learned.bottleneck.log_latency(&row.load)).collect();
        let mut kinds = vec![
            ("one IOPS for all", one_rate(&known, &new)),
            ("nearest point", nearest(&known, &new)),
            ("extended (Eq. 4)", extended(&known, &new)?),
        ];
        if !others.is_empty() {
            kinds.push(("another drive and one factor", one_factor(&known, &new, others)));
            let alone = Learned::from(&known, &[], seed);
            let found = new.iter().map(|row| alone.log_latency(&row.load)).collect();
            kinds.push(("without other drives", found));
        }
        kinds.extend([("bottlenecks", bottlenecks), ("bottlenecks and process", found)]);
        let report = |(name, logs): (&'static str, Vec<f64>)| {
            let all: Vec<[f64; 3]> =
                new.iter().zip(&logs).map(|(row, log)| row.all_of(log.exp())).collect();
            let of = |target: usize| {
                let truths: Vec<f64> = new.iter().map(|row| row.truths[target]).collect();
                let found: Vec<f64> = all.iter().map(|one| one[target]).collect();
                ErrorReport::new(&truths, &found)
            };
            Ok((name, [of(0)?, of(1)?, of(2)?]))
        };
        let reports = kinds.into_iter().map(report).collect::<Result<_, FitError>>()?;
        Ok(Self { reports, errors })
    }
}

/// As if the drive served so many requests a second whatever they are.
fn one_rate(known: &[&Row], new: &[&Row]) -> Vec<f64> {
    let rates = known.iter().map(|row| row.outstanding.ln() - row.log_latency());
    let mean = rates.sum::<f64>() / known.len() as f64;
    new.iter().map(|row| row.outstanding.ln() - mean).collect()
}

/// The latency of the nearest known point, in octaves and shares.
fn nearest(known: &[&Row], new: &[&Row]) -> Vec<f64> {
    let far = |a: &Row, b: &Row| -> f64 {
        let pairs = a.load.columns().into_iter().zip(b.load.columns());
        pairs.map(|(a, b)| (a - b) * (a - b)).sum()
    };
    let log = |row: &&Row| {
        let best = known.iter().min_by(|a, b| far(a, row).total_cmp(&far(b, row)));
        best.map_or(f64::NAN, |best| best.log_latency())
    };
    new.iter().map(log).collect()
}

/// The paper's extended model: least squares on Eq. 4.
fn extended(known: &[&Row], new: &[&Row]) -> Result<Vec<f64>, FitError> {
    let learner = Learner::Tree { min_leaf: known.len(), smoothing: 0 };
    let recipe = Recipe { features: Features::Extended, scale: Scale::Plain, learner };
    let workloads: Vec<Characteristics> = known.iter().map(|row| row.workload).collect();
    let latencies: Vec<f64> = known.iter().map(|row| row.truths[0]).collect();
    let model = recipe.fit(&workloads, &latencies, 0)?;
    Ok(new.iter().map(|row| model.predict(&row.workload).ln()).collect())
}

/// Another drive's numbers, and the mean factor between them and the known points: the drive of
/// which these factors vary least.
fn one_factor(known: &[&Row], new: &[&Row], others: &[Bottleneck]) -> Vec<f64> {
    let fitted = others.iter().map(|other| {
        let factors = known.iter().map(|row| row.log_latency() - other.log_latency(&row.load));
        let factors: Vec<f64> = factors.collect();
        let mean = factors.iter().sum::<f64>() / factors.len() as f64;
        (factors.iter().map(|one| (one - mean).powi(2)).sum::<f64>(), mean, other)
    });
    let best = fitted.min_by(|a, b| a.0.total_cmp(&b.0));
    let of = |row: &&Row| best.map_or(f64::NAN, |(_, mean, own)| own.log_latency(&row.load) + mean);
    new.iter().map(of).collect()
}

/// Means over the divisions.
fn entries(tests: &[Division]) -> Vec<DriveEntry> {
    let count = tests.len() as f64;
    let kinds = tests.first().map_or(0, |one| one.reports.len());
    let entry = |kind: usize, at: usize| {
        let all = || tests.iter().map(|one| &one.reports[kind].1[at]);
        let mean = |of: &dyn Fn(&ErrorReport) -> f64| all().map(of).sum::<f64>() / count;
        let least = all().map(|one| one.mre).fold(f64::INFINITY, f64::min);
        let most = all().map(|one| one.mre).fold(0.0, f64::max);
        DriveEntry {
            model: tests[0].reports[kind].0,
            target: Target::ALL[at],
            mre: mean(&|one| one.mre),
            mre_range: [least, most],
            relative_p50: mean(&|one| one.relative_p50),
            r2: mean(&|one| one.r2),
        }
    };
    (0..kinds)
        .flat_map(|kind| (0..3).map(move |at| (kind, at)))
        .map(|(k, at)| entry(k, at))
        .collect()
}

/// The factors that the middle nine tenths of errors lie between.
fn interval(errors: impl Iterator<Item = f64>) -> Option<Interval> {
    let errors: Vec<f64> = errors.collect();
    let (low, high) = conformal::middle(&errors, COVERAGE)?;
    Some(Interval { low: low.exp(), high: high.exp() })
}

/// The share of errors inside of the interval that the errors of the other points make.
fn inside(errors: &[(usize, f64)]) -> Option<f64> {
    let points: BTreeSet<usize> = errors.iter().map(|(point, _)| *point).collect();
    let mut held = 0usize;
    for point in points {
        let of = |is_own: bool| {
            let chosen = errors.iter().filter(move |(other, _)| (*other == point) == is_own);
            chosen.map(|(_, error)| *error)
        };
        let made = interval(of(false))?;
        held += of(true).filter(|error| made.holds(error.exp())).count();
    }
    Some(held as f64 / errors.len() as f64)
}

/// The range of each column.
fn ranges(rows: &[Row]) -> Vec<Range> {
    let range = |(column, name): (usize, &&str)| {
        let values = || rows.iter().map(|row| row.load.columns()[column]);
        let low = values().fold(f64::INFINITY, f64::min);
        Range { name: (*name).to_owned(), low, high: values().fold(f64::NEG_INFINITY, f64::max) }
    };
    COLUMNS.iter().enumerate().map(range).collect()
}

#[cfg(test)]
mod tests;
