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
//! Memory does not grow with the trace: a buffer of input (256 KiB), two reorder windows (3 MiB by default), the
//! decoder's window where the file is compressed, and the names of at most 65,536 devices.

use crate::compress::{Limits, Stream};
use crate::decode::{Context, Decoder};
use crate::detect::{check_encoding, detect};
use crate::error::{Malformed, Problem, TraceError, printable};
use crate::formats::columns::ColumnSpec;
use crate::formats::{self, Format};
use crate::input::{Batch, Input};
use crate::order::Orderer;
use crate::request::Request;
use ssdtune_model::{Nanos, Sectors};
use std::collections::BTreeMap;
use std::fs::File;
use std::io::Read;
use std::path::Path;

pub use crate::decode::Devices;

/// A stream of requests in order of time.
pub trait Source: Send {
    /// Appends the next requests to `out` and says how many; 0 at the end, and from then on.
    fn fill(&mut self, out: &mut Vec<Request>) -> Result<usize, TraceError>;

    /// Names of the devices behind the tenants, as far as they are known.
    fn tenant_names(&self) -> Vec<String> {
        Vec::new()
    }

    /// The trace's own time of the first request, in ns; 0 before that has been read.
    fn origin_ns(&self) -> u64 {
        0
    }

    /// What reading has met so far.
    fn read_stats(&self) -> ReadStats {
        ReadStats::default()
    }

    /// Bytes of the input read so far, as they stand in the file (compressed ones, if it is).
    fn bytes_read(&self) -> u64 {
        0
    }
}

impl<S: Source + ?Sized> Source for Box<S> {
    fn fill(&mut self, out: &mut Vec<Request>) -> Result<usize, TraceError> {
        (**self).fill(out)
    }

    fn tenant_names(&self) -> Vec<String> {
        (**self).tenant_names()
    }

    fn origin_ns(&self) -> u64 {
        (**self).origin_ns()
    }

    fn read_stats(&self) -> ReadStats {
        (**self).read_stats()
    }

    fn bytes_read(&self) -> u64 {
        (**self).bytes_read()
    }
}

/// The requests of a source one by one.
pub struct Requests<S> {
    source: S,
    batch: Vec<Request>,
    next: usize,
    ended: bool,
}

impl<S: Source> Requests<S> {
    /// Iterates over `source`.
    pub fn new(source: S) -> Self {
        Self { source, batch: Vec::new(), next: 0, ended: false }
    }
}

impl<S: Source> Iterator for Requests<S> {
    type Item = Result<Request, TraceError>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.next == self.batch.len() && !self.ended {
            self.batch.clear();
            self.next = 0;
            match self.source.fill(&mut self.batch) {
                Ok(n) => self.ended = n == 0,
                Err(e) => {
                    self.ended = true;
                    return Some(Err(e));
                }
            }
        }
        let request = *self.batch.get(self.next)?;
        self.next += 1;
        Some(Ok(request))
    }
}

/// A unit of time in a trace.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum TimeUnit {
    /// Nanoseconds.
    Ns,
    /// 100 ns, the ticks of Windows' file times.
    FileTime,
    /// Microseconds.
    Us,
    /// Milliseconds.
    Ms,
    /// Seconds.
    S,
}

impl TimeUnit {
    const ALL: [Self; 5] = [Self::Ns, Self::FileTime, Self::Us, Self::Ms, Self::S];

    /// Nanoseconds in one.
    pub const fn ns(self) -> u64 {
        match self {
            Self::Ns => 1,
            Self::FileTime => 100,
            Self::Us => 1_000,
            Self::Ms => 1_000_000,
            Self::S => 1_000_000_000,
        }
    }

    /// What `--time-unit` calls it.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Ns => "ns",
            Self::FileTime => "filetime",
            Self::Us => "us",
            Self::Ms => "ms",
            Self::S => "s",
        }
    }

    /// The unit called `name`.
    pub fn parse(name: &str) -> Result<Self, TraceError> {
        Self::ALL.into_iter().find(|u| u.name() == name).ok_or_else(|| TraceError::Option {
            option: "--time-unit",
            value: name.into(),
            problem: "no such unit".into(),
            legal: Self::ALL.map(Self::name).join(", "),
        })
    }
}

/// Which event of a request's life is its arrival, in traces that record several.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Event {
    /// Issue if the beginning of the trace has one, else queue, else completion.
    #[default]
    Auto,
    /// D: handed to the driver.
    Issue,
    /// Q: handed to the block layer.
    Queue,
    /// C: completed.
    Complete,
}

