//! What-if analysis (AutoBlox, section 4.5): what it takes to reach a given speedup.
//!
//! First comes a search for the wanted figure alone, latency or throughput, in a space wider than
//! the market's. Then the cheapest way is looked for: from the cheapest trial that meets the goal,
//! changes are taken back, wholly or halfway, each time the one that saves most, as long as the
//! goal is met. Where no trial meets the goal, the nearest one is the answer.
//!
//! With a limit of harm ([`Task::max_harm`]) the rule of a search holds. The drive to begin at must
//! keep it on the traces of the search and on validation traces, and so must the answer; the
//! changes between them are taken back by the traces of the search alone.
//!
//! The cost of a drive is its price where prices are given. Without them it is the distance from
//! the baseline: the steps on each axis over the length of that axis.
//!
//! Cost: a search, and a few evaluations of the target for each change that is taken back, which
//! are no part of the search's budget, nor is what the judgement takes of the other workloads.

mod text;

pub use text::text;

use crate::breach::{Breach, TraceSet};
use crate::error::TuneError;
use crate::evaluate::{CachedEvaluator, WorkloadMeasurement};
use crate::grade::{Speedup, Weights};
use crate::interval::SpeedupInterval;
use crate::limits::Feasible;
use crate::recommend::{Care, HarmMeter, Judgement, Refused};
use crate::search::{self, Found, PriorKnowledge, Progress, Settings, Trial, Verdict};
use crate::space::{ParameterChange, Point, changes};
use crate::task::Task;
use crate::workload::Workload;
use serde::Serialize;
use ssdtune_model::{CheckedConfig, document};

/// The speedup that is wanted on the target.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Goal {
    /// The wanted ratio of the baseline's latency to the drive's; 3 means a third of the latency.
    Latency(f64),
    /// The wanted ratio of the drive's throughput to the baseline's; 3 means three times the
    /// throughput.
    Throughput(f64),
}

impl Goal {
    /// Reads a wanted speedup, as in `3x`.
    ///
    /// # Errors
    /// A text that says what would be legal.
    pub fn parse_factor(text: &str) -> Result<f64, String> {
        let number = text.strip_suffix('x').unwrap_or(text).parse();
        let legal = number.ok().filter(|factor| (1.0..=1e6).contains(factor));
        legal.ok_or_else(|| "write a factor of 1 or more, as in 3x".to_owned())
    }

    /// The part of a speedup that the goal is about.
    pub fn of(&self, speedup: &Speedup) -> f64 {
        match self {
            Self::Latency(_) => speedup.latency,
            Self::Throughput(_) => speedup.throughput,
        }
    }

    /// The wanted speedup.
    pub fn wanted(&self) -> f64 {
        let (Self::Latency(wanted) | Self::Throughput(wanted)) = self;
        *wanted
    }

    /// Whether a speedup meets the goal.
    pub fn met(&self, speedup: &Speedup) -> bool {
        self.of(speedup) >= self.wanted()
    }

    /// The weights of a search for this figure alone.
    pub fn weights(&self) -> Weights {
        match self {
            Self::Latency(_) => Weights { alpha: 0.0, beta: 0.0 },
            Self::Throughput(_) => Weights { alpha: 1.0, beta: 0.0 },
        }
    }
}

/// The answer of a what-if analysis. Field names are part of the result document.
#[derive(Clone, Debug, Serialize)]
pub struct WhatIfAnswer {
    /// What was wanted.
    pub goal: Goal,
    /// Whether the drive in `toml` meets the goal.
    pub met: bool,
    /// The speedup of that drive on the target.
    pub speedup: Speedup,
    /// Where it lies with 95 %; `None` if the target is not measured on windows.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub interval: Option<SpeedupInterval>,
    /// The cost of that drive: a price, or the distance from the baseline.
    pub cost: f64,
    /// The baseline's cost.
    pub baseline_cost: f64,
    /// Whether the cost is a price.
    pub priced: bool,
    /// The parameters in which that drive differs from the baseline.
    pub parameters: Vec<ParameterChange>,
    /// The drive, as TOML.
    pub toml: String,
    /// Trials of the search, the baseline left out.
    pub proposals: usize,
    /// Evaluations of the target spent on these, at most the budget.
    pub spent: f64,
    /// Changes taken back without missing the goal.
    pub taken_back: usize,
    /// Evaluations of the target that taking back took. They are no part of the budget.
    pub spent_after: usize,
    /// What cheaper drives, in which more changes were taken back, take of other workloads on
    /// validation traces.
    pub not_taken_back: Vec<Breach>,
    /// The share that each other workload may lose; `None` if there is no limit.
    pub max_harm: Option<f64>,
    /// How that drive was judged.
    #[serde(flatten)]
    pub judgement: Judgement,
}

