//! The command line as data, of which Python makes a function for each subcommand.

use crate::failure::failed;
use clap::{Arg, ArgAction, Command};
use pyo3::prelude::*;
use serde::Serialize;

/// A command.
#[derive(Serialize)]
struct Described {
    name: String,
    about: String,
    arguments: Vec<Argument>,
    commands: Vec<Described>,
}

/// An argument that takes effect in Python too.
#[derive(Serialize)]
struct Argument {
    /// The name in Rust, by which it is known where it has no flag.
    name: String,
    /// As `--requests`; `None`: it is known by its place.
    flag: Option<String>,
    kind: Kind,
    /// What stands for the value in help texts.
    value: String,
    help: String,
    required: bool,
    /// The values that there are, if the parser knows all.
    values: Vec<String>,
    default: Vec<String>,
}

/// How an argument takes its values.
#[derive(Serialize)]
#[serde(rename_all = "kebab-case")]
enum Kind {
    /// There are none: it is given or not.
    Switch,
    /// One.
    One,
    /// One or none.
    Optional,
    /// It is given again for each further one.
    Repeated,
    /// Several, one after the other.
    Several,
    /// Several in one word, with commas.
    Commas,
}

/// All commands with their arguments, as JSON.
#[pyfunction]
pub(crate) fn command_line() -> PyResult<String> {
    let mut command = ssdtune::command_line().disable_help_subcommand(true);
    command.build();
    serde_json::to_string(&described(&command)).map_err(failed)
}

fn described(command: &Command) -> Described {
    let about = command.get_long_about().or(command.get_about());
    let commands = command.get_subcommands().filter(|below| !below.is_hide_set());
    Described {
        name: command.get_name().to_owned(),
        about: about.map(ToString::to_string).unwrap_or_default(),
        arguments: command
            .get_arguments()
            .filter(|arg| !arg.is_hide_set())
            .filter_map(argument)
            .collect(),
        commands: commands.map(described).collect(),
    }
}

fn argument(arg: &Arg) -> Option<Argument> {
    let values = arg.get_num_args().unwrap_or_default();
    let kind = match arg.get_action() {
        ArgAction::SetTrue | ArgAction::SetFalse => Kind::Switch,
        ArgAction::Set | ArgAction::Append if arg.get_value_delimiter().is_some() => Kind::Commas,
        ArgAction::Set | ArgAction::Append if values.max_values() > 1 => Kind::Several,
        ArgAction::Append => Kind::Repeated,
        ArgAction::Set if values.min_values() == 0 => Kind::Optional,
        ArgAction::Set => Kind::One,
        // Help and version, and how much is said.
        _ => return None,
    };
    let help = arg.get_long_help().or(arg.get_help());
    let names: Vec<&str> =
        arg.get_value_names().unwrap_or_default().iter().map(|name| name.as_str()).collect();
    let defaults = arg.get_default_values().iter();
    Some(Argument {
        name: arg.get_id().to_string(),
        flag: arg.get_long().map(|long| format!("--{long}")),
        kind,
        value: names.join(" "),
        help: help.map(ToString::to_string).unwrap_or_default(),
        required: arg.is_required_set(),
        values: arg.get_possible_values().iter().map(|value| value.get_name().to_owned()).collect(),
        default: defaults.map(|value| value.to_string_lossy().into_owned()).collect(),
    })
}
