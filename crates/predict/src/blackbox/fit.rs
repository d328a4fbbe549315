//! From measured points to a model and a report of how good it is.
//!
//! The model learns from a random part of the points; the others only test it. Everything that is
//! chosen (scale, size of leaves) is chosen by cross-validation inside the training part, on
//! latency, and holds for all three targets.
//!
//! The points of a sweep share their random draws, and what is special in these can be learned. So
//! the others are best measured with another seed ([`fit_and_test`]).
//!
//! The report has the two tables of the paper (least squares on Eq. 2 and on Eq. 4), both again as
//! trees on the scale that is chosen (basic and extended tree), bagged trees, a Gaussian process,
//! the stronger model, which blends the last two, and in a closed loop the quick tree that it
//! teaches ([`distil`](super::distil)). Each target is learned by itself. IOPS and bandwidth are
//! also computed from the predicted latency: in a closed loop IOPS = depth / latency, and bandwidth
//! = IOPS x mean size. In an open loop the drive serves what is offered, so only latency is of
//! interest.
//!
//! Cost: about a minute for 2,000 points, most of it for the Gaussian processes.

mod quick;
mod scores;

pub use scores::{Coverage, KindError};

use super::estimate::Range;
use super::features::{Characteristics, Features};
use super::model::{Banded, BlackBoxModel, Provenance, Target, TargetRegressors};
use super::point::{Load, Point};
use super::regressor::{Bag, FitError, Learner, Recipe, Regressor, Scale, blended};
use super::results::{PointResult, Results};
use super::shape_model::ShapeReport;
use super::simulated_drive::MeasureSettings;
use scores::{coverage, kinds};
use serde::Serialize;
use ssdtune_learn::Version;
use ssdtune_learn::metrics::{self, ErrorReport};
use ssdtune_learn::selection;
use std::collections::BTreeSet;
use std::time::Instant;

/// How a model is fitted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FitOptions {
    /// How many points the model learns from; the others test it.
    pub train: usize,
    /// Decides which points the model learns from, and all that is drawn while it learns.
    pub seed: u64,
    /// Folds of the cross-validation that chooses and that finds the intervals.
    pub folds: usize,
    /// The program and the version of its simulator's results, for the provenance.
    pub program: String,
    /// The command line of the program, for the provenance.
    pub command: String,
}

/// How good one regressor is: a line of a [`FitReport`].
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct FitEntry {
    /// The kind of model: `basic` or `extended` (both as in the paper), `basic tree`, `extended
    /// tree`, `bagged trees`, `Gaussian process`, `stronger`, which blends the last two or is the
    /// better of them, or `quick tree`, which the stronger one has taught.
    pub model: &'static str,
    /// The target that is predicted.
    pub target: Target,
    /// Whether the target is computed from the predicted latency and not learned by itself.
    pub derived: bool,
    /// The columns, the scale and the learner, in words.
    pub recipe: String,
    /// The number of leaves of all trees and of rows that a Gaussian process keeps.
    pub leaves: usize,
    /// Errors on the points that were not learned from.
    pub error: ErrorReport,
    /// Time to fit the regressor, in seconds.
    pub fit_seconds: f64,
    /// Time of one prediction, in nanoseconds.
    pub predict_ns: f64,
}

/// How good a model is.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct FitReport {
    /// Name of the device.
    pub device: String,
    /// Whether the points are of an open loop.
    pub open: bool,
    /// How many points the model learned from.
    pub trained_on: usize,
    /// How many points the model was tested on.
    pub tested_on: usize,
    /// Whether these share their random draws with the points learned from.
    pub shares_draws: bool,
    /// Errors of every kind of model.
    pub entries: Vec<FitEntry>,
    /// Errors of the latency of pure reads, of pure writes and of mixed points, as far as there are
    /// any.
    pub kinds: Vec<KindError>,
    /// How good the intervals of the latency are.
    pub coverage: Vec<Coverage>,
    /// The columns of the latency's tree with their shares in what it explains, the largest first.
    pub importance: Vec<(String, f64)>,
    /// How good the model of windows is, if there is one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub windows: Option<ShapeReport>,
}

