//! The `ssdtune` command: it reads the command line, runs one subcommand and turns the outcome into
//! an exit code.
//!
//! [`cmd`] is the command line, with a file for each subcommand. [`context`] holds the flags and
//! the output that every subcommand is given, [`outcome`] the exit codes. The other modules are
//! shared by several commands: arguments that mean the same everywhere, progress bars, output
//! files. What commands compute is in the library crates.

mod autodb;
mod cmd;
mod context;
mod device;
mod files;
mod global;
mod interrupt;
mod keeper;
mod models;
mod outcome;
mod preparation;
mod program;
mod progress;
mod read_args;
mod tuning;
mod workload_source;

use clap::FromArgMatches as _;
use std::process::ExitCode;

fn main() -> ExitCode {
    let matches = cmd::command_line().get_matches();
    let cli = cmd::Cli::from_arg_matches(&matches).unwrap_or_else(|error| error.exit());
    interrupt::install();
    let context = context::Context::new(&cli.global);
    let outcome = cli.command.run(&context);
    let flushed = context.flush();
    outcome::report(outcome.and(flushed))
}
