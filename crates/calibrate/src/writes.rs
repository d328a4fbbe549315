//! Calibrating what writes cost a drive's flash: from runs of writes to the spare capacity.
//!
//! Three numbers are fitted. What a drive writes beside the data (parity, tables) shows where the
//! host writes in order, since nothing is collected there: the *overhead*, a factor. The hidden
//! share of the flash shows where the host writes at random places: collection costs as much as
//! was measured at one share only; where that was not measured, the throughput falls when what was
//! hidden is written. The time of a program follows from the throughput of the same runs, where it
//! is known. Everything else (how victims are chosen, how many blocks stay free) is the base's.
//!
//! Runs that were sampled over time are predicted as a series, from the state that they begin with.
//!
//! Runs are replayed on small drives ([`age`]), each on the state that the runs before it left.
//! Cost without time: some 60 ns a page that is written or moved, 20 evaluations of the runs up to
//! the last fitted one. With time: some 2.5 us a request, 3 evaluations and the prediction.

mod age;
mod fit;
mod limits;
mod outcome;
mod text;
mod trial;

pub use limits::RunHost;
pub use outcome::{FallErrors, FallPrediction, RunErrors, RunPrediction, WriteCalibration};

use crate::calibration::{CalibrateError, Order, ToldByRuns, of_drive};
use crate::fit::{FitError, Journal, Progress};
use crate::run::{Run, Shape};
use crate::split::{Expression, Fields};
use age::Starts;
use limits::Limits;
use ssdtune_model::ledger::Ledger;
use ssdtune_model::{DeviceConfig, document};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::AtomicBool;
use std::sync::{Mutex, PoisonError};
use trial::{Trial, Which};

/// Evaluations of each round that looks for the spare share.
const EVALUATIONS: [usize; 2] = [12, 8];
/// Steps to the time of a program.
const PROGRAM_STEPS: usize = 3;

/// Sizes of the small drives.
#[derive(Debug)]
struct Sizes {
    /// Mapping units in each round that looks for the spare share.
    rounds: [u64; 2],
    /// Mapping units where all runs are predicted.
    whole: u64,
    /// Mapping units, and pages of a block at least, with time; `None` leaves times out. In shorter
    /// blocks the wait for the last programs of a superblock that is collected costs throughput:
    /// 9, 18, 36, 72 pages gave 489, 585, 618, 619 MB/s.
    timed: Option<(u64, u64)>,
}

/// The sizes unless a test says otherwise.
const SIZES: Sizes =
    Sizes { rounds: [1 << 17, 1 << 18], whole: 1 << 20, timed: Some((1 << 18, 36)) };
/// How many times what the host sees of the base a span may be: files name spans beyond the end of
/// the drive, which count as all of it, but so much more is another drive's.
const SPAN_MAX: f64 = 2.0;
/// How often the span of a run is written at most.
const PASSES_MAX: f64 = 1000.0;
/// Corrections of the spare share by runs with time.
const CORRECTIONS: usize = 2;

impl Fields for Run {
    fn number(&self, field: &str) -> Option<f64> {
        match field {
            "bs" => Some(f64::from(self.block_bytes)),
            "span_gib" => Some(self.span_bytes as f64 / f64::from(1 << 30)),
            "wa" => self.write_amplification,
            _ => None,
        }
    }

    fn text(&self, field: &str) -> Option<&str> {
        match field {
            "source" => Some(&self.source),
            "drive" => self.drive.as_deref(),
            "run" => Some(&self.run),
            "pattern" => Some(self.pattern.kind()),
            _ => None,
        }
    }
}

/// Calibrates the spare capacity of a drive to runs of writes.
///
/// # Errors
/// No run can be fitted, the drive cannot be simulated, the journal cannot be kept, or `stop` was
/// set.
pub fn calibrate_writes(
    runs: Vec<Run>,
    base: &DeviceConfig,
    order: &Order,
    stop: &AtomicBool,
    progress: &(dyn Fn(Progress) + Sync),
) -> Result<WriteCalibration, CalibrateError> {
    calibrate_sized(runs, base, order, &SIZES, stop, progress)
}

