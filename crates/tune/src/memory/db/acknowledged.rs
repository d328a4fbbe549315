//! A file beside the store that holds the newest acknowledged generation.
//!
//! When sled finds damage in its log, it silently goes back to what it can still read. So every
//! acknowledgement is noted in a separate file, after the store has been flushed. The note itself
//! is not flushed: after a power failure it can be older than the store, but never newer. A store
//! that opens with an older generation than the note has lost records.

use super::{DbError, Generation, store};
use std::fs::{File, OpenOptions};
use std::io::{Read, Seek, Write};
use std::path::Path;

/// Name of the file in the directory of the AutoDB.
pub(super) const FILE: &str = "acknowledged";

/// The open file and its content.
#[derive(Debug)]
pub(super) struct Acknowledged {
    file: File,
    generation: Generation,
}

impl Acknowledged {
    /// Opens the note and compares it with the store's generation.
    pub(super) fn open(path: &Path, newest: Generation) -> Result<Self, DbError> {
        let failed = |source| store::io_error(path, "reading its newest generation")(source);
        let mut file = OpenOptions::new()
            .read(true)
            .write(true)
            .create(true)
            .truncate(false)
            .open(path.join(FILE))
            .map_err(failed)?;
        let mut text = String::new();
        // A file that cannot be read as a number counts as empty.
        let _ = Read::take(&mut file, 32).read_to_string(&mut text);
        let acknowledged = Generation(text.trim().parse().unwrap_or(0));
        if newest < acknowledged {
            let (path, note) = (path.to_path_buf(), path.join(FILE));
            return Err(DbError::Lost { path, note, found: newest, acknowledged });
        }
        Ok(Self { file, generation: acknowledged })
    }

    /// Notes that all records up to this generation are on disk.
    pub(super) fn advance(&mut self, path: &Path, generation: Generation) -> Result<(), DbError> {
        if generation <= self.generation {
            return Ok(());
        }
        let write = |file: &mut File| {
            file.rewind()?;
            // One write of constant length, so that the file holds the old number or the new one.
            file.write_all(format!("{generation:020}\n").as_bytes())
        };
        write(&mut self.file)
            .map_err(|source| store::io_error(path, "noting its newest generation")(source))?;
        self.generation = generation;
        Ok(())
    }
}
