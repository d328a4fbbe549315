//! A study as text for people: a table for each figure, with a row for each load and a column for
//! each policy, and the reasons why something was not measured.

use crate::study::{PolicyMean, PolicyResult, Study};
use ssdtune_report::{Table, Text};

/// The tables of a study.
pub fn text(study: &Study) -> Text {
    let mut text = Text::new();
    text.line(format_args!("Drives: {}.\n", study.rule));
    let buffered = study.measured().find_map(|load| load.write_buffer);
    if let Some(buffered) = buffered {
        text.line(format_args!(
            "Behind a write buffer of {} pages (LRU). Write amplification is that of what leaves \
             it.\n",
            buffered.pages
        ));
    }
    let mut amplifications = matrix("write amplification", study, |policy| {
        Some(format!("{:.3}", policy.measured.as_ref()?.write_amplification))
    });
    add_means(&mut amplifications, study);
    text.table(amplifications).line("");
    if buffered.is_some() {
        text.table(matrix("pages programmed for each host page", study, |policy| {
            Some(format!("{:.3}", policy.measured.as_ref()?.programs_per_host_page?))
        }));
        text.line("");
    }
    if let Some(crossed) = crossed(study) {
        text.table(crossed).line("");
    }
    let erases =
        matrix("erases", study, |policy| Some(policy.measured.as_ref()?.erases.to_string()));
    text.table(erases).line("");
    let wear = matrix("erases of a block: least..most (mean +- deviation)", study, |policy| {
        let wear = policy.measured.as_ref()?.wear;
        let (least, most) = (wear.least, wear.most);
        Some(format!("{least}..{most} ({:.2} +- {:.2})", wear.mean, wear.deviation))
    });
    text.table(wear).line("");
    add_paired(&mut text, study);
    if study.has_response_times() {
        let responses = matrix("mean response time (us)", study, |policy| {
            Some(format!("{:.1}", policy.response.as_ref()?.mean_ns / 1e3))
        });
        text.table(responses).line("");
    }
    add_gaps(&mut text, study);
    text
}

/// A table for each figure and each policy that others are compared with.
fn add_paired(text: &mut Text, study: &Study) {
    for same in study.paired.chunk_by(|a, b| (a.figure, &a.beside) == (b.figure, &b.beside)) {
        let title = format!("{}, beside {}", same[0].figure.replace('_', " "), same[0].beside);
        let mut table = Table::new([title.as_str(), "change", "95 % interval", "", "loads"]);
        for one in same {
            let change = format!("{:+.1} %", one.change_percent);
            let interval = one.interval_percent;
            let interval = interval.map(|[low, high]| format!("{low:+.1} to {high:+.1} %"));
            let verdict = one.verdict.word().to_owned();
            let loads = one.loads.to_string();
            table.add_row([
                one.policy.clone(),
                change,
                interval.unwrap_or("-".into()),
                verdict,
                loads,
            ]);
        }
        text.table(table).line("");
    }
}

/// Geometric means of write amplification by placement and by victims, if victims were crossed.
fn crossed(study: &Study) -> Option<Table> {
    let victims = study.victims();
    if victims.is_empty() {
        return None;
    }
    let mut table =
        Table::new(["geometric mean by victims", "greedy"].iter().chain(&victims).copied());
    let columns: Vec<Vec<&str>> = std::iter::once(study.labels_with(None))
        .chain(victims.iter().map(|name| study.labels_with(Some(name))))
        .collect();
    for (row, &policy) in columns[0].iter().enumerate() {
        let mean = |labels: &Vec<&str>| {
            let mean = labels.get(row).and_then(|&label| study.geometric_means.get(label));
            mean.map_or("-".to_owned(), |mean| format!("{:.3}", mean.write_amplification))
        };
        table.add_row(std::iter::once(policy.to_owned()).chain(columns.iter().map(mean)));
    }
    Some(table)
}

/// The reasons why something was not measured, a line for each.
fn add_gaps(text: &mut Text, study: &Study) {
    for load in &study.loads {
        if let Some(reason) = &load.skipped {
            text.line(format_args!("left out: {reason}"));
        }
        for policy in &load.policies {
            if let Some(reason) = policy.error.as_ref().or(policy.not_applicable.as_ref()) {
                text.line(format_args!("{}, {}: {reason}", load.title(), policy.policy));
            }
        }
    }
}

/// A figure of every policy on every load that was measured, with victims chosen greedily.
fn matrix(title: &str, study: &Study, figure: impl Fn(&PolicyResult) -> Option<String>) -> Table {
    let mut table = Table::new(std::iter::once(title).chain(study.labels_with(None)));
    for load in study.measured() {
        let greedy = load.policies.iter().filter(|policy| policy.victims.is_none());
        let figures = greedy.map(|policy| figure(policy).unwrap_or_else(|| "-".into()));
        let title = format!("{}{}", load.title(), if load.synthetic { " (model)" } else { "" });
        table.add_row(std::iter::once(title).chain(figures));
    }
    table
}

/// Adds three rows: the mean of each policy, and how far it comes from `none` to each reference.
fn add_means(table: &mut Table, study: &Study) {
    let mut add = |title: &str, figure: &dyn Fn(&PolicyMean) -> Option<String>| {
        let cell = |label| study.geometric_means.get(label).and_then(figure);
        let cells =
            study.labels_with(None).into_iter().map(|label| cell(label).unwrap_or("-".into()));
        table.add_row(std::iter::once(title.to_owned()).chain(cells));
    };
    add("geometric mean", &|mean| Some(format!("{:.3}", mean.write_amplification)));
    let percent = |share: f64| format!("{:.0} %", 100.0 * share);
    add("of the way to oracle", &|mean| mean.distance_covered.map(percent));
    add("of the way to oracle-order", &|mean| mean.distance_covered_by_order.map(percent));
}
