//! One target (latency, IOPS or bandwidth) as a function of a workload: which columns, on which
//! scale, by which learner ([`Recipe`]), and the fitted function ([`Regressor`]).
//!
//! A prediction costs the columns (50 ns; 300 ns for the derived ones) and a walk through each
//! tree, or for a Gaussian process one kernel for each row it learned from.

use super::features::{COLUMNS_MAX, Characteristics, Features};
use ndarray::{Array1, Array2, Axis};
use rayon::prelude::*;
use serde::{Deserialize, Serialize};
use ssdtune_learn::gp::{GpError, GpMean, GpModel, GpParams, LengthScales};
use ssdtune_learn::selection::{self, SplitError};
use ssdtune_learn::tree::{
    BagError, BagModel, BagParams, DecisionPath, Leaves, TreeError, TreeModel, TreeParams,
    Weighting,
};
use ssdtune_learn::{DataError, metrics};
use std::fmt;

/// On which scale a target is learned.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Scale {
    /// As it is, equal errors counting equally, as least squares do.
    Plain,
    /// As it is, equal relative errors counting equally.
    Relative,
    /// Its logarithm.
    Log,
}

/// What learns.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Learner {
    /// A pruned tree with linear leaves of at least so many rows.
    Tree {
        /// Fewest rows of a leaf.
        min_leaf: usize,
        /// Rows that a parent's model counts as in its children's.
        #[serde(default)]
        smoothing: u32,
    },
    /// The mean of trees with linear leaves, each grown on rows drawn with replacement.
    Bag(Bag),
    /// The mean of a Gaussian process with a length for each column.
    Process {
        /// Rows drawn to train its lengths and variances on; on all others it is only conditioned.
        tuned_on: usize,
    },
    /// The geometric mean of both: what each gets wrong is seldom the same. Trees see
    /// [`Features::Derived`], the process what the recipe says.
    Blend {
        /// The trees.
        bag: Bag,
        /// As of [`Learner::Process`].
        tuned_on: usize,
        /// What the trees count; the process counts the rest.
        bag_percent: u32,
    },
}

/// A bag of trees.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Bag {
    /// How many.
    pub trees: usize,
    /// Fewest rows of a leaf.
    pub min_leaf: usize,
    /// Columns tried at each split.
    pub columns: usize,
    /// Rows that a parent's model counts as in its children's.
    #[serde(default)]
    pub smoothing: u32,
}

/// How a target is learned.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Recipe {
    /// What is seen.
    pub features: Features,
    /// On which scale.
    pub scale: Scale,
    /// By what.
    pub learner: Learner,
}

