//! Judging proposals: what is measured, in which order, and what is left out.

use super::screen::Screen;
use super::{Algorithm, Ended, Found, Progress, Proposal, SearchError, Settings, Task};
use crate::evaluate::{CachedEvaluator, WorkloadMeasurement};
use crate::grade::Speedup;
use crate::space::Point;
use crate::workload::Workload;
use serde::Serialize;
use ssdtune_model::{CheckedConfig, DeviceConfig};
use std::collections::BTreeSet;

/// The baseline's measurements.
#[derive(Clone, Debug)]
pub struct Baseline {
    /// On the target.
    pub target: WorkloadMeasurement,
    /// On each other workload, in their order.
    pub others: Vec<WorkloadMeasurement>,
}

/// What is known of a proposal in the end.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Verdict {
    /// Everything was measured.
    Graded,
    /// The target's part could not win any more: the others were not run, and there is no grade.
    Censored,
    /// It lost the race on the prefix: nothing was run in full.
    Raced,
    /// The drive cannot serve the target, or one of the others.
    Unfit(String),
    /// It needs more power than allowed.
    OverPower(String),
    /// It was thought hopeless: nothing was run.
    Screened,
}

/// One proposal and what was measured of it.
#[derive(Clone, Debug, Serialize)]
pub struct Trial {
    /// Its number, in the order of proposals.
    pub number: usize,
    /// Why it was proposed.
    pub origin: &'static str,
    /// Where it lies in the space.
    pub point: Point,
    /// The drive.
    #[serde(skip)]
    pub config: CheckedConfig,
    /// What is known of it.
    pub verdict: Verdict,
    /// Formula 1 on the prefix of the target, where that was run.
    pub prefix_performance: Option<f64>,
    /// Speedup of the target.
    pub target: Option<Speedup>,
    /// Formula 1 of the target.
    pub performance: Option<f64>,
    /// Speedups of the other workloads, in their order.
    pub others: Option<Vec<Speedup>>,
    /// Formula 2.
    pub grade: Option<f64>,
    /// Average power on the target in watt, where the evaluator counts energy.
    pub average_watts: Option<f64>,
    /// The highest grade that was thought likely, where it was discarded.
    pub bound: Option<f64>,
}

/// The best grade after a trial.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct CurvePoint {
    /// Evaluations of the target spent until then.
    pub spent: f64,
    /// Requests simulated until then by this process.
    pub requests: u64,
    /// The best grade.
    pub best_grade: f64,
}

/// Mean performances of the others differ by less than this between two good drives (a third faster): with
/// the paper's β their part of a grade differs by 0.03.
const OTHERS_SPREAD: f64 = 0.3;

/// Tells of a trial that is known.
type Tell<'a> = &'a mut dyn FnMut(&Trial, &Progress);

pub(super) struct Judge<'a> {
    pub task: &'a Task,
    pub settings: &'a Settings,
    pub base_point: Point,
    pub trials: Vec<Trial>,
    pub spent: f64,
    cached: &'a CachedEvaluator<'a>,
    tell: Tell<'a>,
    baseline: Baseline,
    prefix: Workload,
    prefix_baseline: WorkloadMeasurement,
    visited: BTreeSet<Point>,
    curve: Vec<CurvePoint>,
    screen: Option<Screen>,
}

impl<'a> Judge<'a> {
    /// Measures the baseline.
    pub fn new(
        task: &'a Task,
        settings: &'a Settings,
        cached: &'a CachedEvaluator<'a>,
        tell: Tell<'a>,
    ) -> Result<Self, SearchError> {
        let base_point = task.space.point(&task.base).ok_or(SearchError::Space)?;
        if let Err(broken) = task.limits.check(&task.base) {
            let all: Vec<String> = broken.iter().map(ToString::to_string).collect();
            return Err(SearchError::Limits(all.join("; ")));
        }
        let prefix = prefix_of(&task.target, settings.prefix);
        let mut workloads = vec![&task.target, &prefix];
        workloads.extend(&task.others);
        let questions: Vec<_> = workloads.iter().map(|own| (&task.base, *own)).collect();
        let mut measured = Vec::new();
        for (answer, workload) in cached.measure_workloads(&questions)?.into_iter().zip(&workloads)
        {
            let name = || workload.name.clone();
            measured
                .push(answer.map_err(|reason| SearchError::Baseline { workload: name(), reason })?);
        }
        let others = measured.split_off(2);
        let (prefix_baseline, target) = (measured.swap_remove(1), measured.swap_remove(0));
        let mut judge = Self {
            task,
            settings,
            base_point: base_point.clone(),
            trials: Vec::new(),
            spent: 0.0,
            cached,
            tell,
            baseline: Baseline { target, others },
            prefix,
            prefix_baseline,
            visited: BTreeSet::new(),
            curve: Vec::new(),
            screen: settings.screen.then(|| Screen::new(task, settings)).transpose()?,
        };
        judge.admit_baseline(base_point);
        Ok(judge)
    }

