//! The state of a search. Algorithms hand proposals to it, and read trials and budget from it.

use super::beaten::volume_of;
use super::censor::{censor, censor_what_is_beaten};
use super::judge::{Judge, OnPrefix, TargetResult};
use super::log::TrialLog;
use super::settings::Settings;
use super::stop::{Budget, Convergence};
use super::trial::{Proposal, Trial, Verdict};
use super::{Ended, Found, Progress};
use crate::breach::TraceSet;
use crate::error::TuneError;
use crate::evaluate::CachedEvaluator;
use crate::grade::Speedup;
use crate::space::Point;
use crate::task::Task;
use ssdtune_estimate::Standing;
use ssdtune_model::{CheckedConfig, DeviceConfig};

/// A function that is called with each trial when its verdict is known.
type Tell<'a> = &'a mut dyn FnMut(&Trial, &Progress);

/// The speedup of the baseline over itself.
const NONE: Speedup = Speedup { latency: 1.0, throughput: 1.0 };

/// A search in progress: takes proposals, has them measured, and keeps the record of trials.
pub(super) struct SearchState<'a> {
    /// The task.
    pub task: &'a Task,
    /// How the search looks for a better drive.
    pub settings: &'a Settings,
    /// The point of the baseline.
    pub base_point: Point,
    /// Every trial so far.
    pub log: TrialLog,
    /// The evaluations spent and allowed.
    pub budget: Budget,
    judge: Judge<'a>,
    tell: Tell<'a>,
}

impl<'a> SearchState<'a> {
    /// Measures the baseline, which becomes trial 0.
    pub fn new(
        task: &'a Task,
        settings: &'a Settings,
        evaluator: &'a CachedEvaluator<'a>,
        tell: Tell<'a>,
    ) -> Result<Self, TuneError> {
        let base_point = task.space.point(&task.base).ok_or(TuneError::Space)?;
        if let Err(broken) = task.limits.check(&task.base) {
            let all: Vec<String> = broken.iter().map(ToString::to_string).collect();
            let most =
                task.limits.max_price.filter(|_| broken.iter().any(|b| b.limit == "max_price"));
            let hint = most.map_or(String::new(), |most| {
                format!(" (for a cheaper drive ask --aim latency,price --pick price={most:.2})")
            });
            return Err(TuneError::Limits(all.join("; ") + &hint));
        }
        let judge = Judge::new(task, &settings.aims, settings.prefix, evaluator)?;
        let mut state = Self {
            task,
            settings,
            base_point,
            log: TrialLog::new(settings.top),
            budget: Budget::new(settings.budget),
            judge,
            tell,
        };
        state.note(state.baseline_trial());
        Ok(state)
    }

    fn baseline_trial(&self) -> Trial {
        let (point, config) = (self.base_point.clone(), self.task.base.clone());
        let average_watts = self.judge.baseline().target.average_watts();
        let over_power =
            average_watts.and_then(|watts| self.task.over_power(TraceSet::Search, watts));
        let verdict = if over_power.is_some() { Verdict::OverPower } else { Verdict::Graded };
        Trial {
            prefix_performance: Some(0.0),
            target: Some(NONE),
            performance: Some(0.0),
            others: Some(vec![NONE; self.task.others.len()]),
            gains: (!self.settings.aims.is_empty()).then(|| vec![0.0; self.settings.aims.len()]),
            grade: Some(0.0),
            average_watts,
            breaches: over_power.into_iter().collect(),
            ..Proposal::new(point, config, "baseline").into_trial(verdict)
        }
    }

    /// Runs configurations that earlier work recommends. Those outside of the space or the limits
    /// are skipped.
    pub fn run_seeds(&mut self, seeds: &[DeviceConfig]) -> Result<(), TuneError> {
        let task = self.task;
        let mut proposals = Vec::new();
        for config in seeds {
            let Some(point) = task.space.point(config) else { continue };
            // A drive that differs from the baseline in a parameter without axis is not in the
            // space.
            let named = DeviceConfig { name: config.name.clone(), ..(*task.base).clone() };
            if task.space.config(&named, &point) != *config {
                continue;
            }
            let feasible = task.limits.feasible(&task.space, &task.base, &point);
            if let Some(feasible) = feasible
                && self.log.is_new(&point)
            {
                proposals.push(Proposal::new(point, feasible.config, "memory"));
            }
        }
        self.run_in_full(proposals)
    }

