//! `predict-perf import`: what fio measured, as results.

use super::{read_text, results_failure};
use crate::context::Context;
use crate::outcome::{Failure, Outcome};
use ssdtune_learn::Version;
use ssdtune_predict::blackbox::fio;
use ssdtune_predict::blackbox::results::{Source, Store};
use std::path::PathBuf;

/// Arguments of `predict-perf import`.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Output of fio --output-format=json (or json+) of jobs made by `predict-perf fio-jobs`.
    #[arg(required = true, value_name = "JSON")]
    files: Vec<PathBuf>,

    /// What the device is called in reports.
    #[arg(long, value_name = "NAME")]
    device: String,

    /// File of JSON lines for the results; it must not exist.
    #[arg(long, value_name = "FILE")]
    out: PathBuf,
}

/// Reads all files, then writes.
pub(super) fn run(args: &Args, context: &Context) -> Outcome {
    let (mut versions, mut rows, mut files) = (Vec::new(), Vec::new(), Vec::new());
    for path in &args.files {
        let name = path.display().to_string();
        let (version, found) = fio::import(&name, &read_text(path)?).map_err(Failure::input)?;
        if let Some((point, _)) =
            found.iter().find(|(point, _)| rows.iter().any(|(known, _)| known == point))
        {
            return Err(Failure::input(anyhow::anyhow!(
                "{name}: {point} is in a file before it: import each point once"
            )));
        }
        if !versions.contains(&version) {
            versions.push(version);
        }
        rows.extend(found);
        files.push(name);
    }
    if args.out.exists() {
        let file = args.out.display();
        return Err(Failure::usage(anyhow::anyhow!("{file} exists: give another name to --out")));
    }
    let (device, fio) = (args.device.clone(), versions.join(", "));
    let source = Source::Fio { version: Version, device, fio, files };
    let mut store = Store::open(&args.out, source).map_err(results_failure)?;
    store.append(&rows).map_err(results_failure)?;
    context.line(format_args!("{} points of {} in {}", rows.len(), args.device, args.out.display()))
}
