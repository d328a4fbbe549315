//! What can be measured in a trace: the mix of operations, sizes, gaps, repeats, runs, regions.

use super::super::model::{Arrival, GapRange, Rate, SizeRange};
use super::is_access;
use crate::{Op, Request};
use roaring::RoaringTreemap;
use ssdtune_model::{Bytes, SECTOR_BYTES};
use std::collections::{BTreeMap, HashMap};

/// The number of sizes that get an entry of their own. Rarer sizes share a range for each power of
/// two.
const SIZES_EXACT: usize = 24;
/// A repeat of a request further back than this counts as new.
const REPEAT_REACH: u64 = 1 << 20;
/// The number of ends of requests that a run may continue.
const ENDS: usize = 32;
const STREAMS_MAX: f64 = 32.0;

/// What a fit needs to know of a trace.
pub(super) struct Measured {
    pub(super) ops: [Option<Operation>; 3],
    pub(super) flush_share: f64,
    pub(super) gaps: Vec<GapRange>,
    pub(super) persistence: f64,
}

/// What a fit needs to know of one operation.
pub(super) struct Operation {
    pub(super) share: f64,
    pub(super) sizes: Vec<SizeRange>,
    pub(super) largest: Bytes,
    pub(super) alignment: Bytes,
    pub(super) cell: Bytes,
    pub(super) offset: Bytes,
    pub(super) footprint: Bytes,
    pub(super) repeat_share: f64,
    pub(super) repeat_window: u32,
    /// The share of the requests at a start never seen before, among those that neither repeat nor
    /// continue a run.
    pub(super) fresh_share: f64,
    pub(super) run_share: f64,
    pub(super) run_length: f64,
    pub(super) streams: u32,
}

pub(super) fn measure(requests: &[Request]) -> Measured {
    let count = requests.len() as f64;
    let of = |op: Op| requests.iter().filter(move |r| r.op == op && r.sectors > 0);
    let pages: Vec<RoaringTreemap> = [Op::Read, Op::Write].map(|op| pages(of(op))).into();
    let overlap = pages[0].intersection_len(&pages[1]);
    let (read, write) = (pages[0].len(), pages[1].len());
    // In the model, reads lie at the bottom. Writes begin inside that region, where both overlap.
    let offsets = [0, read - overlap, read - overlap];
    let ops = [Op::Read, Op::Write, Op::Trim].map(|op| {
        let all: Vec<&Request> = of(op).collect();
        let index = op as usize;
        let footprint = if index == 0 { read } else { write.max(1) };
        (!all.is_empty()).then(|| operation(&all, count, offsets[index] * 4096, footprint * 4096))
    });
    let flushes = requests.iter().filter(|r| !is_access(r) && r.op != Op::Trim).count();
    let (gaps, persistence) = gaps(requests);
    Measured { ops, flush_share: flushes as f64 / count, gaps, persistence }
}

fn pages<'r>(requests: impl Iterator<Item = &'r Request>) -> RoaringTreemap {
    let mut pages = RoaringTreemap::new();
    for request in requests {
        let tenant = u64::from(request.tenant.0) << 48;
        let last = request.lba.0.saturating_add(u64::from(request.sectors) - 1);
        let mask = (1 << 48) - 1;
        let (from, to) = ((request.lba.0 / 8) & mask, (last / 8) & mask);
        if from <= to {
            pages.insert_range(tenant | from..=tenant | to);
        }
    }
    pages
}

fn operation(all: &[&Request], requests: f64, offset: u64, footprint: u64) -> Operation {
    let count = all.len() as f64;
    let aligned = all.iter().filter(|r| r.lba.0.is_multiple_of(8)).count() as f64;
    let alignment = if aligned >= 0.99 * count { 4096 } else { SECTOR_BYTES };
    let bytes: f64 = all.iter().map(|r| r.sectors as f64 * SECTOR_BYTES as f64).sum();
    let cell = ((bytes / count) as u64).clamp(4096, 1 << 20);
    let cell = 1u64 << cell.ilog2();
    let largest = all.iter().map(|r| u64::from(r.sectors)).max().unwrap_or(1) * SECTOR_BYTES;
    let order = order(all);
    let plain = (count - order.repeats).max(1.0);
    let streams = if order.strict > 0.0 { order.runs_on / order.strict } else { STREAMS_MAX };
    Operation {
        share: count / requests,
        sizes: sizes(all),
        largest: Bytes(largest),
        alignment: Bytes(alignment),
        cell: Bytes(cell),
        offset: Bytes(offset),
        footprint: Bytes(footprint.max(4096)),
        repeat_share: order.repeats / count,
        repeat_window: order.window,
        fresh_share: (order.fresh / (plain - order.runs_on).max(1.0)).clamp(0.0, 1.0),
        run_share: order.runs_on / plain,
        run_length: if order.runs > 0.0 { order.runs_on / order.runs } else { 1.0 },
        streams: streams.round().clamp(1.0, STREAMS_MAX) as u32,
    }
}

