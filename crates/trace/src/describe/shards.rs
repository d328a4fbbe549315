//! Reuse distances and popularity from a spatial sample: SHARDS with a fixed sample size.
//!
//! Waldspurger, Park, Garthwaite, Ahmad, "Efficient MRC Construction with SHARDS", FAST 2015,
//! section 3.2: a page is sampled when its hash is below a threshold, the threshold falls so that
//! at most a fixed number of pages stays sampled, distances are scaled by 1 / rate and each
//! reference counts 1 / rate.
//!
//! The reuse distance of a reference is the number of distinct pages touched since the last one to
//! the same page. The error: while every page is sampled (rate 1), none. Below that, the share of
//! references beyond any distance is estimated from n sampled pages as clusters; for pages of equal
//! popularity its 95 % half-width is at most 0.98 / sqrt(n). With skew it is larger by sqrt(1 +
//! v^2), v being the coefficient of variation of the references per sampled page, and that is what
//! is reported.
//!
//! A reference costs one hash; a sampled one a hash look-up and two Fenwick walks of log2(sample)
//! steps.

use serde::Serialize;
use ssdtune_model::split_mix;
use std::collections::{BinaryHeap, HashMap};
use std::hash::{BuildHasherDefault, Hasher};

/// Pages sampled at most.
pub(super) const SAMPLE_PAGES: usize = 32_768;

/// Reuse distances.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct ReuseDescription {
    /// Page references, all of them.
    pub references: u64,
    /// Share of the references that were the first to their page.
    pub cold_share: f64,
    /// Share of all page numbers that are sampled; 1 is exact.
    pub sample_rate: f64,
    /// Pages in the sample.
    pub sampled_pages: usize,
    /// Half-width of a 95 % interval around any share here; 0 when exact.
    pub error_95: f64,
    /// Shares of the references by distance, powers of two; they add up to 1 - cold_share.
    pub histogram: Vec<ReuseBucket>,
}

/// References at distances `from_pages..=to_pages`.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct ReuseBucket {
    /// Smallest distance.
    pub from_pages: u64,
    /// Largest.
    pub to_pages: u64,
    /// Share of all references.
    pub share: f64,
}

/// Popularity of the pages touched.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct SkewDescription {
    /// Share of the references that go to the hottest 1 % of the pages touched.
    pub top_1_share: f64,
    /// The hottest 10 %.
    pub top_10_share: f64,
    /// The hottest 20 %.
    pub top_20_share: f64,
    /// Zipf exponent of greatest likelihood over the ranked pages. Ranking few references per
    /// page by their own counts looks like skew: below about five a page this is an upper bound.
    pub zipf_theta: f64,
}

/// The hash is its own hash: it is already mixed.
#[derive(Clone, Default)]
struct Identity(u64);

impl Hasher for Identity {
    fn finish(&self) -> u64 {
        self.0
    }
    fn write(&mut self, bytes: &[u8]) {
        bytes.iter().for_each(|&byte| self.0 = self.0.rotate_left(8) ^ u64::from(byte));
    }
    fn write_u64(&mut self, value: u64) {
        self.0 = value;
    }
}

#[derive(Clone, Copy, Debug)]
struct Page {
    position: u32,
    references: u64,
}

/// The sampler.
#[derive(Debug)]
pub(super) struct Shards {
    limit: usize,
    /// Pages hashed below this are sampled.
    threshold: u64,
    heap: BinaryHeap<u64>,
    /// Sampled pages by hash (the hash is a bijection of the page). Never iterated.
    pages: HashMap<u64, Page, BuildHasherDefault<Identity>>,
    /// One at the position of each page's last reference.
    last: Fenwick,
    now: usize,
    references: u64,
    weighted: f64,
    cold: f64,
    distances: [f64; 65],
}

impl Shards {
    /// A sampler of at most `limit` pages.
    pub fn new(limit: usize) -> Self {
        let limit = limit.max(2);
        Self {
            limit,
            threshold: u64::MAX,
            heap: BinaryHeap::with_capacity(limit + 1),
            pages: HashMap::with_capacity_and_hasher(limit + 1, BuildHasherDefault::default()),
            last: Fenwick::new(4 * limit),
            now: 0,
            references: 0,
            weighted: 0.0,
            cold: 0.0,
            distances: [0.0; 65],
        }
    }

    /// A reference to a page.
    pub fn push(&mut self, page: u64) {
        self.references += 1;
        let hash = split_mix(page);
        if hash >= self.threshold {
            return;
        }
        if self.now == self.last.len() {
            self.compact();
        }
        let weight = 1.0 / self.rate();
        self.weighted += weight;
        let position = self.now as u32;
        self.now += 1;
        if let Some(page) = self.pages.get_mut(&hash) {
            let since = self.last.total() - self.last.sum_through(page.position as usize);
            let distance = (f64::from(since) * weight) as u64;
            self.distances[(64 - distance.leading_zeros()) as usize] += weight;
            self.last.add(page.position as usize, -1);
            *page = Page { position, references: page.references + 1 };
        } else {
            self.cold += weight;
            self.pages.insert(hash, Page { position, references: 1 });
            self.heap.push(hash);
        }
        self.last.add(position as usize, 1);
        if self.heap.len() > self.limit {
            self.shrink();
        }
    }

