//! What can go wrong with an AutoDB.

use super::{Generation, RecordKind};
use std::fmt;
use std::io;
use std::path::{Path, PathBuf};

/// Why an AutoDB cannot do what it was asked.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum DbError {
    /// Another process has the AutoDB open.
    #[error(
        "the AutoDB {} is in use{}: wait until that is done, or name another one",
        .path.display(), Holder(*.process)
    )]
    InUse {
        /// The AutoDB.
        path: PathBuf,
        /// The number of that process, where it is known.
        process: Option<u32>,
    },
    /// There is no AutoDB in the directory.
    #[error("there is no AutoDB at {}: a search makes one, or name another place", .path.display())]
    Missing {
        /// The directory.
        path: PathBuf,
    },
    /// The path is that of a file.
    #[error("{} is a file, and an AutoDB is a directory: name another place", .path.display())]
    NoDirectory {
        /// The file.
        path: PathBuf,
    },
    /// The directory holds something else than an AutoDB.
    #[error(
        "{} is no AutoDB and not empty: name an AutoDB, or a place for a new one",
        .path.display()
    )]
    Foreign {
        /// The directory.
        path: PathBuf,
    },
    /// The AutoDB was written by a newer program.
    #[error(
        "the AutoDB {} has schema {found}, and this program knows none above {known}: use the \
         newer program",
        .path.display()
    )]
    Newer {
        /// The AutoDB.
        path: PathBuf,
        /// The schema of the AutoDB.
        found: u32,
        /// The newest schema that this program knows.
        known: u32,
    },
    /// An operation on its files fails.
    #[error("the AutoDB {}: {doing}", .path.display())]
    Io {
        /// The AutoDB.
        path: PathBuf,
        /// What was being done.
        doing: &'static str,
        /// Why not.
        source: io::Error,
    },
    /// Its files are damaged.
    #[error("the AutoDB {} is damaged: {reason}. {}", .path.display(), Remedy(.path))]
    Unreadable {
        /// The AutoDB.
        path: PathBuf,
        /// What shows it.
        reason: String,
    },
    /// Its files are damaged: records that were acknowledged are missing.
    #[error(
        "the AutoDB {} is damaged: it goes back to generation {found}, and {acknowledged} was \
         reached. {}",
        .path.display(), Remedy(.path)
    )]
    Lost {
        /// The AutoDB.
        path: PathBuf,
        /// The newest generation in the store.
        found: Generation,
        /// The newest generation that was acknowledged.
        acknowledged: Generation,
    },
    /// The bytes of a record are not those that were written.
    #[error("{kind} {key}: the record is damaged ({reason}): `ssdtune db gc --damaged` removes it")]
    Damaged {
        /// The kind of the record, or the number in its place if there is no such kind.
        kind: String,
        /// The key of the record, as text or as hexadecimal digits.
        key: String,
        /// What is wrong with the record.
        reason: String,
    },
    /// A record is sound, but its value has another form than this program expects.
    #[error("{kind} {key}: the record does not have the form this program knows")]
    Form {
        /// The kind of the record.
        kind: RecordKind,
        /// The key of the record.
        key: String,
        /// What does not fit.
        source: serde_json::Error,
    },
    /// A value cannot be written as JSON.
    #[error("{kind} {key}: the value cannot be written as JSON")]
    Value {
        /// The kind of the record.
        kind: RecordKind,
        /// The key of the record.
        key: String,
        /// Why not.
        source: serde_json::Error,
    },
    /// A key is empty or too long.
    #[error("{kind}: a key of {bytes} bytes; legal are 1 to {max}")]
    Key {
        /// The kind of the record.
        kind: RecordKind,
        /// The length of the key in bytes.
        bytes: usize,
        /// The greatest legal length in bytes.
        max: usize,
    },
    /// A line of an import cannot be read.
    #[error("line {line}: {reason}")]
    Import {
        /// The number of the line, from 1.
        line: u64,
        /// What is wrong with the line.
        reason: String,
    },
    /// A line of an import contradicts a stored record.
    #[error(
        "line {line}: {kind} {key} is stored with another value: import into a new AutoDB, or say \
         which one wins"
    )]
    Conflict {
        /// The number of the line, from 1.
        line: u64,
        /// The kind of the record.
        kind: RecordKind,
        /// The key of the record.
        key: String,
    },
}

impl DbError {
    /// The number of the line of an import that it is about, from 1.
    pub fn line(&self) -> Option<u64> {
        match self {
            Self::Import { line, .. } | Self::Conflict { line, .. } => Some(*line),
            _ => None,
        }
    }

    /// If the files are damaged: what shows it, without what to do then.
    /// [`AutoDb::salvage`](super::AutoDb::salvage) saves what is left.
    pub fn damage(&self) -> Option<String> {
        let (Self::Unreadable { path, .. } | Self::Lost { path, .. }) = self else { return None };
        let text = self.to_string();
        let remedy = format!(". {}", Remedy(path));
        Some(text.strip_suffix(&remedy).unwrap_or(&text).to_owned())
    }
}

/// What to do with a damaged AutoDB.
struct Remedy<'a>(&'a Path);

impl fmt::Display for Remedy<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "`ssdtune db export --db {} -o FILE` saves what can be read, and `ssdtune db import \
             FILE --db NEW` makes a new AutoDB of it",
            self.0.display()
        )
    }
}

/// Shows " by process N", or " by another process" where the number is not known.
struct Holder(Option<u32>);

impl fmt::Display for Holder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            Some(process) => write!(f, " by process {process}"),
            None => write!(f, " by another process"),
        }
    }
}
