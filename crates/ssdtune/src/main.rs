//! The `ssdtune` command: reads the command line, runs one subcommand, maps its outcome to an exit code.
//!
//! The table of contents: [`cli`] is the command line, [`cmd`] has one file per subcommand, [`context`] is
//! what every subcommand is given (flags, output, interruption), [`outcome`] the exit codes.

mod autodb;
mod cli;
mod cmd;
mod context;
mod device;
mod firmware;
mod interrupt;
mod models;
mod outcome;
mod preparation;
mod progress;
mod read_args;
mod table;
mod tuning;
mod units;
mod workload_source;

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
