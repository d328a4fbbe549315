//! Streams of requests: what readers, generators and transforms have in common.

use crate::error::{Malformed, Problem, TraceError};
use crate::request::Request;
use std::collections::BTreeMap;

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
    }
}
