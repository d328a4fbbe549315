//! The grade as a function that anybody may minimise: drives, or points of the space, against the baseline.
//!
//! This is what the algorithms of this module look at, without what they leave out: the target
//! and every other workload are run in full, none on a prefix, none censored. An optimiser from elsewhere gets
//! the very same numbers, so that it can be compared, or used.
//!
//! A point lists values of axes; what it does not list stays as in the baseline. Few combinations of layout
//! values have the wanted capacity, so [`Objective::repair`] moves a point to the nearest one that keeps the
//! limits (measured in steps of the axes; DRAM sizes are lowered, the cache last).

use super::{Moves, SearchError, Task};
use crate::evaluate::{CachedEvaluator, WorkloadMeasurement};
use crate::grade::Speedup;
use crate::limits::Feasible;
use crate::space::Point;
use crate::workload::Workload;
use serde::Serialize;
use ssdtune_model::CheckedConfig;
use std::collections::BTreeMap;

/// What a drive is worth.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Graded {
    /// Formula 2; 0 is the baseline.
    pub grade: f64,
    /// Formula 1 of the target.
    pub performance: f64,
    /// Speedup of the target.
    pub target: Speedup,
    /// Speedups of the other workloads, in their order.
    pub others: Vec<Speedup>,
    /// Average power on the target in watt, where the evaluator counts energy.
    pub average_watts: Option<f64>,
}

/// A task as a function of drives.
pub struct Objective<'a> {
    task: &'a Task,
    cached: &'a CachedEvaluator<'a>,
    moves: Moves<'a>,
    base_point: Point,
    /// Of the target, then of each other workload.
    baseline: Vec<WorkloadMeasurement>,
}

impl<'a> Objective<'a> {
    /// Measures the baseline.
    ///
    /// # Errors
    /// The baseline cannot be measured or is not in the space.
    pub fn new(task: &'a Task, cached: &'a CachedEvaluator<'a>) -> Result<Self, SearchError> {
        let base_point = task.space.point(&task.base).ok_or(SearchError::Space)?;
        let workloads = workloads(task);
        let questions: Vec<_> = workloads.iter().map(|own| (&task.base, *own)).collect();
        let answers = cached.measure_workloads(&questions)?.into_iter().zip(&workloads);
        let one = |(answer, workload): (Result<WorkloadMeasurement, String>, &&Workload)| {
            let name = || workload.name.clone();
            answer.map_err(|reason| SearchError::Baseline { workload: name(), reason })
        };
        let baseline = answers.map(one).collect::<Result<_, SearchError>>()?;
        let moves = Moves::new(task, &base_point);
        Ok(Self { task, cached, moves, base_point, baseline })
    }

    /// The point with these values, by the keys of axes.
    ///
    /// # Errors
    /// What is wrong and what would be right, for people.
    pub fn point(&self, values: &BTreeMap<String, String>) -> Result<Point, String> {
        let space = &self.task.space;
        let mut point = self.base_point.clone();
        for (key, text) in values {
            let axis = space.axis(key).ok_or_else(|| {
                let all: Vec<&str> = space.axes().iter().map(|axis| axis.key()).collect();
                format!("{key} is no axis of the space {}: {}", space.name, all.join(", "))
            })?;
            let own = &space.axes()[axis];
            let value = own.row().parse(text).ok();
            let rank = own.values().iter().position(|legal| Some(*legal) == value);
            let rank = rank.ok_or_else(|| {
                let all: Vec<String> = own.values().iter().map(ToString::to_string).collect();
                format!("{key} = {text}: legal are {}", all.join(", "))
            })?;
            point.0[axis] = rank as u16;
        }
        Ok(point)
    }

    /// The drive of a point.
    ///
    /// # Errors
    /// The limits it breaks, for people.
    pub fn drive(&self, point: &Point) -> Result<Feasible, String> {
        let Task { space, base, limits, .. } = self.task;
        match limits.check(&space.config(base, point)) {
            Ok(config) => Ok(Feasible { point: point.clone(), config }),
            Err(broken) => {
                let all: Vec<String> = broken.iter().map(ToString::to_string).collect();
                Err(all.join("; "))
            }
        }
    }

    /// The nearest point that keeps the limits; `None` where none was found nearby.
    pub fn repair(&self, point: &Point) -> Option<Feasible> {
        self.moves.nearest(point)
    }

    /// Grades drives, whether they are in the space or not. A reason where one cannot serve, or needs more
    /// power than allowed.
    ///
    /// # Errors
    /// The evaluator or the memory fails, or the caller asked to stop.
    pub fn grade(
        &self,
        drives: &[CheckedConfig],
    ) -> Result<Vec<Result<Graded, String>>, SearchError> {
        let workloads = workloads(self.task);
        let questions: Vec<_> = (drives.iter())
            .flat_map(|drive| workloads.iter().map(move |workload| (drive, *workload)))
            .collect();
        let mut answers = self.cached.measure_workloads(&questions)?.into_iter();
        let one = |_| {
            let own: Vec<_> = answers.by_ref().take(workloads.len()).collect();
            self.graded(own.into_iter().collect::<Result<_, String>>()?)
        };
        Ok(drives.iter().map(one).collect())
    }

    fn graded(&self, measured: Vec<WorkloadMeasurement>) -> Result<Graded, String> {
        let average_watts = measured[0].average_watts();
        let over = |watts| self.task.limits.constraints.power_violation(watts);
        if let Some(violation) = average_watts.and_then(over) {
            return Err(violation.to_string());
        }
        let speedups = measured.iter().zip(&self.baseline);
        let mut others: Vec<Speedup> = speedups.map(|(own, base)| own.speedup_over(base)).collect();
        let target = others.remove(0);
        let weights = &self.task.weights;
        let performance = weights.performance(&target);
        let parts: Vec<f64> = others.iter().map(|own| weights.performance(own)).collect();
        let grade = weights.grade(performance, &parts);
        Ok(Graded { grade, performance, target, others, average_watts })
    }
}

fn workloads(task: &Task) -> Vec<&Workload> {
    std::iter::once(&task.target).chain(&task.others).collect()
}
