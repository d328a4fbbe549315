//! What can go wrong with an AutoDB.

use super::{Generation, RecordKind};
use std::fmt;
use std::io;
use std::path::PathBuf;

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
    /// The storage engine fails.
    #[error(
        "the AutoDB {} cannot be {doing}: export what can be read (`ssdtune db export`), or \
         restore a copy",
        .path.display()
    )]
    Store {
        /// The AutoDB.
        path: PathBuf,
        /// What was being done, as a participle: opened, read, written.
        doing: &'static str,
        /// Why not.
        source: sled::Error,
    },
    /// The storage engine cannot read its files.
    #[error(
        "the files of the AutoDB {} are damaged ({reason}): restore a copy, or import an export \
         into a new one",
        .path.display()
    )]
    Unreadable {
        /// The AutoDB.
        path: PathBuf,
        /// The engine's own words.
        reason: String,
    },
    /// Records that were acknowledged are missing.
    #[error(
        "the AutoDB {} has lost records: its files are damaged and go back to generation {found}, \
         and {acknowledged} was reached. Restore a copy, or remove {} to go on with what is left",
        .path.display(), .note.display()
    )]
    Lost {
        /// The AutoDB.
        path: PathBuf,
        /// The file that holds the newest acknowledged generation.
        note: PathBuf,
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
