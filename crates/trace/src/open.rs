//! Opens a trace by its path: a file, compressed or not, or a directory with the files of all CPUs
//! of one blktrace.

use crate::binary::{MappedTrace, is_ssdt};
use crate::error::TraceError;
use crate::format::Format;
use crate::merge::{blktrace_files, open_blktrace};
use crate::options::{Devices, ReadOptions};
use crate::reader::{open, read_from};
use crate::source::Source;
use std::path::Path;

/// An open trace and its format.
pub struct Opened {
    /// The requests.
    pub source: Box<dyn Source>,
    /// The format that the trace is read as.
    pub format: Format,
}

/// Opens the trace at `path`.
///
/// An uncompressed `.ssdt` file of which all devices are read is mapped into memory. Any other
/// trace is streamed.
///
/// # Errors
/// There is no trace at `path`, its format is not known, or its beginning cannot be read.
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

/// Opens a trace by its path; `-` is standard input.
///
/// # Errors
/// As [`open_path`].
pub fn open_input(path: &Path, options: &ReadOptions) -> Result<Opened, TraceError> {
    if !is_standard_input(path) {
        return open_path(path, options);
    }
    let reader = read_from(std::io::stdin(), "standard input", options)?;
    let format = reader.format();
    Ok(Opened { source: Box::new(reader), format })
}

fn is_standard_input(path: &Path) -> bool {
    path == Path::new("-")
}

/// The number of bytes to read from `path`, of which `-` is standard input. `None` for a pipe,
/// which can be read once only.
pub fn input_bytes(path: &Path) -> Option<u64> {
    if is_standard_input(path) { None } else { bytes_to_read(path) }
}

/// The number of bytes to read from `path`. `None` for a pipe or a device, which also cannot be
/// read twice; 0 for a path that does not exist.
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
