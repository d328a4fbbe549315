//! The fitted boosted trees.

use super::params::DEPTH_MAX;
use crate::errors::{check_columns, check_finite};
use crate::guard::checked_model;
use crate::vmath::vectorised;
use crate::{DataError, ModelError, Version};
use ndarray::{Array2, ArrayView2, Axis};
use serde::{Deserialize, Serialize};

/// Rows that are asked the same question at once.
const ROWS: usize = 4;

/// Fitted boosted trees, whose prediction is the sum over the trees.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(remote = "Self", deny_unknown_fields)]
pub struct BoostModel {
    version: Version<1>,
    columns: usize,
    /// What is predicted without any tree, for each output.
    base: Vec<f64>,
    /// What the sum of the trees is multiplied by, for each output.
    scale: Vec<f64>,
    trees: Vec<SymmetricTree>,
}

checked_model!(BoostModel);

/// A tree whose levels ask one question each: is this column above this threshold?
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct SymmetricTree {
    columns: Vec<usize>,
    thresholds: Vec<f64>,
    /// What a leaf adds to each output. The answers are the digits of the leaf's number, 1 for
    /// above, the first answer first.
    leaves: Vec<f32>,
}

impl SymmetricTree {
    /// Adds a level.
    pub(super) fn ask(&mut self, column: usize, threshold: f64) {
        self.columns.push(column);
        self.thresholds.push(threshold);
    }

    pub(super) fn depth(&self) -> usize {
        self.columns.len()
    }

    pub(super) fn set_leaves(&mut self, leaves: Vec<f32>) {
        self.leaves = leaves;
    }

    /// What a leaf adds to each of `outputs` outputs.
    #[inline]
    pub(super) fn leaf(&self, leaf: usize, outputs: usize) -> &[f32] {
        &self.leaves[leaf * outputs..(leaf + 1) * outputs]
    }

    /// The leaf of each row; `columns` are the columns of the rows.
    #[inline(always)]
    fn leaves_of(&self, columns: &[[f64; ROWS]]) -> [u64; ROWS] {
        let mut leaves = [0; ROWS];
        for (&column, &threshold) in self.columns.iter().zip(&self.thresholds) {
            for (leaf, cell) in leaves.iter_mut().zip(columns[column]) {
                *leaf = 2 * *leaf + u64::from(cell > threshold);
            }
        }
        leaves
    }
}

vectorised! {
    /// Writes what the trees say of some rows to `found`, row by row, a place for each of `outputs`
    /// outputs; `columns` are the columns of the rows.
    fn add_up<'a>(
        trees: &'a [SymmetricTree],
        columns: &'a [[f64; ROWS]],
        outputs: usize,
        found: &'a mut [f64],
    ) {
        let mut first = 0;
        while first + 2 <= outputs {
            add_some::<2>(trees, columns, outputs, first, found);
            first += 2;
        }
        if first < outputs {
            add_some::<1>(trees, columns, outputs, first, found);
        }
    }
}

/// Writes what the trees say of `N` outputs, from `first` on. The sums stay in registers.
#[inline(always)]
fn add_some<const N: usize>(
    trees: &[SymmetricTree],
    columns: &[[f64; ROWS]],
    outputs: usize,
    first: usize,
    found: &mut [f64],
) {
    let mut sums = [[0.0; N]; ROWS];
    for tree in trees {
        for (leaf, sums) in tree.leaves_of(columns).into_iter().zip(&mut sums) {
            let place = leaf as usize * outputs + first;
            let values: &[f32; N] = tree.leaves[place..].first_chunk().expect("a place for each");
            sums.iter_mut().zip(values).for_each(|(sum, value)| *sum += f64::from(*value));
        }
    }
    for (found, sums) in found.chunks_exact_mut(outputs).zip(sums) {
        found[first..][..N].copy_from_slice(&sums);
    }
}

