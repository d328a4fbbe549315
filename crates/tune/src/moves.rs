//! Candidates for algorithms to choose from: points near a point, and random points of the space.
//!
//! Every drive handed out keeps the limits, and its point is canonical: a setting without effect is
//! as in the baseline.
//!
//! Cost: making [`Moves`] enumerates the layouts of the right capacity, some milliseconds; a move
//! costs some hundred microseconds.

use crate::limits::{Feasible, Limits};
use crate::space::{Point, Space};
use crate::task::Task;
use rand::RngExt;
use rand_pcg::Pcg64Mcg;
use ssdtune_model::ledger::Memory;
use ssdtune_model::{Bytes, CheckedConfig};
use std::collections::BTreeMap;

/// Attempts at a random point before a search calls its space exhausted.
const ATTEMPTS: usize = 400;
/// The greatest number of layouts that are tried to repair a point.
const NEAREST: usize = 8;
/// The greatest number of layouts kept. Of more, evenly spaced ones are kept.
const LAYOUTS_MAX: usize = 200_000;

/// Makes points of a space.
pub(crate) struct Moves<'a> {
    space: &'a Space,
    limits: &'a Limits,
    base: &'a CheckedConfig,
    base_point: Point,
    /// Ranks of every layout whose capacity fits, in the order of `layout_axes`.
    layouts: Vec<Vec<u16>>,
    /// The axes that change the capacity: channels, chips, dies and so on.
    layout_axes: Vec<usize>,
}

impl<'a> Moves<'a> {
    /// Moves within the space and the limits of a task, whose baseline lies at `base_point`.
    pub fn of_task(task: &'a Task, base_point: &Point) -> Self {
        Self::new(&task.space, &task.limits, &task.base, base_point)
    }

    /// Moves within a space and limits. The baseline lies at `base_point`.
    pub fn new(
        space: &'a Space,
        limits: &'a Limits,
        base: &'a CheckedConfig,
        base_point: &Point,
    ) -> Self {
        let layout_axes = limits.capacity_axes(space);
        let base_point = base_point.clone();
        let layouts = Vec::new();
        let moves = Self { space, limits, base, base_point, layouts, layout_axes };
        Self { layouts: moves.fitting_layouts(), ..moves }
    }

    /// The drive of a point, with what its alternatives limit lowered to what they allow, if it
    /// keeps the limits. Its point becomes canonical.
    fn feasible(&self, point: &Point) -> Option<Feasible> {
        let point = self.space.within_alternatives(point, None);
        let found = self.limits.feasible(self.space, self.base, &point)?;
        self.canonical(found)
    }

    fn canonical(&self, found: Feasible) -> Option<Feasible> {
        let point = self.space.canonical(self.base, &found.point, &self.base_point);
        if point == found.point {
            return Some(found);
        }
        self.limits.feasible(self.space, self.base, &point)
    }

    /// The drives nearest to a point when one axis is set to another rank and other axes follow as
    /// the limits ask.
    pub fn single(&self, from: &Point, axis: usize, rank: u16) -> Vec<Feasible> {
        let mut point = from.clone();
        point.0[axis] = rank;
        let all = self.limits.complete(self.space, self.base, &point, axis);
        all.into_iter().filter_map(|found| self.canonical(found)).collect()
    }

    /// Adds every neighbour of a point that differs on one of `axes`, by any number of values.
    pub fn neighbours(&self, from: &Point, axes: &[usize], into: &mut BTreeMap<Point, Feasible>) {
        for &axis in axes {
            let (here, count) = (from.0[axis], self.space.axes()[axis].count() as u16);
            for rank in (0..count).filter(|rank| *rank != here) {
                for found in self.single(from, axis, rank) {
                    into.entry(found.point.clone()).or_insert(found);
                }
            }
        }
    }

    /// A point with up to four of `axes` moved at random, each by at most the share `reach` of its
    /// length. A layout changes as a whole.
    pub fn jump(
        &self,
        from: &Point,
        axes: &[usize],
        reach: f64,
        rng: &mut Pcg64Mcg,
    ) -> Option<Feasible> {
        let mut point = from.clone();
        for _ in 0..rng.random_range(1..=4_usize) {
            let axis = axes[rng.random_range(0..axes.len())];
            let chosen = &self.space.axes()[axis];
            let count = chosen.count();
            if self.layout_axes.contains(&axis) && !self.layouts.is_empty() {
                self.jump_layout(&mut point, reach, rng);
            } else if chosen.is_numeric() {
                let span = ((count - 1) as f64 * reach).ceil().max(1.0) as i64;
                let rank = i64::from(point.0[axis]) + rng.random_range(-span..=span);
                point.0[axis] = rank.clamp(0, count as i64 - 1) as u16;
            } else {
                point.0[axis] = rng.random_range(0..count) as u16;
            }
        }
        self.fit_dram(&mut point, rng);
        self.feasible(&point)
    }

