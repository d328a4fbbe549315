//! What a model sees of a workload.
//!
//! [`Characteristics`] are those of the paper, for a point or for a window of a trace. [`Features`]
//! computes the columns of a model from them: Eq. 2 as it is, Eq. 4 as it is, or more columns that
//! follow from Eq. 4. No column needs to know the device: pages are of 4 KiB, whatever the device
//! has.
//!
//! A direction is the reads or the writes of a workload. Sizes are means in bytes. A stride is the
//! gap between the end of a request and the start of the next in bytes, so sequential requests have
//! a stride of 0. A direction without requests has zeros. An octave is a factor of two: a column
//! `in octaves` is a logarithm to base 2.

use super::equations::{Basic, Extended};
use super::point::{Access, Pattern, Point};
use serde::{Deserialize, Serialize};
use ssdtune_trace::Request;

/// The most columns that any set of features has.
pub(crate) const COLUMNS_MAX: usize = 25;

/// The paper's characteristics of a workload.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Characteristics {
    /// The characteristics of Eq. 4; `q_dep` is 0 in an open loop.
    pub extended: Extended,
    /// Share of random requests among all requests, 0 to 1, which Eq. 2 asks for.
    pub rand: f64,
    /// Requests that arrive in a second; `None` in a closed loop.
    pub offered_iops: Option<f64>,
}

impl Characteristics {
    /// The characteristics of a point. Requests of an open loop arrive at `offered_iops` a second.
    pub fn of_point(point: &Point, offered_iops: Option<f64>) -> Self {
        let share = f64::from(point.write_percent()) / 100.0;
        let side = |access: Option<Access>| {
            let Some(Access { bytes, pattern }) = access else { return (0.0, 0.0, 0.0) };
            match pattern {
                Pattern::Random { percent } => (f64::from(bytes), f64::from(percent) / 100.0, 0.0),
                Pattern::Stride { gap_bytes } => (f64::from(bytes), 0.0, f64::from(gap_bytes)),
            }
        };
        let (wr_size, wr_rand, wr_stride) = side(point.write());
        let (rd_size, rd_rand, rd_stride) = side(point.read());
        let q_dep = point.outstanding().unwrap_or(0.0);
        let extended = Extended {
            rw_ratio: share,
            q_dep,
            wr_size,
            rd_size,
            wr_rand,
            rd_rand,
            wr_stride,
            rd_stride,
        };
        let rand = share * wr_rand + (1.0 - share) * rd_rand;
        Self { extended, rand, offered_iops }
    }

    /// The characteristics of the requests of a trace: in a closed loop with `q_dep` of them
    /// outstanding in the mean, or in an open loop with `offered_iops` arriving in a second.
    pub fn of_requests(requests: &[Request], q_dep: f64, offered_iops: Option<f64>) -> Self {
        let mut extended = Extended::of(requests, q_dep);
        // Of a trace, `Extended` measures strides from start to start.
        let gap = |stride: f64, size: f64| (stride - size).max(0.0);
        extended.wr_stride = gap(extended.wr_stride, extended.wr_size);
        extended.rd_stride = gap(extended.rd_stride, extended.rd_size);
        let rand = Basic::of(requests, q_dep).rand;
        Self { extended, rand, offered_iops }
    }

    /// Mean size of a request, in bytes.
    pub fn mean_bytes(&self) -> f64 {
        let Extended { rw_ratio, wr_size, rd_size, .. } = self.extended;
        rw_ratio * wr_size + (1.0 - rw_ratio) * rd_size
    }

    fn basic(&self) -> Basic {
        let Extended { rw_ratio, q_dep, .. } = self.extended;
        Basic { rw_ratio, q_dep, req_size: self.mean_bytes(), rand: self.rand }
    }
}

