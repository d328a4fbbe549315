//! `ssdtune trace generate`: a trace from a workload model.

use crate::context::Context;
use crate::global::whole;
use crate::models::load_model;
use crate::outcome::{Failure, Outcome};
use crate::outputs::OutFile;
use serde::Serialize;
use ssdtune_trace::workload::{Generator, Seed, SeedSet};
use ssdtune_trace::writer::{OutputFormat, TraceWriter};

/// Arguments of `ssdtune trace generate`.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// A bundled model (see `ssdtune trace models`), one of its variants (`prxy_0@footprint-half`),
    /// or a TOML file.
    #[arg(value_name = "MODEL")]
    model: String,

    /// How many requests to generate. Default: the model's own number.
    #[arg(short = 'n', long, value_name = "N", value_parser = whole::<u64>(1..))]
    requests: Option<u64>,

    /// Which of the three disjoint sets of seeds: training, validation or held-out. --seed chooses
    /// a stream of the set (default 0).
    #[arg(long, value_name = "SET", default_value = "training")]
    seed_set: SeedSet,

    /// The trace to write: .ssdt, .csv or .trace (MQSim). After the latter two .gz, .zst, .xz or
    /// .bz2 may follow.
    #[arg(short, long, value_name = "FILE")]
    output: OutFile,
}

#[derive(Serialize)]
struct Report {
    model: String,
    seed_set: SeedSet,
    seed: u64,
    file: String,
    requests: u64,
    dropped: u64,
    bytes: u64,
}

/// Generates and writes.
pub(crate) fn run(args: &Args, context: &Context) -> Outcome {
    let model = load_model(&args.model)?;
    let seed = Seed { set: args.seed_set, index: context.seed().unwrap_or(0) };
    let generator = Generator::new(&model, seed).map_err(Failure::input)?;
    let format = OutputFormat::of_name(&args.output).map_err(Failure::usage)?;
    let mut writer = TraceWriter::create(&*args.output, format).map_err(work)?;
    let requests = args.requests.unwrap_or(model.requests);
    writer
        .write_all(generator.take(usize::try_from(requests).unwrap_or(usize::MAX)))
        .map_err(work)?;
    let names: Vec<String> = model.tenants.iter().map(|tenant| tenant.name.clone()).collect();
    let summary = writer.finish(0, &names).map_err(work)?;
    if summary.dropped > 0 {
        context.warn(format!(
            "{} trims and flushes left out: MQSim's format has none",
            summary.dropped
        ));
    }
    let (file, requests, bytes) =
        (args.output.display().to_string(), summary.requests, summary.bytes);
    if !context.json() {
        context.note(format!("{file}: {requests} requests, {bytes} bytes"));
        return Ok(());
    }
    context.document(&Report {
        model: model.name,
        seed_set: seed.set,
        seed: seed.index,
        file,
        requests,
        dropped: summary.dropped,
        bytes,
    })
}

fn work(error: ssdtune_trace::TraceError) -> Failure {
    Failure::Work(error.into())
}
