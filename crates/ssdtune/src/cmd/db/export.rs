//! `ssdtune db export`: records written as JSON lines, without loss.

use crate::autodb::{DbArg, failure};
use crate::context::Context;
use crate::outcome::{Failure, Outcome, chain};
use crate::outputs::OutFile;
use anyhow::Context as _;
use ssdtune_output::OutputFile;
use ssdtune_tune::memory::{DbError, RecordKind};
use std::io::Write;

/// Arguments of `ssdtune db export`.
#[derive(Debug, clap::Args)]
#[command(after_help = "The first line says what the file is; each other line is one record. \
    Damaged records are left out and named, and the exit code is then 1.")]
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
    let db = args.db.open_existing()?;
    let kinds = if args.kinds.is_empty() { RecordKind::ALL.to_vec() } else { args.kinds.clone() };
    let (count, damaged) = match &args.output {
        Some(path) => {
            let cannot = || format!("cannot write {}", path.display());
            let mut out = OutputFile::create(&**path).with_context(cannot)?;
            let done = db.export(&kinds, &mut out).map_err(failure)?;
            out.sync().and_then(|()| out.finish()).with_context(cannot)?;
            done
        }
        None => {
            let mut out = Lines(context);
            db.export(&kinds, &mut out).map_err(|error| match error {
                // Standard output fails in this way if its reader leaves, which is no error.
                DbError::Io { source, .. } => source.into(),
                other => failure(other),
            })?
        }
    };
    context.note(format_args!("{count} records"));
    if damaged.is_empty() {
        return Ok(());
    }
    for error in damaged {
        context.warn(chain(&error.into()));
    }
    Err(Failure::Reported(1))
}

/// Standard output, as the library writes to it.
struct Lines<'a>(&'a Context);

impl Write for Lines<'_> {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        let gone = || std::io::Error::from(std::io::ErrorKind::BrokenPipe);
        match self.0.raw(bytes) {
            Ok(()) => Ok(bytes.len()),
            Err(Failure::BrokenPipe) => Err(gone()),
            Err(_) => Err(std::io::Error::other("cannot write to standard output")),
        }
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}
