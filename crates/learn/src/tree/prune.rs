//! Cost-complexity pruning: from which price per leaf each split no longer pays.

use super::grown::Grown;

/// For each node, the lowest price per leaf at which its subtree saves less squared error than its
/// leaves cost. It is infinite for a leaf. To prune the tree at price `p`, walk from the root and
/// make a leaf of the first node whose price is `p` or less.
pub(super) fn prices(tree: &Grown) -> Vec<f64> {
    let nodes = &tree.nodes;
    let mut price = vec![f64::INFINITY; nodes.len()];
    let mut floor = 0.0f64;
    loop {
        // Children stand after their parents, so one pass backwards sums up every subtree.
        let mut leaves = vec![1usize; nodes.len()];
        let mut error: Vec<f64> = nodes.iter().map(|node| node.squared_error).collect();
        let mut weakest = f64::INFINITY;
        let mut gain_per_leaf = vec![f64::INFINITY; nodes.len()];
        for (place, node) in nodes.iter().enumerate().rev() {
            let Some(split) = &node.split else { continue };
            if price[place].is_finite() {
                continue;
            }
            leaves[place] = leaves[split.below] + leaves[split.above];
            error[place] = error[split.below] + error[split.above];
            gain_per_leaf[place] =
                (node.squared_error - error[place]).max(0.0) / (leaves[place] - 1) as f64;
            weakest = weakest.min(gain_per_leaf[place]);
        }
        if !weakest.is_finite() {
            return price;
        }
        floor = floor.max(weakest);
        for (price, gain) in price.iter_mut().zip(&gain_per_leaf) {
            if *gain <= weakest {
                *price = floor;
            }
        }
    }
}

/// The finite prices in rising order, each once. The pruned tree changes at these prices only.
pub(super) fn steps(prices: &[f64]) -> Vec<f64> {
    let mut steps: Vec<f64> = prices.iter().copied().filter(|price| price.is_finite()).collect();
    steps.sort_by(f64::total_cmp);
    steps.dedup();
    steps
}
