//! SSDKeeper: which channels the tenants of a drive should have, learned from simulations, decided while it runs.
//!
//! Liu, Chen, Tan, Zhang, Liang, Liu, "SSDKeeper: Self-Adapting Channel Allocation to Improve the Performance of SSD
//! Devices" (IPDPS 2020). The mechanism is the drive's: `ssdtune_ftl` places pages by channel sets and places
//! writers' pages dynamically, `ssdtune_sim` counts what tenants ask for and binds them to other channels between two
//! events. Here is what decides.

pub mod allocator;
pub mod bench;
pub mod compare;
pub mod eval;
pub mod features;
pub mod labels;
pub mod mix;
pub mod parts;
pub mod policy;
pub mod saturation;
pub mod strategy;
pub mod train;
mod vector;

pub use vector::{Intensity, LENGTH, LEVELS, MixFeatures, TENANTS};
