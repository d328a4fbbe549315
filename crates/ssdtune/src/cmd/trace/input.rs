//! What the trace commands share: flags for reading, and finding a model by name or path.

use crate::context::Context;
use crate::outcome::{Failure, Outcome};
use ssdtune_trace::workload::{Model, ModelError, bundled, parse};
use ssdtune_trace::{Format, ReadOptions, TraceReader};
use std::path::{Path, PathBuf};

/// How to read a trace.
#[derive(Debug, clap::Args)]
pub(crate) struct ReadFlags {
    /// Format of the trace; without it, it is detected.
    #[arg(long, value_name = "NAME")]
    format: Option<String>,

    /// Skip and count what cannot be read instead of stopping.
    #[arg(long)]
    lenient: bool,
}

impl ReadFlags {
    /// Opens a trace.
    pub(crate) fn open(&self, path: &Path) -> Outcome<TraceReader> {
        let format =
            self.format.as_deref().map(Format::parse).transpose().map_err(Failure::usage)?;
        let options = ReadOptions { format, lenient: self.lenient, ..ReadOptions::default() };
        ssdtune_trace::open(path, &options).map_err(Failure::input)
    }
}

/// Says what a lenient reader left out.
pub(crate) fn warn_of_skipped(path: &Path, reader: &TraceReader, context: &Context) {
    let skipped = reader.stats().skipped;
    if skipped > 0 {
        context.warn(format!("{}: {skipped} lines or records skipped (--lenient)", path.display()));
    }
}

/// The model of a name (`tpcc`, `prxy_0@footprint-half`) or of a TOML file.
pub(crate) fn model(name: &str) -> Outcome<Model> {
    let path = PathBuf::from(name);
    let is_path = path.extension().is_some_and(|e| e == "toml") || name.contains('/');
    if !is_path {
        return bundled(name).map_err(Failure::usage);
    }
    let text = std::fs::read_to_string(&path)
        .map_err(|error| Failure::input(anyhow::anyhow!("{}: {error}", path.display())))?;
    parse(&text, name).map_err(|error: ModelError| Failure::input(error))
}
