//! A small drive in place of a large one, for points and runs that write.
//!
//! It has the same number of blocks in each plane and the same over-provisioning, but shorter
//! blocks, which are erased in as much less time: write amplification and throughput know shares
//! only.

use ssdtune_model::config::{GcUnit, HostInterface};
use ssdtune_model::{DeviceConfig, Nanos};

/// Pages that a block has at least, unless it is a part of a superblock.
const BLOCK_PAGES_MIN: u64 = 32;
/// What a small drive buffers at most: this many programs of each plane.
const BUFFERED_PROGRAMS: u64 = 2;

/// How small a drive is to be.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Size {
    /// Its mapping units, about.
    pub(crate) units: u64,
    /// Pages of its blocks, at least.
    pub(crate) pages: u64,
    /// Requests outstanding, at most.
    pub(crate) outstanding: u32,
}

/// A drive in small, with this share of its raw capacity hidden.
pub(crate) fn small(drive: &DeviceConfig, spare: f64, size: Size) -> DeviceConfig {
    let (at, mut small) = (drive.geometry(), drive.clone());
    let whole_line = u64::from(drive.pages_per_program());
    let is_block = drive.gc.unit == GcUnit::Block;
    let least = if is_block { BLOCK_PAGES_MIN } else { 2 }.max(whole_line).max(size.pages);
    let pages = (size.units / (at.planes() * u64::from(at.blocks_per_plane)).max(1)).max(least);
    let pages = pages.next_multiple_of(whole_line).min(u64::from(drive.flash.pages_per_block));
    small.flash.pages_per_block = pages as u32;
    small.mapping.overprovisioning = spare;
    let erase = &mut small.flash.erase_latency;
    *erase = Nanos(erase.0 * pages / u64::from(drive.flash.pages_per_block).max(1));
    // As deep as it is, the buffer would hold as much as several blocks of a small drive.
    let buffer = &mut small.cache.write_buffer.0;
    let of_a_program = whole_line * u64::from(drive.flash.page_bytes);
    *buffer = (*buffer).min(BUFFERED_PROGRAMS * drive.flash_geometry().planes() * of_a_program);
    let entries = (size.outstanding + 1).next_power_of_two();
    if small.host.interface == HostInterface::Nvme {
        small.host.queue_depth = small.host.queue_depth.max(entries);
        small.host.queue_fetch_size = small.host.queue_fetch_size.max(entries);
    }
    small
}
