//! Where the real drive and the predicted one fall behind paced loads, and how well reads are
//! predicted below that.

use super::{MeanErrors, Prediction};
use crate::load::{Grid, Load};
use crate::point::{Direction, PerSecond, Point};
use serde::Serialize;
use ssdtune_report::Table;

/// Where a drive collapses on a grid of loads, measured and predicted: the first load of which less
/// than 98 % is completed.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Collapse {
    /// Who measured the loads.
    pub source: String,
    /// Size of a request.
    pub block_bytes: u32,
    /// The loads: requests that arrive in a second, reads and writes together.
    pub loads: Vec<PerSecond>,
    /// The first load at which the real drive has collapsed; `None` if it keeps up with all.
    pub measured: Option<PerSecond>,
    /// The first load at which the predicted drive has collapsed.
    pub predicted: Option<PerSecond>,
    /// Steps of the grid from the measured to the predicted one, which is positive if the predicted
    /// drive keeps up with more.
    pub steps: i64,
    /// Mean absolute errors of reads at the loads below the measured collapse, first where they
    /// were fitted, then where they were held out.
    pub reads_below: Vec<MeanErrors>,
    /// Mean absolute errors of writes at the loads below the measured collapse, first where they
    /// were fitted, then where they were held out.
    pub writes_below: Vec<MeanErrors>,
}

impl Collapse {
    /// It as a sentence that states no measured figure.
    pub(super) fn words(&self) -> String {
        let steps = match (self.steps, self.measured) {
            (0, None) => "not within the loads, as measured".to_owned(),
            (0, Some(_)) => "predicted at the load at which it was measured".to_owned(),
            (steps, _) => {
                let way = if steps < 0 { "early" } else { "late" };
                let unit = if steps.abs() == 1 { "step" } else { "steps" };
                format!("predicted {} {unit} of the loads too {way}", steps.abs())
            }
        };
        let part = |errors: &MeanErrors| {
            let part = if errors.is_held_out { "held out" } else { "fitted" };
            let known = [("mean", errors.mean), ("p50", errors.p50), ("p99", errors.p99)];
            let known = known.iter().filter_map(|(name, error)| Some((name, (*error)?)));
            let words: Vec<String> =
                known.map(|(name, own)| format!("{name} {own:.1} %")).collect();
            format!("; reads below it, {part}: {}", words.join(", "))
        };
        let reads: String = self.reads_below.iter().map(part).collect();
        format!("Collapse under paced loads of {} B: {steps}{reads}.", self.block_bytes)
    }
}

/// The collapses on all grids of some points.
pub(super) fn all(fitted: &[Prediction], held_out: &[Prediction]) -> Vec<Collapse> {
    let both: Vec<&Prediction> = fitted.iter().chain(held_out).collect();
    let points: Vec<&Point> = both.iter().map(|one| &one.point).collect();
    let of = |grid: &Grid| {
        let first = |rate: &dyn Fn(usize) -> Option<f64>| {
            let loads = || grid.0.iter();
            let place = loads().position(|load| Load::has_collapsed(load.completed(&points, rate)));
            place.unwrap_or(grid.0.len())
        };
        let measured = first(&|at| both[at].point.figures.iops.map(|rate| rate.0));
        let predicted = first(&|at| both[at].predicted.iops.map(|rate| rate.0));
        let rate = |place: usize| grid.0.get(place).map(|load| PerSecond(load.arriving));
        let below: Vec<usize> =
            grid.0[..measured].iter().flat_map(|load| load.points.iter().copied()).collect();
        let errors = |direction: Direction| -> Vec<MeanErrors> {
            let part = |is_held_out: bool| {
                let is_it = |at: &&usize| {
                    points[**at].operation.direction() == direction
                        && (**at >= fitted.len()) == is_held_out
                };
                let own: Vec<&Prediction> =
                    below.iter().filter(is_it).map(|at| both[*at]).collect();
                let family = own.first()?.point.family();
                Some(MeanErrors::of(Some(family), is_held_out, &own))
            };
            [false, true].into_iter().filter_map(part).collect()
        };
        let first = grid.0.first().and_then(|load| load.points.first()).map(|at| points[*at])?;
        Some(Collapse {
            source: first.source.clone(),
            block_bytes: first.block_bytes,
            loads: grid.0.iter().map(|load| PerSecond(load.arriving)).collect(),
            measured: rate(measured),
            predicted: rate(predicted),
            steps: predicted as i64 - measured as i64,
            reads_below: errors(Direction::Read),
            writes_below: errors(Direction::Write),
        })
    };
    Grid::all(&points).iter().filter_map(of).collect()
}

