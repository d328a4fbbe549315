//! A file beside the store that holds the newest acknowledged generation.
//!
//! A log that was cut short reads like an older log. So every acknowledgement is noted in a file
//! of its own, after the store has been flushed. The note itself is not flushed: after a power
//! failure it can be older than the store, but never newer. A store with an older generation than
//! the note has lost records. A checksum follows the number, so that no changed digit passes for
//! another number.

use super::{DbError, Generation, store};
use crate::digest::Digester;
use std::fs::{File, OpenOptions};
use std::io::{Read, Seek, Write};
use std::path::Path;

/// Name of the file in the directory of the AutoDB.
pub(super) const FILE: &str = "acknowledged";

/// The size of the number and its line end, which is all that earlier versions wrote.
const NUMBER_BYTES: usize = 21;
/// The size of the checksum that follows, as hexadecimal digits, and its line end.
const SUM_BYTES: usize = 17;

/// The open file and its content.
#[derive(Debug)]
pub(super) struct Acknowledged {
    file: File,
    generation: Generation,
}

impl Acknowledged {
    /// Opens the note.
    pub(super) fn open(path: &Path) -> Result<Self, DbError> {
        let failed = |source| store::io_error(path, "reading its newest generation")(source);
        let mut file = OpenOptions::new()
            .read(true)
            .write(true)
            .create(true)
            .truncate(false)
            .open(path.join(FILE))
            .map_err(failed)?;
        let mut bytes = Vec::new();
        let limit = (NUMBER_BYTES + SUM_BYTES + 1) as u64;
        Read::take(&mut file, limit).read_to_end(&mut bytes).map_err(failed)?;
        match noted(&bytes) {
            Some(generation) => Ok(Self { file, generation }),
            None => Err(DbError::Unreadable {
                path: path.to_path_buf(),
                reason: format!("its file `{FILE}` is not what was written"),
            }),
        }
    }

    /// The newest acknowledged generation.
    pub(super) fn newest(&self) -> Generation {
        self.generation
    }

    /// Compares the note with the generation that the store has.
    pub(super) fn check(&self, path: &Path, found: Generation) -> Result<(), DbError> {
        let acknowledged = self.generation;
        if found < acknowledged {
            return Err(DbError::Lost { path: path.to_path_buf(), found, acknowledged });
        }
        Ok(())
    }

    /// Notes that all records up to this generation are on disk.
    pub(super) fn advance(&mut self, path: &Path, generation: Generation) -> Result<(), DbError> {
        if generation <= self.generation {
            return Ok(());
        }
        let write = |file: &mut File| {
            file.rewind()?;
            // One write of constant length, so that the file holds the old number or the new one.
            file.write_all(note(generation).as_bytes())
        };
        write(&mut self.file)
            .map_err(|source| store::io_error(path, "noting its newest generation")(source))?;
        self.generation = generation;
        Ok(())
    }
}

/// The text of a note.
fn note(generation: Generation) -> String {
    let number = format!("{generation:020}\n");
    let sum = sum(&number);
    format!("{number}{sum}\n")
}

/// The generation in a note; `None` if it is not one that was written. A note that was lost in a
/// power failure, empty or all zeros, counts as none.
fn noted(bytes: &[u8]) -> Option<Generation> {
    if bytes.iter().all(|&byte| byte == 0) {
        return Some(Generation(0));
    }
    let text = std::str::from_utf8(bytes).ok()?;
    let number = text.get(..NUMBER_BYTES)?;
    let generation = Generation(number.strip_suffix('\n')?.parse().ok()?);
    (bytes.len() == NUMBER_BYTES || text == note(generation)).then_some(generation)
}

fn sum(number: &str) -> String {
    let digest = Digester::new("AutoDB note").bytes("number", number.as_bytes()).finish();
    let mut text = digest.to_string();
    text.truncate(SUM_BYTES - 1);
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_note_with_one_changed_bit_is_refused() {
        let written = note(Generation(4_711)).into_bytes();
        assert_eq!(noted(&written), Some(Generation(4_711)));
        for at in 0..written.len() * 8 {
            let mut bytes = written.clone();
            bytes[at / 8] ^= 1 << (at % 8);
            assert_eq!(noted(&bytes), None, "bit {at}");
        }
        for length in 1..written.len() {
            // Cut behind the number, it is a note of an earlier version.
            let whole = (length == NUMBER_BYTES).then_some(Generation(4_711));
            assert_eq!(noted(&written[..length]), whole, "{length} bytes");
        }
    }

    #[test]
    fn a_note_that_was_never_written_counts_as_none() {
        assert_eq!(noted(b""), Some(Generation(0)));
        assert_eq!(noted(&[0; 38]), Some(Generation(0)));
        assert_eq!(noted(b"00000000000000000040\n"), Some(Generation(40)));
    }
}
