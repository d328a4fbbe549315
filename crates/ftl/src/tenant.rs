//! Tenants: which planes each of them may use, how much address space that gives it, and the static
//! plane order.
//!
//! If k tenants list a plane, each of them gets one k-th of the plane's visible pages. All tenants
//! share one page table; each has a range of entries of its own there, which starts at a leaf.

use crate::error::FtlError;
use crate::number::LogicalPage;
use serde::{Deserialize, Serialize};
use ssdtune_model::config::{GcUnit, PlaneOrder};
use ssdtune_model::{ChannelId, ChipId, DieId, Geometry, Lpn, PlaneAddr, PlaneId, Table, TenantId};

/// The part of the drive that a tenant may use: every plane whose channel, chip, die and plane id
/// are all listed. The order of a list and repeated ids do not matter.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Places {
    /// Ids of channels.
    pub channels: Vec<u32>,
    /// Ids of chips. Each channel numbers its chips from 0.
    pub chips: Vec<u32>,
    /// Ids of dies. Each chip numbers its dies from 0.
    pub dies: Vec<u32>,
    /// Ids of planes. Each die numbers its planes from 0.
    pub planes: Vec<u32>,
}

impl Places {
    /// The whole drive.
    pub fn all(geometry: &Geometry) -> Self {
        Self {
            channels: (0..geometry.channels).collect(),
            chips: (0..geometry.chips_per_channel).collect(),
            dies: (0..geometry.dies_per_chip).collect(),
            planes: (0..geometry.planes_per_die).collect(),
        }
    }

    /// Sorts the lists, removes repetitions, and refuses empty lists and ids that do not exist.
    pub(crate) fn check(&self, tenant: TenantId, geometry: &Geometry) -> Result<Self, FtlError> {
        let list = |ids: &[u32], level: &'static str, count: u32| {
            let mut ids = ids.to_vec();
            ids.sort_unstable();
            ids.dedup();
            match ids.last() {
                Some(&id) if id < count => Ok(ids),
                last => {
                    let id = last.copied().unwrap_or(0);
                    Err(FtlError::NoSuchPlace { tenant, level, id, count })
                }
            }
        };
        Ok(Self {
            channels: list(&self.channels, "channel", geometry.channels)?,
            chips: list(&self.chips, "chip", geometry.chips_per_channel)?,
            dies: list(&self.dies, "die", geometry.dies_per_chip)?,
            planes: list(&self.planes, "plane", geometry.planes_per_die)?,
        })
    }

    /// These places in the shape that the flash is allocated in: with superblocks, the planes that
    /// one lies in are one place.
    ///
    /// # Errors
    /// The tenant has only a part of the planes that a superblock lies in.
    pub(crate) fn allocated(
        mut self,
        tenant: TenantId,
        unit: GcUnit,
        geometry: &Geometry,
    ) -> Result<Self, FtlError> {
        let whole = Self::all(geometry);
        let levels = [
            ("planes", &mut self.planes, whole.planes),
            ("dies", &mut self.dies, whole.dies),
            ("chips", &mut self.chips, whole.chips),
            ("channels", &mut self.channels, whole.channels),
        ];
        let joined = match unit {
            GcUnit::Block => 0,
            GcUnit::Die => 1,
            GcUnit::Drive => levels.len(),
        };
        for (level, own, whole) in levels.into_iter().take(joined) {
            if *own != whole {
                return Err(FtlError::PartOfSuperblock { tenant, level, unit: unit.name() });
            }
            *own = vec![0];
        }
        Ok(self)
    }

    /// The planes in the order in which static placement walks through them.
    pub(crate) fn in_order(&self, order: PlaneOrder, geometry: &Geometry) -> Vec<PlaneId> {
        let ids = |letter: u8| match letter {
            b'C' => &self.channels,
            b'W' => &self.chips,
            b'D' => &self.dies,
            _ => &self.planes,
        };
        let letters = order.name().as_bytes();
        let count: usize = letters.iter().map(|&l| ids(l).len()).product();
        (0..count)
            .map(|mut rest| {
                let mut at =
                    PlaneAddr { channel: ChannelId(0), chip: ChipId(0), die: DieId(0), plane: 0 };
                for &letter in letters {
                    let list = ids(letter);
                    let id = list[rest % list.len()];
                    rest /= list.len();
                    match letter {
                        b'C' => at.channel = ChannelId(id),
                        b'W' => at.chip = ChipId(id),
                        b'D' => at.die = DieId(id),
                        _ => at.plane = id,
                    }
                }
                geometry.plane_id(at)
            })
            .collect()
    }
}

/// What the FTL knows of a tenant.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Tenant {
    /// Its first entry in the page table.
    pub base: LogicalPage,
    /// Size of its address space in sectors.
    pub sectors: u64,
    /// Its planes in the static order.
    pub planes: Vec<PlaneId>,
    /// `planes.len() - 1` if that is a bit mask, so that the remainder needs no division.
    mask: Option<u32>,
    /// Its writes follow the static order only to planes without a backlog, and else go to the
    /// plane with the smallest one.
    pub dynamic: bool,
    /// All planes that are not its own, in plane order, if its border is open
    /// ([`Border::Open`](crate::Border)); else none.
    pub abroad: Vec<PlaneId>,
}

