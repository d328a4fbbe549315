//! The verdict over many cases, by tier and by group.

use super::battery::{Case, Tier};
use super::compare::Agreement;
use super::metrics::Metrics;
use super::rank::{RankCorrelation, RankedCase, ranks};
use serde::Serialize;
use std::collections::BTreeMap;

/// The largest median error of the tight cases that passes.
const TIGHT_MEDIAN_MAX: f64 = 0.01;

/// What became of a case.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Status {
    /// It was run.
    Ok,
    /// A trace is absent, or the caller asked to stop.
    Skipped,
    /// It needs something that ssdtune does not simulate.
    Unsupported,
    /// One of its files is faulty.
    Invalid,
    /// The simulation did not end as it should.
    Failed,
}

/// The resources that running a case took.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Cost {
    /// Seconds by the wall clock, reading its files included. Other cases may have run beside it.
    pub wall_s: f64,
}

/// One case with all that came out of it.
#[derive(Clone, Debug, Serialize)]
pub struct CaseResult {
    /// The case's name.
    pub id: String,
    /// The case's group.
    pub group: String,
    /// The case's tier.
    pub tier: Tier,
    /// What became of it.
    pub status: Status,
    /// Why it was not run to its end.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// How far its figures agree with the recorded ones.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub agreement: Option<Agreement>,
    /// Its figures.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub metrics: Option<Metrics>,
    /// What running it took.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub host: Option<Cost>,
    /// What it is ranked by, if its drive is a random one.
    #[serde(skip)]
    pub rank: Option<RankedCase>,
}

impl CaseResult {
    /// A case without figures, and why it has none.
    pub fn without(case: &Case, status: Status, reason: String) -> Self {
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
pub struct Tally {
    /// All cases.
    pub cases: usize,
    /// Cases that were run.
    pub ok: usize,
    /// Cases run whose every latency, count and row is equal to the recorded one.
    pub identical: usize,
    /// Cases run that keep the rules of their tier.
    pub passed: usize,
    /// Cases run that break the rules of their tier.
    pub missed: usize,
    /// Cases skipped.
    pub skipped: usize,
    /// Cases beyond what is simulated.
    pub unsupported: usize,
    /// Cases with faulty files.
    pub invalid: usize,
    /// Cases whose simulation did not end as it should.
    pub failed: usize,
    /// Median of the relative differences of the cases that were run ([`Agreement::error`]).
    pub median_error: Option<f64>,
    /// The largest of these differences.
    pub worst_error: Option<f64>,
    /// The case with the largest difference, if any case differs.
    pub worst_case: Option<String>,
}

/// The verdict over many cases.
#[derive(Clone, Debug, Serialize)]
pub struct Summary {
    /// Something was run, and everything that was run agrees.
    pub pass: bool,
    /// Why it does not pass.
    pub reasons: Vec<String>,
    /// Counts over all cases.
    pub total: Tally,
    /// Counts over each tier.
    pub tiers: BTreeMap<&'static str, Tally>,
    /// Counts over each group.
    pub groups: BTreeMap<String, Tally>,
    /// Rank correlations over the random drives.
    pub ranks: Vec<RankCorrelation>,
}

impl Summary {
    /// The verdict over these cases.
    pub fn of(cases: &[CaseResult]) -> Self {
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
        let points: Vec<&RankedCase> = cases.iter().filter_map(|case| case.rank.as_ref()).collect();
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
        // Informative cases are not judged.
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
