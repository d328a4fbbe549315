//! How many pages were used after some request: the depth at which a page stands in the order of
//! last use, for several kinds of pages at once.
//!
//! Every page is counted in the bucket of its last use, so a use moves one count. A depth is the
//! sum of all later buckets. There are at most 2^18 buckets of equal width (8 MiB); when the trace
//! grows beyond them they are joined in pairs. So a depth is right to the uses of one bucket, and
//! between two buckets it is interpolated.

use super::record::{NEVER, Record};

/// Kinds of pages that are counted, see [`Lane`].
pub const LANES: usize = 8;

/// Binary logarithms of the lengths of epochs, in requests, for which changed pages are counted.
pub const EPOCHS: [u32; 4] = [13, 15, 17, 19];

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

/// In which lanes a page counts.
#[inline]
fn lanes(record: &Record) -> [u32; LANES] {
    let (touched, read) = (record.touch != NEVER && !record.trimmed(), record.read_last());
    let twice = touched && !read && record.rewrite != NEVER;
    let near = record.write ^ record.rewrite;
    let within = |bits: u32| u32::from(twice && near >> bits == 0);
    [
        u32::from(record.touch != NEVER),
        u32::from(touched && read),
        u32::from(touched && !read && record.dirty()),
        within(EPOCHS[0]),
        within(EPOCHS[1]),
        within(EPOCHS[2]),
        within(EPOCHS[3]),
        u32::from(touched && record.dirty()),
    ]
}

/// The counts.
#[derive(Default)]
pub struct Recency {
    buckets: Vec<[u32; LANES]>,
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
            let bucket = &mut self.buckets[(before.touch >> self.width) as usize];
            for (count, was) in bucket.iter_mut().zip(lanes(before)) {
                *count = count.wrapping_sub(was);
            }
        }
        let at = (after.touch >> self.width) as usize;
        if at >= self.buckets.len() {
            self.grow(at);
        }
        let at = (after.touch >> self.width) as usize;
        for (count, is) in self.buckets[at].iter_mut().zip(lanes(after)) {
            *count = count.wrapping_add(is);
        }
    }

    #[cold]
    fn grow(&mut self, at: usize) {
        if at < BUCKETS {
            self.buckets.resize((at + 1).next_power_of_two().min(BUCKETS), [0; LANES]);
            return;
        }
        for nth in 0..BUCKETS / 2 {
            let (one, other) = (self.buckets[2 * nth], self.buckets[2 * nth + 1]);
            self.buckets[nth] = std::array::from_fn(|lane| one[lane] + other[lane]);
        }
        self.buckets[BUCKETS / 2..].fill([0; LANES]);
        self.width += 1;
    }

    /// The depths before a request, the latest first: close together where they are small, a tenth
    /// apart where they are large.
    pub fn depths(&self, now: u32) -> Vec<Depth> {
        let mut depths = vec![Depth { since: now, pages: [0; LANES] }];
        let (mut pages, mut told) = ([0_u32; LANES], 0);
        for (nth, bucket) in self.buckets.iter().enumerate().rev() {
            for (sum, count) in pages.iter_mut().zip(bucket) {
                *sum += count;
            }
            let since = (nth as u32) << self.width;
            if since < now && (pages[0] - told) * 12 > told || nth == 0 {
                told = pages[0];
                depths.push(Depth { since, pages });
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
