//! Where a drive's requests come from: a trace file, a workload model, or requests in memory; cut, scaled
//! and fitted onto the drive on the way.
//!
//! Files are streamed, so memory does not grow with the trace. An error on the way ends the stream and is
//! left in an [`ErrorSlot`], because the simulator's iterators cannot fail.

use crate::device;
use crate::outcome::{Failure, Outcome};
use anyhow::anyhow;
use ssdtune_model::{Nanos, SECTOR_BYTES, Sectors};
use ssdtune_trace::transform::remap::{Dense, DenseOptions, DensePlan};
use ssdtune_trace::transform::select::{Cut, Filter};
use ssdtune_trace::transform::time::ScaleTime;
use ssdtune_trace::transform::{Chain, Transform};
use ssdtune_trace::workload::{self, Generator, Model, Seed};
use ssdtune_trace::{
    ReadOptions, Request, Requests, Source, TenantId, TraceError, TraceReader, read_from,
};
use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

/// What to do with addresses beyond the end of the drive.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum Fit {
    /// Fold them back: the remainder by the size of the drive.
    Wrap,
    /// Close the gaps between the pages that the trace touches (reads it twice).
    Compact,
    /// As MQSim does: the drive folds them by itself.
    #[value(skip)]
    AsMqsim,
}

/// Where requests come from.
#[derive(Clone, Debug)]
pub(crate) enum Origin {
    /// A trace file.
    Trace(PathBuf),
    /// The first requests of a workload model.
    Model { model: Arc<Model>, seed: Seed },
    /// Requests in memory.
    Memory { name: String, requests: Arc<Vec<Request>> },
}

/// Requests for a drive, not yet opened.
#[derive(Clone, Debug)]
pub(crate) struct Feed {
    pub(crate) origin: Origin,
    pub(crate) read: ReadOptions,
    pub(crate) time_scale: Option<f64>,
    /// At most so many requests.
    pub(crate) limit: Option<u64>,
    /// Only those of this tenant of the origin.
    pub(crate) only: Option<TenantId>,
    pub(crate) fit: Option<Fit>,
}

/// The first error of a run's streams.
#[derive(Debug, Default)]
pub(crate) struct ErrorSlot(Mutex<Option<anyhow::Error>>);

impl ErrorSlot {
    /// Keeps the first error.
    pub(crate) fn put(&self, error: impl Into<anyhow::Error>) {
        let mut slot = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        slot.get_or_insert_with(|| error.into());
    }

    /// The error, if there was one.
    pub(crate) fn take(&self) -> Option<anyhow::Error> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).take()
    }
}

/// How far a feed has been read.
#[derive(Clone, Debug, Default)]
pub(crate) struct Gauge(Arc<AtomicU64>);

impl Gauge {
    /// Bytes of the file or requests, as [`Feed::length`] counts.
    pub(crate) fn position(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }
}

/// The drive as a feed sees it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Target<'a> {
    /// Sectors that each tenant can address.
    pub(crate) spaces: &'a [Sectors],
    /// Sectors of a flash page.
    pub(crate) page: Sectors,
}

impl Feed {
    /// A trace file or requests in memory, as they are.
    pub(crate) fn plain(origin: Origin, read: ReadOptions) -> Self {
        Self { origin, read, time_scale: None, limit: None, only: None, fit: None }
    }

    /// What messages and tables call it.
    pub(crate) fn name(&self) -> String {
        match &self.origin {
            Origin::Trace(path) => path.display().to_string(),
            Origin::Model { model, .. } => model.name.clone(),
            Origin::Memory { name, .. } => name.clone(),
        }
    }

    /// How much there is to read, in the unit of the [`Gauge`]; 0 if unknown.
    pub(crate) fn length(&self) -> u64 {
        let cut = |count: u64| self.limit.map_or(count, |limit| limit.min(count));
        match &self.origin {
            Origin::Trace(path) => std::fs::metadata(path).map_or(0, |meta| meta.len()),
            Origin::Model { .. } => self.limit.unwrap_or(0),
            Origin::Memory { requests, .. } => cut(requests.len() as u64),
        }
    }

    /// Reads all of it into memory, unless there are more than `most` requests.
    pub(crate) fn load(&self, most: usize) -> Result<Option<Feed>, TraceError> {
        let mut requests = Vec::new();
        let mut source = self.source(&Gauge::default())?;
        while source.fill(&mut requests)? > 0 {
            if requests.len() > most {
                return Ok(None);
            }
        }
        let origin = Origin::Memory { name: self.name(), requests: Arc::new(requests) };
        Ok(Some(Feed { origin, time_scale: None, limit: None, only: None, ..self.clone() }))
    }

