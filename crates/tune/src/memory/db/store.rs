//! The directory of an AutoDB, and sled within it.
//!
//! `lock` is the lock, `acknowledged` the newest generation, `store` the engine's files. Upkeep
//! writes a new store beside the old one and swaps them by two renames; opening finishes a swap
//! that was cut short.

use super::{DbError, lock};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};
use std::{fs, io, thread};

/// Memory the engine may use for what it has read.
const CACHE_BYTES: u64 = 128 << 20;
/// An engine closed a moment ago in this process may still hold its files; nobody else can, since
/// our lock is taken first.
const CLOSING_MAX: Duration = Duration::from_secs(30);

/// Where the engine's files are.
pub(super) fn place(path: &Path) -> PathBuf {
    path.join("store")
}

/// Where a new store is written before it takes the old one's place.
pub(super) fn next_place(path: &Path) -> PathBuf {
    path.join("store.new")
}

fn last_place(path: &Path) -> PathBuf {
    path.join("store.old")
}

/// Makes the directory of a new AutoDB, unless there is one.
pub(super) fn create(path: &Path) -> Result<(), DbError> {
    match fs::read_dir(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => {}
        Err(source) => return Err(io_error(path, "reading its directory")(source)),
        Ok(mut entries) => {
            if entries.next().is_some() {
                return Ok(());
            }
        }
    }
    fs::create_dir_all(path).map_err(io_error(path, "making its directory"))?;
    // What tells an AutoDB from any other directory.
    fs::File::create(path.join(lock::FILE)).map_err(io_error(path, "making its lock"))?;
    Ok(())
}

/// Makes sure that a directory is an AutoDB.
pub(super) fn recognise(path: &Path) -> Result<(), DbError> {
    match fs::read_dir(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            Err(DbError::Missing { path: path.to_path_buf() })
        }
        Err(source) => Err(io_error(path, "reading its directory")(source)),
        Ok(_) if path.join(lock::FILE).is_file() => Ok(()),
        Ok(mut entries) => match entries.next() {
            None => Err(DbError::Missing { path: path.to_path_buf() }),
            Some(_) => Err(DbError::Foreign { path: path.to_path_buf() }),
        },
    }
}

/// Opens the engine.
pub(super) fn open(path: &Path, store: &Path) -> Result<sled::Db, DbError> {
    let config = sled::Config::new()
        .path(store)
        .cache_capacity(CACHE_BYTES)
        // Every write waits for its own flush.
        .flush_every_ms(None);
    let began = Instant::now();
    loop {
        // On some damage sled panics instead of returning an error.
        let opened = catch_unwind(AssertUnwindSafe(|| config.open()));
        let reason = match opened {
            Ok(Ok(db)) => return Ok(db),
            Ok(Err(sled::Error::Io(error)))
                if error.to_string().contains("acquire lock") && began.elapsed() < CLOSING_MAX =>
            {
                thread::sleep(Duration::from_millis(5));
                continue;
            }
            Ok(Err(source @ sled::Error::Io(_))) => return Err(failed(path, "opened", source)),
            Ok(Err(other)) => other.to_string(),
            Err(panic) => panic_text(&*panic),
        };
        return Err(DbError::Unreadable { path: path.to_path_buf(), reason });
    }
}

fn panic_text(panic: &(dyn std::any::Any + Send)) -> String {
    let text = panic.downcast_ref::<String>().map(String::as_str);
    let text = text.or_else(|| panic.downcast_ref::<&str>().copied());
    text.unwrap_or("the storage engine gave up").to_owned()
}

/// Puts the new store in the old one's place.
pub(super) fn swap(path: &Path) -> Result<(), DbError> {
    let moved =
        |from: &Path, to: &Path| fs::rename(from, to).map_err(io_error(path, "swapping its store"));
    moved(&place(path), &last_place(path))?;
    moved(&next_place(path), &place(path))?;
    remove(path, &last_place(path))
}

/// Finishes a swap that was cut short, or clears away a new store that was never complete.
pub(super) fn finish_swap(path: &Path) -> Result<(), DbError> {
    if !place(path).exists() && last_place(path).exists() {
        // Between the two renames: the new store was complete before the first one.
        let from = if next_place(path).exists() { next_place(path) } else { last_place(path) };
        fs::rename(from, place(path)).map_err(io_error(path, "swapping its store"))?;
    }
    remove(path, &next_place(path))?;
    remove(path, &last_place(path))
}

/// Removes a store that is not needed.
pub(super) fn remove(path: &Path, store: &Path) -> Result<(), DbError> {
    match fs::remove_dir_all(store) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        done => done.map_err(io_error(path, "removing an old store")),
    }
}

/// An error of the engine.
pub(super) fn failed(path: &Path, doing: &'static str, source: sled::Error) -> DbError {
    DbError::Store { path: path.to_path_buf(), doing, source }
}

/// An error of the file system.
pub(super) fn io_error<'a>(
    path: &'a Path,
    doing: &'static str,
) -> impl FnOnce(io::Error) -> DbError + use<'a> {
    move |source| DbError::Io { path: path.to_path_buf(), doing, source }
}
