//! Measuring a drive with random workloads, chosen by what a model knows least of.
//!
//! The first two in five [`Designs`] are taken as they are drawn. Then a model is learned from all
//! that was measured, and of each four designs drawn next the one is measured whose latency it is
//! least certain of; a fifth of all at a time. Whether that is better than to take all as they are
//! drawn is undecided on all three drives it was tried on (docs/results/predict.md).
//!
//! What is chosen follows from what was measured, and that from the drive, the settings and the
//! seed alone. So a sweep that was interrupted goes on to the same file.

use super::designs::{self, DesignPoint, Designs};
use super::regressor::FitError;
use super::results::{Results, ResultsFile};
use super::shape_model::uncertainty;
use super::simulated_drive::SimulatedDrive;
use super::sweep::{SweepError, measure};
use super::window::Window;
use std::sync::{Mutex, PoisonError};

/// How many designs are drawn for each one that is chosen, so that there is something to choose.
const OF: u32 = 4;
/// The fewest designs that a model chooses by, and that it chooses at a time.
const FIRST_MIN: u32 = 20;

impl Designs {
    /// How many designs are taken as they are drawn.
    fn first(&self) -> u32 {
        (self.count * 2 / 5).max(FIRST_MIN).min(self.count)
    }

    /// How many are chosen by one model.
    fn step(&self) -> u32 {
        (self.count / 5).max(FIRST_MIN)
    }
}

/// Measures the designs that the file does not hold, and returns all results in the order of their
/// numbers. `tell` is told how many more measurements are done. The seed of the settings decides
/// which workload a number means.
///
/// # Errors
/// A design cannot be measured, a result cannot be written, or the caller stopped it.
pub fn sweep_designs(
    drive: &SimulatedDrive,
    designs: &Designs,
    file: ResultsFile<DesignPoint>,
    tell: &(dyn Fn(usize) + Sync),
) -> Result<Results<DesignPoint>, SweepError> {
    let seed = drive.settings.seed;
    let file = Mutex::new(file);
    let mut chosen: Vec<u32> = (0..designs.first()).collect();
    let mut next = designs.first();
    loop {
        let groups = chosen.iter().map(|&design| designs.at_depths(design)).collect();
        measure(groups, &file, seed, tell, &|group: &[DesignPoint]| {
            let Some(DesignPoint { design, .. }) = group.first() else { return Ok(Vec::new()) };
            let requests = designs::requests(seed, *design);
            let window = Window { trace: "design".to_owned(), number: 1, requests };
            group.iter().map(|point| window.measure(drive, Some(point.depth))).collect()
        })?;
        let left = designs.count - chosen.len() as u32;
        if left == 0 {
            break;
        }
        let drawn: Vec<u32> = (next..next + OF * left.min(designs.step())).collect();
        next += drawn.len() as u32;
        let known = known(&file, &chosen);
        chosen.extend(choose(&known, &drawn, designs)?);
    }
    let order: Vec<_> = chosen.iter().flat_map(|&design| designs.at_depths(design)).collect();
    Ok(file.into_inner().unwrap_or_else(PoisonError::into_inner).sort(&order)?)
}

/// The results of the designs that were chosen so far: a file that is gone on with holds more.
fn known(file: &Mutex<ResultsFile<DesignPoint>>, chosen: &[u32]) -> Results<DesignPoint> {
    let file = file.lock().unwrap_or_else(PoisonError::into_inner);
    let Results { source, rows } = file.results();
    let rows = rows.iter().filter(|row| chosen.contains(&row.point.design));
    Results { source: source.clone(), rows: rows.cloned().collect() }
}

/// Of each few designs drawn the one whose latency is least certain.
fn choose(
    known: &Results<DesignPoint>,
    drawn: &[u32],
    designs: &Designs,
) -> Result<Vec<u32>, FitError> {
    let unknown = uncertainty(known, drawn, &designs.depths)?;
    let of = |(numbers, unknown): (&[u32], &[f64])| {
        let pairs = numbers.iter().zip(unknown);
        pairs.max_by(|one, two| one.1.total_cmp(two.1)).map(|pair| *pair.0)
    };
    Ok(drawn.chunks(OF as usize).zip(unknown.chunks(OF as usize)).filter_map(of).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::blackbox::plan::SweepPlan;
    use crate::blackbox::simulated_drive::{MeasureError, MeasureSettings};
    use ssdtune_model::DeviceConfig;
    use std::sync::atomic::AtomicBool;

    /// 26 designs: 20 as they are drawn and 6 that are chosen from 24 more.
    #[test]
    fn a_sweep_chooses_and_goes_on_to_the_same_file() {
        let directory = tempfile::tempdir().unwrap();
        let mut config = DeviceConfig::default();
        (config.flash.blocks_per_plane, config.flash.pages_per_block) = (64, 32);
        let (config, stop) = (config.check().unwrap(), AtomicBool::new(false));
        let settings = MeasureSettings::default();
        let drive = SimulatedDrive { config: &config, settings: settings.clone(), stop: &stop };
        let plan = SweepPlan::Designs(Designs { count: 26, depths: vec![1, 4] });
        let source = plan.source(&config, "test".to_owned(), settings);
        let path = directory.path().join("designs");
        let run = |threads: usize| {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            let open = plan.clone().open(&path, source.clone()).unwrap();
            let swept = pool.install(|| open.run(&drive, &|_| {}));
            (swept, std::fs::read_to_string(&path).unwrap())
        };
        let (swept, whole) = run(1);
        assert_eq!((swept.unwrap().points, whole.lines().count()), (52, 53));
        let results = Results::<DesignPoint>::read(&path).unwrap();
        let numbers: Vec<u32> =
            results.rows.iter().map(|row| row.point.design).step_by(2).collect();
        assert_eq!(numbers[..20], (0..20).collect::<Vec<u32>>());
        // One of each four that were drawn next.
        let fours: Vec<u32> = numbers[20..].iter().map(|number| (number - 20) / OF).collect();
        assert_eq!(fours, [0, 1, 2, 3, 4, 5], "{numbers:?}");

        // What was interrupted among those chosen, on more threads.
        let lines: Vec<&str> = whole.lines().collect();
        let some = [&lines[..11], &lines[48..50]].concat();
        std::fs::write(&path, some.join("\n") + "\n").unwrap();
        let (swept, again) = run(3);
        let swept = swept.unwrap();
        assert_eq!((swept.known_before, swept.points), (12, 52));
        assert_eq!(again, whole);

        std::fs::remove_file(&path).unwrap();
        stop.store(true, std::sync::atomic::Ordering::Relaxed);
        let (stopped, _) = run(1);
        assert!(matches!(stopped, Err(SweepError::Measure(MeasureError::Interrupted))));
    }
}
