//! Files that commands write: the flags that name them, and what is checked before any work.
//!
//! The type of an argument says what becomes of its file: an [`OutFile`], a [`GrowingFile`] and an
//! [`OutPlace`] are written, whatever else leads to a file is read. So an output that is an input
//! is found in every command alike.

use crate::outcome::{Failure, Outcome};
use anyhow::Context as _;
use clap::{Arg, ArgMatches, Command};
use ssdtune_output::{Conflict, OutputPlan};
use std::any::TypeId;
use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};

/// A path that is written. It derefs to the path.
macro_rules! output_path {
    ($(#[$doc:meta] $name:ident)*) => {$(
        #[$doc]
        #[derive(Clone, Debug)]
        pub(crate) struct $name(PathBuf);

        impl From<OsString> for $name {
            fn from(text: OsString) -> Self {
                Self(text.into())
            }
        }

        impl std::ops::Deref for $name {
            type Target = Path;

            fn deref(&self) -> &Path {
                &self.0
            }
        }
    )*};
}

output_path! {
    /// A file that a command writes as a whole.
    OutFile
    /// A file that a command begins or goes on with.
    GrowingFile
    /// A directory, or a name that is numbered. The command enters its files itself.
    OutPlace
}

/// What the arguments of the subcommand read and write.
pub(crate) fn plan(command: &Command, matches: &ArgMatches, force: bool) -> Outcome<OutputPlan> {
    let (mut command, mut matches) = (command, matches);
    while let Some((name, below)) = matches.subcommand() {
        matches = below;
        command = command.find_subcommand(name).unwrap_or(command);
    }
    let mut plan = if force { OutputPlan::replacing() } else { OutputPlan::new() };
    let each = |enter: &mut dyn FnMut(&Arg, &OsStr) -> Result<(), Conflict>| {
        let arguments = command.get_arguments().filter(|arg| arg.get_action().takes_values());
        for argument in arguments {
            let values = matches.try_get_raw(argument.get_id().as_str()).ok().flatten();
            for value in values.into_iter().flatten() {
                enter(argument, value).map_err(failure)?;
            }
        }
        Outcome::Ok(())
    };
    each(&mut |argument, value| enter_input(&mut plan, argument, value))?;
    plan.holds("standard output", Path::new("/dev/stdout")).map_err(failure)?;
    each(&mut |argument, value| match kind(argument) {
        Kind::File => plan.writes(&flag(argument), Path::new(value)),
        Kind::Growing => plan.continues(&flag(argument), Path::new(value)),
        Kind::Place | Kind::Path | Kind::Other => Ok(()),
    })?;
    Ok(plan)
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    File,
    Growing,
    Place,
    Path,
    Other,
}

fn kind(argument: &Arg) -> Kind {
    let own = argument.get_value_parser().type_id();
    let kinds = [
        (TypeId::of::<OutFile>(), Kind::File),
        (TypeId::of::<GrowingFile>(), Kind::Growing),
        (TypeId::of::<OutPlace>(), Kind::Place),
        (TypeId::of::<PathBuf>(), Kind::Path),
    ];
    kinds.into_iter().find(|(id, _)| own == *id).map_or(Kind::Other, |(_, kind)| kind)
}

/// Enters what an argument reads. Many name a file inside a longer word, as in `NAME=FILE+FILE`.
fn enter_input(plan: &mut OutputPlan, argument: &Arg, value: &OsStr) -> Result<(), Conflict> {
    let flag = flag(argument);
    match kind(argument) {
        Kind::Path => plan.reads_argument(&flag, Path::new(value)),
        Kind::Other => {
            let words =
                value.to_str().into_iter().flat_map(|text| text.split(['=', '+', ',', ':']));
            let files =
                words.map(Path::new).chain([Path::new(value)]).filter(|path| path.is_file());
            files.into_iter().try_for_each(|path| plan.reads(&flag, path))
        }
        Kind::File | Kind::Growing | Kind::Place => Ok(()),
    }
}

/// What messages call an argument.
fn flag(argument: &Arg) -> String {
    let names = argument.get_value_names().and_then(|names| names.first());
    argument.get_long().map_or_else(
        || names.map_or_else(|| argument.get_id().to_string(), ToString::to_string),
        |long| format!("--{long}"),
    )
}

/// The failure of an output that must not or cannot be written.
pub fn failure(conflict: Conflict) -> Failure {
    match conflict.is_of_the_system() {
        true => Failure::Work(conflict.into()),
        false => Failure::usage(conflict),
    }
}

/// Writes a file as a whole.
pub(crate) fn write(path: &Path, bytes: impl AsRef<[u8]>) -> Outcome {
    let done = ssdtune_output::write(path, bytes);
    Ok(done.with_context(|| format!("cannot write {}", path.display()))?)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Adds the arguments of a command, and of all below it, that name something to write.
    fn add_outputs(command: &Command, path: &str, outputs: &mut Vec<String>) {
        let is_output = |arg: &&Arg| !matches!(kind(arg), Kind::Path | Kind::Other);
        let is_own = |arg: &&Arg| path.is_empty() || !arg.is_global_set();
        let arguments = command.get_arguments().filter(is_output).filter(is_own);
        outputs.extend(arguments.map(|arg| format!("{path}{}", flag(arg))));
        for below in command.get_subcommands() {
            add_outputs(below, &format!("{path}{} ", below.get_name()), outputs);
        }
    }

    /// `tests/disks.rs` tries the rows of the table on full and on read-only disks.
    #[test]
    fn every_output_has_a_row_in_the_table_of_outputs() {
        let mut command = crate::cmd::command_line();
        command.build();
        let mut outputs = Vec::new();
        add_outputs(&command, "", &mut outputs);
        let table = include_str!("../../../tests/fixtures/outputs.txt").lines();
        let rows = table.filter(|line| !line.starts_with('#')).filter_map(|l| l.split_once('|'));
        let mut listed: Vec<&str> = rows.map(|(argument, _)| argument.trim()).collect();
        outputs.sort();
        listed.sort_unstable();
        assert_eq!(outputs, listed);
    }
}