impl Tenant {
    pub fn new(base: LogicalPage, sectors: u64, planes: Vec<PlaneId>, dynamic: bool) -> Self {
        let count = planes.len() as u32;
        let mask = count.is_power_of_two().then(|| count - 1);
        Self { base, sectors, planes, mask, dynamic, abroad: Vec::new() }
    }

    /// This tenant, with the same address space, on other planes, with these beyond its border.
    pub fn bound_to(&self, planes: Vec<PlaneId>, dynamic: bool, abroad: Vec<PlaneId>) -> Self {
        Self { abroad, ..Self::new(self.base, self.sectors, planes, dynamic) }
    }

    /// The size of its address space in logical pages. The last page may be a partial one.
    pub fn pages(&self, sectors_per_page: u64) -> u64 {
        self.sectors.div_ceil(sectors_per_page)
    }

    /// A page of its address space, numbered over all tenants.
    #[inline]
    pub fn page(&self, lpn: Lpn) -> LogicalPage {
        LogicalPage(self.base.0 + lpn.0)
    }

    /// The number of one of its pages in its address space.
    #[inline]
    pub fn lpn(&self, page: LogicalPage) -> Lpn {
        Lpn(page.0 - self.base.0)
    }

    /// The plane of its nth logical page, or translation page, by the static order.
    #[inline]
    pub fn static_plane(&self, nth: u64) -> PlaneId {
        let index = match self.mask {
            Some(mask) => (nth as u32 & mask) as usize,
            None => match u32::try_from(nth) {
                Ok(nth) => (nth % self.planes.len() as u32) as usize,
                Err(_) => (nth % self.planes.len() as u64) as usize,
            },
        };
        self.planes[index]
    }
}

/// The size of each tenant's address space in sectors: of every plane it lists, the visible part
/// divided by the number of tenants that list the plane.
pub(crate) fn visible_sectors(
    places: &Table<TenantId, Places>,
    geometry: &Geometry,
    overprovisioning: f64,
) -> Table<TenantId, u64> {
    let mut sharers: Table<PlaneId, u32> = Table::of(0, geometry.planes() as usize);
    let planes: Vec<Vec<PlaneId>> =
        places.iter().map(|p| p.in_order(PlaneOrder::Cwdp, geometry)).collect();
    for plane in planes.iter().flatten() {
        sharers[*plane] += 1;
    }
    let sectors = (geometry.pages_per_plane() * u64::from(geometry.sectors_per_page())) as f64;
    let share =
        |plane: &PlaneId| (sectors * (1.0 - overprovisioning) / f64::from(sharers[*plane])) as u64;
    planes.iter().map(|list| list.iter().map(share).sum()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const DRIVE: Geometry = Geometry {
        channels: 2,
        chips_per_channel: 3,
        dies_per_chip: 2,
        planes_per_die: 2,
        blocks_per_plane: 8,
        pages_per_block: 4,
        page_bytes: 4096,
    };

    #[test]
    fn every_order_visits_each_plane_once_and_its_first_letter_moves_first() {
        for &order in PlaneOrder::ALL {
            let planes = Places::all(&DRIVE).in_order(order, &DRIVE);
            let mut seen: Vec<u32> = planes.iter().map(|p| p.0).collect();
            seen.sort_unstable();
            assert_eq!(seen, (0..24).collect::<Vec<_>>(), "{order}");
            let (a, b) = (DRIVE.plane_addr(planes[0]), DRIVE.plane_addr(planes[1]));
            let moved = match order.name().as_bytes()[0] {
                b'C' => b.channel.0 - a.channel.0,
                b'W' => b.chip.0 - a.chip.0,
                b'D' => b.die.0 - a.die.0,
                _ => b.plane - a.plane,
            };
            assert_eq!(moved, 1, "{order}");
        }
    }

    #[test]
    fn sharers_split_a_plane() {
        let half = Places { channels: vec![0], ..Places::all(&DRIVE) };
        let all = Places::all(&DRIVE);
        let places = [half, all].into_iter().collect();
        let sectors = visible_sectors(&places, &DRIVE, 0.0);
        // 24 planes of 32 pages of 8 sectors: channel 0 is shared, channel 1 is not.
        assert!(sectors.iter().eq(&[12 * 128, 12 * 128 + 12 * 256]), "{sectors:?}");
    }

    #[test]
    fn unknown_places_are_named() {
        let bad = Places { chips: vec![0, 3], ..Places::all(&DRIVE) };
        let error = bad.check(TenantId(1), &DRIVE).unwrap_err();
        assert_eq!(
            error,
            FtlError::NoSuchPlace { tenant: TenantId(1), level: "chip", id: 3, count: 3 }
        );
    }
}
