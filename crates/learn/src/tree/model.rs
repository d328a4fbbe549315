//! The fitted regression tree: prediction, explanation, and its stored form.

use super::flat::{Flat, linear};
use super::grown::Grown;
use crate::errors::{check_columns, check_finite, check_row};
use crate::guard::checked_model;
use crate::{DataError, ModelError, Version};
use ndarray::{Array1, ArrayView2};
use serde::{Deserialize, Serialize};
use std::fmt::Write;

/// A fitted regression tree.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(remote = "Self", deny_unknown_fields)]
pub struct TreeModel {
    version: Version<1>,
    columns: usize,
    /// The root first, and every parent before its children.
    nodes: Vec<Node>,
    importance: Vec<f64>,
    /// The nodes once more, laid out for prediction.
    #[serde(skip)]
    flat: Flat,
}

checked_model!(TreeModel, Self::flattened);

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Node {
    /// Training rows that reach the node.
    rows: usize,
    /// Root of the mean weighted squared error of the node's model on them.
    rmse: f64,
    kind: NodeKind,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
enum NodeKind {
    Split { column: usize, threshold: f64, below: usize, above: usize },
    Leaf { intercept: f64, slopes: Vec<f64>, low: f64, high: f64 },
}

/// One comparison on the way of a row to its leaf.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Decision {
    /// Column whose value is compared, from 0.
    pub column: usize,
    /// What the value is compared with.
    pub threshold: f64,
    /// Whether the value is the threshold or less.
    pub below: bool,
}

/// How the tree comes to its prediction for one row.
#[derive(Clone, Debug, PartialEq)]
pub struct DecisionPath<'a> {
    /// The comparisons, from the root to the leaf.
    pub steps: Vec<Decision>,
    /// Number of the leaf among all nodes of the tree, from 0.
    pub leaf: usize,
    /// Training rows in the leaf.
    pub rows: usize,
    /// Root of the mean weighted squared error of the leaf's model on its training rows.
    pub rmse: f64,
    /// Value of the leaf's linear function where every column is 0.
    pub intercept: f64,
    /// Slope of the leaf's linear function along each column; empty for a constant leaf.
    pub slopes: &'a [f64],
    /// Whether the linear function left the leaf's range and the end of the range was taken.
    pub clamped: bool,
    /// What the tree predicts for the row.
    pub value: f64,
}

impl TreeModel {
    /// A model of the grown tree, in which each node whose price is `price` or less is a leaf.
    pub(super) fn from_grown(grown: &Grown, prices: &[f64], price: f64, columns: usize) -> Self {
        let mut model = Self {
            version: Version,
            columns,
            nodes: Vec::new(),
            importance: vec![0.0; columns],
            flat: Flat::default(),
        };
        model.copy(grown, prices, price, 0);
        let total: f64 = model.importance.iter().sum();
        if total > 0.0 {
            model.importance.iter_mut().for_each(|share| *share /= total);
        }
        model.flattened()
    }

    /// Lays the nodes out for prediction.
    fn flattened(mut self) -> Self {
        self.flat = Flat::default();
        for node in &self.nodes {
            match &node.kind {
                NodeKind::Split { column, threshold, below, above } => {
                    self.flat.push_split(*column, *threshold, [*below, *above]);
                }
                NodeKind::Leaf { intercept, slopes, low, high } => {
                    self.flat.push_leaf(*intercept, [*low, *high], slopes);
                }
            }
        }
        self
    }

    /// Copies the node `from` and what the price leaves of the nodes below it. Returns its place
    /// here, and counts its part of the importance.
    fn copy(&mut self, grown: &Grown, prices: &[f64], price: f64, from: usize) -> usize {
        let node = &grown.nodes[from];
        let place = self.nodes.len();
        let rmse = if node.weight > 0.0 { (node.squared_error / node.weight).sqrt() } else { 0.0 };
        let leaf = NodeKind::Leaf {
            intercept: node.intercept,
            slopes: node.slopes.clone(),
            low: node.low,
            high: node.high,
        };
        self.nodes.push(Node { rows: node.rows, rmse, kind: leaf });
        let Some(split) = node.split.filter(|_| prices[from] > price) else {
            for (share, explained) in self.importance.iter_mut().zip(&node.explained) {
                *share += explained;
            }
            return place;
        };
        let left = grown.nodes[split.below].squared_error + grown.nodes[split.above].squared_error;
        self.importance[split.column] += (node.squared_error - left).max(0.0);
        let below = self.copy(grown, prices, price, split.below);
        let above = self.copy(grown, prices, price, split.above);
        let (column, threshold) = (split.column, split.threshold);
        self.nodes[place].kind = NodeKind::Split { column, threshold, below, above };
        place
    }

    /// Number of columns that the model was trained on.
    pub fn columns(&self) -> usize {
        self.columns
    }

    /// Number of leaves.
    pub fn leaves(&self) -> usize {
        self.nodes.iter().filter(|node| matches!(node.kind, NodeKind::Leaf { .. })).count()
    }

    /// Number of splits on the longest way from the root to a leaf.
    pub fn depth(&self) -> usize {
        let mut depths = vec![0; self.nodes.len()];
        for (place, node) in self.nodes.iter().enumerate() {
            if let NodeKind::Split { below, above, .. } = node.kind {
                depths[below] = depths[place] + 1;
                depths[above] = depths[place] + 1;
            }
        }
        depths.into_iter().max().unwrap_or(0)
    }

    /// Each column's share of the squared error that the tree explains.
    ///
    /// A column explains what its splits remove, and what its slopes remove within leaves, as if
    /// the columns were independent there. The shares sum to 1. They are all 0 for a tree that
    /// explains nothing.
    pub fn importance(&self) -> &[f64] {
        &self.importance
    }

