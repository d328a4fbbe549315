//! The loads of paced points, and where a drive falls behind them.
//!
//! The loads of one source that differ only in their rate are a grid. A drive has collapsed at a
//! load if it completes less than 98 % of the requests that arrive, reads and writes together.

use crate::point::{Direction, Point};
use std::collections::BTreeMap;

/// The share of what arrives below which a drive has collapsed.
const COMPLETED: f64 = 0.98;

/// One load: the points at it, by their places in the list that they came from.
#[derive(Clone, Debug, Default)]
pub(crate) struct Load {
    /// Requests that arrive in a second, reads and writes together.
    pub(crate) arriving: f64,
    pub(crate) points: Vec<usize>,
}

/// The loads of one source, in ascending order.
#[derive(Clone, Debug, Default)]
pub(crate) struct Grid(pub(crate) Vec<Load>);

impl Grid {
    /// The grids of some points.
    pub(crate) fn all(points: &[&Point]) -> Vec<Self> {
        let mut grids: BTreeMap<String, BTreeMap<u64, Load>> = BTreeMap::new();
        for (at, point) in points.iter().enumerate() {
            let Some(arriving) = point.arriving() else { continue };
            let Point { source, drive, block_bytes, iodepth, numjobs, timed, .. } = point;
            let name = format!("{source}|{drive:?}|{block_bytes}|{iodepth:?}|{numjobs}|{timed:?}");
            // Rates are positive, so their bits are in their order.
            let loads = grids.entry(name).or_default();
            let load = loads.entry(arriving.0.to_bits()).or_default();
            load.arriving = arriving.0;
            load.points.push(at);
        }
        grids.into_values().map(|loads| Self(loads.into_values().collect())).collect()
    }
}

impl Load {
    /// The share of what arrives that is completed, where `rate` says how much of its direction is
    /// completed at a point. Repeats count in the mean. `None` where reads or writes are not known.
    pub(crate) fn completed(
        &self,
        points: &[&Point],
        rate: impl Fn(usize) -> Option<f64>,
    ) -> Option<f64> {
        let mean = |direction| {
            let own =
                self.points.iter().filter(|at| points[**at].operation.direction() == direction);
            let rates: Vec<f64> = own.filter_map(|at| rate(*at)).collect();
            (!rates.is_empty()).then(|| rates.iter().sum::<f64>() / rates.len() as f64)
        };
        let flows = points[*self.points.first()?].flows();
        let reads: f64 = flows.iter().map(|flow| flow.rate * flow.read_share).sum();
        // A direction of which nothing arrives need not be there.
        let known = |direction, arriving: f64| {
            if arriving > 0.0 { mean(direction) } else { Some(0.0) }
        };
        let all = known(Direction::Read, reads)? + known(Direction::Write, self.arriving - reads)?;
        Some(all / self.arriving)
    }

    /// Whether so little is completed that the drive has collapsed.
    pub(crate) fn has_collapsed(completed: Option<f64>) -> bool {
        completed.is_some_and(|share| share < COMPLETED)
    }
}

/// The points without those at loads at which the real drive has collapsed, but for the heaviest of
/// them: a drive that is overloaded does the same whatever more it is asked for, and a simulated
/// one that can do too much shows it there.
pub(crate) fn telling(points: &[Point]) -> Vec<Point> {
    let (all, overloaded) = (points.iter().collect::<Vec<_>>(), overloaded(points));
    let mut tells = vec![true; points.len()];
    for grid in Grid::all(&all) {
        let beyond = grid.0.iter().rev().filter(|load| overloaded[load.points[0]]).skip(1);
        beyond.flat_map(|load| &load.points).for_each(|at| tells[*at] = false);
    }
    points.iter().zip(tells).filter(|(_, tells)| *tells).map(|(point, _)| point.clone()).collect()
}

/// Which points are at loads at which the real drive has collapsed.
pub(crate) fn overloaded(points: &[Point]) -> Vec<bool> {
    let all: Vec<&Point> = points.iter().collect();
    let mut overloaded = vec![false; points.len()];
    for load in Grid::all(&all).iter().flat_map(|grid| &grid.0) {
        let completed = load.completed(&all, |at| points[at].figures.iops.map(|rate| rate.0));
        if Load::has_collapsed(completed) {
            load.points.iter().for_each(|at| overloaded[*at] = true);
        }
    }
    overloaded
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::read::parse;
    use std::path::Path;

    #[test]
    fn a_drive_has_collapsed_where_less_is_completed_than_arrives() {
        let rows = [(1000, 250, 750), (2000, 500, 1465), (3000, 700, 2100), (4000, 700, 2100)];
        let row = |(rate, reads, writes): (u32, u32, u32)| {
            format!("open-r,25,4k,8,2,{rate},{reads}\nopen-w,25,4k,8,2,{rate},{writes}\n")
        };
        let rows: String = rows.map(row).concat();
        let head = "op,rwmix_read,bs,iodepth,numjobs,offered_iops,iops\n";
        let text = format!("{head}{rows}open-r,25,4k,8,2,5000,600\nrandread,100,4k,8,2,,10\n");
        let points = parse(Path::new("p"), "rig", &text).unwrap();
        let yes = [false, false, false, false, true, true, true, true, false, false];
        assert_eq!(overloaded(&points), yes);
        let told: Vec<String> = telling(&points).into_iter().map(|point| point.at).collect();
        let kept = [0, 1, 2, 3, 6, 7, 8, 9].map(|at: usize| points[at].at.clone());
        assert_eq!(told, kept);
        let all: Vec<&Point> = points.iter().collect();
        let grids = Grid::all(&all);
        let rates: Vec<f64> = grids[0].0.iter().map(|load| load.arriving).collect();
        assert_eq!((grids.len(), rates), (1, vec![1e3, 2e3, 3e3, 4e3, 5e3]));
        let share = grids[0].0[1].completed(&all, |at| points[at].figures.iops.map(|rate| rate.0));
        assert!((share.unwrap() - 0.9825).abs() < 1e-12);
    }
}
