//! Drives ranked for a workload, with intervals.

use crate::read::{self, Words, bandwidth, each, number, said, text, time};
use serde_json::Value;
use ssdtune_report::{Axis, Bar, BarChart, Page, Table};

/// The figures of a drive, and how they are told.
const FIGURES: [(&str, &str, Words); 5] = [
    ("latency_ns_mean", "mean latency", time),
    ("latency_ns_p99", "p99", time),
    ("throughput_bytes_per_s", "throughput", bandwidth),
    ("write_amplification", "write amplification", read::plain),
    ("terabytes_written", "TBW", read::count),
];

pub(crate) fn title(document: &Value) -> String {
    format!("Drives for {}", text(document, "workload").unwrap_or("a workload"))
}

pub(crate) fn body(page: &mut Page, document: &Value) {
    let ranked = each(document, "ranked");
    if let Some(first) = ranked.first() {
        page.lead(&headline(document, first, ranked.get(1)));
    }
    let requests = said(number(document, "requests"), read::count);
    let has_intervals = ranked.iter().any(|drive| {
        read::fields(drive, "figures").iter().any(|(_, own)| number(own, "low").is_some())
    });
    let intervals = match number(document, "windows") {
        Some(windows) if has_intervals => {
            format!("intervals of 95 % over {}", read::things(windows, "window"))
        }
        // Windows of a sample may have another reason, which a drive tells.
        _ if ranked.iter().any(|drive| !read::at(drive, "no_interval").is_null()) => {
            "no intervals".to_owned()
        }
        _ => "no intervals: too few requests".to_owned(),
    };
    page.paragraph(&format!(
        "{requests} requests on drives that begin {}; {intervals}.",
        text(document, "preparation.start").unwrap_or("?")
    ));
    let (figure, what, words) = ranked_by(document);
    let (axis, scale) = match figure {
        "throughput_bytes_per_s" => (Axis::new(what).in_unit("MB/s"), 1e-6),
        "write_amplification" | "terabytes_written" => (Axis::new(what), 1.0),
        _ => (Axis::new("latency").in_unit("us"), 1e-3),
    };
    let title = format!("Ranked by {what}, and where it lies with 95 %");
    let mut chart = BarChart::new(title, axis, [what]);
    let names = FIGURES.iter().map(|(_, name, _)| *name);
    let mut table =
        Table::new(["place", "drive"].into_iter().chain(names).chain(["compared with a real one"]));
    for drive in ranked {
        let name = text(drive, "drive").unwrap_or("?");
        let own = format!("figures.{figure}");
        let value = number(drive, &format!("{own}.value")).map(|value| value * scale);
        let ends = read::ends(drive, &own).map(|ends| ends.map(|end| end * scale));
        chart.add(name, [Bar::new(value).labelled(interval(drive, figure, words)).within(ends)]);
        let figures = FIGURES.iter().map(|(figure, _, words)| interval(drive, figure, *words));
        let is_real = !read::at(drive, "calibrated").is_null();
        let place = read::cell(read::at(drive, "place"));
        let real = if is_real { "yes" } else { "no" };
        let row = [place, name.to_owned()].into_iter().chain(figures).chain([real.to_owned()]);
        table.add_row(row);
    }
    table.align_right(2..7);
    page.chart(&chart.to_svg()).table(&table);
    for drive in ranked {
        if let Some(told) = trust(drive) {
            page.note(&told);
        }
        for warning in each(drive, "warnings") {
            let name = text(drive, "drive").unwrap_or("?");
            page.note(&format!("{name}: {}.", read::cell(warning).trim_end_matches('.')));
        }
    }
    for failed in each(document, "failed") {
        page.note(&format!("Not ranked: {}.", read::cell(failed)));
    }
}

