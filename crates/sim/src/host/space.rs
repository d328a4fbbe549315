//! Address spaces: where the sectors of a tenant lie, and how a request is cut into pages.

use crate::id::Table;
use ssdtune_model::{Lpn, Sectors, TenantId};

/// One page of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Part {
    /// The logical page, in the tenant's address space.
    pub lpn: Lpn,
    /// Sectors of the page that the request covers, one bit each.
    pub mask: u64,
    /// Number of these sectors.
    pub sectors: u32,
}

impl Part {
    /// The sectors of a mask.
    pub fn of(lpn: Lpn, mask: u64) -> Self {
        Self { lpn, mask, sectors: mask.count_ones() }
    }
}

/// How a tenant's address space lies in the drive.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Space {
    /// Its size in sectors.
    pub sectors: u64,
    /// Its first sector in the drive. It matters only by its remainder when divided by the page
    /// size, and for requests that cross the end of the address space and go on at its beginning.
    pub start: u64,
}

/// The address spaces of all tenants. They follow from the configuration and never change.
#[derive(Clone, Default)]
pub(crate) struct Spaces {
    tenants: Table<TenantId, Space>,
    /// Sectors of a page.
    page_sectors: u32,
    /// The binary logarithm of `page_sectors`, if it is a whole number.
    page_shift: Option<u32>,
}

impl Spaces {
    /// Spaces of the given sizes, in sectors, one behind the other: each at the beginning of a
    /// page if they are aligned.
    pub fn new(sizes: impl Iterator<Item = u64>, page_sectors: u32, aligned: bool) -> Self {
        let mut start = 0;
        let tenants = sizes.map(|sectors| {
            let space = Space { sectors, start };
            start += sectors;
            if aligned {
                start = start.next_multiple_of(page_sectors.into());
            }
            space
        });
        let page_shift = page_sectors.is_power_of_two().then(|| page_sectors.trailing_zeros());
        Self { tenants: tenants.collect(), page_sectors, page_shift }
    }

    /// Number of tenants.
    pub fn tenants(&self) -> usize {
        self.tenants.len()
    }

    /// The tenant that a request is served for: the one that it names, or the last if there is no
    /// such tenant.
    #[inline]
    pub fn tenant(&self, named: TenantId) -> TenantId {
        TenantId(named.0.min(self.tenants.len() as u16 - 1))
    }

    /// Sectors of a page.
    #[inline]
    pub fn page_sectors(&self) -> u32 {
        self.page_sectors
    }

    /// The size of a tenant's address space.
    pub fn size(&self, tenant: TenantId) -> Sectors {
        Sectors(self.tenants[tenant].sectors)
    }

    /// An address of a trace, folded into the tenant's address space.
    #[inline]
    pub fn inside(&self, tenant: TenantId, lba: Sectors) -> Sectors {
        let last = self.tenants[tenant].sectors - 1;
        if lba.0 <= last { lba } else { Sectors(lba.0 % last.max(1)) }
    }

    /// Cuts the next page off a request that has `rest` sectors left at `cursor` of a tenant's
    /// address space.
    #[inline]
    pub fn cut(&self, tenant: TenantId, cursor: &mut u64, rest: &mut u32) -> Part {
        let space = &self.tenants[tenant];
        if *cursor >= space.sectors {
            *cursor = (space.start + *cursor) % (space.sectors - 1).max(1);
        }
        let page = u64::from(self.page_sectors);
        let into_page = match self.page_shift {
            Some(_) => (space.start + *cursor) & (page - 1),
            None => (space.start + *cursor) % page,
        };
        let sectors = ((page - into_page) as u32).min(*rest);
        let (lpn, offset) = match self.page_shift {
            Some(shift) => (*cursor >> shift, *cursor & (page - 1)),
            None => (*cursor / page, *cursor % page),
        };
        let ones = if sectors >= 64 { u64::MAX } else { (1 << sectors) - 1 };
        *cursor += u64::from(sectors);
        *rest -= sectors;
        Part { lpn: Lpn(lpn), mask: ones << offset, sectors }
    }

    /// The logical page of a sector.
    #[inline]
    pub fn page_of(&self, sector: u64) -> Lpn {
        Lpn(match self.page_shift {
            Some(shift) => sector >> shift,
            None => sector / u64::from(self.page_sectors),
        })
    }

    /// Flash pages that a range of sectors touches.
    #[inline]
    pub fn pages_touched(&self, lba: Sectors, sectors: u32) -> u64 {
        let end = lba.0 + u64::from(sectors.max(1));
        self.page_of(end - 1).0 - self.page_of(lba.0).0 + 1
    }
}
