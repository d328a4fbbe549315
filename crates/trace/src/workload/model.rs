//! A workload model as plain data. Nothing is checked here; [`check`](super::check) does that.

use serde::{Deserialize, Serialize};
use ssdtune_model::Bytes;

/// A workload model.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Model {
    /// The name in commands and reports: lower-case letters, digits, `-` and `_`.
    pub name: String,
    /// Other names of the model.
    pub aliases: Vec<String>,
    /// A description in one sentence.
    pub description: String,
    /// The published figures that the model was fitted to.
    pub source: String,
    /// The parts of the model that are guesses.
    pub guesses: Vec<String>,
    /// The number of requests in a trace of the model, unless another is asked for.
    pub requests: u64,
    /// The tenants, at least one. Their streams are merged by time.
    pub tenants: Vec<Tenant>,
    /// Named changes of the model, to check how much its guesses matter.
    pub variants: Vec<Variant>,
}

/// The stream of one tenant: phases that follow each other and then start again.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Tenant {
    /// The name in reports.
    pub name: String,
    /// The phases, at least one.
    pub phases: Vec<Phase>,
}

/// A period in which the statistics of a stream do not change.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Phase {
    /// The length of the phase. A single phase may have none and never ends.
    pub length: Option<PhaseLength>,
    /// The times of the requests.
    pub arrival: Arrival,
    /// The reads, if any.
    pub read: Option<Access>,
    /// The writes, if any.
    pub write: Option<Access>,
    /// The trims, if any.
    pub trim: Option<Access>,
    /// The weight of flushes, relative to the shares of the reads, writes and trims.
    pub flush_share: f64,
}

/// The length of a phase.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub enum PhaseLength {
    /// A number of requests of the tenant.
    Requests(u64),
    /// A duration in seconds. A request that would arrive after its end belongs to the next phase.
    Seconds(f64),
}

/// The long-run mean rate of an arrival process.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub enum Rate {
    /// Requests per second.
    Requests(f64),
    /// Bytes per second. They are converted to requests by the mean size in the phase.
    Bytes(f64),
}

/// The process that sets the times of requests.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum Arrival {
    /// Equal gaps.
    Fixed(Rate),
    /// Exponential gaps.
    Poisson(Rate),
    /// A mixture of two exponential gaps with balanced means: a heavier tail, and no memory.
    Hyperexponential {
        /// The mean rate.
        rate: Rate,
        /// The standard deviation of a gap divided by its mean; 1 is Poisson.
        gap_variation: f64,
    },
    /// A Markov-modulated Poisson process with two states, bursts and quiet periods.
    Bursty {
        /// The mean rate over both states.
        rate: Rate,
        /// The share of time in bursts, between 0 and 1.
        burst_share: f64,
        /// The rate in bursts divided by the mean rate. At 1 / `burst_share`, its largest value,
        /// quiet periods have no requests.
        burst_factor: f64,
        /// The mean length of a burst in seconds.
        burst_s: f64,
    },
    /// A measured histogram of gaps with persistence: a discrete autoregressive process, which
    /// keeps the histogram.
    Measured {
        /// The buckets of the histogram.
        gaps: Vec<GapRange>,
        /// The probability, below 1, that the next gap comes from the bucket of the last one.
        persistence: f64,
    },
}

/// A bucket of a histogram of gaps. Gaps are uniform inside it.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct GapRange {
    /// The smallest gap in nanoseconds.
    pub from_ns: f64,
    /// The largest gap in nanoseconds.
    pub to_ns: f64,
    /// The weight of the bucket.
    pub share: f64,
}

/// The requests of one operation: how often, how large, and where.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Access {
    /// The weight among the operations of the phase.
    pub share: f64,
    /// The sizes and their weights.
    pub sizes: Vec<SizeRange>,
    /// The start of the region.
    pub offset: Bytes,
    /// The size of the region.
    pub working_set: Bytes,
    /// Requests at new places start at multiples of this.
    pub alignment: Bytes,
    /// The unit of skew. A draw chooses a cell, and the request starts at its beginning.
    pub cell: Bytes,
    /// Cells of like heat lie side by side in ranges of this size, which are scattered over the
    /// region. 0: every cell lies by itself.
    #[serde(default)]
    pub neighbourhood: Bytes,
    /// How the draws spread over the cells.
    pub skew: Skew,
    /// The share of new places that walk through the cells in a random order, each cell once in a
    /// lap, and do not follow the skew. It sets how fast the footprint grows.
    pub walk_share: f64,
    /// Sequential runs.
    pub runs: Option<Runs>,
    /// Strided runs.
    pub stride: Option<Stride>,
    /// Repeats of recent requests.
    pub recent: Option<Recent>,
}