/// Looks for the cheapest drive that meets a goal and hurts no other workload. The task's weights
/// must be the goal's. `held_out` are the workloads, the target first, with traces that no decision
/// sees.
///
/// # Errors
/// Measuring fails, no measured drive keeps every limit, or the caller asked to stop.
pub fn run(
    task: &Task,
    settings: &Settings,
    goal: Goal,
    evaluator: &CachedEvaluator,
    held_out: Option<&[Workload]>,
    tell: &mut dyn FnMut(&Trial, &Progress),
) -> Result<WhatIfAnswer, TuneError> {
    let found = search::run(task, &PriorKnowledge::default(), settings, evaluator, tell)?;
    let base = found.trials[0].point.clone();
    let cost = |point: &Point, config: &CheckedConfig| match &task.limits.prices {
        Some(prices) => prices.of(config),
        None => distance(task, &base, point),
    };
    let mut searched = HarmMeter::on_search(task, evaluator);
    let mut validation = HarmMeter::on_validation(task, evaluator);
    let (mut start, mut refused) = (None, Vec::new());
    for (trial, speedup) in by_preference(&found, goal, &cost) {
        let mut breaches = searched.breaches(&trial.config)?;
        if breaches.is_empty() {
            breaches = validation.breaches(&trial.config)?;
        }
        if breaches.is_empty() {
            start = Some((trial, speedup));
            break;
        }
        refused.extend(Refused::new(trial, breaches));
    }
    let Some((trial, speedup)) = start else {
        let nearest = refused.into_iter().next().map(Refused::into_nearest);
        return Err(Box::new(found.nothing_kept(nearest)).into());
    };
    let met = goal.met(&speedup);
    let start = Feasible { point: trial.point.clone(), config: trial.config.clone() };
    let baseline = &found.baseline.target;
    let mut walk = Walk { task, base: &base, goal, evaluator, baseline, stops: Vec::new() };
    walk.stops.push(Stop { drive: start, speedup });
    let mut spent_after = 0;
    if met {
        while walk.step(&cost, &mut searched, &mut spent_after)? {}
    }
    let not_taken_back = walk.go_back(&mut validation)?;
    let taken_back = walk.stops.len() - 1;
    let Stop { drive, speedup } = walk.stops.swap_remove(taken_back);
    let measured = evaluator.measure_workloads(&[(&drive.config, &task.target)])?;
    let measured = measured.into_iter().flatten().next();
    let interval = measured.and_then(|own| SpeedupInterval::of(&task.target, &own, baseline));
    Ok(WhatIfAnswer {
        goal,
        met,
        speedup,
        interval,
        cost: cost(&drive.point, &drive.config),
        baseline_cost: cost(&base, &task.base),
        priced: task.limits.prices.is_some(),
        parameters: changes(&task.space, &task.base, &drive.config),
        toml: document::write(&drive.config),
        proposals: found.trials.len() - 1,
        spent: found.spent,
        taken_back,
        spent_after,
        not_taken_back,
        max_harm: task.max_harm.as_ref().map(|harm| harm.share),
        judgement: Judgement::of(task, &drive.config, refused, held_out, Care::Verdict, evaluator)?,
    })
}

