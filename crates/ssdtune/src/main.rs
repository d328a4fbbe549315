//! The `ssdtune` command: reads the command line, runs one subcommand, maps its outcome to an exit
//! code.
//!
//! The table of contents: [`cmd`] is the command line and has one file for each subcommand,
//! [`context`] is what every subcommand is given (flags and output), [`outcome`] the exit codes.
//! The other files are shared by several commands: arguments that mean the same everywhere, and
//! progress.

mod autodb;
mod cmd;
mod context;
mod device;
mod files;
mod firmware;
mod global;
mod interrupt;
mod keeper;
mod models;
mod outcome;
mod preparation;
mod program;
mod progress;
mod read_args;
mod table;
mod tuning;
mod workload_source;

use clap::Parser;
use std::process::ExitCode;

fn main() -> ExitCode {
    let cli = cmd::Cli::parse();
    interrupt::install();
    let context = context::Context::new(&cli.global);
    let outcome = cli.command.run(&context);
    let flushed = context.flush();
    outcome::report(outcome.and(flushed))
}
