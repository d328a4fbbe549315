//! `ssdtune db import`: reads and stores records that were exported.

use crate::autodb::{DbArg, failure};
use crate::context::Context;
use crate::outcome::{InFile, Outcome};
use clap::ValueEnum;
use ssdtune_tune::memory::OnConflict;
use std::fs::File;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};

/// Arguments of `ssdtune db import`.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Nothing is stored until every line is read and sound. In a new AutoDB the \
    records have the generations that they had; in another one they get new generations."
)]
pub(crate) struct Args {
    /// A file that `ssdtune db export` wrote; - for standard input.
    #[arg(value_name = "FILE")]
    file: PathBuf,

    /// What to do with a record that is already stored with another value.
    #[arg(long, value_enum, value_name = "WHAT", default_value_t = Conflict::Refuse)]
    on_conflict: Conflict,

    #[command(flatten)]
    db: DbArg,
}

/// What to do with a record that is already stored with another value.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Conflict {
    /// Stop, and store nothing.
    Refuse,
    /// Keep the stored one.
    Keep,
    /// Take the imported one.
    Replace,
}

/// Reads and stores.
pub(crate) fn run(args: &Args, context: &Context) -> Outcome {
    let on_conflict = match args.on_conflict {
        Conflict::Refuse => OnConflict::Refuse,
        Conflict::Keep => OnConflict::Keep,
        Conflict::Replace => OnConflict::Replace,
    };
    let mut input: Box<dyn BufRead> = if args.file == Path::new("-") {
        Box::new(BufReader::new(std::io::stdin()))
    } else {
        let file =
            File::open(&args.file).map_err(|error| InFile::failure(&args.file, None, error))?;
        Box::new(BufReader::new(file))
    };
    let db = args.db.open(context)?;
    let imported = db.import(&mut *input, on_conflict).map_err(|error| match error.line() {
        Some(line) => InFile::failure(&args.file, Some(line), error),
        None => failure(error),
    })?;
    let text = format!(
        "{} added, {} replaced, {} there already, {} kept as stored",
        imported.added, imported.replaced, imported.same, imported.kept
    );
    context.show(&imported, text)
}
