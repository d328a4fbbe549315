//! `ssdtune config check`: what is wrong with a drive, and where its capacity and memory go.

use crate::context::Context;
use crate::device::{self, Overrides};
use crate::outcome::{Failure, Outcome};
use serde::Serialize;
use ssdtune_model::Advice;
use ssdtune_model::Constraints;
use ssdtune_model::DeviceConfig;
use ssdtune_model::Faults;
use ssdtune_model::ledger::{Ledger, Memory};
use ssdtune_model::source::{self, LoadError};
use ssdtune_mqsim::{is_xml, read_workload};
use std::path::{Path, PathBuf};

/// Arguments of `ssdtune config check`.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Drives: presets (intel-750), TOML files or MQSim XML files, told apart by their content;
    /// MQSim workload files too.
    #[arg(value_name = "DEVICE", required = true)]
    devices: Vec<String>,

    #[command(flatten)]
    overrides: Overrides,

    /// Also check against these constraints; a drive that breaks one is a failure.
    #[arg(long, value_name = "FILE")]
    constraints: Option<PathBuf>,
}

/// The verdict on one drive, as JSON has it.
#[derive(Serialize)]
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
    config: Option<DeviceConfig>,
}

/// Checks each drive; all are reported before the first fault decides the exit code.
pub(crate) fn run(args: &Args, context: &Context) -> Outcome {
    let constraints = args.constraints.as_deref().map(read_constraints).transpose()?;
    let mut reports = Vec::new();
    for name in &args.devices {
        reports.push(check(name, args, constraints.as_ref(), context)?);
    }
    if context.json() {
        context.document(&reports)?;
    } else {
        for report in &reports {
            print(report, context)?;
        }
    }
    if reports.iter().any(|report| !report.sound) {
        return Err(Failure::Reported(3));
    }
    match reports.iter().all(|report| report.violations.is_empty()) {
        true => Ok(()),
        false => Err(Failure::Reported(1)),
    }
}

fn read_constraints(path: &Path) -> Outcome<Constraints> {
    let text = source::read_text(path).map_err(device::failure)?;
    let name = path.display().to_string();
    Constraints::parse(&text).map_err(|faults| Failure::input(faults.in_file(&name)))
}

fn check(
    name: &str,
    args: &Args,
    constraints: Option<&Constraints>,
    context: &Context,
) -> Outcome<Report> {
    let mut report = Report {
        device: name.to_owned(),
        sound: true,
        faults: Faults::default(),
        violations: Vec::new(),
        advice: Vec::new(),
        notes: Vec::new(),
        ledger: None,
        memory: None,
        config: None,
    };
    if let Some(workload) = workload(name)? {
        match workload {
            Ok(notes) => report.notes = notes,
            Err(faults) => (report.sound, report.faults) = (false, faults.in_file(name)),
        }
        return Ok(report);
    }
    let loaded = match device::load(name, &args.overrides, context) {
        Ok(loaded) => loaded,
        Err(Failure::Input(error)) => {
            let faulty = error.downcast::<LoadError>().map_err(Failure::Input)?;
            let LoadError::Faulty(faults) = faulty else { return Err(Failure::input(faulty)) };
            (report.sound, report.faults) = (false, faults);
            return Ok(report);
        }
        Err(other) => return Err(other),
    };
    let config = loaded.config;
    report.advice = config.advice();
    report.advice.extend(config.inert(loaded.stated.iter().copied()));
    report.notes = loaded.notes;
    if let Some(limits) = constraints {
        report.violations = limits.violations(&config).iter().map(ToString::to_string).collect();
    }
    report.ledger = Some(Ledger::of(&config));
    report.memory = Some(Memory::of(&config));
    report.config = Some(config);
    Ok(report)
}

/// The verdict on an MQSim workload file; `None` if it is not one.
fn workload(name: &str) -> Outcome<Option<Result<Vec<String>, Faults>>> {
    let path = Path::new(name);
    if !path.is_file() {
        return Ok(None);
    }
    let text = source::read_text(path).map_err(device::failure);
    // What cannot be read is reported as a drive.
    let Ok(text) = text else { return Ok(None) };
    if !is_xml(&text) || !text.contains("<MQSim_IO_Scenarios") {
        return Ok(None);
    }
    Ok(Some(read_workload(&text).map(|read| {
        let flows: usize = read.value.iter().map(|scenario| scenario.flows.len()).sum();
        let mut notes =
            vec![format!("a workload; scenarios: {}, flows: {flows}", read.value.len())];
        notes.extend(read.notes);
        notes
    })))
}

fn print(report: &Report, context: &Context) -> Outcome {
    if !report.sound {
        let count = report.faults.0.len();
        let noun = if count == 1 { "fault" } else { "faults" };
        context.line(format_args!("{}: {count} {noun}", report.device))?;
        return context.line(&report.faults);
    }
    context.line(format_args!("{}: sound", report.device))?;
    if let (Some(config), Some(ledger), Some(memory)) =
        (&report.config, &report.ledger, &report.memory)
    {
        print_ledger(config, ledger, context)?;
        print_memory(memory, context)?;
    }
    for violation in &report.violations {
        context.line(format_args!("  breaks a constraint: {violation}"))?;
    }
    for advice in &report.advice {
        context.line(format_args!("  {}: {}", advice.key, advice.message))?;
    }
    for note in &report.notes {
        context.line(format_args!("  note: {note}"))?;
    }
    Ok(())
}

fn print_ledger(config: &DeviceConfig, ledger: &Ledger, context: &Context) -> Outcome {
    let at = config.geometry();
    let raw = ledger.raw_bytes;
    let line = |name: &str, bytes: ssdtune_model::Bytes, remark: String| {
        let share = 100.0 * bytes.0 as f64 / raw.0 as f64;
        context.line(format_args!("  {name:<22}{:>12} {share:>6.2} %  {remark}", bytes.to_string()))
    };
    let layout = format!(
        "{} channels x {} chips x {} dies x {} planes x {} blocks x {} pages x {}",
        at.channels,
        at.chips_per_channel,
        at.dies_per_chip,
        at.planes_per_die,
        at.blocks_per_plane,
        at.pages_per_block,
        ssdtune_model::Bytes(at.page_bytes.into()),
    );
    line("raw capacity", raw, layout)?;
    line("visible to the host", ledger.visible_bytes, String::new())?;
    let spare = format!("{:.1} blocks of each plane", ledger.spare_blocks_per_plane);
    line("over-provisioned", ledger.overprovisioned_bytes, spare)?;
    let reserve = format!("{} blocks of each plane", ledger.gc_reserve_blocks_per_plane);
    line("  collection reserve", ledger.gc_reserve_bytes, reserve)?;
    let frontiers = format!("{} open blocks of each plane", ledger.frontiers_per_plane);
    line("  write frontiers", ledger.frontier_bytes, frontiers)
}

fn print_memory(memory: &Memory, context: &Context) -> Outcome {
    for (name, bytes, remark) in [
        ("DRAM of the drive", memory.drive_dram_bytes, "data cache and mapping entries"),
        ("whole mapping table", memory.mapping_table_bytes, "8 bytes for each visible page"),
        ("to simulate, empty", memory.simulation_empty_bytes, "estimate"),
        ("to simulate, full", memory.simulation_full_bytes, "estimate, every visible page written"),
    ] {
        context.line(format_args!("  {name:<22}{:>12}           {remark}", bytes.to_string()))?;
    }
    Ok(())
}
