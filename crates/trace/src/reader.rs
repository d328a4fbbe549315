//! Opens a trace and streams its requests.
//!
//! ```no_run
//! use ssdtune_trace::{ReadOptions, Source, open};
//! # fn main() -> Result<(), ssdtune_trace::TraceError> {
//! let mut trace = open("prxy_0.csv.gz", &ReadOptions::default())?;
//! let mut batch = Vec::new();
//! while trace.fill(&mut batch)? > 0 {
//!     // ... use the batch ...
//!     batch.clear();
//! }
//! # Ok(())
//! # }
//! ```
//!
//! Memory does not grow with the trace. It holds a buffer of input (256 KiB), two reorder windows
//! (3 MiB by default), the window of the decoder if the file is compressed, and the names of at
//! most 65,536 devices.

use crate::compress::{Limits, Stream};
use crate::decode::{Context, Decoder};
use crate::detect::{check_encoding, detect};
use crate::error::{Malformed, Problem, TraceError};
use crate::format::Format;
use crate::formats;
use crate::held::hold;
use crate::input::{Batch, Input};
use crate::options::ReadOptions;
use crate::order::Orderer;
use crate::request::Request;
use crate::source::{JumpsBack, ReadStats, Requests, Source};
use ssdtune_model::Nanos;
use std::fs::File;
use std::io::Read;
use std::path::Path;

/// A trace that is being read.
pub struct TraceReader {
    input: Input,
    context: Context,
    decoder: Box<dyn Decoder>,
    orderer: Orderer,
    batch: Batch,
    decoded_all: bool,
    allow_empty: bool,
}

/// Opens the trace file at `path`.
///
/// [`open_path`](crate::open_path) also takes directories, and reads `.ssdt` files faster.
///
/// # Errors
/// The file cannot be read, or its format is not known.
pub fn open(path: impl AsRef<Path>, options: &ReadOptions) -> Result<TraceReader, TraceError> {
    let path = path.as_ref();
    let io_error = |doing, source| TraceError::Io { path: path.to_path_buf(), doing, source };
    let file = File::open(path).map_err(|e| io_error("opening", e))?;
    if file.metadata().is_ok_and(|m| m.is_dir()) {
        let remedy = "name the files inside";
        let path = path.to_path_buf();
        return Err(TraceError::NotATrace { path, what: "a directory", remedy });
    }
    let limits = Limits { max_expansion: options.max_expansion };
    let stream = Stream::open(file, limits).map_err(|e| io_error("reading", e))?;
    TraceReader::new(stream, path, options)
}

/// Reads a trace from `bytes`, such as a pipe or memory. `name` takes the place of a path in
/// errors.
///
/// # Errors
/// The bytes cannot be read, or their format is not known.
pub fn read_from(
    bytes: impl Read + Send + 'static,
    name: &str,
    options: &ReadOptions,
) -> Result<TraceReader, TraceError> {
    let path = Path::new(name);
    let limits = Limits { max_expansion: options.max_expansion };
    let stream = Stream::new(Box::new(bytes), limits).map_err(|source| TraceError::Io {
        path: path.to_path_buf(),
        doing: "reading",
        source,
    })?;
    TraceReader::new(stream, path, options)
}

impl TraceReader {
    fn new(stream: Stream, path: &Path, options: &ReadOptions) -> Result<Self, TraceError> {
        let limits = Limits { max_expansion: options.max_expansion };
        let mut input = Input::new(stream, path, limits, options.max_line_bytes);
        input.fill()?;
        if input.available().starts_with(b"\xef\xbb\xbf") {
            input.consume(3);
        }
        let format = match (options.format, &options.columns) {
            (Some(format), _) => format,
            (None, Some(_)) => Format::Columns,
            (None, None) => match detect(path, input.available(), input.at_end()) {
                Err(TraceError::UnknownFormat { path, known, .. }) if !options.show_content => {
                    return Err(TraceError::UnknownFormat { path, first_line: None, known });
                }
                found => found?.format,
            },
        };
        if !format.is_binary() {
            check_encoding(path, input.available())?;
        }
        let decoder = formats::decoder(format, options, input.available())?;
        Ok(Self {
            decoder,
            context: Context::new(format, options),
            orderer: Orderer::new(
                options.reorder_window,
                options.max_gap,
                options.strict,
                options.rebase,
            ),
            batch: Batch::default(),
            decoded_all: false,
            allow_empty: options.allow_empty,
            input,
        })
    }

    /// The format that the trace is read as.
    pub fn format(&self) -> Format {
        self.context.format
    }

