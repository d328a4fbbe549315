//! Which division of channels that were shared until now an allocator makes: for the latencies of
//! all, to keep targets, or to be fair.

use super::Allocator;
use crate::fairness::{Aim, Fairness, Slowdowns};
use crate::features::ObservedMix;
use crate::strategy::Strategy;
use crate::switch::Outlook;
use crate::targets::{Off, Standing};
use serde::Serialize;
use ssdtune_sim::Simulator;

/// What latencies of the whole run may be over those of `Shared` by forecast, as a logarithm, where
/// channels are divided to keep a target: 0.1 is 10.5 % longer. Of 127 mixes whose lightest writer
/// was promised half of its latency, 0.1 and 0.2 keep it in 43 and 44, and 10 and 13 end more than
/// 2 % above `Shared`.
const PRICE_MAX: f64 = 0.1;
/// The risk, 0 to 1, that is taken to be fairer. Of 500 mixes, risks of 0.2, 0.4 and 1 bring
/// fairness from 0.23 to 0.30, 0.32 and 0.34 in the mean, and 0, 1 and 7 end more than 10.5 % above
/// `Shared`.
const FAIR_RISK_MAX: f64 = 0.4;
/// A division for the latencies of all leaves each target as it is or better, or at this part of
/// what was promised (0 to 1) by forecast: latencies of the first period are often below those of
/// the run. Of 127 mixes whose busiest reader was promised 1.05 times its latency, 1, 0.9, 0.8 and
/// 0.7 keep it in 95, 101, 105 and 107, at 0.957, 0.963, 0.970 and 0.979 times the latencies of
/// `Shared`.
const SPARE: f64 = 0.8;

/// A division of channels that were shared until now, and what is forecast of it.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Division {
    /// How the channels would be divided.
    pub strategy: Strategy,
    /// The probability, 0 to 1, that the whole run ends more than 2 % above one that shares to its
    /// end.
    pub risk: f64,
    /// By what part, as a logarithm, latencies of the whole run are below those of `Shared`.
    pub gain: f64,
    /// Whether the channels are divided so: for the gain, to keep targets, or to be fair.
    pub is_taken: bool,
    /// The latency of the target that is the worst off, over what was promised: 1 or less, and all
    /// are kept. Of an allocator that knows targets ([`Allocator::for_targets`]).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub worst_target: Option<Change>,
    /// The least slowdown of a tenant over the greatest, 0 to 1, of an allocator that is to be fair
    /// ([`Allocator::for_aim`]).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fairness: Option<Change>,
}

/// What a division changes.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Change {
    /// On shared channels until now.
    pub now: f64,
    /// With the division, by forecast.
    pub then: f64,
}