    fn admit_baseline(&mut self, point: Point) {
        let same = Speedup { latency: 1.0, throughput: 1.0 };
        let trial = Trial {
            number: 0,
            origin: "baseline",
            point,
            config: self.task.base.clone(),
            verdict: Verdict::Graded,
            prefix_performance: Some(0.0),
            target: Some(same),
            performance: Some(0.0),
            others: Some(vec![same; self.task.others.len()]),
            grade: Some(0.0),
            average_watts: self.baseline.target.average_watts(),
            bound: None,
        };
        self.note(trial);
    }

    /// Judges the configurations to begin from. Those outside the space or the limits are passed over.
    pub fn seeds(&mut self) -> Result<(), SearchError> {
        let task = self.task;
        let mut proposals = Vec::new();
        for config in &task.seeds {
            let Some(point) = task.space.point(config) else { continue };
            // A drive that differs where no axis lies is not in the space either.
            let named = DeviceConfig { name: config.name.clone(), ..(*task.base).clone() };
            if task.space.config(&named, &point) != *config {
                continue;
            }
            let feasible = task.limits.feasible(&task.space, &task.base, &point);
            if let Some(feasible) = feasible
                && self.is_new(&point)
            {
                proposals.push(Proposal::new(point, feasible.config, "memory"));
            }
        }
        self.full(proposals)
    }

    /// Whether a point has not been judged.
    pub fn is_new(&self, point: &Point) -> bool {
        !self.visited.contains(point)
    }

    /// Leaves out hopeless proposals, each of which counts as `share` evaluations all the same.
    pub fn sift(
        &mut self,
        proposals: Vec<Proposal>,
        share: f64,
    ) -> Result<Vec<Proposal>, SearchError> {
        let Some(mut screen) = self.screen.take() else { return Ok(proposals) };
        screen.refresh()?;
        let worst = self.top_worst();
        let mut kept = Vec::new();
        for mut proposal in proposals {
            let bound = screen.bound(self.task, &proposal.config).filter(|bound| *bound < worst);
            if bound.is_none() {
                kept.push(proposal);
            } else if screen.is_to_check() {
                proposal.checked = Some(worst);
                kept.push(proposal);
            } else {
                self.spent += share;
                let trial = self.blank(proposal, Verdict::Screened);
                self.note(Trial { bound, ..trial });
            }
        }
        self.screen = Some(screen);
        Ok(kept)
    }

    /// Tells the screen what became of proposals.
    fn teach(&mut self, known: &[(&CheckedConfig, Option<f64>)], workload: &Workload) {
        if let Some(screen) = &mut self.screen {
            for (config, performance) in known {
                if let Some(performance) = performance {
                    screen.note(self.task, config, workload, *performance);
                }
            }
        }
    }

    /// Formula 1 of each proposal on the prefix of the target; `None` where it is unfit. With a prefix of 1
    /// nothing is run and everything is 0.
    pub fn on_prefix(&mut self, proposals: &[Proposal]) -> Result<Vec<Option<f64>>, SearchError> {
        if self.settings.prefix >= 1.0 {
            return Ok(vec![Some(0.0); proposals.len()]);
        }
        let questions: Vec<_> =
            proposals.iter().map(|proposal| (&proposal.config, &self.prefix)).collect();
        let answers = self.cached.measure_workloads(&questions)?;
        self.spent += self.settings.prefix * proposals.len() as f64;
        let performance = |answer: Result<WorkloadMeasurement, String>| {
            let speedup = answer.ok()?.speedup_over(&self.prefix_baseline);
            Some(self.task.weights.performance(&speedup))
        };
        let performances: Vec<Option<f64>> = answers.into_iter().map(performance).collect();
        let known: Vec<_> =
            proposals.iter().map(|own| &own.config).zip(performances.iter().copied()).collect();
        let prefix = self.prefix.clone();
        self.teach(&known, &prefix);
        Ok(performances)
    }

