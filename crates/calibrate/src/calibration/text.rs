//! A calibration as text for people.

use super::file::NOTHING_TESTS;
use super::{Calibration, Hint, MeanErrors, collapse, of_unused};
use ssdtune_model::catalogue::Value;
use ssdtune_report::{Table, Text};

/// Refused points that are listed; further ones are counted.
const REFUSED_MAX: usize = 20;

impl Calibration {
    /// The errors beside the repeat noise, the parameters, the structures and the refused points.
    pub fn text(&self) -> Text {
        let mut text = Text::new();
        let Self { drive, base, fitted, held_out, refused, hold_out, .. } = self;
        text.line(format_args!(
            "{drive} on the base {base}: {} points fitted, {} held out ({hold_out}), {} refused",
            fitted.len(),
            held_out.len(),
            refused.len()
        ));
        for rule in &self.unused_rules {
            text.line(of_unused(rule));
        }
        if held_out.is_empty() {
            text.line(format_args!("{NOTHING_TESTS} Name points with --hold-out."));
        }
        text.line("")
            .line("Mean absolute errors in percent, and how far repeats are from their mean:");
        text.table(self.errors_table());
        if !self.collapses.is_empty() {
            text.line("").line(
                "The first load of which less than 98 % is completed, in requests that arrive:",
            );
            text.table(collapse::table(&self.collapses));
            text.line("").line("Mean absolute errors in percent at the loads below it:");
            text.table(collapse::errors_table(&self.collapses));
        }
        text.line("").line(format_args!(
            "Parameters, and the range in which the objective ({:.4}) rises by less than {:.4}:",
            self.objective, self.objective_noise
        ));
        text.table(self.values_table());
        text.line("").line(format_args!("Structure: {}", self.structure));
        let equal: Vec<_> = self.structures.iter().skip(1).filter(|rival| rival.is_equal).collect();
        for rival in &equal {
            text.line(format_args!("as good:   {} ({:.4})", rival.structure, rival.objective));
        }
        text.line(format_args!("Tested range: {}", self.tested));
        if !self.hints.is_empty() {
            text.line("").line("What the residuals point to:");
            for Hint { mechanism, seen, advice } in &self.hints {
                text.line(format_args!("{mechanism}: {seen}; try: {advice}"));
            }
        }
        if !refused.is_empty() {
            text.line("").line("Refused:");
            for one in refused.iter().take(REFUSED_MAX) {
                text.line(one);
            }
            if let Some(more) = refused.len().checked_sub(REFUSED_MAX).filter(|more| *more > 0) {
                text.line(format_args!("and {more} more; --json lists all"));
            }
        }
        text
    }

    pub(super) fn errors_table(&self) -> Table {
        let mut table = Table::new([
            "points of",
            "which",
            "points",
            "mean",
            "p50",
            "p99",
            "p99.9",
            "IOPS",
            "MiB/s",
        ]);
        for errors in &self.errors {
            let MeanErrors { family, is_held_out, points, mean, p50, p99, p999, .. } = errors;
            let name = family.as_ref().map_or_else(|| "all".to_owned(), ToString::to_string);
            let part = if *is_held_out { "held out" } else { "fitted" };
            let figures = [*mean, *p50, *p99, *p999, errors.iops, errors.bandwidth].map(percent);
            let cells = [name, part.to_owned(), points.to_string()].into_iter().chain(figures);
            table.add_row(cells);
        }
        for noise in &self.noise {
            let figures = [noise.mean, noise.p50, noise.p99, None, noise.iops, None].map(percent);
            let name = noise.family.to_string();
            let first = [name, "repeats".to_owned(), noise.repeated.to_string()];
            table.add_row(first.into_iter().chain(figures));
        }
        table.align_right(2..);
        table
    }

    pub(super) fn values_table(&self) -> Table {
        let mut table = Table::new(["parameter", "value", "from", "to", "told by the points"]);
        for value in &self.values {
            let digits = if matches!(value.value, Value::Real(_)) { 3 } else { 0 };
            let end =
                |end: Option<f64>| end.map_or_else(String::new, |end| format!("{end:.digits$}"));
            // Above the largest limit stands 0, which is none.
            let high = match value.range {
                Some((low, 0.0)) if low > 0.0 => "no limit".to_owned(),
                range => end(range.map(|range| range.1)),
            };
            let told = match value.is_identified {
                Some(true) => "yes",
                Some(false) => "no",
                None => "not asked",
            };
            table.add_row([
                value.name(),
                value.value.to_string(),
                end(value.range.map(|range| range.0)),
                high,
                told.to_owned(),
            ]);
        }
        table.align_right(1..=3);
        table
    }
}

fn percent(share: Option<f64>) -> String {
    share.map_or_else(|| "-".to_owned(), |share| format!("{share:.1}"))
}
