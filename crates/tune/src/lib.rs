//! AutoBlox: from a workload and constraints to a better drive, with the evidence.
//!
//! Workloads are clustered, insensitive parameters pruned, configurations searched with a Gaussian process
//! and judged by simulation; every result is kept in AutoDB, so that nothing is ever simulated twice.

pub mod cluster;
pub mod db;
pub mod key;
