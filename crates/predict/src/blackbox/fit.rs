//! From measured points to a model and a report of how good it is.
//!
//! A random part of the points is learned from, the rest only tests. Everything that is chosen
//! (scale, size of leaves) is chosen by cross-validation inside the training part, on latency, and
//! holds for all three targets.
//!
//! The report has the paper's two tables (least squares on Eq. 2 and on Eq. 4), the extended tree
//! whose scale was chosen, bagged trees, a Gaussian process, and the stronger model, their blend;
//! each target learned by itself, and IOPS and bandwidth computed from the predicted latency: in a
//! closed loop IOPS = depth / latency, bandwidth = IOPS x mean size. In an open loop IOPS are what
//! is offered, so only latency is of interest.

use super::features::{Characteristics, Features};
use super::model::{Banded, Both, Model, Provenance, Range, Target};
use super::point::Load;
use super::regressor::{Bag, FitError, Learner, Recipe, Regressor, Scale, blended};
use super::results::{Results, Row};
use serde::Serialize;
use ssdtune_learn::Version;
use ssdtune_learn::metrics::{self, ErrorReport};
use ssdtune_learn::selection;
use std::time::Instant;

/// How a model is made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FitOptions {
    /// Points learned from; the others test.
    pub train: usize,
    /// What decides which.
    pub seed: u64,
    /// Folds of the choices and of the intervals.
    pub folds: usize,
    /// The program, for the model's provenance.
    pub program: String,
    /// How it was called.
    pub command: String,
}

/// One line of the report.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Entry {
    /// `basic`, `extended` (both as in the paper), `extended tree`, `bagged trees`, `Gaussian
    /// process`, and `stronger`, a blend of the last two or the better of them.
    pub model: &'static str,
    /// What is predicted.
    pub target: Target,
    /// Learned by itself, or computed from the predicted latency.
    pub derived: bool,
    /// How it was learned.
    pub recipe: String,
    /// Leaves of its trees, or rows that a Gaussian process remembers.
    pub leaves: usize,
    /// Errors on the points not learned from.
    pub error: ErrorReport,
    /// Seconds to fit it.
    pub fit_seconds: f64,
    /// Nanoseconds for a prediction.
    pub predict_ns: f64,
}

/// How often an interval held the truth, on the points not learned from.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Coverage {
    /// Which model.
    pub model: &'static str,
    /// Share of truths inside; 0.9 is aimed at.
    pub inside: f64,
    /// Mean of upper end over lower end.
    pub width: f64,
}

/// How good a model is.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct FitReport {
    /// The device.
    pub device: String,
    /// Whether the points are open ones.
    pub open: bool,
    /// Points learned from.
    pub trained_on: usize,
    /// Points not learned from.
    pub tested_on: usize,
    /// Errors of the models.
    pub entries: Vec<Entry>,
    /// Errors of latency's intervals.
    pub coverage: Vec<Coverage>,
    /// Characteristics by importance for the tree's latency.
    pub importance: Vec<(String, f64)>,
}

/// Workloads with one truth for each target.
struct Data {
    workloads: Vec<Characteristics>,
    truths: [Vec<f64>; 3],
}

impl Data {
    fn of<'a>(rows: impl Iterator<Item = &'a Row>) -> Self {
        let mut data = Self { workloads: Vec::new(), truths: Default::default() };
        for Row { point, figures, .. } in rows {
            data.workloads.push(Characteristics::of_point(point, figures.offered_iops));
            let truths = [figures.latency_ns, figures.iops, figures.bandwidth_bps];
            data.truths.iter_mut().zip(truths).for_each(|(list, truth)| list.push(truth));
        }
        data
    }

    /// IOPS or bandwidth from a latency.
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

/// The extended tree: what cross-validation chooses from.
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

/// Bagged trees: likewise.
fn bag_recipes() -> Vec<Recipe> {
    let recipe = |(min_leaf, columns, smoothing)| {
        let learner = Learner::Bag(Bag { trees: 16, min_leaf, columns, smoothing });
        Recipe { features: Features::Derived, scale: Scale::Log, learner }
    };
    [(18, 12, 5), (24, 12, 0), (32, 16, 0), (48, 16, 0)].map(recipe).into()
}

