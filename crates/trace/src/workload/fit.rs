//! Fits a model to a trace.
//!
//! The mix of operations, sizes, gaps, runs and exact repeats are measured. Two things cannot be
//! measured and are found by trial, as the candidate whose stream has the smallest
//! [`distance`](super::distance::distance) from the trace:
//!
//! - How much of the reuse comes from repeats and how much from skew. A trial uses at most 200,000
//!   requests, and adjusts the working sets of the candidate until its footprint is that of the
//!   trace.
//! - How long the arrival process stays with a gap. A trial uses at most a million requests.
//!
//! Trials draw from the validation seeds. The reported distance is that of a held-out stream.
//!
//! The model has one tenant and one phase; tenants of the trace are laid side by side. Left out:
//! drift, phases, the order of flushes, correlation of size with place. The caller holds the trace
//! in memory; fitting needs about as much again.

mod measure;

use super::Generator;
use super::distance::{Distance, Profile};
use super::model::{Access, Arrival, Model, Phase, Recent, RecentOf, Runs, Skew, Tenant};
use super::seed::{Seed, SeedSet};
use crate::describe::Describer;
use crate::{Op, Request};
use measure::{Measured, measure};
use ssdtune_model::Bytes;

/// The largest number of requests in a trial.
const TRIAL_REQUESTS: usize = 200_000;
/// The number of adjustments of the working sets in a trial.
const ADJUSTMENTS: usize = 4;

/// The largest number of requests in a trial of an arrival process.
const ARRIVAL_REQUESTS: usize = 1_000_000;
/// Persistences to try, besides the one measured between neighbouring gaps. That one misses bursts
/// that mix gaps of several lengths.
const PERSISTENCES: [f64; 8] = [0.5, 0.8, 0.9, 0.95, 0.98, 0.99, 0.995, 0.998];
/// A difference of this many octaves in burstiness weighs as much as completely different gaps.
const BURST_OCTAVES: f64 = 8.0;

/// Candidates: the share of the measured repeats that are kept as repeats, and the Zipf exponent of
/// new places (0 for a pure walk).
const CANDIDATES: [(f64, f64); 8] = [
    (1.0, 0.0),
    (1.0, 0.7),
    (0.8, 0.9),
    (0.5, 0.7),
    (0.5, 1.0),
    (0.0, 0.6),
    (0.0, 0.9),
    (0.0, 1.2),
];

/// Why no model can be fitted to a trace.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum FitError {
    /// The trace has too few reads and writes to measure.
    #[error("{reads_and_writes} reads and writes are too few to fit a model to: give 100 or more")]
    TooShort {
        /// The number of reads and writes.
        reads_and_writes: usize,
    },
    /// All requests have the same time.
    #[error(
        "all requests have the same time: a model needs arrival times, check the trace's time \
         column"
    )]
    NoTime,
}

/// Fits a model called `name` to `requests`, which must be in order of time. Also returns how much
/// a stream of the model differs from the trace.
///
/// # Errors
/// There are fewer than 100 reads and writes, or all requests have the same time.
pub fn fit(requests: &[Request], name: &str) -> Result<(Model, Distance), FitError> {
    let accesses = requests.iter().filter(|r| is_access(r)).count();
    if accesses < 100 {
        return Err(FitError::TooShort { reads_and_writes: accesses });
    }
    if requests.first().map(|r| r.at) == requests.last().map(|r| r.at) {
        return Err(FitError::NoTime);
    }
    let trial = &requests[..requests.len().min(TRIAL_REQUESTS)];
    let measured = measure(requests);
    let measured_trial = measure(trial);
    let wanted = Profile::of(trial);
    let mut best: Option<(f64, (f64, f64), f64)> = None;
    for candidate in CANDIDATES {
        let mut model = build(&measured_trial, name, trial.len(), candidate);
        let scale = adjust(&mut model, trial);
        let stream = generated(&model, trial.len(), SeedSet::Validation);
        let distance = wanted.distance(&Profile::of(&stream));
        let score = distance.score();
        if best.is_none_or(|(least, ..)| score < least) {
            best = Some((score, candidate, scale));
        }
    }
    let (_, candidate, scale) = best.unwrap_or((0.0, CANDIDATES[0], 1.0));
    let mut model = build(&measured, name, requests.len(), candidate);
    scale_working_sets(&mut model, scale);
    model.tenants[0].phases[0].arrival = arrival(&measured, requests);
    let distance = distance_to(&model, requests);
    Ok((model, distance))
}

/// How much a held-out stream of a checked model differs from a trace.
pub fn distance_to(model: &Model, requests: &[Request]) -> Distance {
    let held_out = generated(model, requests.len(), SeedSet::HeldOut);
    Profile::of(requests).distance(&Profile::of(&held_out))
}

/// The arrival process whose gaps and bursts come nearest to the trace. A histogram of gaps, with a
/// persistence found by trial, fits any gaps. A process of two states fits bursts of one length.
/// The places of requests do not depend on the choice.
fn arrival(measured: &Measured, requests: &[Request]) -> Arrival {
    let trial = &requests[..requests.len().min(ARRIVAL_REQUESTS)];
    let wanted = Profile::of(trial);
    let persistent = |persistence| Arrival::Measured { gaps: measured.gaps.clone(), persistence };
    let candidates = PERSISTENCES.into_iter().map(persistent).chain(measure::bursts(requests));
    let score = |arrival: &Arrival| {
        let seen = generated(&arrivals_only(arrival.clone()), trial.len(), SeedSet::Validation);
        let distance = wanted.distance(&Profile::of(&seen));
        distance.gap_ks + distance.burstiness_octaves / BURST_OCTAVES
    };
    let first = persistent(measured.persistence);
    let start = (score(&first), first);
    let (_, best) = candidates.fold(start, |best, arrival| {
        let other = score(&arrival);
        if other < best.0 { (other, arrival) } else { best }
    });
    best
}

