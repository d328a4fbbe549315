//! The words every other crate speaks: units, geometry, addresses, and the configuration of a
//! drive.
//!
//! Nothing here simulates, reads a clock or knows a workload. A quantity has a newtype ([`Nanos`],
//! [`Bytes`], [`Sectors`], [`Lpn`], [`Ppn`]) so that a latency cannot be passed where a size is
//! meant; a choice is an enum; a drive is one [`DeviceConfig`].

pub mod address;
pub mod catalogue;
pub mod check;
pub mod config;
pub mod constraint;
pub mod document;
pub mod fault;
pub mod geometry;
pub mod ledger;
mod mix;
mod nearest;
pub mod presets;
pub mod source;
#[doc(hidden)]
pub mod testing;
pub mod units;

pub use address::{
    BlockAddr, BlockId, ChannelId, ChipId, DieId, Lpn, PageAddr, PageId, PlaneId, Ppn,
};
pub use catalogue::set;
pub use check::CheckedConfig;
pub use config::DeviceConfig;
pub use constraint::Constraints;
pub use fault::{Fault, Faults, Problem};
pub use geometry::Geometry;
pub use mix::{GOLDEN_STEP, scramble, split_mix};
pub use nearest::closest_name;
pub use units::{Bytes, Nanos, SECTOR_BYTES, Sectors};
