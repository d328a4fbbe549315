//! Parameters of the regression tree, and their check.

use super::TreeError;
use crate::guard::guarded_params;

/// What a leaf predicts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Leaves {
    /// The weighted mean of its training targets.
    Constant,
    /// A linear function of all columns.
    Linear,
}

/// How much each row's squared error counts in training.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Weighting {
    /// All rows count the same.
    Uniform,
    /// Each row counts by the inverse square of its target, so that training minimises relative
    /// errors. No target may be 0.
    Relative,
}

/// Whether a grown tree is cut back, and by what.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Prune {
    /// Keep the tree as it was grown.
    No,
    /// Cut back to the smallest tree whose cross-validated error is within a margin of the least.
    CrossValidated {
        /// Number of folds, at least 2.
        folds: usize,
        /// The margin, in standard errors of the least error; 0 or above.
        standard_errors: f64,
    },
}

/// Parameters of a regression tree. [`Self::fit`] checks them.
#[derive(Clone, Debug, PartialEq)]
pub struct TreeParams(TreeValidParams);

/// Parameters of a regression tree that have passed their check.
#[derive(Clone, Debug, PartialEq)]
pub struct TreeValidParams {
    pub(crate) leaves: Leaves,
    pub(crate) weighting: Weighting,
    pub(crate) prune: Prune,
    pub(crate) max_depth: usize,
    pub(crate) min_leaf: Option<usize>,
    pub(crate) thresholds: usize,
    pub(crate) columns_per_split: Option<usize>,
    pub(crate) smoothing: f64,
    pub(crate) seed: u64,
}

guarded_params!(TreeParams, TreeValidParams, TreeError);

impl TreeParams {
    /// The defaults for this kind of leaves.
    ///
    /// | parameter | constant leaves | linear leaves |
    /// |---|---|---|
    /// | [`weighting`](Self::weighting) | uniform | uniform |
    /// | [`prune`](Self::prune) | least error of 10 folds | least error of 10 folds |
    /// | [`max_depth`](Self::max_depth) | 16 | 16 |
    /// | [`min_leaf`](Self::min_leaf) | 5 rows | 5 rows more than columns |
    /// | [`thresholds`](Self::thresholds) | all | 64, since each costs a solve |
    /// | [`columns_per_split`](Self::columns_per_split) | all | all |
    /// | [`smoothing`](Self::smoothing) | none | none |
    /// | [`seed`](Self::seed) | 0 | 0 |
    pub fn new(leaves: Leaves) -> Self {
        let thresholds = match leaves {
            Leaves::Constant => usize::MAX,
            Leaves::Linear => 64,
        };
        Self(TreeValidParams {
            leaves,
            weighting: Weighting::Uniform,
            prune: Prune::CrossValidated { folds: 10, standard_errors: 0.0 },
            max_depth: 16,
            min_leaf: None,
            thresholds,
            columns_per_split: None,
            smoothing: 0.0,
            seed: 0,
        })
    }

    /// Sets how much each row's squared error counts.
    #[must_use]
    pub fn weighting(mut self, weighting: Weighting) -> Self {
        self.0.weighting = weighting;
        self
    }

    /// Sets how the grown tree is cut back. A margin of half a standard error, the default of the
    /// GUIDE program, costs some accuracy and gives a smaller tree to read.
    #[must_use]
    pub fn prune(mut self, prune: Prune) -> Self {
        self.0.prune = prune;
        self
    }

    /// Sets how many splits may lie between the root and a leaf; at least 1.
    #[must_use]
    pub fn max_depth(mut self, max_depth: usize) -> Self {
        self.0.max_depth = max_depth;
        self
    }

    /// Sets the least number of training rows in a leaf; at least 1.
    #[must_use]
    pub fn min_leaf(mut self, min_leaf: usize) -> Self {
        self.0.min_leaf = Some(min_leaf);
        self
    }

    /// Sets how many thresholds are tried at most for each column of a node; at least 1. They are
    /// spread evenly over the node's rows.
    #[must_use]
    pub fn thresholds(mut self, thresholds: usize) -> Self {
        self.0.thresholds = thresholds;
        self
    }

    /// Tries only this many columns at each node, drawn at random; at least 1. This makes the trees
    /// of an ensemble differ.
    #[must_use]
    pub fn columns_per_split(mut self, columns: usize) -> Self {
        self.0.columns_per_split = Some(columns);
        self
    }

    /// Averages each node's model with its parent's smoothed model, as M5 does. The parent counts
    /// as `rows` training rows: 0 is no smoothing, and 15 is what Quinlan uses. It helps most where
    /// leaves have few rows and many columns. Prediction costs no more, because an average of
    /// linear functions is a linear function.
    #[must_use]
    pub fn smoothing(mut self, rows: f64) -> Self {
        self.0.smoothing = rows;
        self
    }

    /// Sets the seed of the folds and of the columns drawn at random.
    #[must_use]
    pub fn seed(mut self, seed: u64) -> Self {
        self.0.seed = seed;
        self
    }
}

impl TreeValidParams {
    pub(super) fn verify(&self) -> Result<(), TreeError> {
        let counts = [
            (self.max_depth, "max_depth"),
            (self.min_leaf.unwrap_or(1), "min_leaf"),
            (self.thresholds, "thresholds"),
            (self.columns_per_split.unwrap_or(1), "columns_per_split"),
        ];
        if let Some((_, name)) = counts.iter().find(|(count, _)| *count == 0) {
            return Err(TreeError::Zero(name));
        }
        if !(self.smoothing >= 0.0 && self.smoothing.is_finite()) {
            return Err(TreeError::Smoothing(self.smoothing));
        }
        match self.prune {
            Prune::CrossValidated { folds, .. } if folds < 2 => Err(TreeError::Folds(folds)),
            Prune::CrossValidated { standard_errors, .. }
                if !(standard_errors >= 0.0 && standard_errors.is_finite()) =>
            {
                Err(TreeError::StandardErrors(standard_errors))
            }
            _ => Ok(()),
        }
    }

    /// The least number of rows in a leaf, for data of this many columns.
    pub(super) fn least_rows(&self, columns: usize) -> usize {
        let usual = match self.leaves {
            Leaves::Constant => 5,
            Leaves::Linear => columns + 5,
        };
        self.min_leaf.unwrap_or(usual)
    }
}
