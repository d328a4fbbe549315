//! Settings of the regression tree, checked before fitting.

use super::TreeError;
use crate::guard::guarded_params;

/// What stands in a leaf.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Leaves {
    /// The (weighted) mean of its targets.
    Constant,
    /// A multiple linear regression on all columns.
    Linear,
}

/// How much a row's error counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Weighting {
    /// Equal errors count equally.
    Uniform,
    /// Equal relative errors count equally.
    Relative,
}

/// Whether and how a grown tree is cut back.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Prune {
    /// Not at all.
    No,
    /// To the smallest tree whose cross-validated error is within a margin of the least.
    CrossValidated {
        /// Folds.
        folds: usize,
        /// The margin, in standard errors of the least error.
        standard_errors: f64,
    },
}

/// Parameters of a regression tree, unchecked.
#[derive(Clone, Debug, PartialEq)]
pub struct TreeParams(TreeValidParams);

/// Parameters of a regression tree, checked.
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
    /// Uniform weights, pruned to the least cross-validated error of 10 folds, depth 16 at most,
    /// all columns at each node, seed 0. With constant leaves every threshold is tried and a leaf
    /// has at least 5 rows; with linear leaves, whose thresholds cost a solve each, 64 of each
    /// column, and at least 5 rows more than columns.
    ///
    /// A margin of half a standard error (GUIDE's default) gives a smaller tree to read for some
    /// accuracy: [`Self::prune`].
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

    /// Sets how much each row's error counts.
    #[must_use]
    pub fn weighting(mut self, weighting: Weighting) -> Self {
        self.0.weighting = weighting;
        self
    }

    /// Sets how the grown tree is cut back.
    #[must_use]
    pub fn prune(mut self, prune: Prune) -> Self {
        self.0.prune = prune;
        self
    }

    /// Sets the most splits above a leaf.
    #[must_use]
    pub fn max_depth(mut self, max_depth: usize) -> Self {
        self.0.max_depth = max_depth;
        self
    }

    /// Sets the fewest rows of a leaf.
    #[must_use]
    pub fn min_leaf(mut self, min_leaf: usize) -> Self {
        self.0.min_leaf = Some(min_leaf);
        self
    }

    /// Sets the most thresholds tried for each column of a node, evenly among its rows.
    #[must_use]
    pub fn thresholds(mut self, thresholds: usize) -> Self {
        self.0.thresholds = thresholds;
        self
    }

    /// Tries only this many columns at each node, drawn at random; for ensembles.
    #[must_use]
    pub fn columns_per_split(mut self, columns: usize) -> Self {
        self.0.columns_per_split = Some(columns);
        self
    }

    /// Smooths as M5 does: each node's model is averaged with its parent's smoothed one, which counts
    /// as so many rows; 15 is Quinlan's. Leaves of few rows and many columns need it most. It costs
    /// nothing at prediction: the averages of linear models are linear models.
    #[must_use]
    pub fn smoothing(mut self, rows: f64) -> Self {
        self.0.smoothing = rows;
        self
    }

    /// Sets the seed of folds and drawn columns.
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

    /// Fewest rows of a leaf for this many columns.
    pub(super) fn least_rows(&self, columns: usize) -> usize {
        let usual = match self.leaves {
            Leaves::Constant => 5,
            Leaves::Linear => columns + 5,
        };
        self.min_leaf.unwrap_or(usual)
    }
}
