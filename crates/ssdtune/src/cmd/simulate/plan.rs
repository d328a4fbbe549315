//! From the command line to the cells to run.

use super::Args;
use super::allocator::Keeper;
use crate::context::Context;
use crate::device::{self, Override};
use crate::keeper::note_other_drive;
use crate::models::load_model;
use crate::outcome::{Failure, Outcome};
use anyhow::anyhow;
use rayon::prelude::*;
use ssdtune_experiment::{
    AddressFit, Experiment, Flow, Origin, Preparation, RequestSource, Start, unsupported,
};
use ssdtune_model::source::Loaded;
use ssdtune_model::{CheckedConfig, DeviceConfig, catalogue};
use ssdtune_mqsim::pair;
use ssdtune_sim::{Places, Replay, Simulator, Tenant};
use ssdtune_trace::Devices;
use ssdtune_trace::workload::Seed;
use ssdtune_trace::{Format, ReadOptions, TenantId};
use std::path::Path;
use std::sync::Arc;

/// Requests of a workload model, unless said otherwise.
const MODEL_REQUESTS: u64 = 1_000_000;
/// Cells of one command.
const CELLS_MAX: usize = 100_000;
/// A trace that several cells replay is kept in memory up to this many requests (100 MB).
const KEPT_MAX: usize = 4 << 20;

/// `--replay`.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ReplayArg(pub(crate) Replay);

impl std::str::FromStr for ReplayArg {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let depth = |text: &str| text.parse().ok().filter(|depth| (1..=65_536).contains(depth));
        match (text, text.strip_prefix("closed:").and_then(depth)) {
            ("open", _) => Ok(Self(Replay::Open)),
            (_, Some(depth)) => Ok(Self(Replay::Closed(depth))),
            _ => Err("write open, or closed:N with N from 1 to 65536".to_owned()),
        }
    }
}

/// A list of numbers, as in `0-3,8`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Ids(pub(crate) Vec<u32>);

impl std::str::FromStr for Ids {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let wrong = || "write numbers and ranges, as in 0-3 or 0,2,5".to_owned();
        let mut ids = Vec::new();
        for part in text.split(',') {
            let (first, last) = part.split_once('-').unwrap_or((part, part));
            let number = |text: &str| text.trim().parse::<u32>().map_err(|_| wrong());
            let (first, last) = (number(first)?, number(last)?);
            // No drive has more channels.
            if first > last || last > 65_535 {
                return Err(wrong());
            }
            ids.extend(first..=last);
        }
        ids.sort_unstable();
        ids.dedup();
        Ok(Self(ids))
    }
}

/// A simulation of the command, and what distinguishes it from the others.
#[derive(Clone, Debug)]
pub(super) struct Cell {
    pub(super) experiment: Experiment,
    /// Who shares the channels out to the tenants while it runs.
    pub(super) allocator: Option<Arc<Keeper>>,
    /// What the sweep has set.
    pub(super) settings: Vec<(String, String)>,
}

/// Every cell of the command line.
pub(crate) fn cells(args: &Args, context: &Context) -> Outcome<Vec<Cell>> {
    let device = match (&args.device, args.mqsim.first()) {
        (Some(device), _) => device.clone(),
        (None, Some(ssd)) => ssd.display().to_string(),
        (None, None) => return Err(Failure::usage(anyhow!("no drive: say --device"))),
    };
    let loaded = device::load(&device, &args.overrides, context)?;
    for note in &loaded.notes {
        context.note(format_args!("{device}: {note}"));
    }
    let points = points(&loaded, &args.sweep)?;
    let mut groups = match args.mqsim.get(1) {
        Some(workload) => mqsim_groups(args, workload, &loaded.config, context)?,
        None => own_groups(args, &loaded.config, context)?,
    };
    if groups.len().saturating_mul(points.len()) > CELLS_MAX {
        return Err(Failure::usage(anyhow!("more than {CELLS_MAX} cells: sweep less")));
    }
    if points.len() > 1 {
        keep_in_memory(&mut groups)?;
    }
    let preparation = preparation(args, context)?;
    let allocator = args.allocator.keeper()?.map(Arc::new);
    if let (Some(keeper), Some((_, config))) = (&allocator, points.first()) {
        note_other_drive(&keeper.policy, config, context);
    }
    let mut cells = Vec::with_capacity(groups.len() * points.len());
    for group in &groups {
        for (settings, config) in &points {
            if let Some(reason) = unsupported(config, group.tenants.len()) {
                return Err(Failure::usage(anyhow!(reason)));
            }
            if args.slowdown && group.tenants.len() < 2 {
                return Err(Failure::usage(anyhow!(
                    "--slowdown compares tenants that share a drive: give several traces with --tenants"
                )));
            }
            let seeded = || Preparation { seed: config.run.seed, ..preparation.clone() };
            let experiment = Experiment {
                device: config.clone(),
                tenants: group.tenants_of(config),
                flows: group.flows.clone(),
                preparation: group.preparation.clone().unwrap_or_else(seeded),
                only: None,
                save: args.save.clone(),
            };
            let (allocator, settings) = (allocator.clone(), settings.clone());
            cells.push(Cell { experiment, allocator, settings });
        }
    }
    if args.save.is_some() && cells.len() > 1 {
        let count = cells.len();
        return Err(Failure::usage(anyhow!("--save keeps one drive, and there are {count} cells")));
    }
    Ok(cells)
}

