//! The SLC cache: which host writes go to blocks in SLC mode, and when these are folded: their data
//! are moved to blocks with all bits, and they are erased.
//!
//! A host write goes there while the plane has room: in the block being filled, in one of those
//! kept for it (static), or in a free block as long as many are free (dynamic). Else it is written
//! directly. Folding is collection with other victims. Under pressure, when a plane has fewer free
//! blocks than start collection, blocks in SLC mode that are not kept for it go first, oldest
//! first: each gives back more than it takes. Those kept give nothing back to others, so only idle
//! time folds them ([`Ftl::next_fold`]). The block being filled is never folded.
//!
//! Left out: folding while the host writes so that it finds room again, blocks that change between
//! static and dynamic use by wear, and endurance apart from that of other blocks.

use super::Ftl;
use crate::block::FrontierId;
use serde::{Deserialize, Serialize};
use ssdtune_model::{BlockAddr, BlockId, DeviceConfig, Lpn, PlaneId, TenantId};

/// What the SLC cache did since the start, or since the last [`Ftl::reset_counters`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SlcCounters {
    /// Pages of the host written in SLC mode.
    pub written_pages: u64,
    /// Pages moved out of blocks in SLC mode.
    pub folded_pages: u64,
    /// Blocks folded because the host left the drive alone.
    pub idle_folds: u64,
    /// Blocks folded because free blocks were few.
    pub pressed_folds: u64,
}

/// The SLC cache of a drive.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct SlcCache {
    /// Free blocks of a plane above which further ones are filled in SLC mode.
    above: u32,
    pub counters: SlcCounters,
}

impl SlcCache {
    /// The cache that a configuration asks for; `None` if it asks for none. `threshold` are the
    /// free blocks of a plane below which it collects.
    pub fn new(config: &DeviceConfig, threshold: u32) -> Option<Self> {
        config.slc_pages_per_block()?;
        let (cache, blocks) = (&config.slc_cache, config.flash.blocks_per_plane);
        let above = if cache.dynamic_above < 1.0 {
            ((cache.dynamic_above * f64::from(blocks)) as u32).max(threshold)
        } else {
            u32::MAX
        };
        Some(Self { above, counters: SlcCounters::default() })
    }

    /// Blocks of each plane that the cache needs beside those of other drives.
    pub fn blocks_needed(&self, config: &DeviceConfig, tenants: u32) -> u32 {
        let open = if self.above == u32::MAX { 0 } else { tenants };
        config.slc_cache.static_blocks.saturating_add(open)
    }
}

impl Ftl {
    /// The frontier that a host write goes to.
    #[inline]
    pub(crate) fn host_frontier(&self, tenant: TenantId, lpn: Lpn, plane: PlaneId) -> FrontierId {
        if self.slc.is_some() && self.admits_slc(tenant, plane) {
            return FrontierId::SLC;
        }
        self.direct_frontier(tenant, lpn)
    }

    /// The frontier that a host write goes to that is not written in SLC mode.
    #[inline]
    pub(crate) fn direct_frontier(&self, tenant: TenantId, lpn: Lpn) -> FrontierId {
        self.placer.host_frontier(self.tenants[tenant].page(lpn))
    }

    /// Whether a page of the host finds room in SLC mode.
    #[inline(never)]
    pub(crate) fn admits_slc(&self, tenant: TenantId, plane: PlaneId) -> bool {
        let Some(slc) = &self.slc else { return false };
        self.planes[plane].admits_slc(tenant, slc.above, self.config.reserve)
    }

    /// Counts a page of the host that is written in SLC mode.
    #[cold]
    pub(crate) fn count_slc_page(&mut self) {
        if let Some(slc) = &mut self.slc {
            slc.counters.written_pages += 1;
        }
    }

    /// Counts pages that move out of a block.
    #[inline]
    pub(crate) fn count_moves(&mut self, from: FrontierId, pages: u64) {
        self.counters.moved_pages += pages;
        if let Some(slc) = &mut self.slc
            && from == FrontierId::SLC
        {
            slc.counters.folded_pages += pages;
        }
    }

    /// The block that a plane in need of free blocks folds first; `None` if all its blocks in SLC
    /// mode are kept for that.
    pub(crate) fn pressed_fold(&mut self, plane: PlaneId) -> Option<BlockId> {
        let slc = self.slc.as_mut()?;
        let block =
            self.planes[plane].oldest_cached().filter(|_| self.planes[plane].has_borrowed());
        slc.counters.pressed_folds += u64::from(block.is_some());
        block
    }

    /// The block in SLC mode that a plane should fold now because the host leaves the drive alone;
    /// `None` if there is none, or the plane has other work. It is a victim as that of
    /// [`Ftl::next_victim`].
    pub fn next_fold(&mut self, plane: PlaneId) -> Option<BlockAddr> {
        let slc = self.slc.as_mut()?;
        let record = &mut self.planes[plane];
        if record.collecting > 0 || record.free_blocks() <= self.config.reserve {
            return None;
        }
        let block = record.oldest_cached()?;
        record.start_collecting(block);
        slc.counters.idle_folds += 1;
        self.counters.collections += 1;
        Some(BlockAddr { plane, block })
    }

    /// Whether a block that holds something is in SLC mode.
    #[inline]
    pub fn is_in_slc_mode(&self, at: BlockAddr) -> bool {
        self.planes[at.plane].is_in_slc_mode(at.block)
    }

    /// What the SLC cache did; `None` if the drive has none.
    pub fn slc_counters(&self) -> Option<&SlcCounters> {
        self.slc.as_ref().map(|slc| &slc.counters)
    }

    /// Blocks of a plane in SLC mode.
    pub fn slc_blocks(&self, plane: PlaneId) -> u32 {
        self.planes[plane].slc_blocks()
    }
}
