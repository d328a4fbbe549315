//! A tree laid out for fast prediction: nodes of 24 bytes in one vector, leaf models in another.

/// Marks a leaf, in the place of a split's column.
const LEAF: u32 = u32::MAX;
/// Numbers of a leaf before its slopes: intercept, least and greatest prediction.
const HEAD: usize = 3;

/// The nodes of one tree, the root first, and the numbers of its leaves.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Flat {
    nodes: Vec<FlatNode>,
    leaves: Vec<f64>,
}

#[derive(Clone, Copy, Debug, PartialEq)]
struct FlatNode {
    threshold: f64,
    column: u32,
    /// In a split, the node for rows with the threshold or less. In a leaf, where its numbers
    /// begin.
    below: u32,
    /// In a split, the node for all other rows. In a leaf, where its numbers end.
    above: u32,
}

impl Flat {
    /// Appends a split. `below` and `above` are places of nodes.
    pub(super) fn push_split(&mut self, column: usize, threshold: f64, [below, above]: [usize; 2]) {
        let [column, below, above] = [column, below, above].map(|number| number as u32);
        self.nodes.push(FlatNode { threshold, column, below, above });
    }

    /// Appends a leaf whose prediction stays between `low` and `high`.
    pub(super) fn push_leaf(&mut self, intercept: f64, [low, high]: [f64; 2], slopes: &[f64]) {
        let below = self.leaves.len() as u32;
        self.leaves.extend([intercept, low, high]);
        self.leaves.extend(slopes);
        let above = self.leaves.len() as u32;
        self.nodes.push(FlatNode { threshold: 0.0, column: LEAF, below, above });
    }

    /// The prediction for one row, which has the columns that the tree was trained on.
    pub(super) fn value(&self, row: &[f64]) -> f64 {
        let mut node = &self.nodes[0];
        while node.column != LEAF {
            let is_below = row[node.column as usize] <= node.threshold;
            node = &self.nodes[if is_below { node.below } else { node.above } as usize];
        }
        let leaf = &self.leaves[node.below as usize..node.above as usize];
        linear(leaf[0], &leaf[HEAD..], row).clamp(leaf[1], leaf[2])
    }
}

/// The value of a linear function, in four partial sums so that an addition need not wait for the
/// one before it. Without slopes it is the intercept.
pub(super) fn linear(intercept: f64, slopes: &[f64], row: &[f64]) -> f64 {
    let mut lanes = [intercept, 0.0, 0.0, 0.0];
    let row = &row[..slopes.len().min(row.len())];
    for (slopes, cells) in slopes.chunks(4).zip(row.chunks(4)) {
        for (lane, (slope, cell)) in lanes.iter_mut().zip(slopes.iter().zip(cells)) {
            *lane += slope * cell;
        }
    }
    (lanes[0] + lanes[1]) + (lanes[2] + lanes[3])
}
