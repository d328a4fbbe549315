//! The stronger regressors taught to quick trees.

use super::super::distil::{lessons, taught};
use super::super::regressor::{FitError, Regressor};
use super::{FitEntry, Measured, report};
use std::time::Instant;

/// A quick tree for each of the stronger regressors, and what it is worth.
pub(super) fn quick(
    strong: &[Regressor],
    train: &Measured,
    test: &Measured,
    seed: u64,
    entries: &mut Vec<FitEntry>,
) -> Result<Vec<Regressor>, FitError> {
    let lessons = lessons(&train.workloads, seed);
    let teach = |teacher: &Regressor| {
        let start = Instant::now();
        let pupil = taught(teacher, &lessons, seed)?;
        Ok((pupil, start.elapsed().as_secs_f64()))
    };
    let pupils = strong.iter().map(teach).collect::<Result<Vec<_>, FitError>>()?;
    report("quick tree", pupils.iter().map(|(one, seconds)| (one, *seconds)), test, entries)?;
    Ok(pupils.into_iter().map(|(pupil, _)| pupil).collect())
}