    /// The path of the trace, or the name given for it.
    pub fn path(&self) -> &Path {
        self.input.path()
    }

    /// The name of each tenant's device, as far as read.
    pub fn devices(&self) -> &[String] {
        self.context.devices.names()
    }

    /// What has been read and skipped so far.
    pub fn stats(&self) -> &ReadStats {
        &self.context.stats
    }

    /// Iterates over the requests.
    pub fn requests(self) -> Requests<Self> {
        Requests::new(self)
    }

    /// Reads all remaining requests into memory.
    ///
    /// # Errors
    /// The trace cannot be read on.
    pub fn read_all(&mut self) -> Result<Vec<Request>, TraceError> {
        hold(self, usize::MAX)
    }

    /// Pushes the decoded batch to the orderer, without the requests that it refuses.
    fn order(&mut self) -> Result<(), TraceError> {
        let mut from = 0;
        let mut refused = Vec::new();
        loop {
            let checked = self.orderer.check(&self.batch.requests[from..]);
            if let Some((index, by)) = self.orderer.first_jump() {
                self.note_first_jump(from + index, by);
            }
            let Err((taken, problem)) = checked else { break };
            let index = from + taken;
            let request = self.batch.requests[index];
            let expected = match problem {
                Problem::TimeJump | Problem::JumpBack => {
                    "a time near that of the request before it"
                }
                _ => "a time not before those already passed on",
            };
            // A time that was read is shown, other than a line that cannot be read.
            let found = Some(format!("{} ns", request.at.0));
            self.context.fault(Malformed {
                path: self.input.path().to_path_buf(),
                position: self.batch.position(index),
                column: 0,
                format: self.context.format.name(),
                expected,
                found,
                problem,
            })?;
            refused.push(index);
            from = index + 1;
        }
        if let Some(jumps) = &mut self.context.stats.jumps_back {
            (jumps.count, jumps.span, jumps.span_without) = self.orderer.jumps();
        }
        if !refused.is_empty() {
            let mut refused = refused.into_iter().peekable();
            let mut index = 0..;
            self.batch
                .requests
                .retain(|_| refused.next_if_eq(&index.next().unwrap_or(0)).is_none());
        }
        self.orderer.push(&mut self.batch.requests);
        Ok(())
    }

    /// Notes that the request at `index` of the batch is the first one that jumps back.
    #[cold]
    fn note_first_jump(&mut self, index: usize, by: Nanos) {
        let (path, position) = (self.input.path().to_path_buf(), self.batch.position(index));
        let (count, span, span_without) = (0, Nanos::ZERO, Nanos::ZERO);
        let jumps = JumpsBack { count, path, position, by, span, span_without };
        self.context.stats.jumps_back = Some(Box::new(jumps));
    }

    /// Hands out a batch. Buffers are exchanged, not copied: the batch being decoded gets a used
    /// one.
    fn release(&mut self, out: &mut Vec<Request>) -> usize {
        let released = self.orderer.release(self.decoded_all, out, &mut self.batch.requests);
        self.context.stats.requests += released as u64;
        released
    }

    /// At the end of the trace, reports that it has no request at all, or none of a device that was
    /// asked for.
    fn check_complete(&self) -> Result<(), TraceError> {
        let path = || self.input.path().to_path_buf();
        if let Some((device, known)) = self.context.devices.missing() {
            return Err(TraceError::UnknownDevice { path: path(), device, known });
        }
        if self.context.stats.requests > 0 || self.allow_empty {
            return Ok(());
        }
        let detail = match &self.context.stats.first_skipped {
            Some(first) => format!("; {} skipped, the first: {first}", self.context.stats.skipped),
            None => format!(" (read as {})", self.context.format.name()),
        };
        Err(TraceError::Empty { path: path(), detail })
    }
}

impl Source for TraceReader {
    fn fill(&mut self, out: &mut Vec<Request>) -> Result<usize, TraceError> {
        loop {
            let released = self.release(out);
            if released > 0 {
                return Ok(released);
            }
            if self.decoded_all {
                self.check_complete()?;
                return Ok(0);
            }
            self.batch.clear(self.decoder.by_line());
            let more = self.decoder.decode(&mut self.input, &mut self.context, &mut self.batch)?;
            self.decoded_all = !more;
            self.order()?;
        }
    }

    fn tenant_names(&self) -> Vec<String> {
        self.devices().to_vec()
    }

    fn origin_ns(&self) -> u64 {
        self.orderer.origin_ns()
    }

    fn read_stats(&self) -> ReadStats {
        self.context.stats.clone()
    }

    fn bytes_read(&self) -> u64 {
        self.input.bytes_read()
    }
}
