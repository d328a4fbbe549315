//! `ssdtune trace info`: what traces are like in numbers.

use crate::context::{Context, Level};
use crate::outcome::{Failure, Outcome};
use crate::progress::Reading;
use crate::read_args::{ReadArgs, warn_of};
use serde::Serialize;
use ssdtune_trace::describe::{Describer, Description};
use ssdtune_trace::{Opened, Source, input_bytes};
use std::path::{Path, PathBuf};

/// Arguments of `ssdtune trace info`.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Traces, compressed or not. A directory stands for the per-CPU files of one blktrace, - for
    /// standard input.
    #[arg(value_name = "FILE", required = true)]
    files: Vec<PathBuf>,

    #[command(flatten)]
    read: ReadArgs,
}

/// One trace, as `--json` prints it.
#[derive(Serialize)]
struct Entry {
    file: String,
    format: String,
    skipped: u64,
    #[serde(flatten)]
    description: Description,
}

/// Describes each file.
pub(crate) fn run(args: &Args, context: &Context) -> Outcome {
    let mut entries = Vec::new();
    for path in &args.files {
        let entry = describe(path, &args.read, context)?;
        if !context.json() {
            context.line(format_args!("{:<22} {} ({})", "trace", entry.file, entry.format))?;
            context.line(&entry.description)?;
        }
        entries.push(entry);
    }
    context.show_page(&entries)?;
    if context.json() { context.document(&entries) } else { Ok(()) }
}

fn describe(path: &Path, read: &ReadArgs, context: &Context) -> Outcome<Entry> {
    let Opened { source, format } = read.open(path, context)?;
    let reading = Reading::new(input_bytes(path).unwrap_or(0), context.level() > Level::Quiet);
    let (mut source, mut describer) = (reading.watch(source), Describer::new());
    describer.push_all(&mut source).map_err(Failure::input)?;
    reading.finish();
    let stats = source.read_stats();
    warn_of(&stats, context);
    Ok(Entry {
        file: path.display().to_string(),
        format: format.name().to_owned(),
        skipped: stats.skipped,
        description: describer.finish(),
    })
}
