//! Reading a trained model from a JSON file, with errors that name the file and the remedy.
//!
//! A model file is one JSON document that carries a [`Version`](crate::Version). Reading it has
//! three steps that can fail: the system reads the file, serde makes the model of its text, and the
//! caller checks what serde cannot see (a network with as many inputs as there are columns, an
//! interval whose ends are in order). Every failure is one sentence that names the file and the
//! command that writes such files.
//!
//! Cost: the whole file is in memory while it is read.

use serde::de::DeserializeOwned;
use std::path::{Path, PathBuf};

/// Why a file could not be read as a model.
#[derive(Debug, thiserror::Error)]
pub enum ModelFileError {
    /// The system could not read the file.
    #[error("{}: {source}", path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// The error of the system.
        source: std::io::Error,
    },
    /// The content of the file is not a model of the expected kind.
    #[error("{} is not a {holds}: {problem}; `{written_by}` writes one", path.display())]
    Content {
        /// The file.
        path: PathBuf,
        /// The kind of model that the file should hold.
        holds: &'static str,
        /// What is wrong with the content.
        problem: String,
        /// The command that writes such files.
        written_by: &'static str,
    },
}

impl ModelFileError {
    /// The file.
    pub fn path(&self) -> &Path {
        match self {
            Self::Io { path, .. } | Self::Content { path, .. } => path,
        }
    }
}

/// A kind of model file, described in the words of its error messages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ModelFile {
    /// The kind of model in words, such as "black-box model".
    pub holds: &'static str,
    /// The command that writes such files.
    pub written_by: &'static str,
}

impl ModelFile {
    /// Reads a model from a JSON file. `check` returns what is wrong with the model, if anything.
    ///
    /// # Errors
    /// The file cannot be read, is not the JSON of such a model, or does not pass the check.
    pub fn read<M: DeserializeOwned>(
        &self,
        path: &Path,
        check: impl FnOnce(&M) -> Result<(), String>,
    ) -> Result<M, ModelFileError> {
        let text = std::fs::read_to_string(path)
            .map_err(|source| ModelFileError::Io { path: path.to_path_buf(), source })?;
        let content = |problem: String| ModelFileError::Content {
            path: path.to_path_buf(),
            holds: self.holds,
            problem,
            written_by: self.written_by,
        };
        let model = serde_json::from_str(&text).map_err(|error| content(error.to_string()))?;
        check(&model).map_err(content)?;
        Ok(model)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde::Deserialize;

    #[derive(Debug, Deserialize, PartialEq)]
    struct Slope {
        slope: f64,
    }

    fn read(text: &str) -> Result<Slope, ModelFileError> {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("model.json");
        std::fs::write(&path, text).unwrap();
        let file = ModelFile { holds: "test model", written_by: "ssdtune test" };
        let is_rising = |model: &Slope| match model.slope > 0.0 {
            true => Ok(()),
            false => Err("its slope is not above 0".to_owned()),
        };
        file.read(&path, is_rising)
    }

    #[test]
    fn a_sound_model_is_read_and_a_faulty_one_is_named_with_its_remedy() {
        assert_eq!(read("{\"slope\": 2.5}").unwrap(), Slope { slope: 2.5 });
        for (text, problem) in [
            ("{}", "missing field `slope`"),
            ("{\"slope\": 1", "EOF while parsing"),
            ("{\"slope\": -1.0}", "its slope is not above 0"),
        ] {
            let error = read(text).unwrap_err().to_string();
            assert!(error.contains("model.json is not a test model: "), "{error}");
            assert!(error.contains(problem), "{error}");
            assert!(error.ends_with("; `ssdtune test` writes one"), "{error}");
        }
        let file = ModelFile { holds: "test model", written_by: "ssdtune test" };
        let error = file.read::<Slope>(Path::new("absent.json"), |_| Ok(())).unwrap_err();
        assert!(matches!(&error, ModelFileError::Io { .. }), "{error}");
        assert!(error.to_string().starts_with("absent.json: "), "{error}");
    }
}
