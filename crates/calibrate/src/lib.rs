//! Calibrates a simulated drive to measurements of a real one.
//!
//! The way from measurements to a drive that can be trusted as far as it was tested:
//!
//! 1. [`read()`] reads [`Point`]s: what the drive did under fio or SPDK's `perf`.
//! 2. [`screen()`] refuses those that were not measured soundly, and says how repeats differ.
//! 3. [`Split`] divides the others into those that are fitted and those that test the fit.
//! 4. [`replay()`] says what a simulated drive does at a point.
//! 5. [`fit()`] finds the structure and the parameters that come nearest to the fitted points, and
//!    says which of them the points do not tell.
//! 6. [`calibrate()`] does all that and says how large the errors are, at points that were fitted
//!    and at points that were not; [`Calibration::drive_file`] is the drive with a header that says
//!    so.
//!
//! Runs of writes ([`Run`]) tell the spare capacity: [`calibrate_writes()`]. [`calibrate_found()`]
//! takes whatever a file held.
//!
//! [`Plan`] is the job file of fio that measures what is needed. [`derive()`] makes another
//! capacity of a calibrated drive, by its dies alone.
//!
//! ```
//! use ssdtune_calibrate::{Micros, Operation, parse};
//! use std::path::Path;
//!
//! let text = "op,bs,iodepth,numjobs,iops,lat_mean_us\nrandread,4096,8,1,100000,79.9\n";
//! let points = parse(Path::new("mine.csv"), "mine", text)?;
//! assert_eq!(points[0].operation, Operation::RandomRead);
//! assert_eq!(points[0].figures.mean, Some(Micros(79.9)));
//! # Ok::<(), ssdtune_calibrate::ReadError>(())
//! ```

mod calibration;
mod capacity;
mod errors;
mod fit;
mod found;
mod load;
mod plan;
mod point;
mod read;
mod replay;
mod run;
mod screen;
mod small;
mod split;
mod writes;

pub use calibration::{
    CalibrateError, Calibration, Collapse, Hint, MeanErrors, Order, Prediction, TestedRange,
    ToldByRuns, calibrate,
};
pub use capacity::{CapacityError, Derived, derive};
pub use errors::Errors;
pub use fit::{
    AXES, Axis, FREE, FREE_OF_RIGS, Fit, FitError, FitOptions, FittedValue, Free, Journal,
    JournalError, LOOKS, Look, Needs, Peak, Progress, Rival, Scale, Stage, Structure, Tried,
    WRITTEN, digest, fit,
};
pub use found::{AnyCalibration, calibrate_found};
pub use plan::{NoDevice, Plan, PlanOptions, PlannedJob};
pub use point::{
    Direction, Family, Figures, MibPerSecond, Micros, Operation, PerSecond, Point, TimedJob,
};
pub use read::{Found, ReadError, parse, read};
pub use replay::{ReplayError, ReplayOptions, replay, replay_all};
pub use run::{Fall, Pattern, PatternError, Run, Sample, Shape};
pub use screen::{Noise, Reason, Refused, ScreenOptions, Screened, screen};
pub use split::{Expression, ExpressionError, Split};
pub use writes::{
    FallErrors, FallPrediction, RunErrors, RunHost, RunPrediction, WriteCalibration,
    calibrate_writes,
};