/// Collapses as a table for people.
pub(super) fn table(collapses: &[Collapse]) -> Table {
    let mut table = Table::new(["loads of", "which", "measured", "predicted", "steps"]);
    let rate = |rate: Option<PerSecond>| {
        rate.map_or_else(|| "beyond the loads".to_owned(), |rate| format!("{:.0}/s", rate.0))
    };
    for one in collapses {
        let Collapse { source, block_bytes, measured, predicted, steps, .. } = one;
        let name = format!("{source} {block_bytes} B");
        let figures = [rate(*measured), rate(*predicted), format!("{steps:+}")];
        table.add_row([name, "collapse".to_owned()].into_iter().chain(figures));
    }
    table.align_right(2..);
    table
}

/// Errors below the collapse as a table for people.
pub(super) fn errors_table(collapses: &[Collapse]) -> Table {
    let mut table = Table::new(["below the collapse", "which", "points", "mean", "p50", "p99"]);
    let percent = |share: Option<f64>| share.map_or("-".to_owned(), |share| format!("{share:.1}"));
    for own in collapses.iter().flat_map(|one| one.reads_below.iter().chain(&one.writes_below)) {
        let MeanErrors { family, is_held_out, points, mean, p50, p99, .. } = own;
        let name = family.as_ref().map_or_else(String::new, ToString::to_string);
        let part = if *is_held_out { "held out" } else { "fitted" };
        let figures = [*mean, *p50, *p99].map(percent);
        let cells = [name, part.to_owned(), points.to_string()].into_iter().chain(figures);
        table.add_row(cells);
    }
    table.align_right(2..);
    table
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::errors::Errors;
    use crate::point::{Figures, Micros};
    use crate::read::parse;
    use std::path::Path;

    fn predictions(rows: &[(u32, f64, f64)]) -> Vec<Prediction> {
        let head = "op,rwmix_read,bs,iodepth,numjobs,offered_iops,iops,lat_mean_us,notes\n";
        let row = |&(offered, iops, _): &(u32, f64, f64)| {
            let (reads, writes) = (0.25 * iops, 0.75 * iops);
            let load = format!("25,4k,8,1,{offered}");
            format!("open-r,{load},{reads},100,\nopen-w,{load},{writes},100,\n")
        };
        let text = format!("{head}{}", rows.iter().map(row).collect::<String>());
        let points = parse(Path::new("p"), "rig", &text).unwrap();
        let one = |(at, point): (usize, Point)| {
            let share = if at % 2 == 0 { 0.25 } else { 0.75 };
            let iops = Some(PerSecond(share * rows[at / 2].2));
            let predicted = Figures { iops, mean: Some(Micros(110.0)), ..Figures::default() };
            Prediction { errors: Errors::of(&point, &predicted), predicted, point }
        };
        points.into_iter().enumerate().map(one).collect()
    }

    #[test]
    fn measured_and_predicted_collapse_are_compared_on_the_grid() {
        let fitted = predictions(&[(1_000, 1_000.0, 1_000.0), (3_000, 2_500.0, 2_960.0)]);
        let held = predictions(&[(2_000, 1_990.0, 1_990.0), (4_000, 2_500.0, 3_000.0)]);
        let found = all(&fitted, &held).remove(0);
        let rates = |rates: &[f64]| rates.iter().map(|rate| PerSecond(*rate)).collect::<Vec<_>>();
        assert_eq!(found.loads, rates(&[1e3, 2e3, 3e3, 4e3]));
        assert_eq!((found.measured, found.predicted), (Some(PerSecond(3e3)), Some(PerSecond(4e3))));
        assert_eq!(found.steps, 1);
        let [fitted, held] = &found.reads_below[..] else { panic!("{found:?}") };
        assert_eq!((fitted.points, held.points, held.is_held_out), (1, 1, true));
        assert!((held.mean.unwrap() - 10.0).abs() < 1e-9);
        let words = "predicted 1 step of the loads too late; reads below it, fitted: mean 10.0 %;";
        assert!(found.words().contains(words), "{}", found.words());
        assert!(table(&[found]).to_string().contains("3000/s"));
    }

    #[test]
    fn a_drive_that_keeps_up_has_not_collapsed() {
        let found = all(&predictions(&[(1_000, 1_000.0, 900.0), (2_000, 2_000.0, 900.0)]), &[]);
        let one = &found[0];
        assert_eq!((one.measured, one.predicted, one.steps), (None, Some(PerSecond(1e3)), -2));
        assert!(table(&found).to_string().contains("beyond the loads"));
        assert_eq!(one.reads_below[0].points, 2);
    }
}