/// What the flags say of the drive's past; the seed is each drive's own.
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

/// Flows that run together on one drive.
struct Group {
    /// Channels of each tenant; `None` is the whole drive.
    tenants: Vec<Option<Ids>>,
    /// Tenants as a scenario describes them.
    described: Option<Vec<Tenant>>,
    /// What a scenario says of the drive's past.
    preparation: Option<Preparation>,
    flows: Vec<Flow>,
}

impl Group {
    fn tenants_of(&self, config: &DeviceConfig) -> Vec<Tenant> {
        let tenant = |channels: &Option<Ids>| {
            let mut tenant = Tenant::sole(config);
            if let Some(channels) = channels {
                tenant.places = Places { channels: channels.0.clone(), ..tenant.places };
            }
            tenant
        };
        self.described.clone().unwrap_or_else(|| self.tenants.iter().map(tenant).collect())
    }
}

type Point = (Vec<(String, String)>, CheckedConfig);

/// The grid of a sweep, the first key varying slowest.
fn points(loaded: &Loaded, sweep: &[Override]) -> Outcome<Vec<Point>> {
    let mut grid = vec![Vec::new()];
    for axis in sweep {
        let values: Vec<&str> = axis.value.split(',').map(str::trim).collect();
        if grid.len().saturating_mul(values.len()) > CELLS_MAX {
            return Err(Failure::usage(anyhow!("--sweep: more than {CELLS_MAX} combinations")));
        }
        grid = (grid.iter())
            .flat_map(|point: &Vec<(String, String)>| {
                values.iter().map(|value| {
                    let mut point = point.clone();
                    point.push((axis.key.clone(), (*value).to_owned()));
                    point
                })
            })
            .collect();
    }
    grid.into_iter()
        .map(|settings| {
            let mut config = loaded.config.clone();
            for (key, value) in &settings {
                catalogue::set(&mut config, key, value).map_err(Failure::usage)?;
            }
            let checked = config.check().map_err(|faults| {
                let at: Vec<String> = settings.iter().map(|(k, v)| format!("{k}={v}")).collect();
                Failure::usage(
                    anyhow!("{faults}").context(format!("at the point {}", at.join(" "))),
                )
            })?;
            Ok((settings, checked))
        })
        .collect()
}

fn mqsim_groups(
    args: &Args,
    workload: &Path,
    config: &DeviceConfig,
    context: &Context,
) -> Outcome<Vec<Group>> {
    let read = pair::read_scenarios(workload, &config.geometry()).map_err(device::failure)?;
    for note in read.notes {
        context.note(format_args!("{}: {note}", workload.display()));
    }
    let checked = config.check().map_err(Failure::usage)?;
    let group = |scenario| {
        let experiment = pair::experiment(workload, scenario, &checked).map_err(Failure::input)?;
        // MQSim folds addresses, and so does the drive by itself.
        let fit = Some(args.fit_addresses.map_or(AddressFit::InDrive, Into::into));
        let flow = |flow: Flow| {
            let source = RequestSource { fit, ..tuned(flow.source, args) };
            Flow { source, ..flow }
        };
        Ok(Group {
            tenants: vec![None; experiment.tenants.len()],
            described: Some(experiment.tenants),
            preparation: Some(experiment.preparation),
            flows: experiment.flows.into_iter().map(flow).collect(),
        })
    };
    read.value.iter().map(group).collect()
}

