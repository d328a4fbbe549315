//! What a fit has evaluated, so that an interrupted one goes on where it was.
//!
//! A line for each evaluation: which one it was, and the objective (`null` where the drive is
//! impossible), or, of runs of writes, all that was found as text. A search that is started again
//! asks for the same evaluations in the same order and finds the answers here. The first line says
//! what the fit was begun with.

use serde::{Deserialize, Serialize};
use ssdtune_output::{LineFile, LineFileError, LineKind};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

/// What the first line calls itself.
const NAME: &str = "ssdtune calibrate";
/// The version of the lines.
const VERSION: u32 = 1;

/// The file of a journal, by its first line.
const KIND: LineKind = LineKind {
    name: "evaluations that ssdtune calibrate writes",
    is_head: |line| serde_json::from_str::<Head>(line).is_ok_and(|head| head.of == NAME),
};

/// The first line.
#[derive(Debug, PartialEq, Serialize, Deserialize)]
struct Head {
    of: String,
    version: u32,
    /// A digest of everything that decides the evaluations.
    inputs: String,
}

/// Another line.
#[derive(Serialize, Deserialize)]
struct Line {
    evaluation: String,
    #[serde(flatten)]
    found: Found,
}

/// What an evaluation found.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
struct Found {
    objective: Option<f64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    text: Option<String>,
}

/// Why a journal cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum JournalError {
    /// It is no journal, or cannot be read or written.
    #[error("{}: {source}", path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// What is wrong.
        source: LineFileError,
    },
    /// It is of another fit.
    #[error(
        "{} was begun with other points, another base or other options: name another file, or \
         remove it", .0.display()
    )]
    Other(PathBuf),
    /// A line of it is damaged.
    #[error("{}:{line}: no evaluation: remove the line, or the file", path.display())]
    Damaged {
        /// The file.
        path: PathBuf,
        /// The line, from 1.
        line: usize,
    },
}

/// The evaluations that are known, and the file that keeps them, if any.
#[derive(Debug, Default)]
pub struct Journal {
    known: Mutex<BTreeMap<String, Found>>,
    file: Option<(PathBuf, Mutex<LineFile>)>,
}

impl Journal {
    /// A journal that is kept in a file. It is begun there, or continued if `inputs`, the digest of
    /// what decides the evaluations, is the same.
    ///
    /// # Errors
    /// The file is another's, of another fit, damaged, or cannot be read or written.
    pub fn open(path: &Path, inputs: &str) -> Result<Self, JournalError> {
        let head = Head { of: NAME.to_owned(), version: VERSION, inputs: inputs.to_owned() };
        let wrong = |source| JournalError::File { path: path.to_path_buf(), source };
        let head_line = serde_json::to_string(&head).unwrap_or_default() + "\n";
        let (file, text) = LineFile::open(path, &head_line, KIND).map_err(wrong)?;
        let mut known = BTreeMap::new();
        for (number, line) in text.lines().enumerate() {
            if number == 0 {
                if serde_json::from_str::<Head>(line).ok().as_ref() != Some(&head) {
                    return Err(JournalError::Other(path.to_path_buf()));
                }
                continue;
            }
            let damaged = |_| JournalError::Damaged { path: path.to_path_buf(), line: number + 1 };
            let line: Line = serde_json::from_str(line).map_err(damaged)?;
            known.insert(line.evaluation, line.found);
        }
        let file = Some((path.to_path_buf(), Mutex::new(file)));
        Ok(Self { known: Mutex::new(known), file })
    }

    /// The objective of an evaluation, if it is known.
    pub(super) fn get(&self, evaluation: &str) -> Option<Option<f64>> {
        let known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        known.get(evaluation).map(|found| found.objective)
    }

    /// The text that an evaluation found, if it is known.
    pub(crate) fn text(&self, evaluation: &str) -> Option<String> {
        let known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        known.get(evaluation)?.text.clone()
    }

    /// Keeps the objective of an evaluation.
    pub(super) fn add(
        &self,
        evaluation: String,
        objective: Option<f64>,
    ) -> Result<(), JournalError> {
        self.keep(evaluation, Found { objective, text: None })
    }

    /// Keeps the text that an evaluation found.
    pub(crate) fn add_text(&self, evaluation: String, text: String) -> Result<(), JournalError> {
        // Without a file nobody asks again.
        if self.file.is_none() {
            return Ok(());
        }
        self.keep(evaluation, Found { objective: None, text: Some(text) })
    }

    fn keep(&self, evaluation: String, found: Found) -> Result<(), JournalError> {
        if let Some((path, file)) = &self.file {
            let line = Line { evaluation: evaluation.clone(), found: found.clone() };
            let text = serde_json::to_string(&line).unwrap_or_default() + "\n";
            let wrong =
                |error| JournalError::File { path: path.clone(), source: LineFileError::Io(error) };
            file.lock().unwrap_or_else(PoisonError::into_inner).add(&text).map_err(wrong)?;
        }
        self.known.lock().unwrap_or_else(PoisonError::into_inner).insert(evaluation, found);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn evaluations_come_back_and_other_fits_are_refused() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("fit.jsonl");
        let journal = Journal::open(&path, "a").unwrap();
        journal.add("x".to_owned(), Some(0.1)).unwrap();
        journal.add("y".to_owned(), None).unwrap();
        journal.add_text("t".to_owned(), "[0.1]".to_owned()).unwrap();
        drop(journal);
        let journal = Journal::open(&path, "a").unwrap();
        assert_eq!((journal.get("x"), journal.get("y")), (Some(Some(0.1)), Some(None)));
        assert_eq!((journal.get("z"), journal.text("z"), journal.text("x")), (None, None, None));
        assert_eq!(journal.text("t").as_deref(), Some("[0.1]"));
        assert!(matches!(Journal::open(&path, "b"), Err(JournalError::Other(_))));
        std::fs::write(folder.path().join("foreign"), "hello\n").unwrap();
        let foreign = Journal::open(&folder.path().join("foreign"), "a").unwrap_err();
        assert!(foreign.to_string().contains("is no file of evaluations"), "{foreign}");
    }
}