impl BoostModel {
    /// `outputs` are base and scale of each output.
    pub(super) fn new(columns: usize, outputs: &[[f64; 2]], trees: Vec<SymmetricTree>) -> Self {
        let [base, scale] = [0, 1].map(|n| outputs.iter().map(|output| output[n]).collect());
        Self { version: Version, columns, base, scale, trees }
    }

    /// Number of columns that the model was trained on.
    pub fn columns(&self) -> usize {
        self.columns
    }

    /// How many numbers it predicts of each row.
    pub fn outputs(&self) -> usize {
        self.base.len()
    }

    /// Predicts every row: a row of outputs for each.
    pub fn predict(&self, x: ArrayView2<'_, f64>) -> Result<Array2<f64>, DataError> {
        check_columns(x, self.columns)?;
        let mut found = vec![0.0; x.nrows() * self.outputs()];
        let mut columns = vec![[0.0; ROWS]; self.columns];
        let groups = x.axis_chunks_iter(Axis(0), ROWS);
        for (rows, sums) in groups.zip(found.chunks_mut(ROWS * self.outputs())) {
            for (cells, column) in columns.iter_mut().zip(rows.columns()) {
                cells.iter_mut().zip(column).for_each(|(to, from)| *to = *from);
            }
            add_up(&self.trees, &columns, self.outputs(), sums);
        }
        for sums in found.chunks_exact_mut(self.outputs()) {
            for (sum, (base, scale)) in sums.iter_mut().zip(self.base.iter().zip(&self.scale)) {
                *sum = base + scale * *sum;
            }
        }
        Ok(Array2::from_shape_vec((x.nrows(), self.outputs()), found).expect("a place for each"))
    }

