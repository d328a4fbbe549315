//! The bias of restored windows: what drives do with windows of traces that were restored, beside
//! what they do with the same windows inside full runs.
//!
//! `livepoints_bias TRACES DRIVES [REQUESTS [START]]`: names separated by commas, or `all`; the
//! first REQUESTS (100,000) of each trace; START is `footprint` or `steady`. A drive that is not in
//! the list is a preset; `NAME/die` has superblocks of a die. The real traces are looked for in
//! `$SSDTUNE_SHARED/traces`.
//!
//! It prints a table as docs/results/sampling.md has it. *As told*: with what closed loops owe that
//! wait for flash. Words behind a figure say why no interval is told of it.

#[path = "common/real_traces.rs"]
mod real_traces;

use real_traces::requests;
use ssdtune_experiment::livepoints::{LivePoints, SampleOptions, Sampler};
use ssdtune_experiment::sampled::{Comparison, WindowTask};
use ssdtune_experiment::{Preparation, Start};
use ssdtune_model::config::GcUnit;
use ssdtune_model::{Bytes, CheckedConfig, DeviceConfig, presets};
use ssdtune_sim::Replay;
use ssdtune_trace::Request;
use std::error::Error;

/// Real traces and models that `all` stands for.
const ALL: usize = 6;
/// Windows that are compared.
const WINDOWS: usize = 40;
/// Requests that are outstanding in closed replay.
const DEPTH: u32 = 16;

/// Drives: a name, the sizes of data cache and mapping cache in KiB, and whether dies have planes.
/// First the preset's 800 MiB and 256 MiB, which the search space surrounds; then caches that are
/// small beside the traces.
const DRIVES: [(&str, u64, u64, bool); 10] = [
    ("preset", 819_200, 262_144, false),
    ("data/4", 204_800, 262_144, false),
    ("data*4", 3_276_800, 262_144, false),
    ("maps/4", 819_200, 65_536, false),
    ("planes", 819_200, 1_048_576, true),
    ("small", 65_536, 512, false),
    ("small data/4", 16_384, 512, false),
    ("small data*4", 262_144, 512, false),
    ("small maps/4", 65_536, 128, false),
    ("small maps*4", 65_536, 2_048, false),
];

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let argument = |nth: usize| arguments.get(nth).map_or("all", String::as_str);
    let drives: Vec<&str> = match argument(1) {
        "all" => DRIVES.iter().map(|drive| drive.0).collect(),
        names => names.split(',').collect(),
    };
    let most = arguments.get(2).map_or(Ok(100_000), |text| text.parse())?;
    let start = match arguments.get(3).map(String::as_str) {
        Some("steady") => Start::steady(0.5),
        _ => Start::Footprint,
    };
    let preparation = Preparation::of(start, 1);
    println!("| trace | drive | open, % | closed:{DEPTH}, % | as told, % |\n|---|---|---|---|---|");
    let traces = if argument(0) == "all" { ALL } else { real_traces::FILES.len() };
    for trace in real_traces::asked(argument(0), traces) {
        let requests = requests(trace, most)?;
        for drive in &drives {
            let points = sample(&requests, device(drive, 0)?.geometry().page_bytes)?;
            let windows = chosen(&points);
            let of = |replay, depth| -> Result<Comparison, Box<dyn Error>> {
                let (points, device) = (&points, &device(drive, depth)?);
                let task = WindowTask { points, device, preparation: &preparation, replay };
                Ok(Comparison::of(task, &windows, &requests)?)
            };
            let (open, closed) = (of(Replay::Open, 0)?, of(Replay::Closed(DEPTH), DEPTH)?);
            let said =
                |(bias, error): (f64, f64)| format!("{:+.2} ± {:.2}", 100.0 * bias, 100.0 * error);
            let note =
                |own: &Comparison| own.no_interval.map_or(String::new(), |why| format!(" {why:?}"));
            println!(
                "| {trace} | {drive} | {}{} | {} | {}{} |",
                said(open.bias(|window| window.latency_ns / window.requests as f64)),
                note(&open),
                said(closed.bias(|window| window.span_ns)),
                said(closed.clone().paid().bias(|window| window.span_ns)),
                note(&closed),
            );
        }
    }
    Ok(())
}

fn sample(requests: &[Request], page_bytes: u32) -> Result<LivePoints, Box<dyn Error>> {
    let options = SampleOptions { windows: 2 * WINDOWS, page_bytes, ..SampleOptions::default() };
    let mut sampler = Sampler::new(options)?;
    requests.iter().try_for_each(|request| sampler.push(request))?;
    Ok(sampler.finish()?)
}

/// As many windows as are compared, from all over the trace.
fn chosen(points: &LivePoints) -> Vec<usize> {
    let all = points.windows.len();
    let step = (all as f64 / WINDOWS as f64).max(1.0);
    (0..WINDOWS.min(all)).map(|nth| (nth as f64 * step) as usize).collect()
}

/// A drive of the list, or a preset, whose queues hold `depth` requests at least.
fn device(name: &str, depth: u32) -> Result<CheckedConfig, String> {
    let own = DRIVES.iter().find(|drive| drive.0 == name);
    let (preset, unit) = name.split_once('/').unwrap_or((name, ""));
    let base = if own.is_some() { "intel-750" } else { preset };
    let mut config: DeviceConfig = presets::load(base).map_err(|error| error.to_string())?;
    match own {
        Some(&(_, data, mappings, planes)) => {
            config.cache.capacity = Bytes(data << 10);
            config.mapping.cmt_capacity = Bytes(mappings << 10);
            if planes {
                (config.bus.channels, config.bus.chips_per_channel) = (8, 4);
                (config.flash.dies_per_chip, config.flash.planes_per_die) = (2, 4);
            }
        }
        None if unit == "die" => config.gc.unit = GcUnit::Die,
        None if unit.is_empty() => {}
        None => return Err(format!("{name}: write NAME or NAME/die")),
    }
    config.host.queue_depth = config.host.queue_depth.max(depth);
    config.host.queue_fetch_size = config.host.queue_fetch_size.max(depth);
    config.check().map_err(|faults| faults.to_string())
}
