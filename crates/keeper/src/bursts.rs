//! How the requests of a tenant come in bursts, on many scales of time at once.
//!
//! Halve a stretch of time in which 2^k requests are expected. A share of (1 + u) / 2 of its
//! requests comes in one of the halves, drawn at random, and the rest in the other one. The
//! *unevenness* u of each scale k is what a [`BurstShape`] holds: 0 where requests come at random,
//! 1 where all of them come in one half. Applied from the whole run down to single requests, that
//! is a binomial cascade (the b-model of Wang et al., "Data mining meets performance evaluation",
//! ICDE 2002, with a bias for each scale). It depends on no rate: the shape of a trace can be had
//! at any intensity.
//!
//! Shapes are fitted to recorded traces, with the sizes of their requests
//! (`examples/fit_bursts.rs`). Those of `configs/keeper/bursts.toml` are built in. A part of them
//! is marked as unseen: no network is trained on them.
//!
//! What it leaves out: halves are drawn anew on each scale, so there are no periods; reads and
//! writes of a tenant come in the same bursts, and how many there are of each is not the trace's;
//! sizes and places do not depend on the burst.

use rand::RngExt;
use rand_distr::{Binomial, Distribution};
use rand_pcg::Pcg64;
use serde::{Deserialize, Serialize};
use ssdtune_trace::{Op, Request};
use std::sync::LazyLock;

/// Scales of a shape.
pub const SCALES: usize = 22;
/// log2 of the requests expected in a stretch of the finest scale; each further scale is twice as
/// long. The coarsest has 8,192 requests. Longer stretches are halved as it is.
const FINEST: i32 = -8;

/// Sectors of the smallest request of a tenant that comes in bursts. Each of its [`SIZES`] sizes is
/// twice the one before.
const SECTORS_MIN: u32 = 8;
/// How many sizes of request there are: 4 to 64 KiB.
const SIZES: usize = 5;
/// Sectors of the largest request of a tenant that comes in bursts.
pub(crate) const SECTORS_MAX: u32 = SECTORS_MIN << (SIZES - 1);

/// How the requests of a tenant are spread over time, and what they are.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct BurstShape {
    /// The unevenness of each scale, 0 to 1, the finest first.
    pub unevenness: [f64; SCALES],
    /// How many times as frequent reads of one size are as reads of half that size.
    pub read_growth: f64,
    /// How many times as frequent writes of one size are as writes of half that size.
    pub write_growth: f64,
}

/// A shape and the trace that it was fitted to.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct NamedShape {
    /// The name of the trace.
    pub name: String,
    /// Whether it is kept from training.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub unseen: bool,
    /// The shape.
    #[serde(flatten)]
    pub shape: BurstShape,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Library {
    shape: Vec<NamedShape>,
}

static LIBRARY: LazyLock<Vec<NamedShape>> = LazyLock::new(|| {
    let text = include_str!("../../../configs/keeper/bursts.toml");
    toml::from_str::<Library>(text).expect("a sound file").shape
});

/// The shapes that are built in.
pub fn library() -> &'static [NamedShape] {
    &LIBRARY
}

impl BurstShape {
    /// Fits a shape to the requests of a trace, given in order of time.
    pub fn fit(requests: &[Request]) -> Self {
        let times: Vec<u64> = requests.iter().map(|request| request.at.0).collect();
        Self {
            unevenness: std::array::from_fn(|scale| unevenness(&times, scale)),
            read_growth: growth(requests, Op::Read),
            write_growth: growth(requests, Op::Write),
        }
    }

    /// The share of requests that have each size, 0 to 1, the smallest size first.
    fn sizes(&self, op: Op) -> [f64; SIZES] {
        let growth = if op == Op::Write { self.write_growth } else { self.read_growth };
        sizes(growth)
    }

    /// Draws the sectors of a request.
    pub(crate) fn draw_sectors(&self, op: Op, rng: &mut Pcg64) -> u32 {
        let (mut draw, shares) = (rng.random::<f64>(), self.sizes(op));
        let mut size = 0;
        while size + 1 < SIZES && draw >= shares[size] {
            draw -= shares[size];
            size += 1;
        }
        SECTORS_MIN << size
    }

    /// Mean number of flash pages of this many sectors that a request touches.
    pub(crate) fn mean_pages(&self, op: Op, page_sectors: u32) -> f64 {
        let pages = |size: usize| f64::from((SECTORS_MIN << size).div_ceil(page_sectors));
        self.sizes(op).iter().enumerate().map(|(size, share)| share * pages(size)).sum()
    }

    /// Draws the times of requests, from 0 to below 1, in order.
    pub(crate) fn draw_times(&self, count: u64, rng: &mut Pcg64) -> Vec<f64> {
        let mut times = Vec::with_capacity(count as usize);
        let scale = (count.max(1) as f64).log2().floor() as i32;
        self.halve(Stretch { start: 0.0, length: 1.0, count, scale }, rng, &mut times);
        times
    }