    /// Notes proposals that lost the race.
    pub fn raced(&mut self, proposals: Vec<(Proposal, Option<f64>)>) {
        for (proposal, performance) in proposals {
            let verdict = match performance {
                Some(_) => Verdict::Raced,
                None => Verdict::Unfit("it cannot serve the beginning of the target".to_owned()),
            };
            let trial = self.blank(proposal, verdict);
            self.note(Trial { prefix_performance: performance, ..trial });
        }
    }

    /// Judges proposals in full: the target of all, then the others of those that can still win.
    pub fn full(&mut self, proposals: Vec<Proposal>) -> Result<(), SearchError> {
        let questions: Vec<_> =
            proposals.iter().map(|proposal| (&proposal.config, &self.task.target)).collect();
        let answers = self.cached.measure_workloads(&questions)?;
        self.spent += proposals.len() as f64;
        let mut trials: Vec<Trial> = Vec::new();
        let checked: Vec<Option<f64>> = proposals.iter().map(|own| own.checked).collect();
        for (proposal, answer) in proposals.into_iter().zip(answers) {
            let trial = self.blank(proposal, Verdict::Graded);
            trials.push(self.judge_target(trial, answer));
        }
        self.censor(&mut trials);
        self.judge_others(&mut trials)?;
        let known: Vec<_> = trials.iter().map(|own| (&own.config, own.performance)).collect();
        self.teach(&known, &self.task.target);
        if let Some(screen) = &mut self.screen {
            let beyond = |(trial, checked): (&Trial, &Option<f64>)| {
                trial.grade.zip(*checked).is_some_and(|(grade, worst)| grade > worst)
            };
            screen.report.wrong += trials.iter().zip(&checked).filter(|one| beyond(*one)).count();
        }
        trials.into_iter().for_each(|trial| self.note(trial));
        Ok(())
    }

    fn blank(&self, proposal: Proposal, verdict: Verdict) -> Trial {
        Trial {
            number: 0,
            origin: proposal.origin,
            point: proposal.point,
            config: proposal.config,
            verdict,
            prefix_performance: proposal.prefix,
            target: None,
            performance: None,
            others: None,
            grade: None,
            average_watts: None,
            bound: None,
        }
    }

    /// The target's part of a grade.
    fn part(&self, performance: f64) -> f64 {
        match self.task.others.is_empty() {
            true => performance,
            false => (1.0 - self.task.weights.beta) * performance,
        }
    }

    /// Leaves out the others where the target's part cannot win. The paper's rule: it must reach the worst
    /// grade of the top set. The default's is stricter: what it lacks to the best grade, or to the best of
    /// its own batch, must be within what the others have ever differed by.
    fn censor(&self, trials: &mut [Trial]) {
        let ranking = self.ranking();
        let grade = |number: Option<&usize>| number.and_then(|number| self.trials[*number].grade);
        let parts: Vec<f64> = (trials.iter())
            .map(|trial| trial.performance.map_or(f64::NEG_INFINITY, |own| self.part(own)))
            .collect();
        let threshold = match self.settings.algorithm {
            Algorithm::Bayes => {
                let alive = parts.iter().zip(&*trials);
                let alive = alive.filter(|(_, trial)| trial.verdict == Verdict::Graded);
                let best = alive.map(|(part, _)| *part).fold(f64::NEG_INFINITY, f64::max);
                let best = best.max(grade(ranking.first()).unwrap_or(f64::NEG_INFINITY));
                best - self.task.weights.beta * OTHERS_SPREAD
            }
            _ => self.top_worst(),
        };
        for (trial, part) in trials.iter_mut().zip(parts) {
            if trial.verdict == Verdict::Graded && part < threshold {
                trial.verdict = Verdict::Censored;
            }
        }
    }

    /// The verdict after the target: `Graded` here means that the others are worth running.
    fn judge_target(&self, mut trial: Trial, answer: Result<WorkloadMeasurement, String>) -> Trial {
        let measured = match answer {
            Ok(measured) => measured,
            Err(reason) => return Trial { verdict: Verdict::Unfit(reason), ..trial },
        };
        let speedup = measured.speedup_over(&self.baseline.target);
        let performance = self.task.weights.performance(&speedup);
        trial.target = Some(speedup);
        trial.performance = Some(performance);
        trial.average_watts = measured.average_watts();
        let over = |watts| self.task.limits.constraints.power_violation(watts);
        if let Some(violation) = trial.average_watts.and_then(over) {
            trial.verdict = Verdict::OverPower(violation.to_string());
            return trial;
        }
        trial
    }

