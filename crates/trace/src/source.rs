//! Streams of requests: what readers, generators and transforms have in common.

use crate::error::{Malformed, Problem, TraceError};
use crate::request::Request;
use std::collections::BTreeMap;

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
