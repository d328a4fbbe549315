//! `predict-perf import`: what was measured of a real drive, as results.

use crate::context::Context;
use crate::outcome::{Failure, Outcome};
use crate::outputs::{self, OutFile};
use ssdtune_calibrate::Expression;
use ssdtune_predict::blackbox::{ImportOptions, Imported, import};
use std::path::PathBuf;

/// Arguments of `predict-perf import`.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Files or folders of measured points: output of fio --output-format=json (or json+), of jobs
    /// made by `predict-perf fio-jobs` or any others, and all that `ssdtune calibrate` reads.
    #[arg(required = true, value_name = "POINTS")]
    files: Vec<PathBuf>,

    /// Name of the device in reports.
    #[arg(long, value_name = "NAME")]
    device: String,

    /// The drive, as the points name it; needed where they are of several.
    #[arg(long, value_name = "NAME")]
    drive: Option<String>,

    /// Take only the points for which this holds (a rule as for `calibrate --hold-out`), as in
    /// `source=*spdk*`.
    #[arg(long, value_name = "EXPR")]
    only: Option<Expression>,

    /// File of JSON lines for the results.
    #[arg(long, value_name = "FILE")]
    out: OutFile,
}

/// Reads all files, then writes.
pub(super) fn run(args: &Args, context: &Context) -> Outcome {
    let Args { device, drive, only, .. } = args;
    let options =
        ImportOptions { device: device.clone(), drive: drive.clone(), only: only.clone() };
    let Imported { results, notes } = import(&args.files, &options).map_err(Failure::input)?;
    notes.iter().for_each(|note| context.note(note));
    outputs::write(&args.out, results.to_lines())?;
    let (points, file) = (results.rows.len(), args.out.display());
    context.line(format_args!("{points} points of {device} in {file}"))
}
