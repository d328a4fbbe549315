//! A whole job of tuning as a user states it: by names, files and single values, with defaults for
//! all of them. The command and other front ends load the same job from the same options.

use crate::asked::{Asked, AskedError, AskedSpace, DefaultSpace};
use crate::error::TuneError;
use crate::evaluate::{CachedEvaluator, EvaluationCounts, Evaluator, GradedBy, InProcess};
use crate::grade::Weights;
use crate::limits::StatedLimits;
use crate::memory::AutoDb;
use crate::recommend::{self, Options, Pick, Recommendation};
use crate::search::{self, Found, PriorKnowledge, Progress, Proposer, Settings, Trial};
use crate::task::{MaxHarm, Task};
use crate::workload::{
    HeldTrace, NamedError, Sampling, SetOptions, Workload, WorkloadSet, outside_tested_range,
};
use ssdtune_experiment::{AddressFit, Preparation, PreparationError, Shares, Start};
use ssdtune_model::{Calibrated, CheckedConfig};
use ssdtune_trace::ReadOptions;
use std::path::PathBuf;
use std::sync::atomic::AtomicBool;

/// Requests of a trace or model unless stated.
const REQUESTS: u32 = 100_000;
/// Where a search for what can be bought begins: long use has filled nine tenths of the drive.
const USED: f64 = 0.9;

/// What a user states of a job.
#[derive(Clone, Debug)]
pub struct JobOptions {
    /// The workload to serve better, by its name, as
    /// [`NamedWorkload`](crate::workload::NamedWorkload) reads it.
    pub target: String,
    /// The workloads not to hurt; empty: the published ones; `none`: none.
    pub others: Vec<String>,
    /// Traces in memory that names may stand for.
    pub held: Vec<HeldTrace>,
    /// The greatest number of requests of each trace and model. `None`: 100,000, but long trace
    /// files are measured on windows from all over them.
    pub requests: Option<u32>,
    /// Which stream of each set of seeds models generate.
    pub trace_seed: u64,
    /// What may change: the name of a space or a file; `None`: what `default` says.
    pub space: Option<String>,
    /// The space where none is named.
    pub default: DefaultSpace,
    /// Files of further flash parts.
    pub parts: Vec<PathBuf>,
    /// A file of constraints.
    pub constraints: Option<PathBuf>,
    /// Limits beside those of the file.
    pub stated: StatedLimits,
    /// The weights of the grade.
    pub weights: Weights,
    /// What is graded.
    pub graded_by: GradedBy,
    /// Requests outstanding in closed loops, by the names of workloads.
    pub depths: Vec<(String, u32)>,
    /// How trace files are read.
    pub read: ReadOptions,
    /// What to do with addresses beyond the end of the smallest drive.
    pub fit: Option<AddressFit>,
    /// What drives hold and have been through; `None`: the footprint, or in a space of flash parts
    /// what long use leaves.
    pub preparation: Option<Preparation>,
    /// The largest share that each other workload may lose; `None`, or 1: they count in the grade
    /// only.
    pub max_harm: Option<f64>,
}

impl JobOptions {
    /// The defaults, for this target.
    pub fn of_target(target: impl Into<String>) -> Self {
        Self {
            target: target.into(),
            others: Vec::new(),
            held: Vec::new(),
            requests: None,
            trace_seed: 0,
            space: None,
            default: DefaultSpace::Market,
            parts: Vec::new(),
            constraints: None,
            stated: StatedLimits::default(),
            weights: Weights::default(),
            graded_by: GradedBy::default(),
            depths: Vec::new(),
            read: ReadOptions::default(),
            fit: None,
            preparation: None,
            max_harm: None,
        }
    }

    /// The share of a trace that a prefix of so many requests is: a tenth if nothing is said, all
    /// of it for 0 requests.
    pub fn prefix_share(&self, requests: Option<u32>) -> f64 {
        let Some(requests) = requests else { return Settings::default().prefix };
        let share = f64::from(requests) / f64::from(self.requests.unwrap_or(REQUESTS));
        if share > 0.0 { share.min(1.0) } else { 1.0 }
    }

