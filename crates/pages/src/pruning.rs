//! Which parameters matter for a workload, and in which order to tune them.

use crate::read::{self, NOTHING, cell, each, number, plain, said, text};
use serde_json::Value;
use ssdtune_report::{Axis, Bar, BarChart, Page, Table};

pub(crate) fn title(document: &Value) -> String {
    let [base, target] = ["baseline", "target"].map(|of| text(document, of).unwrap_or("?"));
    format!("What matters on {base} for {target}")
}

pub(crate) fn body(page: &mut Page, document: &Value) {
    let order: Vec<String> = each(document, "order").iter().map(key).collect();
    let first = order.iter().take(3).cloned().collect::<Vec<_>>().join(", ");
    page.lead(&match order.len() {
        0 => "No parameter matters enough to be tuned.".to_owned(),
        1 => format!("One parameter is worth tuning: {first}."),
        count @ 2..=3 => format!("{count} parameters are worth tuning, in this order: {first}."),
        count => format!("{count} parameters are worth tuning, these three first: {first}."),
    });
    page.paragraph(&format!(
        "A regression over {} drives, one measurement each, explains {} of the variance of the \
         performance: the logarithm of the speedups of latency and throughput, 0 for the baseline.",
        said(number(document, "samples"), read::count),
        said(number(document, "r_squared"), read::percent),
    ));
    let fine = each(document, "fine");
    if number(document, "samples").is_some_and(|samples| samples <= fine.len() as f64) {
        page.note(&format!(
            "There are {} parameters, and no more drives than that: the coefficients are not to \
             be believed. --samples draws more drives.",
            fine.len()
        ));
    }
    let mut chart = BarChart::new("What the regression found", Axis::new("coefficient"), ["of"]);
    for row in fine.iter().filter(|row| read::at(row, "kept") == true) {
        chart.add(key(row), [Bar::new(number(row, "coefficient"))]);
    }
    if !order.is_empty() {
        page.chart(&chart.to_svg());
    }
    let mut table = Table::new(["parameter", "coefficient", "to be tuned"]);
    for row in fine {
        let coefficient = said(number(row, "coefficient"), plain);
        table.add_row([key(row), coefficient, cell(read::at(row, "kept"))]);
    }
    table.align_right(1..2);
    page.heading("Every parameter of the regression").table(&table);
    page.heading("Every sweep").table(&sweeps(document));
}

fn key(row: &Value) -> String {
    text(row, "key").unwrap_or(NOTHING).to_owned()
}

/// One row for each numeric parameter: its values and the performance of each.
fn sweeps(document: &Value) -> Table {
    let mut table = Table::new(["parameter", "what was found", "value: performance"]);
    for sweep in each(document, "coarse") {
        let values = each(sweep, "values").iter().zip(each(sweep, "performances"));
        let each_value = values.map(|(value, performance)| {
            format!("{}: {}", cell(value), said(performance.as_f64(), plain))
        });
        let finding = read::at(sweep, "finding");
        let finding = match read::fields(finding, "")[..] {
            [(name, why)] => format!("{}: {}", name.replace('-', " "), cell(why)),
            _ => cell(finding).replace('-', " "),
        };
        table.add_row([key(sweep), finding, each_value.collect::<Vec<_>>().join(", ")]);
    }
    table
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_page_says_what_to_tune_first() {
        let document = json!({
            "target": "t", "baseline": "b", "samples": 100, "r_squared": 0.5,
            "order": [{"key": "bus.channels", "coefficient": 0.2}],
            "fine": [{"key": "bus.channels", "coefficient": 0.2, "kept": true},
                {"key": "gc.threshold", "coefficient": 0.0, "kept": false}],
            "coarse": [{"key": "bus.channels", "values": [1.0, 2.0],
                "performances": [0.0, null], "finding": {"not-swept": "why"}}],
        });
        let mut page = Page::new(title(&document));
        body(&mut page, &document);
        let html = page.to_html();
        for part in
            ["What matters on b for t", "worth tuning: bus.channels.", "50.0 %", "not swept: why"]
        {
            assert!(html.contains(part), "{part} is not in {html}");
        }
        assert!(html.contains("1.000: 0.000, 2.000: -"), "{html}");
        assert!(!html.contains("not to be believed"), "100 drives tell two parameters");
        let mut few = document.clone();
        few["samples"] = json!(2);
        let mut page = Page::new("few");
        body(&mut page, &few);
        assert!(page.to_html().contains("not to be believed"));
        let mut page = Page::new("none");
        body(&mut page, &json!({}));
        assert!(page.to_html().contains("No parameter matters"));
    }
}
