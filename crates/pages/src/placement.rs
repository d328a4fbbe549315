//! Placement policies on the same writes.

use crate::other;
use crate::read::{self, each, factor, number, said, text};
use serde_json::Value;
use ssdtune_report::{Axis, Bar, BarChart, Page, Table};
use std::collections::BTreeSet;

/// The label under which nothing is placed by a policy.
const NO_POLICY: &str = "none";

pub(crate) fn body(page: &mut Page, document: &Value) {
    let loads = each(document, "loads");
    let measured: Vec<&Value> =
        loads.iter().filter(|load| !each(load, "cells").is_empty()).collect();
    for load in loads {
        if let Some(reason) = text(load, "skipped") {
            page.note(&format!("Left out: {reason}."));
        }
    }
    let cells = || measured.iter().flat_map(|load| each(load, "cells"));
    let reasons = cells().filter_map(|cell| text(cell, "error"));
    for reason in reasons.collect::<BTreeSet<&str>>() {
        page.note(&format!("Not measured: {reason}."));
    }
    let first = measured.first().filter(|_| !read::fields(document, "geometric_means").is_empty());
    let Some(first) = first else {
        page.lead("No load was measured.");
        return;
    };
    let erases = cells().filter_map(|cell| number(cell, "measured.erases"));
    if erases.reduce(f64::max).is_some_and(|most| most == 0.0) {
        page.note("No block was erased: the drives never filled, so no policy could do anything.");
    }
    // The means are sorted by name in the document; people gave an order.
    let policies: Vec<&str> =
        each(first, "cells").iter().filter_map(|cell| text(cell, "policy")).collect();
    if let Some(words) = headline(document, &policies, measured.len()) {
        page.lead(&words);
    }
    let verdicts = each(document, "paired");
    if !verdicts.is_empty() {
        page.paragraph("A difference is known where its interval of 95 % does not hold zero.");
        changes(page, verdicts);
        other::rows(page, verdicts);
    }
    let mut chart = BarChart::new(
        "Pages programmed for each page of the host",
        Axis::new("write amplification"),
        ["geometric mean"],
    );
    for policy in &policies {
        if let Some(mean) = mean(document, policy) {
            chart.add(*policy, [Bar::from(mean).labelled(format!("{mean:.3}"))]);
        }
    }
    page.heading("Write amplification").chart(&chart.from_base(1.0).to_svg());
    page.table(&by_load(&measured, &policies, "measured.write_amplification", factor));
    page.heading("Blocks erased while that was measured");
    page.table(&by_load(&measured, &policies, "measured.erases", read::count));
    if let Some(rule) = text(document, "rule") {
        page.paragraph(&format!("Drives: {rule}."));
    }
}

/// How much more or less each policy writes than those it is compared with, and where that lies.
fn changes(page: &mut Page, verdicts: &[Value]) {
    let is_of_writes = |one: &&Value| text(one, "figure") == Some("write_amplification");
    let of_writes = || verdicts.iter().filter(is_of_writes);
    let others: BTreeSet<&str> = of_writes().filter_map(|one| text(one, "beside")).collect();
    for other in others {
        let title = format!("Change of write amplification beside {other}, with intervals of 95 %");
        let mut chart = BarChart::new(title, Axis::new("change").in_unit("%"), ["change"]);
        for one in of_writes().filter(|one| text(one, "beside") == Some(other)) {
            let change = number(one, "change_percent");
            let [low, high] =
                ["interval_percent.0", "interval_percent.1"].map(|end| number(one, end));
            let label = said(change, |change| format!("{change:+.1} %"));
            let bar = Bar::new(change).labelled(label);
            let bar = bar.within(low.zip(high).map(|(low, high)| [low, high]));
            chart.add(text(one, "policy").unwrap_or("?"), [bar]);
        }
        page.chart(&chart.to_svg());
    }
}

/// The geometric mean of a policy's write amplification over the loads.
fn mean(document: &Value, policy: &str) -> Option<f64> {
    // By the name itself, not by a path: labels may have dots.
    let means = read::at(document, "geometric_means").get(policy)?;
    number(means, "write_amplification")
}

