//! The model as plain data. Nothing here is checked: [`check`](super::check) is.

use serde::{Deserialize, Serialize};
use ssdtune_model::Bytes;

/// A workload.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Model {
    /// What commands and reports call it; lower case, digits, `-` and `_`.
    pub name: String,
    /// Other names it answers to.
    pub aliases: Vec<String>,
    /// One sentence for people.
    pub description: String,
    /// Which published figures it was fitted to.
    pub source: String,
    /// What in it is a guess.
    pub guesses: Vec<String>,
    /// How many requests make one trace of it, unless asked otherwise.
    pub requests: u64,
    /// The streams that are merged by time; at least one.
    pub tenants: Vec<Tenant>,
    /// Named changes, for guesses that want a sensitivity check.
    pub variants: Vec<Variant>,
}

/// One stream: phases that follow each other and then start over.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Tenant {
    /// For reports.
    pub name: String,
    /// At least one.
    pub phases: Vec<Phase>,
}

/// A stretch of time in which the stream's statistics stand still.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Phase {
    /// How long it lasts; a lone phase may last for ever.
    pub length: Option<PhaseLength>,
    /// When requests come.
    pub arrival: Arrival,
    /// Reads, if any.
    pub read: Option<Access>,
    /// Writes, if any.
    pub write: Option<Access>,
    /// Trims, if any.
    pub trim: Option<Access>,
    /// The weight of flushes beside the shares of the accesses.
    pub flush_share: f64,
}

/// How long a phase lasts.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub enum PhaseLength {
    /// A number of requests of this tenant.
    Requests(u64),
    /// A duration in seconds; the request that would start after it belongs to the next phase.
    Seconds(f64),
}

/// How often requests come: the long-run mean of an arrival process.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub enum Rate {
    /// Requests per second.
    Requests(f64),
    /// Bytes per second, turned into requests by the mean size of the phase.
    Bytes(f64),
}

/// When requests come.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum Arrival {
    /// Equal gaps.
    Fixed(Rate),
    /// Exponential gaps.
    Poisson(Rate),
    /// Two exponential gaps mixed with balanced means: heavier-tailed, without memory.
    Hyperexponential {
        /// The mean.
        rate: Rate,
        /// Standard deviation of a gap over its mean; 1 is Poisson.
        gap_variation: f64,
    },
    /// A Markov-modulated Poisson process of two states, bursts and quiet; on/off when quiet is
    /// silent.
    Bursty {
        /// The mean over both states.
        rate: Rate,
        /// The share of time in bursts.
        burst_share: f64,
        /// The rate inside bursts over the mean; 1 / `burst_share` makes quiet silent.
        burst_factor: f64,
        /// The mean length of a burst in seconds.
        burst_s: f64,
    },
    /// A measured histogram of gaps with persistence: with that probability the next gap comes from
    /// the bucket of the last (a discrete autoregressive process: the histogram stays what it is).
    Measured {
        /// The gaps.
        gaps: Vec<GapRange>,
        /// The probability of staying in the bucket.
        persistence: f64,
    },
}

/// A bucket of a gap histogram; gaps are uniform in it.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct GapRange {
    /// From this many nanoseconds.
    pub from_ns: f64,
    /// To this many.
    pub to_ns: f64,
    /// Its weight.
    pub share: f64,
}

/// What one operation does: how often, how large, where.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Access {
    /// Its weight among the operations of the phase.
    pub share: f64,
    /// Sizes.
    pub sizes: Vec<SizeRange>,
    /// Where its region starts.
    pub offset: Bytes,
    /// How large its region is.
    pub working_set: Bytes,
    /// Starts are multiples of this.
    pub alignment: Bytes,
    /// The unit of skew: one draw of the skew chooses one cell, and the request starts where it
    /// starts.
    pub cell: Bytes,
    /// Which cells are hot.
    pub skew: Skew,
    /// Share of the fresh draws that walk through the cells in a random order, each once a lap,
    /// instead of following the skew: it sets how fast the footprint grows.
    pub walk_share: f64,
    /// Sequential runs.
    pub runs: Option<Runs>,
    /// Strided runs.
    pub stride: Option<Stride>,
    /// Repeats of recent requests.
    pub recent: Option<Recent>,
}

