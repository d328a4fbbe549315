//! Serves labelled mixes and says how fair their tenants are served, by an allocator that is to be
//! fair, by one that looks at latencies alone, and by the fairest fixed strategy within the same
//! price for all.
//!
//!     cargo run --release -p ssdtune-keeper --example serve_fair -- LABELS [MODEL]
//!
//! LABELS is a file of `ssdtune keeper label`. Fairness is the least slowdown of a tenant over the
//! greatest; the slowdown is of the mean latency, over that of the tenant alone on the drive. A
//! line for each mix: of shared channels, of both allocators and of the fairest strategy (parts by
//! kind or for each tenant, from the beginning on), fairness, the greatest slowdown over that of
//! shared channels, and the latencies of all over those of shared channels.

use rayon::prelude::*;
use ssdtune_experiment::{Preparation, Start};
use ssdtune_keeper::compare::{Aim, PlanOutcome};
use ssdtune_keeper::{
    Keeper, LabelledMix, Labels, MixSimulator, Plan, PlanRunner, Policy, Strategy,
};
use ssdtune_model::config::Allocation;
use ssdtune_model::{CheckedConfig, Place, TenantId, source};
use ssdtune_sim::{Report, Slowdown};
use ssdtune_trace::Request;
use std::error::Error;
use std::sync::atomic::AtomicBool;

/// What the fairest strategy may make of the latencies of all, over those of shared channels: as
/// much as an allocator that is to be fair accepts by forecast.
const PRICE: f64 = 1.105;

/// Fairness, the greatest slowdown and the latencies of all; the last two over those of shared
/// channels.
type Shares = [f64; 3];

const WHO: [&str; 4] = ["shared", "to be fair", "latencies alone", "fairest strategy"];

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [path, others @ ..] = &arguments[..] else {
        return Err("LABELS [MODEL]".into());
    };
    let shipped = concat!(env!("CARGO_MANIFEST_DIR"), "/../../configs/keeper/ssdkeeper.json");
    let labels = Labels::read(path.as_ref())?;
    let policy = Policy::read(others.first().map_or(shipped, |model| model).as_ref())?;
    let mut drive = source::load(&labels.source.device, &[])?.config;
    drive.mapping.allocation = Allocation::Static;
    // Nothing is collected: fewer blocks are made sooner and change no latency.
    drive.flash.blocks_per_plane = drive.flash.blocks_per_plane.min(256);
    let drive = drive.check()?;
    let serve = |mix: &LabelledMix| serve(&drive, &labels, mix, &policy);
    let served: Vec<[Shares; 4]> =
        labels.mixes.par_iter().map(serve).collect::<Result<_, _>>().map_err(|e| e.to_string())?;
    for all in &served {
        println!("{:.3?} {:.3?} {:.3?} {:.3?}", all[0], all[1], all[2], all[3]);
    }
    for (place, who) in WHO.iter().enumerate() {
        let mean = |of: usize| {
            let sum: f64 = served.iter().map(|all| all[place][of].ln()).sum();
            (sum / served.len() as f64).exp()
        };
        println!(
            "{who}: fairness {:.3}, greatest slowdown {:.3} and latencies of all {:.3} times those \
             of shared channels (geometric means)",
            mean(0),
            mean(1),
            mean(2)
        );
    }
    Ok(())
}

fn serve(
    drive: &CheckedConfig,
    labels: &Labels,
    mix: &LabelledMix,
    policy: &Policy,
) -> Result<[Shares; 4], Box<dyn Error + Send + Sync>> {
    let stop = AtomicBool::new(false);
    let simulator = MixSimulator::new(drive, labels.source.settings, &stop);
    let requests: Vec<Request> = mix.mix.requests(simulator.request_options(mix.number)).collect();
    let (tenants, writers) = (mix.mix.tenants.len(), mix.mix.writers());
    let runner =
        PlanRunner::new(drive, Preparation::of(Start::Empty, 0), tenants, &requests, &stop)?;
    let fixed = |strategy| Plan::Fixed { strategy, writers: &writers };
    let alone = |tenant| {
        let only = Some(TenantId::at(tenant));
        runner.run(fixed(&Strategy::Shared), Allocation::Static, only).map(|outcome| outcome.report)
    };
    let alone: Vec<Report> = (0..tenants).map(alone).collect::<Result<_, _>>()?;
    let of = |outcome: &PlanOutcome| -> Shares {
        let slowdown = Slowdown::of(&outcome.report, &alone);
        let all = slowdown.tenants.iter().filter_map(|own| own.slowdown);
        let fairness = slowdown.min_over_max.unwrap_or(1.0);
        [fairness, all.fold(0.0, f64::max), outcome.means.total_ns()]
    };
    let run = |plan| runner.run(plan, Allocation::Static, None).map(|outcome| of(&outcome));
    let shared = run(fixed(&Strategy::Shared))?;
    let over_shared = |[fairness, greatest, total]: Shares| -> Shares {
        [fairness, greatest / shared[1], total / shared[2]]
    };
    let keeper = |aim| Plan::Keeper(Keeper { aim, ..Keeper::of(policy) });
    let fair = over_shared(run(keeper(Aim::Fairness))?);
    let other = over_shared(run(keeper(Aim::Latency))?);
    let first = over_shared(shared);
    let mut best = first;
    for strategy in &Strategy::all(drive.geometry().channels, tenants) {
        // Strategies of parts for each tenant are many.
        let is_of_kinds = matches!(strategy, Strategy::ByKind { .. } | Strategy::Isolated);
        if is_of_kinds && strategy.is_distinct(&writers) {
            let own = over_shared(run(fixed(strategy))?);
            if own[2] <= PRICE && own[1] <= 1.0 && own[0] > best[0] {
                best = own;
            }
        }
    }
    Ok([first, fair, other, best])
}
