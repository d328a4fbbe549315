//! `ssdtune db export`: records written as JSON lines, without loss.

use crate::autodb::{DbArg, failure};
use crate::context::Context;
use crate::outcome::{Failure, Outcome, chain};
use anyhow::Context as _;
use ssdtune_tune::memory::{DbError, RecordKind};
use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};

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
    output: Option<PathBuf>,

    #[command(flatten)]
    db: DbArg,
}

/// Writes the lines.
pub(crate) fn run(args: &Args, context: &Context) -> Outcome {
    let db = args.db.open_existing()?;
    let kinds = if args.kinds.is_empty() { RecordKind::ALL.to_vec() } else { args.kinds.clone() };
    let (count, damaged) = match &args.output {
        Some(path) => {
            let mut name = path.file_name().unwrap_or_default().to_os_string();
            name.push(".partial");
            let partial = path.with_file_name(name);
            let done = write_file(&partial, |out| db.export(&kinds, out).map_err(failure))?;
            std::fs::rename(&partial, path)
                .with_context(|| format!("cannot write {}", path.display()))?;
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

fn write_file<T>(path: &Path, write: impl FnOnce(&mut dyn Write) -> Outcome<T>) -> Outcome<T> {
    let cannot = || format!("cannot write {}", path.display());
    let mut out = BufWriter::new(File::create(path).with_context(cannot)?);
    let done = write(&mut out)?;
    let file =
        out.into_inner().map_err(std::io::IntoInnerError::into_error).with_context(cannot)?;
    file.sync_all().with_context(cannot)?;
    Ok(done)
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
