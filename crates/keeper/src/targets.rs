//! Targets: latencies that tenants were promised, and what a strategy would make of them.
//!
//! What a tenant has got so far, under shared channels, is measured. What it would get under a
//! strategy is that, multiplied by what the network of parts says of its part over what it says of
//! shared channels. So any figure can be a target, a p99 too, as far as it moves like the mean.
//! Only completed requests are measured, and a run may get slower than it was: what is forecast for
//! a target is rather too short.
//!
//! Cost: where there are targets, at each moment that an allocator looks at, a report of the drive
//! and the network's answers about the parts of two strategies; where one is missed, about those of
//! all strategies, 152 parts with four tenants and eight channels.

use crate::features::ObservedMix;
use crate::policy::{DecisionMemory, Policy};
use crate::strategy::Strategy;
use serde::{Serialize, Serializer};
use ssdtune_model::Nanos;
use ssdtune_sim::{LatencySummary, Report, TenantMetrics};
use std::str::FromStr;

/// Which of a tenant's requests a target is about.
#[derive(Clone, Copy, Debug)]
enum Side {
    All,
    Read,
    Write,
}

/// A latency that a tenant is to stay below, written `TENANT:FIGURE<TIME`: `a:p99<2ms`,
/// `2:read-mean<500us`.
#[derive(Clone, Debug)]
pub struct Target {
    /// The name of the tenant's workload, up to a dot if that is enough, or its number from 1.
    pub tenant: String,
    of: Side,
    figure: fn(&LatencySummary) -> f64,
    /// The latency.
    pub below: Nanos,
    text: String,
}

/// The figures of a target, with their names.
type Figure = (&'static str, fn(&LatencySummary) -> f64);
const FIGURES: [Figure; 8] = [
    ("mean", |own| own.mean),
    ("p50", |own| own.p50 as f64),
    ("p90", |own| own.p90 as f64),
    ("p95", |own| own.p95 as f64),
    ("p99", |own| own.p99 as f64),
    ("p99.9", |own| own.p999 as f64),
    ("p99.99", |own| own.p9999 as f64),
    ("max", |own| own.max as f64),
];

/// Units of time, in nanoseconds.
const UNITS: [(&str, f64); 4] = [("ns", 1.0), ("us", 1e3), ("ms", 1e6), ("s", 1e9)];

impl FromStr for Target {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let wrong = || {
            let names: Vec<&str> = FIGURES.iter().map(|(name, _)| *name).collect();
            format!(
                "write TENANT:FIGURE<TIME, as in a:p99<2ms or 2:read-mean<500us; figures are {}, \
                 of all requests or after read- or write-",
                names.join(", ")
            )
        };
        let parts = || {
            let (asked, time) = text.rsplit_once('<')?;
            let (tenant, figure) = asked.rsplit_once(':')?;
            let (of, name) = match figure.split_once('-') {
                Some(("read", name)) => (Side::Read, name),
                Some(("write", name)) => (Side::Write, name),
                Some(_) => return None,
                None => (Side::All, figure),
            };
            let (_, figure) = *FIGURES.iter().find(|(known, _)| *known == name)?;
            let below = nanos(time)?;
            let (tenant, text) = (tenant.to_owned(), text.to_owned());
            (!tenant.is_empty()).then_some(Self { tenant, of, figure, below, text })
        };
        parts().ok_or_else(wrong)
    }
}

/// A time above 0 with its unit.
fn nanos(text: &str) -> Option<Nanos> {
    let digits = text.find(|c: char| c.is_ascii_alphabetic())?;
    let (number, unit) = text.split_at(digits);
    let (_, factor) = UNITS.iter().find(|(known, _)| *known == unit)?;
    let ns = number.trim().parse::<f64>().ok()? * factor;
    (1.0..1e18).contains(&ns).then_some(Nanos(ns as u64))
}

impl Serialize for Target {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(&self.text)
    }
}

impl std::fmt::Display for Target {
    fn fmt(&self, out: &mut std::fmt::Formatter) -> std::fmt::Result {
        out.write_str(&self.text)
    }
}

impl Target {
    /// The target with the number of the tenant it names; an error says what is wrong with it.
    ///
    /// # Errors
    /// None of these tenants has that name or number, or several have the name.
    pub fn placed(&self, tenants: &[String]) -> Result<PlacedTarget, String> {
        Ok(PlacedTarget { tenant: self.place(tenants)?, target: self.clone() })
    }

    /// The number of the tenant it names, from 0.
    fn place(&self, tenants: &[String]) -> Result<usize, String> {
        let wrong = |what: &str| {
            Err(format!("--slo {}: {what}; tenants are {}", self.text, tenants.join(", ")))
        };
        if let Ok(number) = self.tenant.parse::<usize>() {
            return match number {
                1.. if number <= tenants.len() => Ok(number - 1),
                _ => wrong("there is no tenant of that number, which is counted from 1"),
            };
        }
        let is_meant = |name: &String| {
            let rest = name.strip_prefix(&self.tenant);
            rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
        };
        let mut found = (0..tenants.len()).filter(|&place| is_meant(&tenants[place]));
        match (found.next(), found.next()) {
            (Some(place), None) => Ok(place),
            (None, _) => wrong("no tenant has that name"),
            (Some(_), Some(_)) => wrong("several tenants have that name: write the number of one"),
        }
    }

