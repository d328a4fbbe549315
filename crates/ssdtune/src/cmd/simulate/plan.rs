//! From the command line to the cells to run.

use super::Args;
use crate::cell::{Cell, Lane, unsupported};
use crate::cmd::keeper::note_other_drive;
use crate::context::Context;
use crate::device::{self, Override};
use crate::feed::{Feed, Fit, Origin, load_model};
use crate::outcome::{Failure, Outcome};
use crate::pair;
use anyhow::anyhow;
use rayon::prelude::*;
use ssdtune_model::source::Loaded;
use ssdtune_model::{CheckedConfig, DeviceConfig, catalogue};
use ssdtune_sim::{InitialContent, Places, Replay, Simulator, Tenant};
use ssdtune_trace::reader::Devices;
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
        Some(workload) => mqsim_lanes(args, workload, &loaded.config, context)?,
        None => own_lanes(args, &loaded.config, context)?,
    };
    if groups.len().saturating_mul(points.len()) > CELLS_MAX {
        return Err(Failure::usage(anyhow!("more than {CELLS_MAX} cells: sweep less")));
    }
    if points.len() > 1 {
        keep_in_memory(&mut groups)?;
    }
    let past = args.past().map_err(Failure::usage)?;
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
            cells.push(Cell {
                device: config.clone(),
                tenants: group.tenants_of(config),
                lanes: group.lanes.clone(),
                past: group
                    .past
                    .clone()
                    .unwrap_or_else(|| InitialContent { seed: config.run.seed, ..past.clone() }),
                only: None,
                restore: args.restore.clone(),
                save: args.save.clone(),
                ageing: args.ageing(),
                allocator: allocator.clone(),
                settings: settings.clone(),
            });
        }
    }
    if args.save.is_some() && cells.len() > 1 {
        let count = cells.len();
        return Err(Failure::usage(anyhow!("--save keeps one drive, and there are {count} cells")));
    }
    Ok(cells)
}

/// Lanes that run together on one drive.
struct Group {
    /// Channels of each tenant; `None` is the whole drive.
    tenants: Vec<Option<Ids>>,
    /// Tenants as a scenario describes them.
    described: Option<Vec<Tenant>>,
    /// The past that a scenario asks for.
    past: Option<InitialContent>,
    lanes: Vec<Lane>,
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

fn mqsim_lanes(
    args: &Args,
    workload: &Path,
    config: &DeviceConfig,
    context: &Context,
) -> Outcome<Vec<Group>> {
    let (scenarios, notes) = pair::read_workload(workload, config).map_err(device::failure)?;
    for note in notes {
        context.note(format_args!("{}: {note}", workload.display()));
    }
    let checked = config.check().map_err(Failure::usage)?;
    let group = |scenario| {
        let cell = pair::cell(workload, scenario, &checked).map_err(Failure::input)?;
        let lanes =
            cell.lanes.into_iter().map(|lane| Lane { feed: tuned(lane.feed, args), ..lane });
        Ok(Group {
            tenants: vec![None; cell.tenants.len()],
            described: Some(cell.tenants),
            past: Some(cell.past),
            // MQSim folds addresses, and so does the drive by itself.
            lanes: lanes
                .map(|mut lane| {
                    lane.feed.fit = Some(args.fit_addresses.unwrap_or(Fit::AsMqsim));
                    lane
                })
                .collect(),
        })
    };
    scenarios.iter().map(group).collect()
}

fn own_lanes(args: &Args, config: &DeviceConfig, context: &Context) -> Outcome<Vec<Group>> {
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
    let lane = |(tenant, path): (usize, &std::path::PathBuf)| {
        let feed = tuned(Feed::plain(Origin::Trace(path.clone()), read.clone()), args);
        Lane { feed, replay: args.replay.0, tenant: Some(tenant as u16) }
    };
    if args.tenants {
        let tenants = (0..args.trace.len()).map(|t| args.channels.get(t).cloned()).collect();
        let lanes = args.trace.iter().enumerate().map(lane).collect();
        return Ok(vec![Group { tenants, described: None, past: None, lanes }]);
    }
    let alone = |path| Group {
        tenants: vec![None],
        described: None,
        past: None,
        lanes: vec![lane((0, path))],
    };
    Ok(args.trace.iter().map(alone).collect())
}

/// A feed with the command line's cuts and changes.
fn tuned(feed: Feed, args: &Args) -> Feed {
    Feed { time_scale: args.time_scale, limit: args.requests, fit: args.fit_addresses, ..feed }
}

fn model_group(args: &Args, name: &str, context: &Context) -> Outcome<Group> {
    let model = Arc::new(load_model(name)?);
    let index = context.seed().unwrap_or(0);
    let origin =
        Origin::Model { model: Arc::clone(&model), seed: Seed { index, ..Seed::default() } };
    let mut feed = tuned(Feed::plain(origin, ReadOptions::default()), args);
    feed.limit = Some(args.requests.unwrap_or(MODEL_REQUESTS));
    let count = model.tenants.len();
    if count > 1 && feed.fit == Some(Fit::Compact) {
        return Err(Failure::usage(anyhow!(
            "--fit-addresses compact works on traces; {name} has {count} tenants: use wrap"
        )));
    }
    let lanes = match args.replay.0 {
        Replay::Open => vec![Lane { feed, replay: Replay::Open, tenant: None }],
        closed if count == 1 => vec![Lane { feed, replay: closed, tenant: Some(0) }],
        // A closed loop belongs to a tenant: each gets its own part of the stream.
        closed => (0..count as u16)
            .map(|tenant| Lane {
                feed: Feed { only: Some(TenantId(tenant)), ..feed.clone() },
                replay: closed,
                tenant: Some(tenant),
            })
            .collect(),
    };
    if lanes.len() > Simulator::STREAMS_MAX {
        let most = Simulator::STREAMS_MAX;
        return Err(Failure::usage(anyhow!(
            "{name} has {count} tenants; {most} closed loops at most"
        )));
    }
    Ok(Group { tenants: vec![None; count], described: None, past: None, lanes })
}

/// Traces that several cells replay are read once, if they are not too long.
fn keep_in_memory(groups: &mut [Group]) -> Outcome {
    let lanes = groups.par_iter_mut().flat_map_iter(|group| group.lanes.iter_mut());
    lanes
        .map(|lane| {
            if let Some(kept) = lane.feed.load(KEPT_MAX)? {
                lane.feed = kept;
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
