//! Where data go in a flash drive: page mapping, blocks, garbage collection, wear levelling,
//! placement.
//!
//! This crate is the flash translation layer (FTL) of one drive, as a passive state machine. You
//! tell it of host accesses, of flash operations that have ended and of blocks that have been
//! erased. It answers with places, with work that must be done, and with tokens for what must wait.
//! It has no clock, does no I/O and starts no threads. So it runs under a simulator (`ssdtune-sim`
//! adds the time), alone under a profiler, or under tests that compare it with a reference model.
//!
//! It does not say how long anything takes, what a workload looks like, or what a drive costs.
//!
//! # A drive without time
//!
//! [`Warmup`] performs accesses one after the other, with all the collection they cause:
//!
//! ```
//! use ssdtune_ftl::{Ftl, Places, TenantSpec};
//! use ssdtune_model::{DeviceConfig, Lpn, TenantId};
//!
//! // 24 blocks of 16 pages, about a third of them spare.
//! let mut config = DeviceConfig::default();
//! [config.bus.channels, config.bus.chips_per_channel] = [1, 1];
//! [config.flash.dies_per_chip, config.flash.planes_per_die] = [1, 1];
//! [config.flash.blocks_per_plane, config.flash.pages_per_block] = [24, 16];
//! config.mapping.overprovisioning = 0.34;
//!
//! let places = Places::all(&config.flash_geometry());
//! let mut ftl = Ftl::new(&config, &[TenantSpec { places, writer: false }])?;
//!
//! let tenant = TenantId(0);
//! let pages = ftl.tenant_pages(tenant);
//! let mut drive = ftl.warm_up();
//! for write in 0..10 * pages {
//!     // Every page ten times, in an order that mixes them.
//!     drive.write_whole(tenant, Lpn(write * 7 % pages))?;
//! }
//! assert_eq!(ftl.mapped_pages(), pages);
//! assert!(ftl.counters().collections > 0, "blocks had to be collected to make room");
//! ftl.check();
//! # Ok::<(), ssdtune_ftl::FtlError>(())
//! ```
//!
//! # A drive in time
//!
//! A simulator calls the steps one by one and decides when each of them happens:
//!
//! - [`Ftl::access_mapping`] says whether a mapping is in DRAM, and which translation page must be
//!   read or written back. [`Ftl::phys`] says where a page is.
//! - [`Ftl::plane_for_write`] and [`Ftl::must_hold`] say where a write goes and whether it must
//!   wait for space; [`Ftl::place_write`] places it and says what must be read first.
//!   [`Ftl::program_done`] ends it.
//! - [`Ftl::next_victim`] and [`Ftl::victim_pages`] say which block to collect and which pages to
//!   move. [`Ftl::place_move`], [`Ftl::commit_move`] and [`Ftl::erase_done`] are the victim's way
//!   to the pool of free blocks.
//! - [`Ftl::set_initial_content`] makes a drive that is not empty at the start.
//!
//! [`placement`] holds the policies that separate hot from cold data.

mod block;
mod cmt;
mod error;
mod ftl;
mod gc;
mod initial_content;
mod layout;
mod lookahead;
mod lru;
mod number;
mod page_table;
pub mod placement;
mod prefetch;
mod stuck;
mod switches;
mod tenant;

pub use block::{FrontierId, SectorMask};
pub use error::FtlError;
pub use ftl::{
    Border, Ftl, FtlCounters, FtlState, Load, MappingAccess, NoLoad, PastMapping, PastPage, Placed,
    SlcCounters, TenantSpec, Warmup, WriteBack, WritePlan,
};
pub use initial_content::{InitialContent, Start};
pub use layout::{Layout, Phys};
pub use lookahead::Lookahead;
pub use lru::LruList;
pub use number::{Token, TranslationPageId};
pub use page_table::{CacheMark, EntryRef};
pub use prefetch::prefetch;
pub use tenant::Places;
