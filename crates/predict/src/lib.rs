//! The performance of a flash drive, predicted without simulating or building it.
//!
//! Two predictors of published work live here:
//!
//! - [`blackbox`] predicts latency, IOPS and bandwidth of any drive, simulated or real, from
//!   characteristics of the workload alone: shares, sizes, randomness, strides and load. After Li,
//!   Huang, "Black-Box Performance Modeling for Solid-State Drives" (MASCOTS 2010).
//! - [`firmware`] predicts how long the firmware of a drive takes on its own CPU, from what it does
//!   on the CPU of this machine. After Lee et al., "Learned Performance Model for SSD" (IEEE
//!   Computer Architecture Letters, 2021).
//!
//! A black-box model costs hours of measuring once, and then about a microsecond for each
//! prediction. Whoever wants the exact answer for one workload runs `ssdtune_experiment` instead,
//! which takes seconds. A model knows one drive, in the state it was measured in, and says so where
//! a workload lies outside of what it was trained on.
//!
//! ```
//! use ssdtune_experiment::{Preparation, Start};
//! use ssdtune_model::DeviceConfig;
//! use ssdtune_predict::blackbox::{MeasureSettings, SampleSize, SimulatedDrive};
//! use ssdtune_predict::{BlackBoxModel, Point};
//! use std::sync::atomic::AtomicBool;
//!
//! // A workload by its name: 4 KiB reads at random places, 8 of them outstanding.
//! let point: Point = "w0-q8-R4k.r100".parse()?;
//!
//! // What the simulator measures of it, with every page of the drive holding data.
//! let mut config = DeviceConfig::default();
//! (config.flash.blocks_per_plane, config.flash.pages_per_block) = (64, 32);
//! let (config, stop) = (config.check()?, AtomicBool::new(false));
//! let sample = SampleSize { pages: 400, ..SampleSize::default() };
//! let every_page = Preparation::of(Start::sequential(1.0), 0);
//! let settings = MeasureSettings::new(every_page, sample, 1)?;
//! let drive = SimulatedDrive { config: &config, settings, stop: &stop };
//! let measured = drive.family(&[point])?[0];
//! assert!((measured.iops * measured.latency_ns / 1e9 - 8.0).abs() < 0.8, "Little's law");
//!
//! // What a model predicts that was fitted to another drive.
//! # let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/fixtures/former/model.json");
//! # let path = std::path::Path::new(path);
//! let model = BlackBoxModel::read(path)?;
//! let prediction = model.predict(&model.characteristics(&point, None)?);
//! let [latency, _iops, _bandwidth] = prediction.strong;
//! assert!(latency.interval.is_some_and(|interval| interval.holds(latency.value)));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! What this crate does not do: it has no command line, it starts no other program except
//! for profiles of firmware, and it knows nothing of the insides of a real drive.

pub mod blackbox;
pub mod firmware;

pub use blackbox::{BlackBoxModel, Characteristics, Point, Prediction, SimulatedDrive};
pub use firmware::{FirmwareModel, FirmwareObserver, FirmwareReport};
