//! Where a drive's requests come from: a trace file, a workload model, or requests in memory; cut,
//! scaled and fitted onto the drive on the way.
//!
//! A [`RequestSource`] is a description: it is cheap to copy, and every [`RequestSource::open`]
//! begins anew. Files are streamed, so memory does not grow with the trace. Reading can fail at any
//! request; what opening gives is therefore an iterator of results, and a run that meets an error
//! has no report.

use crate::error::SourceError;
use crate::fit::{AddressFit, Fitted};
use ssdtune_model::{Nanos, SECTOR_BYTES, Sectors};
use ssdtune_trace::transform::ScaleTime;
use ssdtune_trace::transform::{Chain, Transform};
use ssdtune_trace::transform::{Cut, Filter};
use ssdtune_trace::transform::{Dense, DenseOptions, DensePlan};
use ssdtune_trace::workload::{Generator, Model, Seed};
use ssdtune_trace::{
    ReadOptions, Request, Source, TenantId, TraceError, TraceReader, bytes_to_read, hold, read_from,
};
use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

/// Where requests come from.
#[derive(Clone, Debug)]
pub enum Origin {
    /// A trace file; `-` is standard input.
    File(PathBuf),
    /// What a workload model generates, without end: give the source a limit.
    Model {
        /// The model.
        model: Arc<Model>,
        /// Which of its streams.
        seed: Seed,
    },
    /// Requests in memory, in order of time.
    Memory {
        /// What messages call them.
        name: String,
        /// The requests.
        requests: Arc<Vec<Request>>,
    },
}

/// Requests for a drive, not yet opened.
#[derive(Clone, Debug)]
pub struct RequestSource {
    /// Where they come from.
    pub origin: Origin,
    /// How a trace file is read.
    pub read: ReadOptions,
    /// Factor on all times; 0.5 makes requests arrive twice as fast.
    pub time_scale: Option<f64>,
    /// How many requests at most, before tenants are chosen.
    pub limit: Option<u64>,
    /// Leaves only the requests of this tenant of the origin.
    pub only: Option<TenantId>,
    /// What to do with addresses beyond the end of the drive; `None` makes them an error.
    pub fit: Option<AddressFit>,
    /// What is to be said of a file that [`RequestSource::load`] has read.
    pub warnings: Vec<String>,
}

/// A trace that is read more than once is kept in memory up to this many requests (100 MB).
pub const KEPT_MAX: usize = 4 << 20;

/// How far a source has been read, and what is to be said of that; copies share it.
#[derive(Clone, Debug, Default)]
pub struct Position(Arc<Reading>);

#[derive(Debug, Default)]
struct Reading {
    read: AtomicU64,
    warnings: Mutex<Vec<String>>,
}

impl Position {
    /// Bytes of a file or requests of another origin, as [`RequestSource::length`] counts.
    pub fn get(&self) -> u64 {
        self.0.read.load(Ordering::Relaxed)
    }

    /// What a user should know of the file that was read last, once its reader is gone: lines that
    /// were skipped, times that jump back.
    pub fn warnings(&self) -> Vec<String> {
        self.0.warnings.lock().map(|warnings| warnings.clone()).unwrap_or_default()
    }

    fn advance(&self, by: u64) {
        self.0.read.fetch_add(by, Ordering::Relaxed);
    }

    fn warn(&self, said: Vec<String>) {
        if let Ok(mut warnings) = self.0.warnings.lock() {
            *warnings = said;
        }
    }
}

impl RequestSource {
    /// All requests of the origin, as they are.
    pub fn new(origin: Origin, read: ReadOptions) -> Self {
        let (time_scale, limit, only, fit) = (None, None, None, None);
        Self { origin, read, time_scale, limit, only, fit, warnings: Vec::new() }
    }

    /// Requests in memory, in order of time.
    pub fn of_requests(name: impl Into<String>, requests: impl Into<Arc<Vec<Request>>>) -> Self {
        let origin = Origin::Memory { name: name.into(), requests: requests.into() };
        Self::new(origin, ReadOptions::default())
    }

    /// The first requests that a model generates.
    pub fn of_model(model: impl Into<Arc<Model>>, seed: Seed, requests: u64) -> Self {
        let origin = Origin::Model { model: model.into(), seed };
        Self { limit: Some(requests), ..Self::new(origin, ReadOptions::default()) }
    }

    /// What messages and tables call it.
    pub fn name(&self) -> String {
        match &self.origin {
            Origin::File(path) => shown(path),
            Origin::Model { model, .. } => model.name.clone(),
            Origin::Memory { name, .. } => name.clone(),
        }
    }

    /// How much there is to read, in the unit of [`Position`]; 0 if that is not known.
    pub fn length(&self) -> u64 {
        let cut = |count: u64| self.limit.map_or(count, |limit| limit.min(count));
        match &self.origin {
            Origin::File(path) => std::fs::metadata(path).map_or(0, |meta| meta.len()),
            Origin::Model { .. } => self.limit.unwrap_or(0),
            Origin::Memory { requests, .. } => cut(requests.len() as u64),
        }
    }

