//! How many pages were used after some request: the depth at which a page stands in the order of
//! last use, for several kinds of pages at once.
//!
//! Every page is counted in the bucket of its last use, so a use moves one count. A depth is the
//! sum of all later buckets; sums of 64 each are kept so that few buckets are looked at. There are
//! at most 2^18 buckets of equal width (8 MiB); when the trace grows beyond them they are joined in
//! pairs. So a depth is right to the uses of one bucket, and between two buckets it is
//! interpolated.

use super::record::{NEVER, Record};
use ssdtune_ftl::prefetch;

/// Kinds of pages that are counted, see [`Lane`].
pub const LANES: usize = 8;

/// Binary logarithms of the lengths of epochs, in requests, for which changed pages are counted.
pub const EPOCHS: [u32; 4] = [10, 13, 16, 19];

/// The kinds of pages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Lane {
    /// All pages: what a mapping cache holds.
    Touched = 0,
    /// Pages that were read last.
    Read = 1,
    /// Pages that were written last and stay in a data cache, by the times of the trace.
    Written = 2,
    /// Pages that stay in a cache for writes alone, by the times of the trace.
    Dirty = 7,
}

/// Buckets at most.
const BUCKETS: usize = 1 << 18;

/// Buckets of a block.
const BLOCK: usize = 64;

/// Counts, in as many bytes as a cache line has or half as many.
#[derive(Clone, Copy, Default)]
#[repr(align(32))]
struct Counts([u32; LANES]);

impl Counts {
    /// Adds a page to some lanes, or takes it away: `by` is 1 or its opposite.
    #[inline]
    fn change(&mut self, lanes: u32, by: u32) {
        for (lane, count) in self.0.iter_mut().enumerate() {
            let is_in = u32::from(lanes & (1 << lane) != 0).wrapping_neg();
            *count = count.wrapping_add(is_in & by);
        }
    }

    fn add(&mut self, other: &Self) {
        for lane in 0..LANES {
            self.0[lane] = self.0[lane].wrapping_add(other.0[lane]);
        }
    }
}

/// In which lanes a page counts, a bit for each.
#[inline]
fn lanes(record: &Record) -> u32 {
    let (touched, read) = (record.touch != NEVER && !record.trimmed(), record.read_last());
    let twice = touched && !read && record.rewrite != NEVER;
    let near = record.write ^ record.rewrite;
    let within = |nth: usize| u32::from(twice && near >> EPOCHS[nth] == 0) << (3 + nth);
    u32::from(record.touch != NEVER)
        | u32::from(touched && read) << Lane::Read as u32
        | u32::from(touched && !read && record.dirty()) << Lane::Written as u32
        | within(0)
        | within(1)
        | within(2)
        | within(3)
        | u32::from(touched && record.dirty()) << Lane::Dirty as u32
}

/// The counts.
#[derive(Default)]
pub struct Recency {
    buckets: Vec<Counts>,
    /// The sums of [`BLOCK`] buckets each.
    blocks: Vec<Counts>,
    /// Requests of a bucket, as a power of two.
    width: u32,
}

/// How many pages of each kind were used at or after a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Depth {
    /// The request.
    pub since: u32,
    /// The pages.
    pub pages: [u32; LANES],
}

impl Recency {
    /// Moves a page from its last use to its present one.
    #[inline]
    pub fn moved(&mut self, before: &Record, after: &Record) {
        if before.touch != NEVER {
            let (at, was) = ((before.touch >> self.width) as usize, lanes(before));
            self.buckets[at].change(was, u32::MAX);
            self.blocks[at / BLOCK].change(was, u32::MAX);
        }
        if (after.touch >> self.width) as usize >= self.buckets.len() {
            self.grow((after.touch >> self.width) as usize);
        }
        let (at, is) = ((after.touch >> self.width) as usize, lanes(after));
        self.buckets[at].change(is, 1);
        self.blocks[at / BLOCK].change(is, 1);
    }

    /// Asks for what the next use of a page will change.
    #[inline]
    pub fn prefetch(&self, record: &Record) {
        if let Some(bucket) = self.buckets.get((record.touch >> self.width) as usize) {
            prefetch(bucket);
        }
    }

    #[cold]
    fn grow(&mut self, at: usize) {
        if at < BUCKETS {
            let length = (at + 1).next_power_of_two().clamp(BLOCK, BUCKETS);
            self.buckets.resize(length, Counts::default());
            self.blocks.resize(length / BLOCK, Counts::default());
            return;
        }
        for nth in 0..BUCKETS / 2 {
            let mut both = self.buckets[2 * nth];
            both.add(&self.buckets[2 * nth + 1]);
            self.buckets[nth] = both;
        }
        self.buckets[BUCKETS / 2..].fill(Counts::default());
        self.width += 1;
        for (block, buckets) in self.blocks.iter_mut().zip(self.buckets.chunks(BLOCK)) {
            *block = Counts::default();
            buckets.iter().for_each(|bucket| block.add(bucket));
        }
    }

    /// The depths before a request, the latest first: close together where they are small, a tenth
    /// apart where they are large.
    pub fn depths(&self, now: u32) -> Vec<Depth> {
        let mut depths = vec![Depth { since: now, pages: [0; LANES] }];
        let (mut pages, mut told) = (Counts::default(), 0);
        let is_far = |pages: u32, told: u32| u64::from(pages - told) * 12 > u64::from(told);
        let mut end = self.buckets.len();
        while end > 0 {
            // In most blocks there is no bucket to tell of.
            let block = self.blocks[(end - 1) / BLOCK];
            let is_whole = end.is_multiple_of(BLOCK) && end > BLOCK;
            if is_whole && !is_far(pages.0[0] + block.0[0], told) {
                pages.add(&block);
                end -= BLOCK;
                continue;
            }
            end -= 1;
            pages.add(&self.buckets[end]);
            let since = (end as u32) << self.width;
            if since < now && is_far(pages.0[0], told) || end == 0 {
                told = pages.0[0];
                depths.push(Depth { since, pages: pages.0 });
            }
        }
        depths
    }
}

/// The depth of a request in one lane: pages used after it.
pub fn depth(depths: &[Depth], since: u32, lane: usize) -> f64 {
    let after = depths.partition_point(|depth| depth.since > since);
    let value = |depth: &Depth| f64::from(depth.pages[lane]);
    match (after.checked_sub(1).map(|nth| &depths[nth]), depths.get(after)) {
        (Some(late), Some(early)) if late.since > early.since => {
            let part = f64::from(late.since - since) / f64::from(late.since - early.since);
            value(late) + part * (value(early) - value(late))
        }
        (_, Some(one)) | (Some(one), None) => value(one),
        (None, None) => 0.0,
    }
}
