//! The best of many strategies for a mix, found by a race: most strategies are given up long before
//! the end of the run.

use super::{LOOKS, MeanLatencies, MixSimulator, SimulationError};
use crate::mix::Mix;
use crate::strategy::{Part, Strategy};
use serde::{Deserialize, Serialize};
use ssdtune_experiment::Tally;
use ssdtune_model::Place;
use ssdtune_trace::{Request, TenantId};

/// What a strategy did to a mix.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct StrategyOutcome {
    /// The strategy.
    pub strategy: Strategy,
    /// Mean latencies, as far as the strategy was run.
    pub means: MeanLatencies,
    /// Mean latencies within each part of the strategy, in the order of the parts: of all requests
    /// that came until then, those that still waited included.
    pub parts: Vec<MeanLatencies>,
    /// If the strategy was given up: its total latency divided by that of the best strategy at the
    /// same look. `None` if it was run to the end.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub behind: Option<f64>,
    /// How many twentieths of the time it was run for.
    pub looks: u64,
}

/// A strategy is given up at a look if its total latency is this many times that of the best
/// strategy at the same look. The first entry is for the first look, the last for all further ones.
/// `docs/results/keeper.md` shows that no label depends on it.
const MARGINS: [f64; 12] = [3.0, 2.5, 2.2, 2.0, 1.8, 1.7, 1.6, 1.5, 1.45, 1.4, 1.35, 1.3];

fn margin(look: usize) -> f64 {
    MARGINS[look.min(MARGINS.len() - 1)]
}

/// The best strategy of a race so far.
struct Leader {
    /// Its total latency at the end.
    total_ns: f64,
    /// Its total latency at every look.
    at_looks: Vec<f64>,
}

impl Leader {
    /// The ratio of a total latency to the leader's at the same look, if it is above the margin.
    fn too_far(&self, look: usize, means: MeanLatencies) -> Option<f64> {
        let ratio = means.total_ns() / self.at_looks.get(look)?;
        (ratio > margin(look)).then_some(ratio)
    }
}

/// A run of a strategy, or the beginning of one.
#[derive(Default)]
struct Ran {
    /// Means of the requests that were completed when it was over or given up.
    means: MeanLatencies,
    /// All requests that came until then.
    tally: Tally,
    /// How many twentieths of the time it was run for.
    looks: u64,
}

impl MixSimulator<'_> {
    /// Runs every strategy that is distinct for a mix, until it cannot win any more.
    ///
    /// All strategies run to the first look. Then they run to the end one after the other, the most
    /// promising first. One that falls too far behind the best so far is given up. `Shared` always
    /// runs to the end. Which strategies are given up depends on nothing but the mix.
    ///
    /// # Errors
    /// The drive cannot be simulated, has no room, or the caller stopped it.
    pub fn race(
        &self,
        strategies: &[Strategy],
        mix: &Mix,
        number: u64,
    ) -> Result<Vec<StrategyOutcome>, SimulationError> {
        let writers = mix.writers();
        let requests: Vec<Request> = mix.requests(self.request_options(number)).collect();
        let order = self.by_first_look(strategies, &writers, &requests)?;
        let mut outcomes = Vec::with_capacity(order.len());
        let mut leader = Leader { total_ns: f64::INFINITY, at_looks: Vec::new() };
        for (first, strategy) in order {
            let is_kept = *strategy == Strategy::Shared || !self.settings.eliminate;
            if let Some(behind) = leader.too_far(0, first.means).filter(|_| !is_kept) {
                outcomes.push(self.outcome(strategy, &writers, &first, Some(behind)));
                continue;
            }
            let (mut at_looks, mut behind): (Vec<MeanLatencies>, _) = (Vec::new(), None);
            let tally = self.tally(strategy, &writers, &requests, &mut |look, means| {
                at_looks.push(means);
                behind = leader.too_far(look, means).filter(|_| !is_kept);
                behind.is_none()
            })?;
            let total = MeanLatencies::of(&tally.total());
            if behind.is_none() && total.total_ns() < leader.total_ns {
                let at_looks = at_looks.iter().map(MeanLatencies::total_ns).collect();
                leader = Leader { total_ns: total.total_ns(), at_looks };
            }
            let ran = match (behind, at_looks.last()) {
                (Some(_), Some(&means)) => {
                    let looks = (at_looks.len() as u64).min(LOOKS - 1);
                    Ran { means, tally, looks }
                }
                _ => Ran { means: total, tally, looks: LOOKS },
            };
            outcomes.push(self.outcome(strategy, &writers, &ran, behind));
        }
        Ok(outcomes)
    }

    /// The strategies that are distinct, each with what it did until the first look, the most
    /// promising first. Those that run to the end in any case are not run here and come first.
    fn by_first_look<'s>(
        &self,
        strategies: &'s [Strategy],
        writers: &[bool],
        requests: &[Request],
    ) -> Result<Vec<(Ran, &'s Strategy)>, SimulationError> {
        let mut order: Vec<(Ran, &Strategy)> = Vec::new();
        for strategy in strategies.iter().filter(|strategy| strategy.is_distinct(writers)) {
            let mut first = Ran { looks: 1, ..Ran::default() };
            if self.settings.eliminate && *strategy != Strategy::Shared {
                first.tally = self.tally(strategy, writers, requests, &mut |_, means| {
                    first.means = means;
                    false
                })?;
            }
            order.push((first, strategy));
        }
        order.sort_by(|a, b| a.0.means.total_ns().total_cmp(&b.0.means.total_ns()));
        Ok(order)
    }

    fn outcome(
        &self,
        strategy: &Strategy,
        writers: &[bool],
        ran: &Ran,
        behind: Option<f64>,
    ) -> StrategyOutcome {
        let of_part = |part: Part| {
            let is_own = |tenant: TenantId| part.tenants.contains(tenant.index());
            MeanLatencies::of(&ran.tally.of_tenants(is_own))
        };
        let channels = self.device.geometry().channels;
        StrategyOutcome {
            strategy: strategy.clone(),
            means: ran.means,
            parts: strategy.parts(channels, writers).map(of_part).collect(),
            behind,
            looks: ran.looks,
        }
    }
}
