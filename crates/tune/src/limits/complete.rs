//! Completing a proposal: other layout parameters follow until the capacity fits, one DRAM size
//! gives way to the other.

use super::Limits;
use crate::space::{DRAM, LAYOUT, Point, Space, number};
use ssdtune_model::{CheckedConfig, DeviceConfig};

/// A proposal that keeps the limits.
#[derive(Clone, Debug)]
pub struct Feasible {
    /// Where.
    pub point: Point,
    /// The drive.
    pub config: CheckedConfig,
}

/// Completions handed out for one change.
const COMPLETIONS: usize = 8;
/// Completions looked at for one change; each costs a check.
const LOOKED_AT: usize = 48;

impl Limits {
    /// A point as it is, if it keeps the limits.
    pub fn feasible(&self, space: &Space, base: &DeviceConfig, point: &Point) -> Option<Feasible> {
        let config = self.check(&space.config(base, point)).ok()?;
        Some(Feasible { point: point.clone(), config })
    }

    /// Points that keep the limits and have `axis` where `point` has it: the point itself if it
    /// does, otherwise the nearest with up to two other axes of the same group moved. Empty where
    /// there is none.
    pub fn complete(
        &self,
        space: &Space,
        base: &DeviceConfig,
        point: &Point,
        axis: usize,
    ) -> Vec<Feasible> {
        if let Some(whole) = self.feasible(space, base, point) {
            return vec![whole];
        }
        let key = space.axes()[axis].key();
        let candidates = if LAYOUT.contains(&key) {
            self.layouts(space, base, point, axis)
        } else if DRAM.contains(&key) {
            drams(space, point, axis)
        } else {
            Vec::new()
        };
        let looked = candidates.iter().take(LOOKED_AT);
        looked.filter_map(|point| self.feasible(space, base, point)).take(COMPLETIONS).collect()
    }

    /// Layouts with one or two other axes moved whose capacity fits, nearest first.
    fn layouts(&self, space: &Space, base: &DeviceConfig, at: &Point, axis: usize) -> Vec<Point> {
        let Some(wanted) = self.constraints.capacity else { return Vec::new() };
        let tolerance = self.constraints.capacity_tolerance + 1e-9;
        let raw = space.config(base, at).geometry().raw_capacity().0 as f64 / wanted.0 as f64;
        let others: Vec<usize> =
            LAYOUT.iter().filter_map(|key| space.axis(key)).filter(|own| *own != axis).collect();
        // Capacity is a product: what a move does to it is a factor.
        let factor = |own: usize, rank: usize| {
            let values = space.axes()[own].values();
            number(values[rank]) / number(values[usize::from(at.0[own])])
        };
        let ranks = |own: usize| 0..space.axes()[own].values().len();
        let mut found: Vec<(u32, Point)> = Vec::new();
        let mut note = |moves: &[(usize, usize)]| {
            let mut point = at.clone();
            moves.iter().for_each(|(own, rank)| point.0[*own] = *rank as u16);
            found.push((space.manhattan(at, &point), point));
        };
        for (index, &first) in others.iter().enumerate() {
            for one in ranks(first) {
                let ratio = raw * factor(first, one);
                if (ratio - 1.0).abs() <= tolerance {
                    note(&[(first, one)]);
                }
                if one == usize::from(at.0[first]) {
                    continue;
                }
                for &second in &others[index + 1..] {
                    for two in ranks(second).filter(|two| *two != usize::from(at.0[second])) {
                        if (ratio * factor(second, two) - 1.0).abs() <= tolerance {
                            note(&[(first, one), (second, two)]);
                        }
                    }
                }
            }
        }
        found.sort();
        found.dedup();
        found.into_iter().map(|(_, point)| point).collect()
    }
}

/// The other DRAM size at every value below its own, largest first.
fn drams(space: &Space, at: &Point, axis: usize) -> Vec<Point> {
    let other = DRAM.iter().filter_map(|key| space.axis(key)).find(|own| *own != axis);
    let Some(other) = other else { return Vec::new() };
    let lower = (0..at.0[other]).rev().map(|rank| {
        let mut point = at.clone();
        point.0[other] = rank;
        point
    });
    lower.collect()
}
