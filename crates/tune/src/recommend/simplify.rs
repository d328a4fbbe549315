//! Takes back the changes of the best trial that are not worth recommending: those that bring
//! nothing, those that no run has tried, and those that bring less than they cost.

use super::Importance;
use super::choice::HarmMeter;
use crate::breach::TraceSet;
use crate::error::TuneError;
use crate::evaluate::{CachedEvaluator, WorkloadMeasurement};
use crate::exercised::{COLLECTION, mechanism, never_used};
use crate::grade::Speedup;
use crate::limits::Feasible;
use crate::search::{Found, Trial};
use crate::space::Point;
use crate::task::Task;
use ssdtune_model::{CheckedConfig, catalogue};

/// A change without importance: taking it back loses less performance than this.
const NOTHING: f64 = 2e-4;
/// Less gain than this is worth no more of the price than this: 1 %, as a logarithm.
const WORTH: f64 = 0.01;
/// The greatest loss of grade that is accepted when changes without importance are taken back.
const GRADE_SLACK: f64 = 5e-4;

/// A drive on the way from the best trial to the one that is recommended.
pub(super) struct Chosen {
    pub point: Point,
    pub config: CheckedConfig,
    /// The performance (formula 1) on the target.
    pub performance: f64,
    pub grade: f64,
}

/// Takes changes back.
pub(super) struct Simplifier<'a> {
    pub task: &'a Task,
    pub evaluator: &'a CachedEvaluator<'a>,
    pub found: &'a Found,
    /// Is told what was taken back.
    pub notes: &'a mut Vec<String>,
}

