//! Writes trace files: this crate's binary format and CSV, and MQSim's ASCII.
//!
//! A trace appears when it is complete: an interrupted conversion leaves nothing behind, and what
//! was there stays. An existing pipe or device is written to directly. Text is compressed if the
//! name ends in .gz, .zst, .xz or .bz2.
//!
//! ```
//! use ssdtune_model::{Nanos, Sectors};
//! use ssdtune_trace::writer::{OutputFormat, TraceWriter};
//! use ssdtune_trace::{Op, Request, TenantId};
//!
//! # let directory = tempfile::tempdir()?;
//! # let path = directory.path().join("trace.csv.gz");
//! let tenant = TenantId(0);
//! let write = Request { at: Nanos(1_000), lba: Sectors(64), sectors: 8, tenant, op: Op::Write };
//!
//! let mut writer = TraceWriter::create(&path, OutputFormat::of_name(&path)?)?;
//! writer.write(&[write])?;
//! let summary = writer.finish(0, &["disk".to_string()])?;
//! assert_eq!(summary.requests, 1);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

use crate::binary::SsdtWriter;
use crate::compress::{Compression, Compressor};
use crate::error::TraceError;
use crate::formats::csv::HEADER;
use crate::request::{Op, Request};
use ssdtune_output::OutputFile;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

/// A format that can be written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OutputFormat {
    /// The binary format of this crate, `.ssdt`.
    Ssdt,
    /// The CSV of this crate.
    Csv,
    /// MQSim's ASCII, which has reads and writes only.
    Mqsim,
}

impl std::str::FromStr for OutputFormat {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "ssdt" => Ok(Self::Ssdt),
            "csv" => Ok(Self::Csv),
            "mqsim" => Ok(Self::Mqsim),
            _ => Err("write ssdt, csv or mqsim".to_owned()),
        }
    }
}

/// The path of a part of a trace, numbered from 1: `dir/name-2.csv.gz` for `dir/name.csv.gz`.
pub fn part_path(path: &Path, part: usize) -> PathBuf {
    let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let (stem, ending) = match name.find('.') {
        Some(dot) if dot > 0 => name.split_at(dot),
        _ => (name.as_str(), ""),
    };
    path.with_file_name(format!("{stem}-{part}{ending}"))
}

impl OutputFormat {
    /// The format that belongs to the name of an output file: .ssdt, .csv, or .trace, .txt or
    /// .mqsim for MQSim's. The ending of a compression may follow.
    ///
    /// # Errors
    /// The name has none of these endings.
    pub fn of_name(path: &Path) -> Result<Self, TraceError> {
        let stem = match Compression::of_name(path) {
            Compression::None => path.to_path_buf(),
            _ => path.with_extension(""),
        };
        match stem.extension().and_then(|e| e.to_str()) {
            Some("ssdt") => Ok(Self::Ssdt),
            Some("csv") => Ok(Self::Csv),
            Some("trace" | "txt" | "mqsim") => Ok(Self::Mqsim),
            _ => Err(TraceError::Option {
                option: "--output",
                value: path.display().to_string(),
                problem: "the name does not say which format to write".into(),
                legal:
                    "a name ending in .ssdt, .csv or .trace (MQSim), the text ones with .gz, .zst, \
                        .xz or .bz2 after it; or --to ssdt|csv|mqsim"
                        .into(),
            }),
        }
    }
}

/// What has been written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct WriteSummary {
    /// Requests written.
    pub requests: u64,
    /// Trims and flushes that were left out because the format does not have them.
    pub dropped: u64,
    /// The size of the file in bytes.
    pub bytes: u64,
}

/// A file that has been written, as commands print it.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
pub struct WrittenFile {
    /// Its size in bytes.
    pub bytes: u64,
    /// Trims and flushes that were left out because the format does not have them.
    pub dropped: u64,
    /// Its path.
    pub path: String,
    /// Requests written.
    pub requests: u64,
}

impl WrittenFile {
    /// What was written to a path.
    pub fn new(path: &Path, WriteSummary { requests, dropped, bytes }: WriteSummary) -> Self {
        Self { path: path.display().to_string(), requests, dropped, bytes }
    }
}

impl std::fmt::Display for WrittenFile {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { path, requests, bytes, .. } = self;
        write!(f, "{path}: {requests} requests, {}", ssdtune_model::Bytes(*bytes))
    }
}

enum Sink {
    Ssdt(Box<SsdtWriter<OutputFile>>),
    Text { out: Box<Compressor<OutputFile>>, mqsim: bool },
}

/// Writes a trace file.
///
/// Call [`finish`](Self::finish) at the end. Without it nothing is written.
pub struct TraceWriter {
    sink: Option<Sink>,
    path: PathBuf,
    line: Vec<u8>,
    summary: WriteSummary,
}

