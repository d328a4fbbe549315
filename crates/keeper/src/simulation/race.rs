//! The best of many strategies for a mix, found by a race: most strategies are given up long before
//! the end of the run.

use super::{MeanLatencies, MixSimulator, SimulationError};
use crate::mix::Mix;
use crate::strategy::{Part, Strategy};
use serde::{Deserialize, Serialize};
use ssdtune_experiment::Tally;
use ssdtune_model::Place;
use ssdtune_trace::Request;

/// What a strategy did to a mix.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct StrategyOutcome {
    /// The strategy.
    pub strategy: Strategy,
    /// Mean latencies, as far as the strategy was run.
    pub means: MeanLatencies,
    /// Mean latencies within each part of the strategy, in the order of the parts.
    pub parts: Vec<MeanLatencies>,
    /// If the strategy was given up: its total latency divided by that of the best strategy at the
    /// same look. `None` if it was run to the end.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub behind: Option<f64>,
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
            let first_means = MeanLatencies::of(&first.total());
            let behind = leader.too_far(0, first_means).filter(|_| !is_kept);
            if behind.is_some() {
                outcomes.push(self.outcome(strategy, &writers, &first, behind));
                continue;
            }
            let (mut at_looks, mut behind) = (Vec::new(), None);
            let tally = self.tally(strategy, &writers, &requests, &mut |look, means| {
                at_looks.push(means.total_ns());
                behind = leader.too_far(look, means).filter(|_| !is_kept);
                behind.is_none()
            })?;
            let total_ns = MeanLatencies::of(&tally.total()).total_ns();
            if behind.is_none() && total_ns < leader.total_ns {
                leader = Leader { total_ns, at_looks };
            }
            outcomes.push(self.outcome(strategy, &writers, &tally, behind));
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
    ) -> Result<Vec<(Tally, &'s Strategy)>, SimulationError> {
        let mut order: Vec<(Tally, &Strategy)> = Vec::new();
        for strategy in strategies.iter().filter(|strategy| strategy.is_distinct(writers)) {
            let mut first = Tally::default();
            if self.settings.eliminate && *strategy != Strategy::Shared {
                first = self.tally(strategy, writers, requests, &mut |_, _| false)?;
            }
            order.push((first, strategy));
        }
        let total_ns = |tally: &Tally| MeanLatencies::of(&tally.total()).total_ns();
        order.sort_by(|a, b| total_ns(&a.0).total_cmp(&total_ns(&b.0)));
        Ok(order)
    }

    fn outcome(
        &self,
        strategy: &Strategy,
        writers: &[bool],
        tally: &Tally,
        behind: Option<f64>,
    ) -> StrategyOutcome {
        let of_part = |part: Part| {
            MeanLatencies::of(&tally.of_tenants(|tenant| part.tenants.contains(tenant.index())))
        };
        let channels = self.device.geometry().channels;
        StrategyOutcome {
            strategy: strategy.clone(),
            means: MeanLatencies::of(&tally.total()),
            parts: strategy.parts(channels, writers).map(of_part).collect(),
            behind,
        }
    }
}
