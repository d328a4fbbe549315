//! Growing of boosted trees.

use super::model::SymmetricTree;
use super::{BoostError, BoostModel, BoostParams, BoostValidParams};
use crate::DataError;
use crate::errors::check_matrix;
use linfa::ParamGuard;
use ndarray::ArrayView2;

impl BoostParams {
    /// Checks the parameters, then grows the trees. `y` has a column for each output.
    pub fn fit(
        &self,
        x: ArrayView2<'_, f64>,
        y: ArrayView2<'_, f64>,
    ) -> Result<BoostModel, BoostError> {
        self.check_ref()?.fit(x, y)
    }
}

impl BoostValidParams {
    /// Grows the trees. `y` has a column for each output.
    pub fn fit(
        &self,
        x: ArrayView2<'_, f64>,
        y: ArrayView2<'_, f64>,
    ) -> Result<BoostModel, BoostError> {
        check_matrix(x)?;
        if x.nrows() != y.nrows() {
            let (rows, targets) = (x.nrows(), y.nrows());
            return Err(DataError::TargetCount { rows, targets }.into());
        }
        check_matrix(y)?;
        let columns: Vec<Column> =
            x.columns().into_iter().map(|c| Column::new(&c.to_vec(), self.thresholds)).collect();
        let outputs: Vec<Output> =
            y.columns().into_iter().map(|column| Output::new(column.to_vec())).collect();
        let scales: Vec<[f64; 2]> = outputs.iter().map(|own| [own.mean, own.scale]).collect();
        let mut left_over: Vec<Vec<f64>> = outputs.into_iter().map(|own| own.scaled).collect();
        let mut trees = Vec::with_capacity(self.trees);
        for _ in 0..self.trees {
            let Some((tree, leaf_of)) = self.grow(&columns, &left_over) else { break };
            for (row, &leaf) in leaf_of.iter().enumerate() {
                for (left_over, value) in left_over.iter_mut().zip(tree.leaf(leaf, scales.len())) {
                    left_over[row] -= f64::from(*value);
                }
            }
            trees.push(tree);
        }
        Ok(BoostModel::new(x.ncols(), &scales, trees))
    }

    /// One tree and the leaf of each row; `None` if nothing can be told apart any more.
    fn grow(
        &self,
        columns: &[Column],
        left_over: &[Vec<f64>],
    ) -> Option<(SymmetricTree, Vec<usize>)> {
        let rows = left_over[0].len();
        let mut leaf_of = vec![0; rows];
        let mut tree = SymmetricTree::default();
        for level in 0..self.depth {
            let Some((column, cut)) = self.question(columns, left_over, &leaf_of, 1 << level)
            else {
                break;
            };
            tree.ask(column, columns[column].cuts[cut]);
            for (leaf, &bin) in leaf_of.iter_mut().zip(&columns[column].bins) {
                *leaf = 2 * *leaf + usize::from(usize::from(bin) > cut);
            }
        }
        let leaves = 1 << tree.depth();
        let outputs = left_over.len();
        let (mut counts, mut sums) = (vec![0.0; leaves], vec![0.0; leaves * outputs]);
        for (row, &leaf) in leaf_of.iter().enumerate() {
            counts[leaf] += 1.0;
            for (output, left_over) in left_over.iter().enumerate() {
                sums[leaf * outputs + output] += left_over[row];
            }
        }
        let value = |(place, sum): (usize, f64)| {
            let value = self.rate * sum / (counts[place / outputs] + self.prior_rows);
            // Four digits keep files small; what they leave over the next tree learns.
            ((value * 1e4).round() / 1e4) as f32
        };
        tree.set_leaves(sums.into_iter().enumerate().map(value).collect());
        (tree.depth() > 0).then_some((tree, leaf_of))
    }

    /// The column, and the place of its threshold, that explain the most in all leaves together;
    /// `None` if no threshold tells any rows apart.
    fn question(
        &self,
        columns: &[Column],
        left_over: &[Vec<f64>],
        leaf_of: &[usize],
        leaves: usize,
    ) -> Option<(usize, usize)> {
        let outputs = left_over.len();
        // A count and the sum of each output.
        let width = outputs + 1;
        let mut best: Option<(f64, usize, usize)> = None;
        for (number, column) in columns.iter().enumerate() {
            let bins = column.cuts.len() + 1;
            let mut sums = vec![0.0; leaves * bins * width];
            for (row, (&leaf, &bin)) in leaf_of.iter().zip(&column.bins).enumerate() {
                let at = (leaf * bins + usize::from(bin)) * width;
                sums[at] += 1.0;
                for (sum, left_over) in sums[at + 1..at + width].iter_mut().zip(left_over) {
                    *sum += left_over[row];
                }
            }
            let mut explained = vec![0.0; column.cuts.len()];
            let mut tells_apart = vec![false; column.cuts.len()];
            for leaf in sums.chunks_exact(bins * width) {
                let mut all = vec![0.0; width];
                for bin in leaf.chunks_exact(width) {
                    all.iter_mut().zip(bin).for_each(|(all, one)| *all += one);
                }
                let mut below = vec![0.0; width];
                for (cut, bin) in leaf.chunks_exact(width).take(column.cuts.len()).enumerate() {
                    below.iter_mut().zip(bin).for_each(|(below, one)| *below += one);
                    let above_count = all[0] - below[0];
                    tells_apart[cut] |= below[0] > 0.0 && above_count > 0.0;
                    for (below_sum, all_sum) in below[1..].iter().zip(&all[1..]) {
                        explained[cut] += below_sum.powi(2) / (below[0] + self.prior_rows)
                            + (all_sum - below_sum).powi(2) / (above_count + self.prior_rows);
                    }
                }
            }
            for (cut, explained) in explained.into_iter().enumerate() {
                if tells_apart[cut] && best.is_none_or(|(most, ..)| explained > most) {
                    best = Some((explained, number, cut));
                }
            }
        }
        best.map(|(_, column, cut)| (column, cut))
    }
}

/// A column of the data: its thresholds in rising order, and for each row how many of them lie
/// below its cell.
struct Column {
    cuts: Vec<f64>,
    bins: Vec<u16>,
}

impl Column {
    fn new(cells: &[f64], thresholds: usize) -> Self {
        let mut sorted = cells.to_vec();
        sorted.sort_by(f64::total_cmp);
        let steps = thresholds.min(usize::from(u16::MAX)) + 1;
        let mut cuts: Vec<f64> = (1..steps).map(|n| sorted[n * sorted.len() / steps]).collect();
        cuts.dedup();
        // No row lies above the greatest cell.
        cuts.retain(|cut| *cut < sorted[sorted.len() - 1]);
        let bin = |cell: &f64| cuts.partition_point(|cut| cut < cell) as u16;
        let bins = cells.iter().map(bin).collect();
        Self { cuts, bins }
    }
}

/// The targets of one output, at mean 0 and deviation 1.
struct Output {
    mean: f64,
    scale: f64,
    scaled: Vec<f64>,
}

impl Output {
    fn new(targets: Vec<f64>) -> Self {
        let count = targets.len() as f64;
        let mean = targets.iter().sum::<f64>() / count;
        let variance = targets.iter().map(|own| (own - mean).powi(2)).sum::<f64>() / count;
        let scale = if variance > 0.0 { variance.sqrt() } else { 1.0 };
        let scaled = targets.into_iter().map(|own| (own - mean) / scale).collect();
        Self { mean, scale, scaled }
    }
}
