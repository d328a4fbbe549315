//! `ssdtune report`: documents as a page.

use crate::context::Context;
use crate::outcome::{Failure, InFile, Outcome};
use crate::outputs::OutFile;
use anyhow::anyhow;
use ssdtune_pages::{Shown, page_of};
use std::path::PathBuf;

/// Arguments of `ssdtune report`.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Documents, each as a command has printed it with --json.
    #[arg(value_name = "FILE.json", required = true)]
    files: Vec<PathBuf>,

    /// The page to write: one HTML file that refers to nothing outside.
    #[arg(short, long, value_name = "FILE.html")]
    output: OutFile,
}

/// Reads, and writes the page.
pub(crate) fn run(args: &Args, context: &Context) -> Outcome {
    let read = |path: &PathBuf| {
        let wrong = |error| InFile::failure(path, None, error);
        let text = std::fs::read_to_string(path).map_err(wrong)?;
        let shown = Shown::read(path.display().to_string(), &text);
        Ok(shown.map_err(|error| Failure::Input(anyhow!(error)))?.with_series())
    };
    let shown = args.files.iter().map(read).collect::<Outcome<Vec<Shown>>>()?;
    context.page(&args.output, page_of(&shown))
}