    /// A point that has each value from one of two others. A layout comes as a whole.
    pub fn cross(&self, a: &Point, b: &Point, rng: &mut Pcg64Mcg) -> Option<Feasible> {
        let layout = if rng.random() { a } else { b };
        let mut point = a.clone();
        for axis in 0..point.0.len() {
            let from = match self.layout_axes.contains(&axis) {
                true => layout,
                false if rng.random() => a,
                false => b,
            };
            point.0[axis] = from.0[axis];
        }
        self.fit_dram(&mut point, rng);
        self.feasible(&point)
    }

    /// Two points that differ from one on all of `axes`, to either side of it where there are
    /// values on both sides, by `reach` of the values there at most. The layout stays.
    pub fn to_both_sides(
        &self,
        from: &Point,
        axes: &[usize],
        reach: f64,
        rng: &mut Pcg64Mcg,
    ) -> Vec<Feasible> {
        let step = |rng: &mut Pcg64Mcg, values: u16| {
            let most = (f64::from(values) * reach).ceil() as u16;
            (values > 0).then(|| rng.random_range(1..=most.clamp(1, values)))
        };
        for _ in 0..ATTEMPTS {
            let mut both = [from.clone(), from.clone()];
            for &axis in axes.iter().filter(|axis| !self.layout_axes.contains(axis)) {
                let (here, count) = (from.0[axis], self.space.axes()[axis].count() as u16);
                let below = step(rng, here).map(|step| here - step);
                let above = step(rng, count - 1 - here).map(|step| here + step);
                let first = rng.random_range(0..2_usize);
                both[first].0[axis] = below.or(above).unwrap_or(here);
                both[1 - first].0[axis] = above.or(below).unwrap_or(here);
            }
            both.iter_mut().for_each(|point| self.fit_dram(point, rng));
            let found = both.iter().filter_map(|point| self.feasible(point));
            let found: Vec<Feasible> = found.collect();
            if found.len() == both.len() {
                return found;
            }
        }
        Vec::new()
    }

    /// Gives a point another layout: the nearest of a few random ones. A wider reach draws fewer.
    fn jump_layout(&self, point: &mut Point, reach: f64, rng: &mut Pcg64Mcg) {
        let draws = (2.0 / reach.max(0.05)).ceil() as usize;
        let drawn = (0..draws).map(|_| &self.layouts[rng.random_range(0..self.layouts.len())]);
        let others = drawn.filter(|layout| self.steps_to(point, layout) > 0);
        if let Some(layout) = others.min_by_key(|layout| self.steps_to(point, layout)) {
            self.set_layout(point, layout);
        }
    }

    /// Steps on the layout axes between a point and a layout.
    fn steps_to(&self, point: &Point, layout: &[u16]) -> u32 {
        let each = self.layout_axes.iter().zip(layout);
        each.map(|(axis, rank)| u32::from(point.0[*axis].abs_diff(*rank))).sum()
    }

    fn set_layout(&self, point: &mut Point, layout: &[u16]) {
        for (axis, rank) in self.layout_axes.iter().zip(layout) {
            point.0[*axis] = *rank;
        }
    }

    /// Lowers the DRAM sizes, a random one first, until the budget holds.
    fn fit_dram(&self, point: &mut Point, rng: &mut Pcg64Mcg) {
        let axes = self.space.dram_axes();
        let Some(budget) = self.limits.constraints.dram_budget else { return };
        if axes.is_empty() {
            return;
        }
        let first = rng.random_range(0..axes.len());
        self.lower_dram(point, budget, axes[first..].iter().chain(&axes[..first]).copied());
    }

    /// Lowers DRAM sizes, those of the first axis first, until the budget holds.
    fn lower_dram(&self, point: &mut Point, budget: Bytes, axes: impl Iterator<Item = usize>) {
        let dram =
            |point: &Point| Memory::of(&self.space.config(self.base, point)).drive_dram_bytes;
        for axis in axes {
            while point.0[axis] > 0 && dram(point) > budget {
                point.0[axis] -= 1;
            }
        }
    }

