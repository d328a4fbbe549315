//! Workload models, named on the command line.

use crate::context::Context;
use crate::device;
use crate::outcome::{Failure, Outcome};
use ssdtune_experiment::RequestSource;
use ssdtune_trace::workload::{self, LoadModelError, Model, Seed};

/// Loads a bundled workload model by its name, or a model from a TOML file by its path.
pub(crate) fn load_model(name: &str) -> Outcome<Model> {
    workload::load(name).map_err(failure)
}

/// The failure, and so the exit code, of a model that cannot be loaded.
pub fn failure(error: LoadModelError) -> Failure {
    match error {
        LoadModelError::Unknown(error) => Failure::usage(error),
        LoadModelError::File(error) => device::failure(error),
        LoadModelError::Faulty(error) => Failure::input(error),
    }
}

/// The first requests of such a model, by the seed of the command line.
pub(crate) fn source(name: &str, requests: u64, context: &Context) -> Outcome<RequestSource> {
    let seed = Seed { index: context.seed().unwrap_or(0), ..Seed::default() };
    Ok(RequestSource::of_model(load_model(name)?, seed, requests))
}
