//! The shape of a window: what the means of Eq. 4 hide of its requests.
//!
//! Eq. 4 keeps one size, one share of random requests and one stride for each direction. A window
//! of a real trace has sizes side by side, pages that are used again, several streams in order at a
//! time, and requests that wait for each other. The columns here are counts over the requests
//! themselves, and what [drives of equal units](queue) make of them. None needs to know more of the
//! drive than its size: where requests lie matters on a drive that was filled in order, whose
//! mapping cache holds what was written last.
//!
//! Nearly all columns are logarithms to base 2 (octaves), as latencies are products. What is
//! counted per request is held at 1/64 at least, so that a direction with hardly any requests
//! counts as one without.
//!
//! The first requests of a window say what was used before and are not counted themselves.
//!
//! Cost: 80 ns for each page touched, which is 6 to 17 ms for windows of 3,000 requests of 26 to 74
//! pages, and 100 bytes for each page.

mod queue;
mod reuse;

use queue::Units;
use reuse::Reuse;
use ssdtune_model::Sectors;
use ssdtune_trace::{Op, Request};
use std::collections::HashMap;

/// Sectors of 512 bytes in a page of 4 KiB.
const PAGE: u64 = 8;
/// How far back the end of a request is looked for by one that may continue it, in requests.
const STREAMS: usize = 128;
/// The drives of equal units whose latencies are columns: numbers of units, sectors in a page, and
/// costs of a write.
const UNITS: ([usize; 3], [u64; 2], [u64; 2]) = ([8, 32, 128], [8, 16], [1, 10]);

/// Names of the columns of each direction, in the order of [`Side::columns`].
const SIDE: [&str; 11] = [
    "log2 pages of all requests",
    "log2 pages",
    "log2 partial pages",
    "log2 size",
    "spread of log2 size",
    "log2 pages beside a page",
    "log2 pages of 8 KiB",
    "log2 pages of 16 KiB",
    "share after the last",
    "share after any",
    "share after none",
];
/// Parts of the drive, from its beginning: the share of pages in each is a column.
const PARTS: [u64; 4] = [32, 16, 8, 2];

/// Names of the columns of both directions together, in the order of [`Shape::of`].
const BOTH: [&str; 9] = [
    "log2 depth",
    "write share",
    "log2 pages",
    "share of turns",
    "log2 footprint",
    "share of pages in the first 1/32 of the drive",
    "share of pages in the first 1/16 of the drive",
    "share of pages in the first 1/8 of the drive",
    "share of pages in the first half of the drive",
];

/// The columns of a window at a depth.
#[derive(Clone, Debug, PartialEq)]
pub struct Shape(Vec<f64>);

impl Shape {
    /// The shape of the requests from number `before` on, with `depth` of them outstanding on a
    /// drive of this size. There is at least one. Trims and flushes count as neither reads nor
    /// writes.
    pub fn of(requests: &[Request], before: usize, depth: u32, space: Sectors) -> Self {
        let counted = &requests[before.min(requests.len().saturating_sub(1))..];
        let count = counted.len().max(1) as f64;
        let sides = [Op::Read, Op::Write].map(|op| Side::of(op, requests, before));
        let all: f64 = sides.iter().map(|side| side.pages).sum();
        let turns = counted.windows(2).filter(|two| two[0].op != two[1].op).count() as f64;
        let reuse = Reuse::of(requests, before);
        let mut columns = vec![
            f64::from(depth.max(1)).log2(),
            sides[1].requests / count,
            (all / count).log2(),
            turns / count,
            (reuse.footprint().max(1) as f64).log2(),
        ];
        columns.extend(PARTS.map(|part| share_below(counted, space.0 / part)));
        columns.extend(sides.iter().flat_map(|side| side.columns(count)));
        let touched = reuse.counts().map(|pages| octaves(pages / count));
        columns.extend(touched);
        let latency = |units: Units| units.latency(requests, before, depth).log2();
        columns.extend(drives().map(latency));
        Self(columns)
    }

    /// The values of the columns.
    pub fn columns(&self) -> &[f64] {
        &self.0
    }

