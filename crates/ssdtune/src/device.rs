//! The `DEVICE` argument, a preset or a file, and `--set`, which changes parameters of it.

use crate::context::Context;
use crate::outcome::{Failure, Outcome};
use ssdtune_experiment::outside_in_words;
use ssdtune_keeper::{Fitted, Policy, SimulationError};
use ssdtune_model::document::{self, Document};
pub(crate) use ssdtune_model::given::Override;
use ssdtune_model::source::{Format, LoadError, Loaded, read_text};
use ssdtune_model::{Calibrated, CheckedConfig, Constraints};
use std::path::Path;
use std::sync::atomic::AtomicBool;

/// Flags that change a drive.
#[derive(Clone, Debug, Default, clap::Args)]
pub(crate) struct Overrides {
    /// Change a parameter, as in `gc.threshold=0.1`, `cache.capacity_bytes=64MiB` or
    /// `CMT_Capacity=4MiB`. May be given more than once.
    #[arg(long, value_name = "KEY=VALUE")]
    pub(crate) set: Vec<Override>,
}

impl Overrides {
    /// The changes in their order, and the seed of the command line at the end.
    pub(crate) fn pairs(&self, context: &Context) -> Vec<(String, String)> {
        let seed = context.seed().map(|seed| ("run.seed".to_owned(), seed.to_string()));
        self.set_pairs().into_iter().chain(seed).collect()
    }

    /// The changes in their order, without the seed of the command line.
    pub(crate) fn set_pairs(&self) -> Vec<(String, String)> {
        self.set.iter().map(|set| (set.key.clone(), set.value.clone())).collect()
    }
}

/// Loads the drive. A faulty file is an input error; a wrong flag or name is a usage error.
pub(crate) fn load(name: &str, overrides: &Overrides, context: &Context) -> Outcome<Loaded> {
    ssdtune_mqsim::load(name, &overrides.pairs(context)).map_err(failure)
}

/// Loads the drive, and says on standard error what reading its file has left out or assumed.
pub(crate) fn load_noted(name: &str, overrides: &Overrides, context: &Context) -> Outcome<Loaded> {
    Ok(noted(name, load(name, overrides, context)?, context))
}

/// Loads the drive of a pair of MQSim's files, as MQSim would.
pub(crate) fn load_as_mqsim(
    name: &str,
    overrides: &Overrides,
    context: &Context,
) -> Outcome<Loaded> {
    let loaded = ssdtune_mqsim::load_as_mqsim(name, &overrides.pairs(context)).map_err(failure)?;
    Ok(noted(name, loaded, context))
}

/// Loads the drive as [`load_checked`] does, but with its own seed, and what its file says besides.
pub(crate) fn load_own_seed(
    name: &str,
    overrides: &Overrides,
    context: &Context,
) -> Outcome<(CheckedConfig, Loaded)> {
    let loaded = ssdtune_mqsim::load(name, &overrides.set_pairs()).map_err(failure)?;
    let loaded = noted(name, loaded, context);
    Ok((loaded.config.check().map_err(Failure::usage)?, loaded))
}

/// Says on standard error where a calibrated drive is used outside of its tested range.
pub(crate) fn note_outside(drive: &Calibrated, outside: &[String], context: &Context) {
    if let Some(words) = outside_in_words(drive, outside) {
        context.note(format_args!("note: {words}"));
    }
}

/// Says on standard error what reading the file of a drive has left out or assumed.
fn noted(name: &str, loaded: Loaded, context: &Context) -> Loaded {
    loaded.notes.iter().for_each(|note| context.note(format_args!("{name}: {note}")));
    loaded
}

/// Loads the drive as [`load_noted`] does, and checks it.
pub(crate) fn load_checked(
    name: &str,
    overrides: &Overrides,
    context: &Context,
) -> Outcome<CheckedConfig> {
    load_noted(name, overrides, context)?.config.check().map_err(Failure::input)
}

/// Reads a file of constraints.
pub(crate) fn read_constraints(path: &Path) -> Outcome<Constraints> {
    let text = read_text(path).map_err(failure)?;
    let name = path.display().to_string();
    Constraints::parse(&text).map_err(|faults| Failure::input(faults.in_file(&name)))
}

/// The failure, and so the exit code, of a drive that cannot be loaded.
pub fn failure(error: LoadError) -> Failure {
    match &error {
        LoadError::Unknown { .. } => Failure::usage(error),
        LoadError::Unreadable { .. } => Failure::input(error),
        // Faults in the value of a flag name no file.
        LoadError::Faulty(faults) => match faults.0.iter().all(|fault| fault.file.is_some()) {
            true => Failure::input(error),
            false => Failure::usage(error),
        },
    }
}

/// The drive as TOML: the text of its file with `edits` made in it. With `full`, or if its file is
/// no TOML, every key is written anew.
pub(crate) fn as_toml(loaded: &Loaded, full: bool, edits: &[(String, String)]) -> Outcome<String> {
    if full || loaded.format == Format::Foreign {
        let own = loaded.calibrated.as_ref().map(|own| format!("\n{}", own.provenance.to_toml()));
        return Ok(document::write(&loaded.config) + &own.unwrap_or_default());
    }
    let mut document = Document::parse(&loaded.text).map_err(Failure::input)?;
    for (key, value) in edits {
        document = document.with(key, value).map_err(Failure::usage)?;
    }
    Ok(document.text().to_owned())
}

/// The exit code of an error while mixes are measured.
pub(crate) fn simulation_failure(error: SimulationError) -> Failure {
    match error {
        SimulationError::Interrupted => Failure::Interrupted,
        SimulationError::Indivisible(error) => Failure::usage(error),
        other => Failure::Work(other.into()),
    }
}

/// Reads the network of an allocator for a drive; tells `to` if it was trained for another one, or
/// was put on this one.
pub(crate) fn network(path: &Path, on: &CheckedConfig, to: Option<&Context>) -> Outcome<Policy> {
    let policy = Policy::read(path).map_err(Failure::input)?;
    let fitted = policy.for_drive(on, &AtomicBool::new(false));
    let Fitted { policy, note } = fitted.map_err(simulation_failure)?;
    to.zip(note).into_iter().for_each(|(to, note)| to.note(format_args!("{note}")));
    Ok(policy)
}
