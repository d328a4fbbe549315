//! A tree as it was grown: every node has a model of its own, so that it can be cut back anywhere.

use super::sample::Sample;

/// A tree before it is cut back.
pub(super) struct Grown {
    /// The root first, and every parent before its children.
    pub(super) nodes: Vec<GrownNode>,
}

/// One node with the linear model that it would predict by if it were a leaf.
pub(super) struct GrownNode {
    /// Training rows that reach the node.
    pub(super) rows: usize,
    /// Weighted squared error of the node's model on these rows.
    pub(super) squared_error: f64,
    /// Sum of the rows' weights.
    pub(super) weight: f64,
    /// The model's value where every column is 0: every centred column, until
    /// [`Grown::uncentre`].
    pub(super) intercept: f64,
    /// One slope for each column; empty for a constant.
    pub(super) slopes: Vec<f64>,
    /// Squared error that each slope removes, as if the columns were independent.
    pub(super) explained: Vec<f64>,
    /// Least prediction of this node.
    pub(super) low: f64,
    /// Greatest prediction of this node.
    pub(super) high: f64,
    /// None if no split lowers the error.
    pub(super) split: Option<GrownSplit>,
}

/// Where a node divides its rows.
#[derive(Clone, Copy)]
pub(super) struct GrownSplit {
    pub(super) column: usize,
    /// Rows with this value or less go to `below`.
    pub(super) threshold: f64,
    /// Place of the child in [`Grown::nodes`].
    pub(super) below: usize,
    /// Place of the child in [`Grown::nodes`].
    pub(super) above: usize,
}

impl GrownNode {
    /// What the node's model predicts for one centred row.
    pub(super) fn predict(&self, row: &[f64]) -> f64 {
        let sum = self.slopes.iter().zip(row).fold(self.intercept, |sum, (s, x)| sum + s * x);
        sum.clamp(self.low, self.high)
    }
}

impl Grown {
    /// Places of the nodes that one centred row passes, from the root to a leaf.
    pub(super) fn path(&self, row: &[f64]) -> Vec<usize> {
        let (mut place, mut path) = (0, vec![0]);
        while let Some(split) = &self.nodes[place].split {
            place = if row[split.column] <= split.threshold { split.below } else { split.above };
            path.push(place);
        }
        path
    }

    /// Averages each node's model with its parent's smoothed model. The parent's weight is
    /// `parent_rows`, against the node's own number of rows; 0 changes nothing.
    pub(super) fn smooth(&mut self, parent_rows: f64) {
        if parent_rows <= 0.0 {
            return;
        }
        // A parent stands before its children, so its model is smoothed first.
        for place in 0..self.nodes.len() {
            let Some(split) = self.nodes[place].split else { continue };
            let parent = (self.nodes[place].intercept, self.nodes[place].slopes.clone());
            for child in [split.below, split.above] {
                let child = &mut self.nodes[child];
                let share = child.rows as f64 / (child.rows as f64 + parent_rows);
                let mean = |child: f64, parent: f64| share * child + (1.0 - share) * parent;
                child.intercept = mean(child.intercept, parent.0);
                for (slope, parent) in child.slopes.iter_mut().zip(&parent.1) {
                    *slope = mean(*slope, *parent);
                }
            }
        }
    }

    /// Converts thresholds and intercepts from centred columns to the columns as given.
    pub(super) fn uncentre(&mut self, sample: &Sample) {
        for node in &mut self.nodes {
            let shift: f64 = node.slopes.iter().zip(&sample.means).map(|(s, m)| s * m).sum();
            node.intercept -= shift;
            if let Some(split) = &mut node.split {
                split.threshold += sample.means[split.column];
            }
        }
    }
}
