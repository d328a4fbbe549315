//! Several traces as one: merged by time, or one after the other.
//!
//! Merging holds one batch of each source. Of requests at the same time, that of the earlier source
//! in the list comes first.

use crate::error::TraceError;
use crate::format::Format;
use crate::formats::blktrace;
use crate::options::{Event, ReadOptions};
use crate::reader::{TraceReader, open};
use crate::request::Request;
use crate::source::{ReadStats, Source};
use ssdtune_model::{Nanos, TenantId};
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};

/// How the tenants of several sources become the tenants of one trace.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tenants {
    /// Each source becomes one tenant, whatever devices it has.
    PerSource,
    /// Devices of the same name become the same tenant.
    ByName,
}

/// The tenant numbers of the joined trace.
struct TenantMap {
    rule: Tenants,
    names: Vec<String>,
    /// The tenant numbers, by source and then by tenant number inside the source.
    known: Vec<Vec<Option<TenantId>>>,
}

impl TenantMap {
    fn new(rule: Tenants, sources: usize) -> Self {
        Self { rule, names: Vec::new(), known: vec![Vec::new(); sources] }
    }

    fn translate(&mut self, index: usize, source: &dyn Source, batch: &mut [Request]) {
        for request in batch {
            request.tenant = match self.rule {
                Tenants::PerSource => TenantId(index as u16),
                Tenants::ByName => self.by_name(index, source, request.tenant),
            };
        }
    }

    fn by_name(&mut self, index: usize, source: &dyn Source, tenant: TenantId) -> TenantId {
        let local = usize::from(tenant.0);
        if let Some(Some(known)) = self.known[index].get(local) {
            return *known;
        }
        let name = source.tenant_names().get(local).cloned().unwrap_or_else(|| local.to_string());
        let found = self.names.iter().position(|n| *n == name).unwrap_or_else(|| {
            self.names.push(name);
            self.names.len() - 1
        });
        let whole = TenantId(u16::try_from(found).unwrap_or(u16::MAX));
        if self.known[index].len() <= local {
            self.known[index].resize(local + 1, None);
        }
        self.known[index][local] = Some(whole);
        whole
    }
}

fn check_count(sources: usize) -> Result<(), TraceError> {
    if (1..=usize::from(u16::MAX)).contains(&sources) {
        return Ok(());
    }
    Err(TraceError::Option {
        option: "inputs",
        value: sources.to_string(),
        problem: "that many traces cannot be joined".into(),
        legal: "1 to 65,535 traces".into(),
    })
}

/// A source of a merge and its current batch.
struct Lane {
    source: Box<dyn Source>,
    batch: Vec<Request>,
    next: usize,
}

impl Lane {
    /// The time of the next request; `None` at the end of the source.
    fn peek(&mut self, index: usize, map: &mut TenantMap) -> Result<Option<Nanos>, TraceError> {
        if self.next == self.batch.len() {
            self.batch.clear();
            self.next = 0;
            self.source.fill(&mut self.batch)?;
            map.translate(index, &*self.source, &mut self.batch);
        }
        Ok(self.batch.get(self.next).map(|r| r.at))
    }
}

/// Several sources merged by time.
pub struct Merge {
    lanes: Vec<Lane>,
    heap: BinaryHeap<Reverse<(Nanos, usize)>>,
    map: TenantMap,
    started: bool,
}

/// The largest number of requests handed out at a time.
const BATCH: usize = 8192;

impl Merge {
    /// Merges `sources`, each of which must be in order of time.
    ///
    /// # Errors
    /// There are no sources, or more than 65,535.
    pub fn new(sources: Vec<Box<dyn Source>>, rule: Tenants) -> Result<Self, TraceError> {
        check_count(sources.len())?;
        let map = TenantMap::new(rule, sources.len());
        let lane = |source| Lane { source, batch: Vec::new(), next: 0 };
        let lanes = sources.into_iter().map(lane).collect();
        Ok(Self { lanes, heap: BinaryHeap::new(), map, started: false })
    }
}

impl Source for Merge {
    fn fill(&mut self, out: &mut Vec<Request>) -> Result<usize, TraceError> {
        if !self.started {
            self.started = true;
            for (index, lane) in self.lanes.iter_mut().enumerate() {
                let first = lane.peek(index, &mut self.map)?;
                self.heap.extend(first.map(|at| Reverse((at, index))));
            }
        }
        let before = out.len();
        while let Some(Reverse((_, index))) = self.heap.pop() {
            let lane = &mut self.lanes[index];
            let until = self.heap.peek().map(|Reverse(next)| *next);
            // While this lane is the earliest, the heap need not be asked.
            loop {
                out.push(lane.batch[lane.next]);
                lane.next += 1;
                let Some(at) = lane.peek(index, &mut self.map)? else { break };
                if until.is_some_and(|until| (at, index) > until) || out.len() - before >= BATCH {
                    self.heap.push(Reverse((at, index)));
                    break;
                }
            }
            if out.len() - before >= BATCH {
                break;
            }
        }
        Ok(out.len() - before)
    }

    fn tenant_names(&self) -> Vec<String> {
        self.map.names.clone()
    }

    fn read_stats(&self) -> ReadStats {
        total_stats(self.lanes.iter().map(|lane| &*lane.source))
    }

    fn bytes_read(&self) -> u64 {
        self.lanes.iter().map(|lane| lane.source.bytes_read()).sum()
    }
}

fn total_stats<'a>(sources: impl Iterator<Item = &'a dyn Source>) -> ReadStats {
    sources.fold(ReadStats::default(), |mut total, source| {
        total.add(source.read_stats());
        total
    })
}

