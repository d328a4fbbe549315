//! Predicting a drive's performance without simulating or building it.
//!
//! - [`blackbox`] learns latency, bandwidth and IOPS of any drive, simulated or real, from
//!   characteristics of the workload alone (Li, Huang, "Black-Box Performance Modeling for
//!   Solid-State Drives", MASCOTS 2010).
//! - [`firmware`] learns how long the firmware takes on its own CPU from its events on this one
//!   (Lee et al., "Learned Performance Model for SSD", IEEE CAL 2021).

pub mod blackbox;
pub mod firmware;