/// Why nothing can be learned.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum FitError {
    /// The tree.
    #[error(transparent)]
    Tree(#[from] TreeError),
    /// The ensemble.
    #[error(transparent)]
    Bag(#[from] BagError),
    /// The process.
    #[error(transparent)]
    Process(#[from] GpError),
    /// The rows.
    #[error(transparent)]
    Data(#[from] DataError),
    /// The folds.
    #[error(transparent)]
    Split(#[from] SplitError),
    /// A comparison.
    #[error(transparent)]
    Measure(#[from] metrics::MetricsError),
    /// Points of different kinds, or too few.
    #[error("{0}")]
    Rows(String),
}

impl fmt::Display for Recipe {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let features = match self.features {
            Features::Basic => "Eq. 2",
            Features::Extended => "Eq. 4",
            Features::Octaves => "Eq. 4 in octaves",
            Features::Derived => "derived",
            Features::Shares => "derived and shares",
        };
        let scale = match self.scale {
            Scale::Plain => "plain",
            Scale::Relative => "relative",
            Scale::Log => "log",
        };
        match self.learner {
            Learner::Tree { min_leaf, smoothing } => write!(
                f,
                "{features}, {scale}, tree of leaves >= {min_leaf}, smoothed by {smoothing}"
            ),
            Learner::Bag(Bag { trees, min_leaf, columns, smoothing }) => write!(
                f,
                "{features}, {scale}, {trees} trees of leaves >= {min_leaf}, {columns} columns, smoothed by \
                 {smoothing}"
            ),
            Learner::Process { tuned_on } => {
                write!(f, "{features}, {scale}, Gaussian process tuned on {tuned_on}")
            }
            Learner::Blend { bag_percent, .. } => {
                write!(f, "both, {bag_percent} % of it the trees")
            }
        }
    }
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum Fitted {
    Tree(TreeModel),
    Bag(BagModel),
    Process(GpMean),
    /// Trees and process.
    Blend(Box<[Regressor; 2]>),
}

/// A learned target.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Regressor {
    recipe: Recipe,
    fitted: Fitted,
    /// Smallest and largest target learned from: no prediction leaves them by more than half.
    range: (f64, f64),
}

impl Scale {
    fn of(self, targets: &[f64]) -> Array1<f64> {
        match self {
            Self::Log => targets.iter().map(|target| target.ln()).collect(),
            Self::Plain | Self::Relative => targets.to_vec().into(),
        }
    }

    fn back(self, value: f64) -> f64 {
        if self == Self::Log { value.exp() } else { value }
    }
}

/// Predictions of a blend from those of its trees and its process.
pub(super) fn blended(bag_percent: u32, bag: &[f64], process: &[f64]) -> Vec<f64> {
    let share = f64::from(bag_percent) / 100.0;
    bag.iter().zip(process).map(|(bag, process)| geometric(share, *bag, *process)).collect()
}

fn geometric(share: f64, bag: f64, process: f64) -> f64 {
    (share * bag.ln() + (1.0 - share) * process.ln()).exp()
}

/// Tuning costs the cube of its rows for each of some fifty steps, conditioning the cube of all
/// rows once: a few hundred rows say as much of lengths and variances as all.
fn process(
    x: &Array2<f64>,
    y: &Array1<f64>,
    tuned_on: usize,
    seed: u64,
) -> Result<GpModel, FitError> {
    let params = GpParams::new(LengthScales::Ard).starts(1).seed(seed);
    if tuned_on >= y.len() {
        return Ok(params.fit(x.view(), y.view())?);
    }
    let share = tuned_on as f64 / y.len() as f64;
    let part = &selection::partition(y.len(), &[share, 1.0 - share], seed)?[0];
    let tuned = params.fit(x.select(Axis(0), part).view(), y.select(Axis(0), part).view())?;
    Ok(GpModel::with_hyperparameters(x.view(), y.view(), tuned.hyperparameters().clone())?)
}

/// The rows of a matrix.
fn matrix(features: Features, workloads: &[Characteristics]) -> Array2<f64> {
    let rows: Vec<Vec<f64>> = workloads.iter().map(|workload| features.row(workload)).collect();
    let columns = rows.first().map_or(0, Vec::len);
    Array2::from_shape_fn((rows.len(), columns), |(row, column)| rows[row][column])
}

impl Recipe {
    /// Learns from workloads and their targets, all above 0.
    ///
    /// # Errors
    /// There are too few rows, or a number is not finite.
    pub fn fit(
        &self,
        workloads: &[Characteristics],
        targets: &[f64],
        seed: u64,
    ) -> Result<Regressor, FitError> {
        let x = matrix(self.features, workloads);
        let y = self.scale.of(targets);
        let weighting = match self.scale {
            Scale::Relative => Weighting::Relative,
            Scale::Plain | Scale::Log => Weighting::Uniform,
        };
        let tree = TreeParams::new(Leaves::Linear).weighting(weighting).thresholds(24).seed(seed);
        let fitted = match self.learner {
            Learner::Tree { min_leaf, smoothing } => {
                let tree = tree.min_leaf(min_leaf).smoothing(smoothing.into());
                Fitted::Tree(tree.fit(x.view(), y.view())?)
            }
            Learner::Bag(Bag { trees, min_leaf, columns, smoothing }) => {
                let tree = tree.min_leaf(min_leaf).smoothing(smoothing.into());
                let tree = tree.columns_per_split(columns);
                Fitted::Bag(BagParams::new(trees, tree).fit(x.view(), y.view())?)
            }
            Learner::Process { tuned_on } => {
                Fitted::Process(process(&x, &y, tuned_on, seed)?.expectation())
            }
            Learner::Blend { .. } => {
                let [bag, process] = self.parts();
                let bag = bag.fit(workloads, targets, seed)?;
                return Ok(self.blend([bag, process.fit(workloads, targets, seed)?]));
            }
        };
        let low = targets.iter().copied().fold(f64::INFINITY, f64::min);
        let high = targets.iter().copied().fold(0.0, f64::max);
        Ok(Regressor { recipe: *self, fitted, range: (low, high) })
    }

    /// What each row is predicted by models that have not seen it.
    ///
    /// # Errors
    /// As [`Recipe::fit`], or there are fewer rows than folds.
    pub fn out_of_fold(
        &self,
        workloads: &[Characteristics],
        targets: &[f64],
        folds: usize,
        seed: u64,
    ) -> Result<Vec<f64>, FitError> {
        let splits = selection::k_fold(targets.len(), folds, seed)?;
        let parts: Vec<Vec<(usize, f64)>> = splits
            .into_par_iter()
            .map(|split| {
                let some: Vec<Characteristics> =
                    split.train.iter().map(|&row| workloads[row]).collect();
                let known: Vec<f64> = split.train.iter().map(|&row| targets[row]).collect();
                let model = self.fit(&some, &known, seed)?;
                Ok(split.test.iter().map(|&row| (row, model.predict(&workloads[row]))).collect())
            })
            .collect::<Result<_, FitError>>()?;
        let mut predictions = vec![0.0; targets.len()];
        parts.into_iter().flatten().for_each(|(row, value)| predictions[row] = value);
        Ok(predictions)
    }

    /// The recipes of a blend's trees and process.
    fn parts(&self) -> [Self; 2] {
        match self.learner {
            Learner::Blend { bag, tuned_on, .. } => [
                Self { features: Features::Derived, learner: Learner::Bag(bag), ..*self },
                Self { learner: Learner::Process { tuned_on }, ..*self },
            ],
            Learner::Tree { .. } | Learner::Bag(_) | Learner::Process { .. } => [*self; 2],
        }
    }

    /// A blend of trees and process that were learned before.
    pub(super) fn blend(&self, parts: [Regressor; 2]) -> Regressor {
        let range = parts[0].range;
        Regressor { recipe: *self, fitted: Fitted::Blend(Box::new(parts)), range }
    }

    /// The recipe of the least mean relative error on rows left out of the fit.
    ///
    /// # Errors
    /// As [`Recipe::out_of_fold`], or there are no recipes.
    pub fn best_of(
        recipes: &[Self],
        workloads: &[Characteristics],
        targets: &[f64],
        folds: usize,
        seed: u64,
    ) -> Result<(Self, f64), FitError> {
        let mut best: Option<(Self, f64)> = None;
        for recipe in recipes {
            let predictions = recipe.out_of_fold(workloads, targets, folds, seed)?;
            let error = metrics::mre(targets, &predictions)?;
            if best.is_none_or(|(_, least)| error < least) {
                best = Some((*recipe, error));
            }
        }
        best.ok_or_else(|| FitError::Rows("no recipes to choose from".to_owned()))
    }
}

impl Regressor {
    /// How it was learned.
    pub const fn recipe(&self) -> &Recipe {
        &self.recipe
    }

    /// What each row that it was learned from is predicted by models that have not seen it. A
    /// Gaussian process leaves out row by row and keeps its lengths and variances, which no single
    /// row moves much; others are fitted again.
    ///
    /// # Errors
    /// As [`Recipe::out_of_fold`].
    pub fn unseen(
        &self,
        workloads: &[Characteristics],
        targets: &[f64],
        folds: usize,
        seed: u64,
    ) -> Result<Vec<f64>, FitError> {
        let Recipe { features, scale, .. } = self.recipe;
        let Fitted::Process(process) = &self.fitted else {
            return self.recipe.out_of_fold(workloads, targets, folds, seed);
        };
        let (x, y) = (matrix(features, workloads), scale.of(targets));
        let tuned = process.hyperparameters().clone();
        let means = GpModel::with_hyperparameters(x.view(), y.view(), tuned)?.leave_one_out().means;
        Ok(means.iter().map(|value| scale.back(*value)).collect())
    }

    /// What is predicted for a workload.
    pub fn predict(&self, workload: &Characteristics) -> f64 {
        if let (Fitted::Blend(parts), Learner::Blend { bag_percent, .. }) =
            (&self.fitted, self.recipe.learner)
        {
            let [bag, process] = [0, 1].map(|part| parts[part].predict(workload));
            return geometric(f64::from(bag_percent) / 100.0, bag, process);
        }
        let mut row = [0.0; COLUMNS_MAX];
        let columns = self.recipe.features.fill(workload, &mut row);
        let row = &row[..columns];
        let found = match &self.fitted {
            Fitted::Tree(tree) => tree.predict_one(row),
            Fitted::Bag(bag) => bag.predict_one(row),
            Fitted::Process(process) => process.predict_one(row),
            Fitted::Blend(_) => return f64::NAN,
        };
        // A row that is no number is predicted nothing; characteristics from files are checked
        // before.
        let value = self.recipe.scale.back(found.unwrap_or(f64::NAN));
        value.clamp(0.5 * self.range.0, 1.5 * self.range.1)
    }

    /// A workload's way through the tree, if it is one tree.
    ///
    /// # Errors
    /// A characteristic is not finite.
    pub fn path(&self, workload: &Characteristics) -> Option<Result<DecisionPath<'_>, DataError>> {
        match &self.fitted {
            Fitted::Tree(tree) => Some(tree.path(&self.recipe.features.row(workload))),
            Fitted::Bag(_) | Fitted::Process(_) | Fitted::Blend(_) => None,
        }
    }

    /// Leaves of its trees, or rows that a Gaussian process remembers.
    pub fn leaves(&self) -> usize {
        match &self.fitted {
            Fitted::Tree(tree) => tree.leaves(),
            Fitted::Bag(bag) => bag.trees().iter().map(TreeModel::leaves).sum(),
            Fitted::Process(process) => process.len(),
            Fitted::Blend(parts) => parts.iter().map(Self::leaves).sum(),
        }
    }

    /// Whether what was learned fits its recipe: the same kind, and a column for each feature.
    pub(crate) fn is_sound(&self, open: bool) -> bool {
        let columns = match (&self.fitted, self.recipe.learner) {
            (Fitted::Tree(tree), Learner::Tree { .. }) => tree.columns(),
            (Fitted::Bag(bag), Learner::Bag(_)) => {
                bag.trees().first().map_or(0, TreeModel::columns)
            }
            (Fitted::Process(process), Learner::Process { .. }) => process.columns(),
            (Fitted::Blend(parts), Learner::Blend { bag_percent, .. }) => {
                let own = self.recipe.parts();
                return bag_percent <= 100
                    && parts
                        .iter()
                        .zip(own)
                        .all(|(part, recipe)| part.recipe == recipe && part.is_sound(open));
            }
            _ => return false,
        };
        columns == self.recipe.features.names(open).len()
    }

    /// Each column's share of what its trees explain.
    pub fn importance(&self) -> Vec<f64> {
        match &self.fitted {
            Fitted::Tree(tree) => tree.importance().to_vec(),
            Fitted::Bag(bag) => bag.importance(),
            Fitted::Process(_) | Fitted::Blend(_) => Vec::new(),
        }
    }
}