/// The figure that drives are ranked by.
fn ranked_by(document: &Value) -> (&'static str, &'static str, Words) {
    let figure = match text(document, "by") {
        Some("p99") => "latency_ns_p99",
        Some("throughput") => "throughput_bytes_per_s",
        Some("write-amplification") => "write_amplification",
        Some("endurance") => "terabytes_written",
        _ => "latency_ns_mean",
    };
    FIGURES.into_iter().find(|own| own.0 == figure).unwrap_or(FIGURES[0])
}

/// Which drive is first, and whether it is known that it is better than the second.
fn headline(document: &Value, first: &Value, second: Option<&Value>) -> String {
    let by = text(document, "by").unwrap_or("mean");
    let name = |drive: &Value| text(drive, "drive").unwrap_or("?").to_owned();
    let (figure, what, words) = ranked_by(document);
    let value = said(number(first, &format!("figures.{figure}.value")), words);
    let than = second.map(|second| {
        let path = format!("against_first.{figure}.is_decided");
        let verdict = match read::at(second, &path).as_bool() {
            Some(true) => "is decided",
            _ => "is undecided",
        };
        format!("; that it is better than {}, the next one, {verdict}", name(second))
    });
    format!(
        "By {by}, {} is first, with a {what} of {value}{}.",
        name(first),
        than.unwrap_or_default()
    )
}

/// What the workload asks for that a real drive was not tested at, and how far off its figures were
/// at points held out of the fit.
fn trust(drive: &Value) -> Option<String> {
    let real = read::at(drive, "calibrated");
    let outside: Vec<String> = each(real, "outside_tested_range").iter().map(read::cell).collect();
    let errors: Vec<String> = read::fields(real, "errors_held_out_percent")
        .into_iter()
        .map(|(figure, error)| format!("{figure} {} %", read::cell(error)))
        .collect();
    let name = text(drive, "drive").unwrap_or("?");
    let range = match outside.is_empty() {
        true => "within the range in which the real drive was tested".to_owned(),
        false => format!("outside of what the real drive was tested at: {}", outside.join("; ")),
    };
    let errors = match errors.is_empty() {
        true => "errors unknown".to_owned(),
        false => format!("errors at points held out: {}", errors.join(", ")),
    };
    real.is_object().then(|| format!("{name}: {range}; {errors}."))
}

/// A figure with where it lies.
fn interval(drive: &Value, figure: &str, words: Words) -> String {
    let ends = ["value", "low", "high"];
    read::with_ends(ends.map(|end| number(drive, &format!("figures.{figure}.{end}"))), words)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_drive_tells_what_it_was_not_tested_at() {
        let mut drive = json!({"drive": "p", "calibrated": {
            "outside_tested_range": ["reads (tested: writes alone)"],
            "errors_held_out_percent": {"mean": 4.2},
        }});
        let told = trust(&drive).expect("a real one");
        assert!(told.contains("p: outside of") && told.contains("mean 4.2"), "{told}");
        drive["calibrated"]["outside_tested_range"] = json!([]);
        assert!(trust(&drive).is_some_and(|told| told.contains("within the range")));
        assert_eq!(trust(&json!({"drive": "p", "calibrated": null})), None);
    }

    #[test]
    fn what_is_not_decided_is_not_claimed() {
        let drive = |name: &str, is_decided: bool| {
            json!({
                "drive": name,
                "figures": {"latency_ns_mean": {"value": 9.0}, "latency_ns_p99": {"value": 1500.0}},
                "against_first": {"latency_ns_p99": {"is_decided": is_decided}},
            })
        };
        let document = json!({"by": "p99"});
        for (is_decided, words) in [(true, "the next one, is decided"), (false, "is undecided")] {
            let told = headline(&document, &drive("a", false), Some(&drive("b", is_decided)));
            assert!(told.starts_with("By p99, a is first") && told.contains("better than b"));
            assert!(told.contains(words), "{told}");
        }
        let alone = headline(&document, &drive("a", false), None);
        assert!(alone.ends_with("with a p99 of 1.50 us."), "{alone}");
    }
}
