//! The version of the schema, migration from older versions, and the generation counter.
//!
//! Version and counter have storage keys that begin with the byte 0. Each step of a migration is
//! one batch that also writes the new version, so that a migration that was cut short goes on where
//! it stopped.

use super::{DbError, Generation, envelope, store};
use std::path::Path;

/// The schema of records that this program writes.
pub const SCHEMA: u32 = 1;

const VERSION_KEY: &[u8] = b"\0schema";
const GENERATION_KEY: &[u8] = b"\0generation";

/// A step of a migration: makes one batch of all changes from one schema to the next.
pub(super) type Step = fn(&sled::Db) -> Result<sled::Batch, sled::Error>;

/// Step `i` leads from schema `i + 1` to schema `i + 2`.
const STEPS: [Step; SCHEMA as usize - 1] = [];

/// Brings a store to the schema of this program.
pub(super) fn migrate(path: &Path, store: &sled::Db) -> Result<(), DbError> {
    migrate_by(path, store, &STEPS)
}

/// Brings a store to the schema that these steps lead to.
pub(super) fn migrate_by(path: &Path, db: &sled::Db, steps: &[Step]) -> Result<(), DbError> {
    let read = |source| store::failed(path, "read", source);
    let write = |source| store::failed(path, "brought to a newer schema", source);
    let known = steps.len() as u32 + 1;
    let found = match db.get(VERSION_KEY).map_err(read)? {
        None => {
            let mut first = sled::Batch::default();
            first.insert(VERSION_KEY, &known.to_le_bytes());
            db.apply_batch(first).map_err(write)?;
            db.flush().map_err(write)?;
            return Ok(());
        }
        Some(bytes) => number(path, &bytes)?,
    };
    if found > known || found == 0 {
        return Err(DbError::Newer { path: path.to_path_buf(), found, known });
    }
    for (step, version) in steps.iter().zip(2u32..).skip(found as usize - 1) {
        let mut batch = step(db).map_err(write)?;
        batch.insert(VERSION_KEY, &version.to_le_bytes());
        db.apply_batch(batch).map_err(write)?;
        db.flush().map_err(write)?;
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

/// The generation of the newest record. If the counter is damaged, every record is looked at.
pub(super) fn generation(path: &Path, db: &sled::Db) -> Result<Generation, DbError> {
    let read = |source| store::failed(path, "read", source);
    let sealed = db.get(GENERATION_KEY).map_err(read)?;
    let noted = sealed.and_then(|bytes| {
        envelope::open(GENERATION_KEY, &bytes).ok().map(|record| record.generation)
    });
    if let Some(generation) = noted {
        return Ok(generation);
    }
    let mut newest = Generation(0);
    for found in db.range::<&[u8], _>(&[1u8][..]..) {
        let (key, bytes) = found.map_err(read)?;
        if let Ok(record) = envelope::open(&key, &bytes) {
            newest = newest.max(record.generation);
        }
    }
    Ok(newest)
}

/// Adds the new value of the generation counter to a batch.
pub(super) fn note_generation(batch: &mut sled::Batch, generation: Generation) {
    let record = envelope::Opened { generation, epoch: 0, json: b"" };
    batch.insert(GENERATION_KEY, envelope::seal(GENERATION_KEY, record));
}
