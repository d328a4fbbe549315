//! Reading of model files, and why a file is none: the same for both predictors.

use serde::de::DeserializeOwned;
use std::path::{Path, PathBuf};

/// Why a file is no model.
#[derive(Debug, thiserror::Error)]
pub enum ModelFileError {
    /// The system refused.
    #[error("{}: {source}", path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// What the system says.
        source: std::io::Error,
    },
    /// Its content is wrong.
    #[error("{}: no {what}: {problem}; `{made_by}` makes one", path.display())]
    Content {
        /// The file.
        path: PathBuf,
        /// What it should be.
        what: &'static str,
        /// What is wrong.
        problem: String,
        /// The command that writes such files.
        made_by: &'static str,
    },
}

/// A kind of model file.
pub(crate) struct Kind {
    pub(crate) what: &'static str,
    pub(crate) made_by: &'static str,
}

impl Kind {
    /// Reads a file and has its content checked.
    pub(crate) fn read<M: DeserializeOwned>(
        &self,
        path: &Path,
        check: impl FnOnce(&M) -> Result<(), String>,
    ) -> Result<M, ModelFileError> {
        let text = std::fs::read_to_string(path)
            .map_err(|source| ModelFileError::Io { path: path.to_path_buf(), source })?;
        let content = |problem: String| ModelFileError::Content {
            path: path.to_path_buf(),
            what: self.what,
            problem,
            made_by: self.made_by,
        };
        let model = serde_json::from_str(&text).map_err(|error| content(error.to_string()))?;
        check(&model).map_err(content)?;
        Ok(model)
    }
}