/// A set of columns that a model sees.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Features {
    /// The four columns of Eq. 2.
    Basic,
    /// The eight columns of Eq. 4.
    Extended,
    /// The columns of Eq. 4, with load, sizes and strides in octaves.
    Octaves,
    /// [`Features::Octaves`] and what follows from Eq. 4: the pages touched and the powers of two
    /// that divide strides, in octaves.
    Derived,
    /// [`Features::Derived`] and the part of each direction in it, for learners that bear many
    /// columns.
    Shares,
}

/// The columns of Eq. 2. The rate of an open loop stands in the column of the depth.
const BASIC: [&str; 4] = ["rw_ratio", "q_dep", "req_size", "rand"];
/// The columns of Eq. 4. The rate of an open loop stands in the column of the depth.
const EXTENDED: [&str; 8] =
    ["rw_ratio", "q_dep", "wr_size", "rd_size", "wr_rand", "rd_rand", "wr_stride", "rd_stride"];
/// The columns of Eq. 4, some of them in octaves: sizes and strides above 512 bytes, load above one
/// request.
const OCTAVES: [&str; 8] = [
    "rw_ratio",
    "log2 q_dep",
    "log2 wr_size",
    "log2 rd_size",
    "wr_rand",
    "rd_rand",
    "log2 wr_stride",
    "log2 rd_stride",
];
/// The columns that [`Features::Derived`] adds to [`OCTAVES`].
const DERIVED: [&str; 8] = [
    "log2 wr_step_divisor",
    "log2 rd_step_divisor",
    "log2 write_pages",
    "log2 read_pages",
    "log2 partial_writes",
    "log2 load_pages",
    "log2 load_work",
    "log2 bytes",
];

/// The columns that [`Features::Shares`] adds to [`DERIVED`].
const SHARES: [&str; 9] = [
    "log2 written_bytes",
    "log2 read_bytes",
    "log2 load_bytes",
    "log2 load_writes",
    "log2 load_reads",
    "random_writes",
    "random_reads",
    "strided_writes",
    "strided_reads",
];

impl Features {
    /// Names of the columns, for an open loop or a closed one.
    pub fn names(self, open: bool) -> Vec<String> {
        let name = |name: &&str| match (open, *name) {
            (true, "q_dep") => "offered_iops".to_owned(),
            (true, "log2 q_dep") => "log2 offered_iops".to_owned(),
            (_, name) => name.to_owned(),
        };
        match self {
            Self::Basic => BASIC.iter().map(name).collect(),
            Self::Extended => EXTENDED.iter().map(name).collect(),
            Self::Octaves => OCTAVES.iter().map(name).collect(),
            Self::Derived => OCTAVES.iter().chain(&DERIVED).map(name).collect(),
            Self::Shares => OCTAVES.iter().chain(&DERIVED).chain(&SHARES).map(name).collect(),
        }
    }

    /// Puts the columns of a workload into the beginning of `row`, and returns how many there are.
    pub fn fill(self, workload: &Characteristics, row: &mut [f64; COLUMNS_MAX]) -> usize {
        let load = workload.offered_iops.unwrap_or(workload.extended.q_dep);
        match self {
            Self::Basic => {
                let mut basic = workload.basic().vector();
                basic[1] = load;
                row[..4].copy_from_slice(&basic);
                4
            }
            Self::Extended => {
                let mut extended = workload.extended.vector();
                extended[1] = load;
                row[..8].copy_from_slice(&extended);
                8
            }
            Self::Octaves => {
                row[..8].copy_from_slice(&octaves(workload, load));
                8
            }
            Self::Derived | Self::Shares => {
                row[..8].copy_from_slice(&octaves(workload, load));
                row[8..16].copy_from_slice(&derived(workload, load));
                if self == Self::Derived {
                    return 16;
                }
                row[16..25].copy_from_slice(&shares(workload, load));
                25
            }
        }
    }

    /// The columns of a workload.
    pub fn row(self, workload: &Characteristics) -> Vec<f64> {
        let mut row = [0.0; COLUMNS_MAX];
        let columns = self.fill(workload, &mut row);
        row[..columns].to_vec()
    }
}

