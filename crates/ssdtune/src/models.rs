//! Workload models, named on the command line.

use crate::context::Context;
use crate::device;
use crate::outcome::{Failure, Outcome};
use ssdtune_experiment::RequestSource;
use ssdtune_trace::workload::{self, Model, Seed};
use std::path::Path;

/// Loads a bundled workload model by its name, or a model from a TOML file by its path.
pub(crate) fn load_model(name: &str) -> Outcome<Model> {
    // No bundled model has a dot in its name.
    if !name.contains(['.', '/', '\\']) {
        return workload::bundled(name).map_err(Failure::usage);
    }
    let text = ssdtune_model::source::read_text(Path::new(name)).map_err(device::failure)?;
    workload::parse(&text, name).map_err(Failure::input)
}

/// The first requests of such a model, by the seed of the command line.
pub(crate) fn source(name: &str, requests: u64, context: &Context) -> Outcome<RequestSource> {
    let seed = Seed { index: context.seed().unwrap_or(0), ..Seed::default() };
    Ok(RequestSource::of_model(load_model(name)?, seed, requests))
}
