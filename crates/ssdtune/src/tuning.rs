//! What every tuning command shares: its arguments, the workloads they name, AutoDB, and progress.

mod args;
mod bar;
mod workloads;

pub(crate) use args::{Asked, TuneArgs};
pub(crate) use bar::Bar;
pub(crate) use workloads::{Named, split};
