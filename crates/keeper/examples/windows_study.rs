//! What windows of a mix are worth: every plan on the whole mix, and on windows of it.
//!
//! `windows_study MODEL DEVICE START SEEDS TRACE...`: the network, the drive (a preset), `empty` or
//! `footprint`, with how many seeds windows are placed, and a trace for each tenant, which all end
//! together. The environment may say LEVEL, WINDOWS, WARM_UP and MEASURED. It prints a table as
//! docs/results/sampling.md has it.

use ssdtune_experiment::livepoints::{SampleOptions, Sampler, Spaces};
use ssdtune_experiment::{AddressFit, Origin, Preparation, RequestSource, Start, Tally};
use ssdtune_keeper::compare::{
    LongMix, MIX_WINDOWS, MergeOptions, WindowLine, WindowPlans, merged_requests,
};
use ssdtune_keeper::simulation::MeanLatencies;
use ssdtune_keeper::{Keeper, Plan, PlanRunner, Policy, Strategy, WindowComparison};
use ssdtune_model::config::Allocation;
use ssdtune_model::{Bytes, CheckedConfig, Nanos, presets};
use ssdtune_trace::{ReadOptions, Request};
use std::error::Error;
use std::sync::atomic::AtomicBool;
use std::time::Instant;

type Fallible<T> = Result<T, Box<dyn Error>>;

fn main() -> Fallible<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [model, device, start, seeds, traces @ ..] = &arguments[..] else {
        return Err("write MODEL DEVICE START SEEDS TRACE...".into());
    };
    let policy = Policy::read(model.as_ref())?;
    let device = drive(device)?;
    let policy = policy.for_drive(&device, &AtomicBool::new(false))?.policy;
    let start = if start == "empty" { Start::Empty } else { Start::Footprint };
    let preparation = Preparation::of(start, 1);
    let sources: Vec<RequestSource> = traces.iter().map(file).collect::<Result<_, _>>()?;
    let level = std::env::var("LEVEL").ok().map(|level| level.parse()).transpose()?;
    let intensity = policy.intensity;
    let options = MergeOptions { even: true, requests_max: usize::MAX, level, intensity };
    let (stop, collect) = (AtomicBool::new(false), Nanos(policy.collect_ns));
    let mix = LongMix::new(&device, &sources, options, &stop)?;
    let sampled = SampleOptions {
        windows: asked("WINDOWS", MIX_WINDOWS.windows)?,
        warm_up: asked("WARM_UP", MIX_WINDOWS.warm_up)?,
        measured: asked("MEASURED", MIX_WINDOWS.measured)?,
        ..MIX_WINDOWS
    };

    let began = Instant::now();
    let mut told: Vec<WindowComparison> = Vec::new();
    for seed in 1..=seeds.parse()? {
        let own = SampleOptions { seed, ..sampled };
        let plans = WindowPlans::new(&device, &preparation, &mix, own, &stop)?;
        told.push(plans.compare(&policy, collect)?);
    }
    let each_s = began.elapsed().as_secs_f64() / told.len() as f64;

    let requests = merged_requests(&device, &sources, &options)?;
    let places = places(&device, &requests, sources.len(), &sampled)?;
    let runner = PlanRunner::new(&device, preparation, sources.len(), &requests, &stop)?;
    let began = Instant::now();
    let writers = runner.writers();
    let mut whole: Vec<Whole> = Vec::new();
    let mut add = |name: String, plan: Plan, allocation| -> Fallible<()> {
        let mut inside = Tally::default();
        let outcome = runner.run_and_tell(plan, allocation, None, &mut |done| {
            if places[done.number as usize] {
                inside.add(done);
            }
        })?;
        let inside_ns = MeanLatencies::of(&inside.total()).total_ns();
        whole.push(Whole { name, total_ns: outcome.means.total_ns(), inside_ns });
        Ok(())
    };
    let keeper = Plan::Keeper(Keeper { collect, ..Keeper::of(&policy) });
    add("SSDKeeper".into(), keeper, Allocation::Static)?;
    add("SSDKeeper + hybrid".into(), keeper, Allocation::Hybrid)?;
    for strategy in Strategy::all(policy.channels, sources.len()) {
        if strategy.is_distinct(&writers) {
            let plan = Plan::Fixed { strategy: &strategy, writers: &writers };
            add(strategy.to_string(), plan, Allocation::Static)?;
        }
    }
    let (count, whole_s) = (whole.len(), began.elapsed().as_secs_f64());
    println!("{} requests, {count} plans, {whole_s:.1} s whole", requests.len());
    let (run, first) = (told[0].run, told[0].decisions.first());
    println!("{} windows, {:.1} %, {each_s:.1} s a seed", run.windows, 100.0 * run.covered);
    println!("level {}, decided: {:?}", told[0].level, first.map(|one| one.strategy.to_string()));
    table(&whole, &told);
    Ok(())
}

