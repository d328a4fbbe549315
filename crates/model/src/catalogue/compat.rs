//! Rows of the compatibility switches. An imported MQSim XML turns all of them on; XML has no tags
//! for them.

use super::{Section, row};

/// Compatibility.
pub(super) const COMPAT: Section = Section {
    name: "compat",
    title: "Peculiarities of MQSim, off unless its results are to be reproduced",
    rows: &[
        row!("compat.chip_idle_batches", compat.chip_idle_batches).says(
            "A chip takes commands only when all its dies are idle and its read data have left.",
        ),
        row!("compat.integer_bus_ns", compat.integer_bus_ns)
            .says("Flash transfer times are rounded down to whole nanoseconds per transfer."),
        row!("compat.dram_row_formula", compat.dram_row_formula)
            .says("DRAM accesses beyond one row use MQSim's formula."),
        row!("compat.read_allocates", compat.read_allocates)
            .says("Reading a page never written allocates and reads one."),
        row!("compat.free_mapping_writes", compat.free_mapping_writes)
            .says("Writes of translation pages cost nothing and never end."),
        row!("compat.gc_reserve_ten", compat.gc_reserve_ten)
            .says("Collection starts below ten free blocks per plane however small the plane."),
        row!("compat.no_static_wear_leveling", compat.no_static_wear_leveling)
            .says("Static wear levelling never starts."),
        row!("compat.eager_frontiers", compat.eager_frontiers)
            .says("Each tenant takes its three write frontiers of every plane at the start."),
        row!("compat.cmt_private_copies", compat.cmt_private_copies)
            .says("Tenants that share the mapping cache have a full-sized one each."),
        row!("compat.read_fill_by_flash_owner", compat.read_fill_by_flash_owner).says(
            "A page read into the data cache is found by the owner stored in flash: none if never \
             programmed.",
        ),
        row!("compat.unaligned_tenants", compat.unaligned_tenants)
            .says("A tenant's space begins right behind the one before, even within a page."),
        row!("compat.read_fill_dirty", compat.read_fill_dirty)
            .says("Pages read into the data cache are marked dirty and charged twice."),
        row!("compat.destage_forgets_all", compat.destage_forgets_all)
            .says("The destage set forgets the write that clears it as well."),
        row!("compat.destage_drops_sectors", compat.destage_drops_sectors).says(
            "A cached page written back carries only the sectors of its last write; older ones \
             vanish.",
        ),
        row!("compat.evict_to_evictor", compat.evict_to_evictor).says(
            "A dirty page that another tenant pushes out of a shared cache is written to that \
             tenant's space.",
        ),
        row!("compat.single_plane_erases", compat.single_plane_erases)
            .says("An erase command erases one block, never one in each of several planes."),
        row!("compat.wrap_request_size", compat.wrap_request_size)
            .says("Request sizes wrap at 65,536 sectors."),
        row!("compat.analytic_start", compat.analytic_start).says(
            "A steady start has a pool of half the threshold, and its oldest blocks are the \
                 fullest.",
        ),
    ],
};