/// How the requests of an operation follow each other, as counts.
#[derive(Default)]
struct Order {
    repeats: f64,
    window: u32,
    fresh: f64,
    /// Continuations of runs.
    runs_on: f64,
    /// Continuations that directly follow the request they continue.
    strict: f64,
    /// Runs with at least one continuation.
    runs: f64,
}

/// Counts repeats, runs and new places of the requests of one operation.
///
/// A request that starts where the one before it ended continues a run, even if it repeats an
/// earlier request. Otherwise every second pass over a file would count as repeats and not as runs.
/// Any other repeat counts as a repeat, even if it starts where some earlier request ended.
fn order(all: &[&Request]) -> Order {
    let mut order = Order { window: 1, ..Order::default() };
    // This map is looked up and never iterated, so its order does not matter.
    let mut last: HashMap<(u16, u64), (u64, u32)> = HashMap::with_capacity(all.len());
    // Ends of requests that are no repeats. Repeats do not interrupt a run.
    let mut ends = [((0u16, u64::MAX), false); ENDS];
    let mut latest = 0;
    let mut octaves = 0.0;
    for (index, request) in all.iter().enumerate() {
        let start = (request.tenant.0, request.lba.0);
        let before = last.insert(start, (index as u64, request.sectors));
        let strict = ends[latest].0 == start;
        if let Some((at, sectors)) = before
            && !strict
            && index as u64 - at <= REPEAT_REACH
            && sectors == request.sectors
        {
            order.repeats += 1.0;
            octaves += ((index as u64 - at) as f64).log2();
            continue;
        }
        let slot = if strict { Some(latest) } else { ends.iter().position(|end| end.0 == start) };
        if let Some(slot) = slot {
            order.runs_on += 1.0;
            order.strict += f64::from(u8::from(strict));
            order.runs += f64::from(u8::from(!ends[slot].1));
            ends[slot].0.1 = u64::MAX;
        } else if before.is_none() {
            order.fresh += 1.0;
        }
        latest = (latest + 1) % ENDS;
        let end = request.lba.0.saturating_add(u64::from(request.sectors));
        ends[latest] = ((request.tenant.0, end), slot.is_some());
    }
    if order.repeats > 0.0 {
        // The distance of repeats is log-uniform up to the window, so its mean is half of the
        // window in octaves.
        let exponent = (2.0 * octaves / order.repeats).round().clamp(0.0, 20.0);
        order.window = 1 << exponent as u32;
    }
    order
}

fn sizes(all: &[&Request]) -> Vec<SizeRange> {
    let mut counts: BTreeMap<u32, u64> = BTreeMap::new();
    all.iter().for_each(|r| *counts.entry(r.sectors.min(1 << 21)).or_default() += 1);
    let mut by_count: Vec<(u32, u64)> = counts.iter().map(|(&s, &n)| (s, n)).collect();
    by_count.sort_by_key(|&(sectors, n)| (std::cmp::Reverse(n), sectors));
    let bytes = |sectors: u32| Bytes(u64::from(sectors) * SECTOR_BYTES);
    let share = |n: u64| round(n as f64 / all.len() as f64);
    let mut sizes: Vec<SizeRange> = by_count
        .iter()
        .take(SIZES_EXACT)
        .map(|&(sectors, n)| SizeRange::exactly(bytes(sectors), share(n)))
        .collect();
    let mut octaves: BTreeMap<u32, (u32, u32, u64)> = BTreeMap::new();
    for &(sectors, n) in by_count.iter().skip(SIZES_EXACT) {
        let octave = octaves.entry(sectors.ilog2()).or_insert((sectors, sectors, 0));
        *octave = (octave.0.min(sectors), octave.1.max(sectors), octave.2 + n);
    }
    sizes.extend(octaves.into_values().map(|(low, high, n)| {
        let step = if low.is_multiple_of(8) && high.is_multiple_of(8) { 8 } else { 1 };
        SizeRange { from: bytes(low), to: bytes(high), step: bytes(step), share: share(n) }
    }));
    sizes.retain(|size| size.share > 0.0);
    sizes.sort_by_key(|size| (size.from, size.to));
    sizes
}