    /// Runs proposals on the prefix of the target; the budget must pay for them. An answer is
    /// `None` where a drive cannot serve the prefix. With a prefix of 1 nothing is run, and every
    /// answer is 0.
    pub fn run_prefix(
        &mut self,
        proposals: &[Proposal],
    ) -> Result<Vec<Option<OnPrefix>>, TuneError> {
        if self.settings.prefix >= 1.0 {
            return Ok(vec![Some(OnPrefix::default()); proposals.len()]);
        }
        let drives: Vec<&CheckedConfig> =
            proposals.iter().map(|proposal| &proposal.config).collect();
        let answers = self.judge.on_prefix(&drives)?;
        self.budget.spend(self.settings.prefix * proposals.len() as f64);
        Ok(answers)
    }

    /// Whether the baseline collects at most half as often on the prefix as on the whole target:
    /// what a drive does there says little of how it collects.
    pub fn prefix_is_blind(&self) -> bool {
        let [prefix, whole] = self.judge.collections();
        self.settings.prefix < 1.0 && whole > 0.0 && prefix <= 0.5 * whole
    }

    /// Whether races can tell what is known from what is not: the target is measured on windows.
    pub fn is_sampled(&self) -> bool {
        self.judge.is_sampled()
    }

    /// Races proposals against the best trial on more and more windows of the target: twice as many
    /// as the prefix has, and so on. Those that are worse for certain are added to the record;
    /// those that are better, or as good as far as is known, are returned. Each run costs its
    /// share.
    pub fn race_on_windows(
        &mut self,
        mut proposals: Vec<Proposal>,
    ) -> Result<Vec<Proposal>, TuneError> {
        let Some(best) = self.log.best().map(|best| best.config.clone()) else {
            return Ok(proposals);
        };
        let (mut share, mut better) = (self.settings.prefix, Vec::new());
        while !proposals.is_empty() {
            let drives: Vec<&CheckedConfig> =
                proposals.iter().map(|proposal| &proposal.config).collect();
            let standings = self.judge.standings(&drives, &best, share)?;
            let (mut open, mut worse) = (Vec::new(), Vec::new());
            for (proposal, standing) in proposals.into_iter().zip(standings) {
                match standing {
                    Some(Standing::Better) => better.push(proposal),
                    Some(Standing::Open) => open.push(proposal),
                    Some(Standing::Worse) => worse.push(proposal),
                    None => worse.push(Proposal { prefix_performance: None, ..proposal }),
                }
            }
            self.note_raced(worse);
            share *= 2.0;
            // What stays open runs in full in any case, if the budget pays for both.
            let left = open.len() + better.len();
            if share > 0.5 || self.budget.affords_beside(left as f64, share) < open.len() {
                better.append(&mut open);
            }
            self.budget.spend(share * open.len() as f64);
            proposals = open;
        }
        Ok(better)
    }

    /// How many proposals the budget lets race. With 1 there is no race: it runs in full at once.
    pub fn racers_max(&self) -> usize {
        match self.settings.prefix {
            share if share >= 1.0 => self.budget.affords(1.0),
            share => match self.budget.affords_beside(1.0, share) {
                0 | 1 => self.budget.affords(1.0).min(1),
                most => most,
            },
        }
    }

    /// Adds proposals to the record that were run on the prefix and will not run in full.
    pub fn note_raced(&mut self, proposals: Vec<Proposal>) {
        for proposal in proposals {
            let verdict = match proposal.prefix_performance {
                Some(_) => Verdict::Raced,
                None => Verdict::Unfit("it cannot serve the beginning of the target".to_owned()),
            };
            self.note(proposal.into_trial(verdict));
        }
    }

