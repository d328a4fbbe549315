//! What all tuning commands share: arguments, the task that they describe, AutoDB, and progress.

mod args;
mod bar;

pub(crate) use args::{BudgetArgs, HarmArg, TuneArgs};
pub(crate) use bar::Bar;

use crate::autodb;
use crate::context::Context;
use crate::device;
use crate::interrupt::Deferred;
use crate::outcome::{Failure, Outcome};
use ssdtune_tune::evaluate::MeasureError;
use ssdtune_tune::search::BeginError;
use ssdtune_tune::workload::NamedError;
use ssdtune_tune::{AskedError, JobError, TuneError, TuningJob};

/// The job with the windows drawn that long traces are measured on.
fn drawn(mut job: TuningJob, context: &Context) -> Outcome<TuningJob> {
    let deferred = Deferred::new();
    let drawn = context.pool()?.install(|| job.draw_windows(deferred.flag()));
    drawn.map_err(failure)?;
    Ok(job)
}

/// The failure, and so the exit code, of a job that cannot be loaded. A name that stands for
/// nothing is a wrong argument; a file that cannot be read is a wrong input.
pub fn failure_of_job(error: JobError) -> Failure {
    match error {
        JobError::Asked(AskedError::File(error)) | JobError::Workloads(NamedError::File(error)) => {
            device::failure(error)
        }
        JobError::Workloads(NamedError::Unknown(error)) => Failure::usage(error),
        JobError::Workloads(error @ (NamedError::NoDepth { .. } | NamedError::Nameless { .. })) => {
            Failure::usage(error)
        }
        JobError::Workloads(error) => Failure::input(error),
        JobError::Asked(error) => Failure::usage(error),
        JobError::Preparation(error) => Failure::usage(error),
    }
}

/// The failure, and so the exit code, of a search that cannot begin.
pub fn failure_of_beginning(error: BeginError) -> Failure {
    match error {
        BeginError::Memory(error) => autodb::failure(error),
        BeginError::Categories(error) => autodb::cluster_failure(error),
        other => Failure::Work(other.into()),
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
        error if error.is_of_usage() => Failure::usage(error),
        other => Failure::Work(other.into()),
    }
}
