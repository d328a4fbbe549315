//! Workloads by name. A name stands for a bundled model, a model file, a trace file, or several
//! trace files.

use super::{Trace, WINDOWS, Windows, Workload, published_depth};
use ssdtune_experiment::livepoints::{LivePoints, SampleOptions};
use ssdtune_experiment::sampled::SampledError;
use ssdtune_experiment::{AddressFit, Origin as Source, RequestSource, is_pipe};
use ssdtune_model::Sectors;
use ssdtune_model::source::{LoadError, read_text};
use ssdtune_trace::transform::{DenseOptions, DensePlan};
use ssdtune_trace::workload::{self, Generator, Model, ModelError, Seed};
use ssdtune_trace::{self as trace, Devices, ReadOptions, Request, TraceError};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

/// Requests that are measured in a window.
const MEASURED: u32 = 500;
/// Windows that are kept of a trace, half of them at least: the baseline is measured on all.
const KEPT: usize = 600;

/// A workload whose name is known, and whose requests are not read yet.
#[derive(Clone, Debug)]
pub struct NamedWorkload {
    /// The name in reports.
    pub name: String,
    origin: Origin,
    /// How trace files are read.
    read: ReadOptions,
}

#[derive(Clone, Debug)]
enum Origin {
    Model(Box<Model>),
    /// Paths of trace files.
    Traces(Vec<String>),
    Held(HeldTrace),
}

/// A trace in memory that a name stands for. It is treated as a trace file of these requests.
#[derive(Clone, Debug)]
pub struct HeldTrace {
    /// The name of the workload.
    pub workload: String,
    /// What reports call the trace, as the path of a file.
    pub name: String,
    /// The requests, in order of time.
    pub requests: Arc<Vec<Request>>,
    /// What is to be said of the file that they were read from.
    pub warnings: Vec<String>,
}

/// Which requests [`NamedWorkload::load`] reads or generates.
#[derive(Clone, Copy, Debug)]
pub struct LoadOptions {
    /// The seed of the requests that a model generates.
    pub seed: Seed,
    /// The greatest number of requests in each trace.
    pub requests: usize,
    /// The number of sectors of the smallest drive.
    pub space: Sectors,
    /// What to do with addresses beyond these; `None` makes them an error.
    pub fit: Option<AddressFit>,
    /// Requests outstanding in the closed loop; `None` for the published depth.
    pub depth: Option<u32>,
    /// How traces that are too long to be run whole are sampled; `None`: their first requests are
    /// taken.
    pub sampled: Option<Sampling>,
}

/// How long traces are sampled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sampling {
    /// Traces with more requests are measured on windows.
    pub above: u64,
    /// Bytes of a flash page of the drives.
    pub page_bytes: u32,
}

impl Sampling {
    /// For traces of more than 200,000 requests, and drives with pages of this size.
    pub fn of_pages(page_bytes: u32) -> Self {
        Self { above: 200_000, page_bytes }
    }
}

/// Why a workload cannot be read or generated.
#[derive(Debug, thiserror::Error)]
pub enum NamedError {
    /// No bundled model has this name.
    #[error("{0}")]
    Unknown(#[source] ModelError),
    /// There is no file at the path.
    #[error("cannot read {path}: there is no such file")]
    NoFile {
        /// The path.
        path: String,
    },
    /// A name or a path is missing.
    #[error("{text}: write NAME=FILE, or NAME=FILE+FILE, with a name and nothing but paths")]
    Nameless {
        /// What was given.
        text: String,
    },
    /// A model file cannot be read.
    #[error("{0}")]
    File(#[from] LoadError),
    /// A model is not valid.
    #[error("{0}")]
    Model(#[source] ModelError),
    /// A trace cannot be read.
    #[error("{0}")]
    Trace(#[from] TraceError),
    /// A long trace cannot be sampled.
    #[error("{0}")]
    Sampled(#[from] SampledError),
    /// A file holds windows, which a task does not take.
    #[error(
        "{path} holds windows of a trace: leave --requests and --evaluator away, and let drives \
         begin with --start footprint"
    )]
    Windows {
        /// The path.
        path: String,
    },
    /// A trace has no request.
    #[error("{trace}: no requests in it")]
    Empty {
        /// The path of the trace, or the name of the model.
        trace: String,
    },
    /// A request reaches beyond the end of the smallest drive.
    #[error(
        "{trace}: request {number} reaches sector {}, and the smallest drive within the limits \
         ends at {} ({:.2} GiB): --fit-addresses compact closes the gaps in its address space, \
         --fit-addresses wrap folds it, or take a larger drive",
        .end.0, .space.0, gib(*.space)
    )]
    BeyondEnd {
        /// The path of the trace, or the name of the model.
        trace: String,
        /// The request's number, from 1.
        number: usize,
        /// The sector after its last.
        end: Sectors,
        /// What the smallest drive has.
        space: Sectors,
    },
    /// The requests do not fit even without the gaps between them.
    #[error(
        "{trace} touches {:.2} GiB, and the smallest drive within the limits has {:.2} GiB: take a \
         larger drive, or --fit-addresses wrap (which also folds addresses onto each other)",
        gib(*.needed), gib(*.space)
    )]
    TooLarge {
        /// The path of the trace, or the name of the model.
        trace: String,
        /// What it touches.
        needed: Sectors,
        /// What the smallest drive has.
        space: Sectors,
    },
    /// A depth is stated for a workload that is not there.
    #[error("--depth {name}: no such workload here")]
    NoDepth {
        /// The name.
        name: String,
    },
    /// A trace has too few requests to be divided.
    #[error(
        "{trace}: one request cannot be divided into a half to learn from and one to judge by; \
         take a longer trace, or --max-harm 1 to judge by none"
    )]
    Indivisible {
        /// The path of the trace.
        trace: String,
    },
}

