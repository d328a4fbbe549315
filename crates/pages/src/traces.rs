//! What traces are like: counts, sizes, gaps, order and reuse.

use crate::fields;
use crate::read::{self, bandwidth, cell, count, each, number, percent, said, text, time};
use serde_json::Value;
use ssdtune_model::Bytes;
use ssdtune_report::{Axis, Bar, BarChart, Page, Table};

/// A number in words.
type Words = fn(f64) -> String;

/// A size in words.
const SIZE: Words = |bytes| Bytes(bytes as u64).to_string();
/// What is told by how it is spread, as fields of the document.
const SPREADS: [(&str, &str, Words); 3] = [
    ("read_size_bytes", "size of reads", SIZE),
    ("write_size_bytes", "size of writes", SIZE),
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
    ("reuse", "How soon pages come again"),
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
        of("footprint.bytes", SIZE)
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
        let steps = each(trace, &format!("{field}.histogram"));
        if steps.is_empty() {
            continue;
        }
        let all: f64 = steps.iter().filter_map(|step| number(step, "count")).sum();
        let title = format!("Share of requests by {what}");
        let mut chart = BarChart::new(title, Axis::new("share").in_unit("%"), ["share"]);
        for step in steps {
            let from = said(number(step, "from"), words);
            let share = number(step, "count").map(|own| 100.0 * own / all);
            let says = said(share, |share| format!("{share:.1} %"));
            chart.add(format!("from {from}"), [Bar::new(share).labelled(says)]);
        }
        page.chart(&chart.to_svg());
    }
    let mut table = Table::new(["", ""]);
    for (field, value) in read::fields(trace, "") {
        if !value.is_object() && !value.is_array() {
            table.add_row(row(field, value));
        }
    }
    for (part, what) in PARTS {
        for (field, value) in read::fields(trace, part) {
            if !value.is_object() && !value.is_array() {
                let [name, value] = row(field, value);
                table.add_row([format!("{what}: {name}"), value]);
            }
        }
    }
    table.align_right(1..);
    page.heading("In numbers").table(&table);
}

/// A field and its value.
fn row(field: &str, value: &Value) -> [String; 2] {
    let name = fields::name(field, std::iter::once(value));
    let told = match value.as_u64() {
        // Counts without a unit.
        Some(number) if fields::value(field, value) == cell(value) => count(number as f64),
        _ => fields::value(field, value),
    };
    [name, told]
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
                "histogram": [{"from": 4_096, "to": 8_191, "count": 3}, {"from": 8_192, "count": 1}],
            },
            "footprint": {"bytes": 1_048_576}, "arrivals": {"requests_per_s": 20_000.0},
        });
        for document in [json!([trace]), json!([trace, trace])] {
            let html = crate::page_of(&[crate::Shown::new("a", document)]).to_html();
            for part in ["12,345 requests in 2.00 ms", "50.0 %", "1 MiB", "from 4 KiB", "75.0 %"] {
                assert!(html.contains(part), "{part} is not in {html}");
            }
        }
    }
}