/// How to read a trace.
#[derive(Clone, Debug)]
pub struct ReadOptions {
    /// The format; `None` detects it.
    pub format: Option<Format>,
    /// Skip and count what cannot be read instead of stopping.
    pub lenient: bool,
    /// Unit of the times, where it is not the format's own.
    pub time_unit: Option<TimeUnit>,
    /// Devices to read and how they become tenants.
    pub devices: Devices,
    /// The event that counts as arrival in traces that have several.
    pub event: Event,
    /// Columns of [`Format::Columns`].
    pub columns: Option<ColumnSpec>,
    /// How many places late a request may stand.
    pub reorder_window: usize,
    /// The longest silence believed; a later time stamp is taken for damaged.
    pub max_gap: Nanos,
    /// End of the address space; requests beyond are faults.
    pub capacity: Option<Sectors>,
    /// Count times from the first request (else they stay as in the trace).
    pub rebase: bool,
    /// A trace without requests is no error.
    pub allow_empty: bool,
    /// Size of the input buffer, and so the longest line.
    pub max_line_bytes: usize,
    /// Bytes per compressed byte beyond which a stream is taken for a bomb.
    pub max_expansion: u64,
}

impl Default for ReadOptions {
    fn default() -> Self {
        Self {
            format: None,
            lenient: false,
            time_unit: None,
            devices: Devices::default(),
            event: Event::default(),
            columns: None,
            reorder_window: 64 << 10,
            max_gap: Nanos(366 * 86_400 * 1_000_000_000),
            capacity: None,
            rebase: true,
            allow_empty: false,
            max_line_bytes: 256 << 10,
            max_expansion: 1_000,
        }
    }
}

/// What reading has met so far.
#[derive(Clone, Debug, Default)]
pub struct ReadStats {
    /// Requests handed out.
    pub requests: u64,
    /// Lines and records skipped (lenient mode).
    pub skipped: u64,
    /// Those by what was wrong.
    pub skipped_by: BTreeMap<Problem, u64>,
    /// The first of them.
    pub first_skipped: Option<Box<Malformed>>,
    /// Requests of devices that were not picked.
    pub deselected: u64,
}

impl ReadStats {
    /// Adds what another reading has met.
    pub fn add(&mut self, other: Self) {
        self.requests += other.requests;
        self.skipped += other.skipped;
        self.deselected += other.deselected;
        for (problem, count) in other.skipped_by {
            *self.skipped_by.entry(problem).or_default() += count;
        }
        if self.first_skipped.is_none() {
            self.first_skipped = other.first_skipped;
        }
    }
}

/// A trace being read.
pub struct TraceReader {
    input: Input,
    context: Context,
    decoder: Box<dyn Decoder>,
    orderer: Orderer,
    batch: Batch,
    decoded_all: bool,
    allow_empty: bool,
}

/// Opens the trace at `path`.
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

/// Reads a trace from `bytes`, which stands anywhere (a pipe, memory); `name` stands for a path in messages.
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
            (None, None) => detect(path, input.available(), input.at_end())?.format,
        };
        if !format.is_binary() {
            check_encoding(path, input.available())?;
        }
        let decoder = formats::decoder(format, options, input.available())?;
        Ok(Self {
            decoder,
            context: Context::new(format, options),
            orderer: Orderer::new(options.reorder_window, options.max_gap, options.rebase),
            batch: Batch::default(),
            decoded_all: false,
            allow_empty: options.allow_empty,
            input,
        })
    }

    /// The format it is read as.
    pub fn format(&self) -> Format {
        self.context.format
    }

    /// The file.
    pub fn path(&self) -> &Path {
        self.input.path()
    }

    /// Name of each tenant's device, as far as read.
    pub fn devices(&self) -> &[String] {
        self.context.devices.names()
    }

    /// What has been read and skipped so far.
    pub fn stats(&self) -> &ReadStats {
        &self.context.stats
    }

    /// Its requests one by one.
    pub fn requests(self) -> Requests<Self> {
        Requests::new(self)
    }

    /// All requests that are left. For traces that fit memory.
    pub fn read_all(&mut self) -> Result<Vec<Request>, TraceError> {
        let mut all = Vec::new();
        while self.fill(&mut all)? > 0 {}
        Ok(all)
    }

    fn order(&mut self) -> Result<(), TraceError> {
        let mut from = 0;
        let mut refused = Vec::new();
        while let Err((taken, problem)) = self.orderer.check(&self.batch.requests[from..]) {
            let index = from + taken;
            let request = self.batch.requests[index];
            let expected = match problem {
                Problem::TimeJump => "a time near that of the request before it",
                _ => "a time not before those already passed on",
            };
            let found = printable(format!("{} ns", request.at.0).as_bytes());
            self.context.fault(Malformed {
                path: self.input.path().to_path_buf(),
                position: self.batch.position(index),
                column: 0,
                format: self.context.format,
                expected,
                found,
                problem,
            })?;
            refused.push(index);
            from = index + 1;
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

    /// Lets a batch go; its room, or that of `out`, serves the next one.
    fn release(&mut self, out: &mut Vec<Request>) -> usize {
        let released = self.orderer.release(self.decoded_all, out, &mut self.batch.requests);
        self.context.stats.requests += released as u64;
        released
    }

    /// At the end: nothing read at all, or a device that never came.
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