    fn halve(&self, stretch: Stretch, rng: &mut Pcg64, times: &mut Vec<f64>) {
        let Stretch { start, length, count, scale } = stretch;
        if count <= 1 || scale < FINEST {
            let from = times.len();
            times.extend((0..count).map(|_| start + length * rng.random::<f64>()));
            times[from..].sort_by(f64::total_cmp);
            return;
        }
        let unevenness = self.unevenness[((scale - FINEST) as usize).min(SCALES - 1)];
        let sign = if rng.random() { 1.0 } else { -1.0 };
        let share = (0.5 + sign * unevenness / 2.0).clamp(0.0, 1.0);
        let first = Binomial::new(count, share).expect("a probability").sample(rng);
        let half = Stretch { start, length: length / 2.0, count: first, scale: scale - 1 };
        self.halve(half, rng, times);
        let rest = Stretch { start: start + length / 2.0, count: count - first, ..half };
        self.halve(rest, rng, times);
    }
}

/// A stretch of time with a number of requests.
#[derive(Clone, Copy)]
struct Stretch {
    start: f64,
    length: f64,
    count: u64,
    scale: i32,
}

/// The share of each size.
fn sizes(growth: f64) -> [f64; SIZES] {
    let weights: [f64; SIZES] = std::array::from_fn(|size| growth.powi(size as i32));
    let all: f64 = weights.iter().sum();
    weights.map(|weight| weight / all)
}

/// The growth at which the mean of log2 of the size is that of the requests, sizes beyond the
/// smallest and the largest taken for these.
fn growth(requests: &[Request], op: Op) -> f64 {
    let size = |request: &Request| {
        let sectors = request.sectors.clamp(SECTORS_MIN, SECTORS_MAX);
        (f64::from(sectors) / f64::from(SECTORS_MIN)).log2()
    };
    let own: Vec<f64> = requests.iter().filter(|one| one.op == op).map(size).collect();
    if own.is_empty() {
        return 1.0;
    }
    let mean = own.iter().sum::<f64>() / own.len() as f64;
    let (mut low, mut high) = (0.02_f64, 50.0_f64);
    for _ in 0..50 {
        let middle = (low * high).sqrt();
        let found: f64 = sizes(middle).iter().enumerate().map(|(n, share)| n as f64 * share).sum();
        if found > mean { high = middle } else { low = middle }
    }
    low
}

/// The unevenness of a scale: the root of the mean square of the difference of both halves over
/// their sum, less what chance alone adds.
fn unevenness(times: &[u64], scale: usize) -> f64 {
    let (Some(first), Some(last)) = (times.first(), times.last()) else { return 0.0 };
    let gap = (last - first) as f64 / times.len() as f64;
    let half = gap * 2f64.powi(scale as i32 + FINEST - 1);
    let (mut squares, mut pairs) = (0.0, 0.0);
    let mut at = 0;
    while at < times.len() {
        // The stretch of the next request that was not counted, in halves.
        let number = ((times[at] - first) as f64 / half / 2.0).floor();
        let [middle, end] = [1.0, 2.0].map(|halves| (2.0 * number + halves) * half);
        let within =
            |limit: f64| times[at..].partition_point(|&time| ((time - first) as f64) < limit);
        let (left, all) = (within(middle), within(end).max(1));
        let (left, count) = (left as f64, all as f64);
        squares += (2.0 * left - count).powi(2) - count;
        pairs += count * (count - 1.0);
        at += all;
    }
    if pairs > 0.0 { (squares / pairs).clamp(0.0, 1.0).sqrt() } else { 0.0 }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand::SeedableRng;
    use ssdtune_model::{Nanos, Sectors};
    use ssdtune_trace::TenantId;

    fn requests(times: &[f64]) -> Vec<Request> {
        let of = |(number, time): (usize, &f64)| Request {
            at: Nanos((time * 1e15) as u64),
            lba: Sectors(0),
            sectors: [8, 128, 8, 16][number % 4],
            tenant: TenantId(0),
            op: if number % 5 == 0 { Op::Read } else { Op::Write },
        };
        times.iter().enumerate().map(of).collect()
    }

    #[test]
    fn what_is_drawn_has_the_shape_that_is_fitted() {
        let mut rng = Pcg64::seed_from_u64(7);
        let unevenness = std::array::from_fn(|scale| 0.1 + 0.02 * scale as f64);
        let shape = BurstShape { unevenness, read_growth: 1.0, write_growth: 1.0 };
        let times = shape.draw_times(1 << 17, &mut rng);
        assert!(times.is_sorted() && times.iter().all(|time| (0.0..1.0).contains(time)));
        assert_eq!(times.len(), 1 << 17);
        let found = BurstShape::fit(&requests(&times));
        let pairs = found.unevenness.into_iter().zip(unevenness);
        for (scale, (found, drawn)) in pairs.enumerate().take(18).skip(4) {
            assert!((found - drawn).abs() < 0.12, "scale {scale}: {found} for {drawn}");
        }
        assert!(found.read_growth > 0.5 && found.write_growth < 1.0);
    }

    #[test]
    fn requests_at_random_are_even() {
        let mut rng = Pcg64::seed_from_u64(8);
        let mut times: Vec<f64> = (0..100_000).map(|_| rng.random::<f64>()).collect();
        times.sort_by(f64::total_cmp);
        let found = BurstShape::fit(&requests(&times)).unevenness;
        assert!(found[4..18].iter().all(|&one| one < 0.1), "{found:?}");
    }

    #[test]
    fn some_shapes_are_kept_from_training() {
        let unseen = library().iter().filter(|one| one.unseen).count();
        assert!(unseen >= 5 && library().len() - unseen >= 10);
        for one in library() {
            assert!(one.shape.unevenness.iter().all(|u| (0.0..=1.0).contains(u)), "{}", one.name);
        }
    }
}
