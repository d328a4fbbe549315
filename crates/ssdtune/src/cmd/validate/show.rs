//! The verdict for people: by tier, by group, then the cases that differ, worst first.

use crate::context::{Context, Level};
use crate::outcome::Outcome;
use crate::table;
use ssdtune_mqsim::agreement::{Agreement, CaseResult, Difference, Status, Summary, Tally, Tier};

/// Cases that are listed by default.
const LISTED: usize = 30;

/// Prints it.
pub(super) fn show(summary: &Summary, cases: &[CaseResult], context: &Context) -> Outcome {
    differing(cases, context)?;
    not_run(cases, context)?;
    let headings = [
        "",
        "cases",
        "run",
        "identical",
        "passed",
        "missed",
        "skipped",
        "unsupported",
        "failed",
        "median error",
        "worst error",
        "of",
    ];
    let mut table = table::new(&headings);
    for (name, tally) in &summary.groups {
        table.add_row(row(name, tally));
    }
    for tier in Tier::ALL {
        if let Some(tally) = summary.tiers.get(tier.name()) {
            table.add_row(row(&format!("tier {}", tier.name()), tally));
        }
    }
    table.add_row(row("all", &summary.total));
    context.line(table)?;
    for rank in &summary.ranks {
        let rho = |rho: Option<f64>| rho.map_or("-".to_owned(), |rho| format!("{rho:.4}"));
        context.line(format_args!(
            "Spearman {:8} {} over {} tight configurations (at least {}), {} over all {}",
            rank.workload,
            rho(rank.spearman),
            rank.cases,
            rank.required,
            rho(rank.all_spearman),
            rank.all_cases
        ))?;
    }
    match summary.pass {
        true => context.line("pass"),
        false => context.line(format_args!("FAIL: {}", summary.reasons.join("; "))),
    }
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

fn differing(cases: &[CaseResult], context: &Context) -> Outcome {
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
        return Ok(());
    }
    let limit = if context.level() > Level::Normal { usize::MAX } else { LISTED };
    let hidden = list.len().saturating_sub(limit);
    let mut table = table::new(&["case", "tier", "", "figure", "recorded", "ours", "error"]);
    for (case, agreement) in list.into_iter().take(limit) {
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
    context.line(table)?;
    if hidden > 0 {
        context.line(format_args!("and {hidden} more that differ; -v lists all"))?;
    }
    context.line("")
}

fn not_run(cases: &[CaseResult], context: &Context) -> Outcome {
    let mut any = false;
    for case in cases.iter().filter(|case| case.status != Status::Ok) {
        let status = match case.status {
            Status::Ok => continue,
            Status::Skipped => "skipped",
            Status::Unsupported => "unsupported",
            Status::Invalid => "invalid",
            Status::Failed => "failed",
        };
        let reason = case.reason.as_deref().unwrap_or_default();
        context.line(format_args!("{} {status}: {reason}", case.id))?;
        any = true;
    }
    if any { context.line("") } else { Ok(()) }
}
