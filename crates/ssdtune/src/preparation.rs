//! `--start`, `--age` and `--erases`: what a drive holds and has been through before its run, in
//! the same words for every command.

use crate::outcome::{Failure, Outcome};
use ssdtune_experiment::{Age, Preparation, Start};

/// Flags of every command that prepares a drive. A command with another default than `empty`
/// changes it by `mut_arg`.
#[derive(Clone, Debug, clap::Args)]
pub(crate) struct PreparationArgs {
    /// What the drive holds at the start: `empty`, nothing; `footprint`, what the run reads or
    /// writes, written once; `sequential[:SHARE]`, data in that share of its pages (all unless
    /// given), written once in order; `steady[:SHARE]`, these pages as endless random overwrites
    /// leave them. The pages that the run touches come first. `sequential` and `steady` are
    /// defined, not written: they take no time, and memory only for what the run touches.
    #[arg(long, value_name = "STATE[:SHARE]", default_value = "empty")]
    pub(crate) start: Start,

    /// Age the drive after --start, without simulated time; may be given often. `random[:TIMES]`
    /// overwrites as many pages as hold data at random, TIMES times (5 unless given); it comes
    /// after `--start sequential`, whose pages are then written, in memory. `trace[:TIMES]` serves
    /// the run's own requests TIMES times (once unless given).
    #[arg(long, value_name = "HOW[:TIMES]")]
    pub(crate) age: Vec<Age>,

    /// How often each block was erased before a `sequential` or `steady` start.
    #[arg(long, value_name = "N")]
    pub(crate) erases: Option<u32>,
}

impl PreparationArgs {
    /// What the flags ask for; `seed` decides where pages lie and which are overwritten.
    pub(crate) fn preparation(&self, seed: u64) -> Outcome<Preparation> {
        let (start, ages) = (self.start.clone(), self.age.clone());
        let preparation = Preparation { start, ages, erases: self.erases.unwrap_or(0), seed };
        preparation.check().map_err(Failure::usage)?;
        Ok(preparation)
    }
}
