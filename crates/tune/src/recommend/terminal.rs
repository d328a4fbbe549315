//! A recommendation as text for terminals: what the search cost, speedups, and what changes.

use super::sentence::{first_sentence, grade_told};
use super::text::judgement;
use super::{Recommendation, SpeedupTable, WorkloadResult, parameter_lines};
use crate::grade::Speedup;
use crate::limits::BillItem;
use ssdtune_report::{Table, Text};

/// A recommendation as text, without its notes.
pub fn text(result: &Recommendation) -> Text {
    let mut text = Text::new();
    text.line(first_sentence(result));
    judgement(result).into_iter().for_each(|line| _ = text.line(line));
    effort(result, &mut text);
    if let Some(held_out) = &result.held_out {
        let on = if held_out.target.is_whole() { "whole traces" } else { "held-out traces" };
        text.line(format_args!("\nSpeedups on {on} (latency, throughput)"))
            .table(speedups(held_out));
    }
    text.line("\nSpeedups on the traces of the search").table(speedups(&result.training));
    if !result.validation.is_empty() {
        let mut table = empty_table();
        result.validation.iter().for_each(|row| add_row(&mut table, row, ""));
        text.line("\nSpeedups of the others on validation traces").table(table);
    }
    let alone = &result.ignoring_others;
    let others = match (&alone.others_mean, &alone.others_worst) {
        (Some(mean), Some(worst)) => {
            let (mean, worst) = (factors(mean), factors(worst));
            format!("; others {mean} in geometric mean, {worst} at worst")
        }
        _ => String::new(),
    };
    let target = factors(&alone.target.speedup);
    text.line(format_args!("\nIgnoring the others: target {target}{others}"));
    if let Some(bill) = &result.bill {
        let [was, own] = result.controller_pins;
        text.line("\nWhat the parts cost").table(costs(bill));
        text.line(format_args!("The controller has {own} pins, the baseline's {was}"));
    }
    if let Some(front) = &result.front {
        text.line(format_args!("\n{}", front.sentence())).table(front.table());
    }
    match result.parameters.is_empty() {
        true => text.line("\nWhat changes: nothing."),
        false => text
            .line("\nWhat changes, and what the target loses when it is taken back")
            .table(parameters(result)),
    };
    text
}

/// Adds the grade and what the search cost.
fn effort(result: &Recommendation, text: &mut Text) {
    let (question, effort) = (&result.question, &result.effort);
    text.line(format_args!(
        "{} tuned for {}: {} ({})",
        question.baseline,
        question.target,
        grade_told(result),
        result.ended
    ));
    text.line(format_args!(
        "{} proposals, {:.1} evaluations of the target spent of {}; {} evaluations run in all, {} \
         of them for the evidence; {:.1} M requests in {:.1} s",
        effort.proposals,
        effort.spent,
        question.settings.budget,
        effort.run,
        effort.run_for_evidence,
        effort.requests as f64 / 1e6,
        effort.seconds
    ));
}

/// A table of what the parts of the baseline and of the recommended drive cost.
pub(super) fn costs([was, own]: &[Vec<BillItem>; 2]) -> Table {
    let mut table = Table::new(["parts", "baseline", "price", "recommended", "price"]);
    let price = |price: f64| format!("{price:.2}");
    for (was, own) in was.iter().zip(own) {
        let amounts = [was.amount.clone(), price(was.price), own.amount.clone(), price(own.price)];
        table.add_row([was.part.to_owned()].into_iter().chain(amounts));
    }
    let [was, own] = [was, own].map(|bill| price(bill.iter().map(|item| item.price).sum()));
    table.add_row(["together".to_owned(), String::new(), was, String::new(), own]);
    table.align_right(1..);
    table
}

fn factors(speedup: &Speedup) -> String {
    format!("{:.2}x / {:.2}x", speedup.latency, speedup.throughput)
}

/// A table of workloads without rows.
fn empty_table() -> Table {
    let mut table = Table::new([
        "workload",
        "latency",
        "throughput",
        "us",
        "was us",
        "MB/s",
        "was MB/s",
        "baseline busy",
    ]);
    table.align_right(1..);
    table
}

fn add_row(table: &mut Table, row: &WorkloadResult, mark: &str) {
    let busy = match (&row.baseline.busiest, row.baseline.utilisation) {
        (Some(part), Some(share)) => format!("{:.0} % {part}", share * 100.0),
        _ => String::new(),
    };
    let (tuned, was) = (&row.own, &row.baseline);
    table.add_row([
        format!("{}{mark}", row.workload),
        row.speedup.latency_shown(row.interval.as_ref()),
        row.speedup.throughput_shown(row.interval.as_ref()),
        tuned.latency_us(),
        was.latency_us(),
        tuned.throughput_mbps(),
        was.throughput_mbps(),
        busy,
    ]);
}

fn speedups(results: &SpeedupTable) -> Table {
    let mut table = empty_table();
    add_row(&mut table, &results.target, " (target)");
    results.others.iter().for_each(|row| add_row(&mut table, row, ""));
    let means = [("others, mean", results.others_mean), ("others, worst", results.others_worst)];
    for (name, mean) in means {
        if let Some(mean) = mean {
            let factors = [mean.latency, mean.throughput].map(|factor| format!("{factor:.2}x"));
            table.add_row([name.to_owned()].into_iter().chain(factors));
        }
    }
    table
}

/// A table of the changed parameters. Parameters that were taken back as a group have one loss, in
/// the first of their rows.
fn parameters(result: &Recommendation) -> Table {
    let mut table = Table::new(["parameter", "baseline", "recommended", "loss"]);
    let mut told: Vec<usize> = Vec::new();
    for [key, base, new] in parameter_lines(result) {
        let group = result.importance.iter().position(|group| group.keys.contains(&key));
        let loss = match group {
            Some(index) if told.contains(&index) => "with the above".to_owned(),
            Some(index) => {
                told.push(index);
                let loss = result.importance[index].loss;
                loss.map_or("needed".to_owned(), |loss| format!("{:.1} %", loss.exp_m1() * 100.0))
            }
            None => String::new(),
        };
        table.add_row([key, base, new, loss]);
    }
    table
}