/// Workloads, and what was measured of them.
struct Measured {
    workloads: Vec<Characteristics>,
    /// For each target the truth of every workload.
    truths: [Vec<f64>; 3],
}

impl Measured {
    fn of<'a>(rows: impl Iterator<Item = &'a PointResult>) -> Self {
        let mut data = Self { workloads: Vec::new(), truths: Default::default() };
        for PointResult { point, performance, .. } in rows {
            data.workloads.push(Characteristics::of_point(point, performance.offered_iops));
            let truths = [performance.latency_ns, performance.iops, performance.bandwidth_bps];
            data.truths.iter_mut().zip(truths).for_each(|(list, truth)| list.push(truth));
        }
        data
    }

    /// What predicted latencies make of a target.
    fn derived(&self, target: Target, latencies: &[f64]) -> Vec<f64> {
        let from = |(workload, latency): (&Characteristics, &f64)| {
            let iops = workload.offered_iops.unwrap_or(workload.extended.q_dep * 1e9 / latency);
            match target {
                Target::Latency => *latency,
                Target::Iops => iops,
                Target::Bandwidth => iops * workload.mean_bytes(),
            }
        };
        self.workloads.iter().zip(latencies).map(from).collect()
    }
}

/// Recipes of the extended tree, of which cross-validation chooses one.
fn tree_recipes() -> Vec<Recipe> {
    let recipe = |(features, scale, min_leaf, smoothing)| Recipe {
        features,
        scale,
        learner: Learner::Tree { min_leaf, smoothing },
    };
    [
        (Features::Extended, Scale::Relative, 20, 0),
        (Features::Extended, Scale::Log, 12, 0),
        (Features::Octaves, Scale::Log, 12, 0),
        (Features::Octaves, Scale::Log, 12, 5),
        (Features::Octaves, Scale::Log, 18, 0),
    ]
    .map(recipe)
    .into()
}

/// Recipes of the bagged trees, of which cross-validation chooses one.
fn bag_recipes() -> Vec<Recipe> {
    let recipe = |(min_leaf, columns, smoothing)| {
        let learner = Learner::Bag(Bag { trees: 16, min_leaf, columns, smoothing });
        Recipe { features: Features::Derived, scale: Scale::Log, learner }
    };
    [(18, 12, 5), (24, 12, 0), (32, 16, 0), (48, 16, 0)].map(recipe).into()
}

/// The recipe of the Gaussian process.
const PROCESS: Recipe = Recipe {
    features: Features::Shares,
    scale: Scale::Log,
    learner: Learner::Process { tuned_on: TUNED_ON },
};

/// How many rows the Gaussian process is tuned on. With 300 its error is twice as large on drives
/// whose latency has edges.
const TUNED_ON: usize = 600;

/// Weights of the trees in the blend, in percent; 0 and 100 leave only one of the two.
const BAG_PERCENTS: [u32; 5] = [0, 25, 50, 75, 100];

/// Fits a model to some of the points and tests it on the others.
///
/// # Errors
/// There are too few points, or points of open and of closed loops together.
pub fn fit(
    results: &Results,
    options: &FitOptions,
) -> Result<(BlackBoxModel, FitReport), FitError> {
    fit_and_test(results, None, options)
}