    fn judge_others(&self, trials: &mut [Trial]) -> Result<(), SearchError> {
        let wanted: Vec<usize> =
            (0..trials.len()).filter(|index| trials[*index].verdict == Verdict::Graded).collect();
        let mut questions = Vec::new();
        for index in &wanted {
            questions.extend(self.task.others.iter().map(|other| (&trials[*index].config, other)));
        }
        let mut answers = self.cached.measure_workloads(&questions)?.into_iter();
        for index in wanted {
            let trial = &mut trials[index];
            let mut speedups = Vec::new();
            for (answer, base) in answers.by_ref().zip(&self.baseline.others) {
                match answer {
                    Ok(measured) => speedups.push(measured.speedup_over(base)),
                    Err(reason) => trial.verdict = Verdict::Unfit(reason),
                }
            }
            if trial.verdict == Verdict::Graded {
                let weights = &self.task.weights;
                let parts: Vec<f64> = speedups.iter().map(|own| weights.performance(own)).collect();
                trial.grade = trial.performance.map(|own| weights.grade(own, &parts));
                trial.others = Some(speedups);
            }
        }
        Ok(())
    }

    fn note(&mut self, mut trial: Trial) {
        trial.number = self.trials.len();
        self.visited.insert(trial.point.clone());
        self.trials.push(trial);
        let best = self.best();
        let progress = Progress {
            spent: self.spent,
            budget: self.settings.budget,
            best_grade: best.grade.unwrap_or(0.0),
            best_target: best.target.unwrap_or(Speedup { latency: 1.0, throughput: 1.0 }),
        };
        self.curve.push(CurvePoint {
            spent: self.spent,
            requests: self.cached.counts().requests,
            best_grade: progress.best_grade,
        });
        if let Some(trial) = self.trials.last() {
            (self.tell)(trial, &progress);
        }
    }

    /// Numbers of the graded trials, best first; the earlier of equals.
    pub fn ranking(&self) -> Vec<usize> {
        let mut graded: Vec<(f64, usize)> =
            self.trials.iter().filter_map(|trial| Some((trial.grade?, trial.number))).collect();
        graded.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)));
        graded.into_iter().map(|(_, number)| number).collect()
    }

    /// The best trial so far.
    pub fn best(&self) -> &Trial {
        &self.trials[self.ranking().first().copied().unwrap_or(0)]
    }

    /// The worst grade of the top set.
    fn top_worst(&self) -> f64 {
        let ranking = self.ranking();
        let worst = ranking.iter().take(self.settings.top).next_back();
        worst.and_then(|number| self.trials[*number].grade).unwrap_or(f64::NEG_INFINITY)
    }

    /// Whether the budget allows another evaluation.
    pub fn may_go_on(&self) -> bool {
        self.spent + 1e-9 < self.settings.budget
    }

    /// The mean grade of the top set.
    pub fn top_grade(&self) -> f64 {
        let ranking = self.ranking();
        let top: Vec<f64> = (ranking.iter().take(self.settings.top))
            .filter_map(|number| self.trials[*number].grade)
            .collect();
        top.iter().sum::<f64>() / top.len().max(1) as f64
    }

    pub fn found(self, ended: Ended) -> Found {
        let ranking = self.ranking();
        Found {
            baseline: self.baseline,
            trials: self.trials,
            ranking,
            curve: self.curve,
            ended,
            spent: self.spent,
            screened: self.screen.map(|screen| screen.report),
        }
    }
}

/// Tells when the top set has stopped changing.
pub(super) struct Convergence {
    reference: f64,
    since: f64,
}

impl Convergence {
    pub fn new(judge: &Judge) -> Self {
        Self { reference: judge.top_grade(), since: judge.spent }
    }

    /// Grades are logarithms: a change of a hundredth is one of a percent.
    pub fn reached(&mut self, judge: &Judge) -> bool {
        let now = judge.top_grade();
        if (now - self.reference).abs() > judge.settings.convergence {
            (self.reference, self.since) = (now, judge.spent);
        }
        judge.spent - self.since >= judge.settings.patience as f64
    }
}

fn prefix_of(workload: &Workload, part: f64) -> Workload {
    let traces = workload.traces.iter().map(|trace| {
        let wanted = (trace.requests().len() as f64 * part).ceil() as usize;
        trace.prefix(wanted.max(1))
    });
    Workload { traces: traces.collect(), ..workload.clone() }
}
