//! What every tuning command shares: its arguments, the workloads they name, AutoDB, and progress.

mod args;
mod bar;
mod workloads;

pub(crate) use args::{Bounds, TuneArgs, TuningJob};
pub(crate) use bar::Bar;

use crate::context::Context;
use crate::outcome::{Failure, Outcome};
use ssdtune_tune::TuneError;
use ssdtune_tune::evaluate::MeasureError;
use ssdtune_tune::search::Settings;

/// The threads that the command line asks for.
pub(crate) fn pool(context: &Context) -> Outcome<rayon::ThreadPool> {
    let builder = rayon::ThreadPoolBuilder::new().num_threads(context.threads());
    builder.build().map_err(|error| Failure::Work(error.into()))
}

/// The settings of a search that may spend `budget` evaluations and races candidates on their first
/// `prefix` requests. 0 races nothing.
pub(crate) fn settings(context: &Context, tune: &TuneArgs, budget: u32, prefix: u32) -> Settings {
    let prefix = f64::from(prefix) / f64::from(tune.requests);
    Settings {
        seed: tune.search_seed(context),
        budget: budget.into(),
        prefix: if prefix > 0.0 { prefix.min(1.0) } else { 1.0 },
        ..Settings::default()
    }
}

/// What an error of tuning means for the exit code.
pub(crate) fn failure(error: TuneError) -> Failure {
    match error {
        TuneError::Measure(MeasureError::Interrupted) => Failure::Interrupted,
        TuneError::Limits(_) | TuneError::Space => Failure::usage(error),
        other => Failure::Work(other.into()),
    }
}
