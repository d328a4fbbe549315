//! What traces are like: counts, sizes, gaps, order and reuse.

use crate::fields;
use crate::read::{self, Words, bandwidth, count, each, number, percent, said, size, text, time};
use serde_json::Value;
use ssdtune_report::{Axis, Bar, BarChart, Page, Table};

/// What is told by how it is spread, as fields of the document.
const SPREADS: [(&str, &str, Words); 3] = [
    ("read_size_bytes", "size of reads", size),
    ("write_size_bytes", "size of writes", size),
    ("gap_ns", "gaps between requests", time),
];
/// The figures of a spread.
const FIGURES: [(&str, &str); 8] = [
    ("mean", "mean"),
    ("min", "least"),
    ("p05", "5 %"),
    ("p25", "25 %"),
    ("p50", "50 %"),
    ("p75", "75 %"),
    ("p99", "99 %"),
    ("max", "most"),
];
/// Parts that are told field by field.
const PARTS: [(&str, &str); 6] = [
    ("footprint", "Pages touched"),
    ("read_sequence", "Order of reads"),
    ("write_sequence", "Order of writes"),
    ("arrivals", "Arrivals"),
    ("reuse", "References"),
    ("skew", "How unevenly pages are asked for"),
];

pub(crate) fn body(page: &mut Page, traces: &[Value]) {
    if let [one] = traces {
        page.lead(&headline(one));
        return single(page, one);
    }
    page.lead(&format!("{} traces.", traces.len()));
    for one in traces {
        page.heading(text(one, "file").unwrap_or("?")).paragraph(&headline(one));
        single(page, one);
    }
}

fn headline(trace: &Value) -> String {
    let of = |path: &str, words: Words| said(number(trace, path), words);
    format!(
        "{}: {} requests in {}, {} of them reads; {} requests/s and {} on average; {} touched.",
        text(trace, "file").unwrap_or("?"),
        of("requests", count),
        of("duration_ns", time),
        of("read_share", percent),
        of("arrivals.requests_per_s", read::rate),
        of("arrivals.bytes_per_s", bandwidth),
        of("footprint.bytes", size)
    )
}

fn single(page: &mut Page, trace: &Value) {
    let names = FIGURES.map(|(_, name)| name);
    let mut table = Table::new(["of the trace"].into_iter().chain(names));
    for (field, what, words) in SPREADS {
        let of =
            |(figure, _): (&str, &str)| said(number(trace, &format!("{field}.{figure}")), words);
        table.add_row([what.to_owned()].into_iter().chain(FIGURES.map(of)));
    }
    table.align_right(1..);
    page.table(&table);
    for (field, what, words) in SPREADS {
        histogram(page, each(trace, &format!("{field}.histogram")), what, words);
    }
    again(page, each(trace, "reuse.histogram"));
    let mut table = Table::new(["", ""]);
    let mut add = |part: &str, what: &str| {
        for (field, value) in read::fields(trace, part) {
            if !value.is_object() && !value.is_array() {
                let name = fields::name(field, std::iter::once(value));
                table.add_row([format!("{what}{name}"), fields::value(field, value)]);
            }
        }
    };
    add("", "");
    PARTS.iter().for_each(|(part, what)| add(part, &format!("{what}: ")));
    table.align_right(1..);
    page.heading("In numbers").table(&table);
}

/// A bar for each step of a histogram that counts anything.
fn histogram(page: &mut Page, steps: &[Value], what: &str, words: Words) {
    let all: f64 = steps.iter().filter_map(|step| number(step, "count")).sum();
    if all <= 0.0 {
        return;
    }
    let title = format!("Share of requests by {what}");
    let mut chart = BarChart::new(title, Axis::new("share").in_unit("%"), ["share"]);
    for step in steps {
        let from = said(number(step, "from"), words);
        let share = number(step, "count").map(|own| own / all);
        let bar = Bar::new(share.map(|share| 100.0 * share)).labelled(said(share, percent));
        chart.add(format!("from {from}"), [bar]);
    }
    page.chart(&chart.to_svg());
}

/// How many of the references find their page again within how many others: what a cache of that
/// size would hit.
fn again(page: &mut Page, steps: &[Value]) {
    if steps.is_empty() {
        return;
    }
    let mut table = Table::new(["pages referenced in between, at most", "references"]);
    let mut sum = 0.0;
    for step in steps {
        sum += number(step, "share").unwrap_or(0.0);
        table.add_row([said(number(step, "to_pages"), count), percent(sum)]);
    }
    table.align_right(0..);
    page.heading("How soon pages come again").table(&table);
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    #[test]
    fn a_trace_has_its_figures_in_words() {
        let trace = json!({
            "file": "a.csv", "requests": 12_345, "read_share": 0.5, "duration_ns": 2_000_000,
            "read_size_bytes": {
                "mean": 8_192.0,
                "histogram": [{"from": 4_096, "count": 3}, {"from": 8_192, "count": 1}],
            },
            "write_size_bytes": {"histogram": [{"from": 4_096, "count": 0}]},
            "reuse": {"histogram": [
                {"to_pages": 1, "share": 0.125}, {"to_pages": 2_047, "share": 0.25},
            ]},
            "footprint": {"bytes": 1_048_576}, "arrivals": {"requests_per_s": 20_000.0},
        });
        for document in [json!([trace]), json!([trace, trace])] {
            let html = crate::page_of(&[crate::Shown::new("a", document)]).to_html();
            for part in [
                "12,345 requests in 2.00 ms",
                "50.0 %",
                "1 MiB",
                "from 4 KiB",
                "75.0 %",
                "2,047",
                "37.5 %",
            ] {
                assert!(html.contains(part), "{part} is not in {html}");
            }
            assert!(!html.contains("NaN") && !html.contains("by size of writes"), "{html}");
        }
    }
}
