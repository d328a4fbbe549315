//! The vocabulary of a flash drive: units, geometry, addresses, and a drive's configuration with
//! its parameter catalogue.
//!
//! Everything else of ssdtune speaks these words; so can other tools that describe, check or vary
//! drives. Nothing here simulates, reads a clock or knows a workload.
//!
//! - A quantity has a type of its own ([`Nanos`], [`Bytes`], [`Sectors`], [`Lpn`], [`Ppn`]), so
//!   that a latency cannot be passed where a size is meant.
//! - So has whatever is numbered ([`TenantId`], [`PlaneId`], [`BlockId`]), and a [`Table`] can only
//!   be asked by the kind of number that it is made for.
//! - A drive is one [`DeviceConfig`]: plain data. [`DeviceConfig::check`] turns it into a
//!   [`CheckedConfig`] that a simulator may trust, or names every fault at once ([`Faults`]).
//! - Every tunable of a drive is a row of the [`catalogue`]: its key, unit, legal values, and the
//!   values that a search may try. Files, overrides and documentation are generated from the rows.
//! - Drives come from [`presets`], from TOML files ([`document`]), or by either name from
//!   [`source`].
//! - A drive that was calibrated to a real one carries its [`Provenance`] in its file: what it was
//!   tested at, and how large its errors were.
//! - [`ledger`] says where the capacity goes; [`Constraints`] are limits that a drive must keep.
//!
//! ```
//! use ssdtune_model::ledger::Ledger;
//! use ssdtune_model::{Bytes, catalogue, presets, set};
//!
//! // A drive of the market, with twice its channels.
//! let mut drive = presets::load("samsung-850-pro")?;
//! set(&mut drive, "bus.channels", "16")?;
//! let checked = drive.check()?;
//! assert_eq!(Ledger::of(&checked).raw_bytes, Bytes::from_gib(512));
//!
//! // Wrong values are named with what would be right.
//! let faults = set(&mut drive, "gc.policy", "gredy").unwrap_err();
//! assert!(faults.to_string().ends_with("did you mean greedy?"));
//!
//! // What could a search try for the cache?
//! let row = catalogue::find("cache.capacity_bytes").expect("a parameter");
//! assert_eq!(row.commodity.values(&row.legal).len(), 15);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod address;
pub mod catalogue;
mod check;
pub mod config;
mod constraint;
pub mod document;
mod fault;
mod geometry;
pub mod given;
pub mod ledger;
mod mix;
mod nearest;
pub mod presets;
mod provenance;
mod shipped;
pub mod source;
mod table;
#[doc(hidden)]
pub mod testing;
mod units;
mod value;

pub use address::{
    BlockAddr, BlockId, ChannelId, ChipId, DieId, Lpn, PageAddr, PageId, PlaneId, Ppn, TenantId,
};
pub use catalogue::set;
pub use check::{Advice, CheckedConfig, MAX_PAGES, MAX_PLANES};
pub use config::DeviceConfig;
pub use constraint::{Constraints, Violation};
pub use document::fingerprint;
pub use fault::{Fault, Faults, Problem};
pub use geometry::{Geometry, PlaneAddr};
pub use mix::{GOLDEN_STEP, scramble, split_mix};
pub use nearest::closest_name;
pub use provenance::{Direction, Provenance, TestedLoad, have_same_results};
pub use source::Calibrated;
pub use table::{Place, Table};
pub use units::{Bytes, Nanos, SECTOR_BYTES, Sectors};