fn gib(size: Sectors) -> f64 {
    size.bytes().0 as f64 / f64::from(1 << 30)
}

impl NamedWorkload {
    /// Reads a name: that of a bundled model, the path of a model file (`FILE.toml`) or of a trace
    /// file (`-` is standard input), or `NAME=FILE+FILE` for several trace files under one name.
    ///
    /// # Errors
    /// There is no such model or file, or a model file cannot be read.
    pub fn parse(text: &str) -> Result<Self, NamedError> {
        let named = |name: &str, origin: Origin| {
            let read = ReadOptions { devices: Devices::Merged, ..ReadOptions::default() };
            Self { name: name.to_owned(), origin, read }
        };
        let of_model = |model: Model| named(&model.name.clone(), Origin::Model(Box::new(model)));
        if let Some((name, files)) = text.split_once('=') {
            let files: Vec<String> = files.split('+').map(str::to_owned).collect();
            if name.is_empty() || files.iter().any(String::is_empty) {
                return Err(NamedError::Nameless { text: text.to_owned() });
            }
            return Ok(named(name, Origin::Traces(files)));
        }
        let path = Path::new(text);
        if text.ends_with(".toml") {
            let model = workload::parse(&read_text(path)?, text).map_err(NamedError::Model)?;
            return Ok(of_model(model));
        }
        // A pipe is a trace too, and so is standard input.
        if text == "-" {
            return Ok(named("standard-input", Origin::Traces(vec![text.to_owned()])));
        }
        if path.exists() && !path.is_dir() {
            let stem = path.file_stem().map_or(text.into(), |stem| stem.to_string_lossy());
            return Ok(named(&stem, Origin::Traces(vec![text.to_owned()])));
        }
        // No bundled model has a dot in its name.
        if text.contains(std::path::is_separator) || text.contains('.') {
            return Err(NamedError::NoFile { path: text.to_owned() });
        }
        workload::bundled(text).map(of_model).map_err(NamedError::Unknown)
    }

    /// The workload of a trace in memory.
    pub fn of_held(held: HeldTrace) -> Self {
        let read = ReadOptions::default();
        Self { name: held.workload.clone(), origin: Origin::Held(held), read }
    }

    /// Reads the trace files of this workload with these options, all devices as one.
    #[must_use]
    pub fn read_as(self, read: ReadOptions) -> Self {
        Self { read: ReadOptions { devices: Devices::Merged, ..read }, ..self }
    }

    /// Reads or generates two workloads: one that a search learns from, and one with other requests
    /// that judges its result. A model has other seeds: `validation` is for the second workload. A
    /// trace file is divided: of the first requests, twice as many as `options` states, one half
    /// goes to each; of a trace that is sampled every second window.
    ///
    /// # Errors
    /// A trace cannot be read or has less than two requests, or a model is not valid.
    pub fn load_twice(
        &self,
        options: &LoadOptions,
        validation: Seed,
    ) -> Result<(Workload, Workload), NamedError> {
        if let Origin::Model(_) = &self.origin {
            let other = LoadOptions { seed: validation, ..*options };
            return Ok((self.load(options)?, self.load(&other)?));
        }
        let both = self.load(&LoadOptions { requests: 2 * options.requests, ..*options })?;
        let halves = both.traces.iter().map(halves).collect::<Result<Vec<_>, _>>()?;
        let (first, second) = halves.into_iter().unzip();
        Ok((Workload { traces: first, ..both.clone() }, Workload { traces: second, ..both }))
    }