    /// Runs proposals in full, the first ones that the budget pays for: all of these on the target,
    /// then those that can still win on the other workloads.
    pub fn run_in_full(&mut self, mut proposals: Vec<Proposal>) -> Result<(), TuneError> {
        proposals.truncate(self.budget.affords(1.0));
        let mut trials = self.run_target(proposals)?;
        match self.settings.aims.is_empty() {
            true => censor(&mut trials, self.task, self.settings.algorithm, &self.log),
            false => censor_what_is_beaten(&mut trials, &self.log),
        }
        self.run_others(&mut trials)?;
        trials.into_iter().for_each(|trial| self.note(trial));
        Ok(())
    }

    /// Runs proposals on the target. Trials with the verdict [`Verdict::Graded`] still have to run
    /// on the other workloads.
    fn run_target(&mut self, proposals: Vec<Proposal>) -> Result<Vec<Trial>, TuneError> {
        let drives: Vec<&CheckedConfig> =
            proposals.iter().map(|proposal| &proposal.config).collect();
        let answers = self.judge.on_target(&drives)?;
        self.budget.spend(proposals.len() as f64);
        let trial = |(proposal, answer): (Proposal, Result<TargetResult, String>)| match answer {
            Err(reason) => proposal.into_trial(Verdict::Unfit(reason)),
            Ok(TargetResult { speedup, performance, average_watts, over_power, gains }) => {
                let is_over = over_power.is_some();
                let verdict = if is_over { Verdict::OverPower } else { Verdict::Graded };
                Trial {
                    target: Some(speedup),
                    performance: Some(performance),
                    average_watts,
                    gains,
                    breaches: over_power.into_iter().collect(),
                    ..proposal.into_trial(verdict)
                }
            }
        };
        Ok(proposals.into_iter().zip(answers).map(trial).collect())
    }

    /// Runs every trial with the verdict [`Verdict::Graded`] on the other workloads, and grades it.
    fn run_others(&mut self, trials: &mut [Trial]) -> Result<(), TuneError> {
        let mut open: Vec<&mut Trial> =
            trials.iter_mut().filter(|trial| trial.verdict == Verdict::Graded).collect();
        let drives: Vec<&CheckedConfig> = open.iter().map(|trial| &trial.config).collect();
        let answers = self.judge.on_others(&drives)?;
        let weights = &self.task.weights;
        for (trial, answer) in open.iter_mut().zip(answers) {
            match answer {
                Err(reason) => trial.verdict = Verdict::Unfit(reason),
                Ok(others) => {
                    let parts: Vec<f64> =
                        others.iter().map(|speedup| weights.performance(speedup)).collect();
                    trial.grade =
                        trial.performance.map(|performance| weights.grade(performance, &parts));
                    trial.breaches = self.task.harm(TraceSet::Search, &others);
                    if !trial.breaches.is_empty() {
                        trial.verdict = Verdict::Harmful;
                    }
                    trial.others = Some(others);
                }
            }
        }
        Ok(())
    }

    fn note(&mut self, trial: Trial) {
        self.log.add(trial, self.budget.spent(), self.judge.requests_simulated());
        let best = self.log.best();
        let progress = Progress {
            spent: self.budget.spent(),
            budget: self.budget.limit(),
            best_grade: best.and_then(|best| best.grade),
            best_target: best.and_then(|best| best.target).unwrap_or(NONE),
            hypervolume: (!self.settings.aims.is_empty()).then(|| volume_of(self.log.trials())),
        };
        if let Some(trial) = self.log.trials().last() {
            (self.tell)(trial, &progress);
        }
    }

    /// A watch on the top set that begins now.
    pub fn convergence(&self) -> Convergence {
        Convergence::new(self.settings.convergence, self.settings.patience, &self.log, self.budget)
    }

    /// The result of the search.
    pub fn into_found(self, ended: Ended) -> Found {
        let (trials, ranking, curve) = self.log.into_parts();
        Found {
            baseline: self.judge.baseline().clone(),
            trials,
            ranking,
            curve,
            ended,
            spent: self.budget.spent(),
        }
    }
}