/// As [`calibrate_writes()`], on small drives of some sizes.
fn calibrate_sized(
    runs: Vec<Run>,
    base: &DeviceConfig,
    order: &Order,
    sizes: &Sizes,
    stop: &AtomicBool,
    progress: &(dyn Fn(Progress) + Sync),
) -> Result<WriteCalibration, CalibrateError> {
    let (name, mut runs) = of_drive(runs, order.drive.as_deref(), |run| run.drive.as_deref())?;
    if let Some(only) = &order.only {
        runs.retain(|run| only.holds_for(run));
        if runs.is_empty() {
            return Err(CalibrateError::NoneChosen(only.to_string()));
        }
    }
    let visible = Ledger::of(base).visible_bytes.0;
    replayable(&runs, visible)?;
    let unused_rules = order.unused_rules(&runs);
    let held = match &order.hold_out {
        Some(rule) => runs.iter().map(|run| rule.holds_for(run)).collect(),
        None => automatic(&runs),
    };
    let journal = match &order.journal {
        Some(path) => Journal::open(path, &digest(base, &runs, &held, order, sizes)),
        None => Ok(Journal::default()),
    };
    let journal = journal.map_err(FitError::from)?;
    let chains = Chain::of(runs, &held);
    let mut work = Work {
        base,
        visible,
        chains: &chains,
        overhead: overhead(&chains),
        starts: Starts::of(order),
        sizes,
        seed: order.fit.seed,
        journal,
        stop,
        progress,
        done: Mutex::new(0.0),
        expected: 0.0,
    };
    work.expected = work.expected(&order.fit.rigs);
    let mut trial =
        Trial { spare: work.fit()?, programs: 1.0, limits: Limits::unknown(&order.fit.rigs) };
    trial = work.fit_times(trial)?;
    for _ in 0..work.steps_with_time() {
        trial.spare = work.corrected(&trial)?;
        trial = work.fit_times(trial)?;
    }
    let predicted = work.predicted(&trial, sizes.whole, Which::All)?;
    let config = outcome::whole(&trial.drive(base), work.visible, trial.spare, &name);
    let found = outcome::Found {
        told: told(&chains, sizes),
        unused_rules,
        overhead: work.overhead,
        hosts: trial.limits.hosts(),
        takes_less: trial.limits.bandwidth().is_some(),
        config,
    };
    Ok(WriteCalibration::new(name, order, found, chains, predicted))
}

/// Refuses runs that cannot be of a drive of which the host sees `visible` bytes, and files whose
/// runs can be compared with nothing.
fn replayable(runs: &[Run], visible: u64) -> Result<(), CalibrateError> {
    let problem = |run: &Run| {
        let gib = |bytes: f64| bytes / f64::from(1 << 30);
        let [span, drive] = [run.span_bytes as f64, visible as f64];
        let passes = run.host_bytes() / span;
        if span > SPAN_MAX * drive {
            Some(format!(
                "the base has {:.1} GiB for the host: give one of the real drive's capacity",
                gib(drive)
            ))
        } else if passes > PASSES_MAX {
            Some(format!(
                "its span is written {passes:.0} times, and {PASSES_MAX} are the most that are \
                 replayed: is run_s in seconds and write_mb_s in MiB/s?"
            ))
        } else {
            None
        }
    };
    for run in runs {
        if let Some(problem) = problem(run) {
            return Err(CalibrateError::TooLong { run: run.to_string(), problem });
        }
    }
    let tells = |run: &Run| {
        let is_measured = run.write_amplification.is_some() || run.mib_per_second.is_some();
        is_measured && !matches!(run.pattern.shape, Shape::Unknown(_))
    };
    if runs.iter().any(tells) { Ok(()) } else { Err(CalibrateError::NothingMeasured) }
}

/// What the fitted runs tell.
fn told(chains: &[Chain], sizes: &Sizes) -> ToldByRuns {
    ToldByRuns {
        raw_capacity: chains.iter().any(|chain| chain.telling().next().is_some()),
        overhead: chains.iter().any(|chain| chain.in_order().next().is_some()),
        program_time: sizes.timed.is_some()
            && chains.iter().any(|chain| chain.timed(&Limits::default()).next().is_some()),
    }
}

/// A digest of everything that decides what is replayed.
fn digest(
    base: &DeviceConfig,
    runs: &[Run],
    held: &[bool],
    order: &Order,
    sizes: &Sizes,
) -> String {
    let Order { sanitised, filled, fit, .. } = order;
    let base = document::write(base);
    let rules = format!("{sanitised:?} {filled:?} {:?} {}", fit.rigs, fit.seed);
    let text = format!("{base}\n{runs:?}\n{held:?}\n{rules}\n{sizes:?}");
    blake3::hash(text.as_bytes()).to_hex().to_string()
}

/// Which runs test the fit: of uniform and of sequential writes every second span, never the ends,
/// and all but the first run over a span that is the only one; of other patterns all.
fn automatic(runs: &[Run]) -> Vec<bool> {
    let spans = |run: &Run| -> Vec<u64> {
        let alike = runs.iter().filter(|other| other.pattern.kind() == run.pattern.kind());
        let spans: BTreeSet<u64> = alike.map(|other| other.span_bytes).collect();
        spans.into_iter().collect()
    };
    let is_held = |(at, run): (usize, &Run)| {
        let can_be_fitted = matches!(run.pattern.kind(), "uniform" | "sequential");
        let spans = spans(run);
        let place = spans.iter().position(|span| *span == run.span_bytes).unwrap_or(0);
        let is_repeat = runs[..at].iter().any(|other| other.pattern.kind() == run.pattern.kind());
        match spans.len() {
            _ if !can_be_fitted => true,
            1 => is_repeat,
            count => place % 2 == 1 && place + 1 < count,
        }
    };
    runs.iter().enumerate().map(is_held).collect()
}

/// The runs of a source, in their order.
pub(crate) struct Chain {
    runs: Vec<Run>,
    is_held_out: Vec<bool>,
}

