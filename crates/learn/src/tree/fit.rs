//! Growing and pruning.

use super::moments::{Fitted, Moments, Workspace};
use super::prune;
use super::{Leaves, Prune, TreeError, TreeModel, TreeParams, TreeValidParams, Weighting};
use crate::errors::check_supervised;
use crate::{linalg, random, selection};
use linfa::ParamGuard;
use ndarray::{ArrayView1, ArrayView2};
use rand::RngExt;
use rand_pcg::Pcg64;
use rayon::prelude::*;

/// Pruned trees judged by cross-validation: of more, evenly many are taken. Each costs a number for
/// every row, 12 MB for 12,000 rows.
const MOST_PRICES: usize = 128;

/// Rows as the growing sees them: contiguous, centred on the column means, with weights.
pub(crate) struct Sample {
    pub(crate) columns: usize,
    means: Vec<f64>,
    cells: Vec<f64>,
    pub(crate) targets: Vec<f64>,
    weights: Vec<f64>,
}

/// A grown tree, parents before children, the root first.
pub(crate) struct Grown {
    pub(crate) nodes: Vec<GrownNode>,
}

pub(crate) struct GrownNode {
    pub(crate) rows: usize,
    pub(crate) squared_error: f64,
    pub(crate) weight: f64,
    /// In the columns' own units.
    pub(crate) intercept: f64,
    pub(crate) slopes: Vec<f64>,
    /// Squared error that each slope explains here, as if the columns were independent.
    pub(crate) explained: Vec<f64>,
    pub(crate) low: f64,
    pub(crate) high: f64,
    pub(crate) split: Option<GrownSplit>,
}

#[derive(Clone, Copy)]
pub(crate) struct GrownSplit {
    pub(crate) column: usize,
    pub(crate) threshold: f64,
    pub(crate) below: usize,
    pub(crate) above: usize,
}

impl TreeParams {
    /// Checks the parameters, then grows and prunes a tree.
    pub fn fit(
        &self,
        x: ArrayView2<'_, f64>,
        y: ArrayView1<'_, f64>,
    ) -> Result<TreeModel, TreeError> {
        self.check_ref()?.fit(x, y)
    }
}

impl TreeValidParams {
    /// Grows and prunes a tree.
    pub fn fit(
        &self,
        x: ArrayView2<'_, f64>,
        y: ArrayView1<'_, f64>,
    ) -> Result<TreeModel, TreeError> {
        let sample = Sample::new(x, y, self.weighting)?;
        let all: Vec<usize> = (0..y.len()).collect();
        let mut grown = grow(self, &sample, &all, 0);
        let prices = prune::prices(&grown);
        let price = match self.prune {
            Prune::No => -1.0,
            Prune::CrossValidated { folds, standard_errors } => {
                self.best_price(&sample, &prune::steps(&prices), folds, standard_errors)
            }
        };
        grown.uncentre(&sample);
        grown.smooth(self.smoothing);
        Ok(TreeModel::from_grown(&grown, &prices, price, sample.columns))
    }

    /// The price whose trees predict left-out rows best, or the highest within the margin.
    fn best_price(&self, sample: &Sample, steps: &[f64], folds: usize, margin: f64) -> f64 {
        let rows = sample.targets.len();
        let Ok(splits) = selection::k_fold(rows, folds.min(rows), self.seed) else { return -1.0 };
        // Between two steps the tree is the same; the geometric mean stands for the interval.
        let mut tried = vec![-1.0];
        tried.extend(steps.windows(2).map(|pair| (pair[0] * pair[1]).sqrt()));
        let stride = tried.len().div_ceil(MOST_PRICES);
        let mut tried: Vec<f64> = tried.into_iter().step_by(stride).collect();
        tried.extend(steps.last().map(|last| last * 2.0 + f64::MIN_POSITIVE));
        let errors: Vec<(Vec<usize>, Vec<Vec<f64>>)> = splits
            .into_par_iter()
            .enumerate()
            .map(|(fold, split)| {
                let grown = grow(self, sample, &split.train, 1 + fold as u64);
                let prices = prune::prices(&grown);
                let share = split.train.len() as f64 / rows as f64;
                let of_row = |&row: &usize| {
                    let path = grown.path(sample.row(row));
                    let error = |price: &f64| {
                        let stop = path.iter().find(|&&node| prices[node] <= price * share);
                        let node = *stop.unwrap_or(&path[path.len() - 1]);
                        sample.weighted_error(row, grown.nodes[node].predict(sample.row(row)))
                    };
                    tried.iter().map(error).collect()
                };
                let errors = split.test.iter().map(of_row).collect();
                (split.test, errors)
            })
            .collect();
        let mut by_row: Vec<&[f64]> = vec![&[]; rows];
        for (tests, errors) in &errors {
            for (&row, errors) in tests.iter().zip(errors) {
                by_row[row] = errors;
            }
        }
        choose(&tried, &by_row, margin)
    }
}