    /// Loads everything. `calibrated` is what the file of the baseline says of a real drive;
    /// `evaluator` measures in place of the simulator in this process. The job has no memory yet,
    /// and its windows are not drawn ([`TuningJob::draw_windows`]).
    ///
    /// # Errors
    /// Names stand for nothing, files cannot be read, or options contradict each other.
    pub fn load(
        &self,
        base: CheckedConfig,
        calibrated: Option<&Calibrated>,
        evaluator: Option<Box<dyn Evaluator>>,
    ) -> Result<TuningJob, JobError> {
        let asked = AskedSpace {
            space: self.space.as_deref(),
            default: self.default,
            parts: &self.parts,
            constraints: self.constraints.as_deref(),
            stated: self.stated.clone(),
        };
        let Asked { base, space, limits, note } = asked.around(base)?;
        let max_harm = self.max_harm.filter(|share| *share < 1.0);
        let plain = evaluator.is_none() && self.graded_by.is_default();
        let whole = self.requests.is_some() || !plain;
        let fresh = || Preparation::of(Start::Footprint, 0);
        let preparation = self.preparation.clone().unwrap_or_else(fresh);
        preparation.check()?;
        let is_sampled = !whole && preparation == fresh();
        let set = SetOptions {
            seed: self.trace_seed,
            requests: self.requests.unwrap_or(REQUESTS) as usize,
            space: limits.host_sectors_min(&base, &space),
            fit: self.fit,
            depths: self.depths.clone(),
            read: self.read.clone(),
            validate: max_harm.is_some(),
            sampled: is_sampled.then(|| Sampling::of_pages(base.geometry().page_bytes)),
            held: self.held.clone(),
        };
        let set = WorkloadSet::load(&self.target, &self.others, &set)?;
        let mut warnings: Vec<String> = set.warnings().cloned().collect();
        let WorkloadSet { target, others, validation, held_out } = set;
        let outside = calibrated.map(|real| outside_tested_range(real, &base, &target, &others));
        let max_harm = max_harm.map(|share| MaxHarm { share, validation });
        let weights = self.weights;
        let task = Task { base, space, limits, target, others, weights, max_harm };
        let is_open = self.preparation.is_none() && task.space.has_parts() && !task.is_sampled();
        let used = || Preparation::of(Start::Steady(Shares::all(USED)), 0);
        let evaluator = match evaluator {
            Some(evaluator) => {
                warnings.extend(untold(&*evaluator, &task.base));
                evaluator
            }
            None => {
                let own = InProcess::new(if is_open { used() } else { preparation })?;
                Box::new(own.graded_by(self.graded_by))
            }
        };
        Ok(TuningJob { task, held_out, evaluator, db: None, outside, note, warnings })
    }
}

/// A warning of what `evaluator` cannot be told of the baseline, if there is such a thing.
fn untold(evaluator: &dyn Evaluator, base: &CheckedConfig) -> Option<String> {
    let untold = evaluator.untold(base);
    (!untold.is_empty()).then(|| {
        let (name, settings) = (&base.name, untold.join(", "));
        format!("the evaluator cannot be told all of {name}: it measures without {settings}")
    })
}

