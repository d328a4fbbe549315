//! An evaluator with a memory and threads.

use super::{EvaluationError, Evaluator, ExternalError, InitialState, Job, Measurement};
use crate::db::{AutoDb, Batch, DbError, Kind};
use crate::key::{
    Digest, EvaluationInputs, EvaluationKey, WarmUp, canonical, configuration_digest,
};
use crate::lesson::Asked;
use serde::{Deserialize, Serialize};
use ssdtune_sim::{Filling, Replay};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};

/// What is told while work goes on.
#[derive(Clone, Copy, Debug)]
pub struct Tick {
    /// Evaluations answered so far, from memory or by running.
    pub answered: u64,
    /// Of these, those that were run.
    pub run: u64,
    /// Requests simulated so far, both runs of an evaluation counted.
    pub requests: u64,
}

/// Work could not go on.
#[derive(Debug, thiserror::Error)]
pub enum LabError {
    /// The memory fails.
    #[error(transparent)]
    Memory(#[from] DbError),
    /// The evaluator does not work.
    #[error(transparent)]
    Evaluator(#[from] ExternalError),
    /// The caller asked to stop. Everything measured so far is stored.
    #[error("interrupted")]
    Interrupted,
}

/// What is stored of an evaluation: its measurement, or why the drive is unfit.
pub type Answer = Result<Measurement, String>;

/// As it lies in AutoDB.
#[derive(Serialize, Deserialize)]
pub(crate) struct Stored {
    #[serde(flatten)]
    pub answer: StoredAnswer,
    /// What was asked, as the key is a hash; records of earlier versions do not say it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub asked: Option<Asked>,
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum StoredAnswer {
    Measured(Box<Measurement>),
    Unfit(String),
}

/// An evaluator with a memory and threads.
pub struct Lab<'a> {
    evaluator: &'a dyn Evaluator,
    db: Option<&'a AutoDb>,
    /// What this process has asked already, so that a search without AutoDB runs nothing twice either.
    known: Mutex<BTreeMap<EvaluationKey, Answer>>,
    /// Drives whose text this process has stored.
    stored: Mutex<BTreeSet<Digest>>,
    stop: &'a AtomicBool,
    tell: &'a (dyn Fn(Tick) + Sync),
    answered: AtomicU64,
    run: AtomicU64,
    requests: AtomicU64,
}

/// A panic elsewhere leaves these tables whole: they change by single insertions.
fn lock<T>(table: &Mutex<T>) -> MutexGuard<'_, T> {
    table.lock().unwrap_or_else(PoisonError::into_inner)
}

impl<'a> Lab<'a> {
    /// A lab that remembers in `db`, if there is one, stops when `stop` is set, and reports through `tell`.
    pub fn new(
        evaluator: &'a dyn Evaluator,
        db: Option<&'a AutoDb>,
        stop: &'a AtomicBool,
        tell: &'a (dyn Fn(Tick) + Sync),
    ) -> Self {
        Self {
            evaluator,
            db,
            known: Mutex::default(),
            stored: Mutex::default(),
            stop,
            tell,
            answered: AtomicU64::new(0),
            run: AtomicU64::new(0),
            requests: AtomicU64::new(0),
        }
    }

    /// How much has been done.
    pub fn tick(&self) -> Tick {
        Tick {
            answered: self.answered.load(Ordering::Relaxed),
            run: self.run.load(Ordering::Relaxed),
            requests: self.requests.load(Ordering::Relaxed),
        }
    }

    /// What drives have been through before they are measured.
    pub fn initial_state(&self) -> InitialState {
        self.evaluator.initial_state()
    }

    /// The key of an evaluation.
    pub fn key(&self, job: &Job) -> EvaluationKey {
        let length = job.trace.requests().len() as u64;
        let filling = match self.evaluator.initial_state() {
            InitialState::Filled { occupancy, overwrites } => {
                Some(Filling { occupancy, overwrites, seed: job.config.run.seed })
            }
            // The evaluator's identity says these.
            InitialState::Empty | InitialState::Footprint | InitialState::Steady { .. } => None,
        };
        EvaluationKey::of(&EvaluationInputs {
            config: job.config,
            workload: job.trace.digest(),
            range: 0..length,
            transforms: &[],
            replays: &[Replay::Open, Replay::Closed(job.depth)],
            warm_up: WarmUp { filling, requests: None },
            seed: job.config.run.seed,
            evaluator: &self.evaluator.identity(),
        })
    }

