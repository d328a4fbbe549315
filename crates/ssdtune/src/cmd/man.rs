//! `ssdtune man DIR`: writes manual pages, made from the definition of the command line.

use super::command_line;
use crate::context::Context;
use crate::outcome::Outcome;
use crate::outputs::OutPlace;

/// Arguments of `ssdtune man`.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The directory. It is made if it does not exist.
    #[arg(value_name = "DIR")]
    directory: OutPlace,
}

/// Writes `ssdtune.1`, `ssdtune-config.1` and a page for each other subcommand.
pub(crate) fn run(args: &Args, context: &Context) -> Outcome {
    let mut command = command_line().disable_help_subcommand(true);
    command.build();
    let mut pages = Vec::new();
    add_pages(command, &mut pages)?;
    context.will_write_into("DIR", &args.directory, pages.iter().map(|(name, _)| name))?;
    Ok(ssdtune_output::write_into(&args.directory, pages)?)
}

/// Adds the pages of a command and of all below it, each a name and its text.
fn add_pages(command: clap::Command, pages: &mut Vec<(String, Vec<u8>)>) -> Outcome {
    for below in command.get_subcommands().filter(|below| !below.is_hide_set()) {
        add_pages(below.clone(), pages)?;
    }
    let page = clap_mangen::Man::new(command);
    let mut text = Vec::new();
    page.render(&mut text)?;
    pages.push((page.get_filename(), text));
    Ok(())
}
