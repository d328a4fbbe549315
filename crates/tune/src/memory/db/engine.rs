//! The storage engine, sled 0.34, behind one door.
//!
//! Its errors become ours here, by their kind: its own words tell a user nothing. On some damaged
//! files it panics instead of returning an error, as an assertion about what it has just read. No
//! input may end the program, so each call is guarded: a panic becomes the error that the damage
//! is, and nothing of it is printed. What the engine holds in memory is not used after that: every
//! caller gives up its AutoDB on an error, and files change by writes only, never by unwinding.

use super::DbError;
use sled::IVec;
use std::cell::Cell;
use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind, set_hook, take_hook};
use std::path::{Path, PathBuf};
use std::sync::Once;
use std::thread;
use std::time::{Duration, Instant};

/// Memory that the engine may use as a cache, in bytes.
const CACHE_BYTES: u64 = 128 << 20;
/// How long to wait for an engine that this process has just closed and that still holds its files.
/// No other process can hold them, because the AutoDB's own lock is taken first.
const CLOSING_MAX: Duration = Duration::from_secs(30);

/// What the engine is doing, for error texts.
const OPENING: &str = "opening its store";
const READING: &str = "reading its store";
const WRITING: &str = "writing its store";

/// What a user is told when the engine cannot make sense of its files.
const NONSENSE: &str = "the files in its folder `store` contradict each other";

/// An open store.
#[derive(Debug)]
pub(super) struct Engine {
    /// `None` only while it is closed.
    db: Option<sled::Db>,
    /// The AutoDB, for error texts.
    path: PathBuf,
}

impl Drop for Engine {
    fn drop(&mut self) {
        // Closing flushes. What was acknowledged is flushed already, so a failure loses nothing.
        let db = self.db.take();
        let _ = guarded(|| drop(db));
    }
}

impl Engine {
    /// Opens the store of an AutoDB in a directory, or makes an empty one.
    pub(super) fn open(path: &Path, store: &Path) -> Result<Self, DbError> {
        let config = sled::Config::new()
            .path(store)
            .cache_capacity(CACHE_BYTES)
            // Each write is followed by a flush, so none is needed at intervals.
            .flush_every_ms(None);
        let began = Instant::now();
        loop {
            match guarded(|| config.open()) {
                Some(Err(sled::Error::Io(error)))
                    if error.to_string().contains("acquire lock")
                        && began.elapsed() < CLOSING_MAX =>
                {
                    thread::sleep(Duration::from_millis(5));
                }
                opened => {
                    let db = Some(outcome(path, OPENING, opened)?);
                    return Ok(Self { db, path: path.to_path_buf() });
                }
            }
        }
    }

    /// The value under a storage key.
    pub(super) fn get(&self, key: &[u8]) -> Result<Option<IVec>, DbError> {
        self.call(READING, |db| db.get(key))
    }

    /// Whether there is a value under a storage key.
    pub(super) fn contains(&self, key: &[u8]) -> Result<bool, DbError> {
        self.call(READING, |db| db.contains_key(key))
    }

    /// All keys and values that begin with these bytes, in the order of the keys.
    pub(super) fn prefixed(&self, prefix: &[u8]) -> Pairs<'_> {
        Pairs { engine: self, iter: self.db.as_ref().map(|db| db.scan_prefix(prefix)) }
    }

    /// All keys and values of records, in the order of the keys. Keys with the byte 0 in front are
    /// the schema's.
    pub(super) fn records(&self) -> Pairs<'_> {
        let iter = self.db.as_ref().map(|db| db.range::<&[u8], _>(&[1u8][..]..));
        Pairs { engine: self, iter }
    }

    /// Stores the whole batch or nothing of it.
    pub(super) fn apply(&self, batch: sled::Batch) -> Result<(), DbError> {
        self.call(WRITING, |db| db.apply_batch(batch))
    }

    /// Waits until everything is on disk.
    pub(super) fn flush(&self) -> Result<(), DbError> {
        self.call(WRITING, |db| db.flush()).map(|_| ())
    }

    /// The size of the files in bytes.
    pub(super) fn bytes(&self) -> Result<u64, DbError> {
        self.call(READING, sled::Db::size_on_disk)
    }

    /// The engine itself, for tests that damage what it holds.
    #[cfg(test)]
    pub(super) fn raw(&self) -> &sled::Db {
        self.db.as_ref().expect("it is open")
    }

    fn call<T>(
        &self,
        doing: &'static str,
        work: impl FnOnce(&sled::Db) -> sled::Result<T>,
    ) -> Result<T, DbError> {
        let done = self.db.as_ref().and_then(|db| guarded(|| work(db)));
        outcome(&self.path, doing, done)
    }
}