/// The histogram of gaps and its persistence. It has two buckets for each octave, and each keeps
/// the mean of its gaps.
fn gaps(requests: &[Request]) -> (Vec<GapRange>, f64) {
    let gaps: Vec<u64> = requests.windows(2).map(|w| w[1].at.saturating_sub(w[0].at).0).collect();
    let bucket = |gap: u64| if gap == 0 { 0 } else { 1 + (2.0 * (gap as f64).log2()) as u32 };
    let mut buckets: BTreeMap<u32, (u64, u64, u64, f64)> = BTreeMap::new();
    for &gap in &gaps {
        let (low, high, n, sum) = buckets.entry(bucket(gap)).or_insert((gap, gap, 0, 0.0));
        (*low, *high) = ((*low).min(gap), (*high).max(gap));
        *n += 1;
        *sum += gap as f64;
    }
    let count = gaps.len().max(1) as f64;
    let same = gaps.windows(2).filter(|w| bucket(w[0]) == bucket(w[1])).count() as f64
        / (gaps.len().max(2) - 1) as f64;
    let chance: f64 = buckets.values().map(|b| (b.2 as f64 / count).powi(2)).sum();
    // With rho for the persistence: P(same bucket) = rho + (1 - rho) chance.
    let persistence =
        if chance < 1.0 { ((same - chance) / (1.0 - chance)).clamp(0.0, 0.99) } else { 0.0 };
    let ranges = buckets
        .into_values()
        .map(|(low, high, n, sum)| {
            let mean = sum / n as f64;
            let reach = (mean - low as f64).min(high as f64 - mean).max(0.0);
            GapRange {
                from_ns: (mean - reach).round().max(0.0),
                to_ns: (mean + reach).round(),
                share: round(n as f64 / count),
            }
        })
        .filter(|range| range.share > 0.0)
        .collect();
    (ranges, round(persistence))
}

/// The mean number of requests in a window of the burst fit. Larger windows lose the many short
/// bursts.
const WINDOW_REQUESTS: f64 = 4.0;

/// A process of two states, measured from the numbers of requests in equal windows: a window well
/// above the mean is a burst. `None` if the stream is too short or too even.
pub(super) fn bursts(requests: &[Request]) -> Option<Arrival> {
    let (first, last) = (requests.first()?.at, requests.last()?.at);
    let duration = last.saturating_sub(first).0 as f64;
    let count = (requests.len() - 1) as f64;
    let window = duration * WINDOW_REQUESTS / count;
    let windows = (duration / window) as usize;
    if windows < 20 {
        return None;
    }
    let mut counts = vec![0.0f64; windows + 1];
    for request in requests {
        counts[((request.at - first).0 as f64 / window) as usize] += 1.0;
    }
    counts.truncate(windows);
    let mean = counts.iter().sum::<f64>() / windows as f64;
    // In a Poisson stream, about one window in fifty lies this far above the mean.
    let limit = mean + 2.0 * mean.sqrt();
    let burst: Vec<bool> = counts.iter().map(|&c| c > limit).collect();
    let inside = burst.iter().filter(|&&b| b).count() as f64;
    let bursts = burst.windows(2).filter(|w| w[1] && !w[0]).count().max(1) as f64;
    let carried: f64 = counts.iter().zip(&burst).filter(|(_, b)| **b).map(|(c, _)| c).sum();
    if inside == 0.0 || inside >= windows as f64 {
        return None;
    }
    // The first and the last window of a burst are partly quiet. The rate of a burst is that of the
    // windows between, and the share of time in bursts follows from the requests that they carry.
    let interior: Vec<f64> = (1..windows - 1)
        .filter(|&w| burst[w - 1] && burst[w] && burst[w + 1])
        .map(|w| counts[w])
        .collect();
    let rate_inside = match interior.len() {
        0 => carried / inside,
        n => interior.iter().sum::<f64>() / n as f64,
    };
    let carried_share = carried / (mean * windows as f64);
    let burst_factor = (rate_inside / mean).max(1.0);
    let burst_share = carried_share / burst_factor;
    if burst_share >= 1.0 {
        return None;
    }
    let rate = Rate::Requests(count / duration * 1e9);
    let burst_s = burst_share * windows as f64 / bursts * window / 1e9;
    Some(Arrival::Bursty { rate, burst_share, burst_factor, burst_s })
}

/// Rounds to seven decimals. This keeps one request in ten million, and the text short.
fn round(share: f64) -> f64 {
    (share * 1e7).round() / 1e7
}
