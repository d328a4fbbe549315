//! Workload models by the names that users give them.

use super::bundled::bundled;
use super::check::ModelError;
use super::model::Model;
use super::read::parse;
use ssdtune_model::source::{LoadError, read_text};
use std::path::Path;

/// Why a model cannot be loaded.
#[derive(Debug, thiserror::Error)]
pub enum LoadModelError {
    /// No bundled model has this name.
    #[error(transparent)]
    Unknown(ModelError),
    /// The file cannot be read.
    #[error(transparent)]
    File(#[from] LoadError),
    /// The file is no sound model.
    #[error(transparent)]
    Faulty(ModelError),
}

/// A bundled model by its name, or the model of a TOML file by its path.
///
/// # Errors
/// There is no such model, or the file cannot be read or has faults.
pub fn load(name: &str) -> Result<Model, LoadModelError> {
    // No bundled model has a dot in its name.
    if !name.contains(['.', '/', '\\']) {
        return bundled(name).map_err(LoadModelError::Unknown);
    }
    parse(&read_text(Path::new(name))?, name).map_err(LoadModelError::Faulty)
}
