//! Which plans are compared on a mix, and what is told of each (Table V, Fig. 5).

use super::aims::{Aims, Judged};
use super::drives::UNDIVIDED;
use super::{Aim, CompareError, Keeper, Plan, PlanOutcome, PlanRunner};
use crate::allocator::{AllocatorError, Decision, Repeat};
use crate::features::pages_of;
use crate::policy::Policy;
use crate::simulation::MeanLatencies;
use crate::strategy::Strategy;
use crate::targets::{PlacedTarget, Target};
use rayon::prelude::*;
use serde::Serialize;
use ssdtune_model::config::Allocation;
use ssdtune_model::{Nanos, Place, TenantId};
use ssdtune_sim::{Report, Slowdown};
use ssdtune_trace::{Op, Request};

/// How the allocator is compared with fixed strategies.
#[derive(Clone, Copy, Debug)]
pub struct CompareOptions<'a> {
    /// The policy that the allocator asks.
    pub policy: &'a Policy,
    /// The period T.
    pub collect: Nanos,
    /// The hysteresis of an allocator that decides again after every period; `None` leaves that
    /// plan out.
    pub repeat: Option<f64>,
    /// What the best strategy is chosen by. An allocator that decides once knows it, too, but for
    /// the aim where there are targets.
    pub aims: &'a Aims,
}

/// What the plans did to a mix.
#[derive(Clone, Debug, Serialize)]
pub struct Comparison {
    /// The names of the tenants' workloads.
    pub tenants: Vec<String>,
    /// The intensity level of the whole run, 1 to 20.
    pub level: u8,
    /// For each tenant, whether it mostly writes.
    pub writers: Vec<bool>,
    /// What the best strategy is the best in.
    pub aim: Aim,
    /// What tenants are promised, which goes before the aim.
    pub targets: Vec<Target>,
    /// The plans: `Shared`, `Isolated`, `Shared` with dynamic page allocation, the allocator's, and
    /// the best of all strategies, which have static page allocation.
    pub lines: Vec<PlanLine>,
    /// What the allocator that decides once decided.
    pub decisions: Vec<Decision>,
}

/// What one plan did.
#[derive(Clone, Debug, Serialize)]
pub struct PlanLine {
    /// Name of the plan.
    pub plan: String,
    /// The strategy in place at the end.
    pub strategy: String,
    /// Mean latencies over all tenants.
    #[serde(flatten)]
    pub means: MeanLatencies,
    /// Mean read plus mean write latency, in nanoseconds.
    pub total_ns: f64,
    /// That total divided by the one under `Shared`.
    pub over_shared: f64,
    /// How much slower each tenant is than alone on the drive.
    pub slowdown: Slowdown,
    /// The latency that each target is about, in nanoseconds.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub targets_ns: Vec<f64>,
}

/// A plan with its name, and the drive's page allocation under it.
type NamedPlan<'a> = (String, Plan<'a>, Allocation);

