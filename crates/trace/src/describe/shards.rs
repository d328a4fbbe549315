//! Reuse distances and popularity of pages from a spatial sample: SHARDS with a fixed sample size.
//!
//! After Waldspurger, Park, Garthwaite, Ahmad, "Efficient MRC Construction with SHARDS", FAST 2015,
//! section 3.2. A page is sampled if its hash is below a threshold. The threshold falls so that at
//! most a fixed number of pages stays sampled. Distances are multiplied by 1 / rate, and each
//! reference counts 1 / rate times.
//!
//! The reuse distance of a reference is the number of distinct pages touched since the last
//! reference to the page. While every page is sampled (rate 1), the distances are exact. Below
//! that, the n sampled pages are a sample of clusters. For pages of equal popularity, the share of
//! references beyond any distance has a 95 % half-width of at most 0.98 / sqrt(n). With skew it is
//! larger by sqrt(1 + v^2), where v is the coefficient of variation of the references to a sampled
//! page. This is the error reported.
//!
//! A reference costs one hash. A sampled reference also costs a look-up in a hash table and two
//! walks of log2(sample) steps in a Fenwick tree.

use serde::Serialize;
use ssdtune_model::split_mix;
use std::collections::{BinaryHeap, HashMap};
use std::hash::{BuildHasherDefault, Hasher};

/// The largest number of pages in the sample.
pub(super) const SAMPLE_PAGES: usize = 32_768;

/// Reuse distances of pages, estimated from a sample.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct ReuseDescription {
    /// The number of references to pages, sampled or not.
    pub references: u64,
    /// The share of references that are the first to their page, 0 to 1.
    pub cold_share: f64,
    /// The share of pages that are sampled, 0 to 1; at 1 the description is exact.
    pub sample_rate: f64,
    /// The number of pages in the sample.
    pub sampled_pages: usize,
    /// The half-width of a 95 % interval around any share here; 0 if exact.
    pub error_95: f64,
    /// The shares of references by distance, in powers of two. They sum to 1 - `cold_share`.
    pub histogram: Vec<ReuseBucket>,
}

/// The references at distances `from_pages..=to_pages`.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct ReuseBucket {
    /// The smallest distance, in distinct pages.
    pub from_pages: u64,
    /// The largest distance, in distinct pages.
    pub to_pages: u64,
    /// The share among all references, 0 to 1.
    pub share: f64,
}

/// How popular the touched pages are, estimated from a sample.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct SkewDescription {
    /// The share of references that go to the hottest 1 % of the touched pages, 0 to 1.
    pub top_1_share: f64,
    /// The share of references that go to the hottest 10 % of the touched pages, 0 to 1.
    pub top_10_share: f64,
    /// The share of references that go to the hottest 20 % of the touched pages, 0 to 1.
    pub top_20_share: f64,
    /// The Zipf exponent of maximum likelihood over the ranked pages. Ranking pages by few
    /// references looks like skew: with fewer than about five references per page this is an upper
    /// bound.
    pub zipf_theta: f64,
}

/// A hasher that returns its input, because the keys are hashes already.
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

/// A sampled page: the position of its last reference, and the number of its references.
#[derive(Clone, Copy, Debug)]
struct Page {
    position: u32,
    references: u64,
}

/// The sampler of references.
#[derive(Debug)]
pub(super) struct Shards {
    limit: usize,
    /// Pages whose hash is below this are sampled.
    threshold: u64,
    heap: BinaryHeap<u64>,
    /// The sampled pages by hash, which is a bijection of the page. Never iterated.
    pages: HashMap<u64, Page, BuildHasherDefault<Identity>>,
    /// Has a one at the position of the last reference to each page.
    last: Fenwick,
    now: usize,
    references: u64,
    weighted: f64,
    cold: f64,
    distances: [f64; 65],
}

impl Shards {
    /// A sampler that keeps at most `limit` pages.
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

    /// Adds a reference to a page.
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

    /// The share of pages that are sampled.
    fn rate(&self) -> f64 {
        if self.threshold == u64::MAX { 1.0 } else { self.threshold as f64 / 2f64.powi(64) }
    }

    /// Drops the page with the greatest hash, which becomes the new threshold.
    fn shrink(&mut self) {
        let Some(hash) = self.heap.pop() else { return };
        self.threshold = hash;
        if let Some(page) = self.pages.remove(&hash) {
            self.last.add(page.position as usize, -1);
        }
    }

    /// Renumbers the positions of the last references from 0, in their order. This happens once in
    /// at least three times `limit` sampled references.
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

    /// The number of references to each sampled page, in falling order.
    fn popularity(&self) -> Vec<u64> {
        let mut counts: Vec<u64> =
            self.heap.iter().map(|hash| self.pages[hash].references).collect();
        counts.sort_unstable_by(|a, b| b.cmp(a));
        counts
    }

    /// The reuse distances of the references so far.
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

    /// The half-width of a 95 % interval around a share.
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

    /// The popularity of the pages so far.
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

/// The Zipf exponent of maximum likelihood: the one whose mean log-rank is that of the ranked
/// counts.
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

/// A Fenwick tree: prefix sums of a list whose numbers change.
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
