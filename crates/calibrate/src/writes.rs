//! Calibrating what writes cost a drive's flash: from runs of writes to the spare capacity.
//!
//! Two numbers are fitted. What a drive writes beside the data (parity, tables) shows where the
//! host writes in order, since nothing is collected there: the *overhead*, a factor. The hidden
//! share of the flash shows where the host writes at random places: collection costs as much as
//! was measured at one share only. Everything else (how victims are chosen, how many blocks stay
//! free) is the base's.
//!
//! Runs are replayed without time on a small drive ([`age`]), each on the state that the runs
//! before it left. Cost: some 60 ns a page that is written or moved, 20 evaluations of the runs up
//! to the last fitted one.

mod age;
mod outcome;
mod text;

pub use outcome::{RunErrors, RunPrediction, WriteCalibration};

use crate::calibration::{CalibrateError, Order, of_drive};
use crate::fit::{FitError, Progress};
use crate::replay::ReplayError;
use crate::run::{Run, Shape};
use crate::split::{Expression, Fields};
use rayon::prelude::*;
use ssdtune_model::DeviceConfig;
use ssdtune_model::ledger::Ledger;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

/// Hidden shares between which the fit looks.
const SPARE: (f64, f64) = (0.03, 0.6);
/// Evaluations, mapping units of the small drive, and the width of the range around the best share
/// that is known (as a share of it; the first round looks everywhere).
const ROUNDS: [(usize, u64, Option<f64>); 2] = [(12, 1 << 17, None), (8, 1 << 18, Some(0.12))];
/// Mapping units of the small drive that predicts.
const UNITS: u64 = 1 << 20;
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
    let sanitised = order.sanitised.as_ref();
    let work = Work { base, visible, chains: &chains, overhead, sanitised, seed, stop, progress };
    let spare = work.fit()?;
    let predicted = work.predicted(spare, UNITS, false)?;
    let config = outcome::whole(base, visible, spare, &name);
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

    /// Runs with what is fitted to them.
    fn fitted(&self) -> impl Iterator<Item = (usize, &Run, f64)> {
        let all = self.runs.iter().enumerate().filter(|(at, _)| !self.is_held_out[*at]);
        all.filter_map(|(at, run)| Some((at, run, run.write_amplification?)))
    }

    /// Runs that tell the spare capacity.
    fn telling(&self) -> impl Iterator<Item = (usize, f64)> {
        let all = self.fitted().filter(|(_, run, _)| {
            !matches!(run.pattern.shape, Shape::Sequential | Shape::Unknown(_))
        });
        all.map(|(at, _, measured)| (at, measured))
    }
}

/// What the drive writes beside the data, as a factor: the geometric mean of what sequential runs
/// cost.
fn overhead(chains: &[Chain]) -> f64 {
    let own = chains.iter().flat_map(Chain::fitted).filter(|(_, run, _)| {
        matches!(run.pattern.shape, Shape::Sequential) && !run.pattern.is_shuffled
    });
    let logarithms: Vec<f64> = own.map(|(_, _, measured)| measured.ln()).collect();
    (logarithms.iter().sum::<f64>() / logarithms.len().max(1) as f64).exp()
}

/// A calibration under way.
struct Work<'a> {
    base: &'a DeviceConfig,
    visible: u64,
    chains: &'a [Chain],
    overhead: f64,
    sanitised: Option<&'a Expression>,
    seed: u64,
    stop: &'a AtomicBool,
    progress: &'a (dyn Fn(Progress) + Sync),
}

impl Work<'_> {
    /// The hidden share that comes nearest to the fitted runs, by golden sections. That of the base
    /// if no run tells it.
    fn fit(&self) -> Result<f64, CalibrateError> {
        let own = self.base.mapping.overprovisioning;
        if self.chains.iter().all(|chain| chain.telling().next().is_none()) {
            return Ok(own);
        }
        let done = AtomicUsize::new(0);
        let expected = ROUNDS.iter().map(|(evaluations, ..)| evaluations).sum();
        let (mut best, mut reason) = ((own, f64::INFINITY), None);
        for (evaluations, units, width) in ROUNDS {
            let mut ask = |spare: f64| -> Result<f64, CalibrateError> {
                let found = self.distance(spare, units);
                let done = done.fetch_add(1, Ordering::Relaxed) + 1;
                (self.progress)(Progress { done, expected });
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
            let (mut low, mut high) = match width {
                None => SPARE,
                Some(width) => (best.0 * (1.0 - width), (best.0 * (1.0 + width)).min(SPARE.1)),
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
        let predicted = self.predicted(spare, units, true)?;
        let mut all = Vec::new();
        for (chain, predicted) in self.chains.iter().zip(&predicted) {
            let own = chain.telling().filter_map(|(at, measured)| {
                Some((self.overhead * (*predicted.get(at)?)? / measured).ln().abs())
            });
            all.extend(own);
        }
        Ok(all.iter().sum::<f64>() / all.len().max(1) as f64)
    }

    /// What the flash writes for each byte that the drive writes for the host, run by run: all of
    /// them, or those of each source up to the last one that tells the spare capacity.
    fn predicted(
        &self,
        spare: f64,
        units: u64,
        telling: bool,
    ) -> Result<Vec<Vec<Option<f64>>>, CalibrateError> {
        let drive = age::small(self.base, spare, units).check()?;
        let one = |chain: &Chain| {
            let runs = match (telling, chain.telling().last()) {
                (false, _) => &chain.runs[..],
                (true, Some((last, _))) => &chain.runs[..=last],
                (true, None) => return Ok(Vec::new()),
            };
            age::age(&drive, self.visible, runs, self.sanitised, self.seed, self.stop)
        };
        let all = self.chains.par_iter().with_max_len(1).map(one);
        all.collect::<Result<_, ReplayError>>().map_err(|error| match error {
            ReplayError::Interrupted => FitError::Interrupted.into(),
            error => error.into(),
        })
    }
}

#[cfg(test)]
mod tests;
