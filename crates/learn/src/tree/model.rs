//! The fitted model of the regression tree.

use super::fit::Grown;
use super::flat::{Flat, linear};
use crate::errors::{check_columns, check_finite, check_row};
use crate::{DataError, ModelError, Version};
use ndarray::{Array1, ArrayView2};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::fmt::Write;

/// A fitted tree.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(remote = "Self", deny_unknown_fields)]
pub struct TreeModel {
    version: Version<1>,
    columns: usize,
    /// The root first, parents before children.
    nodes: Vec<Node>,
    importance: Vec<f64>,
    /// The same nodes for walks.
    #[serde(skip)]
    flat: Flat,
}

impl Serialize for TreeModel {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        Self::serialize(self, serializer)
    }
}

impl<'de> Deserialize<'de> for TreeModel {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let model = Self::deserialize(deserializer)?;
        model.verify().map_err(serde::de::Error::custom)?;
        Ok(model.flattened())
    }
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Node {
    rows: usize,
    /// Root of the mean weighted squared error of the node's own model.
    rmse: f64,
    kind: Kind,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
enum Kind {
    Split { column: usize, threshold: f64, below: usize, above: usize },
    Leaf { intercept: f64, slopes: Vec<f64>, low: f64, high: f64 },
}

/// One decision on a row's way to its leaf.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Decision {
    /// The column that decides.
    pub column: usize,
    /// What it is compared with.
    pub threshold: f64,
    /// Whether the row has the threshold or less.
    pub below: bool,
}

/// A row's way through the tree.
#[derive(Clone, Debug, PartialEq)]
pub struct DecisionPath<'a> {
    /// The decisions, from the root.
    pub steps: Vec<Decision>,
    /// Number of the leaf among the tree's nodes.
    pub leaf: usize,
    /// Training rows of the leaf.
    pub rows: usize,
    /// Root of the mean weighted squared error of the leaf's model on them.
    pub rmse: f64,
    /// The leaf's model at 0.
    pub intercept: f64,
    /// What each column adds to it; empty for a constant leaf.
    pub slopes: &'a [f64],
    /// Whether the leaf's model left the range of its training targets and was held there.
    pub clamped: bool,
    /// The prediction.
    pub value: f64,
}

impl TreeModel {
    /// Keeps what a walk sees that stops at nodes priced `price` or below.
    pub(crate) fn from_grown(grown: &Grown, prices: &[f64], price: f64, columns: usize) -> Self {
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

    fn flattened(mut self) -> Self {
        self.flat = Flat::default();
        for node in &self.nodes {
            match &node.kind {
                Kind::Split { column, threshold, below, above } => {
                    self.flat.push_split(*column, *threshold, [*below, *above]);
                }
                Kind::Leaf { intercept, slopes, low, high } => {
                    self.flat.push_leaf(*intercept, [*low, *high], slopes);
                }
            }
        }
        self
    }

    fn copy(&mut self, grown: &Grown, prices: &[f64], price: f64, from: usize) -> usize {
        let node = &grown.nodes[from];
        let place = self.nodes.len();
        let rmse = if node.weight > 0.0 { (node.squared_error / node.weight).sqrt() } else { 0.0 };
        let leaf = Kind::Leaf {
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
        self.nodes[place].kind = Kind::Split { column, threshold, below, above };
        place
    }

    /// Columns the model was trained on.
    pub fn columns(&self) -> usize {
        self.columns
    }

    /// Leaves.
    pub fn leaves(&self) -> usize {
        self.nodes.iter().filter(|node| matches!(node.kind, Kind::Leaf { .. })).count()
    }

    /// Splits on the longest way to a leaf.
    pub fn depth(&self) -> usize {
        let mut depths = vec![0; self.nodes.len()];
        for (place, node) in self.nodes.iter().enumerate() {
            if let Kind::Split { below, above, .. } = node.kind {
                depths[below] = depths[place] + 1;
                depths[above] = depths[place] + 1;
            }
        }
        depths.into_iter().max().unwrap_or(0)
    }

    /// Each column's share of the squared error that the tree explains: what its splits removed,
    /// and what its slopes explain within leaves (as if columns were independent there). Sums to 1,
    /// or all 0 for a tree that explains nothing.
    pub fn importance(&self) -> &[f64] {
        &self.importance
    }

    /// One prediction for each row.
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

    /// The prediction for one row.
    pub fn predict_one(&self, row: &[f64]) -> Result<f64, DataError> {
        check_row(row, self.columns)?;
        Ok(self.value(row))
    }

    /// A row's way through the tree, and what it finds there.
    pub fn path(&self, row: &[f64]) -> Result<DecisionPath<'_>, DataError> {
        check_row(row, self.columns)?;
        let (mut place, mut steps) = (0, Vec::new());
        loop {
            let node = &self.nodes[place];
            match &node.kind {
                Kind::Split { column, threshold, below, above } => {
                    let is_below = row[*column] <= *threshold;
                    steps.push(Decision {
                        column: *column,
                        threshold: *threshold,
                        below: is_below,
                    });
                    place = if is_below { *below } else { *above };
                }
                Kind::Leaf { intercept, slopes, low, high } => {
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

    /// The prediction for a row already checked.
    pub(crate) fn value(&self, row: &[f64]) -> f64 {
        self.flat.value(row)
    }

    /// The tree as indented text, with these names for the columns.
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
            Kind::Split { column, threshold, below, above } => {
                let (name, threshold) = (names[*column], number(*threshold));
                let _ = writeln!(text, "{indent}{name} <= {threshold} [{rows} rows]");
                self.describe_node(*below, depth + 1, names, target, text);
                let _ = writeln!(text, "{indent}{name} > {threshold}");
                self.describe_node(*above, depth + 1, names, target, text);
            }
            Kind::Leaf { intercept, slopes, .. } => {
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
                Kind::Split { column, threshold, below, above } => {
                    let legal = place + 1..self.nodes.len();
                    let sound = *column < self.columns && threshold.is_finite();
                    // Children after their parents: no walk can go in circles.
                    if !(sound && legal.contains(below) && legal.contains(above)) {
                        return fault(format!("the split of node {place} leads nowhere"));
                    }
                }
                Kind::Leaf { intercept, slopes, low, high } => {
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

/// Four significant digits, without trailing zeros.
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
