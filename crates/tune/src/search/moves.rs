//! Points near a point, and points anywhere: what algorithms choose from. Everything handed out keeps the
//! limits and is canonical (settings without effect stay as in the baseline).

use super::Task;
use crate::limits::Feasible;
use crate::space::{DRAM, LAYOUT, Point, number};
use rand::RngExt;
use rand_pcg::Pcg64Mcg;
use ssdtune_model::Bytes;
use std::collections::BTreeMap;

/// What every move needs.
pub(crate) struct Moves<'a> {
    task: &'a Task,
    base: Point,
    /// Ranks of every layout whose capacity fits, in the order of `layout_axes`.
    layouts: Vec<Vec<u16>>,
    layout_axes: Vec<usize>,
}

/// Attempts at a random point before a search calls its space exhausted.
const ATTEMPTS: usize = 400;
/// Layouts that a point is repaired with at most.
const NEAREST: usize = 8;
/// Layouts kept; a space with more is thinned evenly.
const LAYOUTS_MAX: usize = 200_000;

impl<'a> Moves<'a> {
    pub fn new(task: &'a Task, base: &Point) -> Self {
        let layout_axes: Vec<usize> =
            LAYOUT.iter().filter_map(|key| task.space.axis(key)).collect();
        let layouts = layouts(task, base, &layout_axes);
        Self { task, base: base.clone(), layouts, layout_axes }
    }

    fn finish(&self, feasible: Feasible) -> Option<Feasible> {
        let Task { space, base, limits, .. } = self.task;
        let point = space.canonical(base, &feasible.point, &self.base);
        if point == feasible.point {
            return Some(feasible);
        }
        limits.feasible(space, base, &point)
    }

    /// The point with one axis at another rank, completed.
    pub fn single(&self, from: &Point, axis: usize, rank: u16) -> Vec<Feasible> {
        let Task { space, base, limits, .. } = self.task;
        let mut point = from.clone();
        point.0[axis] = rank;
        let all = limits.complete(space, base, &point, axis);
        all.into_iter().filter_map(|feasible| self.finish(feasible)).collect()
    }

    /// Every neighbour of a point that differs on one of `axes`: the next value either way on ordered ones
    /// (all values if `far`), every other name or position on the rest.
    pub fn neighbours(
        &self,
        from: &Point,
        axes: &[usize],
        far: bool,
        into: &mut BTreeMap<Point, Feasible>,
    ) {
        for &axis in axes {
            let own = &self.task.space.axes()[axis];
            let (here, count) = (from.0[axis], own.values().len() as u16);
            let near = |rank: u16| far || !own.is_numeric() || rank.abs_diff(here) == 1;
            for rank in (0..count).filter(|rank| *rank != here && near(*rank)) {
                for feasible in self.single(from, axis, rank) {
                    into.entry(feasible.point.clone()).or_insert(feasible);
                }
            }
        }
    }

    /// A point with several axes moved at random, each at most `reach` of its range away; layouts change
    /// as a whole.
    pub fn jump(
        &self,
        from: &Point,
        axes: &[usize],
        reach: f64,
        rng: &mut Pcg64Mcg,
    ) -> Option<Feasible> {
        let Task { space, base, limits, .. } = self.task;
        let mut point = from.clone();
        for _ in 0..rng.random_range(1..=4_usize) {
            let axis = axes[rng.random_range(0..axes.len())];
            let own = &space.axes()[axis];
            let count = own.values().len();
            if self.layout_axes.contains(&axis) && !self.layouts.is_empty() {
                self.relayout(&mut point, reach, rng);
            } else if own.is_numeric() {
                let span = ((count - 1) as f64 * reach).ceil().max(1.0) as i64;
                let rank = i64::from(point.0[axis]) + rng.random_range(-span..=span);
                point.0[axis] = rank.clamp(0, count as i64 - 1) as u16;
            } else {
                point.0[axis] = rng.random_range(0..count) as u16;
            }
        }
        self.fit_dram(&mut point, rng);
        limits.feasible(space, base, &point).and_then(|feasible| self.finish(feasible))
    }

    /// Another layout: the nearest of some drawn ones, the fewer the wider the reach.
    fn relayout(&self, point: &mut Point, reach: f64, rng: &mut Pcg64Mcg) {
        let draws = (2.0 / reach.max(0.05)).ceil() as usize;
        let apart = |layout: &&Vec<u16>| -> u32 {
            let own = self.layout_axes.iter().zip(*layout);
            own.map(|(axis, rank)| u32::from(point.0[*axis].abs_diff(*rank))).sum()
        };
        let drawn = (0..draws).map(|_| &self.layouts[rng.random_range(0..self.layouts.len())]);
        if let Some(layout) = drawn.filter(|layout| apart(layout) > 0).min_by_key(apart) {
            for (axis, rank) in self.layout_axes.iter().zip(layout) {
                point.0[*axis] = *rank;
            }
        }
    }

    /// Lowers one of the DRAM sizes, drawn, until the budget holds.
    fn fit_dram(&self, point: &mut Point, rng: &mut Pcg64Mcg) {
        let space = &self.task.space;
        let axes: Vec<usize> = DRAM.iter().filter_map(|key| space.axis(key)).collect();
        let Some(most) = self.task.limits.constraints.dram_budget else { return };
        if axes.is_empty() {
            return;
        }
        let first = rng.random_range(0..axes.len());
        self.lower_dram(point, most, axes[first..].iter().chain(&axes[..first]).copied());
    }

