//! The requests of a point in a closed loop, and where they lie.

use crate::point::{Direction, Point};
use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64;
use ssdtune_model::{CheckedConfig, Nanos, SECTOR_BYTES, Sectors};
use ssdtune_trace::{Op, Request, TenantId};

/// The requests of a point.
pub(super) struct Requests {
    rng: Pcg64,
    left: u64,
    read_share: f64,
    direction: Direction,
    is_mixed: bool,
    places: Places,
    sectors: u32,
}

impl Requests {
    /// `total` requests; `None` if the space is too small.
    pub(super) fn new(
        point: &Point,
        drive: &CheckedConfig,
        space: Sectors,
        total: u64,
        seed: u64,
    ) -> Option<Self> {
        let mut rng = Pcg64::seed_from_u64(seed);
        let sectors = u64::from(point.block_bytes) / SECTOR_BYTES;
        let page = u64::from(drive.geometry().page_bytes) / SECTOR_BYTES;
        let planes = drive.geometry().planes();
        let places = match point.operation.is_sequential() {
            true => Places::in_order(sectors, space)?,
            false => {
                let step = if point.file_system().is_some() { sectors.min(page) } else { sectors };
                let spread = Spread { sectors, step, page: page.max(1), planes };
                Places::spread(spread, space, total, &mut rng)?
            }
        };
        Some(Self {
            rng,
            left: total,
            read_share: point.read_percent / 100.0,
            direction: point.operation.direction(),
            is_mixed: point.operation.is_mixed(),
            places,
            sectors: u32::try_from(sectors).ok()?,
        })
    }
}

impl Iterator for Requests {
    type Item = Request;

    fn next(&mut self) -> Option<Request> {
        self.left = self.left.checked_sub(1)?;
        let op = match (self.is_mixed, self.direction) {
            (true, _) if self.rng.random::<f64>() < self.read_share => Op::Read,
            (true, _) | (false, Direction::Write) => Op::Write,
            (false, Direction::Read) => Op::Read,
        };
        let (at, lba) = (Nanos::ZERO, self.places.next(&mut self.rng));
        Some(Request { at, lba, sectors: self.sectors, tenant: TenantId(0), op })
    }
}

/// How requests at random places spread over a drive.
struct Spread {
    /// Sectors of a request.
    sectors: u64,
    /// Sectors between places where requests may begin, at least.
    step: u64,
    /// Sectors of a page.
    page: u64,
    planes: u64,
}

/// Where requests lie.
enum Places {
    /// One behind the other, from the start again at the end.
    InOrder { sectors: u64, slots: u64, next: u64 },
    /// On pages that spread evenly over the planes.
    Spread {
        /// Sectors of a unit: a page, or a request if that is longer and lies at multiples of its
        /// size.
        unit: u64,
        /// Requests that fit into a unit.
        parts: u64,
        sectors: u64,
        /// Units whose numbers differ by this lie on the same plane.
        classes: u64,
        /// Units of each class.
        rounds: u64,
        /// The classes of the requests to come, in random order.
        order: Vec<u32>,
    },
}

impl Places {
    fn in_order(sectors: u64, space: Sectors) -> Option<Self> {
        let slots = space.0 / sectors;
        (slots > 0).then_some(Self::InOrder { sectors, slots, next: 0 })
    }

    /// Logical pages whose numbers differ by the number of planes lie on one plane, as long as data
    /// were written in the order of addresses.
    fn spread(of: Spread, space: Sectors, total: u64, rng: &mut Pcg64) -> Option<Self> {
        let Spread { sectors, step, page, planes } = of;
        let unit = step.next_multiple_of(page);
        let pages = unit / page;
        let classes = planes / common_divisor(planes, pages);
        // The last one that begins on the drive ends on it, too.
        let rounds = space.0.saturating_sub(sectors.saturating_sub(unit)) / unit / classes;
        if rounds == 0 {
            return None;
        }
        let mut order: Vec<u32> = (0..total).map(|n| (n % classes) as u32).collect();
        for last in (1..order.len()).rev() {
            order.swap(last, rng.random_range(0..=last));
        }
        let parts = (page / sectors).max(1);
        Some(Self::Spread { unit, parts, sectors, classes, rounds, order })
    }

    fn next(&mut self, rng: &mut Pcg64) -> Sectors {
        match self {
            Self::InOrder { sectors, slots, next } => {
                let here = *next;
                *next = (*next + 1) % *slots;
                Sectors(here * *sectors)
            }
            Self::Spread { unit, parts, sectors, classes, rounds, order } => {
                let class = u64::from(order.pop().unwrap_or(0));
                let number = rng.random_range(0..*rounds) * *classes + class;
                let part = rng.random_range(0..*parts);
                Sectors(number * *unit + part * *sectors)
            }
        }
    }
}

fn common_divisor(one: u64, other: u64) -> u64 {
    if other == 0 { one } else { common_divisor(other, one % other) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::replay::tests::{drive, point};

    #[test]
    fn requests_spread_evenly_over_planes_and_lie_on_the_drive() {
        let (drive, space) = (drive(), Sectors(1 << 20));
        let page = u64::from(drive.flash.page_bytes) / SECTOR_BYTES;
        let planes = drive.geometry().planes();
        for row in ["randread,100,4k,1,1,", "randread,100,64k,1,1,", "randread,100,512,1,1,"] {
            let requests = Requests::new(&point(row), &drive, space, 8_000, 1).unwrap();
            let mut counts = vec![0; planes as usize];
            for request in requests {
                assert!(request.end() <= space);
                counts[(request.lba.0 / page % planes) as usize] += 1;
            }
            let used: Vec<i32> = counts.into_iter().filter(|count| *count > 0).collect();
            assert!(used.iter().all(|count| *count == 8_000 / used.len() as i32), "{used:?}");
        }
    }

    /// In a file nobody knows where requests begin, and each plane is asked as often as others.
    #[test]
    fn requests_in_a_file_begin_at_any_page() {
        let (drive, space) = (drive(), Sectors(1 << 20));
        let page = u64::from(drive.flash.page_bytes) / SECTOR_BYTES;
        let mut point = point("randread,100,64k,1,1,");
        point.notes = "ext4 file".to_owned();
        let mut first = vec![0; 8];
        for request in Requests::new(&point, &drive, space, 8_000, 1).unwrap() {
            assert!(request.end() <= space && request.lba.0 % page == 0);
            first[(request.lba.0 / page % 8) as usize] += 1;
        }
        assert_eq!(first, [1_000; 8]);
        // The last round of pages has no room for it.
        let tight = Sectors(64 * 1024 / SECTOR_BYTES + 7 * page);
        let all = Requests::new(&point, &drive, tight, 800, 1).unwrap();
        assert!(all.map(|request| request.end()).all(|end| end <= tight));
    }
}
