//! Drives graded against a baseline.

use crate::read::{self, each, factor, number, plain, said, text};
use serde_json::Value;
use ssdtune_report::{Axis, Bar, BarChart, Page, Table};

pub(crate) fn body(page: &mut Page, document: &Value) {
    let drives = each(document, "");
    let grade = |drive: &&Value| number(drive, "grade");
    let best = drives.iter().filter(|drive| grade(drive).is_some());
    let best = best.max_by(|a, b| grade(a).unwrap_or(0.0).total_cmp(&grade(b).unwrap_or(0.0)));
    if let Some(best) = best {
        let [latency, throughput] =
            ["target.latency", "target.throughput"].map(|of| number(best, of));
        page.lead(&format!(
            "{} is the best of {} drives: on the target its latency is {} as good as the \
             baseline's, its throughput {}{}.",
            text(best, "drive").unwrap_or("one"),
            drives.len(),
            said(latency, factor),
            said(throughput, factor),
            interval(best)
        ));
    }
    page.paragraph(
        "A grade is 0 for the baseline and grows with the logarithm of the speedups; 0.69 is about \
         twice as good in latency and throughput.",
    );
    let mut chart = BarChart::new("Grades", Axis::new("grade"), ["grade"]);
    let mut table =
        Table::new(["drive", "grade", "latency", "throughput", "power", "others, worst"]);
    for drive in drives {
        let name = text(drive, "drive").unwrap_or("?");
        if let Some(grade) = number(drive, "grade") {
            chart.add(name, [Bar::from(grade)]);
        }
        let worst = each(drive, "others").iter().filter_map(|other| number(other, "latency"));
        let worst = worst.reduce(f64::min);
        let reason = text(drive, "reason").map(str::to_owned);
        table.add_row([
            name.to_owned(),
            reason.unwrap_or_else(|| said(number(drive, "grade"), plain)),
            said(number(drive, "target.latency"), factor),
            said(number(drive, "target.throughput"), factor),
            said(number(drive, "average_watts"), |watts| format!("{watts:.2} W")),
            said(worst, factor),
        ]);
    }
    table.align_right(1..);
    page.chart(&chart.to_svg()).table(&table);
    let outside = |drive: &Value| read::cell(read::at(drive, "outside_tested_range"));
    for drive in drives.iter().filter(|drive| !each(drive, "outside_tested_range").is_empty()) {
        let name = text(drive, "drive").unwrap_or("?");
        page.note(&format!("{name} was not tested for: {}.", outside(drive)));
    }
}

/// Where the latency of a drive lies, or that nobody knows.
fn interval(drive: &Value) -> String {
    match read::interval(drive, "intervals.0.latency") {
        Some(ends) => format!(" (latency with 95 %: {ends})"),
        None => " (one measurement each, no interval)".to_owned(),
    }
}
