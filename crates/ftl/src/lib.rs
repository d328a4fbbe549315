//! Where data goes in a drive: page mapping, blocks, garbage collection, wear levelling, placement.
//!
//! A passive state machine. It is told of host accesses, of finished flash operations and of free moments,
//! and answers with places, with work to do and with tokens for what must wait. It has no clock, so it runs
//! without a simulator: that is what the reference-model tests drive and what a profiler measures.
//!
//! | told | answers |
//! |---|---|
//! | [`Ftl::access_mapping`] | is the mapping in DRAM; which translation page to read or write back |
//! | [`Ftl::phys`], [`Ftl::place_write`] | where a page is; where it goes and what must be merged |
//! | [`Ftl::next_victim`], [`Ftl::victim_pages`] | what to collect |
//! | [`Ftl::define`] | the past of a drive that is not empty at the start |
//! | [`Ftl::warm_up`] | accesses without time, to age a drive |
//! | [`Ftl::place_move`], [`Ftl::commit_move`], [`Ftl::erase_done`] | a victim's way to the free pool |

mod block;
mod cmt;
mod collect;
mod defined;
mod error;
mod ftl;
mod gc;
mod layout;
mod mapping;
mod page_table;
pub mod placement;
mod prefetch;
mod snapshot;
mod tenant;
mod warmup;

pub use block::{SectorMask, Stream};
pub use defined::{InitialContent, Start};
pub use error::FtlError;
pub use ftl::{
    Ftl, FtlCounters, Load, MappingAccess, NoLoad, Placed, TenantSpec, WriteBack, WritePlan,
};
pub use layout::{BlockRef, Layout, Phys};
pub use page_table::{CacheMark, EntryRef};
pub use prefetch::prefetch;
pub use snapshot::FtlState;
pub use tenant::Places;
pub use warmup::Warmup;
