//! Learned performance models, and how good they are on points that they have not learned from.

use crate::other;
use crate::read::{self, each, number, percent, plain, said, text};
use serde_json::Value;
use ssdtune_report::{Axis, Bar, BarChart, Page, Table};

pub(crate) fn title(document: &Value) -> String {
    format!("A model of {}", text(document, "device").unwrap_or("a drive"))
}

pub(crate) fn body(page: &mut Page, document: &Value) {
    let entries = each(document, "entries");
    let error = |entry: &Value| number(entry, "error.mre").or_else(|| number(entry, "mre"));
    let of_latency = || entries.iter().filter(|entry| text(entry, "target") == Some("latency"));
    let best = of_latency().filter(|entry| error(entry).is_some());
    let best = best.min_by(|a, b| error(a).unwrap_or(0.0).total_cmp(&error(b).unwrap_or(0.0)));
    let trained = said(number(document, "trained_on"), read::count);
    let tested = said(number(document, "tested_on"), read::count);
    if let Some(best) = best {
        page.lead(&format!(
            "Latency is predicted to {} on average (mean relative error of the {} model) at \
             {tested} points that nothing was learned from; {trained} points were learned from.",
            said(error(best), percent),
            text(best, "model").unwrap_or("best"),
        ));
    }
    let mut chart =
        BarChart::new("Mean relative error of latency", Axis::new("error").in_unit("%"), ["error"]);
    for entry in of_latency().filter(|entry| read::at(entry, "derived") != true) {
        let value = error(entry).map(|error| error * 100.0);
        chart.add(text(entry, "model").unwrap_or("?"), [Bar::new(value)]);
    }
    page.chart(&chart.to_svg());
    let mut table = Table::new(["model", "predicts", "mean error", "median", "90 %", "R2"]);
    for entry in entries {
        table.add_row([
            text(entry, "model").unwrap_or("?").to_owned(),
            text(entry, "target").unwrap_or("?").to_owned(),
            said(error(entry), percent),
            said(number(entry, "error.relative_p50"), percent),
            said(number(entry, "error.relative_p90"), percent),
            said(number(entry, "error.r2").or_else(|| number(entry, "r2")), plain),
        ]);
    }
    table.align_right(2..);
    page.heading("Every model").table(&table);
    for (name, what) in [
        ("kinds", "By kind of workload"),
        ("coverage", "Intervals: the share of points inside, and how wide they are"),
    ] {
        let rows = each(document, name);
        if !rows.is_empty() {
            page.heading(what);
            other::rows(page, rows);
        }
    }
}
