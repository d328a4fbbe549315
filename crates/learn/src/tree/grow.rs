//! Growing: the search for the split that leaves the least squared error, node by node.
//!
//! Both sides of a split of many rows grow at the same time, each by a grower of its own. Nodes
//! have the same order as if one grew after the other. Where splits try columns at random it is one
//! after the other, since these draws are one sequence.

use super::grown::{Grown, GrownNode, GrownSplit};
use super::moments::{Fitted, Moments, Workspace};
use super::sample::Sample;
use super::{Leaves, TreeValidParams};
use crate::random;
use rand::RngExt;
use rand_pcg::Pcg64;

/// The fewest rows whose two sides grow at the same time.
const APART_MIN: usize = 2_000;

/// Grows a tree without pruning. `rows` are numbers of rows of `sample` and may repeat; `stream`
/// tells apart the random draws of several trees with one seed.
pub(super) fn grow(
    params: &TreeValidParams,
    sample: &Sample,
    rows: &[usize],
    stream: u64,
) -> Grown {
    let mut grower = Grower::new(params, sample, random::stream(params.seed, stream));
    grower.grow(rows.to_vec(), 0);
    Grown { nodes: grower.nodes }
}

struct Grower<'a> {
    params: &'a TreeValidParams,
    sample: &'a Sample,
    least_rows: usize,
    workspace: Workspace,
    sides: [Moments; 2],
    rng: Pcg64,
    /// An upper bound of the squared error that predicting 0 has on all rows: the scale against
    /// which an error counts as rounding. `None` until there is a root.
    scale: Option<f64>,
    nodes: Vec<GrownNode>,
}

impl<'a> Grower<'a> {
    fn new(params: &'a TreeValidParams, sample: &'a Sample, rng: Pcg64) -> Self {
        let columns = match params.leaves {
            Leaves::Constant => 0,
            Leaves::Linear => sample.columns,
        };
        Self {
            params,
            sample,
            least_rows: params.least_rows(sample.columns),
            workspace: Workspace::default(),
            sides: [Moments::new(columns), Moments::new(columns)],
            rng,
            scale: None,
            nodes: Vec::new(),
        }
    }

    /// Grows a tree of these rows, whose root is at this depth.
    fn grow(&mut self, rows: Vec<usize>, depth: usize) {
        let mut moments = self.sides[0].clone();
        self.collect(&rows, &mut moments);
        self.grow_node(rows, &moments, depth);
    }

    /// The nodes of a tree of these rows, grown apart from this one.
    fn grown_apart(&self, rows: Vec<usize>, depth: usize) -> Vec<GrownNode> {
        let mut grower = Self::new(self.params, self.sample, self.rng.clone());
        grower.scale = self.scale;
        grower.grow(rows, depth);
        grower.nodes
    }

    /// Appends nodes that were grown apart. Returns the place of their root.
    fn append(&mut self, nodes: Vec<GrownNode>) -> usize {
        let first = self.nodes.len();
        self.nodes.extend(nodes.into_iter().map(|mut node| {
            if let Some(split) = &mut node.split {
                split.below += first;
                split.above += first;
            }
            node
        }));
        first
    }

    /// Puts the sums of these rows into `moments`.
    fn collect(&mut self, rows: &[usize], moments: &mut Moments) {
        moments.clear();
        for &row in rows {
            let (y, weight) = (self.sample.targets[row], self.sample.weights[row]);
            moments.add(self.sample.row(row), y, weight, &mut self.workspace);
        }
    }

    /// Appends the node of these rows and then all nodes below it. Returns the node's place.
    fn grow_node(&mut self, rows: Vec<usize>, moments: &Moments, depth: usize) -> usize {
        let node = self.node(&rows, moments);
        let (place, squared_error) = (self.nodes.len(), node.squared_error);
        let enough = rows.len() >= 2 * self.least_rows && depth < self.params.max_depth;
        // An error this small beside the targets themselves is rounding: nothing is left to split.
        let largest = node.high.abs().max(node.low.abs());
        let exact =
            squared_error <= 1e-13 * *self.scale.get_or_insert(node.weight * largest.powi(2));
        self.nodes.push(node);
        if !enough || exact {
            return place;
        }
        let Some((column, threshold)) = self.best_split(&rows, moments, squared_error) else {
            return place;
        };
        let (below, above): (Vec<usize>, Vec<usize>) =
            rows.into_iter().partition(|&row| self.sample.row(row)[column] <= threshold);
        let draws = self.params.columns_per_split.is_some();
        let [below, above] = if below.len() + above.len() >= APART_MIN && !draws {
            let (below, above) = rayon::join(
                || self.grown_apart(below, depth + 1),
                || self.grown_apart(above, depth + 1),
            );
            [below, above].map(|nodes| self.append(nodes))
        } else {
            let mut side = moments.clone();
            [below, above].map(|rows| {
                self.collect(&rows, &mut side);
                self.grow_node(rows, &side, depth + 1)
            })
        };
        self.nodes[place].split = Some(GrownSplit { column, threshold, below, above });
        place
    }

    /// A node without a split: the model fitted to these rows and how well it fits.
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

    /// The column and threshold that leave the least squared error on both sides together. None if
    /// no split leaves less than `error`, that of one model for all rows.
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

    /// All columns, or a random choice of as many as the parameters ask for, in rising order.
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

/// A threshold halfway between the last value below a cut and the first above it.
fn middle(order: &[(f64, usize)], end: usize) -> f64 {
    let (low, high) = (order[end - 1].0, order[end].0);
    let middle = low + 0.5 * (high - low);
    if middle < high { middle } else { low }
}

/// The cuts to try, each given as the number of rows on the lower side: only between different
/// values, at most `most` of them, spread evenly over the rows.
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
