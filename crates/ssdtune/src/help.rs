//! What all helps have in common: headings of options (`headings.txt`), examples (`examples.txt`)
//! and the exit codes.

use crate::outcome::EXIT_CODES;
use clap::{Arg, Command};

const HEADINGS: &str = include_str!("../headings.txt");
const EXAMPLES: &str = include_str!("../examples.txt");

/// Completes the help of a command and of its subcommands, and lets a negative number be the value
/// of an option, so that the answer is what the option allows.
pub(crate) fn complete(command: Command, path: &str) -> Command {
    let own = command.get_after_help().map(ToString::to_string);
    let parts = [examples(path), own, Some(EXIT_CODES.to_owned())];
    let after = parts.into_iter().flatten().collect::<Vec<_>>().join("\n\n");
    let option = |arg: Arg| {
        if arg.is_positional() {
            return arg;
        }
        let heading = heading(&arg, path);
        let arg = arg.help_heading(heading);
        if arg.get_action().takes_values() { arg.allow_negative_numbers(true) } else { arg }
    };
    let command = command.after_help(after).mut_args(option);
    command.mut_subcommands(|below| {
        let path = format!("{path} {}", below.get_name());
        complete(below, path.trim_start())
    })
}

/// What an option of a command stands under. Words before a heading are those that its commands
/// begin with.
fn heading(arg: &Arg, path: &str) -> Option<&'static str> {
    let row = |line: &'static str| {
        let (heading, names) = line.split_once(": ")?;
        let (commands, heading) = heading.split_once(" > ").unwrap_or(("", heading));
        let is_named = names.split(' ').any(|name| arg.get_long() == Some(name));
        let is_here = || commands.split(", ").any(|words| path.starts_with(words));
        (is_named && is_here()).then_some(heading)
    };
    HEADINGS.lines().find_map(row)
}

/// The examples of a command, each with what it does above it.
fn examples(path: &str) -> Option<String> {
    let mut lines = EXAMPLES.lines().skip_while(|line| *line != path).skip(1);
    let own: Vec<String> = std::iter::from_fn(|| lines.next()?.strip_prefix("  "))
        .map(|line| match line.trim_start_matches("~ ").split_once("   # ") {
            Some((words, what)) => format!("  # {what}\n  {words}"),
            None => format!("  {}", line.trim_start_matches("~ ")),
        })
        .collect();
    (!own.is_empty()).then(|| format!("Examples:\n{}", own.join("\n")))
}
