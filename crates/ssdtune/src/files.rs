//! Files that commands write, with the path in every error.

use crate::outcome::Outcome;
use anyhow::Context as _;
use std::path::Path;

/// Writes a file, in the place of one that is there.
pub(crate) fn write(path: &Path, bytes: impl AsRef<[u8]>) -> Outcome {
    Ok(std::fs::write(path, bytes).with_context(|| format!("cannot write {}", path.display()))?)
}

/// Writes files, each a name and its text, into a directory. The directory is made if need be.
pub(crate) fn write_into<N: AsRef<Path>, T: AsRef<[u8]>>(
    directory: &Path,
    files: impl IntoIterator<Item = (N, T)>,
) -> Outcome {
    std::fs::create_dir_all(directory)
        .with_context(|| format!("cannot create {}", directory.display()))?;
    files.into_iter().try_for_each(|(name, text)| write(&directory.join(name), text))
}
