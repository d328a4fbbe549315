//! How far the frontiers of two planes are apart. One command programs several planes of a die only
//! at one offset of their blocks, so dynamic placement keeps their frontiers level.

use super::{FrontierId, Plane};
use ssdtune_model::TenantId;

impl Plane {
    /// Whether a tenant's frontier is behind the same frontier of another plane, by the shorter way
    /// round: the last page of a block is behind the first of the next one.
    pub fn is_behind(&self, other: &Self, tenant: TenantId, frontier: FrontierId) -> bool {
        let at = self.place_of(tenant, frontier);
        let (own, other) = (&self.frontiers[at], &other.frontiers[at]);
        let pages = own.end.min(other.end);
        let missing = (other.next + pages - own.next) % pages;
        missing > 0 && missing < pages - missing
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::block::{Pick, SectorMask};
    use crate::number::Owner;

    const TENANT: TenantId = TenantId(0);
    const PAGES: u32 = 8;

    /// A plane that was written to, over one block and into the next.
    fn written(pages: u32) -> Plane {
        let mut plane = Plane::new(4, PAGES, 1, 1, SectorMask::MAX);
        (0..pages).for_each(|_| write(&mut plane));
        plane
    }

    fn write(plane: &mut Plane) {
        if !plane.has_room(TENANT, FrontierId::DATA) {
            plane.open_frontier(TENANT, FrontierId::DATA, Pick::InOrder);
        }
        plane.append(TENANT, FrontierId::DATA, Owner::IN_FLIGHT, SectorMask::MAX);
    }

    #[test]
    fn who_is_behind_catches_up_on_the_shorter_way() {
        for (one, two) in (0..2 * PAGES).flat_map(|one| (0..2 * PAGES).map(move |two| (one, two))) {
            let (mut own, other) = (written(one), written(two));
            let behind = own.is_behind(&other, TENANT, FrontierId::DATA);
            let ahead = other.is_behind(&own, TENANT, FrontierId::DATA);
            let apart = one.abs_diff(two) % PAGES;
            let way = apart.min(PAGES - apart);
            // Halfway round neither is.
            assert_eq!(behind as u32 + ahead as u32, (way % (PAGES / 2)).min(1), "{one} {two}");
            let mut steps = 0;
            while own.is_behind(&other, TENANT, FrontierId::DATA) {
                write(&mut own);
                steps += 1;
            }
            assert_eq!(steps, if behind { way } else { 0 }, "{one} {two}");
        }
    }
}