/// A size, or a range of equally likely sizes.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct SizeRange {
    /// The smallest size.
    pub from: Bytes,
    /// The largest size; equal to `from` for a single size.
    pub to: Bytes,
    /// The step between the sizes, from `from` upwards.
    pub step: Bytes,
    /// The weight of the size or range.
    pub share: f64,
}

impl SizeRange {
    /// A single size.
    pub const fn exactly(bytes: Bytes, share: f64) -> Self {
        Self { from: bytes, to: bytes, step: Bytes(512), share }
    }
}

/// How draws spread over the cells of a working set.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub enum Skew {
    /// All cells are equally likely.
    Uniform,
    /// The k-th hottest cell is drawn with a probability proportional to k^-theta.
    Zipf {
        /// The exponent. 0 is uniform; block traces of web servers and databases have 0.6 to 1.2.
        theta: f64,
        /// The number of cells by which the ranking rotates in a million draws.
        drift: f64,
    },
    /// Two classes of cells, each uniform inside.
    HotCold {
        /// The share of the cells that are hot.
        hot_space: f64,
        /// The share of the draws that go to hot cells.
        hot_share: f64,
        /// The number of cells by which the hot set moves in a million draws.
        drift: f64,
    },
}

/// Sequential runs: a request starts where an earlier one of the stream ended.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Runs {
    /// The share of requests that continue a run, without counting repeats of recent requests.
    pub share: f64,
    /// The mean number of continuations in a run; at least share / (1 - share).
    pub mean_length: f64,
    /// The number of runs at the same time. Requests switch between them at random.
    pub streams: u32,
}

/// Strided runs: a request starts a fixed distance after the start of the one before it.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Stride {
    /// The share of requests that continue a strided run, without counting repeats of recent
    /// requests.
    pub share: f64,
    /// The distance from start to start.
    pub distance: Bytes,
    /// The mean number of continuations in a strided run.
    pub mean_length: f64,
}

/// Repeats: a request with the place and size of a recent one.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Recent {
    /// The share of requests that are repeats.
    pub share: f64,
    /// How far back repeats reach, in requests of the repeated operation; a power of two. The
    /// distance is log-uniform: each doubling is equally likely.
    pub window: u32,
    /// The operation whose requests are repeated.
    pub of: RecentOf,
}

/// The operation whose requests are repeated.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum RecentOf {
    /// Reads.
    Reads,
    /// Writes.
    Writes,
}

/// A named change of a model. [`Model::variant`] applies it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Variant {
    /// The name: the part after the `@` in `name@variant`.
    pub name: String,
    /// The factor on working sets.
    pub working_set: f64,
    /// The factor on rates.
    pub rate: f64,
    /// The factor on Zipf exponents.
    pub skew: f64,
    /// The factor on the shares of repeats, which stay at most 0.99.
    pub recent: f64,
    /// The factor on the shares of walks, which stay at most 1. More walking means more new space
    /// and less overwriting.
    pub walk: f64,
    /// The neighbourhood of all skewed accesses, if it is another one.
    #[serde(default)]
    pub neighbourhood: Option<Bytes>,
}

impl Variant {
    /// A variant that changes nothing.
    pub fn named(name: &str) -> Self {
        let name = name.into();
        let (working_set, rate, skew, recent, walk) = (1.0, 1.0, 1.0, 1.0, 1.0);
        Self { name, working_set, rate, skew, recent, walk, neighbourhood: None }
    }
}

/// The expected amounts in a stream of a model.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Totals {
    /// The number of reads.
    pub reads: f64,
    /// The number of writes.
    pub writes: f64,
    /// Bytes read.
    pub read_bytes: f64,
    /// Bytes written.
    pub write_bytes: f64,
}

impl Access {
    /// The mean size in bytes of a request whose size is drawn. Repeats take the size of the
    /// request they repeat.
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
    /// The reads, writes and trims, in this order.
    pub fn accesses(&self) -> [Option<&Access>; 3] {
        [self.read.as_ref(), self.write.as_ref(), self.trim.as_ref()]
    }

    /// The weights of reads, writes, trims and flushes. They need not sum to one.
    pub fn shares(&self) -> [f64; 4] {
        let [read, write, trim] = self.accesses().map(|access| access.map_or(0.0, |a| a.share));
        [read, write, trim, self.flush_share]
    }

    /// The mean number of bytes that a request of the phase reads or writes.
    pub fn mean_bytes(&self) -> f64 {
        let shares = self.shares();
        let moved = self.read.as_ref().map_or(0.0, |a| a.share * a.mean_bytes())
            + self.write.as_ref().map_or(0.0, |a| a.share * a.mean_bytes());
        moved / shares.iter().sum::<f64>()
    }

    /// The long-run mean rate in requests per second.
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
    /// The rate over all phases in requests per second, and the share of each phase in the
    /// requests.
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
    /// The expected amounts in `requests` requests of a checked model, averaged over whole cycles
    /// of phases.
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
