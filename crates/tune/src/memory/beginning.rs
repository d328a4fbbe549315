//! How a search began, so that it can be resumed.

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
    /// Prior knowledge was taken from records of this generation or older.
    pub generation: Generation,
    /// The number of the target's category; [`UNCLUSTERED`](super::UNCLUSTERED) where it has none.
    pub cluster: u32,
    /// The name of the target's category, if it has one.
    pub category: Option<String>,
    /// Configurations to begin from, as TOML documents, best first.
    pub seeds: Vec<String>,
    /// The order in which parameters should be tuned.
    pub order: TuningOrder,
    /// How the digest of the search was made; 0 where notes did not say yet.
    #[serde(default)]
    pub identity_version: u32,
}

/// The version of search identities that this program makes. Notes of other versions are never
/// found again: they grow stale.
pub const IDENTITY_VERSION: u32 = 2;

/// Whether a stored note is of a search that this program cannot resume.
pub(super) fn is_stale(json: &[u8]) -> bool {
    #[derive(Deserialize)]
    struct Version {
        #[serde(default)]
        identity_version: u32,
    }
    !serde_json::from_slice::<Version>(json)
        .is_ok_and(|note| note.identity_version == IDENTITY_VERSION)
}

impl Beginning {
    /// The note of a search, if it has begun before.
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
    /// Writing fails.
    pub fn store(&self, db: &AutoDb) -> Result<(), DbError> {
        db.put(RecordKind::Run, self.search.to_string().as_bytes(), self).map(|_| ())
    }
}
