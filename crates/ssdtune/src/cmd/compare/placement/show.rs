//! What `compare placement` prints: JSON and tables.

use crate::context::Context;
use crate::outcome::Outcome;
use crate::table;
use ssdtune_placement::{PolicyResult, Study};
use ssdtune_report::Table;

/// Prints a study.
pub(crate) fn print(study: &Study, context: &Context) -> Outcome {
    if context.json() {
        return context.document(study);
    }
    context.line(format_args!("Drives: {}.\n", study.rule))?;
    let mut amplifications = matrix("write amplification", study, &|policy| {
        Some(format!("{:.3}", policy.measured.as_ref()?.write_amplification))
    });
    add_means(&mut amplifications, study);
    context.line(format_args!("{amplifications}\n"))?;
    let erases =
        matrix("erases", study, &|policy| Some(policy.measured.as_ref()?.erases.to_string()));
    context.line(format_args!("{erases}\n"))?;
    let wear = matrix("erases of a block: least..most (mean +- deviation)", study, &|policy| {
        let wear = policy.measured.as_ref()?.wear;
        let (least, most) = (wear.least, wear.most);
        Some(format!("{least}..{most} ({:.2} +- {:.2})", wear.mean, wear.deviation))
    });
    context.line(format_args!("{wear}\n"))?;
    if study.has_response_times() {
        let responses = matrix("mean response time (us)", study, &|policy| {
            Some(format!("{:.1}", policy.response.as_ref()?.mean_ns / 1e3))
        });
        context.line(format_args!("{responses}\n"))?;
    }
    print_gaps(study, context)
}

/// Says why something was not measured.
fn print_gaps(study: &Study, context: &Context) -> Outcome {
    for load in &study.loads {
        if let Some(reason) = &load.skipped {
            context.line(format_args!("left out: {reason}"))?;
        }
        for policy in &load.policies {
            if let Some(reason) = policy.error.as_ref().or(policy.not_applicable.as_ref()) {
                context.line(format_args!("{}, {}: {reason}", load.title(), policy.policy))?;
            }
        }
    }
    Ok(())
}

/// A row for each load, a column for each policy.
fn matrix(title: &str, study: &Study, value: &dyn Fn(&PolicyResult) -> Option<String>) -> Table {
    let mut headings = vec![title];
    headings.extend(study.labels());
    let mut rows = table::new(&headings);
    for load in study.measured() {
        let cells = load.policies.iter().map(|policy| value(policy).unwrap_or_else(|| "-".into()));
        let title = format!("{}{}", load.title(), if load.synthetic { " (model)" } else { "" });
        rows.add_row(std::iter::once(title).chain(cells));
    }
    rows
}

/// Two rows more: the mean of each policy, and how far it comes from none to the oracle.
fn add_means(rows: &mut Table, study: &Study) {
    let means: Vec<_> =
        study.labels().into_iter().map(|label| study.geometric_means.get(label)).collect();
    let amplifications = means
        .iter()
        .map(|mean| mean.map_or("-".into(), |mean| format!("{:.3}", mean.write_amplification)));
    rows.add_row(std::iter::once("geometric mean".to_owned()).chain(amplifications));
    let covered = means.iter().map(|mean| {
        let share = mean.and_then(|mean| mean.distance_covered);
        share.map_or("-".into(), |share| format!("{:.0} %", 100.0 * share))
    });
    rows.add_row(std::iter::once("of the way to oracle".to_owned()).chain(covered));
}