    /// Predicts every row.
    pub fn predict(&self, x: ArrayView2<'_, f64>) -> Result<Array1<f64>, DataError> {
        check_columns(x, self.columns)?;
        let mut row = vec![0.0; self.columns];
        Ok(x.rows()
            .into_iter()
            .map(|cells| {
                row.iter_mut().zip(cells).for_each(|(to, from)| *to = *from);
                self.value(&row)
            })
            .collect())
    }

    /// Predicts one row.
    pub fn predict_one(&self, row: &[f64]) -> Result<f64, DataError> {
        check_row(row, self.columns)?;
        Ok(self.value(row))
    }

    /// Predicts one row and tells how the tree came to it.
    pub fn path(&self, row: &[f64]) -> Result<DecisionPath<'_>, DataError> {
        check_row(row, self.columns)?;
        let (mut place, mut steps) = (0, Vec::new());
        loop {
            let node = &self.nodes[place];
            match &node.kind {
                NodeKind::Split { column, threshold, below, above } => {
                    let is_below = row[*column] <= *threshold;
                    steps.push(Decision {
                        column: *column,
                        threshold: *threshold,
                        below: is_below,
                    });
                    place = if is_below { *below } else { *above };
                }
                NodeKind::Leaf { intercept, slopes, low, high } => {
                    let sum = linear(*intercept, slopes, row);
                    let value = sum.clamp(*low, *high);
                    let (rows, rmse, clamped) = (node.rows, node.rmse, value != sum);
                    let intercept = *intercept;
                    let leaf = place;
                    return Ok(DecisionPath {
                        steps,
                        leaf,
                        rows,
                        rmse,
                        intercept,
                        slopes,
                        clamped,
                        value,
                    });
                }
            }
        }
    }

    /// The prediction for a row that has been checked.
    pub(super) fn value(&self, row: &[f64]) -> f64 {
        self.flat.value(row)
    }

    /// The tree as indented text, with these names for the columns and the target.
    ///
    /// ```text
    /// queue_depth <= 16 [2000 rows]
    ///   latency = 3.1 + 0.25 queue_depth [1200 rows, rmse 0.2]
    /// queue_depth > 16
    ///   latency = 9 - 0.5 write_ratio [800 rows, rmse 1.1]
    /// ```
    pub fn describe(&self, names: &[&str], target: &str) -> Result<String, DataError> {
        if names.len() != self.columns {
            return Err(DataError::ColumnCount { expected: self.columns, found: names.len() });
        }
        let mut text = String::new();
        self.describe_node(0, 0, names, target, &mut text);
        Ok(text)
    }

    /// Appends one node and all nodes below it to the text.
    fn describe_node(
        &self,
        place: usize,
        depth: usize,
        names: &[&str],
        target: &str,
        text: &mut String,
    ) {
        let (indent, node) = ("  ".repeat(depth), &self.nodes[place]);
        let rows = node.rows;
        // Writing to a String cannot fail.
        match &node.kind {
            NodeKind::Split { column, threshold, below, above } => {
                let (name, threshold) = (names[*column], number(*threshold));
                let _ = writeln!(text, "{indent}{name} <= {threshold} [{rows} rows]");
                self.describe_node(*below, depth + 1, names, target, text);
                let _ = writeln!(text, "{indent}{name} > {threshold}");
                self.describe_node(*above, depth + 1, names, target, text);
            }
            NodeKind::Leaf { intercept, slopes, .. } => {
                let _ = write!(text, "{indent}{target} = {}", number(*intercept));
                for (slope, name) in slopes.iter().zip(names).filter(|(slope, _)| **slope != 0.0) {
                    let sign = if *slope < 0.0 { '-' } else { '+' };
                    let _ = write!(text, " {sign} {} {name}", number(slope.abs()));
                }
                let _ = writeln!(text, " [{rows} rows, rmse {}]", number(node.rmse));
            }
        }
    }

    fn verify(&self) -> Result<(), ModelError> {
        let fault = |reason: String| Err(ModelError::new("tree", reason));
        if self.nodes.is_empty() || self.importance.len() != self.columns {
            let (nodes, shares) = (self.nodes.len(), self.importance.len());
            return fault(format!("{nodes} nodes, {} columns, {shares} importances", self.columns));
        }
        for (place, node) in self.nodes.iter().enumerate() {
            match &node.kind {
                NodeKind::Split { column, threshold, below, above } => {
                    let legal = place + 1..self.nodes.len();
                    let sound = *column < self.columns && threshold.is_finite();
                    // Children stand after their parents, so that no walk goes in circles.
                    if !(sound && legal.contains(below) && legal.contains(above)) {
                        return fault(format!("the split of node {place} leads nowhere"));
                    }
                }
                NodeKind::Leaf { intercept, slopes, low, high } => {
                    check_finite(
                        "tree",
                        "leaf number",
                        slopes.iter().chain([intercept, low, high]),
                    )?;
                    if low > high || !(slopes.is_empty() || slopes.len() == self.columns) {
                        return fault(format!(
                            "leaf {place} does not fit {} columns",
                            self.columns
                        ));
                    }
                }
            }
        }
        Ok(())
    }
}

/// A number in four significant digits, without trailing zeros.
fn number(value: f64) -> String {
    let size = if value == 0.0 { 0 } else { value.abs().log10().floor() as i32 };
    if !(-4..7).contains(&size) {
        return format!("{value:.3e}");
    }
    let text = format!("{value:.*}", (3 - size).max(0) as usize);
    if text.contains('.') {
        text.trim_end_matches('0').trim_end_matches('.').to_owned()
    } else {
        text
    }
}
