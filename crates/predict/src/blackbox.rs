//! Black-box models: measure a drive over a grid of workloads, learn its performance, predict.
//!
//! After Li, Huang, "Black-Box Performance Modeling for Solid-State Drives" (MASCOTS 2010). The way
//! from a drive to predictions:
//!
//! 1. A [`Point`] is one workload, and [`grid`] lists the points of the paper.
//! 2. [`sweep()`] measures a [`SimulatedDrive`] at all of them; [`fio`] makes jobs that measure a
//!    real device, and reads what fio wrote. Both give a [`ResultsFile`].
//!    [`sweep_designs()`] measures [random workloads](Designs) instead, which are like windows of
//!    traces in what points are not.
//! 3. [`fit()`] learns a [`BlackBoxModel`] from [`Results`] and says how good it is.
//! 4. The model predicts a workload from its [`Characteristics`]: those of a point, or those of a
//!    [`Window`](windows::Window) of a trace.
//!
//! Of a real drive there are few points as a rule, and of several jobs: [`import()`] reads them,
//! and [`fit_few()`] learns a [`DriveModel`].
//!
//! Left out: trims and flushes, workloads of several tenants, percentiles of latencies.

pub mod fio;
pub mod grid;
pub mod windows;

mod batch;
mod bottleneck;
mod choice;
mod conformal;
mod designs;
mod distil;
mod drive_model;
mod equations;
mod estimate;
mod features;
mod fit;
mod measured;
mod model;
mod plan;
mod point;
mod regressor;
mod requests;
mod results;
mod shape;
mod shape_model;
mod simulated_drive;
mod sweep;
mod text;
mod window;

pub use batch::BatchLine;
pub use choice::sweep_designs;
pub use designs::{DesignPoint, Designs};
pub use drive_model::{
    AnyModel, DriveEntry, DriveModel, DrivePrediction, DriveReport, FEW_MIN, fit_few,
};
pub use equations::Extended;
pub use estimate::{Estimate, Interval, Range};
pub use features::Characteristics;
pub use fit::{
    Coverage, FitEntry, FitOptions, FitReport, GRID_TRAIN, KindError, fit, fit_and_test,
};
pub use measured::{ImportError, ImportOptions, Imported, import};
pub use model::{BlackBoxModel, COVERAGE, LoopError, Prediction, Provenance, Target, WindowErrors};
pub use plan::{OpenSweep, SweepPlan, Swept};
pub use point::{Access, CALIBRATION_DEPTH, Load, Pattern, Point, PointError};
pub use regressor::FitError;
pub use requests::PointRequests;
pub use results::{Place, PointResult, Results, ResultsError, ResultsFile, ResultsSource};
pub use shape::Shape;
pub use shape_model::{ShapeModel, ShapeReport};
pub use simulated_drive::{
    MeasureError, MeasureSettings, Performance, SampleSize, SimulatedDrive, UnfitPreparation,
};
pub use sweep::{SweepError, sweep};
