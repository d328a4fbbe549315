//! Simulations that are told from windows of a trace.

use crate::Shown;
use crate::parameters;
use crate::read::{self, NOTHING, at, bandwidth, each, number, percent, said, text, time};
use crate::simulation::name;
use serde_json::Value;
use ssdtune_report::{Page, Table};

/// Whether a cell of a document is told from windows.
pub(crate) fn is_told_from_windows(cell: &Value) -> bool {
    !at(cell, "report.run.windows").is_null() && at(cell, "report.latency_ns").is_array()
}

pub(crate) fn body(page: &mut Page, documents: &[Shown]) {
    let cells: Vec<&Value> =
        documents.iter().flat_map(|one| each(&one.document, "cells")).collect();
    if let [cell] = cells[..] {
        let report = at(cell, "report");
        page.lead(&format!(
            "{} requests take {} on average and 99 % of them at most {}, at {}, told from {} \
             windows of {} requests.",
            said(number(report, "run.requests"), read::count),
            estimated(at(report, "latency_ns.0.mean"), time),
            estimated(percentile(at(report, "latency_ns.0"), "p99"), time),
            estimated(at(report, "bandwidth_bytes_per_s"), bandwidth),
            said(number(report, "run.kept"), read::count),
            said(number(report, "run.measured"), read::count),
        ));
    }
    let has_none = |cell: &&&Value| !at(cell, "report.no_interval").is_null();
    let brackets = match cells.iter().filter(has_none).count() == cells.len() {
        true => "",
        false => ", and in brackets where it lies with 95 %",
    };
    page.paragraph(&format!(
        "A figure of the whole trace{brackets}. The windows are drawn from the whole trace; each \
         begins with requests that are not counted."
    ));
    for cell in &cells {
        if let Some(reason) = text(cell, "report.no_interval") {
            page.note(&format!("{}: no intervals, {}.", name(cell), why(reason)));
        }
    }
    let figures = ["p50", "p95", "p99", "p99.9"];
    let mut table =
        Table::new(["simulation", "requests", "share", "mean"].into_iter().chain(figures));
    for cell in &cells {
        for own in each(cell, "report.latency_ns") {
            let percentiles = figures.map(|figure| estimated(percentile(own, figure), time));
            let first = [
                name(cell),
                text(own, "requests").unwrap_or(NOTHING).to_owned(),
                said(number(own, "share"), percent),
                estimated(at(own, "mean"), time),
            ];
            table.add_row(first.into_iter().chain(percentiles));
        }
    }
    page.heading("Latency").table(table.align_right(2..));
    let mut table = Table::new([
        "simulation",
        "bandwidth",
        "write amplification",
        "average power",
        "share of the trace in windows",
        "share of one window in what is uncertain, at most",
    ]);
    for cell in &cells {
        let report = at(cell, "report");
        table.add_row([
            name(cell),
            estimated(at(report, "bandwidth_bytes_per_s"), bandwidth),
            estimated(at(report, "write_amplification"), |of| format!("{of:.3}")),
            estimated(at(report, "average_power_w"), |watts| format!("{watts:.2} W")),
            said(number(report, "run.covered"), percent),
            said(number(report, "largest_share"), percent),
        ]);
    }
    page.heading("The drive").table(table.align_right(1..));
    let names: Vec<String> = cells.iter().map(|cell| name(cell)).collect();
    let drives: Vec<_> = names.iter().map(String::as_str).zip(cells.iter().copied()).collect();
    parameters::add_differences(page, &drives);
}

/// A percentile of a kind of requests, which the document has as pairs of a name and a figure.
fn percentile<'a>(own: &'a Value, figure: &str) -> &'a Value {
    let found = each(own, "percentiles").iter().find(|pair| text(pair, "0") == Some(figure));
    found.map_or(&Value::Null, |pair| at(pair, "1"))
}

/// A figure, and its interval if there is one.
fn estimated(value: &Value, words: impl Fn(f64) -> String) -> String {
    let paths = ["value", "interval.low", "interval.high"];
    read::with_ends(paths.map(|path| number(value, path)), words)
}

/// Why there are no intervals, in words.
fn why(reason: &str) -> &str {
    match reason {
        "few-windows" => {
            "because so few windows do not tell their own spread: take more of them (`trace sample \
             --windows`)"
        }
        "backlog" => {
            "because requests wait longer than a window knows of: the drive cannot keep up with \
             the trace"
        }
        "few-seconds" => "because a closed loop that ends soon depends on what the cache keeps",
        "write-buffer" => {
            "because the closed loop fills the drive's write buffer and then waits for flash, \
             which windows do not see: run the whole trace"
        }
        "collection" => {
            "because the drive collects in the windows, where means have been seen 1 to 9 % off, \
             write amplification 21 and percentiles 29 %: run the whole trace, with several seeds \
             of --start steady"
        }
        other => other,
    }
}
