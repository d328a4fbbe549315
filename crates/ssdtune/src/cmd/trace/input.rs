//! Finding a workload model by name or path, for the trace commands.

use crate::outcome::{Failure, Outcome};
use ssdtune_trace::workload::{Model, ModelError, bundled, parse};
use std::path::PathBuf;

/// The model of a name (`tpcc`, `prxy_0@footprint-half`) or of a TOML file.
pub(crate) fn model(name: &str) -> Outcome<Model> {
    let path = PathBuf::from(name);
    let is_path = path.extension().is_some_and(|e| e == "toml") || name.contains('/');
    if !is_path {
        return bundled(name).map_err(Failure::usage);
    }
    let text = std::fs::read_to_string(&path)
        .map_err(|error| Failure::input(anyhow::anyhow!("{}: {error}", path.display())))?;
    parse(&text, name).map_err(|error: ModelError| Failure::input(error))
}
