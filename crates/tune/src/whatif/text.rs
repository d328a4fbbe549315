//! The answer of a what-if analysis as text for terminals.

use super::{Goal, WhatIfAnswer};
use crate::interval::SpeedupInterval;
use ssdtune_report::{Table, Text};

/// The answer as text: the speedup reached, the changes it takes, and their cost. `target` is the
/// name of the workload.
pub fn text(answer: &WhatIfAnswer, target: &str) -> Text {
    let what = match answer.goal {
        Goal::Latency(_) => "shorter latency",
        Goal::Throughput(_) => "the throughput",
    };
    let (wanted, interval) = (answer.goal.wanted(), answer.interval.as_ref());
    let reached = match answer.goal {
        Goal::Latency(_) => answer.speedup.latency_shown(interval),
        Goal::Throughput(_) => answer.speedup.throughput_shown(interval),
    };
    let mut text = Text::new();
    answer.judgement.lines().into_iter().for_each(|line| _ = text.line(line));
    match answer.met {
        true => text.line(format_args!(
            "{target}: {reached} {what} can be had (wanted {wanted}x) by these changes"
        )),
        false => text.line(format_args!(
            "{target}: {wanted}x {what} was not reached; {reached} is the nearest, by these \
             changes"
        )),
    };
    interval.and_then(SpeedupInterval::note).into_iter().for_each(|note| _ = text.line(note));
    let mut table = Table::new(["parameter", "baseline", "changed"]);
    for change in &answer.parameters {
        let with_unit = |value: &str| format!("{value} {}", change.unit).trim_end().to_owned();
        let (baseline, changed) = (with_unit(&change.baseline), with_unit(&change.recommended));
        table.add_row([change.key.to_owned(), baseline, changed]);
    }
    text.table(table);
    text.line(format_args!(
        "{} proposals, {:.1} evaluations of the target spent; {} more to take changes back",
        answer.proposals, answer.spent, answer.spent_after
    ));
    if let Some(worst) = answer.judgement.worst_on_validation() {
        text.line(format_args!(
            "others on validation traces: {:.2}x / {:.2}x at worst (latency / throughput)",
            worst.latency, worst.throughput
        ));
    }
    if let Some(breach) = answer.not_taken_back.first() {
        text.line(format_args!("more changes could be taken back, but for {breach}"));
    }
    let (cost, baseline) = (answer.cost, answer.baseline_cost);
    match answer.priced {
        true => text.line(format_args!("price {cost:.2}, baseline {baseline:.2}")),
        false => text.line(format_args!(
            "distance from the baseline {cost:.2} (axes wholly crossed); give prices in \
             --constraints for a cost"
        )),
    };
    text
}