    /// Lowers DRAM sizes, the first axis first, until the budget holds.
    fn lower_dram(&self, point: &mut Point, most: Bytes, axes: impl Iterator<Item = usize>) {
        let space = &self.task.space;
        for axis in axes {
            let dram = |point: &Point| {
                let config = space.config(&self.task.base, point);
                ssdtune_model::ledger::Memory::of(&config).drive_dram_bytes
            };
            while point.0[axis] > 0 && dram(point) > most {
                point.0[axis] -= 1;
            }
        }
    }

    /// The nearest point that keeps the limits: another layout if the capacity asks for one, in steps of the
    /// axes, and less DRAM; where that is not enough one other axis as in the baseline, or all of them. `None`
    /// where none of the nearest layouts will do.
    pub fn nearest(&self, point: &Point) -> Option<Feasible> {
        let space = &self.task.space;
        if let Some(found) = self.fitted(point) {
            return Some(found);
        }
        let apart = |layout: &Vec<u16>| -> u32 {
            let own = self.layout_axes.iter().zip(layout);
            own.map(|(axis, rank)| u32::from(point.0[*axis].abs_diff(*rank))).sum()
        };
        let with = |point: &Point, layout: &[u16]| {
            let mut other = point.clone();
            for (axis, rank) in self.layout_axes.iter().zip(layout) {
                other.0[*axis] = *rank;
            }
            self.fitted(&other)
        };
        let mut order: Vec<(u32, &Vec<u16>)> =
            self.layouts.iter().map(|layout| (apart(layout), layout)).collect();
        order.sort_unstable();
        // Of many layouts the capacity fits and a limit on chips or planes does not.
        let near: Vec<&Vec<u16>> = (order.into_iter().map(|(_, layout)| layout))
            .filter(|layout| with(&self.base, layout).is_some())
            .take(NEAREST)
            .collect();
        let relaid = |point: &Point| near.iter().find_map(|layout| with(point, layout));
        let rest: Vec<usize> =
            (0..space.axes().len()).filter(|axis| !self.layout_axes.contains(axis)).collect();
        let back = |axes: &[usize]| {
            let mut other = point.clone();
            axes.iter().for_each(|axis| other.0[*axis] = self.base.0[*axis]);
            relaid(&other)
        };
        let alone = || rest.iter().find_map(|axis| back(&[*axis]));
        relaid(point).or_else(alone).or_else(|| back(&rest))
    }

    /// The point with DRAM sizes that fit, if it then keeps the limits.
    fn fitted(&self, point: &Point) -> Option<Feasible> {
        let Task { space, base, limits, .. } = self.task;
        let mut point = point.clone();
        if let Some(most) = limits.constraints.dram_budget {
            let axes = DRAM.iter().rev().filter_map(|key| space.axis(key));
            self.lower_dram(&mut point, most, axes);
        }
        limits.feasible(space, base, &point).and_then(|feasible| self.finish(feasible))
    }

    /// A point drawn from the whole space.
    pub fn anywhere(&self, rng: &mut Pcg64Mcg) -> Option<Feasible> {
        let Task { space, base, limits, .. } = self.task;
        for _ in 0..ATTEMPTS {
            let ranks = space.axes().iter().map(|axis| rng.random_range(0..axis.values().len()));
            let mut point = Point(ranks.map(|rank| rank as u16).collect());
            if !self.layouts.is_empty() {
                let layout = &self.layouts[rng.random_range(0..self.layouts.len())];
                for (axis, rank) in self.layout_axes.iter().zip(layout) {
                    point.0[*axis] = *rank;
                }
            }
            self.fit_dram(&mut point, rng);
            let feasible = limits.feasible(space, base, &point);
            if let Some(found) = feasible.and_then(|feasible| self.finish(feasible)) {
                return Some(found);
            }
        }
        None
    }
}

/// Every combination of layout values whose raw capacity fits and that keeps the limits of the layout.
fn layouts(task: &Task, base: &Point, axes: &[usize]) -> Vec<Vec<u16>> {
    let Some(wanted) = task.limits.constraints.capacity else { return Vec::new() };
    let tolerance = task.limits.constraints.capacity_tolerance + 1e-9;
    let values = |axis: usize| task.space.axes()[axis].values();
    let product: f64 =
        axes.iter().map(|axis| number(values(*axis)[usize::from(base.0[*axis])])).product();
    let raw = task.base.geometry().raw_capacity().0 as f64;
    // What a product of the six numbers means in capacities wanted.
    let unit = raw / product / wanted.0 as f64;
    let mut partial: Vec<(f64, Vec<u16>)> = vec![(unit, Vec::new())];
    for (place, axis) in axes.iter().enumerate() {
        // What the axes to come can multiply by, at least and at most.
        let rest = |pick: fn(f64, f64) -> f64, start: f64| -> f64 {
            let own =
                |axis: &usize| values(*axis).iter().map(|value| number(*value)).fold(start, pick);
            axes[place + 1..].iter().map(own).product()
        };
        let (least, most) = (rest(f64::min, f64::INFINITY), rest(f64::max, 0.0));
        let mut longer = Vec::new();
        for (factor, ranks) in partial {
            for (rank, value) in values(*axis).iter().enumerate() {
                let factor = factor * number(*value);
                if factor * least > 1.0 + tolerance || factor * most < 1.0 - tolerance {
                    continue;
                }
                let mut ranks = ranks.clone();
                ranks.push(rank as u16);
                longer.push((factor, ranks));
            }
        }
        partial = longer;
    }
    let thin = partial.len().div_ceil(LAYOUTS_MAX).max(1);
    partial.into_iter().step_by(thin).map(|(_, ranks)| ranks).collect()
}