impl Allocator<'_> {
    /// The best way to divide channels that were shared until now.
    pub(super) fn division(
        &mut self,
        drive: &Simulator,
        observed: &ObservedMix,
        slots: u64,
    ) -> Option<Division> {
        let (policy, memory) = (self.policy, &mut self.memory);
        let (strategy, outlook) = policy.best_switch(observed, slots, memory)?;
        let is_taken = policy.switch.as_ref()?.allows(outlook);
        let Outlook { risk, gain } = outlook;
        let (worst_target, fairness) = (None, None);
        let best = Division { strategy, risk, gain, is_taken, worst_target, fairness };
        match self.aim {
            _ if !self.targets.is_empty() => {
                self.division_for_targets(drive, observed, slots, best)
            }
            Aim::Fairness => self.division_for_fairness(drive, observed, slots, best),
            Aim::Latency => Some(best),
        }
    }

    /// The best way to divide channels where there are targets: `best`, which is it for the
    /// latencies of all, unless another one keeps more targets.
    fn division_for_targets(
        &mut self,
        drive: &Simulator,
        observed: &ObservedMix,
        slots: u64,
        mut best: Division,
    ) -> Option<Division> {
        let (policy, memory) = (self.policy, &mut self.memory);
        let standing = Standing::new(self.targets, &drive.report(), policy, observed, memory)?;
        let now = standing.now();
        let worst = |off: &[Off]| off.iter().copied().fold(0.0, f64::max);
        let told = |then: &[Off]| Some(Change { now: worst(now), then: worst(then) });
        let kept = |off: &[Off]| off.iter().filter(|off| **off <= 1.0).count();
        let takes_at_most = |then: &[Off], limit: f64| {
            then.iter().zip(now).all(|(then, now)| *then <= now.max(limit))
        };
        let then = standing.under(&best.strategy, policy, memory)?;
        best.is_taken &= takes_at_most(&then, SPARE);
        best.worst_target = told(&then);
        let kept_by_best = kept(if best.is_taken { &then } else { now });
        if kept_by_best == now.len() {
            return Some(best);
        }
        let mut strategies = policy.divisions(observed, memory, usize::MAX);
        strategies.retain(|strategy| {
            let then = standing.under(strategy, policy, memory);
            then.is_some_and(|then| kept(&then) > kept_by_best && takes_at_most(&then, 1.0))
        });
        let outlooks = policy.outlooks(observed, slots, strategies, memory);
        let others = outlooks.into_iter().filter_map(|(strategy, Outlook { risk, gain })| {
            let then = standing.under(&strategy, policy, memory)?;
            let worst_target = told(&then);
            let (is_taken, fairness) = (true, None);
            let division = Division { strategy, risk, gain, is_taken, worst_target, fairness };
            (gain >= -PRICE_MAX).then_some((kept(&then), division))
        });
        let keeps_most = |a: &(usize, Division), b: &(usize, Division)| {
            a.0.cmp(&b.0).then(a.1.gain.total_cmp(&b.1.gain))
        };
        Some(others.max_by(keeps_most).map_or(best, |(_, division)| division))
    }

    /// The fairest way to divide channels: `best`, which is it for the latencies of all, unless
    /// another one is fairer and slows nobody down more than the slowest tenant with that. None is
    /// taken that is no fairer than shared channels are.
    fn division_for_fairness(
        &mut self,
        drive: &Simulator,
        observed: &ObservedMix,
        slots: u64,
        mut best: Division,
    ) -> Option<Division> {
        let (policy, memory) = (self.policy, &mut self.memory);
        let slowdowns = Slowdowns::new(&drive.report(), policy, observed, memory)?;
        let now = slowdowns.now();
        let told = |then: Fairness| {
            Some(Change { now: now.least_over_greatest, then: then.least_over_greatest })
        };
        let then = slowdowns.under(&best.strategy, policy, memory)?;
        best.is_taken &= then.is_better_than(&now);
        best.fairness = told(then);
        let fairest = if best.is_taken { then } else { now };
        let mut fairer = Vec::new();
        for strategy in policy.divisions(observed, memory, usize::MAX) {
            let then = slowdowns.under(&strategy, policy, memory)?;
            if then.is_better_than(&fairest) {
                fairer.push((strategy, then));
            }
        }
        let strategies = fairer.iter().map(|(strategy, _)| strategy.clone()).collect();
        let outlooks = policy.outlooks(observed, slots, strategies, memory);
        let others = outlooks.into_iter().filter_map(|(strategy, Outlook { risk, gain })| {
            let (_, then) = fairer.iter().find(|(own, _)| *own == strategy)?;
            let (is_taken, worst_target, fairness) = (true, None, told(*then));
            let division = Division { strategy, risk, gain, is_taken, worst_target, fairness };
            let is_cheap = gain >= -PRICE_MAX && risk <= FAIR_RISK_MAX;
            is_cheap.then_some((then.least_over_greatest, division))
        });
        let fairest = others.max_by(|a, b| a.0.total_cmp(&b.0));
        Some(fairest.map_or(best, |(_, division)| division))
    }
}
