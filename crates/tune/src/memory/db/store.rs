//! The directory of an AutoDB, and the files of sled in it.
//!
//! The file `lock` is the lock, `acknowledged` holds the newest acknowledged generation, and the
//! directory `store` belongs to sled. Upkeep writes a new store beside the old one and swaps them
//! by two renames. Opening the AutoDB finishes a swap that was cut short.

use super::{DbError, lock};
use std::path::{Path, PathBuf};
use std::{fs, io};

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

/// The directory of a copy, while one is tried.
fn copy_place(path: &Path) -> PathBuf {
    path.join("store.copy")
}

/// Copies the files of a store, to try what the engine makes of them.
pub(super) fn copy(path: &Path) -> Result<PathBuf, DbError> {
    let to = copy_place(path);
    remove(path, &to)?;
    copy_files(&place(path), &to).map_err(io_error(path, "copying its store"))?;
    Ok(to)
}

fn copy_files(from: &Path, to: &Path) -> io::Result<()> {
    fs::create_dir_all(to)?;
    let entries = match fs::read_dir(from) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        entries => entries?,
    };
    for entry in entries {
        let entry = entry?;
        let name = to.join(entry.file_name());
        if entry.file_type()?.is_dir() {
            copy_files(&entry.path(), &name)?;
        } else {
            fs::copy(entry.path(), name)?;
        }
    }
    Ok(())
}

fn unreadable(path: &Path, source: io::Error) -> DbError {
    match source.kind() {
        io::ErrorKind::NotADirectory => DbError::NoDirectory { path: path.to_path_buf() },
        _ => io_error(path, "reading its directory")(source),
    }
}

/// Makes the directory of a new AutoDB, unless there is one.
pub(super) fn create(path: &Path) -> Result<(), DbError> {
    match fs::read_dir(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => {}
        Err(source) => return Err(unreadable(path, source)),
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
        Err(source) => Err(unreadable(path, source)),
        Ok(_) if path.join(lock::FILE).is_file() => Ok(()),
        Ok(mut entries) => match entries.next() {
            None => Err(DbError::Missing { path: path.to_path_buf() }),
            Some(_) => Err(DbError::Foreign { path: path.to_path_buf() }),
        },
    }
}

/// Puts the new store in the place of the old one.
pub(super) fn swap(path: &Path) -> Result<(), DbError> {
    let moved =
        |from: &Path, to: &Path| fs::rename(from, to).map_err(io_error(path, "swapping its store"));
    moved(&place(path), &last_place(path))?;
    moved(&next_place(path), &place(path))?;
    remove(path, &last_place(path))
}

/// Finishes a swap that was cut short, and removes a new store that was never complete or a copy
/// that a killed process has left.
pub(super) fn finish_swap(path: &Path) -> Result<(), DbError> {
    if !place(path).exists() && last_place(path).exists() {
        // It stopped between the two renames. The new store was complete before the first one.
        let from = if next_place(path).exists() { next_place(path) } else { last_place(path) };
        fs::rename(from, place(path)).map_err(io_error(path, "swapping its store"))?;
    }
    remove(path, &copy_place(path))?;
    remove(path, &next_place(path))?;
    remove(path, &last_place(path))
}

/// Removes notes of the engine that it was writing when it was killed. It would take such a half
/// file for a whole one and not open. It writes them anew when it needs them.
pub(super) fn remove_half_notes(path: &Path) -> Result<(), DbError> {
    let failed = io_error(path, "removing a half file");
    let entries = match fs::read_dir(place(path)) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        entries => entries,
    };
    let remove = |entries: fs::ReadDir| {
        for entry in entries {
            let entry = entry?.path();
            if entry.extension().is_some_and(|extension| extension == "generating") {
                fs::remove_file(entry)?;
            }
        }
        Ok(())
    };
    entries.and_then(remove).map_err(failed)
}

/// Removes a store that is not needed any more, if it is there.
pub(super) fn remove(path: &Path, store: &Path) -> Result<(), DbError> {
    match fs::remove_dir_all(store) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        done => done.map_err(io_error(path, "removing an old store")),
    }
}

/// Names the AutoDB and what was being done in an error of the file system.
pub(super) fn io_error<'a>(
    path: &'a Path,
    doing: &'static str,
) -> impl FnOnce(io::Error) -> DbError + use<'a> {
    move |source| DbError::Io { path: path.to_path_buf(), doing, source }
}