/// Why a job cannot be loaded.
#[derive(Debug, thiserror::Error)]
pub enum JobError {
    /// Space or limits cannot be had.
    #[error(transparent)]
    Asked(#[from] AskedError),
    /// Workloads cannot be read or generated.
    #[error(transparent)]
    Workloads(#[from] NamedError),
    /// The parts of the preparation do not go together.
    #[error(transparent)]
    Preparation(#[from] PreparationError),
}

/// What a tuning command works on.
pub struct TuningJob {
    /// The task.
    pub task: Task,
    /// The workloads of `task` with requests of other seeds, which no decision may see: the target,
    /// then the others. `None` if a workload is a trace file, which has no other seeds.
    pub held_out: Option<Vec<Workload>>,
    /// What measures.
    pub evaluator: Box<dyn Evaluator>,
    /// What remembers, if anything does.
    pub db: Option<AutoDb>,
    /// What a calibrated baseline was not tested at and the workloads ask for.
    pub outside: Option<Vec<String>>,
    /// What was changed in the baseline, in words.
    pub note: Option<String>,
    /// What is to be said of the files that were read.
    pub warnings: Vec<String>,
}

/// How far a search is.
#[derive(Debug)]
pub enum Stage<'a> {
    /// After a trial. This process has run so many evaluations.
    Trial(&'a Progress, u64),
    /// The work after the search begins: what it is, its evaluations at most, and those answered
    /// before.
    After(&'static str, u64, u64),
}

/// Is told of each trial.
type Tell<'a> = &'a mut dyn FnMut(&Trial, &Progress);

impl TuningJob {
    /// Draws the windows that long traces are measured on, on all threads of the current pool.
    ///
    /// # Errors
    /// Those of [`Task::draw_windows`].
    pub fn draw_windows(&mut self, stop: &AtomicBool) -> Result<(), TuneError> {
        if !self.task.is_sampled() {
            return Ok(());
        }
        let evaluator = CachedEvaluator::new(&*self.evaluator, self.db.as_ref(), stop, &|_| {});
        self.task.draw_windows(self.held_out.as_mut(), &evaluator)
    }

    /// The job with the held-out workloads in its task; `None` if there are none.
    pub fn on_held_out(self) -> Option<Self> {
        let mut workloads = self.held_out?;
        let target = workloads.remove(0);
        let task = Task { target, others: workloads, ..self.task };
        Some(Self { task, held_out: None, ..self })
    }

    /// The evaluator with its memory, until `stop` is set; it gives `tell` its counts after each
    /// answer.
    pub fn evaluator<'a>(
        &'a self,
        stop: &'a AtomicBool,
        tell: &'a (dyn Fn(EvaluationCounts) + Sync),
    ) -> CachedEvaluator<'a> {
        CachedEvaluator::new(&*self.evaluator, self.db.as_ref(), stop, tell)
    }

    /// Searches, and measures the evidence for what was found, on all threads of the current pool.
    /// The seconds that it takes are the caller's to fill in.
    ///
    /// # Errors
    /// Those of [`search::run`] and of [`recommend::recommend`].
    pub fn recommend(
        &self,
        prior: &PriorKnowledge,
        settings: &Settings,
        pick: Pick,
        evaluator: &CachedEvaluator<'_>,
        tell: &mut dyn FnMut(Stage<'_>),
    ) -> Result<Recommendation, TuneError> {
        let find = |trial: Tell<'_>| search::run(&self.task, prior, settings, evaluator, trial);
        self.recommend_found(find, settings, pick, evaluator, tell)
    }

    /// As [`TuningJob::recommend`], by an algorithm of the caller's.
    ///
    /// # Errors
    /// Those of [`search::run_proposed`] and of [`recommend::recommend`].
    pub fn recommend_proposed(
        &self,
        proposer: &mut dyn Proposer,
        settings: &Settings,
        pick: Pick,
        evaluator: &CachedEvaluator<'_>,
        tell: &mut dyn FnMut(Stage<'_>),
    ) -> Result<Recommendation, TuneError> {
        let find = |trial: Tell<'_>| {
            search::run_proposed(&self.task, proposer, settings, evaluator, trial)
        };
        self.recommend_found(find, settings, pick, evaluator, tell)
    }

    /// Finds a drive, and measures the evidence for it.
    fn recommend_found(
        &self,
        find: impl FnOnce(Tell<'_>) -> Result<Found, TuneError>,
        settings: &Settings,
        pick: Pick,
        evaluator: &CachedEvaluator<'_>,
        tell: &mut dyn FnMut(Stage<'_>),
    ) -> Result<Recommendation, TuneError> {
        let mut trial =
            |_: &Trial, progress: &Progress| tell(Stage::Trial(progress, evaluator.counts().run));
        let found = find(&mut trial)?;
        let options = Options {
            held_out: self.held_out.clone(),
            name: format!("{}-for-{}", self.task.base.name, self.task.target.name),
            pick,
        };
        let answered = || evaluator.counts().answered;
        tell(Stage::After("validation", recommend::choice_max(&self.task, &found), answered()));
        let most = recommend::evidence_max(&self.task, settings, &found, &options, evaluator)?;
        tell(Stage::After("evidence", most, answered()));
        let mut result = recommend::recommend(&self.task, settings, &found, evaluator, &options)?;
        result.question.outside_tested_range.clone_from(&self.outside);
        Ok(result)
    }
}
