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
mod failure_document;
mod global;
mod interrupt;
mod keeper;
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

use clap::FromArgMatches as _;
use failure_document::FailureDocument;
use std::process::ExitCode;

fn main() -> ExitCode {
    let mut command = cmd::command_line();
    let matches = match command.try_get_matches_from_mut(std::env::args_os()) {
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
        cli.command.run(&context)
    });
    let told = outcome.as_ref().map_or_else(|failure| context.tell(failure), |()| Ok(()));
    let flushed = told.and(context.flush());
    outcome::report(outcome.and(flushed))
}

/// Prints what is wrong with the command line, or the help that it asks for.
fn refuse(error: &clap::Error) -> ExitCode {
    if error.use_stderr() && std::env::args_os().any(|word| word == "--json") {
        let document = FailureDocument::of_usage(error);
        // Whoever has gone does not read it.
        let _ = serde_json::to_writer_pretty(std::io::stdout(), &document);
    }
    match error.print() {
        Err(unprinted) if !error.use_stderr() => outcome::report(Err(unprinted.into())),
        _ => ExitCode::from(error.exit_code() as u8),
    }
}