/// What a plan does to the whole mix.
struct Whole {
    name: String,
    total_ns: f64,
    /// That of the requests that windows of the first seed measure.
    inside_ns: f64,
}

/// A drive by its name; `cached` is the preset with small shared caches.
fn drive(name: &str) -> Fallible<CheckedConfig> {
    let mut config = presets::load(if name == "cached" { "ssdkeeper" } else { name })?;
    if name == "cached" {
        config.cache.mode = ssdtune_model::config::CacheMode::ReadWrite;
        config.cache.capacity = Bytes(64 << 20);
        config.mapping.ideal = false;
        config.mapping.cmt_capacity = Bytes(256 << 10);
    }
    Ok(config.check()?)
}

fn file(path: &String) -> Fallible<RequestSource> {
    let file = RequestSource::new(Origin::File(path.into()), ReadOptions::default());
    let file = RequestSource { fit: Some(AddressFit::Compact), ..file };
    Ok(file.load(usize::MAX)?.ok_or("no end")?)
}

fn asked<T: std::str::FromStr<Err = std::num::ParseIntError>>(name: &str, usual: T) -> Fallible<T> {
    Ok(std::env::var(name).ok().map_or(Ok(usual), |text| text.parse())?)
}

/// For each request, whether a window measures it.
fn places(
    device: &CheckedConfig,
    requests: &[Request],
    tenants: usize,
    options: &SampleOptions,
) -> Fallible<Vec<bool>> {
    let spaces = Spaces::of(device, tenants)?;
    let page_bytes = device.geometry().page_bytes;
    let mut sampler = Sampler::new(SampleOptions { page_bytes, ..*options })?;
    requests.iter().try_for_each(|request| sampler.push(&spaces.join(request)))?;
    let mut places = vec![false; requests.len()];
    for window in sampler.finish()?.windows {
        let from = (window.start + window.warm_up) as usize;
        places[from..from + options.measured as usize].fill(true);
    }
    Ok(places)
}

fn table(whole: &[Whole], told: &[WindowComparison]) {
    let of = |value: fn(&Whole) -> f64| {
        let shared = whole.iter().find(|plan| plan.name == "Shared").map_or(f64::NAN, value);
        move |plan: &Whole| value(plan) / shared
    };
    let (truth, inside) = (of(|plan| plan.total_ns), of(|plan| plan.inside_ns));
    println!(
        "| plan | whole, us | over Shared | the same windows inside | told, us | over \
              Shared, +- % | restored: bias of sum, of ratio, % | off % | held | refused |"
    );
    println!("|---|---|---|---|---|---|---|---|---|---|");
    for plan in whole {
        let line = |told: &WindowComparison| -> Option<WindowLine> {
            let all = told.strategies.iter().chain(&told.lines);
            all.clone().find(|line| line.plan == plan.name).cloned()
        };
        let lines: Vec<WindowLine> = told.iter().filter_map(line).collect();
        let mean = |values: Vec<f64>| values.iter().sum::<f64>() / values.len().max(1) as f64;
        let (truth, first) = (truth(plan), &lines[0]);
        let shared_ns = told[0].lines[0].windows_total_ns;
        let known: Vec<_> = lines.iter().filter_map(|line| line.over_shared_interval).collect();
        let held = known.iter().filter(|interval| interval.holds(truth)).count();
        let off = lines.iter().map(|line| (line.over_shared / truth - 1.0).abs()).collect();
        println!(
            "| {} | {:.1} | {truth:.4} | {:.4} | {:.1} | {:.4} +- {:.2} | {:+.2}, {:+.2} | {:.2} | \
             {held} of {} | {} |",
            plan.name,
            plan.total_ns / 1e3,
            inside(plan),
            first.total_ns / 1e3,
            first.over_shared,
            100.0 * mean(known.iter().map(|interval| interval.half_width()).collect()),
            100.0 * (first.windows_total_ns / plan.inside_ns - 1.0),
            100.0 * (first.windows_total_ns / shared_ns / inside(plan) - 1.0),
            100.0 * mean(off),
            known.len(),
            lines.len() - known.len(),
        );
    }
}
