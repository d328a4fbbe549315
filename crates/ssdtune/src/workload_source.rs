//! Workloads as the command line names them: trace files, or bundled models by name.

use crate::context::Context;
use crate::global::whole;
use crate::outcome::{Failure, Outcome};
use crate::read_args::{ReadArgs, warn_of};
use anyhow::anyhow;
use ssdtune_trace::workload::{Generator, Seed, SeedSet, bundled};
use ssdtune_trace::{Request, hold};
use ssdtune_tune::cluster::WINDOW_REQUESTS;
pub(crate) use ssdtune_tune::workload::SourceName;
use std::path::Path;

/// Windows that are generated of a model without --windows.
const MODEL_WINDOWS: usize = 40;
/// Most windows that are read of a trace without --windows.
const TRACE_WINDOWS_MAX: usize = 1_000;

/// How much of a workload to read, and how.
#[derive(Debug, clap::Args)]
pub(crate) struct SourceArgs {
    /// Windows of 3,000 requests to generate of a model (default 40), or most windows to read of a
    /// trace (default 1,000).
    #[arg(long, value_name = "N", value_parser = whole::<u32>(1..=100_000))]
    windows: Option<u32>,

    /// Which of the three disjoint sets of seeds models use: training, validation or held-out.
    #[arg(long, value_name = "SET", default_value = "training")]
    seed_set: SeedSet,

    #[command(flatten)]
    read: ReadArgs,
}

impl SourceArgs {
    /// Reads or generates the requests of a workload, whole windows of them.
    pub(crate) fn read(&self, name: &SourceName, context: &Context) -> Outcome<Vec<Request>> {
        let windows = self.windows.map(|windows| windows as usize);
        if name.is_file() {
            let mut source = self.read.open(Path::new(&name.source), context)?.source;
            let most = windows.unwrap_or(TRACE_WINDOWS_MAX);
            let requests = hold(&mut *source, most * WINDOW_REQUESTS).map_err(Failure::input)?;
            warn_of(&source.read_stats(), context);
            return Ok(requests);
        }
        let path_like = name.source.contains(['/', '\\', '.']);
        let model = bundled(&name.source).map_err(|error| {
            Failure::usage(match path_like {
                true => anyhow!("{}: no such file", name.source),
                false => anyhow!("{}: {error}", name.source),
            })
        })?;
        let seed = Seed { set: self.seed_set, index: context.seed().unwrap_or(0) };
        let generator = Generator::new(&model, seed).map_err(Failure::input)?;
        Ok(generator.take(windows.unwrap_or(MODEL_WINDOWS) * WINDOW_REQUESTS).collect())
    }
}
