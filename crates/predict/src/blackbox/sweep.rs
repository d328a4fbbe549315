//! Measuring a drive at every point of a grid, on all threads. Every result is kept as soon as it
//! is known.
//!
//! Families of points are measured in any order and kept in the order in which they end. When all
//! are known, the file is put into the order of the grid. What is measured at a point depends on
//! nothing but its family, the drive and the settings, and a file remembers the grid that it was
//! begun with. So the finished file is the same for any number of threads and interruptions.

use super::point::{Load, Point};
use super::regressor::FitError;
use super::results::{Place, Results, ResultsError, ResultsFile};
use super::simulated_drive::{MeasureError, Performance, SimulatedDrive};
use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64;
use rayon::prelude::*;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Mutex, PoisonError};

/// Why a sweep ended early. What was measured until then is in the file.
#[derive(Debug, thiserror::Error)]
pub enum SweepError {
    /// A point could not be measured.
    #[error(transparent)]
    Measure(#[from] MeasureError),
    /// A result could not be written.
    #[error("{0}")]
    Keep(#[from] ResultsError),
    /// What was measured says nothing of what to measure next.
    #[error(transparent)]
    Choose(#[from] FitError),
}

/// The points, grouped into families; families and points are in the order of `points`.
pub(super) fn families(points: &[Point]) -> Vec<Vec<Point>> {
    let mut places: BTreeMap<(bool, Point), usize> = BTreeMap::new();
    let mut families: Vec<Vec<Point>> = Vec::new();
    for point in points {
        let is_open = matches!(point.load(), Load::Percent(_));
        let place =
            *places.entry((is_open, point.with_load(Load::Depth(1)))).or_insert_with(|| {
                families.push(Vec::new());
                families.len() - 1
            });
        families[place].push(*point);
    }
    families
}

/// Measures the points that the file does not hold, and returns all results in the order of the
/// points. `tell` is told how many more points are done.
///
/// # Errors
/// A point cannot be measured, a result cannot be written, or the caller stopped it.
pub fn sweep(
    drive: &SimulatedDrive,
    points: &[Point],
    file: ResultsFile,
    tell: &(dyn Fn(usize) + Sync),
) -> Result<Results, SweepError> {
    let file = Mutex::new(file);
    measure(families(points), &file, drive.settings.seed, tell, &|family| drive.family(family))?;
    Ok(file.into_inner().unwrap_or_else(PoisonError::into_inner).sort(points)?)
}

/// What measures a group of points, in their order.
type Measure<'a, P> = &'a (dyn Fn(&[P]) -> Result<Vec<Performance>, MeasureError> + Sync);

/// Measures the groups of which the file does not hold all.
pub(super) fn measure<P: Place>(
    groups: Vec<Vec<P>>,
    file: &Mutex<ResultsFile<P>>,
    seed: u64,
    tell: &(dyn Fn(usize) + Sync),
    measure: Measure<'_, P>,
) -> Result<(), SweepError> {
    let keep = || file.lock().unwrap_or_else(PoisonError::into_inner);
    let known: BTreeSet<P> = keep().results().rows.iter().map(|row| row.point).collect();
    let is_open = |group: &Vec<P>| group.iter().any(|point| !known.contains(point));
    let mut open: Vec<Vec<P>> = groups.into_iter().filter(is_open).collect();
    // In random order: what an interrupted sweep leaves is a random part of the grid, which a model
    // can be fitted to.
    let mut rng = Pcg64::seed_from_u64(seed);
    for last in (1..open.len()).rev() {
        open.swap(last, rng.random_range(0..=last));
    }
    // The longest groups take a hundred times as long as the shortest: small shares keep all
    // threads at work.
    open.par_iter().with_max_len(1).try_for_each(|group| -> Result<(), SweepError> {
        let measured = measure(group)?;
        let new: Vec<_> = (group.iter().copied().zip(measured))
            .filter(|(point, _)| !known.contains(point))
            .collect();
        keep().append(&new)?;
        tell(new.len());
        Ok(())
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::blackbox::results::ResultsSource;
    use crate::blackbox::simulated_drive::{MeasureSettings, SampleSize};
    use ssdtune_model::DeviceConfig;
    use std::sync::atomic::AtomicBool;

    fn points() -> Vec<Point> {
        ["w50-q1-W4k.r100-R4k.r0", "w0-l50-R16k.r100", "w50-q8-W4k.r100-R4k.r0", "w0-l90-R16k.r100"]
            .map(|name| name.parse().unwrap())
            .into()
    }

    fn small() -> ssdtune_model::CheckedConfig {
        let mut config = DeviceConfig::default();
        config.flash.blocks_per_plane = 64;
        config.flash.pages_per_block = 32;
        config.check().unwrap()
    }

    #[test]
    fn a_file_is_the_same_for_any_number_of_threads_and_after_an_interruption() {
        let directory = tempfile::tempdir().unwrap();
        let (config, stop, points) = (small(), AtomicBool::new(false), points());
        let sample = SampleSize {
            pages: 400,
            requests_min: 40,
            requests_max: 200,
            rounds: 4,
            lead_in_percent: 50,
        };
        let settings = MeasureSettings { sample, ..MeasureSettings::default() };
        let simulator = "test".to_owned();
        let source = ResultsSource::simulated(&config, simulator, settings.clone(), &points);
        let drive = SimulatedDrive { config: &config, settings, stop: &stop };
        let whole = |name: &str, threads: usize| {
            let path = directory.path().join(name);
            let file = ResultsFile::open(&path, source.clone()).unwrap();
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            let results = pool.install(|| sweep(&drive, &points, file, &|_| {})).unwrap();
            assert_eq!(results.rows.len(), points.len());
            std::fs::read_to_string(path).unwrap()
        };
        let one = whole("one", 1);
        assert_eq!(one, whole("three", 3));
        // A family of which half is known is measured again, and the known half stays.
        let lines: Vec<&str> = one.lines().collect();
        let half = format!("{}\n{}\n{}", lines[0], lines[3], &lines[2][..20]);
        std::fs::write(directory.path().join("half"), half).unwrap();
        assert_eq!(one, whole("half", 2));
        stop.store(true, std::sync::atomic::Ordering::Relaxed);
        let file = ResultsFile::open(&directory.path().join("none"), source.clone()).unwrap();
        let error = sweep(&drive, &points, file, &|_| {}).unwrap_err();
        assert!(matches!(error, SweepError::Measure(MeasureError::Interrupted)));
    }

    /// In a closed loop depth = IOPS x latency; in an open one IOPS are what was offered.
    #[test]
    fn figures_obey_littles_law() {
        let (config, stop) = (small(), AtomicBool::new(false));
        let sample = SampleSize {
            pages: 4000,
            requests_min: 500,
            requests_max: 2000,
            rounds: 16,
            lead_in_percent: 50,
        };
        let settings = MeasureSettings { sample, ..MeasureSettings::default() };
        let drive = SimulatedDrive { config: &config, settings, stop: &stop };
        let points = points();
        for family in families(&points) {
            for (point, found) in family.iter().zip(drive.family(&family).unwrap()) {
                let (load, expected) = match point.load() {
                    Load::Depth(depth) => (found.iops * found.latency_ns / 1e9, f64::from(depth)),
                    Load::Percent(_) => (found.iops, found.offered_iops.unwrap()),
                };
                assert!((load / expected - 1.0).abs() < 0.1, "{point}: {load} for {expected}");
                let bytes = found.bandwidth_bps / found.iops;
                assert!((bytes / point.mean_bytes() - 1.0).abs() < 0.02, "{point}: {bytes} bytes");
            }
        }
    }
}
