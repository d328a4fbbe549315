//! The directory of an AutoDB, and the files of sled in it.
//!
//! The file `lock` is the lock, `acknowledged` holds the newest acknowledged generation, and the
//! directory `store` belongs to sled. Upkeep writes a new store beside the old one and swaps them
//! by two renames. Opening the AutoDB finishes a swap that was cut short.

use super::{DbError, lock};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};
use std::{fs, io, thread};

/// Memory that the engine may use as a cache, in bytes.
const CACHE_BYTES: u64 = 128 << 20;
/// How long to wait for an engine that this process has just closed and that still holds its files.
/// No other process can hold them, because the AutoDB's own lock is taken first.
const CLOSING_MAX: Duration = Duration::from_secs(30);

/// The directory of the engine's files.
pub(super) fn place(path: &Path) -> PathBuf {
    path.join("store")
}

/// The directory of a new store until it takes the place of the old one.
pub(super) fn next_place(path: &Path) -> PathBuf {
    path.join("store.new")
}

/// The directory of the old store during a swap.
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
    // The lock file tells an AutoDB from any other directory.
    fs::File::create(path.join(lock::FILE)).map_err(io_error(path, "making its lock"))?;
    Ok(())
}

/// Checks that a directory is an AutoDB.
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
        // Each write is followed by a flush, so none is needed at intervals.
        .flush_every_ms(None);
    let began = Instant::now();
    loop {
        // Some damage makes sled panic instead of returning an error.
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

/// Puts the new store in the place of the old one.
pub(super) fn swap(path: &Path) -> Result<(), DbError> {
    let moved =
        |from: &Path, to: &Path| fs::rename(from, to).map_err(io_error(path, "swapping its store"));
    moved(&place(path), &last_place(path))?;
    moved(&next_place(path), &place(path))?;
    remove(path, &last_place(path))
}

/// Finishes a swap that was cut short, or removes a new store that was never complete.
pub(super) fn finish_swap(path: &Path) -> Result<(), DbError> {
    if !place(path).exists() && last_place(path).exists() {
        // It stopped between the two renames. The new store was complete before the first one.
        let from = if next_place(path).exists() { next_place(path) } else { last_place(path) };
        fs::rename(from, place(path)).map_err(io_error(path, "swapping its store"))?;
    }
    remove(path, &next_place(path))?;
    remove(path, &last_place(path))
}

/// Removes a store that is not needed any more, if it is there.
pub(super) fn remove(path: &Path, store: &Path) -> Result<(), DbError> {
    match fs::remove_dir_all(store) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        done => done.map_err(io_error(path, "removing an old store")),
    }
}

/// Names the AutoDB and what was being done in an error of the engine.
pub(super) fn failed(path: &Path, doing: &'static str, source: sled::Error) -> DbError {
    DbError::Store { path: path.to_path_buf(), doing, source }
}

/// Names the AutoDB and what was being done in an error of the file system.
pub(super) fn io_error<'a>(
    path: &'a Path,
    doing: &'static str,
) -> impl FnOnce(io::Error) -> DbError + use<'a> {
    move |source| DbError::Io { path: path.to_path_buf(), doing, source }
}
