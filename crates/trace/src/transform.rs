//! Changes to a stream of requests, in bounded memory.
//!
//! A [`Transform`] changes one batch after the other and keeps the order of time. A [`Chain`] is a
//! source followed by transforms. Transforms that must know the whole trace first (dense remapping,
//! splitting) take a plan, which a first pass over the same source makes: see [`DensePlan`] and
//! [`SplitPlan`].

mod remap;
mod select;
mod split;
mod time;

use crate::error::TraceError;
use crate::request::Request;
use crate::source::{ReadStats, Source};

pub use remap::{Dense, DenseOptions, DensePlan, Modulo};
pub use select::{Cut, Deduplicate, Filter};
pub use split::SplitPlan;
pub use time::{ClipGaps, ScaleTime};

/// A change to a stream of requests.
pub trait Transform: Send {
    /// Changes `batch` in place. The batch may grow or shrink.
    ///
    /// # Errors
    /// The requests cannot be changed in this way.
    fn apply(&mut self, batch: &mut Vec<Request>) -> Result<(), TraceError>;

    /// Whether all later requests would be dropped, so that reading may stop.
    fn is_done(&self) -> bool {
        false
    }
}

/// A source followed by transforms, which apply in the order in which they were added.
pub struct Chain<S> {
    source: S,
    steps: Vec<Box<dyn Transform>>,
    batch: Vec<Request>,
}

impl<S: Source> Chain<S> {
    /// A chain without transforms yet.
    pub fn new(source: S) -> Self {
        Self { source, steps: Vec::new(), batch: Vec::new() }
    }

    /// Adds `step` at the end of the chain.
    pub fn then(mut self, step: impl Transform + 'static) -> Self {
        self.steps.push(Box::new(step));
        self
    }

    /// Adds `step`, if there is one, at the end of the chain.
    pub fn then_if(self, step: Option<impl Transform + 'static>) -> Self {
        match step {
            Some(step) => self.then(step),
            None => self,
        }
    }
}

impl<S: Source> Source for Chain<S> {
    fn fill(&mut self, out: &mut Vec<Request>) -> Result<usize, TraceError> {
        loop {
            if self.steps.iter().any(|s| s.is_done()) {
                return Ok(0);
            }
            self.batch.clear();
            if self.source.fill(&mut self.batch)? == 0 {
                return Ok(0);
            }
            for step in &mut self.steps {
                step.apply(&mut self.batch)?;
            }
            if !self.batch.is_empty() {
                out.extend_from_slice(&self.batch);
                return Ok(self.batch.len());
            }
        }
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
