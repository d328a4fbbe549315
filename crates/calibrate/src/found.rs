//! Calibrating to whatever files hold: points, or runs of writes.

use crate::calibration::{CalibrateError, Calibration, Order, calibrate};
use crate::fit::Progress;
use crate::read::Found;
use crate::writes::{WriteCalibration, calibrate_writes};
use serde::Serialize;
use ssdtune_model::DeviceConfig;
use ssdtune_report::{Page, Text};
use std::sync::atomic::AtomicBool;

/// A calibration to points or to runs of writes.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(untagged)]
pub enum AnyCalibration {
    /// To points: latencies and rates.
    Points(Box<Calibration>),
    /// To runs of writes: what they cost the flash.
    Writes(Box<WriteCalibration>),
}

impl AnyCalibration {
    /// The text of the drive's file.
    pub fn drive_file(&self) -> String {
        match self {
            Self::Points(own) => own.drive_file(),
            Self::Writes(own) => own.drive_file(),
        }
    }

    /// The report as an HTML page.
    pub fn page(&self) -> Page {
        match self {
            Self::Points(own) => own.page(),
            Self::Writes(own) => own.page(),
        }
    }

    /// The report as text for people.
    pub fn text(&self) -> Text {
        match self {
            Self::Points(own) => own.text(),
            Self::Writes(own) => own.text(),
        }
    }
}

/// Calibrates a drive to what was found in files.
///
/// # Errors
/// There are points and runs of writes; otherwise as [`calibrate()`] and [`calibrate_writes()`].
pub fn calibrate_found(
    found: Found,
    base: &DeviceConfig,
    order: &Order,
    stop: &AtomicBool,
    progress: &(dyn Fn(Progress) + Sync),
) -> Result<AnyCalibration, CalibrateError> {
    let Found { points, runs, .. } = found;
    match (points.len(), runs.len()) {
        (points @ 1.., runs @ 1..) => Err(CalibrateError::Mixed { points, runs }),
        (_, 1..) => {
            let made = calibrate_writes(runs, base, order, stop, progress)?;
            Ok(AnyCalibration::Writes(Box::new(made)))
        }
        (_, 0) => {
            let made = calibrate(points, base, order, stop, progress)?;
            Ok(AnyCalibration::Points(Box::new(made)))
        }
    }
}
