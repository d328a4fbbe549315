//! The address spaces of tenants that share a drive as one, in which a pass sees their requests:
//! the second one begins behind the first, and so on. Caches are shared, so that the order of last
//! use is one for all.

use super::LivePointsError;
use crate::preparation::Start;
use ssdtune_model::config::{CacheMode, Sharing};
use ssdtune_model::{CheckedConfig, DeviceConfig, Lpn, Sectors};
use ssdtune_sim::{Observe, Simulator, Tenant};
use ssdtune_trace::{Request, TenantId};

/// The address spaces of a drive's tenants, each of which has the whole drive for its places.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Spaces {
    tenants: u16,
    /// Pages from the beginning of one space to that of the next.
    each: u64,
    page_sectors: u64,
}

impl Spaces {
    /// That of a drive with one tenant.
    pub(super) const SOLE: Self = Self { tenants: 1, each: u64::MAX, page_sectors: 1 };

    /// Those of a drive with some tenants.
    ///
    /// # Errors
    /// The drive cannot have them.
    pub fn of(device: &CheckedConfig, tenants: usize) -> Result<Self, LivePointsError> {
        let all = vec![Tenant::sole(device); tenants];
        let room = Simulator::new(device, &all, Observe::default())?.past_room(TenantId(0));
        // A translation page is of one tenant, and each begins at the first plane.
        let (entries, planes) = (room.mappings_per_page.max(1), u64::from(room.planes.max(1)));
        let each = room.pages.next_multiple_of(entries * planes);
        Ok(Self { tenants: tenants as u16, each, page_sectors: room.page_sectors.into() })
    }

    /// Checks that a drive which they share can be restored.
    ///
    /// # Errors
    /// Its caches are divided among tenants, or it begins otherwise than empty or with what the mix
    /// touches.
    pub fn check(&self, device: &DeviceConfig, start: &Start) -> Result<(), LivePointsError> {
        let (cache, mapping) = (&device.cache, &device.mapping);
        let has_parts = cache.mode != CacheMode::Off && cache.sharing != Sharing::Shared
            || !mapping.ideal
                && (mapping.cmt_sharing != Sharing::Shared || device.compat.cmt_private_copies);
        match start {
            _ if has_parts && self.tenants > 1 => Err(LivePointsError::Partitions),
            Start::Empty | Start::Footprint => Ok(()),
            other => Err(LivePointsError::SharedStart { start: other.to_string() }),
        }
    }

    /// How many tenants there are.
    pub(super) fn tenants(&self) -> usize {
        self.tenants.into()
    }

    /// A tenant's request as one in the joint space. What goes beyond the end of its space is cut
    /// off.
    pub fn join(&self, request: &Request) -> Request {
        let each = self.each * self.page_sectors;
        let first = u64::from(request.tenant.0) * each;
        let sectors = u64::from(request.sectors).min(each.saturating_sub(request.lba.0));
        let lba = Sectors(first + request.lba.0);
        Request { lba, sectors: sectors as u32, tenant: TenantId(0), ..*request }
    }

    /// The request that [`Spaces::join`] was given.
    pub fn part(&self, request: &Request) -> Request {
        let each = self.each * self.page_sectors;
        let tenant = TenantId((request.lba.0 / each) as u16);
        Request { lba: Sectors(request.lba.0 % each), tenant, ..*request }
    }

    /// A page of the joint space as one of its tenant's.
    pub(super) fn place(&self, page: u64) -> (TenantId, Lpn) {
        (TenantId((page / self.each) as u16), Lpn(page % self.each))
    }

    /// The number of a page within the space of its tenant.
    pub(super) fn within(&self, page: u64) -> u64 {
        page % self.each
    }

    /// Pages from the beginning of one space to that of the next.
    pub(super) fn each(&self) -> u64 {
        self.each
    }

    /// Sectors of a page.
    pub(super) fn page_sectors(&self) -> u64 {
        self.page_sectors
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ssdtune_model::{Nanos, presets};
    use ssdtune_trace::Op;

    #[test]
    fn requests_come_back_from_the_joint_space_as_they_were() {
        let device = presets::load("ssdkeeper").unwrap().check().unwrap();
        let spaces = Spaces::of(&device, 3).unwrap();
        let end = spaces.each * spaces.page_sectors;
        for tenant in 0..3 {
            for (lba, sectors, left) in [(0, 8, 8), (777, 3, 3), (end - 8, 32, 8)] {
                let (at, lba, op) = (Nanos(5), Sectors(lba), Op::Read);
                let request = Request { at, lba, sectors, tenant: TenantId(tenant), op };
                let joint = spaces.join(&request);
                assert_eq!(joint.tenant, TenantId(0));
                let page = joint.lba.0 / spaces.page_sectors;
                let lpn = Lpn(lba.0 / spaces.page_sectors);
                assert_eq!(spaces.place(page), (TenantId(tenant), lpn));
                assert_eq!(spaces.part(&joint), Request { sectors: left, ..request });
            }
        }
    }
}