impl PlanRunner<'_> {
    /// Runs the allocator's plans and every fixed strategy. `tenants` are the names of the tenants'
    /// workloads.
    ///
    /// # Errors
    /// The drive cannot be simulated, has no room, does not fit the policy, or the caller stopped
    /// it.
    pub fn compare(
        &self,
        tenants: Vec<String>,
        options: CompareOptions,
    ) -> Result<Comparison, CompareError> {
        let CompareOptions { policy, aims, .. } = options;
        let targets = aims.placed(&tenants).map_err(CompareError::Target)?;
        let (trained, found) = (policy.channels, self.drives.fixed().geometry().channels);
        if trained != found {
            return Err(AllocatorError::Channels { trained, found }.into());
        }
        let writers = self.writers();
        let strategies: Vec<Strategy> = (Strategy::all(found, self.tenants).into_iter())
            .filter(|strategy| strategy.is_distinct(&writers))
            .collect();
        let mut plans = self.unfixed(&options, &targets, &writers);
        let fixed = plans.len();
        plans.extend(strategies.iter().map(|strategy| {
            (strategy.to_string(), Plan::Fixed { strategy, writers: &writers }, Allocation::Static)
        }));
        let alone = self.each_alone(&writers)?;
        let outcomes: Vec<PlanOutcome> = (plans.par_iter())
            .map(|(_, plan, allocation)| self.run(*plan, *allocation, None))
            .collect::<Result<_, _>>()?;
        // `Shared` is the first of all strategies.
        let shared_ns = outcomes[fixed].means.total_ns();
        let total_ns = |place: usize| outcomes[place].means.total_ns();
        let judged: Vec<Judged> = (outcomes.iter())
            .map(|outcome| Judged {
                total_ns: outcome.means.total_ns(),
                slowdown: Slowdown::of(&outcome.report, &alone),
                latencies_ns: targets.iter().map(|one| one.latency_ns(&outcome.report)).collect(),
            })
            .collect();
        let line = |plan: &str, place: usize| {
            let last = outcomes[place].decisions.last().map(|last| last.strategy.to_string());
            // Before an allocator decides, tenants share all channels.
            let first =
                if place < fixed { Strategy::Shared.to_string() } else { plans[place].0.clone() };
            PlanLine {
                plan: plan.to_owned(),
                strategy: last.unwrap_or(first),
                means: outcomes[place].means,
                total_ns: total_ns(place),
                over_shared: total_ns(place) / shared_ns,
                slowdown: judged[place].slowdown.clone(),
                targets_ns: judged[place].latencies_ns.clone(),
            }
        };
        let best = fixed + aims.best(&judged[fixed..]);
        let mut lines = vec![line("Shared", fixed)];
        if let Some(isolated) = strategies.iter().position(|s| *s == Strategy::Isolated) {
            lines.push(line("Isolated", fixed + isolated));
        }
        lines.extend((0..fixed).map(|place| line(&plans[place].0, place)));
        lines.push(line(&format!("best of {}", strategies.len()), best));
        let level = policy.intensity.level(self.page_rate()) + 1;
        // Of the plan after `UNDIVIDED`.
        let decisions = outcomes[1].decisions.clone();
        let (aim, targets) = (aims.aim, aims.targets.clone());
        Ok(Comparison { tenants, level, writers, aim, targets, lines, decisions })
    }

    /// The plans that are no fixed strategies: [`UNDIVIDED`], an allocator that decides once, and
    /// others.
    fn unfixed<'a>(
        &self,
        options: &CompareOptions<'a>,
        targets: &'a [PlacedTarget],
        writers: &'a [bool],
    ) -> Vec<NamedPlan<'a>> {
        let keeper = Keeper { collect: options.collect, ..Keeper::of(options.policy) };
        let once = Plan::Keeper(Keeper { targets, aim: options.aims.aim, ..keeper });
        let shared = Plan::Fixed { strategy: &Strategy::Shared, writers };
        let mut plans: Vec<NamedPlan> = vec![(UNDIVIDED.to_owned(), shared, Allocation::Dynamic)];
        let named = |(name, allocation): (&str, _)| (name.to_owned(), once, allocation);
        plans.extend(self.drives.of_allocators().into_iter().map(named));
        if let Some(gain) = options.repeat {
            let repeat = Repeat::Always { hysteresis: gain.max(0.0) };
            // It knows no targets and no aim.
            let plan = Plan::Keeper(Keeper { repeat, ..keeper });
            plans.push(("SSDKeeper, repeated".to_owned(), plan, self.drives.own));
        }
        plans
    }

    /// The report of each tenant alone on the drive, with all channels.
    fn each_alone(&self, writers: &[bool]) -> Result<Vec<Report>, CompareError> {
        let alone = |tenant: usize| {
            let plan = Plan::Fixed { strategy: &Strategy::Shared, writers };
            self.run(plan, Allocation::Static, Some(TenantId::at(tenant)))
                .map(|outcome| outcome.report)
        };
        (0..self.tenants).into_par_iter().map(alone).collect()
    }

    /// Flash pages a second that the requests ask for, from time 0 to the last request.
    fn page_rate(&self) -> f64 {
        let page_sectors = self.drives.fixed().geometry().sectors_per_page();
        let last = self.requests.last().map_or(1, |request| request.at.0.max(1));
        total_pages(self.requests, page_sectors) as f64 * 1e9 / last as f64
    }
}

/// Flash pages that the reads and writes among requests touch.
pub(super) fn total_pages(requests: &[Request], page_sectors: u32) -> u64 {
    let is_data = |request: &&Request| matches!(request.op, Op::Read | Op::Write);
    requests.iter().filter(is_data).map(|request| pages_of(request, page_sectors)).sum()
}
