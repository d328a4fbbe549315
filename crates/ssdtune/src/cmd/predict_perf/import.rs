//! `predict-perf import`: what fio measured, as results.

use super::args::read_text;
use crate::context::Context;
use crate::outcome::{Failure, Outcome};
use crate::outputs::{self, OutFile};
use ssdtune_predict::blackbox::{Results, fio};
use std::path::PathBuf;

/// Arguments of `predict-perf import`.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Output of fio --output-format=json (or json+) of jobs made by `predict-perf fio-jobs`.
    #[arg(required = true, value_name = "JSON")]
    files: Vec<PathBuf>,

    /// Name of the device in reports.
    #[arg(long, value_name = "NAME")]
    device: String,

    /// File of JSON lines for the results.
    #[arg(long, value_name = "FILE")]
    out: OutFile,
}

/// Reads all files, then writes.
pub(super) fn run(args: &Args, context: &Context) -> Outcome {
    let read = |path: &PathBuf| Ok((path.display().to_string(), read_text(path)?));
    let files: Vec<(String, String)> = args.files.iter().map(read).collect::<Outcome<_>>()?;
    let (source, points) = fio::import(args.device.clone(), &files).map_err(Failure::input)?;
    outputs::write(&args.out, Results::new(source, &points).to_lines())?;
    let file = args.out.display();
    context.line(format_args!("{} points of {} in {file}", points.len(), args.device))
}
