//! What a sample says of the whole: windows of a trace are drawn and measured on one or two drives,
//! and what all windows would have given is told with an interval.
//!
//! | question | type |
//! |---|---|
//! | which windows are measured | [`Population`], and of it a [`Sample`] |
//! | how much more does one drive take than another | [`Ratio`] of [`Measured`] windows |
//! | and at a percentile | [`Tail`] of [`Latencies`] |
//! | a percentile of one drive | [`Percentile`] of [`Latencies`] |
//! | is a drive worse than another, asked again with every window | [`Race`] |
//!
//! This crate knows no drive and no trace: a window is a number, and what was measured in it.
//!
//! ```
//! use ssdtune_estimate::{Measured, Population, Ratio};
//!
//! // What a drive took for each of 500 windows, and what another one takes: 1.2 times as much.
//! let baseline: Vec<f64> = (0..500).map(|at| 100.0 + f64::from(at % 37)).collect();
//! let candidate = |at: usize| 1.2 * baseline[at] + if at % 2 == 0 { 1.0 } else { -1.0 };
//!
//! let windows = Population::new(&baseline, 1.0, 7).unwrap();
//! let sample = windows.sample(60);
//! let measured: Vec<Measured> = sample
//!     .drawn
//!     .iter()
//!     .map(|drawn| {
//!         let (below, above) = (baseline[drawn.window], candidate(drawn.window));
//!         Measured { chance: drawn.chance, below, above }
//!     })
//!     .collect();
//! let ratio = Ratio::of(&measured, sample.reach).unwrap();
//! let interval = ratio.interval.unwrap();
//! assert!(interval.low < 1.2 && 1.2 < interval.high && interval.half_width() < 0.01);
//! ```

mod interval;
mod population;
mod race;
mod ratio;
mod tail;

pub use interval::{Interval, WINDOWS_MIN, student};
pub use population::{Drawn, Population, PopulationError, Reach, Sample};
pub use race::{Race, Standing};
pub use ratio::{Measured, Ratio};
pub use tail::{Latencies, Percentile, Tail, TailWindow, weighted_percentile};