    /// The names of the columns.
    pub fn names() -> Vec<String> {
        let mut names: Vec<String> = BOTH.map(str::to_owned).into();
        for side in ["reads", "writes"] {
            names.extend(SIDE.iter().map(|name| format!("{side}: {name}")));
        }
        names.extend(Reuse::NAMES.map(str::to_owned));
        names.extend(drives().map(|Units { count, page, write }| {
            format!("log2 latency on {count} units, pages of {} KiB, writes x {write}", page / 2)
        }));
        names
    }
}

/// The share of pages whose requests begin below this sector.
fn share_below(requests: &[Request], end: u64) -> f64 {
    let pages = |request: &Request| {
        let pages = pages_of(request, PAGE);
        (pages.end - pages.start) as f64
    };
    let below = requests.iter().filter(|request| request.lba.0 < end).map(pages).sum::<f64>();
    below / requests.iter().map(pages).sum::<f64>().max(1.0)
}

/// The logarithm of a number of pages, or of anything else, for each request.
fn octaves(value: f64) -> f64 {
    value.max(1.0 / 64.0).log2()
}

/// The numbers of the pages of `size` sectors that a request touches.
fn pages_of(request: &Request, size: u64) -> std::ops::Range<u64> {
    let end = request.lba.0 + u64::from(request.sectors);
    request.lba.0 / size..end.div_ceil(size)
}

/// Sums over the reads or the writes of a window.
#[derive(Clone, Copy, Debug, Default)]
struct Side {
    requests: f64,
    pages: f64,
    /// Pages touched in part.
    partial: f64,
    /// Sums of the logarithms of sizes in sectors, and of their squares.
    size: f64,
    size_squared: f64,
    /// The sum of squares of pages: over the pages it is the size of the request that a page is of.
    pages_squared: f64,
    /// Pages of 8 and of 16 KiB.
    wide: [f64; 2],
    /// Requests that begin where the one before ended, and where any of the last ones did.
    after_last: f64,
    after_any: f64,
}

impl Side {
    fn of(op: Op, requests: &[Request], before: usize) -> Self {
        let (mut own, mut ends, mut last) = (Self::default(), HashMap::new(), None);
        for (number, request) in requests.iter().enumerate().filter(|one| one.1.op == op) {
            let (begin, end) = (request.lba.0, request.lba.0 + u64::from(request.sectors));
            if number >= before {
                own.add(request);
                own.after_last += f64::from(u8::from(last == Some(begin)));
                let near = |&&at: &&usize| number - at <= STREAMS;
                own.after_any += f64::from(u8::from(ends.get(&begin).filter(near).is_some()));
            }
            ends.insert(end, number);
            last = Some(end);
        }
        own
    }

    fn add(&mut self, request: &Request) {
        let count = |size| {
            let pages = pages_of(request, size);
            (pages.end - pages.start) as f64
        };
        let size = f64::from(request.sectors.max(1)).log2();
        let end = request.lba.0 + u64::from(request.sectors);
        let whole = (end / PAGE).saturating_sub(request.lba.0.div_ceil(PAGE)) as f64;
        self.requests += 1.0;
        self.pages += count(PAGE);
        self.partial += count(PAGE) - whole;
        self.size += size;
        self.size_squared += size * size;
        self.pages_squared += count(PAGE) * count(PAGE);
        self.wide[0] += count(2 * PAGE);
        self.wide[1] += count(4 * PAGE);
    }

    /// The columns named by [`SIDE`], for a window of this many requests.
    fn columns(&self, all: f64) -> [f64; SIDE.len()] {
        let own = self.requests.max(1.0);
        let size = self.size / own;
        [
            octaves(self.pages / all),
            (self.pages / own).max(1.0).log2(),
            octaves(self.partial / all),
            size,
            (self.size_squared / own - size * size).max(0.0).sqrt(),
            (self.pages_squared / self.pages.max(1.0)).max(1.0).log2(),
            octaves(self.wide[0] / all),
            octaves(self.wide[1] / all),
            self.after_last / all,
            self.after_any / all,
            (self.requests - self.after_any) / all,
        ]
    }
}

/// The drives of equal units whose latencies are columns.
fn drives() -> impl Iterator<Item = Units> {
    let (counts, pages, writes) = UNITS;
    let of = move |(count, page)| writes.into_iter().map(move |write| Units { count, page, write });
    counts.into_iter().flat_map(move |count| pages.map(|page| (count, page))).flat_map(of)
}

