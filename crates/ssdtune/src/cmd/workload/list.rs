//! `ssdtune workload list`: the categories, and the workloads in them.

use crate::autodb::DbArg;
use crate::context::Context;
use crate::outcome::Outcome;
use ssdtune_tune::cluster::Overview;

/// Arguments of `ssdtune workload list`.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    #[command(flatten)]
    db: DbArg,
}

/// Lists them.
pub(crate) fn run(args: &Args, context: &Context) -> Outcome {
    let overview = Overview::of(&args.db.categories()?);
    context.show(&overview, overview.table())
}
