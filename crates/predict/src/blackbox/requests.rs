//! The requests of a point, as many as are wanted.
//!
//! Random places are multiples of the request's size, uniform over the drive. Reads begin at the
//! start of the drive and writes in its middle; a direction that comes to the end of the drive goes
//! on at its start.
//!
//! Which requests are writes, which of them jump, where to, and when they arrive is drawn from four
//! random streams. All points of a seed share them (common random numbers): two points differ by
//! their characteristics and not by their luck.

use super::point::{Access, Pattern, Point};
use rand::{RngExt, SeedableRng};
use rand_distr::Exp1;
use rand_pcg::Pcg64;
use ssdtune_model::{Bytes, Nanos, SECTOR_BYTES, Sectors};
use ssdtune_trace::{Op, Request, TenantId};

/// Sectors of 1 MiB: the address space is cut to a multiple of it.
const UNIT_SECTORS: u64 = (1 << 20) / SECTOR_BYTES;

/// The requests of one point, without end.
#[derive(Clone, Debug)]
pub struct PointRequests {
    write_share: f64,
    write: Option<Walk>,
    read: Option<Walk>,
    ops: Pcg64,
    arrivals: Arrivals,
}

/// When requests arrive, in nanoseconds.
#[derive(Clone, Debug)]
struct Arrivals {
    rng: Pcg64,
    /// Mean time between two requests; 0 if they have no times of their own.
    mean_ns: f64,
    at_ns: f64,
}

/// The places of one direction's requests.
#[derive(Clone, Debug)]
struct Walk {
    access: Access,
    sectors: u64,
    space: u64,
    next: u64,
    rng: Pcg64,
}

impl PointRequests {
    /// Requests over an address space. They have no times of their own: all are at time 0.
    pub fn new(point: &Point, space: Bytes, seed: u64) -> Self {
        // At least a few requests of the largest size, however small the drive.
        let largest = [point.write(), point.read()].into_iter().flatten().map(|a| a.bytes).max();
        let least = 4 * u64::from(largest.unwrap_or(0)) / SECTOR_BYTES;
        let space = (space.sectors_floor().0 / UNIT_SECTORS * UNIT_SECTORS).max(least);
        let middle = space / UNIT_SECTORS / 2 * UNIT_SECTORS;
        let walk = |access: Option<Access>, start, stream| {
            access.map(|access| Walk {
                access,
                sectors: u64::from(access.bytes) / SECTOR_BYTES,
                space,
                next: start,
                rng: draws(seed, stream),
            })
        };
        Self {
            write_share: f64::from(point.write_percent()) / 100.0,
            write: walk(point.write(), middle, 1),
            read: walk(point.read(), 0, 2),
            ops: draws(seed, 3),
            arrivals: Arrivals { rng: draws(seed, 4), mean_ns: 0.0, at_ns: 0.0 },
        }
    }

    /// From now on requests arrive at random times (a Poisson process), this many a second.
    pub fn at_rate(&mut self, now: Nanos, rate_iops: f64) {
        self.arrivals.at_ns = now.0 as f64;
        self.arrivals.mean_ns = 1e9 / rate_iops;
    }

    /// From now on requests have no times of their own: all are at time 0.
    pub fn at_once(&mut self) {
        self.arrivals.at_ns = 0.0;
        self.arrivals.mean_ns = 0.0;
    }
}

/// One of the random streams of a seed.
fn draws(seed: u64, stream: u64) -> Pcg64 {
    Pcg64::seed_from_u64(seed.wrapping_mul(8).wrapping_add(stream))
}

impl Walk {
    /// The place of the next request.
    fn step(&mut self) -> Sectors {
        // Both draws are made for every request, so that request n has the same in all points.
        let (jump, place): (f64, f64) = (self.rng.random(), self.rng.random());
        match self.access.pattern {
            Pattern::Random { percent } if jump * 100.0 < f64::from(percent) => {
                let slots = self.space / self.sectors;
                self.next = ((place * slots as f64) as u64).min(slots - 1) * self.sectors;
            }
            _ => {}
        }
        if self.next + self.sectors > self.space {
            self.next = 0;
        }
        let here = self.next;
        self.next += self.sectors;
        if let Pattern::Stride { gap_bytes } = self.access.pattern {
            self.next += u64::from(gap_bytes) / SECTOR_BYTES;
        }
        Sectors(here)
    }
}

impl Iterator for PointRequests {
    type Item = Request;

    fn next(&mut self) -> Option<Request> {
        let is_write = self.ops.random::<f64>() < self.write_share;
        let (walk, op) = match is_write {
            true => (self.write.as_mut(), Op::Write),
            false => (self.read.as_mut(), Op::Read),
        };
        let walk = walk?;
        let Arrivals { rng, mean_ns, at_ns } = &mut self.arrivals;
        if *mean_ns > 0.0 {
            *at_ns += rng.sample::<f64, _>(Exp1) * *mean_ns;
        }
        let at = *at_ns;
        let (lba, sectors) = (walk.step(), walk.sectors as u32);
        Some(Request { at: Nanos(at as u64), lba, sectors, tenant: TenantId(0), op })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::blackbox::equations::{Basic, Extended};

    fn some(name: &str, count: usize) -> Vec<Request> {
        let point: Point = name.parse().unwrap();
        let mut requests = PointRequests::new(&point, Bytes::from_gib(64), 1);
        requests.at_rate(Nanos::ZERO, 1000.0);
        requests.take(count).collect()
    }

    /// The characteristics that are measured on the requests are those of the point.
    #[test]
    fn a_stream_has_its_points_characteristics() {
        let requests = some("w25-q16-W64k.r50-R4k.s16k", 20_000);
        let found = Extended::of(&requests, 16.0);
        assert!((found.rw_ratio - 0.25).abs() < 0.01, "{found:?}");
        assert_eq!((found.wr_size, found.rd_size), (65536.0, 4096.0));
        assert!((found.wr_rand - 0.5).abs() < 0.02 && found.rd_rand < 0.001, "{found:?}");
        // A trace's stride is from start to start.
        assert_eq!((found.wr_stride, found.rd_stride), (0.0, 20480.0));
        let all = Basic::of(&some("w100-q1-W16k.r0", 1000), 1.0);
        assert_eq!((all.rand, all.req_size, all.rw_ratio), (0.0, 16384.0, 1.0));
        assert!(Basic::of(&some("w0-q1-R16k.r100", 1000), 1.0).rand > 0.99);
    }

    #[test]
    fn arrivals_have_their_rate_and_all_requests_lie_on_the_drive() {
        let requests = some("w50-l50-W256k.r100-R1k.r100", 20_000);
        let rate = requests.len() as f64 / requests.last().unwrap().at.0 as f64 * 1e9;
        assert!((rate - 1000.0).abs() < 25.0, "{rate}");
        assert!(requests.windows(2).all(|pair| pair[0].at <= pair[1].at));
        let end = Bytes::from_gib(64).sectors_floor();
        assert!(requests.iter().all(|request| request.end() <= end));
    }

    /// The request with some number jumps in both points or in none, to the same part of the drive.
    #[test]
    fn points_share_their_luck() {
        let (a, b) = (some("w50-q1-W4k.r100-R4k.r0", 500), some("w50-q9-W64k.r100-R1k.r50", 500));
        for (a, b) in a.iter().zip(&b) {
            assert_eq!(a.op, b.op);
            assert!(a.op == Op::Read || a.lba.0.abs_diff(b.lba.0) < 256, "{a:?} {b:?}");
        }
    }
}
