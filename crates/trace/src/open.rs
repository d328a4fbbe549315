//! Opening a trace by its path, whatever stands there: a file, compressed or not, or a directory of
//! the per-CPU files of one blktrace.

use crate::binary::{MappedTrace, is_ssdt};
use crate::error::TraceError;
use crate::format::Format;
use crate::merge::{blktrace_files, open_blktrace};
use crate::options::{Devices, ReadOptions};
use crate::reader::open;
use crate::source::Source;
use std::path::Path;

/// A trace and the format that it is read as.
pub struct Opened {
    /// The requests.
    pub source: Box<dyn Source>,
    /// The format.
    pub format: Format,
}

/// Opens a trace. A binary trace is mapped into memory if all of it is wanted as it is; everything
/// else is streamed.
///
/// # Errors
/// There is no trace, or none of a known format.
pub fn open_path(path: &Path, options: &ReadOptions) -> Result<Opened, TraceError> {
    if path.is_dir() {
        let source = Box::new(open_blktrace(&blktrace_files(path)?, options)?);
        return Ok(Opened { source, format: Format::Blktrace });
    }
    let as_it_is = options.devices == Devices::Tenants && options.capacity.is_none();
    if as_it_is && path.is_file() && is_ssdt(path) {
        let source = Box::new(MappedTrace::open(path)?);
        return Ok(Opened { source, format: Format::Ssdt });
    }
    let reader = open(path, options)?;
    let format = reader.format();
    Ok(Opened { source: Box::new(reader), format })
}

/// How many bytes there are to read; `None` for a pipe or a device, which cannot be read twice
/// either. What does not exist has 0 bytes, and says so when it is opened.
pub fn bytes_to_read(path: &Path) -> Option<u64> {
    match std::fs::metadata(path) {
        Ok(meta) if meta.is_dir() => {
            let entries = std::fs::read_dir(path).into_iter().flatten().flatten();
            Some(entries.filter_map(|entry| entry.metadata().ok()).map(|meta| meta.len()).sum())
        }
        Ok(meta) if !meta.is_file() => None,
        found => Some(found.map_or(0, |meta| meta.len())),
    }
}