/// The values of the columns [`OCTAVES`].
fn octaves(workload: &Characteristics, load: f64) -> [f64; 8] {
    let all = &workload.extended;
    [
        all.rw_ratio,
        load.max(1e-3).log2(),
        log2(all.wr_size),
        log2(all.rd_size),
        all.wr_rand,
        all.rd_rand,
        log2(all.wr_stride),
        log2(all.rd_stride),
    ]
}

/// The values of the columns [`DERIVED`].
fn derived(workload: &Characteristics, load: f64) -> [f64; 8] {
    let all = &workload.extended;
    let write = Direction { bytes: all.wr_size, random: all.wr_rand, gap: all.wr_stride };
    let read = Direction { bytes: all.rd_size, random: all.rd_rand, gap: all.rd_stride };
    let (writes, reads) = (all.rw_ratio, 1.0 - all.rw_ratio);
    let (write_pages, partial) = write.pages();
    let (write_pages, read_pages) = (writes * write_pages, reads * read.pages().0);
    // A direction with hardly any requests counts as one without: 2^-6 pages at least.
    let least = |value: f64| value.max(2f64.powi(-6)).log2();
    [
        log2(write.step_divisor()),
        log2(read.step_divisor()),
        least(write_pages),
        least(read_pages),
        least(writes * partial),
        (load * (write_pages + read_pages)).max(1e-3).log2(),
        (load * (WRITE_WORK * write_pages + read_pages)).max(1e-3).log2(),
        log2(workload.mean_bytes()),
    ]
}

/// The values of the columns [`SHARES`].
fn shares(workload: &Characteristics, load: f64) -> [f64; 9] {
    let all = &workload.extended;
    let (writes, reads) = (all.rw_ratio, 1.0 - all.rw_ratio);
    // A direction with a stride is never random.
    let strided = |gap: f64, random: f64| f64::from(u8::from(gap > 0.0 && random <= 0.0));
    [
        log2(writes * all.wr_size),
        log2(reads * all.rd_size),
        (load * workload.mean_bytes() / 512.0).max(1e-3).log2(),
        (1.0 + load * writes).log2(),
        (1.0 + load * reads).log2(),
        writes * all.wr_rand,
        reads * all.rd_rand,
        writes * strided(all.wr_stride, all.wr_rand),
        reads * strided(all.rd_stride, all.rd_rand),
    ]
}

/// A size or gap in octaves above 512 bytes; 0 if it is not larger.
fn log2(bytes: f64) -> f64 {
    (bytes / 512.0).max(1.0).log2()
}

/// The reads or the writes of a workload.
struct Direction {
    /// Mean size of a request, in bytes.
    bytes: f64,
    /// Share of random requests, 0 to 1.
    random: f64,
    /// Bytes between the end of a request and the start of the next.
    gap: f64,
}

/// How many pages can be read in the time of writing one: about ten in flash of every kind.
const WRITE_WORK: f64 = 10.0;

/// Size of the pages that work is counted in.
const PAGE_BYTES: f64 = 4096.0;

impl Direction {
    /// The largest power of two that divides the bytes from one start to the next; 0 without
    /// requests. Drives stripe data over powers of two of flash units, so requests with a large
    /// divisor meet few of the units.
    fn step_divisor(&self) -> f64 {
        let step = (self.bytes + self.gap) as u64;
        if step == 0 { 0.0 } else { (1u64 << step.trailing_zeros().min(40)) as f64 }
    }

    /// How many pages a request touches in the mean, and how many of them only in part.
    fn pages(&self) -> (f64, f64) {
        if self.bytes <= 0.0 {
            return (0.0, 0.0);
        }
        // Random requests begin at multiples of their size. Strided ones come in time to every
        // multiple of the divisor of their step.
        let strided = self.gap > 0.0 && self.random <= 0.0;
        let grain = if strided { self.step_divisor().max(512.0) } else { self.bytes };
        touched(self.bytes, PAGE_BYTES, grain.min(PAGE_BYTES))
    }
}