/// A size, or a range of sizes in steps.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct SizeRange {
    /// Smallest.
    pub from: Bytes,
    /// Largest; equal to `from` for a single size.
    pub to: Bytes,
    /// Sizes between are `from` plus multiples of this, all equally likely.
    pub step: Bytes,
    /// Its weight.
    pub share: f64,
}

impl SizeRange {
    /// One size.
    pub const fn exactly(bytes: Bytes, share: f64) -> Self {
        Self { from: bytes, to: bytes, step: Bytes(512), share }
    }
}

/// How draws spread over the cells of a working set.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub enum Skew {
    /// All alike.
    Uniform,
    /// The k-th hottest cell is drawn in proportion to k^-theta.
    Zipf {
        /// 0 is uniform; web and database blocks lie between 0.6 and 1.2.
        theta: f64,
        /// By how many cells the ranking turns in a million draws.
        drift: f64,
    },
    /// Two classes, alike within.
    HotCold {
        /// Share of the cells that are hot.
        hot_space: f64,
        /// Share of the draws that go to them.
        hot_share: f64,
        /// By how many cells the hot set moves on in a million draws.
        drift: f64,
    },
}

/// Sequential runs: requests that start where an earlier one of the same stream ended.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Runs {
    /// Share of the requests (repeats of recent ones aside) that continue a run.
    pub share: f64,
    /// Mean number of continuations in a run; at least share / (1 - share).
    pub mean_length: f64,
    /// Runs going on at the same time; requests change between them at random.
    pub streams: u32,
}

/// Strided runs: each request starts a fixed distance after the start of the one before.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Stride {
    /// Share of the requests (repeats of recent ones aside) that continue one.
    pub share: f64,
    /// The distance.
    pub distance: Bytes,
    /// Mean number of continuations.
    pub mean_length: f64,
}

/// Repeats: a request with the place and size of a recent one.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Recent {
    /// Share of the requests that repeat.
    pub share: f64,
    /// How far back they reach, in requests of the operation repeated; a power of two. How far back
    /// is log-uniform: each doubling of the distance is equally likely.
    pub window: u32,
    /// Whose requests are repeated.
    pub of: RecentOf,
}

/// Whose requests a repeat repeats.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum RecentOf {
    /// Reads.
    Reads,
    /// Writes.
    Writes,
}

/// A named change to a model, applied by [`Model::variant`].
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Variant {
    /// What follows the `@` in `name@variant`.
    pub name: String,
    /// Factor on working sets.
    pub working_set: f64,
    /// Factor on rates.
    pub rate: f64,
    /// Factor on Zipf exponents.
    pub skew: f64,
    /// Factor on the shares of repeats (capped at 0.99).
    pub recent: f64,
    /// Factor on the shares of walks (capped at 1): fresh space, thus the inverse of overwriting.
    pub walk: f64,
}

impl Variant {
    /// The variant that changes nothing.
    pub fn named(name: &str) -> Self {
        Self { name: name.into(), working_set: 1.0, rate: 1.0, skew: 1.0, recent: 1.0, walk: 1.0 }
    }
}

/// What a model generates on average.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Totals {
    /// Reads.
    pub reads: f64,
    /// Writes.
    pub writes: f64,
    /// Bytes read.
    pub read_bytes: f64,
    /// Bytes written.
    pub write_bytes: f64,
}