    fn verify(&self) -> Result<(), ModelError> {
        let model = "boosted trees";
        let wrong = |reason: &str| Err(ModelError::new(model, reason.to_owned()));
        if self.base.is_empty() || self.base.len() != self.scale.len() {
            return wrong("no base and scale for each output");
        }
        check_finite(model, "base", &self.base)?;
        check_finite(model, "scale", &self.scale)?;
        for tree in &self.trees {
            let depth = tree.depth();
            if !(1..=DEPTH_MAX).contains(&depth) || tree.thresholds.len() != depth {
                return wrong("a tree without a threshold for each of 1 to 12 columns");
            }
            if tree.columns.iter().any(|column| *column >= self.columns) {
                return wrong("a tree asks for a column that is not there");
            }
            if tree.leaves.len() != self.base.len() << depth {
                return wrong("a tree without a number for each leaf and output");
            }
            check_finite(model, "threshold", &tree.thresholds)?;
            if !tree.leaves.iter().all(|value| value.is_finite()) {
                return wrong("a leaf that is not a finite number");
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::super::{BoostError, BoostParams};
    use super::*;
    use crate::random;
    use rand::RngExt;

    fn data(rows: usize, seed: u64) -> (Array2<f64>, Array2<f64>) {
        let mut rng = random::stream(seed, 7);
        let x = Array2::from_shape_fn((rows, 3), |_| rng.random_range(0.0..1.0f64));
        let y = Array2::from_shape_fn((rows, 2), |(row, output)| match output {
            0 => (6.0 * x[[row, 0]]).sin() * x[[row, 1]],
            _ => 1000.0 * f64::from(u8::from(x[[row, 2]] > 0.3)),
        });
        (x, y)
    }

    fn error(model: &BoostModel, (x, y): &(Array2<f64>, Array2<f64>), output: usize) -> f64 {
        let found = model.predict(x.view()).unwrap();
        let squares = (&found - y).column(output).mapv(|error| error * error);
        squares.mean().unwrap().sqrt()
    }

    #[test]
    fn outputs_of_any_scale_are_learned_and_more_trees_learn_more() {
        let (known, unknown) = (data(2_000, 1), data(500, 2));
        let fit = |trees| BoostParams::new(trees, 4).fit(known.0.view(), known.1.view()).unwrap();
        let [few, many] = [fit(10), fit(200)];
        let (before, after) = (error(&few, &unknown, 0), error(&many, &unknown, 0));
        assert!(after < 0.3 * before && after < 0.05, "{before} {after}");
        assert!(error(&many, &unknown, 1) < 60.0, "{}", error(&many, &unknown, 1));
    }

    #[test]
    fn one_question_is_the_best_of_all() {
        let (x, y) = data(300, 3);
        let params = BoostParams::new(1, 1).rate(1.0).thresholds(10_000);
        let model = params.fit(x.view(), y.view()).unwrap();
        // The step of the second output explains more than anything else.
        let tree = &model.trees[0];
        assert_eq!(tree.columns, [2]);
        let below = x.column(2).iter().copied().filter(|cell| *cell <= 0.3).fold(0.0, f64::max);
        assert_eq!(tree.thresholds, [below]);
    }

    #[test]
    fn a_model_survives_its_file_and_damage_is_found() {
        let (x, y) = data(200, 4);
        let model = BoostParams::new(5, 3).fit(x.view(), y.view()).unwrap();
        let text = serde_json::to_string(&model).unwrap();
        let read: BoostModel = serde_json::from_str(&text).unwrap();
        assert_eq!(read, model);
        for (from, to) in [("\"columns\":3", "\"columns\":1"), ("\"base\":[", "\"base\":[1.0,")] {
            assert!(text.contains(from));
            assert!(serde_json::from_str::<BoostModel>(&text.replacen(from, to, 1)).is_err());
        }
    }

    #[test]
    fn rows_together_are_predicted_as_by_asking_each_every_question() {
        let x = data(11, 6).0;
        for outputs in 1..=5 {
            let y = Array2::from_shape_fn((11, outputs), |(row, n)| x[[row, n % 3]] * n as f64);
            let model = BoostParams::new(20, 3).fit(x.view(), y.view()).unwrap();
            let by_hand = Array2::from_shape_fn((11, outputs), |(row, output)| {
                let value = |tree: &SymmetricTree| {
                    let questions = tree.columns.iter().zip(&tree.thresholds);
                    let is_above = questions.map(|(&column, cell)| x[[row, column]] > *cell);
                    let leaf = is_above.fold(0, |leaf, above| 2 * leaf + usize::from(above));
                    f64::from(tree.leaf(leaf, outputs)[output])
                };
                let sum = model.trees.iter().fold(0.0, |sum, tree| sum + value(tree));
                model.base[output] + model.scale[output] * sum
            });
            assert_eq!(model.predict(x.view()).unwrap(), by_hand, "{outputs}");
        }
    }

    #[test]
    fn what_cannot_be_told_apart_is_predicted_by_its_mean() {
        let x = Array2::from_elem((8, 1), 1.0);
        let y = Array2::from_shape_fn((8, 1), |(row, _)| row as f64);
        let model = BoostParams::new(3, 2).fit(x.view(), y.view()).unwrap();
        assert_eq!(model.predict(x.view()).unwrap()[[0, 0]], 3.5);
    }

    #[test]
    fn wrong_parameters_are_refused() {
        let (x, y) = data(20, 5);
        let refused = |params: BoostParams| params.fit(x.view(), y.view()).unwrap_err();
        assert_eq!(refused(BoostParams::new(0, 2)), BoostError::Zero("trees"));
        assert_eq!(refused(BoostParams::new(2, 13)), BoostError::Depth(13));
        assert_eq!(refused(BoostParams::new(2, 2).rate(1.5)), BoostError::Rate(1.5));
        let short = y.slice(ndarray::s![..10, ..]);
        let error = BoostParams::new(2, 2).fit(x.view(), short).unwrap_err();
        let DataError::TargetCount { rows: 20, targets: 10 } = (match error {
            BoostError::Data(error) => error,
            other => panic!("{other}"),
        }) else {
            panic!("another error")
        };
    }
}
