//! Ways to divide rows into those that train and those that test.
//!
//! Each row is tested exactly once over the splits of [`k_fold`] or [`leave_one_group_out`]. It is
//! in exactly one part of a [`partition`]. All of them work with row numbers and copy no data.

use crate::random;

/// One division of the rows. Both lists hold row numbers in rising order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Split {
    /// Rows to train on.
    pub train: Vec<usize>,
    /// Rows to test on.
    pub test: Vec<usize>,
}

/// Why rows cannot be divided as asked.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum SplitError {
    /// The number of folds is below 2, so that nothing is left to train on, or above the number of
    /// rows, so that nothing is left to test.
    #[error("{folds} folds of {rows} rows: give 2 folds or more, and no more than there are rows")]
    Folds {
        /// Number of folds asked for.
        folds: usize,
        /// Number of rows.
        rows: usize,
    },
    /// There are fewer than 2 groups, so that nothing is left to train on.
    #[error("{0} group(s): leaving one out needs at least 2")]
    Groups(usize),
    /// A fraction is not above 0, or the fractions do not sum to 1.
    #[error("fractions {0:?}: each must lie above 0, and they must sum to 1")]
    Fractions(Vec<f64>),
    /// A part would have no rows.
    #[error("{rows} rows cannot fill {parts} parts of these fractions: give more rows")]
    EmptyPart {
        /// Number of rows.
        rows: usize,
        /// Number of parts asked for.
        parts: usize,
    },
}

/// Splits for `folds`-fold cross-validation of shuffled rows. The numbers of test rows differ by at
/// most one.
pub fn k_fold(rows: usize, folds: usize, seed: u64) -> Result<Vec<Split>, SplitError> {
    if folds < 2 || folds > rows {
        return Err(SplitError::Folds { folds, rows });
    }
    let order = shuffled(rows, seed);
    let mut fold_of = vec![0; rows];
    for (position, &row) in order.iter().enumerate() {
        fold_of[row] = position % folds;
    }
    Ok((0..folds).map(|fold| cut(rows, |row| fold_of[row] == fold)).collect())
}

/// One split for each group, in the order of the groups' names: the group's rows test and all other
/// rows train. `groups` names the group of each row.
pub fn leave_one_group_out<G: Ord + Clone>(groups: &[G]) -> Result<Vec<(G, Split)>, SplitError> {
    let mut names = groups.to_vec();
    names.sort();
    names.dedup();
    if names.len() < 2 {
        return Err(SplitError::Groups(names.len()));
    }
    let split = |name: &G| cut(groups.len(), |row| groups[row] == *name);
    Ok(names.iter().map(|name| (name.clone(), split(name))).collect())
}

/// Divides shuffled rows by fractions that sum to 1, such as `[0.7, 0.2, 0.1]`. Each part holds row
/// numbers in rising order.
pub fn partition(rows: usize, fractions: &[f64], seed: u64) -> Result<Vec<Vec<usize>>, SplitError> {
    let sum: f64 = fractions.iter().sum();
    if fractions.iter().any(|&f| !(f > 0.0 && f <= 1.0)) || (sum - 1.0).abs() > 1e-9 {
        return Err(SplitError::Fractions(fractions.to_vec()));
    }
    let order = shuffled(rows, seed);
    let (mut done, mut reached, mut out) = (0, 0.0, Vec::with_capacity(fractions.len()));
    for (part, fraction) in fractions.iter().enumerate() {
        reached += fraction;
        let end = if part + 1 == fractions.len() {
            rows
        } else {
            ((reached * rows as f64).round() as usize).min(rows)
        };
        if end <= done {
            return Err(SplitError::EmptyPart { rows, parts: fractions.len() });
        }
        let mut chosen = order[done..end].to_vec();
        chosen.sort_unstable();
        out.push(chosen);
        done = end;
    }
    Ok(out)
}

fn cut(rows: usize, tests: impl Fn(usize) -> bool) -> Split {
    let (test, train) = (0..rows).partition(|&row| tests(row));
    Split { train, test }
}

fn shuffled(rows: usize, seed: u64) -> Vec<usize> {
    let mut order: Vec<usize> = (0..rows).collect();
    random::shuffle(&mut order, &mut random::stream(seed, 0));
    order
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn every_row_tests_once(rows in 2usize..200, folds in 2usize..12, seed: u64) {
            prop_assume!(folds <= rows);
            let splits = k_fold(rows, folds, seed).unwrap();
            let mut tested = vec![0; rows];
            for split in &splits {
                prop_assert_eq!(split.train.len() + split.test.len(), rows);
                prop_assert!(split.test.len() >= rows / folds);
                prop_assert!(split.test.len() <= rows.div_ceil(folds));
                for &row in &split.test {
                    tested[row] += 1;
                    prop_assert!(split.train.binary_search(&row).is_err());
                }
            }
            prop_assert!(tested.iter().all(|&times| times == 1));
        }

        #[test]
        fn parts_are_a_partition(rows in 30usize..300, seed: u64) {
            let cut = partition(rows, &[0.7, 0.2, 0.1], seed).unwrap();
            let mut all: Vec<usize> = cut.concat();
            all.sort_unstable();
            prop_assert_eq!(all, (0..rows).collect::<Vec<_>>());
            prop_assert!((cut[0].len() as f64 - 0.7 * rows as f64).abs() <= 1.0);
        }
    }

    #[test]
    fn a_group_left_out_trains_nothing() {
        let splits = leave_one_group_out(&["b", "a", "b", "c"]).unwrap();
        assert_eq!(splits.iter().map(|(name, _)| *name).collect::<Vec<_>>(), ["a", "b", "c"]);
        assert_eq!(splits[1].1, Split { train: vec![1, 3], test: vec![0, 2] });
        assert_eq!(leave_one_group_out(&[1, 1]), Err(SplitError::Groups(1)));
    }

    #[test]
    fn cuts_that_cannot_be_are_errors() {
        assert_eq!(k_fold(3, 4, 0), Err(SplitError::Folds { folds: 4, rows: 3 }));
        assert_eq!(k_fold(3, 1, 0), Err(SplitError::Folds { folds: 1, rows: 3 }));
        assert!(matches!(partition(10, &[0.5, 0.4], 0), Err(SplitError::Fractions(_))));
        assert_eq!(partition(1, &[0.5, 0.5], 0), Err(SplitError::EmptyPart { rows: 1, parts: 2 }));
    }
}