/// Fits a model to some of the points. Half of those of `tests` that it has not learned from make
/// the intervals, and the others test it: the same drive, measured with another seed.
///
/// # Errors
/// There are too few points, or points of open and of closed loops together, or `tests` is of
/// another drive, of other settings, or of the same seed.
pub fn fit_and_test(
    results: &Results,
    tests: Option<&Results>,
    options: &FitOptions,
) -> Result<(BlackBoxModel, FitReport), FitError> {
    let open = is_open(&results.rows)?;
    let Parts { train, calibration, test } = parts(results, tests, options)?;
    let mut entries = Vec::new();
    for (model, features) in [("basic", Features::Basic), ("extended", Features::Extended)] {
        let min_leaf = features.names(open).len() + 5;
        let learner = Learner::Tree { min_leaf, smoothing: 0 };
        let recipe = Recipe { features, scale: Scale::Plain, learner };
        learn(model, &recipe, &train, &test, options.seed, &mut entries)?;
    }
    let choose = |recipes: &[Recipe]| {
        let (workloads, latency) = (&train.workloads, &train.truths[0]);
        Recipe::best_of(recipes, workloads, latency, options.folds, options.seed)
    };
    let (tree, _) = choose(&tree_recipes())?;
    let basic = Recipe { features: Features::Basic, ..tree };
    learn("basic tree", &basic, &train, &test, options.seed, &mut entries)?;
    let mut learned = |model, recipe: &Recipe| -> Result<LearnerFit, FitError> {
        let regressors = learn(model, recipe, &train, &test, options.seed, &mut entries)?;
        LearnerFit::new(regressors, &train, options)
    };
    let trees = learned("extended tree", &tree)?;
    let (bag, _) = choose(&bag_recipes())?;
    let bags = learned("bagged trees", &bag)?;
    let processes = learned("Gaussian process", &PROCESS)?;
    let strongs = stronger(bags, processes, &train.truths[0])?;
    let blended = ["bagged trees", "Gaussian process"];
    let of_parts = |at: &usize| blended.iter().map(|part| seconds(&entries, part, *at)).sum();
    let sums: Vec<f64> = (0..strongs.regressors.len()).map(|at| of_parts(&at)).collect();
    report("stronger", strongs.regressors.iter().zip(sums), &test, &mut entries)?;

    let pupils = match open {
        true => Vec::new(),
        false => quick::quick(&strongs.regressors, &train, &test, options.seed, &mut entries)?,
    };
    let targets = banded(&trees, &strongs, pupils, &train, calibration.as_ref())?;
    let provenance = Provenance {
        source: results.source.clone(),
        results_digest: results.digest(),
        points: results.rows.len(),
        trained_on: train.workloads.len(),
        seed: options.seed,
        program: options.program.clone(),
        command: options.command.clone(),
    };
    let ranges = ranges(&train.workloads, open);
    let version = Version;
    let model =
        BlackBoxModel { version, provenance, open, ranges, targets, windows: None, shapes: None };
    let report = FitReport {
        device: results.source.device().to_owned(),
        open,
        trained_on: train.workloads.len(),
        tested_on: test.workloads.len(),
        shares_draws: tests.is_none(),
        entries,
        kinds: kinds(&model, &test)?,
        coverage: coverage(&model, &test),
        importance: importance(&model),
        windows: None,
    };
    Ok((model, report))
}

/// The regressors of all targets, with the bands of their errors on the points that make the
/// intervals, or on those learned from.
fn banded(
    trees: &LearnerFit,
    strongs: &LearnerFit,
    pupils: Vec<Regressor>,
    train: &Measured,
    calibration: Option<&Measured>,
) -> Result<Vec<TargetRegressors>, FitError> {
    let new = calibration.unwrap_or(train);
    let mut pupils = pupils.into_iter();
    let of = |(at, target)| {
        let leaf_of = leaves(&trees.regressors[at], &new.workloads)?;
        let banded = |fit: &LearnerFit| {
            let found = fit.found(at, calibration);
            Banded::new(fit.regressors[at].clone(), &leaf_of, &new.truths[at], &found)
        };
        let (tree, strong, quick) = (banded(trees)?, banded(strongs)?, pupils.next());
        Ok(TargetRegressors { target, tree, strong, quick })
    };
    Target::ALL.into_iter().enumerate().map(of).collect()
}