/// The process, of which there is nothing to choose.
const PROCESS: Recipe = Recipe {
    features: Features::Shares,
    scale: Scale::Log,
    learner: Learner::Process { tuned_on: TUNED_ON },
};

/// Rows of a process' tuning: 300 leave twice the error on drives whose latency has edges.
const TUNED_ON: usize = 600;

/// What trees may count beside the process; 0 and 100 leave one of them alone.
const BAG_PERCENTS: [u32; 5] = [0, 25, 50, 75, 100];

/// Fits a model to some of the points and tests it on the others.
///
/// # Errors
/// There are too few points, or open and closed ones together.
pub fn fit(results: &Results, options: &FitOptions) -> Result<(Model, FitReport), FitError> {
    let rows = &results.rows;
    let open = is_open(rows)?;
    let (train, test) = divide(rows.len(), options)?;
    let train = Data::of(train.iter().map(|&row| &rows[row]));
    let test = Data::of(test.iter().map(|&row| &rows[row]));
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
    let mut family = |model, recipe: &Recipe| -> Result<Family, FitError> {
        let regressors = learn(model, recipe, &train, &test, options.seed, &mut entries)?;
        Family::new(regressors, &train, options)
    };
    let trees = family("extended tree", &tree)?;
    let (bag, _) = choose(&bag_recipes())?;
    let bags = family("bagged trees", &bag)?;
    let processes = family("Gaussian process", &PROCESS)?;
    let strongs = stronger(bags, processes, &train.truths[0])?;
    let parts = ["bagged trees", "Gaussian process"];
    let of_parts = |at: &usize| parts.iter().map(|part| seconds(&entries, part, *at)).sum();
    let sums: Vec<f64> = (0..strongs.regressors.len()).map(|at| of_parts(&at)).collect();
    report("stronger", strongs.regressors.iter().zip(sums), &test, &mut entries)?;

    let mut targets = Vec::new();
    for (at, target) in Target::ALL.into_iter().enumerate() {
        let leaf_of = leaves(&trees.regressors[at], &train.workloads)?;
        let banded = |family: &Family| {
            let regressor = family.regressors[at].clone();
            Banded::new(regressor, &leaf_of, &train.truths[at], &family.unseen[at])
        };
        targets.push(Both { target, tree: banded(&trees)?, strong: banded(&strongs)? });
    }
    let provenance = Provenance {
        source: results.source.clone(),
        results_digest: results.digest(),
        points: rows.len(),
        trained_on: train.workloads.len(),
        seed: options.seed,
        program: options.program.clone(),
        command: options.command.clone(),
    };
    let ranges = ranges(&train.workloads, open);
    let model = Model { version: Version, provenance, open, ranges, targets };
    let report = FitReport {
        device: results.source.device().to_owned(),
        open,
        trained_on: train.workloads.len(),
        tested_on: test.workloads.len(),
        entries,
        coverage: coverage(&model, &test),
        importance: importance(&model),
    };
    Ok((model, report))
}

fn is_open(rows: &[Row]) -> Result<bool, FitError> {
    let open = |row: &Row| matches!(row.point.load(), Load::Percent(_));
    let count = rows.iter().filter(|row| open(row)).count();
    if count > 0 && count < rows.len() {
        let closed = rows.len() - count;
        return Err(FitError::Rows(format!(
            "{count} open points and {closed} closed ones: a model is of one kind, fit them apart"
        )));
    }
    Ok(count > 0)
}

/// Rows to learn from and rows to test on.
fn divide(rows: usize, options: &FitOptions) -> Result<(Vec<usize>, Vec<usize>), FitError> {
    let FitOptions { train, seed, .. } = *options;
    if train < 100 || rows < train + 20 {
        return Err(FitError::Rows(format!(
            "{rows} points, {train} of them to learn from: learn from at least 100 and leave at least 20 to \
             test on"
        )));
    }
    let share = train as f64 / rows as f64;
    let mut parts = selection::partition(rows, &[share, 1.0 - share], seed)?;
    let test = parts.pop().unwrap_or_default();
    Ok((parts.pop().unwrap_or_default(), test))
}

