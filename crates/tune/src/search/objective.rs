//! The grade of a drive as a function that any optimiser may maximise.
//!
//! The algorithms of the search maximise this number too, but they leave runs out. Here the target
//! and every other workload are run in full: none on a prefix, none censored. An optimiser from
//! elsewhere gets the same numbers, so that it can be compared with the algorithms of the search,
//! or used instead of them.
//!
//! A point lists values of axes. What it does not list stays as in the baseline. Few combinations
//! of layout values have the wanted capacity, so [`Objective::repair`] moves a point to the nearest
//! one that keeps the limits, counted in steps on the axes. It also lowers DRAM sizes, the cache
//! last.
//!
//! Cost: one evaluation for each drive and workload.

use crate::aim::Aim;
use crate::breach::TraceSet;
use crate::error::TuneError;
use crate::evaluate::{CachedEvaluator, WorkloadMeasurement};
use crate::grade::Speedup;
use crate::interval::SpeedupInterval;
use crate::limits::Feasible;
use crate::moves::Moves;
use crate::space::{Axis, Label, Point};
use crate::task::Task;
use crate::workload::Workload;
use serde::Serialize;
use ssdtune_model::{CheckedConfig, DeviceConfig};
use std::collections::BTreeMap;

/// The grade of a drive and the figures it is made of.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Graded {
    /// The grade by formula 2; 0 is the baseline.
    pub grade: f64,
    /// The performance on the target by formula 1; 0 is the baseline.
    pub performance: f64,
    /// Speedup of the target.
    pub target: Speedup,
    /// Speedups of the other workloads, in their order.
    pub others: Vec<Speedup>,
    /// Where the speedups lie with 95 %, that of the target first. Empty if no workload is measured
    /// on windows; `None` for those that are not.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub intervals: Vec<Option<SpeedupInterval>>,
    /// Average power on the target in watt; `None` where the evaluator counts no energy.
    pub average_watts: Option<f64>,
    /// The gain in each aim that is known, as the logarithm of how many times better than the
    /// baseline the drive is on the target. For optimisers with several aims.
    pub gains: BTreeMap<Aim, f64>,
}

/// A drive that an optimiser from elsewhere proposes.
#[derive(Clone, Debug)]
pub struct Proposed {
    /// The drive.
    pub config: CheckedConfig,
    /// The values that the repair has changed, as texts by the keys of their axes.
    pub repaired: BTreeMap<String, String>,
}

/// What an optimiser from elsewhere needs to know about an axis of the space. Field names are part
/// of the result document.
#[derive(Clone, Debug, Serialize)]
pub struct AxisDescription {
    /// The key of the parameter in the catalogue, or the name of a choice.
    pub key: String,
    /// Whether the values are numbers, so that they have an order.
    pub ordered: bool,
    /// The sign of the unit; empty if there is none.
    pub unit: &'static str,
    /// The values that a point may have on the axis.
    pub values: Vec<Label>,
    /// The value of the baseline; `None` where the axis lacks it.
    pub baseline: Option<Label>,
}

impl AxisDescription {
    /// Descriptions of all axes of a task's space.
    pub fn of_task(task: &Task) -> Vec<Self> {
        let describe = |axis: &Axis| Self {
            key: axis.key().to_owned(),
            ordered: axis.is_numeric(),
            unit: axis.unit(),
            values: axis.labels().collect(),
            baseline: axis.rank_in(&task.base).map(|rank| axis.label(rank)),
        };
        task.space.axes().iter().map(describe).collect()
    }
}

/// The objective of a task: a function from drives to grades.
pub struct Objective<'a> {
    task: &'a Task,
    evaluator: &'a CachedEvaluator<'a>,
    moves: Moves<'a>,
    base_point: Point,
    /// Measurements of the baseline on the target, then on each other workload.
    baseline: Vec<WorkloadMeasurement>,
}

impl<'a> Objective<'a> {
    /// The objective of a task. The baseline is measured at once.
    ///
    /// # Errors
    /// The baseline cannot be measured or is not in the space.
    pub fn new(task: &'a Task, evaluator: &'a CachedEvaluator<'a>) -> Result<Self, TuneError> {
        let base_point = task.space.point(&task.base).ok_or(TuneError::Space)?;
        let workloads: Vec<&Workload> = task.workloads().collect();
        let baseline = task.baseline_on(&workloads, evaluator)?;
        let moves = Moves::of_task(task, &base_point);
        Ok(Self { task, evaluator, moves, base_point, baseline })
    }

    /// The point with these values, given as texts by the keys of axes. Axes that are not given are
    /// as in the baseline.
    ///
    /// # Errors
    /// A text that says which key or value is wrong, and what would be legal.
    pub fn point(&self, values: &BTreeMap<String, String>) -> Result<Point, String> {
        self.task.space.stated(&self.base_point, values)
    }

