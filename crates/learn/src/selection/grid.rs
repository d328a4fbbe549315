//! Grid search: every candidate is judged on every split, in parallel.
//!
//! The lowest mean loss wins, and on a tie the earlier candidate. So the winner does not depend on
//! the number of threads. Cost: one call of the loss for each pair of candidate and split.

use super::split::Split;
use rayon::prelude::*;

/// One candidate with its losses.
#[derive(Clone, Debug, PartialEq)]
pub struct ScoredCandidate<P> {
    /// The candidate's parameters.
    pub params: P,
    /// The candidate's loss on each split, in the order of the splits.
    pub losses: Vec<f64>,
    /// Mean of the losses.
    pub mean_loss: f64,
}

/// Why a grid search has no winner.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum GridError<E> {
    /// There are no candidates or no splits.
    #[error("{candidates} candidates on {splits} splits: give at least one of each")]
    Empty {
        /// Number of candidates given.
        candidates: usize,
        /// Number of splits given.
        splits: usize,
    },
    /// No candidate's mean loss is finite.
    #[error("no candidate has a finite loss: lower the learning rates, or scale the data")]
    NoneFinite,
    /// A candidate could not be judged on a split.
    #[error("candidate {candidate}, split {split}: {source}")]
    Fit {
        /// Number of the candidate, from 0.
        candidate: usize,
        /// Number of the split, from 0.
        split: usize,
        /// The error that the loss returned.
        source: E,
    },
}

/// All candidates with their losses, and which of them is best.
#[derive(Clone, Debug, PartialEq)]
pub struct GridResult<P> {
    /// The candidates in the order given.
    pub scored: Vec<ScoredCandidate<P>>,
    /// Place in `scored` of the candidate with the lowest mean loss.
    pub best: usize,
}

/// Finds the candidate with the lowest mean loss over the splits. `loss` trains a candidate on a
/// split's training rows and returns its loss on the test rows. A mean loss that is not finite
/// never wins.
pub fn grid_search<P, E, F>(
    candidates: &[P],
    splits: &[Split],
    loss: F,
) -> Result<GridResult<P>, GridError<E>>
where
    P: Clone + Send + Sync,
    E: Send,
    F: Fn(&P, &Split) -> Result<f64, E> + Sync,
{
    let (rows, columns) = (candidates.len(), splits.len());
    if rows == 0 || columns == 0 {
        return Err(GridError::Empty { candidates: rows, splits: columns });
    }
    let cells: Vec<Result<f64, E>> = (0..rows * columns)
        .into_par_iter()
        .map(|cell| loss(&candidates[cell / columns], &splits[cell % columns]))
        .collect();
    let mut losses = Vec::with_capacity(cells.len());
    for (cell, result) in cells.into_iter().enumerate() {
        losses.push(result.map_err(|source| GridError::Fit {
            candidate: cell / columns,
            split: cell % columns,
            source,
        })?);
    }
    let scored: Vec<ScoredCandidate<P>> = candidates
        .iter()
        .zip(losses.chunks(columns))
        .map(|(params, losses)| ScoredCandidate {
            params: params.clone(),
            losses: losses.to_vec(),
            mean_loss: losses.iter().sum::<f64>() / columns as f64,
        })
        .collect();
    let finite = scored.iter().enumerate().filter(|(_, one)| one.mean_loss.is_finite());
    let best = finite.min_by(|(_, a), (_, b)| a.mean_loss.total_cmp(&b.mean_loss));
    let best = best.map(|(place, _)| place).ok_or(GridError::NoneFinite)?;
    Ok(GridResult { scored, best })
}

#[cfg(test)]
mod tests {
    use super::super::split::k_fold;
    use super::*;

    #[test]
    fn the_lowest_mean_wins_and_ties_go_to_the_first() {
        let splits = k_fold(9, 3, 1).unwrap();
        let result =
            grid_search(&[3.0, 1.0, 1.0, f64::NAN], &splits, |&p: &f64, _| Ok::<_, String>(p))
                .unwrap();
        assert_eq!(result.best, 1);
        assert_eq!(result.scored[0].losses, [3.0; 3]);
    }

    #[test]
    fn a_failed_fit_names_its_place() {
        let splits = k_fold(9, 3, 1).unwrap();
        let error = grid_search(&[1, 2], &splits, |&p, split| {
            if p == 2 && *split == splits[1] { Err("no".to_owned()) } else { Ok(0.0) }
        })
        .unwrap_err();
        assert_eq!(error.to_string(), "candidate 1, split 1: no");
        let none: Result<GridResult<i32>, GridError<String>> =
            grid_search(&[], &splits, |_, _| Ok(0.0));
        assert!(matches!(none, Err(GridError::Empty { candidates: 0, splits: 3 })));
    }
}