impl Access {
    /// The mean size in bytes of a request whose size is drawn (a repeat copies one that was).
    pub fn mean_bytes(&self) -> f64 {
        let total: f64 = self.sizes.iter().map(|s| s.share).sum();
        let sum: f64 =
            self.sizes.iter().map(|s| s.share * (s.from.0 as f64 + s.to.0 as f64) / 2.0).sum();
        sum / total
    }

    /// The largest size.
    pub fn largest(&self) -> Bytes {
        self.sizes.iter().map(|s| s.to).max().unwrap_or(Bytes(0))
    }
}

impl Phase {
    /// The accesses in the order read, write, trim.
    pub fn accesses(&self) -> [Option<&Access>; 3] {
        [self.read.as_ref(), self.write.as_ref(), self.trim.as_ref()]
    }

    /// The weights of read, write, trim, flush; they need not sum to one.
    pub fn shares(&self) -> [f64; 4] {
        let [read, write, trim] = self.accesses().map(|access| access.map_or(0.0, |a| a.share));
        [read, write, trim, self.flush_share]
    }

    /// Mean bytes moved by a request; a trim moves none.
    pub fn mean_bytes(&self) -> f64 {
        let shares = self.shares();
        let moved = self.read.as_ref().map_or(0.0, |a| a.share * a.mean_bytes())
            + self.write.as_ref().map_or(0.0, |a| a.share * a.mean_bytes());
        moved / shares.iter().sum::<f64>()
    }

    /// The long-run rate in requests per second.
    pub fn requests_per_s(&self) -> f64 {
        match &self.arrival {
            Arrival::Fixed(rate)
            | Arrival::Poisson(rate)
            | Arrival::Hyperexponential { rate, .. }
            | Arrival::Bursty { rate, .. } => match *rate {
                Rate::Requests(per_s) => per_s,
                Rate::Bytes(per_s) => per_s / self.mean_bytes(),
            },
            Arrival::Measured { gaps, .. } => {
                let total: f64 = gaps.iter().map(|g| g.share).sum();
                let mean: f64 = gaps.iter().map(|g| g.share * (g.from_ns + g.to_ns) / 2.0).sum();
                1e9 * total / mean
            }
        }
    }
}

impl Tenant {
    /// Requests a second over all phases, and each phase's share of them.
    pub(crate) fn rate_and_mix(&self) -> (f64, Vec<f64>) {
        let spans: Vec<(f64, f64)> = self
            .phases
            .iter()
            .map(|phase| match phase.length {
                Some(PhaseLength::Requests(n)) => (n as f64, n as f64 / phase.requests_per_s()),
                Some(PhaseLength::Seconds(s)) => (s * phase.requests_per_s(), s),
                None => (phase.requests_per_s(), 1.0),
            })
            .collect();
        let requests: f64 = spans.iter().map(|s| s.0).sum();
        let seconds: f64 = spans.iter().map(|s| s.1).sum();
        (requests / seconds, spans.iter().map(|s| s.0 / requests).collect())
    }
}

impl Model {
    /// What `requests` requests of a checked model are expected to add up to (over whole phase
    /// cycles).
    pub fn totals(&self, requests: u64) -> Totals {
        let rates: Vec<(f64, Vec<f64>)> = self.tenants.iter().map(Tenant::rate_and_mix).collect();
        let rate_sum: f64 = rates.iter().map(|r| r.0).sum();
        let mut totals = Totals::default();
        for (tenant, (rate, mix)) in self.tenants.iter().zip(&rates) {
            for (phase, share) in tenant.phases.iter().zip(mix) {
                let count = requests as f64 * rate / rate_sum * share;
                let weight: f64 = phase.shares().iter().sum();
                if let Some(read) = &phase.read {
                    totals.reads += count * read.share / weight;
                    totals.read_bytes += count * read.share / weight * read.mean_bytes();
                }
                if let Some(write) = &phase.write {
                    totals.writes += count * write.share / weight;
                    totals.write_bytes += count * write.share / weight * write.mean_bytes();
                }
            }
        }
        totals
    }
}
