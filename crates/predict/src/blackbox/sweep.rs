//! Measuring a drive at every point of a grid, on all threads, with every result kept at once.
//!
//! Points are measured in any order and kept in the order in which they end; when all are known the file is
//! put into the grid's order. What a point gives depends on nothing but the point, the drive and the
//! settings, so the finished file is the same for any number of threads and any number of interruptions.

use super::measure::{Bench, MeasureError};
use super::point::{CALIBRATION_DEPTH, Load, Point};
use super::results::{Results, ResultsError, Store};
use rayon::prelude::*;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Mutex, PoisonError};

/// Why a sweep ended early. What was measured is in the file.
#[derive(Debug, thiserror::Error)]
pub enum SweepError {
    /// A point could not be measured.
    #[error(transparent)]
    Measure(#[from] MeasureError),
    /// A point could not be kept.
    #[error(transparent)]
    Keep(#[from] ResultsError),
}

/// The rates that open points of the same workload are parts of, each measured by the first who asks.
struct Capacities(BTreeMap<Point, Mutex<Option<f64>>>);

impl Capacities {
    fn of<'a>(points: impl Iterator<Item = &'a Point>) -> Self {
        let open = points.filter(|point| matches!(point.load(), Load::Percent(_)));
        Self(open.map(|point| (closed(point), Mutex::new(None))).collect())
    }

    fn get(&self, bench: &Bench, point: &Point) -> Result<f64, MeasureError> {
        let Some(slot) = self.0.get(&closed(point)) else { return Ok(0.0) };
        let mut known = slot.lock().unwrap_or_else(PoisonError::into_inner);
        match *known {
            Some(iops) => Ok(iops),
            None => Ok(*known.insert(bench.capacity_iops(point)?)),
        }
    }
}

fn closed(point: &Point) -> Point {
    point.with_load(Load::Depth(CALIBRATION_DEPTH))
}

/// Measures the points that the store does not hold, tells of each one that is done, and gives them all,
/// in the order of the points.
///
/// # Errors
/// A point cannot be measured or kept, or the bench's caller stopped it.
pub fn run(
    bench: &Bench,
    points: &[Point],
    store: Store,
    tell: &(dyn Fn() + Sync),
) -> Result<Results, SweepError> {
    let known: BTreeSet<Point> = store.results().rows.iter().map(|row| row.point).collect();
    let open: Vec<&Point> = points.iter().filter(|point| !known.contains(point)).collect();
    let capacities = Capacities::of(open.iter().copied());
    let store = Mutex::new(store);
    // The longest points take a hundred times the shortest: small shares keep all threads at work.
    open.into_par_iter().with_max_len(4).try_for_each(|point| -> Result<(), SweepError> {
        let figures = bench.measure(point, capacities.get(bench, point)?)?;
        store.lock().unwrap_or_else(PoisonError::into_inner).append(*point, figures)?;
        tell();
        Ok(())
    })?;
    Ok(store.into_inner().unwrap_or_else(PoisonError::into_inner).sort(points)?)
}
