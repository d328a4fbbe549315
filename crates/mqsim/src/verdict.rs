//! What is wrong with the file of a drive or of an MQSim workload, and where a drive's capacity and
//! memory go.

use crate::{is_xml, load, read_workload};
use serde::Serialize;
use ssdtune_model::ledger::{Ledger, Memory};
use ssdtune_model::source::{LoadError, read_text};
use ssdtune_model::{Advice, Constraints, Faults, Geometry};
use ssdtune_report::Text;
use std::path::Path;

/// The verdict on a drive or a workload. Field names are part of the result document.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Verdict {
    /// The name that it was given by.
    pub device: String,
    /// Whether it has no fault.
    pub sound: bool,
    /// Its faults.
    pub faults: Faults,
    /// The constraints that it breaks.
    pub violations: Vec<String>,
    /// What is legal and probably not meant.
    pub advice: Vec<Advice>,
    /// What reading the file left out or assumed.
    pub notes: Vec<String>,
    /// Where the capacity goes; `None` unless it is a sound drive.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ledger: Option<Ledger>,
    /// Where the memory goes; `None` unless it is a sound drive.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub memory: Option<Memory>,
    #[serde(skip)]
    geometry: Option<Geometry>,
    /// Parameters that are stated and without effect. `advice` has the reasons.
    #[serde(skip)]
    inert: Vec<&'static str>,
}

impl Verdict {
    /// The verdict on what a user names: a drive, which is loaded with these changes ([`load`]) and
    /// held against constraints, or one of MQSim's workload files.
    ///
    /// # Errors
    /// The name stands for nothing, the file cannot be read, or a change is wrong. What is wrong in
    /// the file is the verdict.
    pub fn of(
        name: &str,
        changes: &[(String, String)],
        constraints: Option<&Constraints>,
    ) -> Result<Self, LoadError> {
        let faulty = |faults| Self { device: name.to_owned(), faults, ..Self::default() };
        let sound = || Self { device: name.to_owned(), sound: true, ..Self::default() };
        if let Some(workload) = workload(name) {
            return Ok(match workload {
                Ok(notes) => Self { notes, ..sound() },
                Err(faults) => faulty(faults.in_file(name)),
            });
        }
        let loaded = match load(name, changes) {
            Ok(loaded) => loaded,
            // Faults in a change name no file.
            Err(LoadError::Faulty(faults)) if faults.0.iter().all(|one| one.file.is_some()) => {
                return Ok(faulty(faults));
            }
            Err(other) => return Err(other),
        };
        let config = loaded.config;
        let mut advice = config.advice();
        let inert = config.inert(loaded.stated.iter().copied());
        let named = inert.iter().map(|one| one.key).collect();
        advice.extend(inert);
        let violations = constraints.map(|limits| limits.violations(&config)).unwrap_or_default();
        Ok(Self {
            violations: violations.iter().map(ToString::to_string).collect(),
            advice,
            notes: loaded.notes,
            ledger: Some(Ledger::of(&config)),
            memory: Some(Memory::of(&config)),
            geometry: Some(config.flash_geometry()),
            inert: named,
            ..sound()
        })
    }

    /// Adds the verdict to a text for terminals.
    pub fn add_to(&self, text: &mut Text) {
        let name = &self.device;
        if !self.sound {
            let count = self.faults.count();
            let noun = if count == 1 { "fault" } else { "faults" };
            text.line(format_args!("{name}: {count} {noun}")).line(&self.faults);
            return;
        }
        text.line(format_args!("{name}: sound"));
        let parts = (&self.geometry, &self.ledger, &self.memory);
        if let (Some(geometry), Some(ledger), Some(memory)) = parts {
            let lines = ledger.lines(geometry).into_iter().chain(memory.lines());
            lines.for_each(|line| _ = text.line(format_args!("  {line}")));
        }
        for violation in &self.violations {
            text.line(format_args!("  breaks a constraint: {violation}"));
        }
        let plain = |advice: &&Advice| !self.inert.contains(&advice.key);
        for advice in self.advice.iter().filter(plain) {
            text.line(format_args!("  {}: {}", advice.key, advice.message));
        }
        if !self.inert.is_empty() {
            let count = self.inert.len();
            let noun = if count == 1 { "parameter has" } else { "parameters have" };
            let names = self.inert.join(", ");
            text.line(format_args!("  {count} {noun} no effect (--json says why): {names}"));
        }
        for note in &self.notes {
            text.line(format_args!("  note: {note}"));
        }
    }
}

/// The verdict on an MQSim workload file; `None` if it is something else. A file that cannot be
/// read is reported as a drive.
fn workload(name: &str) -> Option<Result<Vec<String>, Faults>> {
    let path = Path::new(name);
    let text = path.is_file().then(|| read_text(path).ok()).flatten()?;
    if !is_xml(&text) || !text.contains("<MQSim_IO_Scenarios") {
        return None;
    }
    Some(read_workload(&text).map(|read| {
        let flows: usize = read.value.iter().map(|scenario| scenario.flows.len()).sum();
        let counts = format!("a workload; scenarios: {}, flows: {flows}", read.value.len());
        std::iter::once(counts).chain(read.notes).collect()
    }))
}
