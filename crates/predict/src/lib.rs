//! Predicting a drive's performance without simulating it.
//!
//! [`blackbox`] learns latency, bandwidth and IOPS of any drive, simulated or real, from characteristics
//! of the workload alone (Li, Huang, "Black-Box Performance Modeling for Solid-State Drives", MASCOTS 2010).

pub mod blackbox;