    /// Measures all, in their order. The longest run first, so that no thread is left with one at the end;
    /// equal questions are asked once.
    ///
    /// # Errors
    /// The memory or the evaluator fails, or the caller asked to stop.
    pub fn measure(&self, jobs: &[Job]) -> Result<Vec<Answer>, LabError> {
        let keys: Vec<EvaluationKey> = jobs.iter().map(|job| self.key(job)).collect();
        let mut open: BTreeMap<EvaluationKey, usize> = BTreeMap::new();
        let mut from_memory = 0;
        for (index, key) in keys.iter().enumerate() {
            if self.recall(key)?.is_none() {
                open.entry(*key).or_insert(index);
            } else {
                from_memory += 1;
            }
        }
        self.answered.fetch_add(from_memory, Ordering::Relaxed);
        if from_memory > 0 {
            (self.tell)(self.tick());
        }
        let mut work: Vec<(EvaluationKey, &Job)> =
            open.into_iter().map(|(key, index)| (key, &jobs[index])).collect();
        let cost = |job: &Job| job.trace.footprint_sectors() + job.trace.requests().len() as u64;
        work.sort_by_key(|(key, job)| (std::cmp::Reverse(cost(job)), *key));
        self.run_all(&work)?;
        let known = lock(&self.known);
        Ok(keys.iter().map(|key| known[key].clone()).collect())
    }

    fn recall(&self, key: &EvaluationKey) -> Result<Option<Answer>, LabError> {
        let mut known = lock(&self.known);
        if let Some(answer) = known.get(key) {
            return Ok(Some(answer.clone()));
        }
        let Some(db) = self.db else { return Ok(None) };
        let Some(stored) = db.get::<Stored>(Kind::Evaluation, key.as_bytes())? else {
            return Ok(None);
        };
        let answer = match stored.value.answer {
            StoredAnswer::Measured(measurement) => Ok(*measurement),
            StoredAnswer::Unfit(reason) => Err(reason),
        };
        known.insert(*key, answer.clone());
        Ok(Some(answer))
    }

    fn run_all(&self, work: &[(EvaluationKey, &Job)]) -> Result<(), LabError> {
        let (next, failed) = (AtomicUsize::new(0), OnceLock::new());
        let take = || {
            while failed.get().is_none() {
                let Some((key, job)) = work.get(next.fetch_add(1, Ordering::Relaxed)) else {
                    return;
                };
                if let Err(error) = self.run_one(key, job) {
                    // The first failure is the one to tell.
                    let _ = failed.set(error);
                }
            }
        };
        rayon::scope(|scope| {
            for _ in 0..rayon::current_num_threads().min(work.len()) {
                scope.spawn(|_| take());
            }
        });
        failed.into_inner().map_or(Ok(()), Err)
    }

    /// Stores an answer with what was asked; the drive's text stands once for all its evaluations.
    fn store(
        &self,
        db: &AutoDb,
        key: &EvaluationKey,
        job: &Job,
        answer: StoredAnswer,
    ) -> Result<(), LabError> {
        let configuration = configuration_digest(job.config);
        let asked = Asked {
            configuration,
            evaluator: self.evaluator.identity(),
            trace: job.trace.digest(),
            depth: job.depth,
            traits: *job.trace.traits(),
        };
        let mut batch = Batch::default();
        let is_new = !lock(&self.stored).contains(&configuration);
        if is_new {
            batch.put(Kind::Configuration, configuration.as_bytes(), &canonical(job.config))?;
        }
        let stored = Stored { answer, asked: Some(asked) };
        batch.put(Kind::Evaluation, key.as_bytes(), &stored)?;
        db.commit(&batch)?;
        // Only now: whoever finds it here may rely on its being there.
        if is_new {
            lock(&self.stored).insert(configuration);
        }
        Ok(())
    }

    /// Who evaluates.
    pub fn identity(&self) -> String {
        self.evaluator.identity()
    }

    fn run_one(&self, key: &EvaluationKey, job: &Job) -> Result<(), LabError> {
        if self.stop.load(Ordering::Relaxed) {
            return Err(LabError::Interrupted);
        }
        let (answer, stored) = match self.evaluator.measure(job, self.stop) {
            Ok(found) => (Ok(found.clone()), StoredAnswer::Measured(Box::new(found))),
            Err(EvaluationError::Unfit(reason)) => {
                (Err(reason.clone()), StoredAnswer::Unfit(reason))
            }
            Err(EvaluationError::Broken(error)) => return Err(error.into()),
            Err(EvaluationError::Interrupted) => return Err(LabError::Interrupted),
        };
        if let Some(db) = self.db {
            self.store(db, key, job, stored)?;
        }
        lock(&self.known).insert(*key, answer);
        self.answered.fetch_add(1, Ordering::Relaxed);
        self.run.fetch_add(1, Ordering::Relaxed);
        self.requests.fetch_add(2 * job.trace.requests().len() as u64, Ordering::Relaxed);
        (self.tell)(self.tick());
        Ok(())
    }
}
