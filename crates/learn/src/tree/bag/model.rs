//! The fitted bag of trees.

use super::super::TreeModel;
use crate::errors::{check_columns, check_row};
use crate::guard::checked_model;
use crate::{DataError, ModelError, Version};
use ndarray::{Array1, ArrayView2};
use serde::{Deserialize, Serialize};

/// A fitted bag of trees, whose prediction is the mean over the trees.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(remote = "Self", deny_unknown_fields)]
pub struct BagModel {
    version: Version<1>,
    columns: usize,
    trees: Vec<TreeModel>,
    #[serde(skip)]
    out_of_bag: Vec<Option<f64>>,
}

checked_model!(BagModel);

impl BagModel {
    pub(super) fn new(columns: usize, trees: Vec<TreeModel>) -> Self {
        Self { version: Version, columns, trees, out_of_bag: Vec::new() }
    }

    pub(super) fn with_out_of_bag(mut self, out_of_bag: Vec<Option<f64>>) -> Self {
        self.out_of_bag = out_of_bag;
        self
    }

    /// The trees.
    pub fn trees(&self) -> &[TreeModel] {
        &self.trees
    }

    /// For each training row, the mean prediction of the trees that were grown without it. None if
    /// there is no such tree. The whole list is empty for a model read from a file.
    pub fn out_of_bag(&self) -> &[Option<f64>] {
        &self.out_of_bag
    }

    /// The mean of the trees' [importances](TreeModel::importance) for each column.
    pub fn importance(&self) -> Vec<f64> {
        let count = self.trees.len() as f64;
        let of = |column: usize| {
            self.trees.iter().map(|tree| tree.importance()[column]).sum::<f64>() / count
        };
        (0..self.columns).map(of).collect()
    }

    /// Predicts every row.
    pub fn predict(&self, x: ArrayView2<'_, f64>) -> Result<Array1<f64>, DataError> {
        check_columns(x, self.columns)?;
        Ok(x.rows().into_iter().map(|row| self.value(&row.to_vec())).collect())
    }

    /// Predicts one row.
    pub fn predict_one(&self, row: &[f64]) -> Result<f64, DataError> {
        check_row(row, self.columns)?;
        Ok(self.value(row))
    }

    fn value(&self, row: &[f64]) -> f64 {
        self.trees.iter().map(|tree| tree.value(row)).sum::<f64>() / self.trees.len() as f64
    }

    fn verify(&self) -> Result<(), ModelError> {
        if self.trees.is_empty() || self.trees.iter().any(|tree| tree.columns() != self.columns) {
            let reason = format!("{} trees, not all of {} columns", self.trees.len(), self.columns);
            return Err(ModelError::new("ensemble", reason));
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::super::{BagError, BagParams};
    use super::*;
    use crate::tree::{Leaves, Prune, TreeParams};
    use crate::{metrics, random};
    use ndarray::Array2;
    use rand::RngExt;

    fn data(rows: usize, seed: u64) -> (Array2<f64>, Array1<f64>) {
        let mut rng = random::stream(seed, 5);
        let x = Array2::from_shape_fn((rows, 3), |_| rng.random_range(0.0..1.0f64));
        let y = x
            .rows()
            .into_iter()
            .map(|r| (6.0 * r[0]).sin() * r[1] + r[2] + rng.random_range(-0.2..0.2))
            .collect();
        (x, y)
    }

    #[test]
    fn averaging_beats_one_unpruned_tree() {
        let ((x, y), (asked, truth)) = (data(300, 1), data(300, 2));
        let tree = TreeParams::new(Leaves::Constant).prune(Prune::No);
        let bag = BagParams::new(30, tree.clone()).fit(x.view(), y.view()).unwrap();
        let error =
            |predicted: Array1<f64>| metrics::rmse(&truth.to_vec(), &predicted.to_vec()).unwrap();
        let alone = error(tree.fit(x.view(), y.view()).unwrap().predict(asked.view()).unwrap());
        let together = error(bag.predict(asked.view()).unwrap());
        assert!(together < 0.9 * alone, "{together} {alone}");
        let seen: Vec<(f64, f64)> =
            bag.out_of_bag().iter().zip(&y).filter_map(|(p, y)| Some((*y, (*p)?))).collect();
        let (t, p): (Vec<f64>, Vec<f64>) = seen.into_iter().unzip();
        let honest = metrics::rmse(&t, &p).unwrap();
        assert!((honest - together).abs() < 0.25 * together, "{honest} {together}");
    }

    #[test]
    fn threads_do_not_matter_and_a_model_survives_its_file() {
        let (x, y) = data(80, 3);
        let params =
            BagParams::new(7, TreeParams::new(Leaves::Linear).columns_per_split(2).seed(4));
        let model = params.fit(x.view(), y.view()).unwrap();
        let single = rayon::ThreadPoolBuilder::new().num_threads(1).build().unwrap();
        assert_eq!(single.install(|| params.fit(x.view(), y.view())).unwrap(), model);
        let text = serde_json::to_string(&model).unwrap();
        let read: BagModel = serde_json::from_str(&text).unwrap();
        assert_eq!(read.predict(x.view()).unwrap(), model.predict(x.view()).unwrap());
        assert!(
            serde_json::from_str::<BagModel>(r#"{"version":1,"columns":1,"trees":[]}"#).is_err()
        );
    }

    #[test]
    fn no_trees_are_refused() {
        let (x, y) = data(20, 4);
        let error = BagParams::new(0, TreeParams::new(Leaves::Linear)).fit(x.view(), y.view());
        assert_eq!(error.unwrap_err(), BagError::NoTrees);
    }
}
