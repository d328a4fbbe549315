//! The version of the schema, migration from older versions, and the counter of generations.
//!
//! Version and counter have storage keys that begin with the byte 0. Each step of a migration is
//! one batch that also writes the new version, so that a migration that was cut short goes on where
//! it stopped.

use super::census::Census;
use super::engine::Engine;
use super::{DbError, Generation, envelope};
use std::path::Path;

/// The schema of records that this program writes.
pub const SCHEMA: u32 = 1;

const VERSION_KEY: &[u8] = b"\0schema";

/// A step of a migration: makes one batch of all changes from one schema to the next.
pub(super) type Step = fn(&Engine) -> Result<sled::Batch, DbError>;

/// Step `i` leads from schema `i + 1` to schema `i + 2`.
const STEPS: [Step; SCHEMA as usize - 1] = [];

/// Brings a store to the schema of this program.
pub(super) fn migrate(path: &Path, store: &Engine) -> Result<(), DbError> {
    migrate_by(path, store, &STEPS)
}

/// Brings a store to the schema that these steps lead to.
pub(super) fn migrate_by(path: &Path, db: &Engine, steps: &[Step]) -> Result<(), DbError> {
    let known = steps.len() as u32 + 1;
    let found = match db.get(VERSION_KEY)? {
        None => {
            let mut first = sled::Batch::default();
            first.insert(VERSION_KEY, &known.to_le_bytes());
            db.apply(first)?;
            return db.flush();
        }
        Some(bytes) => number(path, &bytes)?,
    };
    if found > known || found == 0 {
        return Err(DbError::Newer { path: path.to_path_buf(), found, known });
    }
    for (step, version) in steps.iter().zip(2u32..).skip(found as usize - 1) {
        let mut batch = step(db)?;
        batch.insert(VERSION_KEY, &version.to_le_bytes());
        db.apply(batch)?;
        db.flush()?;
    }
    Ok(())
}

fn number(path: &Path, bytes: &[u8]) -> Result<u32, DbError> {
    let bytes = bytes.try_into().map_err(|_| DbError::Unreadable {
        path: path.to_path_buf(),
        reason: format!("its schema has {} bytes", bytes.len()),
    })?;
    Ok(u32::from_le_bytes(bytes))
}

/// What is counted: the generation of the newest change, and all records.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Counter {
    pub(super) generation: Generation,
    pub(super) census: Census,
}

impl Counter {
    /// The storage key of the counter.
    pub(super) const KEY: &[u8] = b"\0generation";

    /// Reads a stored counter; `None` if it is damaged. Stores of earlier versions have no census.
    pub(super) fn read(stored: &[u8]) -> Option<(Generation, Option<Census>)> {
        let record = envelope::open(Self::KEY, stored).ok()?;
        Some((record.generation, Census::from_json(record.json)))
    }

    /// Adds the counter to a batch.
    pub(super) fn note(&self, batch: &mut sled::Batch) {
        let (generation, json) = (self.generation, self.census.json());
        let record = envelope::Opened { generation, epoch: 0, json: json.as_bytes() };
        batch.insert(Self::KEY, envelope::seal(Self::KEY, record));
    }
}