/// Which policy that can be built has the least mean, and whether it is known to write less than
/// none does.
fn headline(document: &Value, policies: &[&str], loads: usize) -> Option<String> {
    let built = policies.iter().filter(|policy| !policy.starts_with("oracle"));
    let known = built.filter_map(|policy| Some((*policy, mean(document, policy)?)));
    let (name, least) = known.min_by(|a, b| a.1.total_cmp(&b.1))?;
    let is_synthetic = each(document, "loads").iter().any(|one| read::at(one, "synthetic") == true);
    let synthetic = if is_synthetic { ", synthetic ones among them" } else { "" };
    let over = match loads {
        1 => "on one load".to_owned(),
        loads => format!("geometric mean of {loads} loads{synthetic}"),
    };
    if name == NO_POLICY {
        return Some(format!(
            "No policy has a lesser mean than none, which writes {least:.2} pages for each page of \
             the host ({over})."
        ));
    }
    let own = each(document, "paired").iter().find(|one| {
        text(one, "figure") == Some("write_amplification")
            && text(one, "policy") == Some(name)
            && text(one, "beside") == Some(NO_POLICY)
    });
    let beside = mean(document, NO_POLICY).map_or_else(String::new, |none| {
        let verdict = match own.and_then(|own| text(own, "verdict")) {
            Some("less") => ", and that it writes less is decided (95 %)",
            Some(_) => ", and that it writes less is undecided",
            // They were not compared with each other.
            None => "",
        };
        format!("; without a policy {none:.2}{verdict}")
    });
    Some(format!(
        "Of what can be built, {name} has the least mean: {least:.2} pages for each page of the \
         host ({over}){beside}."
    ))
}

/// A figure of every policy on every load that was measured.
fn by_load(
    measured: &[&Value],
    policies: &[&str],
    figure: &str,
    words: fn(f64) -> String,
) -> Table {
    let mut table = Table::new(["load"].into_iter().chain(policies.iter().copied()));
    for load in measured {
        let cell = |policy: &&str| {
            let own = each(load, "cells").iter().find(|cell| text(cell, "policy") == Some(policy));
            said(own.and_then(|own| number(own, figure)), words)
        };
        let name = text(load, "name").unwrap_or("?");
        let stand_in = if read::at(load, "synthetic") == true { " (synthetic)" } else { "" };
        let name = format!("{name}{stand_in}");
        table.add_row([name].into_iter().chain(policies.iter().map(cell)));
    }
    table.align_right(1..);
    table
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn study(verdict: &str, none: f64) -> Value {
        json!({
            "geometric_means": {
                "oracle": {"write_amplification": 1.0},
                "haml": {"write_amplification": 1.5},
                "none": {"write_amplification": none},
            },
            "paired": [{
                "figure": "write_amplification", "policy": "haml", "beside": "none",
                "verdict": verdict,
            }],
        })
    }

    #[test]
    fn what_is_undecided_is_not_claimed_and_what_knows_the_future_is_no_policy() {
        let all = ["none", "haml", "oracle"];
        let told = |verdict, none| headline(&study(verdict, none), &all, 2).expect("means");
        let decided = told("less", 2.0);
        assert!(
            decided.starts_with("Of what can be built, haml has the least mean: 1.50 pages"),
            "{decided}"
        );
        assert!(decided.contains("2.00, and that it writes less is decided"), "{decided}");
        assert!(told("undecided", 2.0).ends_with("that it writes less is undecided."));
        assert!(told("undecided", 1.2).starts_with("No policy has a lesser mean than none"));
        let mut others = study("less", 2.0);
        others["paired"] = json!([]);
        let told = headline(&others, &all, 2).expect("means");
        assert!(told.ends_with("without a policy 2.00."), "{told}");
        let alone = headline(&study("less", 2.0), &["haml"], 1).expect("a mean");
        assert!(alone.contains("(on one load)"), "{alone}");
    }
}
