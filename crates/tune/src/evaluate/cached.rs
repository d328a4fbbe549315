//! An evaluator with a memory and threads: no evaluation is run twice.

use super::{EvaluationError, Evaluator, ExternalError, Job, filled_and_overwritten};
use crate::digest::Digest;
use crate::measurement::{Measurement, WorkloadMeasurement};
use crate::memory::{
    AutoDb, Batch, DbError, EvaluationInputs, EvaluationKey, EvaluationRecord, EvaluationSubject,
    RecordKind, StoredAnswer, WarmUp, canonical, configuration_digest,
};
use crate::workload::{Windows, Workload};
use ssdtune_model::CheckedConfig;
use ssdtune_sim::{Filling, Replay};
use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};

/// How many evaluations a [`CachedEvaluator`] has answered.
#[derive(Clone, Copy, Debug)]
pub struct EvaluationCounts {
    /// Evaluations answered, whether from memory or by running them.
    pub answered: u64,
    /// Evaluations run by this process.
    pub run: u64,
    /// Requests simulated by this process. Both runs of an evaluation count.
    pub requests: u64,
}

/// Why measuring cannot go on.
#[derive(Debug, thiserror::Error)]
pub enum MeasureError {
    /// AutoDB cannot be read or written.
    #[error(transparent)]
    Memory(#[from] DbError),
    /// The evaluator does not work.
    #[error(transparent)]
    Evaluator(#[from] ExternalError),
    /// The caller asked to stop. Everything measured so far is stored.
    #[error("interrupted")]
    Interrupted,
}

/// The answer to a [`Job`]: a measurement, or why the drive cannot serve the workload.
pub type EvaluationAnswer = Result<Measurement, String>;

/// An [`Evaluator`] that remembers its answers, in AutoDB if there is one and otherwise in this
/// process. It runs what it does not remember on the threads of the current rayon pool.
///
/// Answers come in the order of the questions, and each is stored as soon as it is known.
pub struct CachedEvaluator<'a> {
    evaluator: &'a dyn Evaluator,
    db: Option<&'a AutoDb>,
    /// Answers that this process knows. Without AutoDB they are the only memory.
    known: Mutex<BTreeMap<EvaluationKey, EvaluationAnswer>>,
    /// Drives whose text this process has stored in AutoDB.
    stored: Mutex<BTreeSet<Digest>>,
    stop: &'a AtomicBool,
    tell: &'a (dyn Fn(EvaluationCounts) + Sync),
    answered: AtomicU64,
    run: AtomicU64,
    requests: AtomicU64,
}

/// Locks a table, also after a panic of another thread: tables change by single insertions, so they
/// are never left half changed.
fn lock<T>(table: &Mutex<T>) -> MutexGuard<'_, T> {
    table.lock().unwrap_or_else(PoisonError::into_inner)
}

