//! `ssdtune workload plot`: the windows in two dimensions (Fig. 2 of AutoBlox), as one SVG file.

use crate::autodb::DbArg;
use crate::context::Context;
use crate::global::whole;
use crate::outcome::Outcome;
use crate::outputs::{self, OutFile};
use ssdtune_tune::cluster::chart;

/// Arguments of `ssdtune workload plot`.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The file to write. Default: standard output.
    #[arg(short, long, value_name = "FILE")]
    output: Option<OutFile>,

    /// The two components to draw, counted from 1.
    #[arg(long, value_name = "X,Y", value_delimiter = ',', num_args = 2,
          default_values_t = [1, 2], value_parser = whole::<u8>(1..=5))]
    components: Vec<u8>,

    #[command(flatten)]
    db: DbArg,
}

/// Draws.
pub(crate) fn run(args: &Args, context: &Context) -> Outcome {
    let components = [0, 1].map(|i| args.components.get(i).map_or(i, |&n| usize::from(n) - 1));
    let svg = chart(&args.db.categories()?, components);
    match &args.output {
        None => context.raw(svg.as_str().as_bytes()),
        Some(path) => outputs::write(path, svg.as_str()),
    }
}
