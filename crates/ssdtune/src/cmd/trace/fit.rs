//! `ssdtune trace fit`: a workload model from a trace.

use crate::context::Context;
use crate::global::whole;
use crate::models::load_model;
use crate::outcome::{Failure, Outcome};
use crate::outputs::{self, OutFile};
use crate::read_args::{ReadArgs, warn_of};
use serde::Serialize;
use ssdtune_report::Text;
use ssdtune_trace::workload::{Distance, Model, distance_to, fit, name_of_trace};
use ssdtune_trace::{Request, hold_first};
use std::path::PathBuf;

/// Arguments of `ssdtune trace fit`.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// A trace, compressed or not.
    #[arg(value_name = "FILE")]
    file: PathBuf,

    #[command(flatten)]
    read: ReadArgs,

    /// Fit to the first N requests. They are held in memory, 24 bytes each, and as much again.
    #[arg(long, value_name = "N", default_value_t = 16_000_000, value_parser = whole::<usize>(1..))]
    requests: usize,

    /// The model file to write. Default: the model is printed.
    #[arg(short, long, value_name = "FILE.toml")]
    output: Option<OutFile>,

    /// Name of the model. Default: the name of the trace's file.
    #[arg(long)]
    name: Option<String>,

    /// Print how far the model's stream is from the trace, aspect by aspect.
    #[arg(long)]
    distance: bool,

    /// Fit nothing, and print how far this model is from the trace: a bundled model, one of its
    /// variants, or a TOML file.
    #[arg(long, value_name = "MODEL", conflicts_with_all = ["output", "name"])]
    against: Option<String>,
}

#[derive(Serialize)]
struct Report {
    requests: usize,
    distance: Distance,
    model: Model,
}

/// Fits and writes.
pub(crate) fn run(args: &Args, context: &Context) -> Outcome {
    let requests = read(args, context)?;
    if let Some(name) = &args.against {
        let model = load_model(name)?;
        let distance = distance_to(&model, &requests);
        let text = Text::from(distance.to_string());
        return context.show(&Report { requests: requests.len(), distance, model }, text);
    }
    let name = args.name.clone().unwrap_or_else(|| name_of_trace(&args.file));
    let (model, distance) = fit(&requests, &name).map_err(Failure::input)?;
    let comment = format!(
        "Fitted to {} requests of a trace; distance of its stream:\n{distance}",
        requests.len()
    );
    let text = model.to_toml(&comment);
    if let Some(path) = &args.output {
        outputs::write(path, &text)?;
    }
    if context.json() {
        return context.document(&Report { requests: requests.len(), distance, model });
    }
    match (&args.output, args.distance) {
        (_, true) => context.line(distance),
        (None, false) => context.raw(text.as_bytes()),
        (Some(_), false) => Ok(()),
    }
}

fn read(args: &Args, context: &Context) -> Outcome<Vec<Request>> {
    let mut source = args.read.open(&args.file, context)?.source;
    let (requests, is_cut) = hold_first(&mut *source, args.requests).map_err(Failure::input)?;
    if is_cut {
        context.warn(format!("fitting to the first {} requests only", args.requests));
    }
    warn_of(&source.read_stats(), context);
    Ok(requests)
}
