//! Streams of requests: what readers, generators and transforms have in common.

use crate::error::{Malformed, Position, Problem, TraceError};
use crate::request::Request;
use ssdtune_model::Nanos;
use std::collections::BTreeMap;
use std::fmt;
use std::path::PathBuf;

/// A stream of requests in order of time.
pub trait Source: Send {
    /// Appends the next requests to `out` and returns how many; 0 at the end of the stream, and at
    /// every later call.
    ///
    /// # Errors
    /// The stream cannot be read on.
    fn fill(&mut self, out: &mut Vec<Request>) -> Result<usize, TraceError>;

    /// The names of the tenants' devices, by the number of the tenant, as far as they are known
    /// yet.
    fn tenant_names(&self) -> Vec<String> {
        Vec::new()
    }

    /// The time of the first request in the trace's own clock, in nanoseconds; 0 before that
    /// request has been read.
    fn origin_ns(&self) -> u64 {
        0
    }

    /// What has been read and skipped so far.
    fn read_stats(&self) -> ReadStats {
        ReadStats::default()
    }

    /// Bytes of the input read so far. For a compressed file these are compressed bytes.
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

/// A source that tells somebody how far it has been read.
pub struct Followed<S, F> {
    source: S,
    tell: F,
}

impl<S, F> Followed<S, F> {
    /// Tells the bytes read so far after each filling, and `None` when reading fails.
    pub fn new(source: S, tell: F) -> Self {
        Self { source, tell }
    }
}

impl<S: Source, F: FnMut(Option<u64>) + Send> Source for Followed<S, F> {
    fn fill(&mut self, out: &mut Vec<Request>) -> Result<usize, TraceError> {
        let outcome = self.source.fill(out);
        (self.tell)(outcome.as_ref().ok().map(|_| self.source.bytes_read()));
        outcome
    }

    fn tenant_names(&self) -> Vec<String> {
        self.source.tenant_names()
    }

    fn origin_ns(&self) -> u64 {
        self.source.origin_ns()
    }

    fn read_stats(&self) -> ReadStats {
        self.source.read_stats()
    }

    fn bytes_read(&self) -> u64 {
        self.source.bytes_read()
    }
}

/// Iterates over the requests of a source. Ends after the first error.
pub struct Requests<S> {
    source: S,
    batch: Vec<Request>,
    next: usize,
    ended: bool,
}

impl<S: Source> Requests<S> {
    /// The requests of `source`, from where it stands.
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

/// What has been read and skipped so far.
#[derive(Clone, Debug, Default)]
pub struct ReadStats {
    /// Requests handed out.
    pub requests: u64,
    /// Lines and records skipped; always 0 if the first fault is an error.
    pub skipped: u64,
    /// The number of skipped lines and records for each kind of fault.
    pub skipped_by: BTreeMap<Problem, u64>,
    /// The first line or record that was skipped.
    pub first_skipped: Option<Box<Malformed>>,
    /// Requests that are much earlier than one before them; `None` if there are none.
    pub jumps_back: Option<Box<JumpsBack>>,
    /// Requests left out because their device was not asked for.
    pub deselected: u64,
}

impl ReadStats {
    /// Adds the counts of another reader.
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
        match (&mut self.jumps_back, other.jumps_back) {
            (Some(jumps), Some(more)) => jumps.count += more.count,
            (none @ None, jumps) => *none = jumps,
            (Some(_), None) => {}
        }
    }

    /// What a user should know of this: sentences that name the first place.
    pub fn warnings(&self) -> Vec<String> {
        let skipped = self.first_skipped.as_ref().map(|first| {
            let kinds: Vec<String> =
                self.skipped_by.iter().map(|(what, n)| format!("{n} x {what}")).collect();
            format!("{} skipped ({}); the first: {first}", self.skipped, kinds.join(", "))
        });
        skipped.into_iter().chain(self.jumps_back.iter().map(ToString::to_string)).collect()
    }
}

/// Requests that are earlier than one before them by more than [`JUMP_BACK`](crate::JUMP_BACK).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct JumpsBack {
    /// How many there are.
    pub count: u64,
    /// The path of the file, or the name given for a stream.
    pub path: PathBuf,
    /// The place of the first one.
    pub position: Position,
    /// How much earlier the first one is than the latest request before it.
    pub by: Nanos,
    /// Time from the earliest to the latest request read.
    pub span: Nanos,
    /// Time from the earliest to the latest of the requests that do not jump back.
    pub span_without: Nanos,
}

impl fmt::Display for JumpsBack {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { count, path, position, by, span, span_without } = self;
        let more = match count {
            1 => String::new(),
            _ => format!(", and {} more requests are as early", count - 1),
        };
        write!(
            f,
            "{}: the request in {position} is {by} earlier than one before it{more}; sorted by \
             time, the trace lasts {span}, without them {span_without}: a damaged time stamp, or \
             traces one after the other? --strict refuses them, `ssdtune trace convert \
             --strict --lenient` leaves them out",
            path.display()
        )
    }
}
