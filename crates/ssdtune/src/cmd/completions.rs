//! `ssdtune completions SHELL`: the completion script, generated from the command line's
//! definition.

use super::Cli;
use crate::context::Context;
use crate::outcome::Outcome;
use clap::CommandFactory;
use clap_complete::Shell;

/// Arguments of `ssdtune completions`.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The shell.
    #[arg(value_enum)]
    shell: Shell,
}

/// Prints the script; for bash, say `source <(ssdtune completions bash)`.
pub(crate) fn run(args: &Args, context: &Context) -> Outcome {
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut Cli::command(), "ssdtune", &mut script);
    context.raw(&script)
}