/// Several sources one after the other, with a pause between them.
pub struct Concat {
    sources: Vec<Box<dyn Source>>,
    current: usize,
    map: TenantMap,
    gap: Nanos,
    /// The time added to the requests of the current source.
    shift: Nanos,
    last: Nanos,
}

impl Concat {
    /// Joins `sources`, each of which counts time from 0. Each begins `gap` after the last request
    /// of the one before it.
    ///
    /// # Errors
    /// There are no sources, or more than 65,535.
    pub fn new(
        sources: Vec<Box<dyn Source>>,
        rule: Tenants,
        gap: Nanos,
    ) -> Result<Self, TraceError> {
        check_count(sources.len())?;
        let map = TenantMap::new(rule, sources.len());
        Ok(Self { sources, current: 0, map, gap, shift: Nanos::ZERO, last: Nanos::ZERO })
    }
}

impl Source for Concat {
    fn fill(&mut self, out: &mut Vec<Request>) -> Result<usize, TraceError> {
        while let Some(source) = self.sources.get_mut(self.current) {
            let before = out.len();
            let n = source.fill(out)?;
            if n > 0 {
                self.map.translate(self.current, &**source, &mut out[before..]);
                for request in &mut out[before..] {
                    request.at = Nanos(request.at.0.saturating_add(self.shift.0));
                    self.last = request.at;
                }
                return Ok(n);
            }
            self.current += 1;
            self.shift = Nanos(self.last.0.saturating_add(self.gap.0));
        }
        Ok(0)
    }

    fn tenant_names(&self) -> Vec<String> {
        self.map.names.clone()
    }

    fn read_stats(&self) -> ReadStats {
        total_stats(self.sources.iter().map(|source| &**source))
    }

    fn bytes_read(&self) -> u64 {
        self.sources.iter().map(|source| source.bytes_read()).sum()
    }
}

/// The files of all CPUs in a directory that `blktrace` wrote (`*.blktrace.N`), sorted by name.
///
/// # Errors
/// The directory cannot be listed, or has no such file.
pub fn blktrace_files(dir: &Path) -> Result<Vec<PathBuf>, TraceError> {
    let io_error = |source| TraceError::Io { path: dir.to_path_buf(), doing: "listing", source };
    let mut files = Vec::new();
    for entry in std::fs::read_dir(dir).map_err(io_error)? {
        let path = entry.map_err(io_error)?.path();
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let cpu = name.rsplit_once(".blktrace.").map(|(_, cpu)| cpu);
        if cpu.is_some_and(|cpu| !cpu.is_empty() && cpu.bytes().all(|b| b.is_ascii_digit())) {
            files.push(path);
        }
    }
    files.sort();
    if files.is_empty() {
        let remedy = "name a trace, or a directory of files NAME.blktrace.CPU";
        let what = "a directory without blktrace files";
        return Err(TraceError::NotATrace { path: dir.to_path_buf(), what, remedy });
    }
    Ok(files)
}

/// Opens the files of all CPUs of one blktrace and merges them. They share one clock. Times are
/// counted from the first request of all files.
///
/// # Errors
/// A file cannot be opened, or is no blktrace.
pub fn open_blktrace(
    paths: &[PathBuf],
    options: &ReadOptions,
) -> Result<Rebased<Merge>, TraceError> {
    let event = match options.event {
        Event::Auto => common_event(paths)?,
        event => event,
    };
    let options = ReadOptions {
        format: Some(Format::Blktrace),
        event,
        rebase: false,
        // A CPU may have seen no request. The window is shared out among the files to bound the
        // memory.
        allow_empty: true,
        reorder_window: (options.reorder_window / paths.len().max(1)).max(1024),
        ..options.clone()
    };
    let open_one = |path: &PathBuf| -> Result<Box<dyn Source>, TraceError> {
        let reader: TraceReader = open(path, &options)?;
        Ok(Box::new(reader))
    };
    let sources = paths.iter().map(open_one).collect::<Result<Vec<_>, _>>()?;
    Ok(Rebased { source: Merge::new(sources, Tenants::ByName)?, origin: None })
}

/// The event that counts as arrival in all files. It is chosen from all of them because a single
/// CPU may have seen completions only.
fn common_event(paths: &[PathBuf]) -> Result<Event, TraceError> {
    let mut best = Event::Complete;
    for path in paths {
        let io_error = |source| TraceError::Io { path: path.clone(), doing: "reading", source };
        let mut first = Vec::new();
        File::open(path)
            .and_then(|f| f.take(64 << 10).read_to_end(&mut first))
            .map_err(io_error)?;
        match blktrace::default_action(&first) {
            b'D' if !first.is_empty() => return Ok(Event::Issue),
            b'Q' => best = Event::Queue,
            _ => {}
        }
    }
    Ok(best)
}

/// A source whose times are counted from its first request.
pub struct Rebased<S> {
    source: S,
    origin: Option<Nanos>,
}

impl<S: Source> Source for Rebased<S> {
    fn fill(&mut self, out: &mut Vec<Request>) -> Result<usize, TraceError> {
        let before = out.len();
        let n = self.source.fill(out)?;
        if n > 0 {
            let origin = *self.origin.get_or_insert(out[before].at);
            out[before..].iter_mut().for_each(|r| r.at -= origin);
        }
        Ok(n)
    }

    fn tenant_names(&self) -> Vec<String> {
        self.source.tenant_names()
    }

    fn origin_ns(&self) -> u64 {
        self.origin.unwrap_or_default().0
    }

    fn read_stats(&self) -> ReadStats {
        self.source.read_stats()
    }

    fn bytes_read(&self) -> u64 {
        self.source.bytes_read()
    }
}