#[cfg(test)]
mod tests {
    use super::*;
    use ssdtune_model::Nanos;
    use ssdtune_trace::TenantId;

    const SPACE: Sectors = Sectors(1 << 24);

    fn request(op: Op, lba: u64, sectors: u32) -> Request {
        Request { at: Nanos::ZERO, lba: Sectors(lba), sectors, tenant: TenantId(0), op }
    }

    /// The value of a column, found by its name.
    fn column(shape: &Shape, name: &str) -> f64 {
        let names = Shape::names();
        assert_eq!(names.len(), shape.columns().len());
        let place = names.iter().position(|own| own == name);
        shape.columns()[place.unwrap_or_else(|| panic!("no column {name}: {names:?}"))]
    }

    #[test]
    fn pages_and_their_parts_are_counted() {
        // A read of two whole pages, a write of parts of two, one page of 16 KiB in common.
        let requests = [request(Op::Read, 0, 16), request(Op::Write, 20, 8)];
        let shape = Shape::of(&requests, 0, 4, SPACE);
        let of = |name| column(&shape, name);
        assert_eq!(of("log2 depth"), 2.0);
        assert_eq!(of("write share"), 0.5);
        assert_eq!(of("log2 pages"), 1.0);
        assert_eq!(of("log2 footprint"), 2.0);
        assert_eq!(of("reads: log2 pages of all requests"), 0.0);
        assert_eq!(of("reads: log2 partial pages"), -6.0);
        assert_eq!(of("writes: log2 partial pages"), 0.0);
        assert_eq!(of("writes: log2 pages of 16 KiB"), -1.0);
        assert_eq!(of("writes: log2 size"), 3.0);
    }

    #[test]
    fn where_requests_lie_is_seen() {
        // Two pages at the beginning, six in the second quarter.
        let requests = [request(Op::Read, 0, 16), request(Op::Write, 300_000, 48)];
        let shape = Shape::of(&requests, 0, 1, Sectors(1_000_000));
        let of = |part| column(&shape, &format!("share of pages in the first {part} of the drive"));
        assert_eq!(["1/32", "1/16", "1/8", "half"].map(of), [0.25, 0.25, 0.25, 1.0]);
    }

    /// Two streams in order, their requests in turns: none follows the last one, all follow one of
    /// the last.
    #[test]
    fn streams_are_found_among_the_last_requests() {
        let turn = |n: u64| request(Op::Read, (n % 2) * 1_000_000 + n / 2 * 8, 8);
        let requests: Vec<Request> = (0..300).map(turn).collect();
        let shape = Shape::of(&requests, 100, 1, SPACE);
        assert_eq!(column(&shape, "reads: share after the last"), 0.0);
        assert_eq!(column(&shape, "reads: share after any"), 1.0);
        assert_eq!(column(&shape, "reads: share after none"), 0.0);
        // A request that goes on where one ended 200 requests ago follows none.
        let far = |n: u64| request(Op::Read, (n % 200) * 1_000 + n / 200 * 8, 8);
        let requests: Vec<Request> = (0..600).map(far).collect();
        let shape = Shape::of(&requests, 200, 1, SPACE);
        assert_eq!(column(&shape, "reads: share after any"), 0.0);
    }

    /// 4,096 reads of all pages of 16 MiB, spread over the units or one unit after the other: the
    /// columns of waiting tell them apart, and no other column does.
    #[test]
    fn requests_that_wait_for_each_other_are_seen() {
        let of = |page: fn(u64) -> u64| {
            let requests: Vec<Request> =
                (0..4_096).map(|n| request(Op::Read, page(n) * 8, 8)).collect();
            Shape::of(&requests, 0, 16, SPACE)
        };
        let (even, crowded) = (of(|n| n * 5 % 4_096), of(|n| n % 512 * 8 + n / 512));
        let waits =
            |shape| column(shape, "log2 latency on 8 units, pages of 4 KiB, writes x 1").exp2();
        let (short, long) = (waits(&even), waits(&crowded));
        assert!((1.9..2.2).contains(&short), "16 on 8 units: {short}");
        assert!((15.5..16.5).contains(&long), "16 on one: {long}");
        for (at, name) in Shape::names().iter().enumerate() {
            let same = even.columns()[at] == crowded.columns()[at];
            assert!(same || name.contains("latency"), "{name}");
        }
    }
}
