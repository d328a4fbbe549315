//! Workloads by the names of the command line: bundled models, model files, trace files.

use crate::outcome::{Failure, Outcome};
use anyhow::anyhow;
use ssdtune_model::Sectors;
use ssdtune_model::source::read_text;
use ssdtune_trace::Devices;
use ssdtune_trace::transform::{DenseOptions, DensePlan};
use ssdtune_trace::workload::{self, Model, Seed, SeedSet};
use ssdtune_trace::{ReadOptions, Request, Source, TraceError};
use ssdtune_tune::workload::{Trace, Workload, published_depth};
use std::path::Path;

/// A workload as named on the command line.
#[derive(Clone, Debug)]
pub(crate) struct Named {
    pub(crate) name: String,
    origin: Origin,
}

#[derive(Clone, Debug)]
enum Origin {
    Model(Box<Model>),
    /// Trace files of one category.
    Traces(Vec<String>),
}

/// The parts of a comma-separated list.
pub(crate) fn split(list: &[String]) -> Vec<String> {
    let parts = list.iter().flat_map(|own| own.split(','));
    parts.map(str::trim).filter(|part| !part.is_empty()).map(str::to_owned).collect()
}

impl Named {
    /// `NAME` of a bundled model, `FILE.toml`, a trace file, or `NAME=FILE+FILE` for a category of
    /// several.
    pub(crate) fn parse(text: &str) -> Outcome<Self> {
        if let Some((name, files)) = text.split_once('=') {
            let files = files.split('+').map(str::to_owned).collect();
            return Ok(Self { name: name.to_owned(), origin: Origin::Traces(files) });
        }
        if text.ends_with(".toml") {
            let read = read_text(Path::new(text)).map_err(crate::device::failure)?;
            let model = workload::parse(&read, text).map_err(Failure::input)?;
            return Ok(Self { name: model.name.clone(), origin: Origin::Model(Box::new(model)) });
        }
        if Path::new(text).is_file() {
            let stem =
                Path::new(text).file_stem().map_or(text.into(), |stem| stem.to_string_lossy());
            return Ok(Self {
                name: stem.into_owned(),
                origin: Origin::Traces(vec![text.to_owned()]),
            });
        }
        if text.contains(std::path::is_separator) {
            return Err(Failure::input(anyhow!("cannot read {text}: there is no such file")));
        }
        let model = workload::bundled(text).map_err(Failure::usage)?;
        Ok(Self { name: model.name.clone(), origin: Origin::Model(Box::new(model)) })
    }

    /// Whether traces that no decision has seen can be had.
    pub(crate) fn can_hold_out(&self) -> bool {
        matches!(self.origin, Origin::Model(_))
    }

    /// Its requests, that fit drives of `space` sectors; `depth` overrides the published one.
    pub(crate) fn load(
        &self,
        set: SeedSet,
        index: u64,
        requests: usize,
        space: Sectors,
        depth: Option<u32>,
    ) -> Outcome<Workload> {
        let traces = match &self.origin {
            Origin::Model(model) => {
                let seed = Seed { set, index };
                vec![Trace::of_model(model, seed, requests).map_err(Failure::input)?]
            }
            Origin::Traces(files) => {
                let one = |file: &String| trace(file, requests, space).map_err(Failure::input);
                files.iter().map(one).collect::<Outcome<Vec<Trace>>>()?
            }
        };
        if let Some(empty) = traces.iter().find(|trace| trace.requests().is_empty()) {
            return Err(Failure::input(anyhow!("{}: no requests in it", empty.name)));
        }
        let depth = depth.unwrap_or_else(|| published_depth(&self.name));
        Ok(Workload { name: self.name.clone(), depth, traces })
    }
}

/// The first requests of a trace file. Addresses beyond the drive have the gaps between them
/// closed.
fn trace(file: &str, requests: usize, space: Sectors) -> Result<Trace, TraceError> {
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

struct InMemory(Vec<Request>);

impl Source for InMemory {
    fn fill(&mut self, out: &mut Vec<Request>) -> Result<usize, TraceError> {
        let count = self.0.len();
        out.append(&mut self.0);
        Ok(count)
    }
}
