//! Tests of the simulator from outside, in one binary: a file for each thing that must hold.

mod cache_commands;
mod closed_forms;
mod controller;
mod corners;
mod demand;
mod determinism;
mod drives;
mod endurance;
mod energy;
mod extremes;
mod initial_content;
mod keys;
mod nand;
mod pages;
mod placement;
mod settle;
mod slc_cache;
mod snapshot;
mod superblocks;
mod suspension;
mod tenants;
mod units;
mod warmup;
