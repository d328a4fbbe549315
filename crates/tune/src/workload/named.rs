//! Workloads by name. A name stands for a bundled model, a model file, a trace file, or several
//! trace files.

use super::{Trace, Workload, published_depth};
use ssdtune_model::Sectors;
use ssdtune_model::source::{LoadError, read_text};
use ssdtune_trace::transform::{DenseOptions, DensePlan};
use ssdtune_trace::workload::{self, Model, ModelError, Seed};
use ssdtune_trace::{Devices, ReadOptions, Request, Source, TraceError};
use std::path::Path;

/// A workload whose name is known, and whose requests are not read yet.
#[derive(Clone, Debug)]
pub struct NamedWorkload {
    /// The name in reports.
    pub name: String,
    origin: Origin,
}

#[derive(Clone, Debug)]
enum Origin {
    Model(Box<Model>),
    /// Paths of trace files.
    Traces(Vec<String>),
}

/// Which requests [`NamedWorkload::load`] reads or generates.
#[derive(Clone, Copy, Debug)]
pub struct LoadOptions {
    /// The seed of the requests that a model generates.
    pub seed: Seed,
    /// The greatest number of requests in each trace.
    pub requests: usize,
    /// The number of sectors of the smallest drive. If a trace has addresses beyond these, the gaps
    /// between its addresses are closed.
    pub space: Sectors,
    /// Requests outstanding in the closed loop; `None` for the published depth.
    pub depth: Option<u32>,
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
    /// A model file cannot be read.
    #[error("{0}")]
    File(#[from] LoadError),
    /// A model is not valid.
    #[error("{0}")]
    Model(#[source] ModelError),
    /// A trace cannot be read.
    #[error("{0}")]
    Trace(#[from] TraceError),
    /// A trace has no request.
    #[error("{trace}: no requests in it")]
    Empty {
        /// The path of the trace, or the name of the model.
        trace: String,
    },
}

impl NamedWorkload {
    /// Reads a name: that of a bundled model, the path of a model file (`FILE.toml`) or of a trace
    /// file, or `NAME=FILE+FILE` for several trace files under one name.
    ///
    /// # Errors
    /// There is no such model or file, or a model file cannot be read.
    pub fn parse(text: &str) -> Result<Self, NamedError> {
        let of_model = |model: Model| {
            let name = model.name.clone();
            Self { name, origin: Origin::Model(Box::new(model)) }
        };
        if let Some((name, files)) = text.split_once('=') {
            let files = files.split('+').map(str::to_owned).collect();
            return Ok(Self { name: name.to_owned(), origin: Origin::Traces(files) });
        }
        let path = Path::new(text);
        if text.ends_with(".toml") {
            let model = workload::parse(&read_text(path)?, text).map_err(NamedError::Model)?;
            return Ok(of_model(model));
        }
        if path.is_file() {
            let stem = path.file_stem().map_or(text.into(), |stem| stem.to_string_lossy());
            let origin = Origin::Traces(vec![text.to_owned()]);
            return Ok(Self { name: stem.into_owned(), origin });
        }
        // No bundled model has a dot in its name.
        if text.contains(std::path::is_separator) || text.contains('.') {
            return Err(NamedError::NoFile { path: text.to_owned() });
        }
        workload::bundled(text).map(of_model).map_err(NamedError::Unknown)
    }

    /// Whether there are further requests to hold out from a search. A model has more seeds; trace
    /// files have no further requests.
    pub fn can_hold_out(&self) -> bool {
        matches!(self.origin, Origin::Model(_))
    }

    /// Reads or generates the requests.
    ///
    /// # Errors
    /// A trace cannot be read or has no request, or a model is not valid.
    pub fn load(&self, options: &LoadOptions) -> Result<Workload, NamedError> {
        let LoadOptions { seed, requests, space, depth } = *options;
        let traces = match &self.origin {
            Origin::Model(model) => {
                vec![Trace::of_model(model, seed, requests).map_err(NamedError::Model)?]
            }
            Origin::Traces(files) => files
                .iter()
                .map(|file| read_trace(file, requests, space))
                .collect::<Result<_, _>>()?,
        };
        if let Some(empty) = traces.iter().find(|trace: &&Trace| trace.requests().is_empty()) {
            return Err(NamedError::Empty { trace: empty.name.clone() });
        }
        let depth = depth.unwrap_or_else(|| published_depth(&self.name));
        Ok(Workload { name: self.name.clone(), depth, traces })
    }
}

/// The first requests of a trace file. If one of them lies beyond `space`, the gaps between
/// addresses are closed.
fn read_trace(file: &str, requests: usize, space: Sectors) -> Result<Trace, TraceError> {
    let options = ReadOptions { devices: Devices::Merged, ..ReadOptions::default() };
    let mut all = ssdtune_experiment::read_all(Path::new(file), &options)?;
    all.truncate(requests);
    if all.iter().any(|request| request.end() > space) {
        let plan = DensePlan::of(&mut InMemory(all.clone()), DenseOptions::default())?;
        for request in &mut all {
            request.lba = plan.address(request.tenant, request.lba).unwrap_or(request.lba);
        }
    }
    Ok(Trace::new(file, all))
}

/// A source that hands out all its requests at once.
struct InMemory(Vec<Request>);

impl Source for InMemory {
    fn fill(&mut self, out: &mut Vec<Request>) -> Result<usize, TraceError> {
        let count = self.0.len();
        out.append(&mut self.0);
        Ok(count)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_told_from_paths() {
        let model = NamedWorkload::parse("tpcc").unwrap();
        assert_eq!((model.name.as_str(), model.can_hold_out()), ("database", true));
        let traces = NamedWorkload::parse("reads=a.csv+b.csv").unwrap();
        assert_eq!((traces.name.as_str(), traces.can_hold_out()), ("reads", false));
        assert!(matches!(NamedWorkload::parse("no/such.csv"), Err(NamedError::NoFile { .. })));
        assert!(matches!(NamedWorkload::parse("no-model"), Err(NamedError::Unknown(_))));
        assert!(matches!(NamedWorkload::parse("no.toml"), Err(NamedError::File(_))));
    }

    #[test]
    fn a_trace_that_is_too_large_gets_its_gaps_closed() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("gaps.csv");
        let text = "time_ns,tenant,op,lba,sectors\n0,0,W,0,8\n\
                    1000,0,R,2147483648,8\n";
        std::fs::write(&path, text).unwrap();
        let named = NamedWorkload::parse(path.to_str().unwrap()).unwrap();
        let load = |sectors| {
            let (seed, space) = (Seed::default(), Sectors(sectors));
            named.load(&LoadOptions { seed, requests: 9, space, depth: None }).unwrap()
        };
        let whole = load(1 << 40);
        assert_eq!((whole.name.as_str(), whole.depth), ("gaps", super::super::DEFAULT_DEPTH));
        assert_eq!(whole.traces[0].requests()[1].lba, Sectors(1 << 31));
        assert!(load(1 << 20).traces[0].requests()[1].lba < Sectors(1 << 20));
    }
}