/// An iterator over stored keys and values. It ends after an error.
pub(super) struct Pairs<'a> {
    engine: &'a Engine,
    iter: Option<sled::Iter>,
}

impl Iterator for Pairs<'_> {
    type Item = Result<(IVec, IVec), DbError>;

    fn next(&mut self) -> Option<Self::Item> {
        let iter = self.iter.as_mut()?;
        let next = guarded(|| iter.next()).map_or(Some(None), |found| found.map(Some))?;
        let next = outcome(&self.engine.path, READING, next);
        if next.is_err() {
            // The engine would give the same error for ever.
            self.iter = None;
        }
        Some(next)
    }
}

/// The engine's answer with its error as ours; `None` stands for a panic.
fn outcome<T>(
    path: &Path,
    doing: &'static str,
    done: Option<sled::Result<T>>,
) -> Result<T, DbError> {
    let path = path.to_path_buf();
    match done {
        Some(Ok(value)) => Ok(value),
        Some(Err(sled::Error::Io(error))) if is_of_the_system(&error) => {
            let source = match error.raw_os_error() {
                Some(code) => io::Error::from_raw_os_error(code),
                None => error.kind().into(),
            };
            Err(DbError::Io { path, doing, source })
        }
        Some(Err(sled::Error::Corruption { .. })) => {
            Err(DbError::Unreadable { path, reason: NONSENSE.to_owned() })
        }
        // All was read when the AutoDB was opened. What fails now does not fail on its files.
        _ if doing == WRITING => {
            let source = io::Error::other("the storage engine gave up");
            Err(DbError::Io { path, doing, source })
        }
        _ => Err(DbError::Unreadable { path, reason: NONSENSE.to_owned() }),
    }
}

/// Whether the operating system refused something, as on a full disk. Otherwise the engine has
/// found less in a file than it expected.
fn is_of_the_system(error: &io::Error) -> bool {
    use io::ErrorKind::{InvalidData, InvalidInput, NotFound, Other, UnexpectedEof};
    !matches!(error.kind(), NotFound | UnexpectedEof | InvalidData | InvalidInput)
        && (error.kind() != Other || error.raw_os_error().is_some())
}

thread_local! {
    static IN_ENGINE: Cell<bool> = const { Cell::new(false) };
}

/// Calls the engine; `None` if it panics.
fn guarded<T>(work: impl FnOnce() -> T) -> Option<T> {
    static HOOK: Once = Once::new();
    HOOK.call_once(|| {
        let before = take_hook();
        set_hook(Box::new(move |panic| {
            let of_engine = thread::current().name().is_some_and(|name| name.starts_with("sled-"));
            if !of_engine && !IN_ENGINE.get() {
                before(panic);
            }
        }));
    });
    let outer = IN_ENGINE.replace(true);
    let done = catch_unwind(AssertUnwindSafe(work)).ok();
    IN_ENGINE.set(outer);
    done
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_system_refuses_is_told_from_a_file_that_says_too_little() {
        let of_the_system = |error: io::Error| is_of_the_system(&error);
        assert!(of_the_system(io::ErrorKind::StorageFull.into()));
        assert!(of_the_system(io::ErrorKind::PermissionDenied.into()));
        // A code of the system that has no kind of its own.
        assert!(of_the_system(io::Error::from_raw_os_error(i32::MAX)));
        for kind in [io::ErrorKind::NotFound, io::ErrorKind::UnexpectedEof] {
            assert!(!of_the_system(kind.into()), "{kind}");
        }
        assert!(!of_the_system(io::Error::other("the engine's own words")));
    }
}
