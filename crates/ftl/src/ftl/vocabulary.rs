//! What the FTL is told, and what it answers: plain values without behaviour.

use crate::block::SectorMask;
use crate::layout::Phys;
use crate::number::TranslationPageId;
use crate::tenant::Places;
use serde::{Deserialize, Serialize};
use ssdtune_model::PlaneId;
use ssdtune_model::config::Allocation;

/// How busy each plane is. Dynamic placement leaves a page at its static place while the backlog
/// there is 0, else it writes to the plane with the smallest one.
pub trait Load {
    /// The work that waits for a plane, in any unit that is the same for all planes.
    fn backlog(&self, plane: PlaneId) -> u64;
}

/// A [`Load`] that knows of no work: dynamic placement then follows the static order.
pub struct NoLoad;

impl Load for NoLoad {
    fn backlog(&self, _: PlaneId) -> u64 {
        0
    }
}

/// Describes a tenant to the FTL.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TenantSpec {
    /// The planes it may use.
    pub places: Places,
    /// The tenant mostly writes. Only hybrid allocation looks at this: it places the writes of such
    /// a tenant dynamically, and those of all others by the static order.
    pub writer: bool,
}

impl TenantSpec {
    pub(crate) fn is_dynamic(&self, allocation: Allocation) -> bool {
        match allocation {
            Allocation::Static => false,
            Allocation::Dynamic => true,
            Allocation::Hybrid => self.writer,
        }
    }
}

/// What becomes of a write while the planes that its tenant was bound to are busy ([`Ftl::bind`]).
///
/// [`Ftl::bind`]: crate::Ftl::bind
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Border {
    /// It waits for one of them.
    Closed,
    /// It goes to the plane of the drive that has room and the smallest backlog. Among equals its
    /// place by the static order comes first, then the tenant's other planes. Planes of one die, or
    /// of one chip, have the same backlog. Without effect if the tenant has all planes.
    Open,
}

/// Where a page was placed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Placed {
    /// The physical page.
    pub phys: Phys,
    /// A free block was taken for it. The pool of free blocks has shrunk, so this is the moment to
    /// call [`Ftl::next_victim`](crate::Ftl::next_victim).
    pub opened: bool,
}

/// Where a host write goes, and what must be read before it can be programmed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WritePlan {
    /// The new physical page.
    pub placed: Placed,
    /// Set if the write covers only a part of the page: the old physical page, and the sectors that
    /// must be read from it and programmed together with the new ones.
    pub merge: Option<(Phys, SectorMask)>,
}

/// A translation page that is on its way to flash, because a changed mapping left the mapping
/// cache.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WriteBack {
    /// The translation page.
    pub page: TranslationPageId,
    /// The old physical page, and how many bytes of it must be read to complete the new one; `None`
    /// if the translation page was never on flash.
    pub merge: Option<(Phys, u32)>,
    /// The new physical page.
    pub placed: Placed,
}

/// The outcome of looking for a mapping in the cached mapping table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MappingAccess {
    /// The mapping is in the cache.
    Hit,
    /// The mapping is not in the cache, but its translation page is in DRAM, so no flash read is
    /// needed.
    Resident,
    /// The translation page is already being read. The access waits: see
    /// [`Ftl::await_mapping`](crate::Ftl::await_mapping).
    Awaited,
    /// The translation page must be read from flash, and the access waits for it.
    Load {
        /// The translation page.
        page: TranslationPageId,
        /// The physical page that holds it.
        phys: Phys,
    },
}

/// Counters of events that only the FTL sees. All start at zero and only grow, until
/// [`Ftl::reset_counters`](crate::Ftl::reset_counters).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct FtlCounters {
    /// Mapping look-ups that found the mapping in the cache.
    pub mapping_hits: u64,
    /// Mapping look-ups for reads that missed the cache.
    pub mapping_misses_read: u64,
    /// Mapping look-ups for writes that missed the cache.
    pub mapping_misses_write: u64,
    /// Misses that needed no flash read, because the translation page was in DRAM or never written.
    pub mapping_misses_free: u64,
    /// Translation pages written back to flash.
    pub mapping_writebacks: u64,
    /// Blocks that were chosen as victims to win free space.
    pub collections: u64,
    /// Blocks that were chosen as victims to level wear.
    pub wear_collections: u64,
    /// Valid pages moved out of victims of either kind.
    pub moved_pages: u64,
    /// Moves that had no effect, because the host had rewritten or trimmed the page meanwhile.
    pub moves_dropped: u64,
}
