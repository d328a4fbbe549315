//! One process at a time: a lock on a file beside the store, which the system takes back when the
//! process dies.

use super::DbError;
use std::fs::{File, OpenOptions, TryLockError};
use std::io::{Read, Seek, Write};
use std::path::Path;

/// Name of the file within the AutoDB. It holds the number of the process that has the lock.
pub(super) const FILE: &str = "lock";

/// Held as long as the AutoDB is open.
#[derive(Debug)]
pub(super) struct Lock {
    file: File,
}

impl Drop for Lock {
    fn drop(&mut self) {
        // Closing is not enough: a process that another thread is starting holds a copy of the file
        // until it runs its program. If this fails, closing it later does what can be done.
        let _ = self.file.unlock();
    }
}

impl Lock {
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
                // Who holds it is a courtesy; without it the message says less.
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
