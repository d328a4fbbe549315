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
    let error = |entry: &Value| number(entry, "error.mre");
    let of_latency = || entries.iter().filter(|entry| text(entry, "target") == Some("latency"));
    // The model that answers with intervals, not the one that these points happen to favour.
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
    if read::at(document, "shares_draws") == true {
        page.note(
            "The points tested on share their random draws with those learned from, so errors \
             look smaller than they are: --test FILE takes points of another seed.",
        );
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
        table.add_row(first.into_iter().chain(errors(read::at(entry, "error"))));
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
        page.heading(
            "Intervals: the share of points inside (90 % are meant to be), and how wide they are",
        );
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

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn the_headline_is_of_the_stronger_model_even_where_another_errs_less() {
        let entry = |model: &str, mre: f64| {
            let error = json!({"mre": mre});
            json!({"model": model, "target": "latency", "derived": false, "error": error})
        };
        let entries = [entry("basic", 0.01), entry("stronger", 0.09), entry("quick tree", 0.1)];
        let document =
            json!({"device": "a", "trained_on": 100, "tested_on": 30, "entries": entries});
        let mut page = Page::new("");
        body(&mut page, &document);
        let html = page.to_html();
        assert!(html.contains("predicted to 9.0 % on average"), "{html}");
        assert!(html.contains("of the stronger model"), "{html}");
    }
}