impl TraceWriter {
    /// Begins the trace file `path` in `format`.
    ///
    /// # Errors
    /// The file cannot be created, or a compressed `.ssdt` is asked for.
    pub fn create(path: impl AsRef<Path>, format: OutputFormat) -> Result<Self, TraceError> {
        let path = path.as_ref().to_path_buf();
        let compression = Compression::of_name(&path);
        if format == OutputFormat::Ssdt && compression != Compression::None {
            return Err(TraceError::Option {
                option: "--output",
                value: path.display().to_string(),
                problem:
                    ".ssdt is compact already, is read through a memory map, and is not compressed"
                        .into(),
                legal: "a name ending in .ssdt".into(),
            });
        }
        let io_error = |doing, source| TraceError::Io { path: path.clone(), doing, source };
        let out = OutputFile::create(&path).map_err(|e| io_error("creating", e))?;
        let sink = match format {
            OutputFormat::Ssdt => SsdtWriter::new(out).map(|w| Sink::Ssdt(Box::new(w))),
            OutputFormat::Csv | OutputFormat::Mqsim => {
                let mqsim = format == OutputFormat::Mqsim;
                Compressor::new(out, compression).and_then(|mut out| {
                    if !mqsim {
                        out.write_all(HEADER.as_bytes())?;
                        out.write_all(b"\n")?;
                    }
                    Ok(Sink::Text { out: Box::new(out), mqsim })
                })
            }
        }
        .map_err(|e| io_error("writing", e))?;
        let summary = WriteSummary::default();
        Ok(Self { sink: Some(sink), path, line: Vec::new(), summary })
    }

    fn io_error(&self, source: io::Error) -> TraceError {
        TraceError::Io { path: self.path.clone(), doing: "writing", source }
    }

    /// Appends all of a stream, whose requests must be in order of time.
    ///
    /// # Errors
    /// Those of [`write`](Self::write).
    pub fn write_all(
        &mut self,
        requests: impl IntoIterator<Item = Request>,
    ) -> Result<(), TraceError> {
        /// Requests that are written at once.
        const BATCH: usize = 65_536;
        let mut requests = requests.into_iter();
        let mut batch = Vec::with_capacity(BATCH);
        loop {
            batch.clear();
            batch.extend(requests.by_ref().take(BATCH));
            if batch.is_empty() {
                return Ok(());
            }
            self.write(&batch)?;
        }
    }

    /// Appends `requests`, which must be in order of time.
    ///
    /// # Errors
    /// The file cannot be written, or a `.ssdt` file gets a request that is out of order.
    pub fn write(&mut self, requests: &[Request]) -> Result<(), TraceError> {
        let written = match &mut self.sink {
            None => Ok(()),
            Some(Sink::Ssdt(writer)) => {
                self.summary.requests += requests.len() as u64;
                writer.write(requests)
            }
            Some(Sink::Text { out, mqsim }) => {
                self.line.clear();
                for request in requests {
                    let representable = match *mqsim {
                        true => mqsim_line(request, &mut self.line),
                        false => csv_line(request, &mut self.line),
                    };
                    match representable {
                        true => self.summary.requests += 1,
                        false => self.summary.dropped += 1,
                    }
                }
                out.write_all(&self.line)
            }
        };
        written.map_err(|e| self.io_error(e))
    }

    /// Completes the file. Binary files also keep `origin_ns`, the time of the first request in the
    /// original trace, and `names`, the names of the tenants' devices.
    ///
    /// # Errors
    /// The file cannot be written or renamed.
    pub fn finish(mut self, origin_ns: u64, names: &[String]) -> Result<WriteSummary, TraceError> {
        let finished = match self.sink.take() {
            None => return Ok(self.summary),
            Some(Sink::Ssdt(writer)) => writer.finish(origin_ns, names),
            Some(Sink::Text { out, .. }) => out.finish(),
        };
        let file = finished.map_err(|e| self.io_error(e))?;
        self.summary.bytes = file.bytes();
        file.finish().map_err(|e| self.io_error(e))?;
        Ok(self.summary)
    }
}

/// Appends a number and the byte that ends its field.
fn number(value: u64, end: u8, line: &mut Vec<u8>) {
    line.extend_from_slice(itoa::Buffer::new().format(value).as_bytes());
    line.push(end);
}

/// Appends a line of CSV. Returns whether the format has the operation: always.
fn csv_line(request: &Request, line: &mut Vec<u8>) -> bool {
    number(request.at.0, b',', line);
    number(u64::from(request.tenant.0), b',', line);
    line.push(match request.op {
        Op::Read => b'R',
        Op::Write => b'W',
        Op::Trim => b'T',
        Op::Flush => b'F',
    });
    line.push(b',');
    number(request.lba.0, b',', line);
    number(u64::from(request.sectors), b'\n', line);
    true
}

/// Appends a line of MQSim's ASCII. Returns whether the format has the operation.
fn mqsim_line(request: &Request, line: &mut Vec<u8>) -> bool {
    let kind = match request.op {
        Op::Write => 0,
        Op::Read => 1,
        Op::Trim | Op::Flush => return false,
    };
    number(request.at.0, b' ', line);
    number(u64::from(request.tenant.0), b' ', line);
    number(request.lba.0, b' ', line);
    number(u64::from(request.sectors), b' ', line);
    number(kind, b'\n', line);
    true
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_are_numbered_before_the_endings() {
        let part = |path: &str| part_path(Path::new(path), 2).display().to_string();
        assert_eq!(part("dir/name.csv.gz"), "dir/name-2.csv.gz");
        assert_eq!(part("name"), "name-2");
        assert_eq!(part(".hidden"), ".hidden-2");
    }
}
