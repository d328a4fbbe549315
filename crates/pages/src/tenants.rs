//! Divisions of channels among the tenants of a drive.

use crate::other;
use crate::read::{self, each, factor, number, said, text, time};
use serde_json::Value;
use ssdtune_report::{Axis, Bar, BarChart, Page, Table};

pub(crate) fn title(document: &Value) -> String {
    format!("Channels for {}", read::cell(read::at(document, "tenants")))
}

pub(crate) fn body(page: &mut Page, document: &Value) {
    let lines = each(document, "lines");
    let total = |line: &&Value| number(line, "total_ns");
    let best = lines.iter().filter(|line| total(line).is_some());
    let best = best.min_by(|a, b| total(a).unwrap_or(0.0).total_cmp(&total(b).unwrap_or(0.0)));
    let keeper = lines.iter().find(|line| text(line, "plan") == Some("SSDKeeper"));
    let decisions = each(document, "decisions");
    let has_decisions = read::at(document, "decisions").is_array();
    if has_decisions && decisions.is_empty() {
        page.note(
            "SSDKeeper decided nothing: the requests end before its first period is over. Its rows \
             are with shared channels.",
        );
    }
    if let (Some(best), Some(keeper)) = (best, keeper) {
        let over = |line: &Value| said(number(line, "over_shared"), factor);
        page.lead(&format!(
            "The best division is {} ({} of the time that sharing all channels takes); the \
             network's choices take {}. One run each, so the differences have no interval.",
            text(best, "strategy").unwrap_or("?"),
            over(best),
            over(keeper)
        ));
    }
    let mut chart = BarChart::new(
        "Mean latency of reads plus that of writes",
        Axis::new("time").in_unit("us"),
        ["reads", "writes"],
    )
    .stacked();
    let mut table = Table::new([
        "plan",
        "strategy",
        "reads",
        "writes",
        "over shared",
        "fairness (1: all are slowed alike)",
    ]);
    for line in lines {
        let name = text(line, "plan").unwrap_or("?");
        let micros = ["read_ns", "write_ns"].map(|of| number(line, of).map(|ns| ns / 1e3));
        chart.add(name, micros.map(Bar::new));
        table.add_row([
            name.to_owned(),
            text(line, "strategy").unwrap_or(read::NOTHING).to_owned(),
            said(number(line, "read_ns"), time),
            said(number(line, "write_ns"), time),
            said(number(line, "over_shared"), factor),
            said(number(line, "slowdown.min_over_max"), |of| format!("{of:.3}")),
        ]);
    }
    table.align_right(2..);
    page.chart(&chart.to_svg()).table(&table);
    if !decisions.is_empty() {
        page.heading("What the network decided, and when");
        other::rows(page, decisions);
    }
}

/// What a network chooses, by the writers' share of the requests and by how many there are.
pub(crate) fn map(page: &mut Page, cells: &[Value]) {
    let of = |cell: &Value, field: &str| number(cell, field).unwrap_or(0.0);
    let mut levels: Vec<f64> = cells.iter().map(|cell| of(cell, "level")).collect();
    levels.sort_by(f64::total_cmp);
    levels.dedup();
    let is_shared = |cell: &&Value| text(cell, "strategy") == Some("Shared");
    let shared = cells.iter().filter(is_shared).count();
    page.lead(&format!(
        "All channels are shared in {shared} of {} cells; each row is a share of the requests that \
         the writers have, each column a level of intensity.",
        cells.len()
    ));
    let heads = levels.iter().map(|level| format!("{level:.0}"));
    let mut table = Table::new(["writers' share".to_owned()].into_iter().chain(heads));
    for row in cells.chunk_by(|a, b| of(a, "write_share").total_cmp(&of(b, "write_share")).is_eq())
    {
        let share = read::percent(of(&row[0], "write_share"));
        let strategy = |level: &f64| {
            let own = row.iter().find(|cell| of(cell, "level").total_cmp(level).is_eq());
            own.and_then(|own| text(own, "strategy")).unwrap_or(read::NOTHING).to_owned()
        };
        table.add_row([share].into_iter().chain(levels.iter().map(strategy)));
    }
    page.table(&table);
}