    /// Opens it as it is, addresses and all.
    pub(crate) fn source(&self, gauge: &Gauge) -> Result<Box<dyn Source>, TraceError> {
        let source: Box<dyn Source> = match &self.origin {
            Origin::Trace(path) => Box::new(open(path, &self.read, gauge)?),
            Origin::Model { model, seed } => {
                let generator = Generator::new(model, *seed).map_err(|error| {
                    let (value, problem) = (model.name.clone(), error.to_string());
                    let legal = "a sound workload model".to_owned();
                    TraceError::Option { option: "--workload", value, problem, legal }
                })?;
                Box::new(Counted { requests: generator, gauge: gauge.clone() })
            }
            Origin::Memory { requests, .. } => Box::new(Counted {
                requests: Shared { requests: Arc::clone(requests), next: 0 },
                gauge: gauge.clone(),
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

    /// Opens it for a drive. Errors from now on go into the slot.
    pub(crate) fn open<'a>(
        &self,
        target: Target<'_>,
        slot: &'a ErrorSlot,
        gauge: &Gauge,
    ) -> anyhow::Result<impl Iterator<Item = Request> + use<'a>> {
        let mut source = self.source(gauge)?;
        if self.fit == Some(Fit::Compact) {
            let options = DenseOptions { chunk: target.page, ..DenseOptions::default() };
            let plan = DensePlan::of(&mut *source, options)?;
            let (needed, space) = (plan.sectors(), target.spaces[0]);
            if needed > space {
                return Err(anyhow!(
                    "{} touches {} and the drive has {}: take a larger drive, or --fit-addresses wrap \
                     (which also folds addresses onto each other)",
                    self.name(),
                    gib(needed),
                    gib(space)
                ));
            }
            gauge.0.store(0, Ordering::Relaxed);
            source = Box::new(Chain::new(self.source(gauge)?).then(Dense(plan)));
        }
        Ok(Fitted {
            source,
            batch: Vec::new(),
            next: 0,
            number: 0,
            spaces: target.spaces.to_vec(),
            fold: match self.fit {
                Some(Fit::Wrap) => Fold::Here,
                Some(Fit::AsMqsim) => Fold::InDrive,
                Some(Fit::Compact) | None => Fold::Refuse,
            },
            name: self.name(),
            slot,
        })
    }
}

fn gib(size: Sectors) -> String {
    format!("{:.2} GiB", size.bytes().0 as f64 / f64::from(1 << 30))
}

/// Opens a trace file and counts its bytes as they are read.
fn open(path: &Path, options: &ReadOptions, gauge: &Gauge) -> Result<TraceReader, TraceError> {
    let refused = |source| TraceError::Io { path: path.to_path_buf(), doing: "opening", source };
    let file = File::open(path).map_err(refused)?;
    if file.metadata().is_ok_and(|meta| meta.is_dir()) {
        return Err(refused(io::Error::from(io::ErrorKind::IsADirectory)));
    }
    read_from(Metered { file, gauge: gauge.clone() }, &path.display().to_string(), options)
}

struct Metered {
    file: File,
    gauge: Gauge,
}

impl Read for Metered {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.file.read(buffer)?;
        self.gauge.0.fetch_add(count as u64, Ordering::Relaxed);
        Ok(count)
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

/// An iterator that cannot fail, as a source.
struct Counted<I> {
    requests: I,
    gauge: Gauge,
}

impl<I: Iterator<Item = Request> + Send> Source for Counted<I> {
    fn fill(&mut self, out: &mut Vec<Request>) -> Result<usize, TraceError> {
        let before = out.len();
        out.extend(self.requests.by_ref().take(BATCH));
        let count = out.len() - before;
        self.gauge.0.fetch_add(count as u64, Ordering::Relaxed);
        Ok(count)
    }
}

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

/// What becomes of addresses beyond the end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fold {
    Refuse,
    Here,
    InDrive,
}

/// A source whose requests lie within the drive.
struct Fitted<'a> {
    source: Box<dyn Source>,
    batch: Vec<Request>,
    next: usize,
    number: u64,
    spaces: Vec<Sectors>,
    fold: Fold,
    name: String,
    slot: &'a ErrorSlot,
}

impl Fitted<'_> {
    fn space(&self, request: &Request) -> Sectors {
        let tenant = usize::from(request.tenant.0).min(self.spaces.len() - 1);
        self.spaces[tenant]
    }

    fn beyond(&self, request: &Request) -> anyhow::Error {
        anyhow!(
            "{}: request {} reaches sector {} and the drive ends at {} ({}): --fit-addresses compact closes \
             the gaps in the trace's address space, --fit-addresses wrap folds it, or take a larger drive",
            self.name,
            self.number,
            request.end().0,
            self.space(request).0,
            gib(self.space(request)),
        )
    }
}

impl Iterator for Fitted<'_> {
    type Item = Request;

    #[inline]
    fn next(&mut self) -> Option<Request> {
        if self.next == self.batch.len() {
            self.batch.clear();
            self.next = 0;
            match self.source.fill(&mut self.batch) {
                Ok(0) => return None,
                Ok(_) => {}
                Err(error) => {
                    self.slot.put(error);
                    return None;
                }
            }
        }
        let mut request = self.batch[self.next];
        self.next += 1;
        self.number += 1;
        if request.end() > self.space(&request) {
            if self.fold == Fold::Refuse {
                self.slot.put(self.beyond(&request));
                self.batch.truncate(self.next);
                self.source =
                    Box::new(Counted { requests: std::iter::empty(), gauge: Gauge::default() });
                return None;
            }
            // A request over the end goes on at the beginning; the drive sees to that.
            if self.fold == Fold::Here {
                request.lba.0 %= self.space(&request).0;
            }
        }
        Some(request)
    }
}

/// All requests of a trace file, for the few uses that need them at once.
pub(crate) fn read_all(path: &Path, options: &ReadOptions) -> Result<Vec<Request>, TraceError> {
    Requests::new(open(path, options, &Gauge::default())?).collect()
}

/// A bundled workload model, or one in a file.
pub(crate) fn load_model(name: &str) -> Outcome<Model> {
    if !name.ends_with(".toml") {
        return workload::bundled(name).map_err(Failure::usage);
    }
    let text = ssdtune_model::source::read_text(Path::new(name)).map_err(device::failure)?;
    workload::parse(&text, name).map_err(Failure::input)
}

/// Sectors of a page.
pub(crate) fn page_sectors(page_bytes: u32) -> Sectors {
    Sectors(u64::from(page_bytes) / SECTOR_BYTES)
}
