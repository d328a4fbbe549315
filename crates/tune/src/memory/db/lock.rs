//! A lock on a file beside the store, so that one process at a time has the AutoDB open. The
//! operating system releases the lock when the process dies.

use super::DbError;
use std::fs::{File, OpenOptions, TryLockError};
use std::io::{Read, Seek, Write};
use std::path::Path;

/// Name of the file in the directory of the AutoDB. It holds the number of the process that has the
/// lock.
pub(super) const FILE: &str = "lock";

/// The lock, held as long as the AutoDB is open.
#[derive(Debug)]
pub(super) struct Lock {
    file: File,
}

impl Drop for Lock {
    fn drop(&mut self) {
        // Closing the file is not enough: a child process that another thread is starting holds a
        // copy of it for a moment. If unlocking fails, closing still follows.
        let _ = self.file.unlock();
    }
}

impl Lock {
    /// Takes the lock of the AutoDB in a directory, or says who holds it.
    pub(super) fn take(path: &Path) -> Result<Self, DbError> {
        let failed = |doing| move |source| DbError::Io { path: path.to_path_buf(), doing, source };
        let mut file = OpenOptions::new()
            .read(true)
            .write(true)
            .create(true)
            .truncate(false)
            .open(path.join(FILE))
            .map_err(failed("opening its lock"))?;
        match file.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => {
                let mut text = String::new();
                // The message can do without the number of the process.
                let _ = file.take(32).read_to_string(&mut text);
                let (path, process) = (path.to_path_buf(), text.trim().parse().ok());
                return Err(DbError::InUse { path, process });
            }
            Err(TryLockError::Error(source)) => return Err(failed("locking it")(source)),
        }
        let note = |file: &mut File| {
            file.set_len(0)?;
            file.rewind()?;
            writeln!(file, "{}", std::process::id())
        };
        note(&mut file).map_err(failed("writing its lock"))?;
        Ok(Self { file })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_lock_ends_with_its_holder_even_if_a_child_has_a_copy_of_the_file() {
        let directory = tempfile::tempdir().expect("a directory");
        let lock = Lock::take(directory.path()).expect("nobody has it");
        assert!(matches!(Lock::take(directory.path()), Err(DbError::InUse { .. })));
        let copy = lock.file.try_clone().expect("a copy");
        drop(lock);
        assert!(Lock::take(directory.path()).is_ok());
        drop(copy);
    }
}
