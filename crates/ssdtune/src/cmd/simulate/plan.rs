//! From the command line to the simulations to run.

use super::Args;
use super::allocator::Keeper;
use crate::context::Context;
use crate::device;
use crate::models;
use crate::outcome::{Failure, Outcome};
use anyhow::anyhow;
use rayon::prelude::*;
use ssdtune_experiment::livepoints::LivePoints;
use ssdtune_experiment::{
    AddressFit, CELLS_MAX, Cell, Experiment, Flow, FlowSet, GridPoint, MODEL_REQUESTS, Origin,
    Preparation, RequestSource, Start, grid, is_pipe, unsupported,
};
use ssdtune_model::DeviceConfig;
use ssdtune_model::given::Override;
use ssdtune_mqsim::pair;
use ssdtune_sim::Replay;
use ssdtune_trace::{Devices, Format, ReadOptions, TraceError};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// One simulation of the command.
#[derive(Clone, Debug)]
pub(super) struct PlannedRun {
    pub(super) cell: Cell,
    /// What gives channels to the tenants while it runs.
    pub(super) allocator: Option<Arc<Keeper>>,
}

/// Every simulation of the command line: each set of flows on each drive of the sweep.
pub(super) fn runs(args: &Args, context: &Context) -> Outcome<Vec<PlannedRun>> {
    args.strict.needs(!args.trace.is_empty())?;
    if args.time_scale.is_some() && args.replay != Replay::Open {
        return Err(Failure::usage(anyhow!("--time-scale needs --replay open")));
    }
    let device = match (&args.device, args.mqsim.first()) {
        (Some(device), _) => device.clone(),
        (None, Some(ssd)) => ssd.display().to_string(),
        (None, None) => return Err(Failure::usage(anyhow!("no drive: say --device"))),
    };
    let loaded = match args.mqsim.first() {
        Some(_) => device::load_as_mqsim(&device, &args.overrides, context)?,
        None => device::load_noted(&device, &args.overrides, context)?,
    };
    let is_set = |axis: &&Override| args.overrides.set.iter().any(|set| set.key == axis.key);
    if let Some(both) = args.sweep.iter().find(is_set) {
        return Err(Failure::usage(anyhow!("{}: --set and --sweep both name it", both.key)));
    }
    let axes = args.sweep.iter().map(|axis| (axis.key.as_str(), axis.value.as_str()));
    let points = grid(&loaded.config, axes, CELLS_MAX).map_err(Failure::usage)?;
    let mut sets = match args.mqsim.get(1) {
        Some(workload) => mqsim_sets(args, workload, &loaded.config, context)?,
        None => own_sets(args, &loaded.config, context)?,
    };
    if sets.len().saturating_mul(points.len()) > CELLS_MAX {
        return Err(Failure::usage(anyhow!("more than {CELLS_MAX} cells: sweep less")));
    }
    if points.len() > 1 && !args.sample {
        let kept = sets.par_iter_mut().map(FlowSet::keep_short_traces);
        kept.collect::<Result<(), TraceError>>().map_err(Failure::input)?;
    }
    let preparation = preparation(args, context)?;
    for set in &mut sets {
        let once = |point: &GridPoint| set.experiment(&point.device, &preparation).reads_once();
        if args.slowdown || points.len() > 1 || !points.iter().all(once) {
            set.keep_pipes().map_err(Failure::input)?;
        }
    }
    let keeper = |point: &GridPoint, to| args.allocator.keeper(&point.device, to);
    let first = keeper(&points[0], Some(context))?;
    // A network for one drive is the same on all; another is put on each of them.
    let is_same = first.as_ref().is_none_or(|own| own.policy.drives == 1);
    let of = |point| if is_same { Ok(first.clone()) } else { keeper(point, None) };
    let keepers = points.par_iter().map(of).collect::<Outcome<Vec<_>>>()?;
    let calibrated = loaded.calibrated.map(Arc::new);
    let mut runs = Vec::with_capacity(sets.len() * points.len());
    for set in &sets {
        for (GridPoint { settings, device }, allocator) in points.iter().zip(&keepers) {
            check(args, set, device)?;
            let experiment = set.experiment(device, &preparation);
            let experiment =
                Experiment { save: args.save.as_deref().map(Path::to_path_buf), ..experiment };
            let (allocator, settings) = (allocator.clone(), settings.clone());
            let calibrated = calibrated.clone();
            let cell = Cell { experiment, calibrated, settings };
            runs.push(PlannedRun { cell, allocator });
        }
    }
    if args.save.is_some() && runs.len() > 1 {
        let count = runs.len();
        return Err(Failure::usage(anyhow!("--save keeps one drive, and there are {count} cells")));
    }
    Ok(runs)
}

