//! What every tuning command shares: its arguments, the workloads they name, AutoDB, and progress.

mod args;
mod bar;
mod workloads;

pub(crate) use args::{Asked, Bounds, TuneArgs};
pub(crate) use bar::Bar;

use crate::context::Context;
use crate::outcome::{Failure, Outcome};
use ssdtune_tune::search::Settings;

/// The threads that the command line asks for.
pub(crate) fn pool(context: &Context) -> Outcome<rayon::ThreadPool> {
    let builder = rayon::ThreadPoolBuilder::new().num_threads(context.threads());
    builder.build().map_err(|error| Failure::Work(error.into()))
}

/// Settings of a search of so many evaluations, raced on a prefix of so many requests (0 for none).
pub(crate) fn settings(context: &Context, tune: &TuneArgs, budget: u32, prefix: u32) -> Settings {
    let prefix = f64::from(prefix) / f64::from(tune.requests);
    Settings {
        seed: tune.search_seed(context),
        budget: budget.into(),
        prefix: if prefix > 0.0 { prefix.min(1.0) } else { 1.0 },
        ..Settings::default()
    }
}
