//! What a network for parts learns from a labelled mix: an example for every part of its
//! strategies.

use crate::drive::DriveFigures;
use crate::features::{DECISION_SLOTS, PeriodDemand, Rates};
use crate::forecast;
use crate::labels::LabelledMix;
use crate::queue::{add_slots, unevenness, waits};
use crate::rates::ratio;
use crate::simulation::{LOOKS, MeanLatencies};
use crate::strategy::TenantSet;
use std::collections::BTreeMap;

/// What a network for parts is told of one.
pub(super) type PartRow = [f64; forecast::INPUTS];

/// What a network for parts learns from one part.
pub(super) struct PartExample {
    /// Periods of the run, as an allocator sees them; none in bursts, or if the run was given up.
    pub periods: Vec<PartRow>,
    /// As much of the run as the latencies are of.
    pub matched: Vec<PartRow>,
    /// Mean latencies of reads and of writes, in the drive's unit.
    pub latencies: [f64; 2],
}

/// Periods of a run from which its latencies are learned.
const WINDOWS: usize = 8;

/// Every part of a mix's strategies that both read and wrote: what a network is told of it, and its
/// mean latencies in the drive's unit.
///
/// A part that several strategies have is there once, from the longest run. In a mix that comes in
/// bursts, and under a strategy that was given up, it is asked for what came in the time that it
/// was run for; else a network learns what a period, which is only a sample, says of the run.
pub(super) fn examples_of(
    mix: &LabelledMix,
    run: &PeriodDemand,
    drive: &DriveFigures,
) -> Vec<PartExample> {
    let writers = mix.mix.writers();
    let mut known: BTreeMap<(TenantSet, u32), (u64, MeanLatencies)> = BTreeMap::new();
    for entry in &mix.entries {
        let parts = entry.strategy.parts(drive.channels, &writers);
        for (part, means) in parts.zip(&entry.parts) {
            let best = known.entry((part.tenants, part.channels)).or_insert((0, *means));
            if entry.looks > best.0 {
                *best = (entry.looks, *means);
            }
        }
    }
    let slots = run.slots[0].len();
    let period = DECISION_SLOTS as usize;
    let starts = (0..WINDOWS).map(|n| n * slots.saturating_sub(period) / (WINDOWS - 1));
    let periods: Vec<PeriodDemand> = starts.map(|from| run.some_slots(from, period)).collect();
    let beginnings: Vec<PeriodDemand> = (1..LOOKS as usize)
        .map(|looks| run.some_slots(0, slots * looks / LOOKS as usize))
        .collect();
    let row = |seen: &PeriodDemand, &(tenants, channels): &(TenantSet, u32)| {
        let (row, rates) = row_of(seen, tenants, channels, drive);
        let [reads, writes] = rates.requests;
        (reads > 0.0 && writes > 0.0).then_some(row)
    };
    let example = |(part, &(looks, means)): (&(TenantSet, u32), &(u64, MeanLatencies))| {
        let is_whole = looks >= LOOKS;
        let seen = if is_whole { run } else { &beginnings[looks as usize - 1] };
        let matched = row(seen, part).into_iter().collect::<Vec<_>>();
        let latencies = [means.read_ns, means.write_ns].map(|ns| drive.in_unit(ns));
        let is_both = !matched.is_empty() && latencies.iter().all(|one| *one > 0.0);
        let is_steady = is_whole && !mix.mix.is_bursty();
        let periods = periods.iter().filter(|_| is_steady).filter_map(|seen| row(seen, part));
        is_both.then(|| PartExample { periods: periods.collect(), matched, latencies })
    };
    known.iter().filter_map(example).collect()
}

/// What a network is told of a part, and what the part is asked for in a second.
fn row_of(
    seen: &PeriodDemand,
    tenants: TenantSet,
    channels: u32,
    drive: &DriveFigures,
) -> ([f64; forecast::INPUTS], Rates) {
    let own = Rates::sum(tenants.select(&seen.rates()));
    let mut slots = Vec::new();
    tenants.select(&seen.slots).for_each(|own| add_slots(&mut slots, own, drive.costs));
    let slot_seconds = seen.seconds / slots.len() as f64;
    let waits = waits(&slots, slot_seconds, drive.pages_per_s(channels));
    let sizes = drive.work([0, 1].map(|op| ratio(own.pages[op], own.requests[op])));
    (forecast::inputs(&own, &waits, unevenness(&slots, sizes), channels, drive), own)
}
