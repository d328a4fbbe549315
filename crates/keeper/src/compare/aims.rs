//! What plans are judged by: the latencies of all tenants, fairness among them, and what single
//! tenants are promised.

use serde::{Serialize, Serializer};
use ssdtune_model::Nanos;
use ssdtune_sim::{LatencySummary, OpMetrics, Report, Slowdown, TenantMetrics};
use std::str::FromStr;

/// What the best strategy is the best in.
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

/// A latency that a tenant is to stay below, written `TENANT:FIGURE<TIME`: `a:p99<2ms`,
/// `2:read-mean<500us`.
#[derive(Clone, Debug)]
pub struct Target {
    /// The name of the tenant's workload, up to a dot if that is enough, or its number from 1.
    pub tenant: String,
    metrics: fn(&TenantMetrics) -> &OpMetrics,
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
            let (metrics, name): (fn(&TenantMetrics) -> &OpMetrics, &str) =
                match figure.split_once('-') {
                    Some(("read", name)) => (|own| &own.read, name),
                    Some(("write", name)) => (|own| &own.write, name),
                    Some(_) => return None,
                    None => (|own| &own.all, figure),
                };
            let (_, figure) = *FIGURES.iter().find(|(known, _)| *known == name)?;
            let below = nanos(time)?;
            let (tenant, text) = (tenant.to_owned(), text.to_owned());
            (!tenant.is_empty()).then_some(Self { tenant, metrics, figure, below, text })
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
    /// The number of the tenant it names.
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
        (self.metrics)(tenant).total_latency_ns.as_ref().map_or(0.0, self.figure)
    }
}

/// What the best strategy is chosen by: first what of the targets is missed, and by how much, then
/// the aim.
#[derive(Clone, Debug, Default)]
pub struct Aims {
    /// Among strategies that meet all targets.
    pub aim: Aim,
    /// What tenants are promised.
    pub targets: Vec<Target>,
}

impl Aims {
    /// The tenant of each target, by their numbers; an error says what is wrong with one.
    pub(super) fn places(&self, tenants: &[String]) -> Result<Vec<usize>, String> {
        self.targets.iter().map(|target| target.place(tenants)).collect()
    }

    /// The latency that each target is about, in nanoseconds, in a run.
    pub(super) fn latencies_ns(&self, report: &Report, places: &[usize]) -> Vec<f64> {
        let of =
            |(target, &place): (&Target, &usize)| target.latency_ns(&report.tenants[place].metrics);
        self.targets.iter().zip(places).map(of).collect()
    }

    /// The number of the best of these plans, of which the first one is `Shared`.
    pub(super) fn best(&self, plans: &[Judged]) -> usize {
        let ranks: Vec<[f64; 2]> = plans.iter().map(|plan| self.rank(plan, &plans[0])).collect();
        let order = |[a, b]: [&[f64; 2]; 2]| a[0].total_cmp(&b[0]).then(a[1].total_cmp(&b[1]));
        let best = ranks.iter().enumerate().min_by(|a, b| order([a.1, b.1]));
        best.map_or(0, |(number, _)| number)
    }

    /// What is the less the better a plan is, number by number: by how much it misses the target
    /// that it misses by most (1 if it meets all), and the aim.
    fn rank(&self, plan: &Judged, shared: &Judged) -> [f64; 2] {
        let over = |(latency_ns, target): (&f64, &Target)| latency_ns / target.below.0 as f64;
        let missed = plan.latencies_ns.iter().zip(&self.targets).map(over).fold(1.0, f64::max);
        let aim = match self.aim {
            Aim::Latency => plan.total_ns,
            Aim::Fairness => match slowest(&plan.slowdown) {
                slowest if slowest > self::slowest(&shared.slowdown) => slowest,
                _ => -plan.slowdown.min_over_max.unwrap_or(0.0),
            },
        };
        [missed, aim]
    }
}

/// What is known of a plan when it is judged.
pub(super) struct Judged {
    pub total_ns: f64,
    pub slowdown: Slowdown,
    /// What each target is about.
    pub latencies_ns: Vec<f64>,
}

/// The greatest slowdown of a tenant.
fn slowest(slowdown: &Slowdown) -> f64 {
    slowdown.tenants.iter().filter_map(|tenant| tenant.slowdown).fold(0.0, f64::max)
}

#[cfg(test)]
mod tests {
    use super::*;
    use ssdtune_sim::TenantSlowdown;

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

    #[test]
    fn targets_come_before_the_aim_and_no_tenant_pays_for_fairness() {
        let judged = |total_ns, slowdowns: [f64; 2], latency_ns| {
            let tenant = |slowdown| TenantSlowdown {
                mean_latency_ns: None,
                alone_mean_latency_ns: None,
                slowdown: Some(slowdown),
                read_slowdown: None,
                write_slowdown: None,
                p99_slowdown: None,
            };
            let min_over_max =
                Some(slowdowns[0].min(slowdowns[1]) / slowdowns[0].max(slowdowns[1]));
            let tenants = slowdowns.map(tenant).to_vec();
            let slowdown = Slowdown { tenants, min_over_max, jain_index: None };
            Judged { total_ns, slowdown, latencies_ns: vec![latency_ns] }
        };
        let target: Target = "1:p99<1ms".parse().unwrap();
        let shared = judged(10.0, [1.0, 4.0], 2e6);
        let slow_alike = judged(30.0, [6.0, 6.0], 0.5e6);
        let fair = judged(20.0, [2.0, 3.0], 3e6);
        let all = [shared, slow_alike, fair];
        let best = |aim, targets: &[Target]| Aims { aim, targets: targets.to_vec() }.best(&all);
        let (is_shared, is_alike, is_fair) = (0, 1, 2);
        assert_eq!(best(Aim::Latency, &[]), is_shared);
        assert_eq!(best(Aim::Fairness, &[]), is_fair);
        assert_eq!(
            best(Aim::Latency, std::slice::from_ref(&target)),
            is_alike,
            "it alone meets it"
        );
        // Where none meets it, the nearest one is the best.
        let target: Target = "1:p99<1us".parse().unwrap();
        assert_eq!(best(Aim::Fairness, &[target]), is_alike);
    }
}
