//! The result of pruning as text for terminals: the coarse table and the fine table.

use super::{Finding, Pruning};
use ssdtune_report::{Table, Text};

/// The result of a pruning as text: the coarse table and the fine table.
pub fn text(pruning: &Pruning) -> Text {
    let mut text = Text::new();
    text.line(format_args!(
        "{} on {}: grades from the baseline to 16x, limits ignored; a grade is the weighted sum of \
         ln(latency speedup) and ln(throughput speedup), 0 is the baseline",
        pruning.target, pruning.baseline
    ));
    text.table(coarse(pruning));
    text.line(format_args!("{} pairs of insensitive parameters tried", pruning.pairs_tried));
    text.line(format_args!(
        "\nRidge coefficients over {} configurations within the limits (R² {:.2})",
        pruning.samples, pruning.r_squared
    ));
    if pruning.samples <= pruning.fine.len() {
        text.line(format_args!(
            "{} parameters and no more configurations: the coefficients are not to be believed; \
             --samples draws more",
            pruning.fine.len()
        ));
    }
    let mut fine = Table::new(["order", "parameter", "coefficient"]);
    for (place, row) in pruning.fine.iter().enumerate() {
        let place = if row.kept { (place + 1).to_string() } else { "dropped".to_owned() };
        fine.add_row([place, row.key.clone(), format!("{:+.4}", row.coefficient)]);
    }
    fine.align_right(2..=2);
    text.table(fine);
    text
}

/// The coarse table: the performance at each multiple of the baseline, or `x` where the drive
/// cannot serve the target.
fn coarse(pruning: &Pruning) -> Table {
    let mut table = Table::new(["parameter", "2x", "4x", "8x", "16x", "finding"]);
    for sweep in &pruning.coarse {
        let mut row = vec![sweep.key.clone()];
        row.extend((1..5).map(|place| match sweep.performances.get(place) {
            Some(Some(performance)) => format!("{performance:+.3}"),
            Some(None) => "x".to_owned(),
            None => String::new(),
        }));
        row.push(finding(&sweep.finding));
        table.add_row(row);
    }
    table.align_right(1..=4);
    table
}

fn finding(finding: &Finding) -> String {
    match finding {
        Finding::Sensitive => "sensitive".to_owned(),
        Finding::Insensitive => "insensitive".to_owned(),
        Finding::SensitiveWith(other) => format!("sensitive together with {other}"),
        Finding::NotExercised(mechanism) => format!("not exercised: no {mechanism}"),
        Finding::NoEffect(reason) => format!("no effect: {reason}"),
        Finding::NotSwept(reason) => format!("not swept: {reason}"),
    }
}
