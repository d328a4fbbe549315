//! End-to-end tests of the `ssdtune` command, a file for each subcommand or group of them.
//!
//! They are tests of the package `ssdtune`, so cargo builds the binary for them once, with the same
//! features.

#[cfg(unix)]
mod book;
mod calibrate;
mod choose;
mod command_line;
mod commands_page;
mod compare;
mod config;
mod damaged;
mod db;
#[cfg(unix)]
mod disks;
mod drives;
mod errors;
#[cfg(unix)]
mod examples;
mod failures;
mod firmware;
mod former;
mod grade;
mod keeper;
mod killed;
mod market;
#[cfg(target_os = "linux")]
mod memory;
mod nand;
mod outputs;
mod pages;
mod predict;
mod sampling;
mod search;
#[cfg(unix)]
mod signals;
mod simulate;
mod support;
mod tested_range;
mod trace;
mod tune;
mod validate;
mod workload;
#[cfg(unix)]
mod written;
