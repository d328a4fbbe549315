//! Rows of the SLC cache.

use super::{Section, Since, row};
use crate::config::DeviceConfig;

pub(super) fn needs_slc_cache(config: &DeviceConfig) -> Option<&'static str> {
    (!config.slc_cache.is_on()).then_some("the drive has no SLC cache")
}

/// Blocks in SLC mode.
pub(super) const SLC_CACHE: Section = Section {
    name: "slc_cache",
    title: "Blocks that host writes fill with one bit in each cell, to be folded later",
    rows: &[
        row!("slc_cache.static_blocks", slc_cache.static_blocks)
            .ints(0, 1 << 20)
            .since(Since::RealDrives)
            .says("Blocks of each plane that are kept for host writes in SLC mode; 0 for none."),
        row!("slc_cache.dynamic_above", slc_cache.dynamic_above)
            .reals(0.0, 1.0)
            .since(Since::RealDrives)
            .says(
                "Host writes fill further free blocks in SLC mode while more than this share of a \
                 plane's blocks is free; 1 for none.",
            ),
        row!("slc_cache.fold_after_ns", slc_cache.fold_after)
            .nanos()
            .unless(needs_slc_cache)
            .since(Since::RealDrives)
            .says(
                "When no request was under way for this long, data in SLC mode are moved to \
                 blocks with all bits until the next request comes; 0 for never.",
            ),
        row!("slc_cache.page_read_latency_ns", slc_cache.read_latency)
            .nanos()
            .unless(needs_slc_cache)
            .since(Since::RealDrives)
            .says("Array read of a page in SLC mode."),
        row!("slc_cache.page_program_latency_ns", slc_cache.program_latency)
            .nanos()
            .unless(needs_slc_cache)
            .since(Since::RealDrives)
            .says("Program of a page in SLC mode."),
        row!("slc_cache.block_erase_latency_ns", slc_cache.erase_latency)
            .nanos()
            .unless(needs_slc_cache)
            .since(Since::RealDrives)
            .says("Erase of a block in SLC mode."),
    ],
};
