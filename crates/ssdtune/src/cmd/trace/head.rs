//! `ssdtune trace head`: the first requests of a trace, as they are understood.

use crate::context::Context;
use crate::outcome::{Failure, Outcome};
use crate::read_args::{ReadArgs, open_input, warn_of_skipped};
use crate::table;
use ssdtune_trace::Source;
use std::path::PathBuf;

/// Arguments of `trace head`.
#[derive(clap::Args, Debug)]
pub(crate) struct Args {
    /// The trace.
    path: PathBuf,
    /// How many requests.
    #[arg(short = 'n', long, value_name = "N", default_value_t = 10)]
    count: usize,
    #[command(flatten)]
    read: ReadArgs,
}

pub(super) fn run(args: &Args, context: &Context) -> Outcome {
    let mut source = open_input(&args.path, &args.read.options()?).map_err(Failure::input)?.source;
    let mut requests = Vec::new();
    while requests.len() < args.count && source.fill(&mut requests).map_err(Failure::input)? > 0 {}
    requests.truncate(args.count);
    warn_of_skipped(&source.read_stats(), context);
    if context.json() {
        return context.document(&requests);
    }
    let names = source.tenant_names();
    let mut table = table::new(&["time", "device", "op", "lba (sectors)", "size"]);
    for r in &requests {
        let name = names.get(usize::from(r.tenant.0)).cloned().unwrap_or_default();
        let size = ssdtune_model::Sectors(u64::from(r.sectors)).bytes();
        let cells =
            [r.at.to_string(), name, format!("{:?}", r.op), r.lba.0.to_string(), size.to_string()];
        table.add_row(cells);
    }
    context.line(table)
}