    /// The source in a form that can be opened again and again: itself, or for a pipe, which can be
    /// read once only, its requests in memory.
    ///
    /// # Errors
    /// It is a pipe and cannot be read, or has more than [`KEPT_MAX`] requests.
    pub fn repeatable(self) -> Result<Self, SourceError> {
        let Origin::File(path) = &self.origin else { return Ok(self) };
        if !is_pipe(path) {
            return Ok(self);
        }
        let kept = self.load(KEPT_MAX)?;
        kept.ok_or_else(|| SourceError::LongPipe { name: self.name(), most: KEPT_MAX })
    }

    /// Reads all of it into memory; `None` if there are more than `most` requests.
    ///
    /// # Errors
    /// It cannot be read.
    pub fn load(&self, most: usize) -> Result<Option<Self>, TraceError> {
        let position = Position::default();
        let requests = hold(&mut *self.stream(&position)?, most.saturating_add(1))?;
        if requests.len() > most {
            return Ok(None);
        }
        let warnings = position.warnings();
        let origin = Origin::Memory { name: self.name(), requests: Arc::new(requests) };
        let (time_scale, limit, only) = (None, None, None);
        Ok(Some(Self { origin, time_scale, limit, only, warnings, ..self.clone() }))
    }

    /// Opens it with the addresses of the origin. `position` is told how far reading has come.
    ///
    /// # Errors
    /// It cannot be opened.
    pub fn stream(&self, position: &Position) -> Result<Box<dyn Source>, TraceError> {
        let source: Box<dyn Source> = match &self.origin {
            Origin::File(path) => {
                let reader = open_file(path, &self.read, position)?;
                Box::new(Told { reader, position: position.clone() })
            }
            Origin::Model { model, seed } => {
                let generator = Generator::new(model, *seed).map_err(|error| {
                    let (value, problem) = (model.name.clone(), error.to_string());
                    let legal = "a sound workload model".to_owned();
                    TraceError::Option { option: "--workload", value, problem, legal }
                })?;
                Box::new(Counted { requests: generator, position: position.clone() })
            }
            Origin::Memory { requests, .. } => Box::new(Counted {
                requests: Shared { requests: Arc::clone(requests), next: 0 },
                position: position.clone(),
            }),
        };
        let mut steps: Vec<Box<dyn Transform>> = Vec::new();
        if let Some(limit) = self.limit {
            steps.push(Box::new(Cut::new(Nanos::ZERO..Nanos::MAX, 0, limit)));
        }
        if let Some(tenant) = self.only {
            let tenants = Some(vec![tenant]);
            steps.push(Box::new(Filter { tenants, ..Filter::default() }));
        }
        if let Some(factor) = self.time_scale {
            steps.push(Box::new(ScaleTime::new(factor)?));
        }
        Ok(steps
            .into_iter()
            .fold(source, |source, step| Box::new(Chain::new(source).then(Step(step)))))
    }

    /// Opens it for a drive whose tenants can address `spaces`, with flash pages of `page` sectors.
    ///
    /// # Errors
    /// It cannot be opened, or the pages it touches do not fit the drive.
    pub fn open(
        &self,
        spaces: &[Sectors],
        page: Sectors,
        position: &Position,
    ) -> Result<Fitted, SourceError> {
        let mut source = self.stream(position)?;
        if self.fit == Some(AddressFit::Compact) {
            let options = DenseOptions { chunk: page, ..DenseOptions::default() };
            let plan = DensePlan::of(&mut *source, options)?;
            let (needed, space) = (plan.sectors(), spaces[0]);
            if needed > space {
                return Err(SourceError::TooLarge { name: self.name(), needed, space });
            }
            position.0.read.store(0, Ordering::Relaxed);
            source = Box::new(Chain::new(self.stream(position)?).then(Dense(plan)));
        }
        Ok(Fitted::new(source, spaces, self.fit, self.name()))
    }
}

/// Whether a path is standard input (`-`), a pipe or a device: something that can be read once
/// only.
pub fn is_pipe(path: &Path) -> bool {
    path == Path::new(STANDARD_INPUT) || bytes_to_read(path).is_none()
}

/// The name of standard input.
const STANDARD_INPUT: &str = "-";
/// Whether standard input has been opened.
static STANDARD_INPUT_IS_TAKEN: AtomicBool = AtomicBool::new(false);

/// What messages call a trace file.
fn shown(path: &Path) -> String {
    match path == Path::new(STANDARD_INPUT) {
        true => "standard input".to_owned(),
        false => path.display().to_string(),
    }
}

/// The first requests of a trace file, at most `most` of them, for uses that need them at once, and
/// what is to be said of the part that was read.
///
/// # Errors
/// The file cannot be read.
pub fn read_first(
    path: &Path,
    options: &ReadOptions,
    most: usize,
) -> Result<(Vec<Request>, Vec<String>), TraceError> {
    let mut reader = open_file(path, options, &Position::default())?;
    let requests = hold(&mut reader, most)?;
    Ok((requests, reader.stats().warnings()))
}

