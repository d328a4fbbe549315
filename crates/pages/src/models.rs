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
    // The model that predicts where none is named, not the one that these points happen to favour.
    let stronger = of_latency().find(|entry| text(entry, "model") == Some("stronger"));
    let told = stronger.or_else(|| of_latency().next_back());
    let trained = said(number(document, "trained_on"), read::count);
    let tested = said(number(document, "tested_on"), read::count);
    if let Some(told) = told {
        page.lead(&format!(
            "Latency is predicted to {} on average (mean relative error of the {} model) at \
             {tested} points that nothing was learned from; {trained} points were learned from.",
            said(error(told), percent),
            text(told, "model").unwrap_or("last"),
        ));
    }
    let mut chart =
        BarChart::new("Mean relative error of latency", Axis::new("error").in_unit("%"), ["error"]);
    for entry in of_latency().filter(|entry| read::at(entry, "derived") != true) {
        let value = error(entry).map(|error| error * 100.0);
        chart.add(text(entry, "model").unwrap_or("?"), [Bar::new(value)]);
    }
    page.chart(&chart.to_svg());
    let first = ["model", "predicts", "by way of"];
    let mut table = Table::new(first.into_iter().chain(ERRORS));
    for entry in entries {
        let by_way_of = if read::at(entry, "derived") == true { "latency" } else { "itself" };
        let [model, predicts] = ["model", "target"].map(|of| text(entry, of).unwrap_or("?"));
        let first = [model, predicts, by_way_of].map(str::to_owned);
        // Without a second set of points there is the error alone, beside the model.
        let own = read::at(entry, "error");
        table.add_row(first.into_iter().chain(errors(if own.is_null() { entry } else { own })));
    }
    table.align_right(3..);
    page.heading("Every model").table(&table);
    let kinds = each(document, "kinds");
    if !kinds.is_empty() {
        let mut table = Table::new(["model", "workload"].into_iter().chain(ERRORS));
        for own in kinds {
            let first = ["model", "kind"].map(|of| text(own, of).unwrap_or("?").to_owned());
            table.add_row(first.into_iter().chain(errors(read::at(own, "error"))));
        }
        table.align_right(2..);
        page.heading("By kind of workload").table(&table);
    }
    let coverage = each(document, "coverage");
    if !coverage.is_empty() {
        page.heading("Intervals: the share of points inside, and how wide they are");
        other::rows(page, coverage);
    }
}

/// What [`errors`] gives.
pub(crate) const ERRORS: [&str; 5] =
    ["mean error", "half are below", "90 % are below", "greatest", "R2"];

/// The relative errors of a model in words, and the share of the variance that it explains.
pub(crate) fn errors(of: &Value) -> [String; 5] {
    let [mean, half, most, greatest] = ["mre", "relative_p50", "relative_p90", "relative_max"]
        .map(|name| said(number(of, name), percent));
    [mean, half, most, greatest, said(number(of, "r2"), plain)]
}
