//! The `ssdtune` command: reads the command line, runs one subcommand, maps its outcome to an exit code.
//!
//! The table of contents: [`cli`] is the command line, [`cmd`] has one file per subcommand, [`context`] is
//! what every subcommand is given (flags, output, interruption), [`outcome`] the exit codes.

mod autodb;
mod cli;
mod cmd;
#[allow(dead_code, reason = "a vocabulary for every subcommand, not all of which exist yet")]
mod context;
mod device;
mod firmware;
#[allow(dead_code, reason = "a vocabulary for every subcommand, not all of which exist yet")]
mod interrupt;
#[allow(dead_code, reason = "a vocabulary for every subcommand, not all of which exist yet")]
mod models;
mod outcome;
mod preparation;
mod progress;
mod table;
mod tuning;

use clap::Parser;
use std::process::ExitCode;

fn main() -> ExitCode {
    let cli = cli::Cli::parse();
    interrupt::install();
    let context = context::Context::new(&cli.global);
    let outcome = cli.command.run(&context);
    let flushed = context.flush();
    outcome::report(outcome.and(flushed))
}
