//! One target (latency, IOPS or bandwidth) as a function of a workload. A [`Recipe`] says which
//! columns are seen, on which scale the target is learned and by which learner; a [`Regressor`] is
//! the fitted function.
//!
//! Cost of a prediction: to compute the columns (50 ns, or 300 ns for the derived ones) and to walk
//! through each tree, or one kernel for each row that a Gaussian process learned from.

use super::features::{COLUMNS_MAX, Characteristics, Features};
use ndarray::{Array1, Array2, Axis};
use rayon::prelude::*;
use serde::{Deserialize, Serialize};
use ssdtune_learn::gp::{GpError, GpMean, GpModel, GpParams, LengthScales};
use ssdtune_learn::selection::{self, SplitError};
use ssdtune_learn::tree::{
    BagError, BagModel, BagParams, DecisionPath, Leaves, Prune, TreeError, TreeModel, TreeParams,
    Weighting,
};
use ssdtune_learn::{DataError, metrics};
use std::fmt;

/// The scale on which a target is learned.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Scale {
    /// The target as it is. Equal errors count equally, as in ordinary least squares.
    Plain,
    /// The target as it is. Equal relative errors count equally.
    Relative,
    /// The natural logarithm of the target.
    Log,
}

/// A way of learning, with its settings.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Learner {
    /// A pruned tree with linear leaves.
    Tree {
        /// The fewest rows of a leaf.
        min_leaf: usize,
        /// How many rows the model of a parent counts as when it is mixed into those of its
        /// children.
        #[serde(default)]
        smoothing: u32,
    },
    /// A tree with linear leaves that learns from another regressor's predictions, which are free
    /// of noise: it is not pruned.
    Taught {
        /// The fewest rows of a leaf.
        min_leaf: usize,
    },
    /// The mean of trees with linear leaves, each grown on rows drawn with replacement.
    Bag(Bag),
    /// The mean of a Gaussian process that has a length scale for each column.
    Process {
        /// How many rows are drawn to tune the lengths and variances on. The process is conditioned
        /// on all rows.
        tuned_on: usize,
    },
    /// The weighted geometric mean of a bag of trees and a Gaussian process: where one errs, the
    /// other is often right. The trees see [`Features::Derived`], the process sees what the recipe
    /// says.
    Blend {
        /// The trees.
        bag: Bag,
        /// How many rows the process is tuned on.
        tuned_on: usize,
        /// Weight of the trees in percent; the process has the rest.
        bag_percent: u32,
    },
}

/// Settings of a bag of trees.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Bag {
    /// The number of trees.
    pub trees: usize,
    /// The fewest rows of a leaf.
    pub min_leaf: usize,
    /// How many columns are tried at each split.
    pub columns: usize,
    /// How many rows the model of a parent counts as when it is mixed into those of its children.
    #[serde(default)]
    pub smoothing: u32,
}

/// How a target is learned.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Recipe {
    /// The columns that the learner sees.
    pub features: Features,
    /// The scale of the target.
    pub scale: Scale,
    /// The learner.
    pub learner: Learner,
}

