//! A recommendation as Markdown.

use super::judgement::judgement_lines;
use super::parameters::parameter_lines;
use super::sentence::{first_sentence, grade_told};
use super::{DriveResult, Recommendation, SpeedupTable, WorkloadResult};
use crate::grade::{Figures, Speedup};
use std::fmt::Write as _;

fn ratio(speedup: &Speedup) -> String {
    format!("{:.2}/{:.2}", speedup.latency, speedup.throughput)
}

/// What comes first in every text of a recommendation ([`judgement_lines`]).
pub(super) fn judgement(result: &Recommendation) -> Vec<String> {
    judgement_lines(&result.held_out_breaches, &result.refused)
}

/// A recommendation as a Markdown document.
pub fn markdown(recommendation: &Recommendation) -> String {
    let mut text = String::new();
    // Writing to a String cannot fail.
    let _ = writeln!(
        text,
        "# {} tuned for {}\n\n{}\n\n{} proposals ({:.1} evaluations of the target); {}. In \
         logarithms: {}.\n",
        recommendation.question.baseline,
        recommendation.question.target,
        first_sentence(recommendation),
        recommendation.effort.proposals,
        recommendation.effort.spent,
        recommendation.ended,
        grade_told(recommendation)
    );
    for line in judgement(recommendation) {
        let _ = writeln!(text, "- {line}");
    }
    if !recommendation.validation.is_empty() {
        let _ = writeln!(text, "\n## Validation traces of the others\n\n{HEAD}");
        recommendation.validation.iter().for_each(|row| add_row(&mut text, row));
    }
    if let Some(table) = &recommendation.held_out {
        let on = if table.target.is_whole() { "Whole traces" } else { "Held-out traces" };
        let _ = writeln!(text, "\n## {on}\n\n{}", rows(table));
    }
    let _ = writeln!(text, "## Traces of the search\n\n{}", rows(&recommendation.training));
    let _ =
        writeln!(text, "## Best for the target alone\n\n{}", rows(&recommendation.ignoring_others));
    if let Some([was, own]) = &recommendation.bill {
        let _ = writeln!(text, "## What the parts cost\n\n{COSTS}");
        for (was, own) in was.iter().zip(own) {
            let (part, before, then) = (was.part, &was.amount, &own.amount);
            let _ = writeln!(
                text,
                "| {part} | {before} | {:.2} | {then} | {:.2} |",
                was.price, own.price
            );
        }
        let [was, own] = recommendation.controller_pins;
        let _ = writeln!(text, "\nThe controller has {own} pins, the baseline's {was}.\n");
    }
    if let Some(front) = &recommendation.front {
        let _ = writeln!(text, "## Front\n\n{}.\n\n{}", front.sentence(), front.markdown());
    }
    let _ =
        writeln!(text, "## Parameters\n\n| parameter | baseline | recommended |\n|---|---|---|");
    for [key, base, new] in parameter_lines(recommendation) {
        let _ = writeln!(text, "| {key} | {base} | {new} |");
    }
    let _ = writeln!(text, "\n## Importance\n\n| taken back | the target loses |\n|---|---|");
    for one in &recommendation.importance {
        let loss = one.loss.map_or("breaks the limits".to_owned(), |loss| format!("{loss:.4}"));
        let _ = writeln!(text, "| {} | {loss} |", one.keys.join(", "));
    }
    for note in &recommendation.notes {
        let _ = writeln!(text, "\nNote: {note}.");
    }
    text
}

/// The head of a table of parts.
const COSTS: &str = "\
Prices are relative: only their ratios mean something.

| parts | baseline | price | recommended | price |
|---|---|---|---|---|";

/// The head of a table of workloads.
const HEAD: &str = "\
| workload | latency/throughput speedup | baseline busy | baseline us | own us |
|---|---|---|---|---|";

impl DriveResult {
    /// The latency in microseconds, in words for a table.
    pub(super) fn latency_us(&self) -> String {
        let us = |figures: &Figures| format!("{:.1}", figures.latency_ns / 1e3);
        self.figures.as_ref().map_or("not served".to_owned(), us)
    }

    /// The throughput in megabytes a second, in words for a table.
    pub(super) fn throughput_mbps(&self) -> String {
        let mbps = |figures: &Figures| format!("{:.1}", figures.throughput_bps / 1e6);
        self.figures.as_ref().map_or("-".to_owned(), mbps)
    }
}

fn add_row(text: &mut String, row: &WorkloadResult) {
    let busy = row.baseline.utilisation.map_or("-".to_owned(), |u| format!("{:.0} %", u * 100.0));
    let _ = writeln!(
        text,
        "| {} | {} | {busy} | {} | {} |",
        row.workload,
        row.speedup.both_shown(row.interval.as_ref()),
        row.baseline.latency_us(),
        row.own.latency_us()
    );
}

fn rows(table: &SpeedupTable) -> String {
    let mut text = format!("{HEAD}\n");
    for row in std::iter::once(&table.target).chain(&table.others) {
        add_row(&mut text, row);
    }
    for (name, mean) in [("geometric mean", table.others_mean), ("worst", table.others_worst)] {
        if let Some(speedup) = mean {
            let _ = writeln!(text, "| others, {name} | {} | | | |", ratio(&speedup));
        }
    }
    text
}
