//! Growing: the search for the split that leaves the least squared error, node by node.

use super::grown::{Grown, GrownNode, GrownSplit};
use super::moments::{Fitted, Moments, Workspace};
use super::sample::Sample;
use super::{Leaves, TreeValidParams};
use crate::random;
use rand::RngExt;
use rand_pcg::Pcg64;

/// Grows a tree without pruning. `rows` are numbers of rows of `sample` and may repeat; `stream`
/// tells apart the random draws of several trees with one seed.
pub(super) fn grow(
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

    /// An upper bound of the squared error that predicting 0 has on all rows: the scale against
    /// which an error counts as rounding. `node` is the root while there is none yet.
    fn root_error(&self, node: &GrownNode) -> f64 {
        self.nodes
            .first()
            .map_or(node.weight * node.high.abs().max(node.low.abs()).powi(2), |root| {
                root.weight * root.high.abs().max(root.low.abs()).powi(2)
            })
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