/// The highest price whose mean error is within `margin` standard errors of the least.
fn choose(tried: &[f64], by_row: &[&[f64]], margin: f64) -> f64 {
    let rows = by_row.len() as f64;
    let means: Vec<f64> = (0..tried.len())
        .map(|price| by_row.iter().map(|row| row[price]).sum::<f64>() / rows)
        .collect();
    let least = (0..tried.len()).min_by(|&a, &b| means[a].total_cmp(&means[b])).unwrap_or(0);
    let variance = by_row.iter().map(|row| (row[least] - means[least]).powi(2)).sum::<f64>() / rows;
    let limit = means[least] + margin * (variance / rows).sqrt();
    let best = (0..tried.len()).rev().find(|&price| means[price] <= limit).unwrap_or(least);
    tried[best]
}

impl Sample {
    pub(crate) fn new(
        x: ArrayView2<'_, f64>,
        y: ArrayView1<'_, f64>,
        weighting: Weighting,
    ) -> Result<Self, TreeError> {
        check_supervised(x, y)?;
        let weights: Vec<f64> = match weighting {
            Weighting::Uniform => vec![1.0; y.len()],
            Weighting::Relative => {
                if let Some(row) = y.iter().position(|&y| y == 0.0) {
                    return Err(TreeError::ZeroTarget { row });
                }
                y.iter().map(|y| 1.0 / (y * y)).collect()
            }
        };
        let means = linalg::column_means(x);
        let cells = linalg::centred(x, &means).into_iter().collect();
        let (columns, means) = (x.ncols(), means.to_vec());
        Ok(Self { columns, means, cells, targets: y.to_vec(), weights })
    }

    /// One centred row.
    pub(crate) fn row(&self, row: usize) -> &[f64] {
        &self.cells[row * self.columns..(row + 1) * self.columns]
    }

    fn weighted_error(&self, row: usize, prediction: f64) -> f64 {
        let error = prediction - self.targets[row];
        self.weights[row] * error * error
    }
}

/// Grows a tree on these rows (which may repeat) without pruning.
pub(crate) fn grow(
    params: &TreeValidParams,
    sample: &Sample,
    rows: &[usize],
    stream: u64,
) -> Grown {
    let columns = match params.leaves {
        Leaves::Constant => 0,
        Leaves::Linear => sample.columns,
    };
    let mut grower = Grower {
        params,
        sample,
        least_rows: params.least_rows(sample.columns),
        workspace: Workspace::default(),
        sides: [Moments::new(columns), Moments::new(columns)],
        rng: random::stream(params.seed, stream),
        nodes: Vec::new(),
    };
    let mut moments = Moments::new(columns);
    grower.collect(rows, &mut moments);
    grower.grow_node(rows.to_vec(), &moments, 0);
    Grown { nodes: grower.nodes }
}

struct Grower<'a> {
    params: &'a TreeValidParams,
    sample: &'a Sample,
    least_rows: usize,
    workspace: Workspace,
    sides: [Moments; 2],
    rng: Pcg64,
    nodes: Vec<GrownNode>,
}