    /// The point nearest to a given one that keeps the limits. DRAM is lowered first; then the
    /// nearest layouts are tried, by steps on the axes; then one further axis is set as in the
    /// baseline; then all of them. `None` where none of this keeps the limits.
    pub fn nearest(&self, point: &Point) -> Option<Feasible> {
        if let Some(found) = self.with_less_dram(point) {
            return Some(found);
        }
        let with = |point: &Point, layout: &[u16]| {
            let mut other = point.clone();
            self.set_layout(&mut other, layout);
            self.with_less_dram(&other)
        };
        let mut order: Vec<(u32, &Vec<u16>)> =
            self.layouts.iter().map(|layout| (self.steps_to(point, layout), layout)).collect();
        order.sort_unstable();
        // The capacity of a layout may fit and a limit on chips or planes may not.
        let near: Vec<&Vec<u16>> = (order.into_iter().map(|(_, layout)| layout))
            .filter(|layout| with(&self.base_point, layout).is_some())
            .take(NEAREST)
            .collect();
        let with_any = |point: &Point| near.iter().find_map(|layout| with(point, layout));
        let rest: Vec<usize> =
            (0..self.space.axes().len()).filter(|axis| !self.layout_axes.contains(axis)).collect();
        let with_baseline_on = |axes: &[usize]| {
            let mut other = point.clone();
            axes.iter().for_each(|axis| other.0[*axis] = self.base_point.0[*axis]);
            with_any(&other)
        };
        let one_axis = || rest.iter().find_map(|axis| with_baseline_on(&[*axis]));
        with_any(point).or_else(one_axis).or_else(|| with_baseline_on(&rest))
    }

    /// The point with DRAM sizes lowered to the budget, the cache last, if it then keeps the
    /// limits.
    fn with_less_dram(&self, point: &Point) -> Option<Feasible> {
        let mut point = point.clone();
        if let Some(budget) = self.limits.constraints.dram_budget {
            self.lower_dram(&mut point, budget, self.space.dram_axes().into_iter().rev());
        }
        self.feasible(&point)
    }

    /// A point drawn from the whole space; `None` where no draw keeps the limits.
    pub fn anywhere(&self, rng: &mut Pcg64Mcg) -> Option<Feasible> {
        for _ in 0..ATTEMPTS {
            let axes = self.space.axes().iter();
            let ranks = axes.map(|axis| rng.random_range(0..axis.count()));
            let mut point = Point(ranks.map(|rank| rank as u16).collect());
            if !self.layouts.is_empty() {
                let layout = &self.layouts[rng.random_range(0..self.layouts.len())];
                self.set_layout(&mut point, layout);
            }
            self.fit_dram(&mut point, rng);
            if let Some(found) = self.feasible(&point) {
                return Some(found);
            }
        }
        None
    }

    /// Every combination of layout values whose capacity is the wanted one.
    fn fitting_layouts(&self) -> Vec<Vec<u16>> {
        let Some(wanted) = self.limits.wanted_capacity() else { return Vec::new() };
        let tolerance = self.limits.constraints.capacity_tolerance + 1e-9;
        let axes = &self.layout_axes;
        let ranks = |axis: usize| 0..self.space.axes()[axis].count() as u16;
        let value =
            |axis: usize, rank: u16| self.limits.capacity_factor(&self.space.axes()[axis], rank);
        let values = |axis: usize| ranks(axis).map(move |rank| value(axis, rank));
        let product: f64 = axes.iter().map(|axis| value(*axis, self.base_point.0[*axis])).product();
        let own = self.limits.capacity_of(self.base).0 as f64;
        // The share of the wanted capacity that a product of 1 stands for.
        let unit = own / product / wanted.0 as f64;
        let mut partial: Vec<(f64, Vec<u16>)> = vec![(unit, Vec::new())];
        for (place, axis) in axes.iter().enumerate() {
            // What the axes to come multiply by, at least and at most.
            let rest = |pick: fn(f64, f64) -> f64, start: f64| -> f64 {
                axes[place + 1..].iter().map(|axis| values(*axis).fold(start, pick)).product()
            };
            let (least, most) = (rest(f64::min, f64::INFINITY), rest(f64::max, 0.0));
            let mut longer = Vec::new();
            for (factor, ranks) in partial {
                for (rank, value) in values(*axis).enumerate() {
                    let factor = factor * value;
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
}