impl<'a> CachedEvaluator<'a> {
    /// Gives `evaluator` a memory, in `db` if there is one. It stops when `stop` is set, and calls
    /// `tell` with the counts after each answer.
    pub fn new(
        evaluator: &'a dyn Evaluator,
        db: Option<&'a AutoDb>,
        stop: &'a AtomicBool,
        tell: &'a (dyn Fn(EvaluationCounts) + Sync),
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

    /// How many evaluations were answered so far.
    pub fn counts(&self) -> EvaluationCounts {
        EvaluationCounts {
            answered: self.answered.load(Ordering::Relaxed),
            run: self.run.load(Ordering::Relaxed),
            requests: self.requests.load(Ordering::Relaxed),
        }
    }

    /// The evaluator behind the memory.
    pub(crate) fn behind(&self) -> &dyn Evaluator {
        self.evaluator
    }

    /// The identity of the evaluator behind the memory.
    pub fn identity(&self) -> String {
        self.evaluator.identity()
    }

    /// What a drive takes in the open loop for each of the windows that may be drawn, in
    /// nanoseconds. It is not stored.
    ///
    /// # Errors
    /// The drive cannot serve them, or the caller asked to stop.
    pub(crate) fn window_sizes(
        &self,
        config: &CheckedConfig,
        windows: &Windows,
    ) -> Result<Vec<f64>, EvaluationError> {
        let preparation = self.evaluator.preparation();
        super::windows::sizes(config, &preparation, &windows.every(), self.stop)
    }

    /// The key under which an evaluation is stored.
    pub fn key(&self, job: &Job) -> EvaluationKey {
        let length = job.trace.requests().len() as u64;
        // Other preparations are part of the evaluator's identity.
        let filling =
            filled_and_overwritten(&self.evaluator.preparation()).map(|(occupancy, overwrites)| {
                Filling { occupancy, overwrites, seed: job.config.run.seed }
            });
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

    /// Measures drives on workloads, each on every trace of its workload. A drive that cannot serve
    /// one of the traces gets the reason instead.
    ///
    /// # Errors
    /// AutoDB or the evaluator fails, or the caller asked to stop.
    pub fn measure_workloads(
        &self,
        questions: &[(&CheckedConfig, &Workload)],
    ) -> Result<Vec<Result<WorkloadMeasurement, String>>, MeasureError> {
        let mut jobs = Vec::new();
        for (config, workload) in questions {
            let depth = workload.depth;
            jobs.extend(workload.traces.iter().map(|trace| Job { config, trace, depth }));
        }
        let mut answers = self.measure(&jobs)?.into_iter();
        let of_workload = |(_, workload): &(_, &Workload)| {
            // Take all answers of this workload, so that the next one begins with its own.
            let each: Vec<EvaluationAnswer> =
                answers.by_ref().take(workload.traces.len()).collect();
            let each: Result<Vec<Measurement>, String> = each.into_iter().collect();
            each.map(WorkloadMeasurement::new)
        };
        Ok(questions.iter().map(of_workload).collect())
    }

    /// Answers jobs, in their order. Equal jobs are run once. The longest one is run first, so that
    /// no thread is left alone with it at the end.
    ///
    /// # Errors
    /// AutoDB or the evaluator fails, or the caller asked to stop.
    pub fn measure(&self, jobs: &[Job]) -> Result<Vec<EvaluationAnswer>, MeasureError> {
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
            (self.tell)(self.counts());
        }
        let mut work: Vec<(EvaluationKey, &Job)> =
            open.into_iter().map(|(key, index)| (key, &jobs[index])).collect();
        let cost = |job: &Job| job.trace.footprint_sectors() + job.trace.requests_served() as u64;
        work.sort_by_key(|(key, job)| (Reverse(cost(job)), *key));
        self.run_all(&work)?;
        let known = lock(&self.known);
        Ok(keys.iter().map(|key| known[key].clone()).collect())
    }

    fn recall(&self, key: &EvaluationKey) -> Result<Option<EvaluationAnswer>, MeasureError> {
        let mut known = lock(&self.known);
        if let Some(answer) = known.get(key) {
            return Ok(Some(answer.clone()));
        }
        let Some(db) = self.db else { return Ok(None) };
        let Some(record) = db.get::<EvaluationRecord>(RecordKind::Evaluation, key.as_bytes())?
        else {
            return Ok(None);
        };
        let answer = match record.value.answer {
            StoredAnswer::Measured(measurement) => Ok(*measurement),
            StoredAnswer::Unfit(reason) => Err(reason),
        };
        known.insert(*key, answer.clone());
        Ok(Some(answer))
    }

    fn run_all(&self, work: &[(EvaluationKey, &Job)]) -> Result<(), MeasureError> {
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

    fn run_one(&self, key: &EvaluationKey, job: &Job) -> Result<(), MeasureError> {
        if self.stop.load(Ordering::Relaxed) {
            return Err(MeasureError::Interrupted);
        }
        let (answer, stored) = match self.evaluator.measure(job, self.stop) {
            Ok(found) => (Ok(found.clone()), StoredAnswer::Measured(Box::new(found))),
            Err(EvaluationError::Unfit(reason)) => {
                (Err(reason.clone()), StoredAnswer::Unfit(reason))
            }
            Err(EvaluationError::Broken(error)) => return Err(error.into()),
            Err(EvaluationError::Interrupted) => return Err(MeasureError::Interrupted),
        };
        if let Some(db) = self.db {
            self.store(db, key, job, stored)?;
        }
        lock(&self.known).insert(*key, answer);
        self.answered.fetch_add(1, Ordering::Relaxed);
        self.run.fetch_add(1, Ordering::Relaxed);
        self.requests.fetch_add(2 * job.trace.requests_served() as u64, Ordering::Relaxed);
        (self.tell)(self.counts());
        Ok(())
    }

    /// Stores an answer together with its question. The text of a drive is stored once for all
    /// evaluations of that drive.
    fn store(
        &self,
        db: &AutoDb,
        key: &EvaluationKey,
        job: &Job,
        answer: StoredAnswer,
    ) -> Result<(), MeasureError> {
        let configuration = configuration_digest(job.config);
        let subject = EvaluationSubject {
            configuration,
            evaluator: self.evaluator.identity(),
            trace: job.trace.digest(),
            depth: job.depth,
            characteristics: *job.trace.characteristics(),
        };
        let mut batch = Batch::default();
        let is_new = !lock(&self.stored).contains(&configuration);
        if is_new {
            batch.put(
                RecordKind::Configuration,
                configuration.as_bytes(),
                &canonical(job.config),
            )?;
        }
        let record = EvaluationRecord { answer, subject: Some(subject) };
        batch.put(RecordKind::Evaluation, key.as_bytes(), &record)?;
        db.commit(&batch)?;
        // After the commit: a thread that finds the drive here relies on its text being on disk.
        if is_new {
            lock(&self.stored).insert(configuration);
        }
        Ok(())
    }
}