impl Chain {
    fn of(runs: Vec<Run>, held: &[bool]) -> Vec<Self> {
        let mut sources: BTreeMap<String, Vec<(Run, bool)>> = BTreeMap::new();
        for (run, held) in runs.into_iter().zip(held) {
            sources.entry(run.source.clone()).or_default().push((run, *held));
        }
        let chain = |mut own: Vec<(Run, bool)>| {
            own.sort_by(|one, other| one.0.run.cmp(&other.0.run));
            let (runs, is_held_out) = own.into_iter().unzip();
            Self { runs, is_held_out }
        };
        sources.into_values().map(chain).collect()
    }

    /// Runs that are fitted, of patterns that are known.
    fn fitted(&self) -> impl Iterator<Item = (usize, &Run)> {
        let is_own = |(at, run): &(usize, &Run)| {
            !self.is_held_out[*at] && !matches!(run.pattern.shape, Shape::Unknown(_))
        };
        self.runs.iter().enumerate().filter(is_own)
    }

    /// Runs that tell the time of a program, and their throughput.
    fn timed(&self, limits: &Limits<'_>) -> impl Iterator<Item = (usize, f64)> {
        let own = self.fitted().filter_map(|(at, run)| Some((at, run, run.mib_per_second?)));
        let is_own = |(_, run, rate): &(usize, &Run, f64)| !limits.decide(run, *rate);
        own.filter(is_own).map(|(at, _, rate)| (at, rate))
    }

    /// The write amplification of runs in order.
    fn in_order(&self) -> impl Iterator<Item = f64> {
        let own = self.fitted().filter(|(_, run)| {
            matches!(run.pattern.shape, Shape::Sequential) && !run.pattern.is_shuffled
        });
        own.filter_map(|(_, run)| run.write_amplification)
    }

    /// Runs that tell limits, and their level before the fall.
    fn sampled(&self) -> impl Iterator<Item = (usize, &Run, f64)> {
        self.fitted().filter_map(|(at, run)| Some((at, run, run.fall()?.before)))
    }

    /// Runs that tell the spare capacity.
    fn telling(&self) -> impl Iterator<Item = (usize, Told)> {
        let own = self.fitted().filter(|(_, run)| run.pattern.shape != Shape::Sequential);
        own.filter_map(|(at, run)| match run.write_amplification {
            Some(measured) => Some((at, Told::Amplification(measured))),
            None => Some((at, Told::Passes(run.fall()?.passes?))),
        })
    }
}

/// What tells the spare capacity.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Told {
    /// What the flash wrote, over what the host wrote.
    Amplification(f64),
    /// How often the span was written until the throughput fell: what is hidden is written first.
    Passes(f64),
}

/// What the drive writes beside the data, as a factor: the geometric mean of what sequential runs
/// cost.
fn overhead(chains: &[Chain]) -> f64 {
    let logarithms: Vec<f64> = chains.iter().flat_map(Chain::in_order).map(f64::ln).collect();
    (logarithms.iter().sum::<f64>() / logarithms.len().max(1) as f64).exp()
}

/// A calibration under way.
struct Work<'a> {
    base: &'a DeviceConfig,
    visible: u64,
    chains: &'a [Chain],
    overhead: f64,
    starts: Starts<'a>,
    sizes: &'a Sizes,
    seed: u64,
    journal: Journal,
    stop: &'a AtomicBool,
    progress: &'a (dyn Fn(Progress) + Sync),
    /// What was replayed, in writes without time.
    done: Mutex<f64>,
    expected: f64,
}

impl Work<'_> {
    /// What all of it will cost, as [`Work::cost_of`] says. Hosts that turn out to be the limit
    /// cost more.
    fn expected(&self, rules: &[Expression]) -> f64 {
        let trial = Trial { spare: 0.0, programs: 1.0, limits: Limits::unknown(rules) };
        let of = |units, which| self.cost_of(&trial, units, which);
        let rounds = EVALUATIONS.into_iter().zip(self.sizes.rounds);
        let spare: f64 =
            rounds.map(|(steps, units)| steps as f64 * of(units, Which::Telling)).sum();
        let corrections = self.steps_with_time() as f64;
        let timed = self.sizes.timed.map_or(0.0, |(units, _)| {
            let times = PROGRAM_STEPS as f64 * of(units, Which::Timed);
            (1.0 + corrections) * (times + of(units, Which::Beginning))
                + corrections * of(units, Which::Falling)
        });
        spare + timed + of(self.sizes.whole, Which::All)
    }

    /// Says how far the calibration is.
    fn tell(&self, cost: f64) {
        let mut done = self.done.lock().unwrap_or_else(PoisonError::into_inner);
        *done += cost;
        // In thousands, since progress counts whole steps.
        let [done, expected] = [*done, self.expected.max(*done)].map(|all| (all / 1e3) as usize);
        (self.progress)(Progress { done, expected });
    }

    /// How often the spare share is corrected by when throughput falls with time.
    fn steps_with_time(&self) -> usize {
        let by_passes = |(_, told): (usize, Told)| matches!(told, Told::Passes(_));
        let is_told = self.chains.iter().flat_map(Chain::telling).any(by_passes);
        if is_told && self.sizes.timed.is_some() { CORRECTIONS } else { 0 }
    }
}

#[cfg(test)]
mod tests;