/// The trials within the power budget, best answers first: those that meet the goal, the cheapest
/// first, then the others, the nearest to the goal first.
fn by_preference<'a>(
    found: &'a Found,
    goal: Goal,
    cost: &dyn Fn(&Point, &CheckedConfig) -> f64,
) -> impl Iterator<Item = (&'a Trial, Speedup)> + use<'a> {
    let within = found.trials.iter().filter(|trial| trial.verdict != Verdict::OverPower);
    let measured = within.filter_map(|trial| Some((trial, trial.target?)));
    let (mut met, mut missed): (Vec<_>, Vec<_>) =
        measured.partition(|(_, speedup)| goal.met(speedup));
    met.sort_by(|(a, _), (b, _)| {
        cost(&a.point, &a.config)
            .total_cmp(&cost(&b.point, &b.config))
            .then(a.number.cmp(&b.number))
    });
    missed.sort_by(|(a, one), (b, other)| {
        goal.of(other).total_cmp(&goal.of(one)).then(b.number.cmp(&a.number))
    });
    met.into_iter().chain(missed)
}

/// The distance of a point from the baseline: steps on each axis over the length of that axis.
fn distance(task: &Task, base: &Point, point: &Point) -> f64 {
    let parts = task.space.axes().iter().zip(base.0.iter().zip(&point.0));
    parts
        .map(|(axis, (a, b))| match axis.is_numeric() {
            true => f64::from(a.abs_diff(*b)) / (axis.count() - 1) as f64,
            false => f64::from(u8::from(a != b)),
        })
        .sum()
}

/// A drive that meets the goal.
struct Stop {
    drive: Feasible,
    speedup: Speedup,
}

/// The way from a drive that meets the goal to the cheapest one near it.
struct Walk<'a> {
    task: &'a Task,
    base: &'a Point,
    goal: Goal,
    evaluator: &'a CachedEvaluator<'a>,
    /// The measurement of the baseline on the target.
    baseline: &'a WorkloadMeasurement,
    /// Where it has been, in order.
    stops: Vec<Stop>,
}