impl Simplifier<'_> {
    /// The axes on which a point differs from the baseline, in groups that are taken back together.
    fn groups(&self, point: &Point) -> Vec<Vec<usize>> {
        let space = &self.task.space;
        let base = &self.found.trials[0].point;
        let bound = [self.task.limits.capacity_axes(space), space.dram_axes()];
        let mut groups: Vec<Vec<usize>> = Vec::new();
        let mut taken = vec![false; space.axes().len()];
        for axis in 0..space.axes().len() {
            if taken[axis] || point.0[axis] == base.0[axis] {
                continue;
            }
            let together = bound.iter().find(|all| all.contains(&axis));
            let members = match together {
                Some(all) => (all.iter().copied())
                    .filter(|other| point.0[*other] != base.0[*other])
                    .collect(),
                None => vec![axis],
            };
            members.iter().for_each(|member: &usize| taken[*member] = true);
            groups.push(members);
        }
        groups
    }

    /// The point with some axes set back to the baseline.
    fn without(&self, point: &Point, axes: &[usize]) -> Point {
        let base = &self.found.trials[0].point;
        let mut back = point.clone();
        axes.iter().for_each(|axis| back.0[*axis] = base.0[*axis]);
        back
    }

    fn target_speedup(&self, answer: &WorkloadMeasurement) -> Speedup {
        answer.speedup_over(&self.found.baseline.target)
    }

    /// Takes back each change of a drive alone. Returns the axes and the importance of each,
    /// greatest first.
    fn importance(&self, drive: &Chosen) -> Result<Vec<(Vec<usize>, Importance)>, TuneError> {
        let Task { space, base, limits, target, weights, .. } = self.task;
        let groups = self.groups(&drive.point);
        let single: Vec<_> = (groups.iter())
            .map(|axes| limits.feasible(space, base, &self.without(&drive.point, axes)))
            .collect();
        let questions: Vec<_> =
            single.iter().flatten().map(|found| (&found.config, target)).collect();
        let mut answers = self.evaluator.measure_workloads(&questions)?.into_iter();
        let each = groups.into_iter().zip(&single).map(|(axes, feasible)| {
            let answer = feasible.as_ref().and_then(|_| answers.next()).and_then(Result::ok);
            let without = answer.map(|measured| self.target_speedup(&measured));
            let loss = without.map(|speedup| drive.performance - weights.performance(&speedup));
            let keys = axes.iter().map(|axis| space.axes()[*axis].key().to_owned()).collect();
            (axes, Importance { keys, loss, without, alone: None })
        });
        let mut all: Vec<_> = each.collect();
        let size = |importance: &Importance| importance.loss.unwrap_or(f64::INFINITY);
        all.sort_by(|a, b| size(&b.1).total_cmp(&size(&a.1)));
        Ok(all)
    }

    /// Takes back what brings nothing, what no run has tried, and then what brings less than it
    /// costs. Returns the drive that is left, and the importance of its changes. A drive of a front
    /// stays as it is, since what brings no speed may serve another aim.
    pub fn simplify(
        mut self,
        best: &Trial,
        is_of_front: bool,
    ) -> Result<(Chosen, Vec<Importance>), TuneError> {
        let mut drive = Chosen {
            point: best.point.clone(),
            config: best.config.clone(),
            performance: best.performance.unwrap_or(0.0),
            grade: best.grade.unwrap_or(0.0),
        };
        let mut importance = self.importance(&drive)?;
        if is_of_front {
            return Ok((drive, importance.into_iter().map(|(_, change)| change).collect()));
        }
        let is_idle = |change: &Importance| change.loss.is_some_and(|loss| loss < NOTHING);
        let idle: Vec<usize> = (importance.iter())
            .filter(|(_, change)| is_idle(change))
            .flat_map(|(axes, _)| axes.iter().copied())
            .collect();
        let back = if idle.is_empty() { None } else { self.taken_back(&drive, &idle)? };
        if let Some(simpler) = back.filter(|back| back.grade >= drive.grade - GRADE_SLACK) {
            self.notes.push(format!(
                "changes of the best trial that brought nothing and were taken back: {}",
                idle.len()
            ));
            drive = simpler;
            importance.retain(|(axes, _)| axes.iter().all(|axis| !idle.contains(axis)));
        }
        if let Some((other, keys)) = self.tried(&drive, &importance)? {
            (drive, importance) = (other, Vec::new());
            importance.extend(self.importance(&drive)?);
            self.notes.push(format!(
                "taken back, since nothing was collected in any run, so that what they are worth \
                 is not known: {keys}"
            ));
        }
        let mut dear = Vec::new();
        while let Some((cheaper, keys)) = self.worth_more(&drive, &importance)? {
            (drive, importance) = (cheaper, Vec::new());
            dear.push(keys);
            importance.extend(self.importance(&drive)?);
        }
        if !dear.is_empty() {
            let price = match self.task.limits.counts_for_the_host() {
                true => "the price of what the host sees",
                false => "the price",
            };
            self.notes.push(format!(
                "taken back, since it gained less than 1 % for more than 1 % of {price}: {}",
                dear.join("; ")
            ));
        }
        Ok((drive, importance.into_iter().map(|(_, change)| change).collect()))
    }

    /// A drive without the change that costs most among those that gain less than 1 % of the target
    /// for more than 1 % of the price; `None` if there is no such change.
    fn worth_more(
        &mut self,
        drive: &Chosen,
        importance: &[(Vec<usize>, Importance)],
    ) -> Result<Option<(Chosen, String)>, TuneError> {
        let Task { space, base, limits, .. } = self.task;
        let Some(price) = limits.price_compared(&drive.config) else { return Ok(None) };
        let little = |change: &Importance| change.loss.is_some_and(|loss| loss < WORTH);
        let mut saving: Vec<_> = (importance.iter())
            .filter(|(_, change)| little(change))
            .filter_map(|(axes, change)| {
                let back = limits.feasible(space, base, &self.without(&drive.point, axes))?;
                let less = price / limits.price_compared(&back.config)?;
                (less.ln() > WORTH).then_some((less, axes, change))
            })
            .collect();
        saving.sort_by(|a, b| b.0.total_cmp(&a.0));
        for (_, axes, change) in saving {
            if let Some(back) = self.taken_back(drive, axes)?
                && drive.performance - back.performance < WORTH
            {
                return Ok(Some((back, change.keys.join(", "))));
            }
        }
        Ok(None)
    }

    /// A drive with some axes set back to the baseline, measured on every workload; `None` if it
    /// breaks a limit or cannot serve one.
    fn taken_back(&mut self, drive: &Chosen, axes: &[usize]) -> Result<Option<Chosen>, TuneError> {
        let Task { space, base, limits, target, others, weights, .. } = self.task;
        let back = limits.feasible(space, base, &self.without(&drive.point, axes));
        let Some(Feasible { point, config }) = back else { return Ok(None) };
        let mut questions = vec![(&config, target)];
        questions.extend(others.iter().map(|other| (&config, other)));
        let answers: Result<Vec<_>, String> =
            self.evaluator.measure_workloads(&questions)?.into_iter().collect();
        let Ok(answers) = answers else { return Ok(None) };
        let performance = weights.performance(&self.target_speedup(&answers[0]));
        let rest = answers[1..].iter().zip(&self.found.baseline.others);
        let rest: Vec<Speedup> = rest.map(|(own, base)| own.speedup_over(base)).collect();
        let parts: Vec<f64> = rest.iter().map(|speedup| weights.performance(speedup)).collect();
        let grade = weights.grade(performance, &parts);
        let over = |watts: f64| self.task.over_power(TraceSet::Search, watts).is_some();
        let is_kept = !answers[0].average_watts().is_some_and(over)
            && self.task.harm(TraceSet::Search, &rest).is_empty()
            && HarmMeter::on_validation(self.task, self.evaluator).breaches(&config)?.is_empty();
        Ok(is_kept.then_some(Chosen { point, config, performance, grade }))
    }

    /// A drive without the changes of collection that gain less than 1 % of the target while no
    /// drive has collected: that is the chance of a start, and what they do later no run has tried.
    /// `None` if there are none, or if without them 1 % is lost.
    fn tried(
        &mut self,
        drive: &Chosen,
        importance: &[(Vec<usize>, Importance)],
    ) -> Result<Option<(Chosen, String)>, TuneError> {
        let Task { space, base, limits, target, .. } = self.task;
        let own = self.evaluator.measure_workloads(&[(&drive.config, target)])?.swap_remove(0);
        let Ok(own) = own else { return Ok(None) };
        let runs: Vec<_> = own.traces().iter().chain(self.found.baseline.target.traces()).collect();
        if !never_used(&runs, COLLECTION) {
            return Ok(None);
        }
        let is_of_collection = |axes: &[usize]| {
            let back = limits.feasible(space, base, &self.without(&drive.point, axes));
            let mut changed = catalogue::parameters().filter(|parameter| {
                back.as_ref()
                    .is_some_and(|back| parameter.get(&back.config) != parameter.get(&drive.config))
            });
            back.is_some() && changed.all(|parameter| mechanism(parameter.key) == Some(COLLECTION))
        };
        let untried = importance.iter().filter(|(axes, change)| {
            change.loss.is_some_and(|loss| loss < WORTH) && is_of_collection(axes)
        });
        let (axes, keys): (Vec<&[usize]>, Vec<String>) =
            untried.map(|(axes, change)| (axes.as_slice(), change.keys.join(", "))).unzip();
        if axes.is_empty() {
            return Ok(None);
        }
        let back = self.taken_back(drive, &axes.concat())?;
        let back = back.filter(|back| drive.performance - back.performance < WORTH);
        Ok(back.map(|back| (back, keys.join("; "))))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::evaluate::{EvaluationError, Evaluator, Job, Measurement};
    use crate::grade::Figures;
    use crate::search::testing::{Formula, GO_ON, SEED, TASK, search, settings};
    use crate::search::{Algorithm, PriorKnowledge};
    use ssdtune_experiment::Preparation;
    use std::sync::atomic::AtomicBool;

    /// The formula, but every other threshold of collection makes it 0.8 % faster, and runs collect
    /// this often.
    struct Chance {
        collections: u64,
        formula: Formula,
    }

    impl Evaluator for Chance {
        fn identity(&self) -> String {
            format!("chance, {} collections", self.collections)
        }

        fn preparation(&self) -> Preparation {
            Preparation::default()
        }

        fn measure(&self, job: &Job, stop: &AtomicBool) -> Result<Measurement, EvaluationError> {
            let mut measured = self.formula.measure(job, stop)?;
            let is_other = job.config.gc.threshold != TASK.base.gc.threshold;
            let Figures { latency_ns, throughput_bps } = measured.figures;
            let latency_ns = latency_ns * if is_other { 0.992 } else { 1.0 };
            measured.figures = Figures { latency_ns, throughput_bps };
            for facts in [&mut measured.open, &mut measured.closed].into_iter().flatten() {
                facts.collections = self.collections;
            }
            Ok(measured)
        }
    }

    #[test]
    fn a_threshold_of_collection_that_no_run_has_tried_is_taken_back() {
        let simplified = |collections: u64| {
            let evaluator = Chance { collections, formula: Formula::default() };
            let settings = settings(Algorithm::Bayes, SEED);
            let found = search(&TASK, &PriorKnowledge::default(), &settings, &evaluator, 2);
            let best = found.trials.iter().filter(|trial| trial.grade.is_some());
            let best = best.max_by(|a, b| a.grade.unwrap().total_cmp(&b.grade.unwrap())).unwrap();
            assert!(best.config.gc.threshold != TASK.base.gc.threshold, "it is found");
            let evaluator = CachedEvaluator::new(&evaluator, None, &GO_ON, &|_| {});
            let mut notes = Vec::new();
            let (found, task) = (&found, &*TASK);
            let simplifier = Simplifier { task, evaluator: &evaluator, found, notes: &mut notes };
            let (drive, importance) = simplifier.simplify(best, false).unwrap();
            let keys: Vec<String> = importance.into_iter().flat_map(|change| change.keys).collect();
            let is_kept = drive.config.gc.threshold != TASK.base.gc.threshold;
            assert_eq!(keys.contains(&"gc.threshold".to_owned()), is_kept, "{keys:?}");
            assert!(drive.config.bus.channels != TASK.base.bus.channels, "the rest stays");
            (is_kept, notes.join("\n").contains("is not known: gc.threshold"))
        };
        assert_eq!(simplified(0), (false, true));
        assert_eq!(simplified(3), (true, false));
    }
}
