//! The numbers of a drive that runs of writes tell: how much is hidden, how long a program takes,
//! and what else limits the writes.

use super::limits::{Level, Limits};
use super::trial::{Trial, Which};
use super::{EVALUATIONS, PROGRAM_STEPS, Told, Work};
use crate::calibration::CalibrateError;

/// Hidden shares between which the fit looks.
const SPARE: (f64, f64) = (0.03, 0.6);
/// How far a share was looked for before, as a part of the best one, in the second round.
const WIDTH: f64 = 0.12;
/// Times of a program, as factors of the base's, between which the fit looks.
const PROGRAM_FACTOR: (f64, f64) = (0.02, 50.0);
/// How far a run is taken to be from what was measured if it lacks what was.
const FAR: f64 = 1.0;
/// The ratio of the golden section.
const GOLDEN: f64 = 0.618_033_988_749_895;

impl Work<'_> {
    /// The hidden share that comes nearest to the fitted runs, by golden sections. That of the base
    /// if no run tells it.
    pub(super) fn fit(&self) -> Result<f64, CalibrateError> {
        let own = self.base.mapping.overprovisioning;
        if self.chains.iter().all(|chain| chain.telling().next().is_none()) {
            return Ok(own);
        }
        let (mut best, mut reason) = ((own, f64::INFINITY), None);
        for (round, (evaluations, units)) in
            EVALUATIONS.into_iter().zip(self.sizes.rounds).enumerate()
        {
            let mut ask = |spare: f64| -> Result<f64, CalibrateError> {
                match self.distance(spare, units) {
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
        let trial = Trial { spare, programs: 1.0, limits: Limits::default() };
        let predicted = self.predicted(&trial, units, Which::Telling)?;
        let mut all = Vec::new();
        for (chain, predicted) in self.chains.iter().zip(&predicted) {
            let own = chain.telling().map(|(at, told)| {
                let own = &predicted[at];
                let ratio = match told {
                    Told::Amplification(measured) => {
                        own.amplification.map(|own| self.overhead * own / measured)
                    }
                    Told::Passes(measured) => own.passes.map(|own| own / measured),
                };
                // A drive whose throughput does not fall is as far off as can be.
                ratio.map_or(FAR, |ratio| ratio.ln().abs())
            });
            all.extend(own);
        }
        Ok(mean(&all))
    }

    /// The hidden share with which throughput falls when it was measured to, with time: what is
    /// hidden changes as the passes until then are to.
    pub(super) fn corrected(&self, trial: &Trial<'_>) -> Result<f64, CalibrateError> {
        let spare = trial.spare;
        let Some((units, _)) = self.sizes.timed else { return Ok(spare) };
        let predicted = self.predicted(trial, units, Which::Falling)?;
        let chains = self.chains.iter().zip(&predicted);
        let ratios = chains.flat_map(|(chain, predicted)| {
            chain.telling().filter_map(|(at, told)| match told {
                Told::Passes(measured) => Some((measured / predicted[at].passes?).ln()),
                Told::Amplification(_) => None,
            })
        });
        let ratios: Vec<f64> = ratios.collect();
        let hidden = spare / (1.0 - spare) * mean(&ratios).exp();
        Ok((hidden / (1.0 + hidden)).clamp(SPARE.0, SPARE.1))
    }

    /// The time of a program and the limits with which throughput is as it was measured.
    pub(super) fn fit_times<'b>(&self, trial: Trial<'b>) -> Result<Trial<'b>, CalibrateError> {
        let mut trial = self.fit_programs(trial)?;
        if let Some(limits) = self.fit_limits(&trial)?
            && limits != trial.limits
        {
            trial = self.fit_programs(Trial { limits, ..trial })?;
        }
        Ok(trial)
    }

    /// The limits that explain the levels before the fall. `None` where no fitted run was sampled.
    fn fit_limits<'b>(&self, trial: &Trial<'b>) -> Result<Option<Limits<'b>>, CalibrateError> {
        let Some((units, _)) = self.sizes.timed else { return Ok(None) };
        if self.chains.iter().all(|chain| chain.sampled().next().is_none()) {
            return Ok(None);
        }
        let alone = Trial { limits: trial.limits.forgotten(), ..trial.clone() };
        let predicted = self.predicted(&alone, units, Which::Beginning)?;
        let chains = self.chains.iter().zip(&predicted);
        let levels = chains.flat_map(|(chain, predicted)| {
            chain.sampled().filter_map(|(at, run, real)| {
                Some((run, Level { real, own: predicted[at].mib_per_second? }))
            })
        });
        Ok(Some(trial.limits.that_explain(levels)))
    }

    /// How many times the base's the time of a program is. As long as programs are what limits the
    /// drive, throughput is inverse to it, so that each step takes the mean logarithm of what is
    /// missing away. Unchanged where no throughput was measured, or limits decide all.
    fn fit_programs<'b>(&self, mut trial: Trial<'b>) -> Result<Trial<'b>, CalibrateError> {
        let Some((units, _)) = self.sizes.timed else { return Ok(trial) };
        for _ in 0..PROGRAM_STEPS {
            let predicted = self.predicted(&trial, units, Which::Timed)?;
            let chains = self.chains.iter().zip(&predicted);
            let missing: Vec<f64> = chains
                .flat_map(|(chain, predicted)| {
                    chain
                        .timed(&trial.limits)
                        .filter_map(|(at, real)| Some((predicted[at].mib_per_second? / real).ln()))
                })
                .collect();
            let factor = trial.programs * mean(&missing).exp();
            trial.programs = factor.clamp(PROGRAM_FACTOR.0, PROGRAM_FACTOR.1);
        }
        Ok(trial)
    }
}

/// 0 of nothing.
fn mean(all: &[f64]) -> f64 {
    all.iter().sum::<f64>() / all.len().max(1) as f64
}