/// What is learned from, what makes the intervals, and what tests.
struct Parts {
    train: Measured,
    /// `None` if cross-validation makes the intervals.
    calibration: Option<Measured>,
    test: Measured,
}

/// Divides the points: into two, or with `tests` those and these each into two.
fn parts(
    results: &Results,
    tests: Option<&Results>,
    options: &FitOptions,
) -> Result<Parts, FitError> {
    let rows = &results.rows;
    let (train, test) = divide(rows.len(), options)?;
    let own = |list: &[usize]| Measured::of(list.iter().map(|&row| &rows[row]));
    let Some(tests) = tests else {
        return Ok(Parts { train: own(&train), calibration: None, test: own(&test) });
    };
    let new = other_draws(results, &train, tests)?;
    let halves = selection::partition(new.len(), &[0.5, 0.5], options.seed)?;
    let half = |at: usize| Measured::of(halves[at].iter().map(|&row| new[row]));
    Ok(Parts { train: own(&train), calibration: Some(half(0)), test: half(1) })
}

/// Whether all points are of an open loop.
fn is_open(rows: &[PointResult]) -> Result<bool, FitError> {
    let open = |row: &PointResult| matches!(row.point.load(), Load::Percent(_));
    let count = rows.iter().filter(|row| open(row)).count();
    if count > 0 && count < rows.len() {
        let closed = rows.len() - count;
        return Err(FitError::Rows(format!(
            "{count} open points and {closed} closed ones: a model is of one kind, fit them apart"
        )));
    }
    Ok(count > 0)
}

/// The rows to learn from and the rows to test on.
fn divide(rows: usize, options: &FitOptions) -> Result<(Vec<usize>, Vec<usize>), FitError> {
    let FitOptions { train, seed, .. } = *options;
    if train < GRID_TRAIN_MIN || rows < train + TESTS_MIN {
        return Err(FitError::Rows(format!(
            "{train} points to learn from (--train) and {rows} in all: learn from at least \
             {GRID_TRAIN_MIN} and leave at least {TESTS_MIN} to test on"
        )));
    }
    let share = train as f64 / rows as f64;
    let mut parts = selection::partition(rows, &[share, 1.0 - share], seed)?;
    let test = parts.pop().unwrap_or_default();
    Ok((parts.pop().unwrap_or_default(), test))
}

/// The points of `tests` that were not learned from, if these are of the same drive, measured in
/// the same way but for the seed. The drive is known by its name: its digest has the seed in it.
fn other_draws<'a>(
    results: &Results,
    train: &[usize],
    tests: &'a Results,
) -> Result<Vec<&'a PointResult>, FitError> {
    let (own, other) = (&results.source, &tests.source);
    let wrong = |problem: String| Err(FitError::Rows(format!("the points to test on {problem}")));
    if own.device() != other.device() {
        return wrong(format!("are of {}, not of {}", other.device(), own.device()));
    }
    match (own.settings(), other.settings()) {
        (Some(one), Some(two)) if one.seed == two.seed => {
            return wrong(format!("share --seed {} with those to learn from", one.seed));
        }
        (Some(one), Some(two)) if (MeasureSettings { seed: one.seed, ..two.clone() }) != *one => {
            return wrong("were measured with other settings".to_owned());
        }
        _ => {}
    }
    if is_open(&tests.rows)? != is_open(&results.rows)? {
        return wrong("are of the other kind of loop".to_owned());
    }
    let known: BTreeSet<Point> = train.iter().map(|&row| results.rows[row].point).collect();
    let new: Vec<_> = tests.rows.iter().filter(|row| !known.contains(&row.point)).collect();
    match new.len() {
        0..NEW_MIN => wrong(format!("are {} new ones: give at least {NEW_MIN}", new.len())),
        _ => Ok(new),
    }
}

