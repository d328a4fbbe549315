//! Where the traces of a workload file lie.

use std::path::{Path, PathBuf};

/// Endings under which a trace may lie: as it is, or compressed.
const ENDINGS: [&str; 4] = ["", ".xz", ".gz", ".zst"];

/// The first existing file called `name`, with or without an ending of compressed files. Places are
/// the folder of the workload file, the folder above it and the working directory.
pub(crate) fn find(workload: &Path, name: &str) -> Option<PathBuf> {
    let beside = workload.parent().unwrap_or(Path::new(""));
    let above = beside.parent().map_or_else(|| PathBuf::from(".."), Path::to_path_buf);
    let places = [beside, &above, Path::new("")];
    places.iter().find_map(|place| existing(&place.join(name)))
}

/// The file at `path`, or the first compressed form of it that exists.
pub(crate) fn existing(path: &Path) -> Option<PathBuf> {
    let with_ending = |ending| {
        let mut whole = path.as_os_str().to_os_string();
        whole.push(ending);
        PathBuf::from(whole)
    };
    ENDINGS.iter().map(with_ending).find(|path| path.is_file())
}
