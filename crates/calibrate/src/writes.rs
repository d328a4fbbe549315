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
mod outcome;
mod text;

pub use outcome::{FallErrors, FallPrediction, RunErrors, RunPrediction, WriteCalibration};

use crate::calibration::{CalibrateError, Order, of_drive};
use crate::fit::{FitError, Progress};
use crate::replay::ReplayError;
use crate::run::{Run, Shape};
use crate::split::Fields;
use age::{Aged, Starts};
use rayon::prelude::*;
use ssdtune_model::ledger::Ledger;
use ssdtune_model::{DeviceConfig, Nanos};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

/// Hidden shares between which the fit looks.
const SPARE: (f64, f64) = (0.03, 0.6);
/// How far a share was looked for before, as a part of the best one, in the second round.
const WIDTH: f64 = 0.12;
/// Evaluations of each round that looks for the spare share.
const EVALUATIONS: [usize; 2] = [12, 8];
/// Steps to the time of a program.
const PROGRAM_STEPS: usize = 3;

/// Sizes of the small drives.
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
/// Times of a program, as factors of the base's, between which the fit looks.
const PROGRAM_FACTOR: (f64, f64) = (0.02, 50.0);
/// Corrections of the spare share by runs with time.
const CORRECTIONS: usize = 2;
/// How far a run is taken to be from what was measured if it lacks what was.
const FAR: f64 = 1.0;
/// The ratio of the golden section.
const GOLDEN: f64 = 0.618_033_988_749_895;

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
/// No run can be fitted, the drive cannot be simulated, or `stop` was set.
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
    let held = match &order.hold_out {
        Some(rule) => runs.iter().map(|run| rule.holds_for(run)).collect(),
        None => automatic(&runs),
    };
    let visible = Ledger::of(base).visible_bytes.0;
    let chains = Chain::of(runs, &held);
    let overhead = overhead(&chains);
    let seed = order.fit.seed;
    let starts = Starts::of(order);
    let chains_of = &chains;
    let done = AtomicUsize::new(0);
    let work = Work {
        base,
        visible,
        chains: chains_of,
        overhead,
        starts,
        sizes,
        seed,
        stop,
        progress,
        done,
    };
    let mut spare = work.fit()?;
    let mut programs = work.fit_programs(spare)?;
    for _ in 0..work.steps_with_time() {
        spare = work.corrected(spare, programs)?;
        programs = work.fit_programs(spare)?;
    }
    let predicted = work.predicted(&work.slowed(programs), spare, sizes.whole, Which::All)?;
    let config = outcome::whole(&work.slowed(programs), visible, spare, &name);
    Ok(WriteCalibration::new(name, order, overhead, config, chains, predicted))
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
    fn timed(&self) -> impl Iterator<Item = (usize, f64)> {
        self.fitted().filter_map(|(at, run)| Some((at, run.mib_per_second?)))
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
    let own = chains.iter().flat_map(Chain::fitted).filter(|(_, run)| {
        matches!(run.pattern.shape, Shape::Sequential) && !run.pattern.is_shuffled
    });
    let logarithms: Vec<f64> =
        own.filter_map(|(_, run)| Some(run.write_amplification?.ln())).collect();
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
    stop: &'a AtomicBool,
    progress: &'a (dyn Fn(Progress) + Sync),
    done: AtomicUsize,
}

