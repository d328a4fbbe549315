//! `ssdtune compare unit`: the time of the HAML unit beside that of a program (Fig. 9 and Table V
//! of HAML-SSD).

use crate::context::Context;
use crate::global::whole;
use crate::outcome::Outcome;
use serde::Serialize;
use ssdtune_placement::{UnitComparison, unit_text};

/// Arguments of `ssdtune compare unit`.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Numbers of clusters.
    #[arg(long, value_name = "K,K", value_delimiter = ',', default_values_t = [3, 4, 5, 6, 7, 8])]
    #[arg(value_parser = whole::<u32>(1..=16))]
    clusters: Vec<u32>,

    /// Numbers of points.
    #[arg(long, value_name = "N,N", value_delimiter = ',')]
    #[arg(default_values_t = [640, 1_280, 2_560, 6_400, 12_800, 25_600])]
    #[arg(value_parser = whole::<u32>(1..=1 << 20))]
    inputs: Vec<u32>,

    /// Iterations of the clustering.
    #[arg(long, value_name = "N", default_value_t = 10, value_parser = whole::<u32>(1..=1_000))]
    iterations: u32,
}

/// What `--json` prints.
#[derive(Serialize)]
struct Document {
    schema: u32,
    iterations: u32,
    rows: Vec<UnitComparison>,
}

/// Computes the unit's figures, measures software, and prints both.
pub(crate) fn run(args: &Args, context: &Context) -> Outcome {
    let sizes = args.clusters.iter().flat_map(|&k| args.inputs.iter().map(move |&n| (k, n)));
    let measure = |(k, n)| UnitComparison::measure(k, n, args.iterations);
    let rows: Vec<UnitComparison> = sizes.filter_map(measure).collect();
    let text = unit_text(&rows);
    context.show(&Document { schema: 1, iterations: args.iterations, rows }, text)
}
