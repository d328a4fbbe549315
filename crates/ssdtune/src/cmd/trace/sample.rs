//! `ssdtune trace sample`: windows from all over a trace, with what a drive needs to begin there.

use crate::context::{Context, Level};
use crate::outcome::{Failure, Outcome};
use crate::outputs::OutFile;
use crate::progress::Reading;
use crate::read_args::{ReadArgs, warn_of};
use anyhow::{Context as _, anyhow};
use ssdtune_experiment::livepoints::{SampleOptions, Sampler};
use ssdtune_model::Bytes;
use ssdtune_trace::{Conversion, Remap, Source as _, input_bytes, open_input};
use std::path::PathBuf;
use std::time::Instant;

/// Arguments of `ssdtune trace sample`.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// A trace, compressed or not. A directory stands for the per-CPU files of one blktrace, - for
    /// standard input.
    #[arg(value_name = "TRACE")]
    path: PathBuf,
    /// The file to write.
    #[arg(short, long, value_name = "FILE")]
    output: OutFile,
    /// Windows at most. Of a long trace at least half as many are kept.
    #[arg(long, value_name = "N", default_value_t = SampleOptions::default().windows)]
    windows: usize,
    /// Requests of a window that are measured.
    #[arg(long, value_name = "N", default_value_t = SampleOptions::default().measured)]
    measured: u32,
    /// Requests of a window that come before these, to warm the drive up.
    #[arg(long, value_name = "N", default_value_t = SampleOptions::default().warm_up)]
    warm_up: u32,
    /// Size of a flash page of the drives that the windows are for: 4, 8, 16 or 32 KiB.
    #[arg(long, value_name = "SIZE", default_value = "4KiB")]
    page_bytes: Bytes,
    /// Memory that the pages which the trace touches may take, 16 bytes each. The windows take some
    /// 200 KB each besides.
    #[arg(long, value_name = "SIZE", default_value = "8GiB")]
    memory: Bytes,
    /// Close the gaps between the pages that the trace touches, for drives that are smaller than
    /// its address space. The trace is read twice.
    #[arg(long)]
    compact: bool,
    #[command(flatten)]
    read: ReadArgs,
}

/// Samples, writes, and tells what was made.
pub(super) fn run(args: &Args, context: &Context) -> Outcome {
    let options = SampleOptions {
        windows: args.windows,
        warm_up: args.warm_up,
        measured: args.measured,
        page_bytes: args.page_bytes.0.try_into().unwrap_or(u32::MAX),
        seed: context.seed().unwrap_or(1),
        memory_bytes: args.memory.0,
    };
    let mut sampler = Sampler::new(options).map_err(Failure::usage)?;
    let (read, length) = (args.read.options(context)?, input_bytes(&args.path));
    if args.compact && length.is_none() {
        let path = args.path.display();
        return Err(Failure::usage(anyhow!("--compact reads {path} twice: write it to a file")));
    }
    let bytes = length.unwrap_or(0) * (1 + u64::from(args.compact));
    let mut reading = Reading::new(bytes, context.level() > Level::Quiet);
    let chunk = args.page_bytes.sectors_floor();
    let remap = args.compact.then_some(Remap::Dense { chunk, capacity: None });
    let began = Instant::now();
    let mut converted = Conversion { remap, ..Conversion::default() }
        .open(|| {
            reading.next_pass();
            Ok(Box::new(reading.watch(open_input(&args.path, &read)?.source)))
        })
        .map_err(Failure::input)?;
    let passed = sampler.push_all(&mut converted.source);
    reading.finish();
    passed.map_err(Failure::input)?;
    warn_of(&converted.source.read_stats(), context);
    let (records, seconds) = (sampler.memory_bytes(), began.elapsed().as_secs_f64());
    let points = sampler.named(args.path.display().to_string()).finish().map_err(Failure::input)?;
    let file = points.write(&args.output);
    let file = file.with_context(|| format!("cannot write {}", args.output.display()))?;
    let sampled = points.sampled(records, file, seconds);
    context.show(&sampled, sampled.text())
}