/// A model with arrival times only: all its requests are flushes.
fn arrivals_only(arrival: Arrival) -> Model {
    let phase =
        Phase { length: None, arrival, read: None, write: None, trim: None, flush_share: 1.0 };
    Model {
        name: "arrivals".to_owned(),
        aliases: Vec::new(),
        description: String::new(),
        source: String::new(),
        guesses: Vec::new(),
        requests: 1,
        tenants: vec![Tenant { name: "arrivals".to_owned(), phases: vec![phase] }],
        variants: Vec::new(),
    }
}

fn is_access(request: &Request) -> bool {
    matches!(request.op, Op::Read | Op::Write) && request.sectors > 0
}

fn generated(model: &Model, requests: usize, set: SeedSet) -> Vec<Request> {
    let seed = Seed { set, index: 0 };
    Generator::new(model, seed).map(|stream| stream.take(requests).collect()).unwrap_or_default()
}

fn build(measured: &Measured, name: &str, requests: usize, candidate: (f64, f64)) -> Model {
    let access = |op: usize, of: RecentOf| build_access(measured, op, of, candidate);
    let phase = Phase {
        length: None,
        arrival: Arrival::Measured {
            gaps: measured.gaps.clone(),
            persistence: measured.persistence,
        },
        read: access(0, RecentOf::Reads),
        write: access(1, RecentOf::Writes),
        trim: access(2, RecentOf::Writes),
        flush_share: measured.flush_share,
    };
    Model {
        name: name.to_owned(),
        aliases: Vec::new(),
        description: format!("Fitted to a trace of {requests} requests."),
        source: "a trace".to_owned(),
        guesses: Vec::new(),
        requests: requests as u64,
        tenants: vec![Tenant { name: name.to_owned(), phases: vec![phase] }],
        variants: Vec::new(),
    }
}

fn build_access(
    measured: &Measured,
    op: usize,
    of: RecentOf,
    (kept, theta): (f64, f64),
) -> Option<Access> {
    let seen = measured.ops[op].as_ref()?;
    let recent = kept * seen.repeat_share;
    // The shares of runs count among the requests that are not repeats. Some requests of runs were
    // measured as repeats.
    let runs = (seen.run_share > 0.01).then(|| {
        let share = seen.run_share.min(0.98);
        Runs {
            share,
            mean_length: seen.run_length.max(share / (1.0 - share)),
            streams: seen.streams,
        }
    });
    let least = seen.largest.0.max(seen.cell.0);
    let cells = seen.footprint.0.max(least).div_ceil(seen.cell.0);
    Some(Access {
        share: seen.share,
        sizes: seen.sizes.clone(),
        offset: Bytes(seen.offset.0 / seen.alignment.0 * seen.alignment.0),
        working_set: Bytes(cells * seen.cell.0),
        alignment: seen.alignment,
        cell: seen.cell,
        neighbourhood: Bytes(0),
        skew: if theta > 0.0 { Skew::Zipf { theta, drift: 0.0 } } else { Skew::Uniform },
        // Reuse that repeats do not explain comes from skew, the rest goes to new space.
        walk_share: if theta > 0.0 { seen.fresh_share } else { 1.0 },
        runs,
        stride: None,
        recent: (recent > 0.005).then(|| Recent {
            share: recent.min(0.99),
            window: seen.repeat_window,
            of,
        }),
    })
}

/// Scales the working sets until the footprint of the model is that of the trace. Returns the
/// factor.
fn adjust(model: &mut Model, trial: &[Request]) -> f64 {
    let wanted = footprint(trial.iter());
    let mut factor = 1.0;
    for _ in 0..ADJUSTMENTS {
        let seen = footprint(generated(model, trial.len(), SeedSet::Validation).iter());
        let step = (wanted / seen).clamp(0.25, 4.0);
        if (step - 1.0).abs() < 0.02 {
            break;
        }
        scale_working_sets(model, step);
        factor *= step;
    }
    factor
}

fn footprint<'r>(requests: impl Iterator<Item = &'r Request>) -> f64 {
    let mut describer = Describer::new();
    requests.filter(|r| is_access(r)).for_each(|request| {
        describer.push_footprint(request);
    });
    describer.finish().footprint.pages.max(1) as f64
}

/// Multiplies offsets and working sets, which stay whole cells and large enough for the largest
/// request.
fn scale_working_sets(model: &mut Model, factor: f64) {
    for phase in model.tenants.iter_mut().flat_map(|tenant| &mut tenant.phases) {
        for access in [&mut phase.read, &mut phase.write, &mut phase.trim].into_iter().flatten() {
            let least = access.largest().0.max(access.cell.0);
            let scaled = (access.working_set.0 as f64 * factor) as u64;
            access.working_set = Bytes(scaled.max(least).div_ceil(access.cell.0) * access.cell.0);
            let offset = (access.offset.0 as f64 * factor) as u64;
            access.offset = Bytes(offset / access.alignment.0 * access.alignment.0);
        }
    }
}

#[cfg(test)]
mod tests;
