//! `ssdtune completions SHELL`: prints a completion script, made from the definition of the command
//! line.

use super::command_line;
use crate::context::Context;
use crate::outcome::Outcome;
use clap_complete::Shell;

/// Arguments of `ssdtune completions`.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The shell that the script is for.
    #[arg(value_enum)]
    shell: Shell,
}

/// Prints the script. In bash, `source <(ssdtune completions bash)` loads it.
pub(crate) fn run(args: &Args, context: &Context) -> Outcome {
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut command_line(), "ssdtune", &mut script);
    context.raw(&script)
}
