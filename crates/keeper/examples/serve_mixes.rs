//! Serves labelled mixes on a drive whose channels an allocator divides, and says what it gained
//! and lost against sharing all channels.
//!
//!     cargo run --release -p ssdtune-keeper --example serve_mixes -- LABELS [MODEL [DEVICE]]
//!
//! LABELS is a file of `ssdtune keeper label` on a drive with static allocation. They say what each
//! strategy does if data are placed by it from the beginning. Here all channels are shared for the
//! first period T, and what was placed until then stays where it is. A line for each mix: latencies
//! over those of Shared, of the allocator, of the label's strategy from the beginning on, of shared
//! channels on a drive that places writes by load (dynamic allocation), and of
//! the allocator with hybrid allocation; then what the allocator decided. DEVICE is the drive of
//! the labels where it is no preset: a file, as `ssdtune config show --set` prints it.

use rayon::prelude::*;
use ssdtune_experiment::{Preparation, Start};
use ssdtune_keeper::{
    Decision, Fitted, Keeper, LabelledMix, Labels, MixSimulator, Plan, PlanRunner, Policy, Strategy,
};
use ssdtune_model::config::Allocation;
use ssdtune_model::{CheckedConfig, source};
use ssdtune_trace::Request;
use std::error::Error;
use std::sync::atomic::AtomicBool;

/// Worse than this against Shared is harm, better than this is a gain to take.
const HARM: f64 = 1.02;
const GAIN: f64 = 0.9;

/// What became of one mix: latencies over those of Shared, and a line.
struct Served {
    own: f64,
    label: f64,
    dynamic: f64,
    hybrid: f64,
    line: String,
}

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [path, others @ ..] = &arguments[..] else {
        return Err("LABELS [MODEL [DEVICE]]".into());
    };
    let shipped = concat!(env!("CARGO_MANIFEST_DIR"), "/../../configs/keeper/ssdkeeper.json");
    let labels = Labels::read(path.as_ref())?;
    let policy = Policy::read(others.first().map_or(shipped, |model| model).as_ref())?;
    let device = others.get(1).unwrap_or(&labels.source.device);
    let mut drive = source::load(device, &[])?.config;
    // A network that learned on a drive with dynamic allocation works on such a drive.
    drive.mapping.allocation = Allocation::Dynamic;
    let is_dynamic = policy.is_for(&drive);
    let allocation = if is_dynamic { Allocation::Dynamic } else { Allocation::Static };
    drive.mapping.allocation = allocation;
    let fitted = policy.for_drive(&drive.clone().check()?, &AtomicBool::new(false))?;
    let Fitted { policy, note } = fitted;
    note.iter().for_each(|note| eprintln!("{note}"));
    // Nothing is collected: fewer blocks are made sooner and change no latency.
    drive.flash.blocks_per_plane = drive.flash.blocks_per_plane.min(256);
    let drive = drive.check()?;
    let serve = |mix: &LabelledMix| serve(&drive, &labels, mix, (&policy, allocation));
    let served: Vec<Served> =
        labels.mixes.par_iter().map(serve).collect::<Result<_, _>>().map_err(|e| e.to_string())?;
    served.iter().for_each(|one| {
        let Served { own, label, dynamic, hybrid, line } = one;
        println!("{own:.3} {label:.3} {dynamic:.3} {hybrid:.3} {line}");
    });
    let harmed: Vec<f64> = served.iter().map(|one| one.own).filter(|own| *own > HARM).collect();
    let worst = harmed.iter().copied().fold(1.0, f64::max);
    let gains = || served.iter().filter(|one| one.label <= GAIN);
    let sum = |of: fn(&Served) -> f64| gains().map(|one| -of(one).ln()).sum::<f64>();
    println!(
        "{} mixes, {} more than 2 % above Shared, at most {worst:.3}; {} to gain 10 % or more by \
         their labels, of which {:.1} % is taken",
        served.len(),
        harmed.len(),
        gains().count(),
        100.0 * sum(|one| one.own) / sum(|one| one.label).max(f64::MIN_POSITIVE)
    );
    Ok(())
}

fn serve(
    drive: &CheckedConfig,
    labels: &Labels,
    mix: &LabelledMix,
    (policy, allocation): (&Policy, Allocation),
) -> Result<Served, Box<dyn Error + Send + Sync>> {
    let stop = AtomicBool::new(false);
    let simulator = MixSimulator::new(drive, labels.source.settings, &stop);
    let options = simulator.request_options(mix.number);
    let requests: Vec<Request> = mix.mix.requests(options).collect();
    let (tenants, writers) = (mix.mix.tenants.len(), mix.mix.writers());
    let empty = Preparation::of(Start::Empty, 0);
    let runner = PlanRunner::new(drive, empty, tenants, &requests, &stop)?;
    let fixed = |strategy| Plan::Fixed { strategy, writers: &writers };
    let keeper = Plan::Keeper(Keeper::of(policy));
    let shared = fixed(&Strategy::Shared);
    let shared_ns = runner.run(shared, Allocation::Static, None)?.means.total_ns();
    let label = &mix.best().strategy;
    let label_ns = runner.run(fixed(label), Allocation::Static, None)?.means.total_ns();
    let dynamic_ns = runner.run(shared, Allocation::Dynamic, None)?.means.total_ns();
    let hybrid_ns = runner.run(keeper, Allocation::Hybrid, None)?.means.total_ns();
    let own = runner.run(keeper, allocation, None)?;
    let word = |decision: &Decision| match decision.over_shared {
        Some(over) => format!("back at {:.2} s ({over:.2})", decision.at_ns as f64 / 1e9),
        None => decision.strategy.to_string(),
    };
    let decided: Vec<String> = own.decisions.iter().map(word).collect();
    let kind = if mix.mix.is_bursty() { "bursts" } else { "plain" };
    let (number, level) = (mix.number, mix.mix.level);
    let line = format!("mix {number}, {kind}, level {level}: {} ({label})", decided.join(", "));
    let [own, label, dynamic, hybrid] =
        [own.means.total_ns(), label_ns, dynamic_ns, hybrid_ns].map(|ns| ns / shared_ns);
    Ok(Served { own, label, dynamic, hybrid, line })
}