/// One recipe's regressors of all targets.
struct Family {
    regressors: Vec<Regressor>,
    /// Of each target, what the training rows are predicted by models that have not seen them.
    unseen: Vec<Vec<f64>>,
}

impl Family {
    fn new(
        regressors: Vec<Regressor>,
        train: &Data,
        options: &FitOptions,
    ) -> Result<Self, FitError> {
        let FitOptions { folds, seed, .. } = *options;
        let unseen = |(regressor, truths): (&Regressor, &Vec<f64>)| {
            regressor.unseen(&train.workloads, truths, folds, seed)
        };
        let unseen = regressors.iter().zip(&train.truths).map(unseen).collect::<Result<_, _>>()?;
        Ok(Self { regressors, unseen })
    }
}

/// Trees and process, weighted as is best for latency on rows that neither has seen; one of them
/// where the other does not help.
fn stronger(bags: Family, processes: Family, latency: &[f64]) -> Result<Family, FitError> {
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
    let learners = [&bags, &processes].map(|family| family.regressors[0].recipe().learner);
    let [Learner::Bag(bag), Learner::Process { tuned_on }] = learners else {
        unreachable!("bags are of a bag's recipe and processes of a process'")
    };
    let blend = Recipe { learner: Learner::Blend { bag, tuned_on, bag_percent }, ..PROCESS };
    let both = bags.unseen.iter().zip(&processes.unseen);
    let unseen = both.map(|(bag, process)| blended(bag_percent, bag, process)).collect();
    let both = bags.regressors.into_iter().zip(processes.regressors);
    let regressors = both.map(|(bag, process)| blend.blend([bag, process])).collect();
    Ok(Family { regressors, unseen })
}

/// Seconds that a model's own regressor of a target took.
fn seconds(entries: &[Entry], model: &str, at: usize) -> f64 {
    let own = |entry: &&Entry| entry.model == model && !entry.derived;
    entries.iter().filter(own).nth(at).map_or(0.0, |entry| entry.fit_seconds)
}

/// Learns all three targets by a recipe and reports them.
fn learn(
    model: &'static str,
    recipe: &Recipe,
    train: &Data,
    test: &Data,
    seed: u64,
    entries: &mut Vec<Entry>,
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

/// What all three targets' regressors are worth; also IOPS and bandwidth computed from the latency.
fn report<'a>(
    model: &'static str,
    fitted: impl Iterator<Item = (&'a Regressor, f64)>,
    test: &Data,
    entries: &mut Vec<Entry>,
) -> Result<(), FitError> {
    let mut derived = Vec::new();
    for (at, (target, (regressor, fit_seconds))) in Target::ALL.into_iter().zip(fitted).enumerate()
    {
        let (found, predict_ns) = predict(regressor, &test.workloads);
        let mut entry = Entry {
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
                entry = Entry { target, derived: true, error, ..entry };
                derived.push(entry.clone());
            }
        }
    }
    entries.append(&mut derived);
    Ok(())
}

/// Predictions, and the nanoseconds that one takes where nothing comes between.
fn predict(regressor: &Regressor, workloads: &[Characteristics]) -> (Vec<f64>, f64) {
    let (mut found, mut least) = (Vec::with_capacity(workloads.len()), f64::INFINITY);
    for part in workloads.chunks(100) {
        let start = Instant::now();
        found.extend(part.iter().map(|one| regressor.predict(one)));
        least = least.min(start.elapsed().as_secs_f64() * 1e9 / part.len() as f64);
    }
    (found, least)
}

fn leaves(tree: &Regressor, workloads: &[Characteristics]) -> Result<Vec<usize>, FitError> {
    let leaf = |workload| tree.path(workload).map_or(Ok(0), |path| Ok(path?.leaf));
    workloads.iter().map(leaf).collect()
}

