//! A ranking as text for people.

use crate::choice::{Choice, Ranked};
use crate::estimate::{Difference, Estimate, Figure, Times};
use crate::windows::WINDOWS_MIN;
use ssdtune_experiment::sampled::SampledRun;
use ssdtune_report::{Table, Text};
use std::collections::BTreeMap;

impl Choice {
    /// The table of drives, what is not decided, and what is not known of each.
    pub fn text(&self) -> Text {
        let mut text = Text::new();
        let Self { by, ranked, failed, .. } = self;
        text.line(self.head());
        if !ranked.is_empty() {
            text.line("").table(self.table());
        }
        text.line("");
        for drive in ranked.iter().skip(1) {
            if let Some(difference) = drive.against_first.get(*by) {
                text.line(against(drive, &ranked[0], *by, &difference));
            }
            if let Some(times) = drive.times_first.and_then(|own| own.get(*by)) {
                text.line(in_times(drive, &ranked[0], *by, &times));
            }
        }
        for (reason, drives) in self.no_intervals() {
            text.line(format_args!("{}: {reason}", drives.join(", ")));
        }
        if self.sampled.is_some() && !ranked.is_empty() {
            text.line("TBW is not told from windows: run the whole trace");
        }
        for drive in ranked {
            text.line(trust(drive));
        }
        for drive in failed {
            text.line(format_args!("{} is not ranked: {}", drive.drive, drive.error));
        }
        for (warning, drives) in self.warnings() {
            text.line(format_args!("{}: {warning}", drives.join(", ")));
        }
        text
    }

    /// What was run, and what intervals are taken over.
    fn head(&self) -> String {
        let Self { workload, by, requests, windows, preparation, sampled, .. } = self;
        let start = &preparation.start;
        if let Some(SampledRun { requests, windows, kept, warm_up, measured, covered }) = sampled {
            return format!(
                "{workload}: {windows} of {kept} windows, {measured} requests measured in each \
                 after {warm_up} that warm up, {:.3} % of {requests} requests, on drives that \
                 begin {start}; the best {by} first, intervals of 95 %",
                covered * 100.0
            );
        }
        let intervals = match *windows {
            0..WINDOWS_MIN => "too few requests for intervals".to_owned(),
            windows => format!("intervals of 95 % over {windows} windows"),
        };
        format!(
            "{workload}: {requests} requests on drives that begin {start}; the best {by} first, \
             {intervals}"
        )
    }

    /// Why windows tell no intervals, each reason with the drives that have it.
    fn no_intervals(&self) -> BTreeMap<String, Vec<&str>> {
        let mut all: BTreeMap<String, Vec<&str>> = BTreeMap::new();
        for drive in &self.ranked {
            if let Some(reason) = drive.no_interval {
                all.entry(reason.in_words()).or_default().push(&drive.drive);
            }
        }
        all
    }

    fn table(&self) -> Table {
        let mut table =
            Table::new(["place", "drive", "mean us", "p99 us", "MB/s", "WA", "TBW", "tested"]);
        for drive in &self.ranked {
            let figures = Figure::ALL.map(|figure| {
                drive.figures.get(figure).map_or("-".to_owned(), |own| cell(figure, &own))
            });
            let tested = match &drive.calibrated {
                None => "not calibrated",
                Some(real) if real.outside_tested_range.is_empty() => "within",
                Some(_) => "outside",
            };
            let first = [drive.place.to_string(), drive.drive.clone()];
            let row = first.into_iter().chain(figures);
            table.add_row(row.chain([tested.to_owned()]));
        }
        table.align_right(..1).align_right(2..7);
        table
    }
}

/// The unit in which people read a figure, in the figure's own, and its sign.
fn unit(figure: Figure) -> (f64, &'static str) {
    match figure {
        Figure::Mean | Figure::P99 => (1e3, " us"),
        Figure::Throughput => (1e6, " MB/s"),
        Figure::WriteAmplification => (1.0, ""),
        Figure::Endurance => (1.0, " TB"),
    }
}

fn cell(figure: Figure, estimate: &Estimate) -> String {
    let (unit, _) = unit(figure);
    let own = |value: f64| number(value / unit);
    match estimate.low.zip(estimate.high) {
        Some((low, high)) => format!("{} ({} to {})", own(estimate.value), own(low), own(high)),
        None => own(estimate.value),
    }
}

/// A number with about four digits.
fn number(value: f64) -> String {
    let digits = match value.abs() {
        1000.0.. => 0,
        100.0.. => 1,
        10.0.. => 2,
        _ => 3,
    };
    format!("{value:.digits$}")
}

/// How far a drive is from the first, and whether that is decided.
fn against(drive: &Ranked, first: &Ranked, by: Figure, difference: &Difference) -> String {
    let (unit, sign) = unit(by);
    let signed = |value: f64| {
        let plus = if value >= 0.0 { "+" } else { "" };
        format!("{plus}{}", number(value / unit))
    };
    let interval = difference.low.zip(difference.high);
    let interval = interval.map_or("too few requests for an interval".to_owned(), |(low, high)| {
        format!("{} to {}", signed(low), signed(high))
    });
    let verdict = if difference.is_decided { "decided" } else { "undecided" };
    let value = signed(difference.value);
    format!("{} against {}: {by} {value}{sign} ({interval}): {verdict}", drive.drive, first.drive)
}

/// How many times the first drive's figure that of a drive is, and whether it is decided which is
/// the larger.
fn in_times(drive: &Ranked, first: &Ranked, by: Figure, times: &Times) -> String {
    let interval = match times.low.zip(times.high) {
        Some((low, high)) => format!("{low:.3} to {high:.3}"),
        None => "no interval".to_owned(),
    };
    let verdict = if times.is_decided { "decided" } else { "undecided" };
    let (value, drive, first) = (times.value, &drive.drive, &first.drive);
    format!("{drive} against {first}: {by} x {value:.3} ({interval}): {verdict}")
}

/// How far a drive is to be trusted.
fn trust(drive: &Ranked) -> String {
    let name = &drive.drive;
    let Some(real) = &drive.calibrated else {
        return format!("{name}: not calibrated; nobody has compared it with a real drive");
    };
    let errors = &real.provenance.errors_held_out_percent;
    let errors: Vec<String> =
        errors.iter().map(|(figure, error)| format!("{figure} {error} %")).collect();
    let errors = match errors.is_empty() {
        true => "errors unknown".to_owned(),
        false => format!("errors held out: {}", errors.join(", ")),
    };
    let own = &real.provenance.drive;
    match real.outside_tested_range.as_slice() {
        [] => format!("{name}: within the range in which {own} was tested; {errors}"),
        outside => {
            let parts = outside.join("; ");
            format!("{name}: outside of what {own} was tested at: {parts}; {errors}")
        }
    }
}
