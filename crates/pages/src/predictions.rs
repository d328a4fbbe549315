//! What a model predicts: for one workload, or for every window of a trace.

use crate::other::{ROWS_MAX, count_the_rest};
use crate::read::{self, Words, bandwidth, each, number, percent, rate, said, size, time};
use serde_json::Value;
use ssdtune_report::{Axis, Chart, Page, Series, Table};
use std::collections::BTreeSet;

/// What is predicted, in the order of a prediction's figures.
const FIGURES: [(&str, Words); 3] = [("latency", time), ("IOPS", rate), ("bandwidth", bandwidth)];
/// What a workload is like, but for its load.
const CHARACTERISTICS: [(&str, &str, Words); 8] = [
    ("extended.rw_ratio", "writes among the requests", percent),
    ("extended.wr_size", "size of writes", size),
    ("extended.rd_size", "size of reads", size),
    ("extended.wr_rand", "writes at random among writes", percent),
    ("extended.rd_rand", "reads at random among reads", percent),
    ("rand", "requests at random", percent),
    ("extended.wr_stride", "left out between writes in sequence", size),
    ("extended.rd_stride", "left out between reads in sequence", size),
];
/// The two models of a prediction.
const MODELS: [(&str, &str); 2] = [("strong", "stronger model"), ("tree", "tree")];

pub(crate) fn title(document: &Value) -> &'static str {
    match document.is_array() {
        true => "Predictions for the windows of a trace",
        false => "A prediction",
    }
}

pub(crate) fn body(page: &mut Page, document: &Value) {
    match document.as_array() {
        None => one(page, document),
        Some(windows) => all(page, windows),
    }
}

/// A figure, and between which values nine in ten of such workloads are, if that is known.
fn figure(prediction: &Value, path: &str, words: Words) -> String {
    let ends = ["value", "low", "high"];
    read::with_ends(ends.map(|end| number(prediction, &format!("{path}.{end}"))), words)
}

/// How many requests the workload has outstanding or, in an open loop, how many arrive.
fn load(prediction: &Value) -> String {
    let outstanding = number(prediction, "workload.extended.q_dep").filter(|depth| *depth > 0.0);
    let arriving = number(prediction, "workload.offered_iops");
    match (outstanding, arriving) {
        (None, Some(iops)) => format!("{} requests/s", rate(iops)),
        (depth, _) => said(depth, |depth| format!("{depth:.0} outstanding")),
    }
}

fn add_warnings<'a>(page: &mut Page, predictions: impl Iterator<Item = &'a Value>) {
    let all = predictions.flat_map(|one| each(one, "warnings"));
    for warning in all.map(read::cell).collect::<BTreeSet<String>>() {
        page.note(&format!("{}.", warning.trim_end_matches('.')));
    }
}

fn one(page: &mut Page, prediction: &Value) {
    let told = |at: usize| figure(prediction, &format!("strong.{at}"), FIGURES[at].1);
    let brackets = match number(prediction, "strong.0.low") {
        Some(_) => " In brackets: where nine in ten of such workloads are.",
        None => "",
    };
    page.lead(&format!(
        "The stronger model predicts a mean latency of {}, {} requests/s and {}.{brackets}",
        told(0),
        told(1),
        told(2)
    ));
    add_warnings(page, std::iter::once(prediction));
    let mut table = Table::new(["figure"].into_iter().chain(MODELS.map(|(_, name)| name)));
    for (at, (name, words)) in FIGURES.into_iter().enumerate() {
        let cells = MODELS.map(|(model, _)| figure(prediction, &format!("{model}.{at}"), words));
        table.add_row([name.to_owned()].into_iter().chain(cells));
    }
    table.align_right(1..);
    page.heading("Both models").table(&table);
    let mut table = Table::new(["characteristic", "value"]);
    table.add_row(["load".to_owned(), load(prediction)]);
    for (path, name, words) in CHARACTERISTICS {
        let value = said(number(prediction, &format!("workload.{path}")), words);
        table.add_row([name.to_owned(), value]);
    }
    table.align_right(1..);
    page.heading("The workload").table(&table);
}

