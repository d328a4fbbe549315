//! Completing a proposal that breaks the limits: other layout parameters change until the capacity
//! fits, or one DRAM size shrinks in favour of the other.

use super::Limits;
use crate::space::{DRAM, Point, Space};
use ssdtune_model::{CheckedConfig, DeviceConfig};

/// A proposal that keeps the limits.
#[derive(Clone, Debug)]
pub struct Feasible {
    /// The point in the space.
    pub point: Point,
    /// The drive.
    pub config: CheckedConfig,
}

/// The greatest number of completions returned for one change.
const COMPLETIONS: usize = 8;
/// The greatest number of completions checked for one change.
const LOOKED_AT: usize = 48;

impl Limits {
    /// The drive of a point, if it keeps the limits.
    pub fn feasible(&self, space: &Space, base: &DeviceConfig, point: &Point) -> Option<Feasible> {
        let config = self.check(&space.config(base, point)).ok()?;
        if !space.violations(base, point).is_empty() {
            return None;
        }
        Some(Feasible { point: point.clone(), config })
    }

    /// Drives that keep the limits and have the point's value on `axis`: the point itself if it
    /// keeps the limits, otherwise the nearest points with other values on up to two axes of the
    /// group of `axis`. Empty where there is no such drive.
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
        let point = &space.within_alternatives(point, Some(axis));
        let candidates = if self.capacity_axes(space).contains(&axis) {
            self.layouts(space, base, point, axis)
        } else if DRAM.contains(&space.axes()[axis].key()) {
            drams(space, point, axis)
        } else {
            vec![point.clone()]
        };
        let looked = candidates.iter().take(LOOKED_AT);
        looked.filter_map(|point| self.feasible(space, base, point)).take(COMPLETIONS).collect()
    }

    /// Points whose capacity fits and that differ from a point on one or two other layout axes,
    /// nearest first.
    fn layouts(&self, space: &Space, base: &DeviceConfig, at: &Point, axis: usize) -> Vec<Point> {
        let Some(wanted) = self.wanted_capacity() else { return Vec::new() };
        let tolerance = self.constraints.capacity_tolerance + 1e-9;
        let share = self.capacity_of(&space.config(base, at)).0 as f64 / wanted.0 as f64;
        let mut others = self.capacity_axes(space);
        others.retain(|other| *other != axis);
        // The capacity is a product of values, so a change multiplies it by a factor.
        let factor = |other: usize, rank: usize| {
            let axis = &space.axes()[other];
            self.capacity_factor(axis, rank as u16) / self.capacity_factor(axis, at.0[other])
        };
        let ranks = |other: usize| 0..space.axes()[other].count();
        let mut found: Vec<(u32, Point)> = Vec::new();
        let mut note = |moves: &[(usize, usize)]| {
            let mut point = at.clone();
            moves.iter().for_each(|(other, rank)| point.0[*other] = *rank as u16);
            found.push((space.manhattan(at, &point), point));
        };
        for (index, &first) in others.iter().enumerate() {
            for one in ranks(first) {
                let ratio = share * factor(first, one);
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

/// Points at which the other DRAM size is smaller, the largest of these sizes first.
fn drams(space: &Space, at: &Point, axis: usize) -> Vec<Point> {
    let other = DRAM.iter().filter_map(|key| space.axis(key)).find(|other| *other != axis);
    let Some(other) = other else { return Vec::new() };
    let lower = (0..at.0[other]).rev().map(|rank| {
        let mut point = at.clone();
        point.0[other] = rank;
        point
    });
    lower.collect()
}
