//! `ssdtune config check`: what is wrong with a drive, and where its capacity and memory go.

use crate::context::Context;
use crate::device::{self, Overrides};
use crate::outcome::{Failure, Outcome};
use serde::Serialize;
use ssdtune_model::ledger::{Ledger, Memory};
use ssdtune_model::source::{self, LoadError};
use ssdtune_model::{Advice, Constraints, Faults, Geometry};
use ssdtune_mqsim::{is_xml, read_workload};
use ssdtune_report::Text;
use std::path::{Path, PathBuf};

/// Arguments of `ssdtune config check`.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Drives: presets (intel-750), TOML files or MQSim XML files. MQSim workload files are checked
    /// too. What a file is, is found by its content.
    #[arg(value_name = "DEVICE", required = true)]
    devices: Vec<String>,

    #[command(flatten)]
    overrides: Overrides,

    /// Also check against these constraints. A drive that breaks one is a failure.
    #[arg(long, value_name = "FILE")]
    constraints: Option<PathBuf>,
}

/// The verdict on one drive or workload.
#[derive(Default, Serialize)]
struct Report {
    device: String,
    sound: bool,
    faults: Faults,
    violations: Vec<String>,
    advice: Vec<Advice>,
    notes: Vec<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    ledger: Option<Ledger>,
    #[serde(skip_serializing_if = "Option::is_none")]
    memory: Option<Memory>,
    #[serde(skip)]
    geometry: Option<Geometry>,
}

/// Checks each drive. All are reported before the first fault decides the exit code.
pub(crate) fn run(args: &Args, context: &Context) -> Outcome {
    let constraints = args.constraints.as_deref().map(device::read_constraints).transpose()?;
    let mut reports = Vec::new();
    let mut text = Text::new();
    for name in &args.devices {
        let report = check(name, args, constraints.as_ref(), context)?;
        add_lines(&report, &mut text);
        reports.push(report);
    }
    context.show(&reports, text)?;
    if reports.iter().any(|report| !report.sound) {
        return Err(Failure::Reported(3));
    }
    match reports.iter().all(|report| report.violations.is_empty()) {
        true => Ok(()),
        false => Err(Failure::Reported(1)),
    }
}

fn check(
    name: &str,
    args: &Args,
    constraints: Option<&Constraints>,
    context: &Context,
) -> Outcome<Report> {
    let device = name.to_owned();
    let faulty = |faults| Report { device: device.clone(), faults, ..Report::default() };
    let sound = || Report { device: device.clone(), sound: true, ..Report::default() };
    if let Some(workload) = workload(name) {
        return Ok(match workload {
            Ok(notes) => Report { notes, ..sound() },
            Err(faults) => faulty(faults.in_file(name)),
        });
    }
    let loaded = match device::load(name, &args.overrides, context) {
        Ok(loaded) => loaded,
        Err(Failure::Input(error)) => {
            return match error.downcast::<LoadError>().map_err(Failure::Input)? {
                LoadError::Faulty(faults) => Ok(faulty(faults)),
                other => Err(Failure::input(other)),
            };
        }
        Err(other) => return Err(other),
    };
    let config = loaded.config;
    let mut advice = config.advice();
    advice.extend(config.inert(loaded.stated.iter().copied()));
    let violations = constraints.map(|limits| limits.violations(&config)).unwrap_or_default();
    Ok(Report {
        violations: violations.iter().map(ToString::to_string).collect(),
        advice,
        notes: loaded.notes,
        ledger: Some(Ledger::of(&config)),
        memory: Some(Memory::of(&config)),
        geometry: Some(config.geometry()),
        ..sound()
    })
}

/// The verdict on an MQSim workload file; `None` if it is something else. A file that cannot be
/// read is reported as a drive.
fn workload(name: &str) -> Option<Result<Vec<String>, Faults>> {
    let path = Path::new(name);
    let text = path.is_file().then(|| source::read_text(path).ok()).flatten()?;
    if !is_xml(&text) || !text.contains("<MQSim_IO_Scenarios") {
        return None;
    }
    Some(read_workload(&text).map(|read| {
        let flows: usize = read.value.iter().map(|scenario| scenario.flows.len()).sum();
        let counts = format!("a workload; scenarios: {}, flows: {flows}", read.value.len());
        std::iter::once(counts).chain(read.notes).collect()
    }))
}

fn add_lines(report: &Report, text: &mut Text) {
    let name = &report.device;
    if !report.sound {
        let count = report.faults.count();
        let noun = if count == 1 { "fault" } else { "faults" };
        text.line(format_args!("{name}: {count} {noun}")).line(&report.faults);
        return;
    }
    text.line(format_args!("{name}: sound"));
    let mut indented = |line: std::fmt::Arguments<'_>| {
        text.line(format_args!("  {line}"));
    };
    if let (Some(at), Some(ledger), Some(memory)) =
        (&report.geometry, &report.ledger, &report.memory)
    {
        let lines = ledger.lines(at).into_iter().chain(memory.lines());
        lines.for_each(|line| indented(format_args!("{line}")));
    }
    for violation in &report.violations {
        indented(format_args!("breaks a constraint: {violation}"));
    }
    for advice in &report.advice {
        indented(format_args!("{}: {}", advice.key, advice.message));
    }
    for note in &report.notes {
        indented(format_args!("note: {note}"));
    }
}