/// How many pages requests touch in the mean, and how many of them only in part, if they begin at
/// all multiples of `grain` bytes within a page equally often.
fn touched(bytes: f64, page: f64, grain: f64) -> (f64, f64) {
    let starts = (page / grain).round().clamp(1.0, 64.0);
    let (mut pages, mut partial) = (0.0, 0.0);
    for number in 0..starts as u32 {
        let start = f64::from(number) * grain % page;
        let end = start + bytes;
        let count = (end / page).ceil();
        let whole = ((end / page).floor() - (start / page).ceil()).max(0.0);
        pages += count;
        partial += count - whole;
    }
    (pages / starts, partial / starts)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::blackbox::requests::PointRequests;
    use ssdtune_model::Bytes;

    fn of(name: &str) -> Characteristics {
        Characteristics::of_point(&name.parse().unwrap(), None)
    }

    /// The characteristics of a point are those that its requests show.
    #[test]
    fn a_points_characteristics_are_those_of_its_requests() {
        for name in ["w25-q16-W64k.r50-R4k.s16k", "w100-q4-W1k.s4k", "w0-q1-R256k.r100"] {
            let point: Point = name.parse().unwrap();
            let requests: Vec<Request> =
                PointRequests::new(&point, Bytes::from_gib(64), 3).take(20_000).collect();
            let (said, seen) = (
                Characteristics::of_point(&point, None),
                Characteristics::of_requests(&requests, point.outstanding().unwrap(), None),
            );
            for (said, seen) in said.extended.vector().into_iter().zip(seen.extended.vector()) {
                assert!((said - seen).abs() <= 0.02 * said.abs().max(1.0), "{name}: {said} {seen}");
            }
        }
    }

    #[test]
    fn every_column_has_a_name() {
        use Features::{Basic, Derived, Extended, Octaves, Shares};
        for features in [Basic, Extended, Octaves, Derived, Shares] {
            let row = features.row(&of("w50-q16-W64k.r50-R4k.s16k"));
            assert_eq!(row.len(), features.names(false).len(), "{features:?}");
            assert!(row.iter().all(|value| value.is_finite()), "{row:?}");
        }
        assert_eq!(Features::Basic.names(true)[1], "offered_iops");
    }

    /// The means agree with counting the pages of the point's own requests.
    #[test]
    fn pages_are_as_counted() {
        for name in ["w100-q1-W4k.r100", "w100-q1-W1k.s4k", "w100-q1-W16k.s1k", "w100-q1-W64k.s16k"]
        {
            let point: Point = name.parse().unwrap();
            let access = point.write().unwrap();
            let gap = match access.pattern {
                Pattern::Stride { gap_bytes } => f64::from(gap_bytes),
                Pattern::Random { .. } => 0.0,
            };
            let random = f64::from(u8::from(gap == 0.0));
            let direction = Direction { bytes: f64::from(access.bytes), random, gap };
            let (mut pages, mut partial) = (0u64, 0u64);
            let count = 4096;
            for request in PointRequests::new(&point, Bytes::from_gib(8), 1).take(count) {
                for page in request.lba.0 / 8..request.end().0.div_ceil(8) {
                    pages += 1;
                    let inside = request.lba.0 <= 8 * page && 8 * (page + 1) <= request.end().0;
                    partial += u64::from(!inside);
                }
            }
            let (said, part) = direction.pages();
            let (seen, seen_part) = (pages as f64 / count as f64, partial as f64 / count as f64);
            assert!((said - seen).abs() < 0.01 * said, "{name}: {said} pages, {seen} seen");
            assert!((part - seen_part).abs() < 0.01, "{name}: {part} in part, {seen_part} seen");
        }
    }
}
