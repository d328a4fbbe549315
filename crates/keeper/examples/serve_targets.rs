//! Serves labelled mixes in which one tenant was promised a latency, and says how often it got it
//! from an allocator that knows that, from one that does not, and from the best fixed strategy that
//! is within the same price for all.
//!
//!     cargo run --release -p ssdtune-keeper --example serve_targets -- LABELS SHARE [MODEL]
//!
//! LABELS is a file of `ssdtune keeper label`. With a SHARE below 1 the lightest writer is promised
//! that share of the mean write latency that it has on shared channels: sharing never keeps it.
//! A SHARE of 1 or more is for the busiest reader: it is promised SHARE times the mean read latency
//! that it has on shared channels. Sharing always keeps that, dividing may not. A line for each
//! mix: the tenant's latency over the promise (1 or less: kept) and the latencies of all over those
//! of Shared, of both allocators and of the best strategy (parts by kind or for each tenant) from
//! the beginning on.

use rayon::prelude::*;
use ssdtune_experiment::{Preparation, Start};
use ssdtune_keeper::compare::PlanOutcome;
use ssdtune_keeper::{
    Keeper, LabelledMix, Labels, MixSimulator, Plan, PlanRunner, Policy, Strategy, Target,
};
use ssdtune_model::config::Allocation;
use ssdtune_model::{CheckedConfig, source};
use ssdtune_trace::Request;
use std::error::Error;
use std::sync::atomic::AtomicBool;

/// What the best strategy may make of the latencies of all, over those of Shared: as much as an
/// allocator that knows targets accepts by forecast.
const PRICE: f64 = 1.105;

/// The tenant's latency over what it was promised, and the latencies of all over those of Shared.
type Kept = [f64; 2];

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [path, share, others @ ..] = &arguments[..] else {
        return Err("LABELS SHARE [MODEL]".into());
    };
    let share: f64 = share.parse()?;
    let shipped = concat!(env!("CARGO_MANIFEST_DIR"), "/../../configs/keeper/ssdkeeper.json");
    let labels = Labels::read(path.as_ref())?;
    let policy = Policy::read(others.first().map_or(shipped, |model| model).as_ref())?;
    let mut drive = source::load(&labels.source.device, &[])?.config;
    drive.mapping.allocation = Allocation::Static;
    // Nothing is collected: fewer blocks are made sooner and change no latency.
    drive.flash.blocks_per_plane = drive.flash.blocks_per_plane.min(256);
    let drive = drive.check()?;
    let serve = |mix: &LabelledMix| serve(&drive, &labels, mix, &policy, share);
    let served: Vec<Option<[Kept; 3]>> =
        labels.mixes.par_iter().map(serve).collect::<Result<_, _>>().map_err(|e| e.to_string())?;
    let served: Vec<[Kept; 3]> = served.into_iter().flatten().collect();
    for [knowing, other, best] in &served {
        println!("{knowing:.3?} {other:.3?} {best:.3?}");
    }
    for (place, who) in ["knows the target", "knows none", "best strategy"].iter().enumerate() {
        let own = || served.iter().map(|one| one[place]);
        let kept = own().filter(|one| one[0] <= 1.0).count();
        let harmed = own().filter(|one| one[1] > 1.02).count();
        let worst = own().map(|one| one[1]).fold(1.0, f64::max);
        let mean = own().map(|one| one[1].ln()).sum::<f64>() / served.len() as f64;
        println!(
            "{who}: kept in {kept} of {}, latencies of all {:.3} times those of Shared, {harmed} \
             more than 2 % above, at most {worst:.3}",
            served.len(),
            mean.exp()
        );
    }
    Ok(())
}

/// `None` if nobody is there to be promised something.
fn serve(
    drive: &CheckedConfig,
    labels: &Labels,
    mix: &LabelledMix,
    policy: &Policy,
    share: f64,
) -> Result<Option<[Kept; 3]>, Box<dyn Error + Send + Sync>> {
    let stop = AtomicBool::new(false);
    let simulator = MixSimulator::new(drive, labels.source.settings, &stop);
    let requests: Vec<Request> = mix.mix.requests(simulator.request_options(mix.number)).collect();
    let (tenants, writers) = (mix.mix.tenants.len(), mix.mix.writers());
    let writes = share < 1.0;
    // The lightest of the writers, or the busiest of the readers.
    let pages = |tenant: &usize| mix.mix.tenants[*tenant].share * if writes { 1.0 } else { -1.0 };
    let of_kind = (0..tenants).filter(|&tenant| writers[tenant] == writes);
    let Some(promised) = of_kind.min_by(|a, b| pages(a).total_cmp(&pages(b))) else {
        return Ok(None);
    };
    let runner =
        PlanRunner::new(drive, Preparation::of(Start::Empty, 0), tenants, &requests, &stop)?;
    let fixed = |strategy| Plan::Fixed { strategy, writers: &writers };
    let latency_ns = |outcome: &PlanOutcome| {
        let own = &outcome.report.tenants[promised].metrics;
        let own = if writes { &own.write } else { &own.read };
        own.total_latency_ns.as_ref().map_or(0.0, |latency| latency.mean)
    };
    let shared = runner.run(fixed(&Strategy::Shared), Allocation::Static, None)?;
    let below_ns = share * latency_ns(&shared);
    if below_ns == 0.0 {
        return Ok(None);
    }
    let op = if writes { "write" } else { "read" };
    let target: Target = format!("{}:{op}-mean<{below_ns}ns", promised + 1).parse()?;
    let targets = [target.placed(&vec![String::new(); tenants])?];
    let kept = |outcome: &PlanOutcome| -> Kept {
        let total = outcome.means.total_ns() / shared.means.total_ns();
        [latency_ns(outcome) / below_ns, total]
    };
    let keeper = |targets| Plan::Keeper(Keeper { targets, ..Keeper::of(policy) });
    let knowing = kept(&runner.run(keeper(&targets), Allocation::Static, None)?);
    let other = kept(&runner.run(keeper(&[]), Allocation::Static, None)?);
    let mut best = kept(&shared);
    let strategies = Strategy::all(drive.geometry().channels, tenants);
    for strategy in &strategies {
        // Strategies of parts for each tenant are many and seldom the best.
        let is_of_kinds = matches!(strategy, Strategy::ByKind { .. } | Strategy::Isolated);
        if is_of_kinds && strategy.is_distinct(&writers) {
            let own = kept(&runner.run(fixed(strategy), Allocation::Static, None)?);
            let rank = |[missed, total]: Kept| [missed.max(1.0), total];
            if own[1] <= PRICE && rank(own) < rank(best) {
                best = own;
            }
        }
    }
    Ok(Some([knowing, other, best]))
}