impl Work<'_> {
    /// The hidden share that comes nearest to the fitted runs, by golden sections. That of the base
    /// if no run tells it.
    fn fit(&self) -> Result<f64, CalibrateError> {
        let own = self.base.mapping.overprovisioning;
        if self.chains.iter().all(|chain| chain.telling().next().is_none()) {
            return Ok(own);
        }
        let (mut best, mut reason) = ((own, f64::INFINITY), None);
        for (round, (evaluations, units)) in
            EVALUATIONS.into_iter().zip(self.sizes.rounds).enumerate()
        {
            let mut ask = |spare: f64| -> Result<f64, CalibrateError> {
                let found = self.distance(spare, units);
                self.tell();
                match found {
                    Err(error) if error.is_interrupted() => Err(error),
                    // Too little spare capacity is no drive.
                    Err(error) => {
                        reason = Some(error);
                        Ok(f64::INFINITY)
                    }
                    found => found,
                }
            };
            let (mut low, mut high) = match round {
                0 => SPARE,
                _ => (best.0 * (1.0 - WIDTH), (best.0 * (1.0 + WIDTH)).min(SPARE.1)),
            };
            let inner =
                |low: f64, high: f64| [high - GOLDEN * (high - low), low + GOLDEN * (high - low)];
            let [mut left, mut right] = inner(low, high);
            let (mut at_left, mut at_right) = (ask(left)?, ask(right)?);
            for _ in 2..evaluations {
                // Equal ones (no drive at all) leave the side of less spare capacity.
                if at_left < at_right {
                    (high, right, at_right) = (right, left, at_left);
                    [left, _] = inner(low, high);
                    at_left = ask(left)?;
                } else {
                    (low, left, at_left) = (left, right, at_right);
                    [_, right] = inner(low, high);
                    at_right = ask(right)?;
                }
            }
            best = if at_left < at_right { (left, at_left) } else { (right, at_right) };
        }
        match reason {
            Some(reason) if best.1.is_infinite() => Err(reason),
            _ => Ok(best.0),
        }
    }

    /// How far the fitted runs are from what was measured: the mean absolute logarithm.
    fn distance(&self, spare: f64, units: u64) -> Result<f64, CalibrateError> {
        let predicted = self.predicted(self.base, spare, units, Which::Telling)?;
        let mut all = Vec::new();
        for (chain, predicted) in self.chains.iter().zip(&predicted) {
            let own = chain.telling().map(|(at, told)| {
                let own = predicted.get(at);
                let ratio = match told {
                    Told::Amplification(measured) => own
                        .and_then(|own| own.amplification)
                        .map(|own| self.overhead * own / measured),
                    Told::Passes(measured) => {
                        own.and_then(|own| own.passes).map(|own| own / measured)
                    }
                };
                // A drive whose throughput does not fall is as far off as can be.
                ratio.map_or(FAR, |ratio| ratio.ln().abs())
            });
            all.extend(own);
        }
        Ok(all.iter().sum::<f64>() / all.len().max(1) as f64)
    }

    /// Says how far the calibration is.
    fn tell(&self) {
        let rounds = 1 + self.steps_with_time();
        let expected = EVALUATIONS.iter().sum::<usize>() + rounds * PROGRAM_STEPS;
        let done = self.done.fetch_add(1, Ordering::Relaxed) + 1;
        (self.progress)(Progress { done, expected });
    }

    /// How often the spare share is corrected by when throughput falls with time.
    fn steps_with_time(&self) -> usize {
        let by_passes = |(_, told): (usize, Told)| matches!(told, Told::Passes(_));
        let is_told = self.chains.iter().flat_map(Chain::telling).any(by_passes);
        if is_told && self.sizes.timed.is_some() { CORRECTIONS } else { 0 }
    }

    /// The hidden share with which throughput falls when it was measured to, with time: what is
    /// hidden changes as the passes until then are to.
    fn corrected(&self, spare: f64, programs: f64) -> Result<f64, CalibrateError> {
        let Some((units, _)) = self.sizes.timed else { return Ok(spare) };
        let predicted = self.predicted(&self.slowed(programs), spare, units, Which::Falling)?;
        let chains = self.chains.iter().zip(&predicted);
        let ratios = chains.flat_map(|(chain, predicted)| {
            chain.telling().filter_map(|(at, told)| match told {
                Told::Passes(measured) => Some((measured / predicted.get(at)?.passes?).ln()),
                Told::Amplification(_) => None,
            })
        });
        let ratios: Vec<f64> = ratios.collect();
        let mean = ratios.iter().sum::<f64>() / ratios.len().max(1) as f64;
        let hidden = spare / (1.0 - spare) * mean.exp();
        Ok((hidden / (1.0 + hidden)).clamp(SPARE.0, SPARE.1))
    }

    /// The base with the time of each program multiplied by `factor`.
    fn slowed(&self, factor: f64) -> DeviceConfig {
        let mut slowed = self.base.clone();
        for latency in &mut slowed.flash.program_latency {
            *latency = Nanos((latency.0 as f64 * factor).round() as u64);
        }
        slowed
    }

    /// How many times the base's the time of a program is. As long as programs are what limits the
    /// drive, throughput is inverse to it, so that each step takes the mean logarithm of what is
    /// missing away. 1 where no throughput was measured.
    fn fit_programs(&self, spare: f64) -> Result<f64, CalibrateError> {
        let mut factor = 1.0_f64;
        let Some((units, _)) = self.sizes.timed else { return Ok(factor) };
        for _ in 0..PROGRAM_STEPS {
            let predicted = self.predicted(&self.slowed(factor), spare, units, Which::Timed)?;
            self.tell();
            let chains = self.chains.iter().zip(&predicted);
            let missing: Vec<f64> = chains
                .flat_map(|(chain, predicted)| {
                    chain.timed().filter_map(|(at, real)| {
                        Some((predicted.get(at)?.mib_per_second? / real).ln())
                    })
                })
                .collect();
            if missing.is_empty() {
                break;
            }
            let mean = missing.iter().sum::<f64>() / missing.len() as f64;
            factor = (factor * mean.exp()).clamp(PROGRAM_FACTOR.0, PROGRAM_FACTOR.1);
        }
        Ok(factor)
    }

    /// What a drive does run by run: all runs, or those of each source up to the last one that is
    /// asked about.
    fn predicted(
        &self,
        drive: &DeviceConfig,
        spare: f64,
        units: u64,
        which: Which,
    ) -> Result<Vec<Vec<Aged>>, CalibrateError> {
        let timed = self.sizes.timed.filter(|_| which != Which::Telling);
        let pages = timed.map_or(1, |(_, pages)| pages);
        let is_timed = timed.is_some();
        let mut drive = age::small(drive, spare, units, pages);
        let fewer = if is_timed { age::thin(&mut drive, units) } else { 1 };
        let drive = drive.check()?;
        let replay = age::Replay {
            visible: self.visible,
            starts: self.starts,
            is_timed,
            with_series: matches!(which, Which::All | Which::Falling),
            fewer,
            seed: self.seed,
            stop: self.stop,
        };
        let one = |chain: &Chain| {
            let last = match which {
                Which::All => chain.runs.len().checked_sub(1),
                Which::Telling | Which::Falling => chain.telling().last().map(|(at, _)| at),
                Which::Timed => chain.timed().last().map(|(at, _)| at),
            };
            last.map_or(Ok(Vec::new()), |last| replay.age(&drive, &chain.runs[..=last]))
        };
        let all = self.chains.par_iter().with_max_len(1).map(one);
        all.collect::<Result<_, ReplayError>>().map_err(|error| match error {
            ReplayError::Interrupted => FitError::Interrupted.into(),
            error => error.into(),
        })
    }
}

/// The runs that are asked about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Which {
    All,
    /// Those that tell the spare capacity.
    Telling,
    /// Those that tell the spare capacity, sampled ones served with time from their beginning to
    /// their end: when their throughput falls tells it where write amplification is not known.
    Falling,
    /// Those that are fitted and whose throughput is known.
    Timed,
}

#[cfg(test)]
mod tests;