    /// Reads or generates the requests of a search, and others that judge what it found: those with
    /// the seed `held_out` of a model; of a trace file those that follow, if there are enough; of a
    /// trace that is sampled every second window.
    ///
    /// # Errors
    /// A trace cannot be read, has no request or does not fit, or a model is not valid.
    pub fn load_and_hold_out(
        &self,
        options: &LoadOptions,
        held_out: Seed,
    ) -> Result<(Workload, Option<Workload>), NamedError> {
        if let Origin::Model(_) = &self.origin {
            let other = LoadOptions { seed: held_out, ..*options };
            return Ok((self.load(options)?, Some(self.load(&other)?)));
        }
        let mut both = self.load(&LoadOptions { requests: 2 * options.requests, ..*options })?;
        let are_sampled = |trace: &Trace| trace.windows().is_some();
        if both.traces.iter().all(are_sampled) {
            let judged = both.split_windows();
            return Ok((both, Some(judged)));
        }
        let is_short = |trace: &Trace| trace.requests().len() < 2 * HELD_OUT_MIN;
        if both.traces.iter().any(|trace| are_sampled(trace) || is_short(trace)) {
            return Ok((self.load(options)?, None));
        }
        let halves = both.traces.iter().map(halves).collect::<Result<Vec<_>, _>>()?;
        let (first, second) = halves.into_iter().unzip();
        Ok((Workload { traces: first, ..both.clone() }, Some(Workload { traces: second, ..both })))
    }

    /// Whether there are further requests to hold out of a workload that is not the target. A model
    /// has more seeds; what follows in a trace file judges already what a drive takes of it.
    pub fn can_hold_out(&self) -> bool {
        matches!(self.origin, Origin::Model(_))
    }

    /// Reads or generates the requests.
    ///
    /// # Errors
    /// A trace cannot be read, has no request or does not fit, or a model is not valid.
    pub fn load(&self, options: &LoadOptions) -> Result<Workload, NamedError> {
        let LoadOptions { seed, requests, depth, .. } = *options;
        let traces = match &self.origin {
            Origin::Model(model) => {
                let generator = Generator::new(model, seed).map_err(NamedError::Model)?;
                vec![fitted(&model.name, generator.take(requests).collect(), options)?]
            }
            Origin::Held(held) => vec![held.load(options)?],
            Origin::Traces(files) => {
                let one = |file: &String| {
                    let path = Path::new(file);
                    if let Some(trace) = self.sampled_file(path, options)? {
                        return Ok(trace);
                    }
                    let (all, warnings) =
                        ssdtune_experiment::read_first(path, &self.read, requests)?;
                    Ok(Trace { warnings, ..fitted(file, all, options)? })
                };
                files.iter().map(one).collect::<Result<_, NamedError>>()?
            }
        };
        if let Some(empty) = traces.iter().find(|trace: &&Trace| trace.requests().is_empty()) {
            return Err(NamedError::Empty { trace: empty.name.clone() });
        }
        let depth = depth.unwrap_or_else(|| published_depth(&self.name));
        Ok(Workload { name: self.name.clone(), depth, traces })
    }
}

impl NamedWorkload {
    /// The windows of a trace that is too long to be run whole, or that a file holds in its place.
    /// A pipe can be read once only, so it is not sampled.
    fn sampled_file(
        &self,
        path: &Path,
        options: &LoadOptions,
    ) -> Result<Option<Trace>, NamedError> {
        let name = path.display().to_string();
        let holds_windows = !is_pipe(path) && LivePoints::is_file(path);
        if holds_windows && options.sampled.is_some() {
            let points = LivePoints::read(path).map_err(SampledError::from)?;
            return Ok(Some(of_points(&name, points)));
        }
        if holds_windows {
            return Err(NamedError::Windows { path: name });
        }
        if is_pipe(path) {
            return Ok(None);
        }
        let source = RequestSource::new(Source::File(path.to_owned()), self.read.clone());
        sampled(&name, source, options)
    }
}

