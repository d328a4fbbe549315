//! The verdict as text for people: the cases that differ, worst first, the cases that were not run,
//! and a table by group and tier.

use super::battery::Tier;
use super::compare::{Agreement, Difference};
use super::summary::{CaseResult, Status, Summary, Tally};
use ssdtune_report::{Table, Text};

/// The verdict over `cases`. At most `differing_max` of the cases that differ are listed.
pub fn text(summary: &Summary, cases: &[CaseResult], differing_max: usize) -> Text {
    let mut text = Text::new();
    differing(cases, differing_max, &mut text);
    not_run(cases, &mut text);
    text.table(tallies(summary));
    let rho = |rho: Option<f64>| rho.map_or("-".to_owned(), |rho| format!("{rho:.4}"));
    for rank in &summary.ranks {
        text.line(format_args!(
            "Spearman {:8} {} over {} tight configurations (at least {}), {} over all {}",
            rank.workload,
            rho(rank.spearman),
            rank.cases,
            rank.required,
            rho(rank.all_spearman),
            rank.all_cases
        ));
    }
    match summary.pass {
        true => text.line("pass"),
        false => text.line(format_args!("FAIL: {}", summary.reasons.join("; "))),
    };
    text
}

/// Counts and errors of each group, of each tier, and of all cases.
fn tallies(summary: &Summary) -> Table {
    let mut headings = vec!["", "cases", "run", "identical", "passed", "missed", "skipped"];
    headings.extend(["unsupported", "failed", "median error", "worst error", "of"]);
    let mut table = Table::new(headings);
    for (name, tally) in &summary.groups {
        table.add_row(row(name, tally));
    }
    for tier in Tier::ALL {
        if let Some(tally) = summary.tiers.get(tier.name()) {
            table.add_row(row(&format!("tier {}", tier.name()), tally));
        }
    }
    table.add_row(row("all", &summary.total));
    table
}

fn row(name: &str, tally: &Tally) -> Vec<String> {
    let error = |error: Option<f64>| error.map(percent).unwrap_or_default();
    vec![
        name.to_owned(),
        tally.cases.to_string(),
        tally.ok.to_string(),
        tally.identical.to_string(),
        tally.passed.to_string(),
        tally.missed.to_string(),
        tally.skipped.to_string(),
        tally.unsupported.to_string(),
        (tally.failed + tally.invalid).to_string(),
        error(tally.median_error),
        error(tally.worst_error),
        tally.worst_case.clone().unwrap_or_default(),
    ]
}

fn percent(error: f64) -> String {
    match error {
        0.0 => "0".to_owned(),
        error if error < 0.0001 => format!("{:.1e} %", error * 100.0),
        error => format!("{:.2} %", error * 100.0),
    }
}

/// The cases that differ from the recorded ones, those that miss their rules first.
fn differing(cases: &[CaseResult], most: usize, text: &mut Text) {
    let mut list: Vec<(&CaseResult, &Agreement)> = cases
        .iter()
        .filter_map(|case| case.agreement.as_ref().map(|agreement| (case, agreement)))
        .filter(|(_, agreement)| !agreement.identical || !agreement.pass)
        .collect();
    list.sort_by(|(_, a), (_, b)| {
        let worst = |agreement: &Agreement| agreement.worst.as_ref().map_or(0.0, |w| w.error);
        a.pass.cmp(&b.pass).then(worst(b).total_cmp(&worst(a)))
    });
    if list.is_empty() {
        return;
    }
    let hidden = list.len().saturating_sub(most);
    let mut table = Table::new(["case", "tier", "", "figure", "recorded", "ours", "error"]);
    for (case, agreement) in list.into_iter().take(most) {
        let shown = agreement.misses.first().or(agreement.worst.as_ref());
        let Some(Difference { figure, recorded, ours, error, .. }) = shown else { continue };
        table.add_row([
            case.id.clone(),
            case.tier.name().to_owned(),
            if agreement.pass { String::new() } else { "MISS".to_owned() },
            figure.clone(),
            recorded.to_string(),
            ours.map_or("nothing".to_owned(), |ours| format!("{ours:.3}")),
            percent(*error),
        ]);
    }
    text.table(table);
    if hidden > 0 {
        text.line(format_args!("and {hidden} more that differ; -v lists all"));
    }
    text.line("");
}

/// The cases without figures, and why they have none.
fn not_run(cases: &[CaseResult], text: &mut Text) {
    let mut any = false;
    for case in cases {
        let status = match case.status {
            Status::Ok => continue,
            Status::Skipped => "skipped",
            Status::Unsupported => "unsupported",
            Status::Invalid => "invalid",
            Status::Failed => "failed",
        };
        let reason = case.reason.as_deref().unwrap_or_default();
        text.line(format_args!("{} {status}: {reason}", case.id));
        any = true;
    }
    if any {
        text.line("");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_are_told_as_shares_of_a_hundred() {
        assert_eq!(percent(0.0), "0");
        assert_eq!(percent(0.000_01), "1.0e-3 %");
        assert_eq!(percent(0.123_45), "12.35 %");
    }

    #[test]
    fn a_case_that_was_not_run_says_why() {
        let case = CaseResult {
            id: "a-1".to_owned(),
            group: "a".to_owned(),
            tier: Tier::Tight,
            status: Status::Skipped,
            reason: Some("no trace".to_owned()),
            agreement: None,
            metrics: None,
            host: None,
            rank: None,
        };
        let cases = [case];
        let text = text(&Summary::of(&cases), &cases, 30).to_string();
        assert!(text.starts_with("a-1 skipped: no trace\n\n"), "{text}");
        assert!(text.ends_with("FAIL: no case was run\n"), "{text}");
    }
}