/// Why no model can be fitted.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum FitError {
    /// A tree cannot be grown.
    #[error(transparent)]
    Tree(#[from] TreeError),
    /// A bag of trees cannot be grown.
    #[error(transparent)]
    Bag(#[from] BagError),
    /// A Gaussian process cannot be fitted.
    #[error(transparent)]
    Process(#[from] GpError),
    /// A row does not fit the model.
    #[error(transparent)]
    Data(#[from] DataError),
    /// The rows cannot be divided.
    #[error(transparent)]
    Split(#[from] SplitError),
    /// Predictions cannot be compared with the truth.
    #[error(transparent)]
    Measure(#[from] metrics::MetricsError),
    /// The points are too few, or of both kinds of loops.
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
            Learner::Taught { min_leaf } => {
                write!(
                    f,
                    "{features}, {scale}, tree of leaves >= {min_leaf} taught by the stronger"
                )
            }
            Learner::Bag(Bag { trees, min_leaf, columns, smoothing }) => write!(
                f,
                "{features}, {scale}, {trees} trees of leaves >= {min_leaf}, {columns} columns, \
                 smoothed by {smoothing}"
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

/// What a learner has made of the rows.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum Fitted {
    Tree(TreeModel),
    Bag(BagModel),
    Process(GpMean),
    /// The trees, then the process.
    Blend(Box<[Regressor; 2]>),
}

/// A target as a learned function of a workload.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Regressor {
    recipe: Recipe,
    fitted: Fitted,
    /// The smallest and the largest target learned from. A prediction is held between half of the
    /// smallest and one and a half of the largest.
    range: (f64, f64),
}

impl Scale {
    /// Targets on this scale.
    fn of(self, targets: &[f64]) -> Array1<f64> {
        match self {
            Self::Log => targets.iter().map(|target| target.ln()).collect(),
            Self::Plain | Self::Relative => targets.to_vec().into(),
        }
    }

    /// The target that a value on this scale stands for.
    fn back(self, value: f64) -> f64 {
        if self == Self::Log { value.exp() } else { value }
    }
}

/// What a blend predicts where its trees predict `bag` and its process predicts `process`.
pub(super) fn blended(bag_percent: u32, bag: &[f64], process: &[f64]) -> Vec<f64> {
    let share = f64::from(bag_percent) / 100.0;
    bag.iter().zip(process).map(|(bag, process)| geometric(share, *bag, *process)).collect()
}

/// The geometric mean, with weight `share` on the first value.
fn geometric(share: f64, bag: f64, process: f64) -> f64 {
    (share * bag.ln() + (1.0 - share) * process.ln()).exp()
}

/// A Gaussian process, tuned on some rows and conditioned on all. Tuning costs the cube of the
/// number of its rows in each of about fifty steps, conditioning the cube of all rows once. A few
/// hundred rows say as much about lengths and variances as all do.
pub(super) fn process(
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

/// A row for each workload, with a column for each feature.
fn matrix(features: Features, workloads: &[Characteristics]) -> Array2<f64> {
    let rows: Vec<Vec<f64>> = workloads.iter().map(|workload| features.row(workload)).collect();
    let columns = rows.first().map_or(0, Vec::len);
    Array2::from_shape_fn((rows.len(), columns), |(row, column)| rows[row][column])
}

impl Recipe {
    /// Learns from workloads and their targets, which are all above 0.
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
            Learner::Taught { min_leaf } => {
                let tree = tree.min_leaf(min_leaf).prune(Prune::No).max_depth(18).thresholds(8);
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

    /// Predicts each row by a model that has not learned from it, by cross-validation.
    ///
    /// # Errors
    /// There are fewer rows than folds, too few to learn from, or a number is not finite.
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

    /// The recipes of the trees and of the process of a blend.
    fn parts(&self) -> [Self; 2] {
        match self.learner {
            Learner::Blend { bag, tuned_on, .. } => [
                Self { features: Features::Derived, learner: Learner::Bag(bag), ..*self },
                Self { learner: Learner::Process { tuned_on }, ..*self },
            ],
            _ => [*self; 2],
        }
    }

    /// A blend of trees and a process that were learned before.
    pub(super) fn blend(&self, parts: [Regressor; 2]) -> Regressor {
        let range = parts[0].range;
        Regressor { recipe: *self, fitted: Fitted::Blend(Box::new(parts)), range }
    }

    /// The recipe with the least mean relative error in cross-validation, and that error.
    ///
    /// # Errors
    /// There are no recipes, fewer rows than folds, or a number is not finite.
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
    /// How the function was learned.
    pub const fn recipe(&self) -> &Recipe {
        &self.recipe
    }

    /// Predicts each row that the function was learned from by one that has not seen it. A Gaussian
    /// process leaves out one row at a time and keeps its lengths and variances, which no single
    /// row moves much. Other learners are fitted again for each fold.
    ///
    /// # Errors
    /// There are fewer rows than folds, or a number is not finite.
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

    /// The target that is predicted for a workload.
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
        // A row with a value that is not finite has no prediction. Characteristics that come from
        // files were checked before.
        let value = self.recipe.scale.back(found.unwrap_or(f64::NAN));
        value.clamp(0.5 * self.range.0, 1.5 * self.range.1)
    }

    /// The way of a workload through the tree; `None` if the learner is not a single tree.
    ///
    /// # Errors
    /// A characteristic is not finite.
    pub fn path(&self, workload: &Characteristics) -> Option<Result<DecisionPath<'_>, DataError>> {
        match &self.fitted {
            Fitted::Tree(tree) => Some(tree.path(&self.recipe.features.row(workload))),
            Fitted::Bag(_) | Fitted::Process(_) | Fitted::Blend(_) => None,
        }
    }

    /// The number of leaves of all trees and of rows that a Gaussian process keeps.
    pub fn leaves(&self) -> usize {
        match &self.fitted {
            Fitted::Tree(tree) => tree.leaves(),
            Fitted::Bag(bag) => bag.trees().iter().map(TreeModel::leaves).sum(),
            Fitted::Process(process) => process.len(),
            Fitted::Blend(parts) => parts.iter().map(Self::leaves).sum(),
        }
    }

    /// Whether what was learned fits its recipe: the kind of learner, and the number of columns.
    pub(crate) fn is_sound(&self, open: bool) -> bool {
        let columns = match (&self.fitted, self.recipe.learner) {
            (Fitted::Tree(tree), Learner::Tree { .. } | Learner::Taught { .. }) => tree.columns(),
            (Fitted::Bag(bag), Learner::Bag(_)) => {
                bag.trees().first().map_or(0, TreeModel::columns)
            }
            (Fitted::Process(process), Learner::Process { .. }) => process.columns(),
            (Fitted::Blend(parts), Learner::Blend { bag_percent, .. }) => {
                let recipes = self.recipe.parts();
                return bag_percent <= 100
                    && parts
                        .iter()
                        .zip(recipes)
                        .all(|(part, recipe)| part.recipe == recipe && part.is_sound(open));
            }
            _ => return false,
        };
        columns == self.recipe.features.names(open).len()
    }

    /// The share of each column in what the trees explain; empty for other learners.
    pub fn importance(&self) -> Vec<f64> {
        match &self.fitted {
            Fitted::Tree(tree) => tree.importance().to_vec(),
            Fitted::Bag(bag) => bag.importance(),
            Fitted::Process(_) | Fitted::Blend(_) => Vec::new(),
        }
    }
}
