//! Placement policies on the same writes.

use crate::other;
use crate::read::{self, each, factor, number, said, text};
use serde_json::Value;
use ssdtune_report::{Axis, Bar, BarChart, Page, Table};

pub(crate) fn body(page: &mut Page, document: &Value) {
    let means = read::fields(document, "geometric_means");
    let amplification = |value: &Value| number(value, "write_amplification");
    let best = means.iter().filter_map(|(name, value)| Some((*name, amplification(value)?)));
    let best = best.min_by(|a, b| a.1.total_cmp(&b.1));
    let loads = each(document, "loads");
    if let Some((name, least)) = best {
        let none = amplification(read::at(document, "geometric_means.none"));
        let beside = said(none, |none| format!("{none:.2} without a policy"));
        page.lead(&format!(
            "{name} writes least: {least:.2} pages for each page of the host (geometric mean of {} \
             loads), {beside}.",
            loads.len()
        ));
    }
    for load in loads {
        if let Some(reason) = text(load, "skipped") {
            page.note(&format!("Left out: {reason}."));
        }
    }
    if means.is_empty() {
        page.lead("No load was measured.");
        return;
    }
    let verdicts = each(document, "paired");
    if !verdicts.is_empty() {
        page.paragraph("A difference is known where its interval of 95 % does not hold zero.");
        other::rows(page, verdicts);
    }
    let mut chart = BarChart::new(
        "Pages programmed for each page of the host",
        Axis::new("write amplification"),
        ["geometric mean"],
    );
    for (name, value) in &means {
        if let Some(mean) = amplification(value) {
            chart.add(*name, [Bar::from(mean).labelled(format!("{mean:.3}"))]);
        }
    }
    page.heading("Write amplification").chart(&chart.from_base(1.0).to_svg());
    let policies: Vec<&str> = means.iter().map(|(name, _)| *name).collect();
    let mut table = Table::new(["load"].into_iter().chain(policies.iter().copied()));
    for load in loads {
        let cell = |policy: &&str| {
            let own = each(load, "cells").iter().find(|cell| text(cell, "policy") == Some(policy));
            said(own.and_then(|own| number(own, "measured.write_amplification")), factor)
        };
        let name = text(load, "name").unwrap_or("?");
        let stand_in = if read::at(load, "synthetic") == true { " (synthetic)" } else { "" };
        let name = format!("{name}{stand_in}");
        table.add_row([name].into_iter().chain(policies.iter().map(cell)));
    }
    table.align_right(1..);
    page.table(&table);
    if let Some(rule) = text(document, "rule") {
        page.paragraph(&format!("Drives: {rule}."));
    }
}
