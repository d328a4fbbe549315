//! Training of a bag of trees.

use super::super::TreeModel;
use super::super::grow::grow;
use super::super::sample::Sample;
use super::{BagError, BagModel, BagParams, BagValidParams};
use crate::random;
use linfa::ParamGuard;
use ndarray::{ArrayView1, ArrayView2};
use rand::RngExt;
use rayon::prelude::*;

impl BagParams {
    /// Checks the parameters, then grows the trees.
    pub fn fit(
        &self,
        x: ArrayView2<'_, f64>,
        y: ArrayView1<'_, f64>,
    ) -> Result<BagModel, BagError> {
        self.check_ref()?.fit(x, y)
    }
}

/// One tree, and the rows that its bootstrap sample left out.
struct Bagged {
    tree: TreeModel,
    left_out: Vec<usize>,
}

impl BagValidParams {
    /// Grows the trees.
    pub fn fit(
        &self,
        x: ArrayView2<'_, f64>,
        y: ArrayView1<'_, f64>,
    ) -> Result<BagModel, BagError> {
        let params = self.tree()?;
        let sample = Sample::new(x, y, params.weighting)?;
        let rows = y.len();
        let bagged: Vec<Bagged> = (0..self.trees)
            .into_par_iter()
            .map(|number| {
                let mut rng = random::stream(params.seed, 1_000_000 + number as u64);
                let mut drawn: Vec<usize> = (0..rows).map(|_| rng.random_range(0..rows)).collect();
                drawn.sort_unstable();
                let left_out = (0..rows).filter(|row| drawn.binary_search(row).is_err()).collect();
                let mut grown = grow(params, &sample, &drawn, number as u64);
                grown.uncentre(&sample);
                grown.smooth(params.smoothing);
                let keep_all = vec![f64::INFINITY; grown.nodes.len()];
                let tree = TreeModel::from_grown(&grown, &keep_all, 0.0, sample.columns);
                Bagged { tree, left_out }
            })
            .collect();
        let out_of_bag = out_of_bag(x, &bagged);
        let trees = bagged.into_iter().map(|bagged| bagged.tree).collect();
        Ok(BagModel::new(sample.columns, trees).with_out_of_bag(out_of_bag))
    }
}

/// For each row, the mean prediction of the trees that were grown without it. None if there is no
/// such tree.
fn out_of_bag(x: ArrayView2<'_, f64>, bagged: &[Bagged]) -> Vec<Option<f64>> {
    let mut sums = vec![(0.0, 0u32); x.nrows()];
    for bagged in bagged {
        for &row in &bagged.left_out {
            sums[row].0 += bagged.tree.value(&x.row(row).to_vec());
            sums[row].1 += 1;
        }
    }
    sums.into_iter().map(|(sum, trees)| (trees > 0).then(|| sum / f64::from(trees))).collect()
}
