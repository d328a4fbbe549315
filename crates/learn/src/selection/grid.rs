//! Hyperparameter search over a grid: every candidate on every split, in parallel.
//!
//! Candidates and splits are measured in any order and judged in theirs: the lowest mean loss wins,
//! the earlier candidate on a tie, so the winner does not depend on the number of threads.

use super::split::Split;
use rayon::prelude::*;

/// What one candidate came to.
#[derive(Clone, Debug, PartialEq)]
pub struct ScoredCandidate<P> {
    /// The candidate.
    pub params: P,
    /// Its loss on each split, in the order of the splits.
    pub losses: Vec<f64>,
    /// The mean of them.
    pub mean_loss: f64,
}

/// Why there is no winner.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum GridError<E> {
    /// Nothing to choose from, or nothing to judge by.
    #[error("{candidates} candidates on {splits} splits: give at least one of each")]
    Empty {
        /// Candidates given.
        candidates: usize,
        /// Splits given.
        splits: usize,
    },
    /// No candidate has a finite mean loss.
    #[error("no candidate has a finite loss: lower the learning rates, or scale the data")]
    NoneFinite,
    /// A fit failed.
    #[error("candidate {candidate}, split {split}: {source}")]
    Fit {
        /// Candidate, from 0.
        candidate: usize,
        /// Split, from 0.
        split: usize,
        /// What went wrong.
        source: E,
    },
}

/// Candidates in the order given, with the place of the best.
#[derive(Clone, Debug, PartialEq)]
pub struct GridResult<P> {
    /// Every candidate with its losses.
    pub scored: Vec<ScoredCandidate<P>>,
    /// The place of the winner in `scored`.
    pub best: usize,
}

/// Calls `loss` for every pair of candidate and split; lower is better.
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