/// Sectors of a flash page of this size.
pub fn page_sectors(page_bytes: u32) -> Sectors {
    Sectors(u64::from(page_bytes) / SECTOR_BYTES)
}

/// Opens a trace file and counts its bytes as they are read.
fn open_file(
    path: &Path,
    options: &ReadOptions,
    position: &Position,
) -> Result<TraceReader, TraceError> {
    let refused =
        |source| TraceError::Io { path: PathBuf::from(shown(path)), doing: "opening", source };
    let position = position.clone();
    if path == Path::new(STANDARD_INPUT) {
        if STANDARD_INPUT_IS_TAKEN.swap(true, Ordering::Relaxed) {
            let reason = "it is asked for twice and can be read once only";
            return Err(refused(io::Error::other(reason)));
        }
        return read_from(Metered { file: io::stdin(), position }, &shown(path), options);
    }
    let file = File::open(path).map_err(refused)?;
    if file.metadata().is_ok_and(|meta| meta.is_dir()) {
        return Err(refused(io::Error::from(io::ErrorKind::IsADirectory)));
    }
    read_from(Metered { file, position }, &shown(path), options)
}

/// A file whose bytes are counted.
struct Metered<F> {
    file: F,
    position: Position,
}

impl<F: Read> Read for Metered<F> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.file.read(buffer)?;
        self.position.advance(count as u64);
        Ok(count)
    }
}

/// A trace that says at its end what is to be said of it.
struct Told {
    reader: TraceReader,
    position: Position,
}

impl Source for Told {
    fn fill(&mut self, out: &mut Vec<Request>) -> Result<usize, TraceError> {
        self.reader.fill(out)
    }
}

/// The end may be that no more requests are wanted.
impl Drop for Told {
    fn drop(&mut self) {
        self.position.warn(self.reader.stats().warnings());
    }
}

/// A boxed transform as a transform.
struct Step(Box<dyn Transform>);

impl Transform for Step {
    fn apply(&mut self, batch: &mut Vec<Request>) -> Result<(), TraceError> {
        self.0.apply(batch)
    }

    fn is_done(&self) -> bool {
        self.0.is_done()
    }
}

/// Requests handed out at once.
const BATCH: usize = 4096;

/// An iterator that cannot fail, as a source whose requests are counted.
struct Counted<I> {
    requests: I,
    position: Position,
}

impl<I: Iterator<Item = Request> + Send> Source for Counted<I> {
    fn fill(&mut self, out: &mut Vec<Request>) -> Result<usize, TraceError> {
        let before = out.len();
        out.extend(self.requests.by_ref().take(BATCH));
        let count = out.len() - before;
        self.position.advance(count as u64);
        Ok(count)
    }
}

/// Requests in memory that several readers share.
struct Shared {
    requests: Arc<Vec<Request>>,
    next: usize,
}

impl Iterator for Shared {
    type Item = Request;

    fn next(&mut self) -> Option<Request> {
        let request = self.requests.get(self.next).copied();
        self.next += 1;
        request
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ssdtune_trace::Op;

    fn requests() -> Vec<Request> {
        let request = |n: u64| Request {
            at: Nanos(n * 1_000),
            lba: Sectors(n * 1_000),
            sectors: 8,
            tenant: TenantId((n % 2) as u16),
            op: Op::Write,
        };
        (0..10).map(request).collect()
    }

    fn opened(source: &RequestSource, space: u64) -> Result<Vec<Request>, SourceError> {
        let position = Position::default();
        source.open(&[Sectors(space)], Sectors(16), &position)?.collect()
    }

    #[test]
    fn cuts_and_scales_apply_in_the_order_limit_tenant_time() {
        let mut source = RequestSource::of_requests("ten", requests());
        (source.limit, source.only, source.time_scale) = (Some(5), Some(TenantId(1)), Some(2.0));
        let left = opened(&source, 100_000).unwrap();
        let times: Vec<u64> = left.iter().map(|request| request.at.0).collect();
        assert_eq!(times, [2_000, 6_000]);
        assert_eq!(source.length(), 5);
        assert_eq!(source.load(100).unwrap().map(|kept| kept.length()), Some(2));
        assert!(source.load(1).unwrap().is_none());
    }

    #[test]
    fn addresses_beyond_the_end_are_refused_folded_or_moved_together() {
        let mut source = RequestSource::of_requests("ten", requests());
        let error = opened(&source, 5_000).unwrap_err();
        assert!(matches!(error, SourceError::BeyondEnd { number: 6, .. }), "{error}");
        source.fit = Some(AddressFit::Wrap);
        let folded = opened(&source, 5_000).unwrap();
        assert_eq!((folded.len(), folded[7].lba), (10, Sectors(2_000)));
        source.fit = Some(AddressFit::Compact);
        let compact = opened(&source, 160).unwrap();
        assert!(compact.iter().all(|request| request.end() <= Sectors(160)), "{compact:?}");
        assert!(matches!(opened(&source, 159), Err(SourceError::TooLarge { .. })));
    }
}
