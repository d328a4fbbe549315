//! A calibration as one HTML file, without references to other files: what was measured beside what
//! the drive does, family by family, and what is known of the parameters.

use super::{Calibration, Hint, Prediction};
use crate::point::{Family, Figures, Point};
use ssdtune_report::{Axis, Chart, Page, Series, Svg, Table};
use std::collections::BTreeMap;

/// Families that are drawn; further ones are in the table of errors alone.
const FAMILIES_MAX: usize = 60;
/// Refused points that are listed; further ones are counted.
const REFUSED_MAX: usize = 200;

/// What a picture shows of a point.
struct Shown {
    name: &'static str,
    unit: &'static str,
    value: fn(&Figures) -> Option<f64>,
}

const SHOWN: [Shown; 3] = [
    Shown { name: "mean latency", unit: "us", value: |of| of.mean.map(|value| value.0) },
    Shown { name: "99th percentile", unit: "us", value: |of| of.p99.map(|value| value.0) },
    Shown { name: "rate", unit: "1/s", value: |of| of.iops.map(|value| value.0) },
];

impl Calibration {
    /// The report as an HTML page.
    pub fn page(&self) -> Page {
        let mut page = Page::new(format!("{}, measured and simulated", self.drive));
        page.lead(&self.headline()).list(self.header());
        page.heading("Errors and repeat noise");
        page.paragraph(
            "Mean absolute errors in percent, of points that were fitted and of points that were \
             held out; where loads were repeated, how far a measurement is from the mean of its \
             repeats. No fit can be better than that.",
        );
        page.table(&self.errors_table());
        page.heading("Measured and predicted");
        let families = self.families();
        for (family, points) in families.iter().take(FAMILIES_MAX) {
            for shown in &SHOWN {
                if let Some(picture) = picture(family, points, shown) {
                    page.chart(&picture);
                }
            }
        }
        if let Some(more) = families.len().checked_sub(FAMILIES_MAX).filter(|more| *more > 0) {
            page.note(&format!("{more} more families are in the table of errors alone."));
        }
        page.heading("Parameters");
        page.paragraph(&format!(
            "The range of each in which the objective ({:.4}) rises by less than {:.4}, all others \
             refitted. A range that is open, or wider than half the value, means that the points \
             do not tell the parameter.",
            self.objective, self.objective_noise
        ));
        page.table(&self.values_table());
        page.heading("What the residuals point to");
        let words =
            |hint: &Hint| format!("{}: {}; try: {}", hint.mechanism, hint.seen, hint.advice);
        match self.hints.is_empty() {
            true => page.paragraph("Nothing."),
            false => page.list(self.hints.iter().map(words)),
        };
        page.heading("Structures").table(&self.structures_table());
        page.heading("Refused points");
        match self.refused.is_empty() {
            true => page.paragraph("None."),
            false => page.list(self.refused.iter().take(REFUSED_MAX).map(ToString::to_string)),
        };
        if let Some(more) = self.refused.len().checked_sub(REFUSED_MAX).filter(|more| *more > 0) {
            page.note(&format!("{more} more are refused; --json lists all."));
        }
        page.heading("Points").table(&self.points_table());
        page.heading("The drive").preformatted(&self.drive_file());
        page
    }

    /// The points of each family, each with whether it was held out, in the order of their loads.
    fn families(&self) -> BTreeMap<Family, Vec<(&Prediction, bool)>> {
        let mut families: BTreeMap<Family, Vec<(&Prediction, bool)>> = BTreeMap::new();
        for (part, is_held_out) in [(&self.fitted, false), (&self.held_out, true)] {
            for one in part {
                families.entry(one.point.family()).or_default().push((one, is_held_out));
            }
        }
        let load = |(one, _): &(&Prediction, bool)| load(&one.point).unwrap_or(f64::MAX);
        for points in families.values_mut() {
            points.sort_by(|one, other| load(one).total_cmp(&load(other)));
        }
        families
    }

    fn structures_table(&self) -> Table {
        let mut table = Table::new(["structure", "objective", "as good within the noise"]);
        for (rank, rival) in self.structures.iter().enumerate() {
            let equal = match (rank, rival.is_equal) {
                (0, _) => "the best",
                (_, true) => "yes",
                (_, false) => "no",
            };
            let objective = format!("{:.4}", rival.objective);
            table.add_row([rival.structure.clone(), objective, equal.to_owned()]);
        }
        table.align_right(1..2);
        table
    }

    /// Every point with its errors.
    fn points_table(&self) -> Table {
        let names =
            ["point", "which", "mean us", "predicted us", "mean %", "p50 %", "p99 %", "IOPS %"];
        let mut table = Table::new(names);
        for (one, is_held_out) in self.families().into_values().flatten() {
            let part = if is_held_out { "held out" } else { "fitted" };
            let micros = |of: &Figures| of.mean.map_or("-".to_owned(), |v| format!("{:.1}", v.0));
            let percent = |error: Option<f64>| {
                error.map_or("-".to_owned(), |error| format!("{:+.1}", 100.0 * error))
            };
            let errors = &one.errors;
            let first = [one.point.to_string(), part.to_owned()];
            let figures = [micros(&one.point.figures), micros(&one.predicted)];
            let errors = [errors.mean, errors.p50, errors.p99, errors.iops].map(percent);
            table.add_row(first.into_iter().chain(figures).chain(errors));
        }
        table.align_right(2..);
        table
    }
}

/// How much is asked for at a point: requests outstanding, or arriving in a second.
fn load(point: &Point) -> Option<f64> {
    match point.operation.is_paced() {
        true => point.offered.map(|rate| rate.0),
        false => point.outstanding().map(f64::from),
    }
}

/// The numbers of outstanding requests that have marks.
fn powers() -> impl Iterator<Item = (f64, String)> {
    (0..=16).map(|power| 1_u32 << power).map(|depth| (f64::from(depth), depth.to_string()))
}

/// A figure over the load of a family; `None` where it was not measured.
fn picture(family: &Family, points: &[(&Prediction, bool)], shown: &Shown) -> Option<Svg> {
    let is_paced = family.operation.is_paced();
    let place = |one: &Prediction, figures: &Figures| {
        let value = (shown.value)(figures)?;
        Some((load(&one.point)?, value))
    };
    let measured = |is_held_out: bool| {
        let own = points.iter().filter(move |(_, held_out)| *held_out == is_held_out);
        own.filter_map(|(one, _)| place(one, &one.point.figures)).collect::<Vec<_>>()
    };
    let (fitted, held_out) = (measured(false), measured(true));
    if fitted.is_empty() && held_out.is_empty() {
        return None;
    }
    let predicted: Vec<(f64, f64)> =
        points.iter().filter_map(|(one, _)| place(one, &one.predicted)).collect();
    let axis = match is_paced {
        true => Axis::new("requests offered").in_unit("1/s"),
        // Depths double from point to point.
        false => Axis::new("requests outstanding").logarithmic().worded(powers()),
    };
    let y = Axis::new(shown.name).in_unit(shown.unit);
    let mut chart = Chart::new(format!("{family}: {}", shown.name), axis, y);
    chart.add(Series::line(predicted).named("predicted").coloured(0));
    chart.add(Series::dots(fitted).named("measured, fitted").coloured(1));
    chart.add(Series::rings(held_out).named("measured, held out").coloured(2));
    Some(chart.to_svg())
}
