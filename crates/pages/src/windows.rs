//! A model beside the simulator, on windows of real traces.

use crate::models::{ERRORS, errors};
use crate::other;
use crate::read::{self, each, number, percent, said, text, time};
use serde_json::Value;
use ssdtune_report::{Axis, Bar, BarChart, Page, Svg, Table};
use std::collections::BTreeMap;

/// The predictions that a document has errors of, what they are called, and the field of a window
/// that holds them.
const MODELS: [(&str, &str, &str); 3] = [
    ("stronger", "stronger model", "strong_ns"),
    ("points", "stronger model of points", "points_ns"),
    ("tree", "tree", "tree_ns"),
];

pub(crate) fn body(page: &mut Page, document: &Value) {
    page.lead(&headline(document));
    page.paragraph(&format!(
        "{} windows have a figure outside of what the model has learned from.",
        said(number(document, "outside_training"), read::count)
    ));
    page.chart(&bars(document)).table(&models(document));
    for (field, what) in [
        ("calibrated", "What the windows say of those of other traces"),
        ("left_out", "Intervals on each trace, made from all others"),
    ] {
        let found = read::at(document, field);
        if found.is_object() {
            page.heading(what);
            other::body(page, found);
        }
    }
    page.heading("Every window").table(&windows(document));
    other::count_the_rest(page, each(document, "lines"));
}

fn headline(document: &Value) -> String {
    let of = |path: &str| said(number(document, path), percent);
    let intervals = match number(document, "inside_intervals") {
        Some(share) => format!("{} of the windows are inside of their interval", percent(share)),
        None => "the model has no intervals for windows".to_owned(),
    };
    format!(
        "On {} of {} the predicted latency is off by {} on average; half are off \
         by less than {}, one in ten by more than {}; {intervals}.",
        said(number(document, "windows"), |windows| read::things(windows, "window")),
        read::things(by_trace(document).len() as f64, "trace"),
        of("stronger.mre"),
        of("stronger.relative_p50"),
        of("stronger.relative_p90"),
    )
}

/// How far a window's prediction is above what was measured, as a part of that.
fn above(line: &Value, predicted: &str) -> Option<f64> {
    let [predicted, measured] = [predicted, "latency_ns"].map(|of| number(line, of));
    Some(predicted? / measured? - 1.0)
}

/// The depth of a window, in words.
fn depth(line: &Value) -> String {
    said(number(line, "depth"), |depth| format!("{depth:.0} outstanding"))
}

/// The errors of each trace, depth by depth.
fn by_trace(document: &Value) -> BTreeMap<&str, BTreeMap<String, Vec<f64>>> {
    let mut found: BTreeMap<&str, BTreeMap<String, Vec<f64>>> = BTreeMap::new();
    for line in each(document, "lines") {
        let trace = found.entry(text(line, "trace").unwrap_or("?")).or_default();
        trace.entry(depth(line)).or_default().extend(above(line, "strong_ns").map(f64::abs));
    }
    found
}

fn bars(document: &Value) -> Svg {
    let mut depths: Vec<String> = Vec::new();
    for depth in each(document, "lines").iter().map(depth) {
        if !depths.contains(&depth) {
            depths.push(depth);
        }
    }
    let axis = Axis::new("mean relative error of latency").in_unit("%");
    let mut chart = BarChart::new("How far off each trace is", axis, &depths);
    for (trace, errors) in by_trace(document) {
        let mean = |errors: &Vec<f64>| 100.0 * errors.iter().sum::<f64>() / errors.len() as f64;
        chart.add(trace, depths.iter().map(|depth| Bar::new(errors.get(depth).map(mean))));
    }
    chart.to_svg()
}

fn models(document: &Value) -> Table {
    let mut table = Table::new(["model"].into_iter().chain(ERRORS));
    for (field, name, _) in MODELS {
        let own = read::at(document, field);
        if own.is_object() {
            table.add_row([name.to_owned()].into_iter().chain(errors(own)));
        }
    }
    table.align_right(1..);
    table
}

/// Every window: what was measured, what each model predicts and how far off that is.
fn windows(document: &Value) -> Table {
    let first = ["trace", "window", "requests outstanding", "measured"];
    let models = MODELS.map(|(_, name, _)| name);
    let last = ["inside its interval", "figures outside of what was learned"];
    let mut table = Table::new(first.into_iter().chain(models).chain(last));
    for line in each(document, "lines").iter().take(other::ROWS_MAX) {
        let of = |name: &str| read::cell(read::at(line, name));
        let nanos = |name: &str| said(number(line, name), time);
        let first = [of("trace"), of("window"), of("depth"), nanos("latency_ns")];
        let models = MODELS.map(|(.., field)| match above(line, field) {
            Some(above) => format!("{} ({:+.1} %)", nanos(field), 100.0 * above),
            None => read::NOTHING.to_owned(),
        });
        let last = [of("inside_interval"), of("warnings")];
        table.add_row(first.into_iter().chain(models).chain(last));
    }
    table.align_right(1..);
    table
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn errors_are_those_of_each_trace_and_depth() {
        let line = |trace: &str, depth: Option<u32>, strong: f64| {
            let mut line = json!({"trace": trace, "latency_ns": 100.0, "strong_ns": strong});
            line["depth"] = depth.into();
            line
        };
        let lines = [line("a", Some(1), 90.0), line("a", Some(1), 130.0), line("b", None, 200.0)];
        let document = json!({"windows": 3, "stronger": {"mre": 0.4}, "lines": lines});
        let found = by_trace(&document);
        assert_eq!(found["a"]["1 outstanding"].len(), 2);
        assert!((found["a"]["1 outstanding"][1] - 0.3).abs() < 1e-9);
        assert_eq!(found["b"]["-"], [1.0]);
        let told = headline(&document);
        assert!(told.contains("3 windows of 2 traces"), "{told}");
        assert!(told.contains("off by 40.0 %"), "{told}");
        assert!(told.ends_with("the model has no intervals for windows."), "{told}");
        let svg = bars(&document).to_string();
        assert!(svg.contains("1 outstanding") && svg.contains(">\n20\n<"), "{svg}");
    }
}
