//! `ssdtune db export`: records written as JSON lines, without loss, and from a damaged AutoDB what
//! is left of them.

use crate::autodb::{DbArg, failure};
use crate::context::Context;
use crate::outcome::{Failure, Outcome};
use crate::outputs::OutFile;
use anyhow::Context as _;
use ssdtune_output::OutputFile;
use ssdtune_report::in_full;
use ssdtune_tune::memory::{DbError, ExportSource, RecordKind};
use std::io::Write;

/// Arguments of `ssdtune db export`.
#[derive(Debug, clap::Args)]
#[command(after_help = "The first line says what the file is; each other line is one record. \
    Of a damaged AutoDB, what can be read is written, what is missing is said, and the exit code \
    is 3.")]
pub(crate) struct Args {
    /// Only records of these kinds.
    #[arg(long, value_name = "KINDS", value_delimiter = ',')]
    kinds: Vec<RecordKind>,

    /// The file to write. Default: standard output.
    #[arg(short, long, value_name = "FILE")]
    output: Option<OutFile>,

    #[command(flatten)]
    db: DbArg,
}

/// Writes the lines.
pub(crate) fn run(args: &Args, context: &Context) -> Outcome {
    let source = ExportSource::open(args.db.path()).map_err(failure)?;
    let kinds = if args.kinds.is_empty() { RecordKind::ALL.to_vec() } else { args.kinds.clone() };
    let done = match &args.output {
        Some(path) => {
            let cannot = || format!("cannot write {}", path.display());
            let mut out = OutputFile::create(&**path).with_context(cannot)?;
            let done = source.export(&kinds, &mut out).map_err(failure)?;
            out.sync().and_then(|()| out.finish()).with_context(cannot)?;
            done
        }
        None => {
            let mut out = Lines(context);
            source.export(&kinds, &mut out).map_err(|error| match error {
                // Standard output fails in this way if its reader leaves, which is no error.
                DbError::Io { source, .. } => source.into(),
                other => failure(other),
            })?
        }
    };
    context.note(format_args!("{} records", done.records));
    if done.damaged.is_empty() && done.lost.is_none() {
        return Ok(());
    }
    let damaged = done.damaged.iter().map(|error| in_full(error));
    damaged.chain(done.lost).for_each(|text| context.warn(text));
    Err(Failure::Reported(3))
}

/// Standard output, as the library writes to it.
struct Lines<'a>(&'a Context);

impl Write for Lines<'_> {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        let gone = || std::io::Error::from(std::io::ErrorKind::BrokenPipe);
        match self.0.raw(bytes) {
            Ok(()) => Ok(bytes.len()),
            Err(Failure::BrokenPipe) => Err(gone()),
            Err(failure) => Err(std::io::Error::other(failure.message())),
        }
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}
