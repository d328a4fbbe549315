//! What can go wrong with an AutoDB.

use super::{Generation, RecordKind};
use std::fmt;
use std::io;
use std::path::PathBuf;

/// Why an AutoDB cannot do what it was asked.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum DbError {
    /// Another process works with it.
    #[error(
        "the AutoDB {} is in use{}: wait until that is done, or name another one",
        .path.display(), Holder(*.process)
    )]
    InUse {
        /// The AutoDB.
        path: PathBuf,
        /// The process that has it open, if it said so.
        process: Option<u32>,
    },
    /// There is none.
    #[error("there is no AutoDB at {}: a search makes one, or name another place", .path.display())]
    Missing {
        /// Where it was looked for.
        path: PathBuf,
    },
    /// The directory holds something else.
    #[error("{} is no AutoDB and not empty: name an AutoDB, or a place for a new one", .path.display())]
    Foreign {
        /// The directory.
        path: PathBuf,
    },
    /// It was written by a newer program.
    #[error(
        "the AutoDB {} has schema {found}, and this program knows none above {known}: use the newer program",
        .path.display()
    )]
    Newer {
        /// The AutoDB.
        path: PathBuf,
        /// Its schema.
        found: u32,
        /// The newest schema known here.
        known: u32,
    },
    /// The file system refuses.
    #[error("the AutoDB {}: {doing}", .path.display())]
    Io {
        /// The AutoDB.
        path: PathBuf,
        /// What was being done.
        doing: &'static str,
        /// Why not.
        source: io::Error,
    },
    /// The storage engine refuses.
    #[error("the AutoDB {} cannot be {doing}: export what can be read (`ssdtune db export`), or restore a copy", .path.display())]
    Store {
        /// The AutoDB.
        path: PathBuf,
        /// What was being done: opened, read, written.
        doing: &'static str,
        /// Why not.
        source: sled::Error,
    },
    /// The storage engine cannot make sense of its files.
    #[error("the files of the AutoDB {} are damaged ({reason}): restore a copy, or import an export into a new one", .path.display())]
    Unreadable {
        /// The AutoDB.
        path: PathBuf,
        /// What the engine says.
        reason: String,
    },
    /// Records that were acknowledged are not there.
    #[error(
        "the AutoDB {} has lost records: its files are damaged and go back to generation {found}, and \
         {acknowledged} was reached. Restore a copy, or remove {} to go on with what is left",
        .path.display(), .note.display()
    )]
    Lost {
        /// The AutoDB.
        path: PathBuf,
        /// The file that says which generation was reached.
        note: PathBuf,
        /// The newest generation in the store.
        found: Generation,
        /// The newest generation that was acknowledged.
        acknowledged: Generation,
    },
    /// A record is not what was written.
    #[error("{kind} {key}: the record is damaged ({reason}): `ssdtune db gc --damaged` removes it")]
    Damaged {
        /// RecordKind of the record.
        kind: String,
        /// Its key, readable or as hexadecimal digits.
        key: String,
        /// What is wrong with it.
        reason: String,
    },
    /// A record is sound and holds something else than the program expects.
    #[error("{kind} {key}: the record does not have the form this program knows")]
    Form {
        /// RecordKind of the record.
        kind: RecordKind,
        /// Its key.
        key: String,
        /// What does not fit.
        source: serde_json::Error,
    },
    /// A value cannot be written as JSON.
    #[error("{kind} {key}: the value cannot be written as JSON")]
    Value {
        /// RecordKind of the record.
        kind: RecordKind,
        /// Its key.
        key: String,
        /// Why not.
        source: serde_json::Error,
    },
    /// A key that is empty or too long.
    #[error("{kind}: a key of {bytes} bytes; legal are 1 to {max}")]
    Key {
        /// RecordKind of the record.
        kind: RecordKind,
        /// Its length.
        bytes: usize,
        /// The longest legal one.
        max: usize,
    },
    /// A line of an import is wrong.
    #[error("line {line}: {reason}")]
    Import {
        /// Number of the line, from 1.
        line: u64,
        /// What is wrong.
        reason: String,
    },
    /// A line of an import contradicts what is stored.
    #[error(
        "line {line}: {kind} {key} is stored with another value: import into a new AutoDB, or say which one wins"
    )]
    Conflict {
        /// Number of the line, from 1.
        line: u64,
        /// RecordKind of the record.
        kind: RecordKind,
        /// Its key.
        key: String,
    },
}

/// " by process N", or nothing.
struct Holder(Option<u32>);

impl fmt::Display for Holder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            Some(process) => write!(f, " by process {process}"),
            None => write!(f, " by another process"),
        }
    }
}