impl HeldTrace {
    fn load(&self, options: &LoadOptions) -> Result<Trace, NamedError> {
        let source = RequestSource::of_requests(self.name.clone(), Arc::clone(&self.requests));
        if let Some(trace) = sampled(&self.name, source, options)? {
            return Ok(trace);
        }
        let first = self.requests.iter().take(options.requests).copied().collect();
        let warnings = self.warnings.clone();
        Ok(Trace { warnings, ..fitted(&self.name, first, options)? })
    }
}

fn of_points(name: &str, points: LivePoints) -> Trace {
    Trace::of_windows(name.to_owned(), Windows::new(Arc::new(points), WINDOWS))
}

/// The windows of a source that is too long to be run whole.
fn sampled(
    name: &str,
    source: RequestSource,
    options: &LoadOptions,
) -> Result<Option<Trace>, NamedError> {
    // A drive whose pages no window can restore serves the whole trace, however long it is.
    let sampled = options.sampled.filter(|own| SampleOptions::has_page_bytes(own.page_bytes));
    let Some(Sampling { above, page_bytes }) = sampled else { return Ok(None) };
    let source = RequestSource { fit: options.fit, ..source };
    let seed = options.seed.index;
    let how = SampleOptions {
        windows: KEPT,
        measured: MEASURED,
        page_bytes,
        seed,
        ..SampleOptions::default()
    };
    let points = source.sample(options.space, &how, above, &AtomicBool::new(false), &|_| {})?;
    Ok(points.map(|points| {
        let windows = Windows::new(Arc::new(points), WINDOWS);
        Trace::of_windows(name.to_owned(), windows.of_whole(source, options.space))
    }))
}

/// A trace of requests that lie within the smallest drive. What else to do with them is the rule of
/// `simulate`.
fn fitted(name: &str, mut all: Vec<Request>, options: &LoadOptions) -> Result<Trace, NamedError> {
    let (space, trace) = (options.space, || name.to_owned());
    let beyond = |all: &[Request]| all.iter().position(|request| request.end() > space);
    let Some(first) = beyond(&all) else { return Ok(Trace::new(name, all)) };
    match options.fit {
        Some(AddressFit::InDrive) => {}
        // A request that crosses the end goes on at the beginning; the drive sees to that.
        Some(AddressFit::Wrap) => all.iter_mut().for_each(|request| request.lba.0 %= space.0),
        Some(AddressFit::Compact) => {
            let plan = DensePlan::of(&mut InMemory(all.clone()), DenseOptions::default())?;
            for request in &mut all {
                request.lba = plan.address(request.tenant, request.lba).unwrap_or(request.lba);
            }
            if let Some(needed) = all.iter().map(Request::end).max().filter(|end| *end > space) {
                return Err(NamedError::TooLarge { trace: trace(), needed, space });
            }
        }
        None => {
            let (number, end) = (first + 1, all[first].end());
            return Err(NamedError::BeyondEnd { trace: trace(), number, end, space });
        }
    }
    Ok(Trace::new(name, all))
}

/// The fewest requests of a trace that are worth holding out.
const HELD_OUT_MIN: usize = 100;

/// The two halves of a trace. The second one begins at time 0 too. Of a trace that is measured on
/// windows each half has every second of them.
fn halves(trace: &Trace) -> Result<(Trace, Trace), NamedError> {
    if let Some(halves) = trace.window_halves() {
        return Ok(halves);
    }
    let all = trace.requests();
    let (first, second) = all.split_at(all.len().div_ceil(2));
    let Some(start) = second.first().map(|request| request.at) else {
        return Err(NamedError::Indivisible { trace: trace.name.clone() });
    };
    let shifted = second.iter().map(|request| Request { at: request.at - start, ..*request });
    let first = Trace::new(&trace.name, first.to_vec());
    let first = Trace { warnings: trace.warnings.clone(), ..first };
    Ok((first, Trace::new(&trace.name, shifted.collect())))
}

/// A source that hands out all its requests at once.
struct InMemory(Vec<Request>);

