//! The verdict over all cases.

use super::battery::{Case, Metrics, Tier};
use super::compare::Agreement;
use super::rank::{Point, Rank, ranks};
use serde::Serialize;
use std::collections::BTreeMap;

/// The median error that tight cases may have.
const TIGHT_MEDIAN_MAX: f64 = 0.01;

/// What became of a case.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum Status {
    /// It was run.
    Ok,
    /// A trace is absent.
    Skipped,
    /// It needs what ssdtune does not simulate.
    Unsupported,
    /// One of its files is faulty.
    Invalid,
    /// The simulation did not end as it should.
    Failed,
}

/// The simulator's own cost.
#[derive(Clone, Copy, Debug, Serialize)]
pub(super) struct Host {
    /// Seconds it took, parsing included, other cases running beside it.
    pub(super) wall_s: f64,
}

/// One case.
#[derive(Clone, Debug, Serialize)]
pub(super) struct CaseResult {
    pub(super) id: String,
    pub(super) group: String,
    pub(super) tier: Tier,
    pub(super) status: Status,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) reason: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) agreement: Option<Agreement>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) metrics: Option<Metrics>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) host: Option<Host>,
    #[serde(skip)]
    pub(super) rank: Option<Point>,
}

impl CaseResult {
    /// A case without figures.
    pub(super) fn without(case: &Case, status: Status, reason: String) -> Self {
        Self {
            id: case.id.clone(),
            group: case.group.clone(),
            tier: case.tier,
            status,
            reason: Some(reason),
            agreement: None,
            metrics: None,
            host: None,
            rank: None,
        }
    }
}

/// Counts and errors of several cases.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub(super) struct Tally {
    /// Cases.
    pub(super) cases: usize,
    /// Run.
    pub(super) ok: usize,
    /// Of those run, every latency, count and row equal.
    pub(super) identical: usize,
    /// Of those run, within their tier's rules.
    pub(super) passed: usize,
    /// Of those run, outside.
    pub(super) missed: usize,
    /// Without their trace.
    pub(super) skipped: usize,
    /// Beyond what is simulated.
    pub(super) unsupported: usize,
    /// With faulty files.
    pub(super) invalid: usize,
    /// Without a result.
    pub(super) failed: usize,
    /// Median of the cases' errors.
    pub(super) median_error: Option<f64>,
    /// The largest.
    pub(super) worst_error: Option<f64>,
    /// Whose it is, if there is any.
    pub(super) worst_case: Option<String>,
}

/// The verdict.
#[derive(Clone, Debug, Serialize)]
pub(super) struct Summary {
    /// Everything that was run agrees, and something was run.
    pub(super) pass: bool,
    /// Why not.
    pub(super) reasons: Vec<String>,
    /// Over all cases.
    pub(super) total: Tally,
    /// By tier.
    pub(super) tiers: BTreeMap<&'static str, Tally>,
    /// By group.
    pub(super) groups: BTreeMap<String, Tally>,
    /// Rank correlations over the random configurations.
    pub(super) ranks: Vec<Rank>,
}

impl Summary {
    /// The verdict over these cases.
    pub(super) fn of(cases: &[CaseResult]) -> Self {
        let mut tiers = BTreeMap::new();
        for tier in Tier::ALL {
            let tally = tally(cases.iter().filter(|case| case.tier == tier));
            if tally.cases > 0 {
                tiers.insert(tier.name(), tally);
            }
        }
        let mut groups: BTreeMap<String, Vec<&CaseResult>> = BTreeMap::new();
        for case in cases {
            groups.entry(case.group.clone()).or_default().push(case);
        }
        let groups =
            groups.into_iter().map(|(name, cases)| (name, tally(cases.into_iter()))).collect();
        let points: Vec<&Point> = cases.iter().filter_map(|case| case.rank.as_ref()).collect();
        let mut summary = Self {
            pass: false,
            reasons: Vec::new(),
            total: tally(cases.iter()),
            tiers,
            groups,
            ranks: ranks(&points),
        };
        summary.reasons = summary.find_reasons();
        summary.pass = summary.reasons.is_empty();
        summary
    }

    fn find_reasons(&self) -> Vec<String> {
        let mut reasons = Vec::new();
        if self.total.ok == 0 {
            reasons.push("no case was run".to_owned());
        }
        for (count, what) in [
            (self.total.missed, "cases are outside their tier's rules"),
            (self.total.failed, "cases did not end as they should"),
            (self.total.invalid, "cases have faulty files"),
        ] {
            if count > 0 {
                reasons.push(format!("{count} {what}"));
            }
        }
        let median = self.tiers.get(Tier::Tight.name()).and_then(|tally| tally.median_error);
        if let Some(median) = median.filter(|&median| median > TIGHT_MEDIAN_MAX) {
            reasons.push(format!("the median error of the tight cases is {:.2} %", median * 100.0));
        }
        for rank in self.ranks.iter().filter(|rank| !rank.pass) {
            let rho = rank.spearman.unwrap_or(0.0);
            let (workload, required) = (&rank.workload, rank.required);
            reasons.push(format!("Spearman of {workload} is {rho:.4}, less than {required}"));
        }
        reasons
    }
}

fn tally<'a>(cases: impl Iterator<Item = &'a CaseResult>) -> Tally {
    let mut tally = Tally::default();
    let mut errors: Vec<(f64, &str)> = Vec::new();
    for case in cases {
        tally.cases += 1;
        match case.status {
            Status::Ok => tally.ok += 1,
            Status::Skipped => tally.skipped += 1,
            Status::Unsupported => tally.unsupported += 1,
            Status::Invalid => tally.invalid += 1,
            Status::Failed => tally.failed += 1,
        }
        let Some(agreement) = &case.agreement else { continue };
        tally.identical += usize::from(agreement.identical);
        // Informative cases are judged by nobody.
        if case.tier != Tier::Informative {
            tally.passed += usize::from(agreement.pass);
            tally.missed += usize::from(!agreement.pass);
        }
        errors.push((agreement.error, &case.id));
    }
    errors.sort_by(|a, b| a.0.total_cmp(&b.0));
    if let Some(&(worst, id)) = errors.last() {
        let middle = errors.len() / 2;
        let median = match errors.len() % 2 {
            1 => errors[middle].0,
            _ => (errors[middle - 1].0 + errors[middle].0) / 2.0,
        };
        tally.median_error = Some(median);
        tally.worst_error = Some(worst);
        tally.worst_case = (worst > 0.0).then(|| id.to_owned());
    }
    tally
}