fn ranges(workloads: &[Characteristics], open: bool) -> Vec<Range> {
    let rows: Vec<Vec<f64>> = workloads.iter().map(|one| Features::Extended.row(one)).collect();
    let range = |(column, name): (usize, String)| {
        // A direction without requests has no size, which is no size of 0.
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

fn coverage(model: &Model, test: &Data) -> Vec<Coverage> {
    let predictions: Vec<_> = test.workloads.iter().map(|one| model.predict(one)).collect();
    let count = predictions.len().max(1) as f64;
    let of = |name: &'static str,
              pick: &dyn Fn(&super::model::Prediction) -> super::model::Estimate| {
        let estimates = predictions.iter().map(pick);
        let (mut inside, mut width) = (0u32, 0.0);
        for (estimate, truth) in estimates.zip(&test.truths[0]) {
            inside += u32::from((estimate.low..=estimate.high).contains(truth));
            width += estimate.high / estimate.low;
        }
        Coverage { model: name, inside: f64::from(inside) / count, width: width / count }
    };
    vec![of("extended tree", &|p| p.tree[0]), of("stronger", &|p| p.strong[0])]
}

fn importance(model: &Model) -> Vec<(String, f64)> {
    let regressor = &model.targets[0].tree.regressor;
    let names = regressor.recipe().features.names(model.open);
    let shares = regressor.importance();
    let mut all: Vec<(String, f64)> = names.into_iter().zip(shares).collect();
    all.sort_by(|a, b| b.1.total_cmp(&a.1));
    all
}

#[cfg(test)]
mod tests {
    use super::super::measure::{Figures, Settings};
    use super::super::model::BAND_ROWS_MIN;
    use super::super::point::Point;
    use super::super::results::Source;
    use super::*;
    use ssdtune_model::DeviceConfig;
    use std::collections::BTreeMap;

    /// Latency follows the depth, IOPS the size: their trees have other leaves.
    #[test]
    fn intervals_are_those_of_the_leaves_of_each_targets_own_tree() {
        let mut rows = Vec::new();
        for depth in 1..=16 {
            for kib in [4, 8, 16, 32, 64, 128, 256, 512] {
                for random in [0, 50, 100] {
                    let name = format!("w0-q{depth}-R{kib}k.r{random}");
                    let point: Point = name.parse().unwrap();
                    let wobble = 1.0 + 0.01 * f64::from((depth * 7 + kib * 3 + random) % 11);
                    let figures = Figures {
                        latency_ns: 1e5 * f64::from(depth) * wobble,
                        iops: 4e6 / f64::from(kib) * wobble,
                        bandwidth_bps: 1e9 * wobble,
                        offered_iops: None,
                        requests: 1_000,
                    };
                    rows.push(Row { key: name, point, figures });
                }
            }
        }
        let settings = Settings::default();
        let source = Source::simulated(&DeviceConfig::default(), "test".into(), settings, &[]);
        let results = Results { source, rows };
        let (program, command) = ("test".to_owned(), String::new());
        let options = FitOptions { train: 300, seed: 1, folds: 3, program, command };
        let (model, _) = fit(&results, &options).unwrap();
        let (train, _) = divide(results.rows.len(), &options).unwrap();
        let train = Data::of(train.iter().map(|&row| &results.rows[row]));
        let mut all = Vec::new();
        for both in &model.targets {
            let mut counts: BTreeMap<usize, usize> = BTreeMap::new();
            for leaf in leaves(&both.tree.regressor, &train.workloads).unwrap() {
                *counts.entry(leaf).or_default() += 1;
            }
            counts.retain(|_, count| *count >= BAND_ROWS_MIN);
            let wanted: Vec<usize> = counts.into_keys().collect();
            for banded in [&both.tree, &both.strong] {
                assert_eq!(banded.leaves.keys().copied().collect::<Vec<_>>(), wanted);
            }
            all.push(wanted);
        }
        assert_ne!(all[0], all[1], "the trees must differ for this to say anything");
    }
}