    /// The latency of a tenant, in nanoseconds; 0 if it asked for nothing of the kind.
    fn latency_ns(&self, tenant: &TenantMetrics) -> f64 {
        let metrics = match self.of {
            Side::All => &tenant.all,
            Side::Read => &tenant.read,
            Side::Write => &tenant.write,
        };
        metrics.total_latency_ns.as_ref().map_or(0.0, self.figure)
    }
}

/// A target and the number of its tenant on the drive ([`Target::placed`]).
#[derive(Clone, Debug)]
pub struct PlacedTarget {
    tenant: usize,
    target: Target,
}

impl PlacedTarget {
    /// The latency that the target is about, in nanoseconds, in a run so far; 0 if the tenant asked
    /// for nothing of the kind.
    pub(crate) fn latency_ns(&self, report: &Report) -> f64 {
        self.target.latency_ns(&report.tenants[self.tenant].metrics)
    }
}

/// How a target is off: the latency that it is about, over what was promised. 1 or less: kept.
pub(crate) type Off = f64;

/// How targets are off under shared channels, and what is needed to say how they would be off
/// under a strategy.
pub(crate) struct Standing<'a> {
    targets: &'a [PlacedTarget],
    observed: &'a ObservedMix,
    /// What the network says of each tenant's reads and writes under shared channels, in
    /// nanoseconds.
    shared_ns: Vec<[f64; 2]>,
    /// Of each target.
    now: Vec<Off>,
}

impl<'a> Standing<'a> {
    /// `report` is of the run so far. A tenant of whose requests none was completed has what the
    /// network says. `None` if the network is not one for parts.
    ///
    /// # Panics
    /// If a target's tenant is not on the drive.
    pub fn new(
        targets: &'a [PlacedTarget],
        report: &Report,
        policy: &Policy,
        observed: &'a ObservedMix,
        memory: &mut DecisionMemory,
    ) -> Option<Self> {
        let shared_ns = policy.tenant_latencies(observed, &Strategy::Shared, memory)?;
        let off = |one: &PlacedTarget| {
            let measured = one.latency_ns(report);
            let said = one.target.of.mean_ns(shared_ns[one.tenant], one.tenant, observed);
            (if measured > 0.0 { measured } else { said }) / one.target.below.0 as f64
        };
        let now = targets.iter().map(off).collect();
        Some(Self { targets, observed, shared_ns, now })
    }

    /// Under shared channels until now.
    pub fn now(&self) -> &[Off] {
        &self.now
    }

    /// Under a strategy from now on, by forecast.
    pub fn under(
        &self,
        strategy: &Strategy,
        policy: &Policy,
        memory: &mut DecisionMemory,
    ) -> Option<Vec<Off>> {
        let (observed, before) = (self.observed, &self.shared_ns);
        let after = policy.tenant_latencies_from_now(observed, strategy, before, memory)?;
        let changed = |(one, now): (&PlacedTarget, &Off)| {
            let [before, after] = [before, &after]
                .map(|all| one.target.of.mean_ns(all[one.tenant], one.tenant, observed));
            if before > 0.0 { now * after / before } else { *now }
        };
        Some(self.targets.iter().zip(&self.now).map(changed).collect())
    }
}

impl Side {
    /// The mean latency of these requests of a tenant, from those of its reads and writes.
    fn mean_ns(self, [read, write]: [f64; 2], tenant: usize, observed: &ObservedMix) -> f64 {
        match self {
            Self::All => observed.mean_ns(tenant, [read, write]),
            Self::Read => read,
            Self::Write => write,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn targets_are_read_as_they_are_written() {
        let target: Target = "a:p99<2ms".parse().unwrap();
        assert_eq!((target.tenant.as_str(), target.below), ("a", Nanos::from_ms(2)));
        let target: Target = "x:y:write-p99.9<0.5us".parse().unwrap();
        assert_eq!((target.tenant.as_str(), target.below), ("x:y", Nanos(500)));
        for wrong in ["", "a", "a:p99", "a<2ms", "a:p98<2ms", "a:p99<2", "a:p99<0ms", "a:p99<-1ms"]
            .into_iter()
            .chain([":p99<2ms", "a:trim-p99<2ms", "a:p99<2min", "a:p99<NaNms", "a:p99<1e30s"])
        {
            let said = wrong.parse::<Target>().unwrap_err();
            assert!(said.contains("TENANT:FIGURE<TIME"), "{wrong}: {said}");
        }
    }

    #[test]
    fn a_tenant_is_named_by_its_workload_or_its_number() {
        let tenants = ["a.csv", "ab.csv", "mds_0", "mds_0"].map(str::to_owned);
        let of = |tenant: &str| format!("{tenant}:mean<1s").parse::<Target>().unwrap();
        assert_eq!(of("a").place(&tenants), Ok(0));
        assert_eq!(of("ab.csv").place(&tenants), Ok(1));
        assert_eq!(of("4").place(&tenants), Ok(3));
        for (tenant, why) in [("mds_0", "several"), ("5", "number"), ("0", "number"), ("b", "no ")]
        {
            let said = of(tenant).place(&tenants).unwrap_err();
            assert!(said.contains(why) && said.contains("a.csv, ab.csv"), "{said}");
        }
    }
}
