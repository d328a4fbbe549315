//! What plans are judged by: the latencies of all tenants, fairness among them, and what single
//! tenants are promised.

use crate::fairness::Aim;
use crate::targets::{PlacedTarget, Target};
use ssdtune_sim::Slowdown;

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
    /// The targets with their tenants, of which these are the names; an error says what is wrong
    /// with one.
    pub(super) fn placed(&self, tenants: &[String]) -> Result<Vec<PlacedTarget>, String> {
        self.targets.iter().map(|target| target.placed(tenants)).collect()
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
