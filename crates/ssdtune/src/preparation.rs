//! `--start`, `--age` and `--erases`: what a drive holds and has been through before the run. All
//! commands that prepare a drive have these flags.

use crate::outcome::{Failure, Outcome};
use ssdtune_experiment::{Age, Preparation, Start};

/// Flags of commands that prepare a drive. A command whose default is not `footprint` changes it
/// with `mut_arg`, or resets it there.
#[derive(Clone, Debug, clap::Args)]
pub(crate) struct PreparationArgs {
    /// What the drive holds at the start. `empty`: nothing. `footprint`: what the run reads or
    /// writes, written once. `sequential[:SHARE]`: data in this share of the pages (default all),
    /// written once in order. `steady[:SHARE]`: data in this share of the pages, as endless random
    /// overwrites leave them. The pages that the run touches are filled first. `sequential` and
    /// `steady` are computed, not written: they take no time, and memory only for what the run
    /// touches.
    #[arg(long, value_name = "STATE[:SHARE]", default_value = "footprint")]
    pub(crate) start: Option<Start>,

    /// Age the drive after --start, in no simulated time. May be given more than once.
    /// `random[:TIMES]` makes random overwrites, TIMES (default 5) for each page that holds data.
    /// It follows `--start sequential`, whose pages are then written in memory. `trace[:TIMES]`
    /// serves the run's own requests TIMES (default 1) times.
    #[arg(long, value_name = "HOW[:TIMES]")]
    pub(crate) age: Vec<Age>,

    /// How often each block was erased before a `sequential` or `steady` start. Default: 0.
    #[arg(long, value_name = "N")]
    pub(crate) erases: Option<u32>,
}

impl PreparationArgs {
    /// The preparation that the flags ask for. `seed` decides where pages are and which of them are
    /// overwritten.
    pub(crate) fn preparation(&self, seed: u64) -> Outcome<Preparation> {
        let (start, ages) = (self.start.clone().unwrap_or(Start::Footprint), self.age.clone());
        let preparation = Preparation { start, ages, erases: self.erases.unwrap_or(0), seed };
        preparation.check().map_err(Failure::usage)?;
        Ok(preparation)
    }
}
