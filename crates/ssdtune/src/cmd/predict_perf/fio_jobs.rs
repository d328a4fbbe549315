//! `predict-perf fio-jobs`: job files for fio.

use super::args::GridArgs;
use crate::context::Context;
use crate::global::whole;
use crate::outcome::{Failure, Outcome};
use crate::outputs::{self, OutPlace};
use ssdtune_model::Bytes;
use ssdtune_predict::blackbox::fio::{JobOptions, jobs};

/// Arguments of `predict-perf fio-jobs`.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    #[command(flatten)]
    grid: GridArgs,

    /// File or device to measure. What it holds is destroyed.
    #[arg(long, value_name = "PATH")]
    filename: String,

    /// How much of the file or device to use.
    #[arg(long, value_name = "SIZE")]
    size: Bytes,

    /// Seconds in which each point is measured; the paper's were 60.
    #[arg(long, value_name = "SECONDS", default_value_t = 60, value_parser = whole::<u32>(1..))]
    seconds: u32,

    /// Seconds for which each point runs before it is measured.
    #[arg(long, value_name = "SECONDS", default_value_t = 5)]
    ramp: u32,

    /// fio's I/O engine.
    #[arg(long, value_name = "NAME", default_value = "libaio")]
    engine: String,

    /// Go through the page cache, for files on systems without direct I/O.
    #[arg(long)]
    buffered: bool,

    /// Requests of a point that fio can only replay from a log.
    #[arg(long, value_name = "N", default_value_t = 10_000, value_parser = whole::<u32>(1..))]
    log_requests: u32,

    /// Folder for the job file (points.fio) and the logs.
    #[arg(long, value_name = "DIR")]
    out: OutPlace,
}

/// Writes the job file and the logs.
pub(super) fn run(args: &Args, context: &Context) -> Outcome {
    let points = args.grid.points(context)?;
    let folder = std::path::absolute(args.out.join("logs"))?;
    let options = JobOptions {
        filename: args.filename.clone(),
        size: args.size,
        seconds: args.seconds,
        ramp_seconds: args.ramp,
        engine: args.engine.clone(),
        direct: !args.buffered,
        log_requests: args.log_requests as usize,
        log_folder: folder.display().to_string(),
        seed: context.seed().unwrap_or(0),
    };
    let made = jobs(&points, &options).map_err(Failure::usage)?;
    let file = args.out.join("points.fio");
    context.will_write_into("--out", &folder, made.logs.iter().map(|(name, _)| name))?;
    context.will_write_into("--out", &args.out, ["points.fio"])?;
    ssdtune_output::write_into(&folder, made.logs)?;
    outputs::write(&file, &made.text)?;
    let hours = points.len() as f64 * f64::from(args.seconds + args.ramp) / 3600.0;
    context.note(format_args!(
        "{} points, {hours:.1} hours; fio --output-format=json --output=results.json {}",
        points.len(),
        file.display()
    ));
    context.line(file.display())
}
