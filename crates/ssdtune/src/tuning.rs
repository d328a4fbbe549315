//! What all tuning commands share: arguments, the task that they describe, AutoDB, and progress.

mod args;
mod bar;

pub(crate) use args::{BudgetArgs, HarmArg, TuneArgs};
pub(crate) use bar::Bar;

use crate::autodb;
use crate::context::Context;
use crate::interrupt::Deferred;
use crate::outcome::{Failure, Outcome};
use ssdtune_tune::evaluate::{CachedEvaluator, EvaluationCounts, Evaluator, MeasureError};
use ssdtune_tune::memory::AutoDb;
use ssdtune_tune::workload::Workload;
use ssdtune_tune::{Task, TuneError};

/// What a tuning command works on. It does not change once it is loaded.
pub(crate) struct TuningJob {
    pub(crate) task: Task,
    /// The workloads of `task` with requests of other seeds, which no decision may see: the target,
    /// then the others. `None` if a workload is a trace file, which has no other seeds.
    pub(crate) held_out: Option<Vec<Workload>>,
    pub(crate) evaluator: Box<dyn Evaluator>,
    pub(crate) db: Option<AutoDb>,
    /// What a calibrated baseline was not tested at and the workloads ask for.
    pub(crate) outside: Option<Vec<String>>,
}

impl TuningJob {
    /// The job with the held-out workloads in its task; `None` if there are none.
    pub(crate) fn on_held_out(self) -> Option<Self> {
        let mut workloads = self.held_out?;
        let target = workloads.remove(0);
        let task = Task { target, others: workloads, ..self.task };
        Some(Self { task, held_out: None, ..self })
    }

    /// The job with the windows drawn that long traces are measured on.
    fn drawn(mut self, context: &Context) -> Outcome<Self> {
        if !self.task.is_sampled() {
            return Ok(self);
        }
        let Self { task, held_out, evaluator, db, .. } = &mut self;
        let deferred = Deferred::new();
        let evaluator = CachedEvaluator::new(&**evaluator, db.as_ref(), deferred.flag(), &|_| {});
        let pool = context.pool()?;
        pool.install(|| task.draw_windows(held_out.as_mut(), &evaluator)).map_err(failure)?;
        Ok(self)
    }

    /// The evaluator with its memory, until a signal ends the work.
    pub(crate) fn evaluator(&self, deferred: &Deferred) -> CachedEvaluator<'_> {
        self.telling_evaluator(deferred, &|_| {})
    }

    /// The evaluator with its memory; it gives `tell` its counts after each answer.
    pub(crate) fn telling_evaluator<'a>(
        &'a self,
        deferred: &Deferred,
        tell: &'a (dyn Fn(EvaluationCounts) + Sync),
    ) -> CachedEvaluator<'a> {
        CachedEvaluator::new(&*self.evaluator, self.db.as_ref(), deferred.flag(), tell)
    }
}

/// The failure of tuning whose result would be a drive. That no drive keeps every limit is a result
/// too, so `--json` prints it as a document.
pub(crate) fn failure_of_result(error: TuneError, context: &Context) -> Failure {
    match error {
        TuneError::NothingKept(nothing) if context.json() => match context.document(&nothing) {
            Ok(()) => {
                context.note(nothing);
                Failure::Reported(1)
            }
            Err(failure) => failure,
        },
        other => failure(other),
    }
}

/// The failure, and so the exit code, of tuning that cannot go on.
pub fn failure(error: TuneError) -> Failure {
    match error {
        TuneError::Measure(MeasureError::Interrupted) => Failure::Interrupted,
        TuneError::Measure(MeasureError::Memory(error)) => autodb::failure(error),
        TuneError::Limits(_) | TuneError::Space => Failure::usage(error),
        other => Failure::Work(other.into()),
    }
}
