//! Fairness: how much slower each tenant is than alone on the drive, and how alike they bear it.
//!
//! What a tenant takes under shared channels is measured, and what it would take under a strategy
//! follows as for targets (the file `targets`). What it would take alone is what the network of
//! parts says of a part that it has to itself and that has all channels; nobody has seen it.
//!
//! Cost: where an allocator is to be fair, at each moment that it looks at, a report of the drive
//! and the network's answers about each tenant and about the parts of all strategies, some 160 with
//! four tenants and eight channels.

use crate::features::ObservedMix;
use crate::policy::{DecisionMemory, Policy};
use crate::rates::ratio;
use crate::strategy::Strategy;
use serde::Serialize;
use ssdtune_sim::Report;
use std::str::FromStr;

/// What a division of the channels is to be the best in.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Aim {
    /// Mean read plus mean write latency, as in the paper: the least.
    #[default]
    Latency,
    /// The least slowdown of a tenant over the greatest: the nearest to 1, of the strategies under
    /// which no tenant is slowed down more than the slowest one under `Shared`. (Being slow alike
    /// is fair as well.)
    Fairness,
}

impl FromStr for Aim {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "latency" => Ok(Self::Latency),
            "fairness" => Ok(Self::Fairness),
            _ => Err("write latency or fairness".to_owned()),
        }
    }
}

/// How fair a way to have channels is.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Fairness {
    /// The least slowdown of a tenant over the greatest, 0 to 1.
    pub least_over_greatest: f64,
    /// The greatest slowdown of a tenant: 1 if it takes as long as alone.
    greatest: f64,
}

impl Fairness {
    /// Of these slowdowns. Where nobody asks for anything it is fair.
    fn of(slowdowns: &[f64]) -> Self {
        let least = slowdowns.iter().copied().fold(f64::INFINITY, f64::min);
        let greatest = slowdowns.iter().copied().fold(0.0, f64::max);
        let least_over_greatest = if greatest > 0.0 { least / greatest } else { 1.0 };
        Self { least_over_greatest, greatest }
    }

    /// Whether it is fairer than `other` without a tenant that is slowed down more than the slowest
    /// one there.
    pub fn is_better_than(&self, other: &Self) -> bool {
        self.least_over_greatest > other.least_over_greatest && self.greatest <= other.greatest
    }
}

/// Slowdowns under shared channels, and what is needed to say what they would be under a strategy.
pub(crate) struct Slowdowns<'a> {
    observed: &'a ObservedMix,
    /// What the network says of each tenant's reads and writes under shared channels, in
    /// nanoseconds.
    shared_ns: Vec<[f64; 2]>,
    /// Of each tenant until now, under shared channels; 0 for one that asked for nothing.
    now: Vec<f64>,
}

impl<'a> Slowdowns<'a> {
    /// `report` is of the run so far. A tenant of whose requests none was completed has what the
    /// network says. `None` if the network is not one for parts.
    pub fn new(
        report: &Report,
        policy: &Policy,
        observed: &'a ObservedMix,
        memory: &mut DecisionMemory,
    ) -> Option<Self> {
        let shared_ns = policy.tenant_latencies(observed, &Strategy::Shared, memory)?;
        let alone_ns = policy.latencies_alone(observed, memory)?;
        let slowdown = |tenant: usize| {
            let measured = report.tenants[tenant].metrics.all.total_latency_ns.as_ref();
            let said = observed.mean_ns(tenant, shared_ns[tenant]);
            let takes_ns = measured.map_or(said, |own| own.mean);
            ratio(takes_ns, observed.mean_ns(tenant, alone_ns[tenant]))
        };
        let now = (0..shared_ns.len()).map(slowdown).collect();
        Some(Self { observed, shared_ns, now })
    }

    /// Under shared channels until now.
    pub fn now(&self) -> Fairness {
        let asking: Vec<f64> = self.now.iter().copied().filter(|own| *own > 0.0).collect();
        Fairness::of(&asking)
    }

    /// Under a strategy from now on, by forecast.
    pub fn under(
        &self,
        strategy: &Strategy,
        policy: &Policy,
        memory: &mut DecisionMemory,
    ) -> Option<Fairness> {
        let (observed, before) = (self.observed, &self.shared_ns);
        let after = policy.tenant_latencies_from_now(observed, strategy, before, memory)?;
        let changed = |tenant: usize| {
            let mean = |latencies: &[[f64; 2]]| observed.mean_ns(tenant, latencies[tenant]);
            self.now[tenant] * ratio(mean(&after), mean(before))
        };
        let all: Vec<f64> = (0..after.len()).map(changed).filter(|own| *own > 0.0).collect();
        Some(Fairness::of(&all))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn being_slow_alike_is_no_better() {
        let shared = Fairness::of(&[1.0, 4.0]);
        assert_eq!((shared.least_over_greatest, shared.greatest), (0.25, 4.0));
        assert!(Fairness::of(&[1.5, 3.0]).is_better_than(&shared));
        assert!(!Fairness::of(&[5.0, 5.0]).is_better_than(&shared), "all are slower");
        assert!(!Fairness::of(&[0.5, 3.0]).is_better_than(&shared), "less fair");
        assert!(!shared.is_better_than(&shared));
        assert_eq!(Fairness::of(&[]).least_over_greatest, 1.0);
    }
}
