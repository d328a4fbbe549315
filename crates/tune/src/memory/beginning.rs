//! The note that a search leaves when it begins, so that it can be resumed.

use super::db::{AutoDb, DbError, Generation, RecordKind};
use crate::digest::Digest;
use crate::space::TuningOrder;
use serde::{Deserialize, Serialize};

/// How a search began: the value of a record of [`RecordKind::Run`], under the digest of the
/// search. Field names are part of the format of AutoDB.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Beginning {
    /// The digest of everything that decides the search, prior knowledge apart.
    pub search: Digest,
    /// The newest generation from which the search took prior knowledge.
    pub generation: Generation,
    /// The number of the target's category; [`UNCLUSTERED`](super::UNCLUSTERED) where it has none.
    pub cluster: u32,
    /// The name of the target's category, if it has one.
    pub category: Option<String>,
    /// Configurations to begin from, as TOML documents, best first.
    pub seeds: Vec<String>,
    /// The order in which parameters should be tuned.
    pub order: TuningOrder,
    /// The [`IDENTITY_VERSION`](super::IDENTITY_VERSION) of the program that made the digest; 0 in
    /// notes from before there were versions.
    #[serde(default)]
    pub identity_version: u32,
}

impl Beginning {
    /// Reads the note of a search. `None` where the search has never begun.
    ///
    /// # Errors
    /// Reading AutoDB fails.
    pub fn load(db: &AutoDb, search: Digest) -> Result<Option<Self>, DbError> {
        let noted = db.get::<Self>(RecordKind::Run, search.to_string().as_bytes())?;
        Ok(noted.map(|record| record.value))
    }

    /// Stores the note.
    ///
    /// # Errors
    /// Writing AutoDB fails.
    pub fn store(&self, db: &AutoDb) -> Result<(), DbError> {
        db.put(RecordKind::Run, self.search.to_string().as_bytes(), self).map(|_| ())
    }
}
