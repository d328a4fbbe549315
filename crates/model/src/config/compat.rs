//! Peculiarities of MQSim that change a number without being a crash or a lost request.

/// Switches that reproduce MQSim (commit 722cd84) where ssdtune does better.
///
/// All are off for ssdtune's own drives. Reading a drive from MQSim's XML turns all of them on, so
/// that its simulation agrees with MQSim.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Compat {
    /// A chip takes commands only when all its dies are idle and all its read data have left.
    pub chip_idle_batches: bool,
    /// Flash transfer times are rounded down to whole nanoseconds per transfer.
    pub integer_bus_ns: bool,
    /// DRAM accesses longer than one row take the time of MQSim's formula.
    pub dram_row_formula: bool,
    /// A read of a page that was never written allocates a flash page and reads it.
    pub read_allocates: bool,
    /// Writes of translation pages take no time and never end.
    pub free_mapping_writes: bool,
    /// Garbage collection starts below ten free blocks per plane, however small the plane.
    pub gc_reserve_ten: bool,
    /// Static wear levelling never starts.
    pub no_static_wear_leveling: bool,
    /// Each tenant takes its three write frontiers of every plane at the start of the run.
    pub eager_frontiers: bool,
    /// Each of the tenants that share the mapping cache has one of full size.
    pub cmt_private_copies: bool,
    /// A page read into the data cache is found by the owner that the flash stores for it; a page
    /// that was never programmed has none.
    pub read_fill_by_flash_owner: bool,
    /// Pages read into the data cache are marked dirty, and their DRAM access is counted twice.
    pub read_fill_dirty: bool,
    /// The set of pages written in the last second forgets the pages of the write that clears it
    /// too.
    pub destage_forgets_all: bool,
    /// A cached page that is written again reaches flash with the sectors of its last write only;
    /// its older dirty sectors are lost.
    pub destage_drops_sectors: bool,
    /// When one tenant pushes a dirty page of another out of a shared data cache, the page is
    /// written to the pushing tenant's address of the same number.
    pub evict_to_evictor: bool,
    /// The address space of a tenant begins right behind the one before it, even within a page.
    pub unaligned_tenants: bool,
    /// An erase command erases one block, never one in each of several planes.
    pub single_plane_erases: bool,
    /// Request sizes wrap at 65,536 sectors.
    pub wrap_request_size: bool,
    /// A drive that starts in steady state has half the collection threshold as free blocks, and
    /// its oldest blocks are its fullest.
    pub analytic_start: bool,
}

impl Compat {
    /// All switches on: what reading an MQSim XML sets.
    pub const MQSIM: Self = Self {
        chip_idle_batches: true,
        integer_bus_ns: true,
        dram_row_formula: true,
        read_allocates: true,
        free_mapping_writes: true,
        gc_reserve_ten: true,
        no_static_wear_leveling: true,
        eager_frontiers: true,
        cmt_private_copies: true,
        read_fill_by_flash_owner: true,
        read_fill_dirty: true,
        destage_forgets_all: true,
        destage_drops_sectors: true,
        evict_to_evictor: true,
        unaligned_tenants: true,
        single_plane_erases: true,
        wrap_request_size: true,
        analytic_start: true,
    };
}