impl Walk<'_> {
    /// Takes back the change that saves most while the goal is still met and no other workload is
    /// hurt on the traces of the search. Returns false if there is no such change. Adds the
    /// evaluations of the target to `spent`.
    fn step(
        &mut self,
        cost: &dyn Fn(&Point, &CheckedConfig) -> f64,
        harm: &mut HarmMeter,
        spent: &mut usize,
    ) -> Result<bool, TuneError> {
        let task = self.task;
        let here = &self.stops[self.stops.len() - 1].drive;
        let now = cost(&here.point, &here.config);
        let mut back: Vec<(f64, Feasible)> = nearer(task, self.base, &here.point)
            .iter()
            .filter_map(|point| task.limits.feasible(&task.space, &task.base, point))
            .map(|found| (cost(&found.point, &found.config), found))
            .filter(|(cost, _)| *cost < now)
            .collect();
        back.sort_by(|a, b| a.0.total_cmp(&b.0).then(a.1.point.cmp(&b.1.point)));
        let questions: Vec<_> =
            back.iter().map(|(_, found)| (&found.config, &task.target)).collect();
        *spent += questions.len();
        let answers = self.evaluator.measure_workloads(&questions)?;
        for ((_, found), answer) in back.iter().zip(answers) {
            let Ok(measured) = answer else { continue };
            let watts = measured.average_watts();
            if watts.is_some_and(|watts| task.over_power(TraceSet::Search, watts).is_some()) {
                continue;
            }
            let speedup = measured.speedup_over(self.baseline);
            if self.goal.met(&speedup) && harm.breaches(&found.config)?.is_empty() {
                self.stops.push(Stop { drive: found.clone(), speedup });
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Goes back to the last stop that hurts no other workload on validation traces; the first one
    /// was judged before. Returns what the later ones take.
    fn go_back(&mut self, validation: &mut HarmMeter) -> Result<Vec<Breach>, TuneError> {
        let mut taken = Vec::new();
        while let [_, .., last] = self.stops.as_slice() {
            let breaches = validation.breaches(&last.drive.config)?;
            if breaches.is_empty() {
                break;
            }
            taken.extend(breaches);
            self.stops.pop();
        }
        Ok(taken)
    }
}

/// Points that are nearer to the baseline: one change taken back wholly or by half, or two changes
/// taken back wholly (two layout parameters may keep the capacity where one does not).
fn nearer(task: &Task, base: &Point, point: &Point) -> Vec<Point> {
    let changed: Vec<usize> =
        (0..point.0.len()).filter(|axis| point.0[*axis] != base.0[*axis]).collect();
    let mut all = Vec::new();
    for (place, &axis) in changed.iter().enumerate() {
        let mut whole = point.clone();
        whole.0[axis] = base.0[axis];
        if task.space.axes()[axis].is_numeric() {
            let mut half = point.clone();
            half.0[axis] = point.0[axis].midpoint(base.0[axis]);
            // Between neighbouring ranks, half of the way rounds to one of the ends.
            if half != *point && half != whole {
                all.push(half);
            }
        }
        for &second in &changed[place + 1..] {
            let mut both = whole.clone();
            both.0[second] = base.0[second];
            all.push(both);
        }
        all.push(whole);
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::evaluate::{EvaluationError, Evaluator, Job, Measurement};
    use crate::grade::Figures;
    use crate::limits::Limits;
    use crate::space::Space;
    use crate::task::MaxHarm;
    use crate::workload::Trace;
    use ssdtune_experiment::Preparation;
    use ssdtune_model::{Nanos, Sectors, presets};
    use ssdtune_trace::{Op, Request, TenantId};
    use std::sync::atomic::AtomicBool;

    /// A drive is as fast as it has channels, and on the trace called "judge" only.
    struct Channels;

    impl Evaluator for Channels {
        fn identity(&self) -> String {
            "channels".to_owned()
        }

        fn preparation(&self) -> Preparation {
            Preparation::default()
        }

        fn measure(&self, job: &Job, _: &AtomicBool) -> Result<Measurement, EvaluationError> {
            let judges = job.trace.name == "judge";
            let speed = if judges { f64::from(job.config.bus.channels) } else { 1.0 };
            let figures = Figures { latency_ns: 1e6 / speed, throughput_bps: 1e6 * speed };
            Ok(Measurement::of(figures))
        }
    }

    fn workload(trace: &str, lba: u64) -> Workload {
        let (at, lba, tenant) = (Nanos::ZERO, Sectors(lba), TenantId(0));
        let request = Request { at, lba, sectors: 8, tenant, op: Op::Read };
        let traces = vec![Trace::new(trace, vec![request])];
        Workload { name: "other".to_owned(), depth: 1, traces }
    }

    #[test]
    fn what_hurts_on_validation_traces_is_not_taken_back() {
        let base = presets::load("intel-750").unwrap();
        let max_harm = Some(MaxHarm { share: 0.02, validation: vec![workload("judge", 8)] });
        let task = Task {
            space: Space::what_if().around(&base),
            limits: Limits::around(&base),
            base: base.clone().check().unwrap(),
            target: workload("target", 0),
            others: vec![workload("other", 16)],
            weights: Weights::default(),
            max_harm,
        };
        let stop = AtomicBool::new(false);
        let evaluator = CachedEvaluator::new(&Channels, None, &stop, &|_| {});
        let point = task.space.point(&task.base).unwrap();
        let drive = |channels: &str| {
            let mut config = base.clone();
            ssdtune_model::set(&mut config, "bus.channels", channels).unwrap();
            Feasible { point: point.clone(), config: config.check().unwrap() }
        };
        let speedup = Speedup { latency: 1.0, throughput: 1.0 };
        let stops =
            ["24", "16", "11", "8"].map(|channels| Stop { drive: drive(channels), speedup });
        let measured = task.baseline_on(&[&task.target], &evaluator).unwrap();
        let mut walk = Walk {
            task: &task,
            base: &point,
            goal: Goal::Latency(1.0),
            evaluator: &evaluator,
            baseline: &measured[0],
            stops: stops.into(),
        };
        let last = &walk.stops[3].drive.config;
        assert_eq!(HarmMeter::on_search(&task, &evaluator).breaches(last).unwrap(), []);
        let taken = walk.go_back(&mut HarmMeter::on_validation(&task, &evaluator)).unwrap();
        // The baseline has 12 channels: 8 and 11 give up more than 2 %, each of both figures.
        assert_eq!((walk.stops.len(), taken.len()), (2, 4));
        assert!(
            taken.iter().all(|one| (one.traces, &*one.workload) == (TraceSet::Validation, "other"))
        );
        // The first stop was judged before, and stays.
        walk.stops = vec![Stop { drive: drive("8"), speedup }];
        let taken = walk.go_back(&mut HarmMeter::on_validation(&task, &evaluator)).unwrap();
        assert_eq!((walk.stops.len(), taken.len()), (1, 0));
    }

    #[test]
    fn goals_are_met_by_their_own_figure() {
        let speedup = Speedup { latency: 2.0, throughput: 4.0 };
        assert!(Goal::Latency(2.0).met(&speedup) && !Goal::Latency(2.1).met(&speedup));
        assert!(Goal::Throughput(3.0).met(&speedup));
        assert_eq!(Goal::Latency(3.0).weights().performance(&speedup), 2.0_f64.ln());
        assert_eq!(Goal::Throughput(3.0).weights().performance(&speedup), 4.0_f64.ln());
    }
}