/// How many points of a grid are learned from if nobody says: the paper's number.
pub const GRID_TRAIN: usize = 2_000;
/// The fewest points of a grid that are learned from.
pub(super) const GRID_TRAIN_MIN: usize = 100;
/// The fewest points that a model is tested on.
pub(super) const TESTS_MIN: usize = 20;
/// The fewest points of another seed: half of them make the intervals, whose two ends need 19.
const NEW_MIN: usize = 2 * TESTS_MIN;

/// What one recipe learned: a regressor for each target.
struct LearnerFit {
    regressors: Vec<Regressor>,
    /// For each target what models predict for the training rows that they have not seen.
    unseen: Vec<Vec<f64>>,
}

impl LearnerFit {
    fn new(
        regressors: Vec<Regressor>,
        train: &Measured,
        options: &FitOptions,
    ) -> Result<Self, FitError> {
        let FitOptions { folds, seed, .. } = *options;
        let unseen = |(regressor, truths): (&Regressor, &Vec<f64>)| {
            regressor.unseen(&train.workloads, truths, folds, seed)
        };
        let unseen = regressors.iter().zip(&train.truths).map(unseen).collect::<Result<_, _>>()?;
        Ok(Self { regressors, unseen })
    }

    /// What is predicted for a target of workloads that were not learned from: those given, or the
    /// training rows by models that have not seen them.
    fn found(&self, at: usize, new: Option<&Measured>) -> Vec<f64> {
        let predict = |one: &Characteristics| self.regressors[at].predict(one);
        match new {
            Some(new) => new.workloads.iter().map(predict).collect(),
            None => self.unseen[at].clone(),
        }
    }
}

/// The blend of trees and process whose weight is best for the latency on rows that neither has
/// seen; only one of them if the other does not help.
fn stronger(
    bags: LearnerFit,
    processes: LearnerFit,
    latency: &[f64],
) -> Result<LearnerFit, FitError> {
    let mut best = (f64::INFINITY, 0);
    for bag_percent in BAG_PERCENTS {
        let found = blended(bag_percent, &bags.unseen[0], &processes.unseen[0]);
        let error = metrics::mre(latency, &found)?;
        if error < best.0 {
            best = (error, bag_percent);
        }
    }
    let bag_percent = match best.1 {
        0 => return Ok(processes),
        100 => return Ok(bags),
        other => other,
    };
    let learners = [&bags, &processes].map(|fit| fit.regressors[0].recipe().learner);
    let [Learner::Bag(bag), Learner::Process { tuned_on }] = learners else {
        unreachable!("bags are of a bag's recipe and processes of a process'")
    };
    let blend = Recipe { learner: Learner::Blend { bag, tuned_on, bag_percent }, ..PROCESS };
    let both = bags.unseen.iter().zip(&processes.unseen);
    let unseen = both.map(|(bag, process)| blended(bag_percent, bag, process)).collect();
    let both = bags.regressors.into_iter().zip(processes.regressors);
    let regressors = both.map(|(bag, process)| blend.blend([bag, process])).collect();
    Ok(LearnerFit { regressors, unseen })
}

/// How long it took to fit a model's regressor of a target, in seconds.
fn seconds(entries: &[FitEntry], model: &str, at: usize) -> f64 {
    let own = |entry: &&FitEntry| entry.model == model && !entry.derived;
    entries.iter().filter(own).nth(at).map_or(0.0, |entry| entry.fit_seconds)
}

/// Learns all three targets by a recipe, and adds their errors to the entries.
fn learn(
    model: &'static str,
    recipe: &Recipe,
    train: &Measured,
    test: &Measured,
    seed: u64,
    entries: &mut Vec<FitEntry>,
) -> Result<Vec<Regressor>, FitError> {
    let fit = |truths: &Vec<f64>| {
        let start = Instant::now();
        let regressor = recipe.fit(&train.workloads, truths, seed)?;
        Ok((regressor, start.elapsed().as_secs_f64()))
    };
    let fitted = train.truths.iter().map(fit).collect::<Result<Vec<_>, FitError>>()?;
    report(model, fitted.iter().map(|(one, seconds)| (one, *seconds)), test, entries)?;
    Ok(fitted.into_iter().map(|(regressor, _)| regressor).collect())
}

