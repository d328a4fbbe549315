//! What is learned and what is judged: streams of models, and parts of real traces.

use crate::Outcome;
use ssdtune_trace::workload::{Generator, Seed, SeedSet, bundled};
use ssdtune_trace::{Devices, ReadOptions, Request, open};
use ssdtune_tune::cluster::WINDOW_REQUESTS;
use std::ops::Range;
use std::path::Path;

/// The number of windows in each stream of a model.
pub const WINDOWS: usize = 40;
/// The least number of windows in a real trace that becomes a category.
const REAL_WINDOWS_MIN: usize = 10;
/// The least number of held-out windows in a real trace that is judged.
const JUDGED_WINDOWS_MIN: usize = 5;
/// The number of parts, each held out in turn.
pub const FIFTHS: usize = 5;

/// A stream of a known category.
pub struct Labelled {
    pub category: String,
    pub requests: Vec<Request>,
}

/// Whether a trace was looked at when choices were made.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Side {
    Develop,
    Verdict,
}

impl Side {
    pub fn name(self) -> &'static str {
        match self {
            Self::Develop => "develop",
            Self::Verdict => "verdict",
        }
    }
}

/// A real trace.
pub struct Trace {
    pub name: String,
    pub side: Side,
    pub requests: Vec<Request>,
}

impl Trace {
    pub fn windows(&self) -> usize {
        self.requests.len() / WINDOW_REQUESTS
    }

    /// Whether its last 30 % have enough windows to be judged.
    pub fn is_judged(&self) -> bool {
        tail(self).len() >= JUDGED_WINDOWS_MIN
    }

    /// The requests of some of its windows.
    pub fn part(&self, windows: Range<usize>) -> &[Request] {
        &self.requests[windows.start * WINDOW_REQUESTS..windows.end * WINDOW_REQUESTS]
    }

    /// Some of its windows, with its name.
    pub fn labelled(&self, windows: Range<usize>) -> Labelled {
        Labelled { category: self.name.clone(), requests: self.part(windows).to_vec() }
    }

    /// All other windows, with its name.
    pub fn without(&self, windows: &Range<usize>) -> Labelled {
        let mut requests = self.part(0..windows.start).to_vec();
        requests.extend(self.part(windows.end..self.windows()));
        Labelled { category: self.name.clone(), requests }
    }
}

/// The windows of the last 30 % of a trace: the harder way to hold out, since what an application
/// does last it may never have done before.
pub fn tail(trace: &Trace) -> Range<usize> {
    trace.windows() * 70 / 100..trace.windows()
}

/// The windows of a fifth of a trace. Each window is held out once.
pub fn fifth(trace: &Trace, number: usize) -> Range<usize> {
    trace.windows() * number / FIFTHS..trace.windows() * (number + 1) / FIFTHS
}

/// Streams of models, each several times.
pub fn streams(models: &[&str], set: SeedSet, count: u64) -> Outcome<Vec<Labelled>> {
    let mut all = Vec::new();
    for name in models {
        let model = bundled(name)?;
        for index in 0..count {
            let generator = Generator::new(&model, Seed { set, index })?;
            let requests = generator.take(WINDOWS * WINDOW_REQUESTS).collect();
            all.push(Labelled { category: (*name).to_owned(), requests });
        }
    }
    Ok(all)
}

/// The traces of a directory that have at least one window, with their names.
pub fn real_traces(directory: &Path) -> Outcome<Vec<(String, Vec<Request>)>> {
    let mut paths: Vec<_> =
        std::fs::read_dir(directory)?.map(|entry| Ok(entry?.path())).collect::<Outcome<_>>()?;
    paths.sort();
    let mut traces = Vec::new();
    for path in paths {
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        if name.ends_with(".md") || name.contains(".tar") {
            continue;
        }
        let options =
            ReadOptions { lenient: true, devices: Devices::Merged, ..ReadOptions::default() };
        let requests = open(&path, &options)?.read_all()?;
        if requests.len() >= WINDOW_REQUESTS {
            let stem = name.split('.').next().unwrap_or_default().replace('_', "-");
            traces.push((stem, requests));
        }
    }
    traces.sort_by(|a, b| a.0.cmp(&b.0));
    Ok(traces)
}

/// The traces that are long enough for a category. In the order of their names, the first, third
/// and so on are those that choices were made on.
pub fn long_traces(all: &[(String, Vec<Request>)]) -> Vec<Trace> {
    let long = all.iter().filter(|one| one.1.len() >= REAL_WINDOWS_MIN * WINDOW_REQUESTS);
    let trace = |(place, (name, requests)): (usize, &(String, Vec<Request>))| {
        let side = if place % 2 == 0 { Side::Develop } else { Side::Verdict };
        Trace { name: name.clone(), side, requests: requests.clone() }
    };
    long.enumerate().map(trace).collect()
}