fn own_groups(args: &Args, config: &DeviceConfig, context: &Context) -> Outcome<Vec<Group>> {
    if let Some(name) = &args.workload {
        return Ok(vec![model_group(args, name, context)?]);
    }
    if args.tenants && args.trace.len() > Simulator::STREAMS_MAX {
        let most = Simulator::STREAMS_MAX;
        return Err(Failure::usage(anyhow!("at most {most} traces share a drive")));
    }
    if !args.channels.is_empty() && args.channels.len() != args.trace.len() {
        return Err(Failure::usage(anyhow!(
            "--channels is given {} times for {} tenants: give it once for each, in their order",
            args.channels.len(),
            args.trace.len()
        )));
    }
    for ids in &args.channels {
        if let Some(id) = ids.0.iter().find(|&&id| id >= config.bus.channels) {
            let count = config.bus.channels;
            return Err(Failure::usage(anyhow!(
                "--channels {id}: the drive has {count} channels, numbered from 0"
            )));
        }
    }
    let format = args.format.as_deref().map(Format::parse).transpose().map_err(Failure::usage)?;
    let read = ReadOptions {
        format,
        lenient: args.lenient,
        devices: Devices::Merged,
        ..ReadOptions::default()
    };
    let flow = |(tenant, path): (usize, &std::path::PathBuf)| {
        let source = RequestSource::new(Origin::File(path.clone()), read.clone());
        let (source, replay) = (tuned(source, args), args.replay.0);
        Flow { source, replay, tenant: Some(tenant as u16) }
    };
    if args.tenants {
        let tenants = (0..args.trace.len()).map(|t| args.channels.get(t).cloned()).collect();
        let flows = args.trace.iter().enumerate().map(flow).collect();
        return Ok(vec![Group { tenants, described: None, preparation: None, flows }]);
    }
    let alone = |path| Group {
        tenants: vec![None],
        described: None,
        preparation: None,
        flows: vec![flow((0, path))],
    };
    Ok(args.trace.iter().map(alone).collect())
}

/// A source with the command line's cuts and changes.
fn tuned(source: RequestSource, args: &Args) -> RequestSource {
    let fit = args.fit_addresses.map(Into::into);
    RequestSource { time_scale: args.time_scale, limit: args.requests, fit, ..source }
}

fn model_group(args: &Args, name: &str, context: &Context) -> Outcome<Group> {
    let model = Arc::new(load_model(name)?);
    let index = context.seed().unwrap_or(0);
    let origin =
        Origin::Model { model: Arc::clone(&model), seed: Seed { index, ..Seed::default() } };
    let mut source = tuned(RequestSource::new(origin, ReadOptions::default()), args);
    source.limit = Some(args.requests.unwrap_or(MODEL_REQUESTS));
    let count = model.tenants.len();
    if count > 1 && source.fit == Some(AddressFit::Compact) {
        return Err(Failure::usage(anyhow!(
            "--fit-addresses compact works on traces; {name} has {count} tenants: use wrap"
        )));
    }
    let flows = match args.replay.0 {
        Replay::Open => vec![Flow { source, replay: Replay::Open, tenant: None }],
        closed if count == 1 => vec![Flow { source, replay: closed, tenant: Some(0) }],
        // A closed loop belongs to a tenant: each gets its own part of the stream.
        closed => (0..count as u16)
            .map(|tenant| Flow {
                source: RequestSource { only: Some(TenantId(tenant)), ..source.clone() },
                replay: closed,
                tenant: Some(tenant),
            })
            .collect(),
    };
    if flows.len() > Simulator::STREAMS_MAX {
        let most = Simulator::STREAMS_MAX;
        return Err(Failure::usage(anyhow!(
            "{name} has {count} tenants; {most} closed loops at most"
        )));
    }
    Ok(Group { tenants: vec![None; count], described: None, preparation: None, flows })
}

/// Traces that several cells replay are read once, if they are not too long.
fn keep_in_memory(groups: &mut [Group]) -> Outcome {
    let flows = groups.par_iter_mut().flat_map_iter(|group| group.flows.iter_mut());
    flows
        .map(|flow| {
            if let Some(kept) = flow.source.load(KEPT_MAX)? {
                flow.source = kept;
            }
            Ok(())
        })
        .collect::<Result<(), ssdtune_trace::TraceError>>()
        .map_err(Failure::input)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_of_numbers_and_replays_are_read() {
        let ids = |text: &str| text.parse::<Ids>().map(|ids| ids.0);
        assert_eq!(ids("0-3"), Ok(vec![0, 1, 2, 3]));
        assert_eq!(ids("5,0-1,1"), Ok(vec![0, 1, 5]));
        for wrong in ["", "3-1", "a", "1-", "0-99999999", "-1"] {
            assert!(ids(wrong).is_err(), "{wrong}");
        }
        let replay = |text: &str| text.parse::<ReplayArg>().map(|replay| replay.0);
        assert_eq!(replay("open"), Ok(Replay::Open));
        assert_eq!(replay("closed:16"), Ok(Replay::Closed(16)));
        for wrong in ["closed", "closed:0", "closed:x", "open:3", "closed:65537"] {
            assert!(replay(wrong).is_err(), "{wrong}");
        }
    }
}
