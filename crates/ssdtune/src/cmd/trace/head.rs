//! `ssdtune trace head`: the first requests of a trace, as they are understood.

use crate::context::Context;
use crate::global::whole;
use crate::outcome::{Failure, Outcome};
use crate::read_args::{ReadArgs, warn_of};
use ssdtune_report::Table;
use ssdtune_trace::hold;
use std::path::PathBuf;

/// Arguments of `ssdtune trace head`.
#[derive(clap::Args, Debug)]
pub(crate) struct Args {
    /// The trace.
    path: PathBuf,
    /// How many requests to print.
    #[arg(short = 'n', long, value_name = "N", default_value_t = 10)]
    #[arg(value_parser = whole::<usize>(..))]
    count: usize,
    #[command(flatten)]
    read: ReadArgs,
}

/// Prints the requests.
pub(super) fn run(args: &Args, context: &Context) -> Outcome {
    let mut source = args.read.open(&args.path, context)?.source;
    let requests = hold(&mut *source, args.count).map_err(Failure::input)?;
    warn_of(&source.read_stats(), context);
    let names = source.tenant_names();
    let mut table = Table::new(["time", "device", "op", "lba (sectors)", "size"]);
    requests.iter().for_each(|request| _ = table.add_row(request.words(&names)));
    context.show(&requests, table)
}
