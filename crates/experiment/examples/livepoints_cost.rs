//! What live-points cost: the pass over a trace, the bytes of a window in a file, restoring one.
//!
//! `livepoints_cost TRACES [REQUESTS]`: names separated by commas, or `all`; the first REQUESTS
//! (1,000,000) of each trace, which are in memory before anything is measured. The real traces are
//! looked for in `$SSDTUNE_SHARED/traces`. Times are CPU times of the thread, so that other work on
//! the machine counts little; the pass is the median of five. It prints a table.

#[path = "common/real_traces.rs"]
mod real_traces;

use cpu_time::ThreadTime;
use real_traces::requests;
use ssdtune_experiment::livepoints::{Clock, LivePoints, Restorer, SampleOptions, Sampler, Window};
use ssdtune_experiment::{Preparation, Start};
use ssdtune_model::{Bytes, CheckedConfig, presets};
use ssdtune_sim::Observe;
use ssdtune_trace::Request;
use std::error::Error;

/// Windows that are restored on each drive.
const WINDOWS: usize = 40;

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let asked = arguments.first().map_or("all", String::as_str);
    let most = arguments.get(1).map_or(Ok(1_000_000), |text| text.parse())?;
    println!(
        "| trace | requests | pages each | making them, ns | pass, ns | M/s | windows | \
         KB in file | KB in memory | restore, ms: preset | planes | small | steady |\n\
         |---|---|---|---|---|---|---|---|---|---|---|---|---|"
    );
    for trace in real_traces::asked(asked, 6) {
        let began = ThreadTime::now();
        let requests = requests(trace, most)?;
        let made = nanoseconds(began, requests.len());
        let mut passes = Vec::new();
        let mut points = None;
        for _ in 0..5 {
            drop(points.take());
            let began = ThreadTime::now();
            let mut sampler = Sampler::new(SampleOptions::default())?;
            requests.chunks(4_096).try_for_each(|batch| sampler.push_batch(batch))?;
            points = Some(sampler.finish()?);
            passes.push(nanoseconds(began, requests.len()));
        }
        passes.sort_by(f64::total_cmp);
        let Some(points) = points else { continue };
        let mut bytes = Vec::new();
        points.write_to(&mut bytes)?;
        let windows = points.windows.len();
        let each = |bytes: u64| bytes as f64 / windows as f64 / 1e3;
        let pages: u64 = requests.iter().map(pages).sum();
        print!(
            "| {trace} | {} | {:.1} | {made:.0} | {:.0} | {:.2} | {windows} | {:.0} | {:.0} |",
            requests.len(),
            pages as f64 / requests.len() as f64,
            passes[2],
            1e3 / passes[2],
            each(bytes.len() as u64),
            each(points.windows.iter().map(Window::memory_bytes).sum()),
        );
        for (caches, planes, start) in [
            ([819_200, 262_144], false, Start::Footprint),
            ([819_200, 1_048_576], true, Start::Footprint),
            ([65_536, 512], false, Start::Footprint),
            ([819_200, 262_144], false, Start::steady(0.5)),
        ] {
            print!(" {:.1} |", restored(&points, &device(caches, planes)?, start)?);
        }
        println!();
    }
    Ok(())
}

fn nanoseconds(began: ThreadTime, requests: usize) -> f64 {
    began.elapsed().as_nanos() as f64 / requests as f64
}

fn pages(request: &Request) -> u64 {
    if request.sectors == 0 { 0 } else { (request.end().0 - 1) / 8 - request.lba.0 / 8 + 1 }
}

/// Milliseconds for each of some windows from all over the trace.
fn restored(
    points: &LivePoints,
    device: &CheckedConfig,
    start: Start,
) -> Result<f64, Box<dyn Error>> {
    let step = points.windows.len().div_ceil(WINDOWS).max(1);
    let windows: Vec<&Window> = points.windows.iter().step_by(step).collect();
    let preparation = Preparation::of(start, 1);
    let every = windows.iter().copied();
    let restorer = Restorer::new(points, every, device, preparation, Clock::Trace)?;
    drop(restorer.drive(windows[0], Observe::default())?);
    let began = ThreadTime::now();
    for window in &windows {
        drop(restorer.drive(window, Observe::default())?);
    }
    Ok(began.elapsed().as_secs_f64() * 1e3 / windows.len() as f64)
}

/// A drive with caches of these KiB; with four planes a die and more dies if asked for.
fn device([data, mappings]: [u64; 2], planes: bool) -> Result<CheckedConfig, String> {
    let mut config = presets::load("intel-750").map_err(|error| error.to_string())?;
    config.cache.capacity = Bytes(data << 10);
    config.mapping.cmt_capacity = Bytes(mappings << 10);
    if planes {
        (config.bus.channels, config.bus.chips_per_channel) = (8, 4);
        (config.flash.dies_per_chip, config.flash.planes_per_die) = (2, 4);
    }
    config.check().map_err(|faults| faults.to_string())
}