    fn rate(&self) -> f64 {
        if self.threshold == u64::MAX { 1.0 } else { self.threshold as f64 / 2f64.powi(64) }
    }

    /// Drops the page with the greatest hash and samples below it from now on.
    fn shrink(&mut self) {
        let Some(hash) = self.heap.pop() else { return };
        self.threshold = hash;
        if let Some(page) = self.pages.remove(&hash) {
            self.last.add(page.position as usize, -1);
        }
    }

    /// Renumbers the last references 0.. in their order; amortised over three times the limit of
    /// references.
    fn compact(&mut self) {
        let mut order: Vec<(u32, u64)> =
            self.heap.iter().map(|hash| (self.pages[hash].position, *hash)).collect();
        order.sort_unstable();
        self.last.clear();
        for (position, (_, hash)) in order.iter().enumerate() {
            if let Some(page) = self.pages.get_mut(hash) {
                page.position = position as u32;
            }
            self.last.add(position, 1);
        }
        self.now = order.len();
    }

    /// References per sampled page, most first.
    fn popularity(&self) -> Vec<u64> {
        let mut counts: Vec<u64> =
            self.heap.iter().map(|hash| self.pages[hash].references).collect();
        counts.sort_unstable_by(|a, b| b.cmp(a));
        counts
    }

    /// The distances so far.
    pub fn reuse(&self) -> ReuseDescription {
        if self.weighted == 0.0 {
            return ReuseDescription { sample_rate: self.rate(), ..ReuseDescription::default() };
        }
        let bucket = |(bits, &weight): (usize, &f64)| ReuseBucket {
            from_pages: if bits == 0 { 0 } else { 1 << (bits - 1) },
            to_pages: if bits == 0 { 0 } else { u64::MAX >> (64 - bits) },
            share: weight / self.weighted,
        };
        ReuseDescription {
            references: self.references,
            cold_share: self.cold / self.weighted,
            sample_rate: self.rate(),
            sampled_pages: self.heap.len(),
            error_95: self.error_95(),
            histogram: self
                .distances
                .iter()
                .enumerate()
                .filter(|(_, weight)| **weight > 0.0)
                .map(bucket)
                .collect(),
        }
    }

    fn error_95(&self) -> f64 {
        if self.threshold == u64::MAX {
            return 0.0;
        }
        let counts = self.popularity();
        let n = counts.len() as f64;
        let mean = counts.iter().sum::<u64>() as f64 / n;
        let squares: f64 = counts.iter().map(|&c| (c as f64 / mean).powi(2)).sum();
        // squares / n is 1 + v^2.
        (0.98 / n.sqrt() * (squares / n).sqrt()).min(1.0)
    }

    /// The popularity so far.
    pub fn skew(&self) -> SkewDescription {
        let counts = self.popularity();
        let total: u64 = counts.iter().sum();
        if total == 0 {
            return SkewDescription::default();
        }
        let top = |share: f64| {
            let hottest = (counts.len() as f64 * share).ceil() as usize;
            counts[..hottest].iter().sum::<u64>() as f64 / total as f64
        };
        SkewDescription {
            top_1_share: top(0.01),
            top_10_share: top(0.1),
            top_20_share: top(0.2),
            zipf_theta: zipf_theta(&counts),
        }
    }
}

/// The exponent under which the ranked counts are most likely: the one whose mean log-rank is
/// theirs.
pub(crate) fn zipf_theta(counts: &[u64]) -> f64 {
    let logs: Vec<f64> = (1..=counts.len()).map(|rank| (rank as f64).ln()).collect();
    let total: u64 = counts.iter().sum();
    if total == 0 || counts.len() < 2 {
        return 0.0;
    }
    let seen: f64 =
        counts.iter().zip(&logs).map(|(&c, log)| c as f64 * log).sum::<f64>() / total as f64;
    let mean_log = |theta: f64| {
        let (mut weights, mut sum) = (0.0, 0.0);
        for log in &logs {
            let weight = (-theta * log).exp();
            weights += weight;
            sum += weight * log;
        }
        sum / weights
    };
    let (mut low, mut high) = (0.0, 8.0);
    for _ in 0..40 {
        let middle = (low + high) / 2.0;
        if mean_log(middle) > seen { low = middle } else { high = middle }
    }
    (low + high) / 2.0
}

/// Prefix sums under point updates.
#[derive(Debug)]
struct Fenwick {
    sums: Vec<i32>,
    total: i32,
}

impl Fenwick {
    fn new(len: usize) -> Self {
        Self { sums: vec![0; len], total: 0 }
    }

    fn len(&self) -> usize {
        self.sums.len()
    }

    fn total(&self) -> i32 {
        self.total
    }

    fn clear(&mut self) {
        self.sums.fill(0);
        self.total = 0;
    }

    fn add(&mut self, index: usize, change: i32) {
        self.total += change;
        let mut node = index + 1;
        while node <= self.sums.len() {
            self.sums[node - 1] += change;
            node += node & node.wrapping_neg();
        }
    }

    fn sum_through(&self, index: usize) -> i32 {
        let mut node = index + 1;
        let mut sum = 0;
        while node > 0 {
            sum += self.sums[node - 1];
            node &= node - 1;
        }
        sum
    }
}