/// Adds the errors of the regressors of all three targets to the entries, and those of IOPS and
/// bandwidth computed from the latency.
fn report<'a>(
    model: &'static str,
    fitted: impl Iterator<Item = (&'a Regressor, f64)>,
    test: &Measured,
    entries: &mut Vec<FitEntry>,
) -> Result<(), FitError> {
    let mut derived = Vec::new();
    for (at, (target, (regressor, fit_seconds))) in Target::ALL.into_iter().zip(fitted).enumerate()
    {
        let (found, predict_ns) = predict(regressor, &test.workloads);
        let mut entry = FitEntry {
            model,
            target,
            derived: false,
            recipe: regressor.recipe().to_string(),
            leaves: regressor.leaves(),
            error: ErrorReport::new(&test.truths[at], &found)?,
            fit_seconds,
            predict_ns,
        };
        entries.push(entry.clone());
        if target == Target::Latency {
            for (at, target) in Target::ALL.into_iter().enumerate().skip(1) {
                let error = ErrorReport::new(&test.truths[at], &test.derived(target, &found))?;
                entry = FitEntry { target, derived: true, error, ..entry };
                derived.push(entry.clone());
            }
        }
    }
    entries.append(&mut derived);
    Ok(())
}

/// Predictions, and the time of one in nanoseconds: the least of several parts, since other
/// programs only ever add time.
fn predict(regressor: &Regressor, workloads: &[Characteristics]) -> (Vec<f64>, f64) {
    let (mut found, mut least) = (Vec::with_capacity(workloads.len()), f64::INFINITY);
    for part in workloads.chunks(100) {
        let start = Instant::now();
        found.extend(part.iter().map(|one| regressor.predict(one)));
        least = least.min(start.elapsed().as_secs_f64() * 1e9 / part.len() as f64);
    }
    (found, least)
}

/// The leaf of the tree that each workload comes to.
fn leaves(tree: &Regressor, workloads: &[Characteristics]) -> Result<Vec<usize>, FitError> {
    let leaf = |workload| tree.path(workload).map_or(Ok(0), |path| Ok(path?.leaf));
    workloads.iter().map(leaf).collect()
}

/// The range of each characteristic.
fn ranges(workloads: &[Characteristics], open: bool) -> Vec<Range> {
    let rows: Vec<Vec<f64>> = workloads.iter().map(|one| Features::Extended.row(one)).collect();
    let range = |(column, name): (usize, String)| {
        // The size of a direction without requests is written as 0 and is none.
        let real = |value: &f64| !name.ends_with("_size") || *value > 0.0;
        let values = || rows.iter().map(|row| row[column]).filter(real);
        let low = values().fold(f64::INFINITY, f64::min);
        let high = values().fold(f64::NEG_INFINITY, f64::max);
        match low <= high {
            true => Range { name, low, high },
            false => Range { name, low: 0.0, high: 0.0 },
        }
    };
    Features::Extended.names(open).into_iter().enumerate().map(range).collect()
}

/// The columns of the latency's tree with their shares in what it explains, the largest first.
fn importance(model: &BlackBoxModel) -> Vec<(String, f64)> {
    let regressor = &model.targets[0].tree.regressor;
    let names = regressor.recipe().features.names(model.open);
    let shares = regressor.importance();
    let mut all: Vec<(String, f64)> = names.into_iter().zip(shares).collect();
    all.sort_by(|a, b| b.1.total_cmp(&a.1));
    all
}

#[cfg(test)]
mod tests;
