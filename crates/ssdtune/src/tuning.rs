//! What every tuning command shares: its arguments, the workloads they name, AutoDB, and progress.

mod args;
mod bar;
mod workloads;

pub(crate) use args::{Asked, Bounds, TuneArgs};
pub(crate) use bar::Bar;

use crate::context::Context;
use crate::outcome::{Failure, Outcome};

/// The threads that the command line asks for.
pub(crate) fn pool(context: &Context) -> Outcome<rayon::ThreadPool> {
    let builder = rayon::ThreadPoolBuilder::new().num_threads(context.threads());
    builder.build().map_err(|error| Failure::Work(error.into()))
}
