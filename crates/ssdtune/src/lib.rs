//! The `ssdtune` command: it reads the command line, runs one subcommand and turns the outcome into
//! an exit code.
//!
//! `cmd` is the command line, with a file for each subcommand. `context` holds the flags and the
//! output that every subcommand is given, `outcome` the exit codes. The other modules are
//! shared by several commands: arguments that mean the same everywhere, progress bars, output
//! files. What commands compute is in the library crates.
//!
//! It is a library so that two programs are this command: `ssdtune` itself and `python -m ssdtune`.
//! Beside [`run`] it shows [`failure`], by which other front ends tell errors apart as the exit
//! codes do.
//!
//! ```
//! use ssdtune::Invocation;
//!
//! let words = ["ssdtune", "config", "show", "intel-750"].map(Into::into).to_vec();
//! assert_eq!(ssdtune::run(Invocation { words, child: Vec::new(), engines: None }), 0);
//! ```

/// The Rust of a page of the book runs as a test.
#[cfg(doctest)]
#[doc = include_str!("../../../docs/howto-own-parts.md")]
mod own_parts {}
mod autodb;
mod cmd;
mod context;
mod device;
pub mod failure;
mod failure_document;
mod global;
mod help;
mod interrupt;
mod memory;
mod models;
mod outcome;
mod outputs;
mod preparation;
mod program;
mod progress;
mod read_args;
mod tuning;
mod workload_source;

pub use cmd::command_line;
pub use program::{Engine, Engines, Invocation};

use clap::FromArgMatches as _;
use failure_document::FailureDocument;
use std::ffi::OsString;
use std::io::Write as _;

/// Runs the command and returns its exit code. A process is this command once: it takes the signals
/// that end a process, and the first command line stands in all results.
pub fn run(invocation: Invocation) -> u8 {
    let code = run_words(&program::begin(invocation).words);
    // Where the program is not Rust's, nobody else hands out what has no line end yet.
    let _ = std::io::stdout().flush();
    code
}

fn run_words(words: &[OsString]) -> u8 {
    let mut command = cmd::command_line();
    let matches = match command.try_get_matches_from_mut(words) {
        Ok(matches) => matches,
        Err(error) => return refuse(&error),
    };
    let cli = match cmd::Cli::from_arg_matches(&matches) {
        Ok(cli) => cli,
        Err(error) => return refuse(&error),
    };
    interrupt::install();
    memory::prepare(&command, &matches);
    let context = context::Context::new(&cli.global);
    let outcome = outputs::plan(&command, &matches, cli.global.force).and_then(|plan| {
        context.enter(plan);
        cli.command.run(&context).and_then(|()| context.no_report()).map(|()| context.say_written())
    });
    let told = outcome.as_ref().map_or_else(|failure| context.tell(failure), |()| Ok(()));
    let flushed = told.and(context.flush());
    outcome::report(outcome.and(flushed))
}

/// Prints what is wrong with the command line, or the help that it asks for.
fn refuse(error: &clap::Error) -> u8 {
    if error.use_stderr() && program::asks_for_json() {
        let document = FailureDocument::of_usage(error);
        // Whoever has gone does not read it.
        let _ = serde_json::to_writer_pretty(std::io::stdout(), &document);
    }
    match error.print() {
        Err(unprinted) if !error.use_stderr() => outcome::report(Err(unprinted.into())),
        _ => error.exit_code() as u8,
    }
}