impl Grower<'_> {
    fn collect(&mut self, rows: &[usize], moments: &mut Moments) {
        moments.clear();
        for &row in rows {
            let (y, weight) = (self.sample.targets[row], self.sample.weights[row]);
            moments.add(self.sample.row(row), y, weight, &mut self.workspace);
        }
    }

    /// Appends the node of these rows and all below it; returns its place.
    fn grow_node(&mut self, rows: Vec<usize>, moments: &Moments, depth: usize) -> usize {
        let node = self.node(&rows, moments);
        let (place, squared_error) = (self.nodes.len(), node.squared_error);
        let enough = rows.len() >= 2 * self.least_rows && depth < self.params.max_depth;
        // What is left is rounding when it is this small beside the targets themselves.
        let exact = squared_error <= 1e-13 * self.root_error(&node);
        self.nodes.push(node);
        if !enough || exact {
            return place;
        }
        let Some((column, threshold)) = self.best_split(&rows, moments, squared_error) else {
            return place;
        };
        let (below, above): (Vec<usize>, Vec<usize>) =
            rows.into_iter().partition(|&row| self.sample.row(row)[column] <= threshold);
        let mut side = moments.clone();
        self.collect(&below, &mut side);
        let below = self.grow_node(below, &side, depth + 1);
        self.collect(&above, &mut side);
        let above = self.grow_node(above, &side, depth + 1);
        self.nodes[place].split = Some(GrownSplit { column, threshold, below, above });
        place
    }

    fn root_error(&self, node: &GrownNode) -> f64 {
        self.nodes
            .first()
            .map_or(node.weight * node.high.abs().max(node.low.abs()).powi(2), |root| {
                root.weight * root.high.abs().max(root.low.abs()).powi(2)
            })
    }

    fn node(&mut self, rows: &[usize], moments: &Moments) -> GrownNode {
        let Fitted { intercept, slopes, squared_error } = moments.fit(&mut self.workspace);
        let targets = rows.iter().map(|&row| self.sample.targets[row]);
        let (low, high) =
            targets.fold((f64::INFINITY, f64::NEG_INFINITY), |(l, h), y| (l.min(y), h.max(y)));
        let widen = if slopes.is_empty() { 0.0 } else { 0.1 * (high - low) };
        let explained =
            (0..slopes.len()).map(|i| slopes[i].powi(2) * moments.spread_of(i)).collect();
        GrownNode {
            rows: rows.len(),
            squared_error,
            weight: moments.weight(),
            intercept,
            slopes,
            explained,
            low: low - widen,
            high: high + widen,
            split: None,
        }
    }

    /// The column and threshold that leave the least error, if any leaves less than there is.
    fn best_split(&mut self, rows: &[usize], all: &Moments, error: f64) -> Option<(usize, f64)> {
        let mut best = (error * (1.0 - 1e-9), None);
        let mut order: Vec<(f64, usize)> = Vec::with_capacity(rows.len());
        for column in self.columns_to_try() {
            order.clear();
            order.extend(rows.iter().map(|&row| (self.sample.row(row)[column], row)));
            order.sort_unstable_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
            let mut done = 0;
            self.sides[0].clear();
            for end in cuts(&order, self.params.thresholds) {
                for &(_, row) in &order[done..end] {
                    let (y, weight) = (self.sample.targets[row], self.sample.weights[row]);
                    self.sides[0].add(self.sample.row(row), y, weight, &mut self.workspace);
                }
                done = end;
                if end < self.least_rows || order.len() - end < self.least_rows {
                    continue;
                }
                let [below, above] = &mut self.sides;
                above.set_difference(all, below);
                let left = below.squared_error(&mut self.workspace)
                    + above.squared_error(&mut self.workspace);
                if left < best.0 {
                    best = (left, Some((column, middle(&order, end))));
                }
            }
        }
        best.1
    }

    fn columns_to_try(&mut self) -> Vec<usize> {
        let columns = self.sample.columns;
        let mut all: Vec<usize> = (0..columns).collect();
        let Some(wanted) = self.params.columns_per_split.filter(|&wanted| wanted < columns) else {
            return all;
        };
        for place in 0..wanted {
            let other = self.rng.random_range(place..columns);
            all.swap(place, other);
        }
        all.truncate(wanted);
        all.sort_unstable();
        all
    }
}

/// The threshold between the values around a cut.
fn middle(order: &[(f64, usize)], end: usize) -> f64 {
    let (low, high) = (order[end - 1].0, order[end].0);
    let middle = low + 0.5 * (high - low);
    if middle < high { middle } else { low }
}

/// Ends of the lower side to try: between different values only, at most `most`, evenly among the
/// rows.
fn cuts(order: &[(f64, usize)], most: usize) -> Vec<usize> {
    let all: Vec<usize> = (1..order.len()).filter(|&end| order[end - 1].0 < order[end].0).collect();
    if all.len() <= most {
        return all;
    }
    let mut chosen = Vec::with_capacity(most);
    for cut in 1..=most {
        let wanted = cut * order.len() / (most + 1);
        let place = all.partition_point(|&end| end < wanted).min(all.len() - 1);
        chosen.push(all[place]);
    }
    chosen.dedup();
    chosen
}

impl GrownNode {
    /// The node's own model at one centred row.
    pub(crate) fn predict(&self, row: &[f64]) -> f64 {
        let sum = self.slopes.iter().zip(row).fold(self.intercept, |sum, (s, x)| sum + s * x);
        sum.clamp(self.low, self.high)
    }
}

impl Grown {
    /// The nodes that one centred row passes, root first.
    fn path(&self, row: &[f64]) -> Vec<usize> {
        let (mut place, mut path) = (0, vec![0]);
        while let Some(split) = &self.nodes[place].split {
            place = if row[split.column] <= split.threshold { split.below } else { split.above };
            path.push(place);
        }
        path
    }

    /// Averages each node's model with its parent's, which counts as so many rows.
    pub(crate) fn smooth(&mut self, parent_rows: f64) {
        if parent_rows <= 0.0 {
            return;
        }
        // Parents stand before their children, so theirs are smoothed already.
        for place in 0..self.nodes.len() {
            let Some(split) = self.nodes[place].split else { continue };
            let parent = (self.nodes[place].intercept, self.nodes[place].slopes.clone());
            for child in [split.below, split.above] {
                let child = &mut self.nodes[child];
                let own = child.rows as f64 / (child.rows as f64 + parent_rows);
                let mean = |child: f64, parent: f64| own * child + (1.0 - own) * parent;
                child.intercept = mean(child.intercept, parent.0);
                for (slope, parent) in child.slopes.iter_mut().zip(&parent.1) {
                    *slope = mean(*slope, *parent);
                }
            }
        }
    }

    /// Moves thresholds and intercepts from centred columns to the columns' own values.
    pub(crate) fn uncentre(&mut self, sample: &Sample) {
        for node in &mut self.nodes {
            let shift: f64 = node.slopes.iter().zip(&sample.means).map(|(s, m)| s * m).sum();
            node.intercept -= shift;
            if let Some(split) = &mut node.split {
                split.threshold += sample.means[split.column];
            }
        }
    }
}