impl trace::Source for InMemory {
    fn fill(&mut self, out: &mut Vec<Request>) -> Result<usize, TraceError> {
        let count = self.0.len();
        out.append(&mut self.0);
        Ok(count)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ssdtune_trace::workload::SeedSet;

    #[test]
    fn names_are_told_from_paths() {
        let model = NamedWorkload::parse("tpcc").unwrap();
        assert_eq!((model.name.as_str(), model.can_hold_out()), ("database", true));
        let traces = NamedWorkload::parse("reads=a.csv+b.csv").unwrap();
        assert_eq!((traces.name.as_str(), traces.can_hold_out()), ("reads", false));
        assert!(matches!(NamedWorkload::parse("no/such.csv"), Err(NamedError::NoFile { .. })));
        assert!(matches!(NamedWorkload::parse("no-model"), Err(NamedError::Unknown(_))));
        assert!(matches!(NamedWorkload::parse("no.toml"), Err(NamedError::File(_))));
        for text in ["=a.csv", "x=", "x=a.csv+", "="] {
            let error = NamedWorkload::parse(text).unwrap_err().to_string();
            assert!(error.contains("write NAME=FILE"), "{error}");
        }
    }

    #[test]
    fn what_judges_a_result_is_not_what_a_search_learns_from() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("five.csv");
        let rows: Vec<String> =
            (0..5_u64).map(|row| format!("{},0,W,{},8\n", 1000 * row, 8 * row)).collect();
        std::fs::write(&path, format!("time_ns,tenant,op,lba,sectors\n{}", rows.concat())).unwrap();
        let trace = NamedWorkload::parse(path.to_str().unwrap()).unwrap();
        let twice = |named: &NamedWorkload, requests| {
            let (space, seed) = (Sectors(1 << 40), Seed::default());
            let options =
                LoadOptions { seed, requests, space, fit: None, depth: None, sampled: None };
            let validation = Seed { set: SeedSet::Validation, index: 0 };
            let (learned, judged) = named.load_twice(&options, validation).unwrap();
            (learned.traces[0].requests().to_vec(), judged.traces[0].requests().to_vec())
        };
        let places = |requests: &[Request]| -> Vec<(u64, u64)> {
            requests.iter().map(|request| (request.at.0, request.lba.0)).collect()
        };
        let (learned, judged) = twice(&trace, 2);
        assert_eq!(places(&learned), [(0, 0), (1000, 8)]);
        assert_eq!(places(&judged), [(0, 16), (1000, 24)]);
        let (learned, judged) = twice(&trace, 100);
        assert_eq!((learned.len(), places(&judged)), (3, vec![(0, 24), (1000, 32)]));
        let (learned, judged) = twice(&NamedWorkload::parse("kvstore").unwrap(), 50);
        assert_eq!((learned.len(), judged.len()), (50, 50));
        assert_ne!(learned, judged);
    }

    #[test]
    fn a_trace_beyond_the_smallest_drive_is_refused_folded_or_moved_together() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("gaps.csv");
        let text = "time_ns,tenant,op,lba,sectors\n0,0,W,0,8\n\
                    1000,0,R,2147483648,8\n";
        std::fs::write(&path, text).unwrap();
        let named = NamedWorkload::parse(path.to_str().unwrap()).unwrap();
        let load = |sectors, fit| {
            let (seed, space) = (Seed::default(), Sectors(sectors));
            named.load(&LoadOptions { seed, requests: 9, space, fit, depth: None, sampled: None })
        };
        let whole = load(1 << 40, None).unwrap();
        assert_eq!((whole.name.as_str(), whole.depth), ("gaps", super::super::DEFAULT_DEPTH));
        assert_eq!(whole.traces[0].requests()[1].lba, Sectors(1 << 31));
        let refused = load(1 << 20, None).unwrap_err().to_string();
        assert!(refused.contains("request 2 reaches sector 2147483656"), "{refused}");
        assert!(refused.contains("--fit-addresses compact"), "{refused}");
        let second = |fit| load(1 << 20, Some(fit)).unwrap().traces[0].requests()[1].lba;
        assert!((8..1 << 20).contains(&second(AddressFit::Compact).0));
        assert_eq!(second(AddressFit::Wrap), Sectors(0));
        let tight = load(8, Some(AddressFit::Compact)).unwrap_err().to_string();
        assert!(tight.contains("--fit-addresses wrap"), "{tight}");
        // A model is no exception.
        let model = NamedWorkload::parse("kvstore").unwrap();
        let (seed, space) = (Seed::default(), Sectors(1 << 20));
        let options =
            LoadOptions { seed, requests: 99, space, fit: None, depth: None, sampled: None };
        assert!(matches!(model.load(&options), Err(NamedError::BeyondEnd { .. })));
    }
}