    /// Limits of a search that a drive breaks, in words.
    pub(super) fn broken_limits(&self, drive: &DeviceConfig) -> Vec<String> {
        let broken = self.task.limits.check(drive).err().unwrap_or_default();
        broken.iter().map(ToString::to_string).collect()
    }

    /// The drive of a point.
    ///
    /// # Errors
    /// A text that lists the limits that the drive breaks.
    pub fn drive(&self, point: &Point) -> Result<Feasible, String> {
        let Task { space, base, limits, .. } = self.task;
        let checked = limits.check(&space.config(base, point));
        let (config, mut broken) = match checked {
            Ok(config) => (Some(config), Vec::new()),
            Err(broken) => (None, broken),
        };
        broken.extend(space.violations(base, point));
        match config.filter(|_| broken.is_empty()) {
            Some(config) => Ok(Feasible { point: point.clone(), config }),
            None => {
                let all: Vec<String> = broken.iter().map(ToString::to_string).collect();
                Err(all.join("; "))
            }
        }
    }

    /// The drive of the nearest point that keeps the limits; `None` where none was found nearby.
    pub fn repair(&self, point: &Point) -> Option<Feasible> {
        self.moves.nearest(point)
    }

    /// The drive of a point. With `repair`, a point that breaks the limits is moved to the nearest
    /// one that keeps them.
    ///
    /// # Errors
    /// A text that says why there is no such drive.
    pub fn propose(&self, point: &Point, repair: bool) -> Result<Proposed, String> {
        let found = match self.drive(point) {
            Err(_) if repair => {
                let nearest = self.repair(point);
                nearest.ok_or_else(|| "no drive near it keeps the limits".to_owned())?
            }
            drive => drive?,
        };
        let axes = self.task.space.axes().iter().zip(found.point.0.iter().zip(&point.0));
        let changed = axes.filter(|(_, (rank, asked))| rank != asked);
        let repaired = changed
            .map(|(axis, (rank, _))| (axis.key().to_owned(), axis.label(*rank).to_string()))
            .collect();
        Ok(Proposed { config: found.config, repaired })
    }

    /// Grades drives, whether they are in the space or not. A drive that cannot serve one of the
    /// workloads, or that needs more power than allowed, gets the reason instead.
    ///
    /// # Errors
    /// The evaluator or AutoDB fails, or the caller asked to stop.
    pub fn grade(
        &self,
        drives: &[CheckedConfig],
    ) -> Result<Vec<Result<Graded, String>>, TuneError> {
        let workloads: Vec<&Workload> = self.task.workloads().collect();
        let questions: Vec<_> = (drives.iter())
            .flat_map(|drive| workloads.iter().map(move |workload| (drive, *workload)))
            .collect();
        let mut answers = self.evaluator.measure_workloads(&questions)?.into_iter();
        let of_drive = |drive: &CheckedConfig| {
            let measured: Vec<_> = answers.by_ref().take(workloads.len()).collect();
            self.graded(drive, measured.into_iter().collect::<Result<_, String>>()?)
        };
        Ok(drives.iter().map(of_drive).collect())
    }

    /// Requests simulated by this process so far.
    pub fn requests_simulated(&self) -> u64 {
        self.evaluator.counts().requests
    }

    fn graded(
        &self,
        drive: &CheckedConfig,
        measured: Vec<WorkloadMeasurement>,
    ) -> Result<Graded, String> {
        let average_watts = measured[0].average_watts();
        if let Some(breach) =
            average_watts.and_then(|watts| self.task.over_power(TraceSet::Search, watts))
        {
            return Err(breach.to_string());
        }
        let speedups = measured.iter().zip(&self.baseline);
        let mut others: Vec<Speedup> =
            speedups.map(|(drive, base)| drive.speedup_over(base)).collect();
        let target = others.remove(0);
        let weights = &self.task.weights;
        let performance = weights.performance(&target);
        let parts: Vec<f64> = others.iter().map(|speedup| weights.performance(speedup)).collect();
        let grade = weights.grade(performance, &parts);
        let each = self.task.workloads().zip(&measured).zip(&self.baseline);
        let mut intervals: Vec<Option<SpeedupInterval>> =
            each.map(|((workload, own), base)| SpeedupInterval::of(workload, own, base)).collect();
        if intervals.iter().all(Option::is_none) {
            intervals.clear();
        }
        let gains = self.gains(drive, &measured[0]);
        Ok(Graded { grade, performance, target, others, intervals, average_watts, gains })
    }

    /// The gains of a drive over the baseline, in every aim that is known of both.
    fn gains(&self, drive: &CheckedConfig, measured: &WorkloadMeasurement) -> BTreeMap<Aim, f64> {
        let prices = self.task.limits.prices.as_ref();
        let gain = |aim: Aim| {
            let own = aim.value(drive, measured, prices)?;
            Some((aim, aim.gain(own, aim.value(&self.task.base, &self.baseline[0], prices)?)))
        };
        Aim::ALL.into_iter().filter_map(gain).collect()
    }
}