fn all(page: &mut Page, windows: &[Value]) {
    let latency = |window: &Value, end: &str| number(window, &format!("strong.0.{end}"));
    let mut known: Vec<f64> = windows.iter().filter_map(|one| latency(one, "value")).collect();
    known.sort_by(f64::total_cmp);
    if let (Some(least), Some(most)) = (known.first(), known.last()) {
        let middle = known[known.len() / 2];
        page.lead(&format!(
            "Predicted mean latency of {}, by the stronger model: {} in the middle one, from {} to \
             {}.",
            read::things(windows.len() as f64, "window"),
            time(middle),
            time(*least),
            time(*most)
        ));
    }
    add_warnings(page, windows.iter());
    let mut chart = Chart::new(
        "Predicted latency",
        Axis::new("window"),
        Axis::new("latency").in_unit("us").logarithmic(),
    );
    let line = |end: &'static str| {
        let points = (1..).zip(windows);
        points.filter_map(move |(at, one)| Some((f64::from(at), latency(one, end)? / 1e3)))
    };
    chart.add(Series::dots(line("value")).named("predicted"));
    for (end, name) in [("low", "nine in ten, lower end"), ("high", "nine in ten, upper end")] {
        if line(end).next().is_some() {
            chart.add(Series::line(line(end)).named(name));
        }
    }
    if windows.len() > 1 {
        page.chart(&chart.to_svg());
    }
    let figures = FIGURES.map(|(name, _)| name);
    let trees = FIGURES.map(|(name, _)| format!("{name}, tree"));
    let mut table = Table::new(
        ["window", "writes", "load"].into_iter().chain(figures).map(str::to_owned).chain(trees),
    );
    for (at, window) in windows.iter().enumerate().take(ROWS_MAX) {
        let of = |path: &str, words: Words| said(number(window, path), words);
        let share = of("workload.extended.rw_ratio", percent);
        let cells = MODELS.iter().flat_map(|(model, _)| {
            let own = FIGURES.iter().enumerate();
            own.map(move |(at, (_, words))| figure(window, &format!("{model}.{at}"), *words))
        });
        table.add_row([(at + 1).to_string(), share, load(window)].into_iter().chain(cells));
    }
    table.align_right(1..);
    page.heading("Every window").table(&table);
    count_the_rest(page, windows);
}

/// Points without intervals.
pub(crate) fn batch(page: &mut Page, points: &[Value]) {
    page.lead(&format!(
        "What the stronger model predicts for {}, without intervals.",
        read::things(points.len() as f64, "point")
    ));
    let mut table = Table::new(["point", "latency", "IOPS", "bandwidth"]);
    for point in points.iter().take(ROWS_MAX) {
        let fields = ["latency_ns", "iops", "bandwidth_bps"].iter().zip(FIGURES);
        let figures = fields.map(|(field, (_, words))| said(number(point, field), words));
        let name = read::text(point, "point").unwrap_or("?").to_owned();
        table.add_row([name].into_iter().chain(figures));
    }
    table.align_right(1..);
    page.table(&table);
    count_the_rest(page, points);
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn prediction(latency_ns: f64) -> Value {
        let ends = |value: f64| json!({"value": value, "low": value / 2.0, "high": value * 2.0});
        json!({
            "workload": {"extended": {"rw_ratio": 0.5, "q_dep": 4.0}},
            "strong": [ends(latency_ns), ends(5_000.0), {"value": 2e8}],
            "tree": [ends(3e6), ends(4_000.0), ends(1e8)],
            "warnings": ["the depth is above all of the training points"],
        })
    }

    #[test]
    fn predictions_are_on_the_page_with_their_ends_and_warnings_once() {
        for document in [prediction(2e5), json!([prediction(1e5), prediction(2e5)])] {
            let html = crate::page_of(&[crate::Shown::new("a", document)]).to_html();
            for part in
                ["200.00 us (100.00 us to 400.00 us)", "3.00 ms (1.50 ms to 6.00 ms)", "200.0 MB/s"]
            {
                assert!(html.contains(part), "{part} is not in {html}");
            }
            assert_eq!(html.matches("the depth is above all").count(), 1);
            assert!(html.contains("4 outstanding"), "{html}");
        }
    }

    #[test]
    fn points_have_a_row_each() {
        let point = json!({"point": "w0-q1", "latency_ns": 2e5, "iops": 5e3, "bandwidth_bps": 2e8});
        let html = crate::page_of(&[crate::Shown::new("a", json!([point]))]).to_html();
        for part in ["1 point, without", "w0-q1", "200.00 us", "5000", "200.0 MB/s"] {
            assert!(html.contains(part), "{part} is not in {html}");
        }
    }

    #[test]
    fn an_open_loop_has_a_rate_and_what_has_no_ends_speaks_of_none() {
        let mut own = prediction(2e5);
        own["workload"] = json!({"extended": {"q_dep": 0.0}, "offered_iops": 1_500.0});
        own["strong"][0] = json!({"value": 2e5});
        let html = crate::page_of(&[crate::Shown::new("a", own)]).to_html();
        assert!(html.contains("1500 requests/s") && !html.contains("In brackets"), "{html}");
    }
}