fn check(args: &Args, set: &FlowSet, device: &DeviceConfig) -> Outcome {
    if let Some(reason) = unsupported(device, set.tenant_count()) {
        return Err(Failure::usage(anyhow!(reason)));
    }
    if args.slowdown && set.tenant_count() < 2 {
        return Err(Failure::usage(anyhow!(
            "--slowdown compares tenants that share a drive: give several traces with --tenants"
        )));
    }
    Ok(())
}

/// What a drive holds and has been through before the run. Each drive has its own seed.
fn preparation(args: &Args, context: &Context) -> Outcome<Preparation> {
    if let Some(path) = &args.restore {
        let kept = Preparation::of(Start::Restored(path.clone()), 0);
        let erases = args.preparation.erases.unwrap_or(0);
        let kept = Preparation { erases, ..kept };
        kept.check().map_err(Failure::usage)?;
        return Ok(kept);
    }
    let mut preparation = args.preparation.preparation(0)?;
    if let Some(instead) = args.former.apply(&mut preparation)? {
        context.note(format_args!("{instead}"));
    }
    Ok(preparation)
}

fn mqsim_sets(
    args: &Args,
    workload: &Path,
    config: &DeviceConfig,
    context: &Context,
) -> Outcome<Vec<FlowSet>> {
    let read = pair::read_scenarios(workload, &config.flash_geometry()).map_err(device::failure)?;
    for note in read.notes {
        context.note(format_args!("{}: {note}", workload.display()));
    }
    let checked = config.check().map_err(Failure::usage)?;
    // MQSim folds addresses that are beyond the end, and so does the drive by itself.
    let fit = Some(args.fit_addresses.unwrap_or(AddressFit::InDrive));
    let flow = |flow: Flow| {
        let source = RequestSource { fit, ..tuned(flow.source, args) };
        Flow { source, ..flow }
    };
    let set = |scenario| {
        let mut experiment =
            pair::experiment(workload, scenario, &checked).map_err(Failure::input)?;
        experiment.flows = experiment.flows.into_iter().map(flow).collect();
        Ok(FlowSet::of_experiment(experiment))
    };
    read.value.iter().map(set).collect()
}

fn own_sets(args: &Args, config: &DeviceConfig, context: &Context) -> Outcome<Vec<FlowSet>> {
    if let Some(name) = &args.workload {
        let mut source = models::source(name, MODEL_REQUESTS, context)?;
        source = RequestSource { limit: args.requests.or(source.limit), ..tuned(source, args) };
        return Ok(vec![FlowSet::of_model(source, args.replay).map_err(Failure::usage)?]);
    }
    let holds_windows = |path: &&PathBuf| !is_pipe(path) && LivePoints::is_file(path);
    if let Some(path) = args.trace.iter().find(holds_windows).filter(|_| !args.sample) {
        let path = path.display();
        return Err(Failure::usage(anyhow!(
            "{path} holds windows of `trace sample`: give --sample"
        )));
    }
    let format = args.format.as_deref().map(Format::parse).transpose().map_err(Failure::usage)?;
    let read = ReadOptions {
        format,
        lenient: args.lenient,
        devices: Devices::Merged,
        ..args.strict.options(context)
    };
    let source =
        |path: &PathBuf| tuned(RequestSource::new(Origin::File(path.clone()), read.clone()), args);
    let sources = args.trace.iter().map(source);
    if args.tenants {
        let set = FlowSet::shared(sources.collect(), args.replay, &args.channels, config);
        return Ok(vec![set.map_err(Failure::usage)?]);
    }
    Ok(sources.map(|source| FlowSet::single(source, args.replay)).collect())
}

/// A source with the cuts and changes that the command line asks for.
fn tuned(source: RequestSource, args: &Args) -> RequestSource {
    let fit = args.fit_addresses;
    RequestSource { time_scale: args.time_scale, limit: args.requests, fit, ..source }
}
