//! A recommendation for people.

use crate::context::Context;
use crate::outcome::Outcome;
use crate::table;
use ssdtune_tune::Speedup;
use ssdtune_tune::recommend::{Recommendation, SpeedupTable, WorkloadResult, parameter_lines};

/// Prints it.
pub(crate) fn show(result: &Recommendation, context: &Context) -> Outcome {
    let question = &result.question;
    context.line(format_args!(
        "{} tuned for {}: grade {:.4} ({})",
        question.baseline, question.target, result.grade, result.ended
    ))?;
    let effort = &result.effort;
    context.line(format_args!(
        "{} proposals, {:.1} evaluations of the target spent of {}; {} evaluations run, {:.1} M requests in {:.1} s",
        effort.proposals,
        effort.spent,
        question.settings.budget,
        effort.run,
        effort.requests as f64 / 1e6,
        effort.seconds
    ))?;
    if let Some(screened) = effort.discard_report.as_ref().filter(|own| own.idle.is_none()) {
        context.line(format_args!(
            "Screened by {} evaluations known before: {} proposals discarded, {} hopeless ones run to check, {} \
             of them wrongly so",
            screened.examples, screened.discarded, screened.checked, screened.wrong
        ))?;
    }
    if let Some(held_out) = &result.held_out {
        context.line("\nSpeedups on held-out traces (latency, throughput)")?;
        speedups(held_out, context)?;
    }
    context.line("\nSpeedups on the traces of the search")?;
    speedups(&result.training, context)?;
    let alone = &result.ignoring_others;
    context.line(format_args!(
        "\nIgnoring the others: target {}{}",
        pair(&alone.target.speedup),
        match (&alone.others_mean, &alone.others_worst) {
            (Some(mean), Some(worst)) =>
                format!("; others {} in geometric mean, {} at worst", pair(mean), pair(worst)),
            _ => String::new(),
        }
    ))?;
    parameters(result, context)?;
    for note in &result.notes {
        context.note(format_args!("note: {note}"));
    }
    Ok(())
}

fn pair(speedup: &Speedup) -> String {
    format!("{:.2}x / {:.2}x", speedup.latency, speedup.throughput)
}

fn speedups(rows: &SpeedupTable, context: &Context) -> Outcome {
    let headings =
        ["workload", "latency", "throughput", "us", "was us", "MB/s", "was MB/s", "baseline busy"];
    let mut table = table::new(&headings);
    let mut add = |row: &WorkloadResult, mark: &str| {
        let busy = match (&row.baseline.busiest, row.baseline.utilisation) {
            (Some(part), Some(share)) => format!("{:.0} % {part}", share * 100.0),
            _ => String::new(),
        };
        let (own, was) = (&row.own.figures, &row.baseline.figures);
        table.add_row([
            format!("{}{mark}", row.workload),
            format!("{:.2}x", row.speedup.latency),
            format!("{:.2}x", row.speedup.throughput),
            format!("{:.1}", own.latency_ns / 1e3),
            format!("{:.1}", was.latency_ns / 1e3),
            format!("{:.1}", own.throughput_bps / 1e6),
            format!("{:.1}", was.throughput_bps / 1e6),
            busy,
        ]);
    };
    add(&rows.target, " (target)");
    rows.others.iter().for_each(|row| add(row, ""));
    for (name, mean) in [("others, mean", rows.others_mean), ("others, worst", rows.others_worst)] {
        if let Some(mean) = mean {
            let parts = [mean.latency, mean.throughput].map(|part| format!("{part:.2}x"));
            table.add_row([name.to_owned()].into_iter().chain(parts));
        }
    }
    table.align_right(1..);
    context.line(table)
}

fn parameters(result: &Recommendation, context: &Context) -> Outcome {
    if result.parameters.is_empty() {
        return context.line("\nNothing better than the baseline was found.");
    }
    context.line("\nWhat changes, and what the target loses when it is taken back")?;
    let mut table = table::new(&["parameter", "baseline", "recommended", "loss"]);
    let mut told: Vec<usize> = Vec::new();
    for [key, base, new] in parameter_lines(result) {
        let group = result.importance.iter().position(|own| own.keys.contains(&key.as_str()));
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
    context.line(table)
}
