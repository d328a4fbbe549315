//! Learned firmware time: how long a drive's firmware takes on its own CPU, predicted from what it
//! does on this machine's CPU.
//!
//! After Lee et al., "Learned Performance Model for SSD" (IEEE Computer Architecture Letters,
//! 2021). The flash translation layer of `ssdtune-ftl` is the firmware. It runs directly, without a
//! simulator, over groups of 1,000 requests. For each group a host records hardware events and run
//! times, and a target, which is a board or a stand-in for one, records run times. A model learns
//! the target's time from what the host knows:
//!
//! 1. A [`Profiler`] runs the firmware over the [`Workload`]s of the paper in child processes, and
//!    keeps events and times in the file of a [`Profile`]. Children are the program itself and run
//!    a [`ChildRun`].
//! 2. [`fit()`] joins the profiles of host and target, judges every learner on workloads it has not
//!    seen, and makes a [`FirmwareModel`] of the best.
//! 3. [`FirmwareModel::predict`] predicts another profile of the host, and a [`FirmwareObserver`]
//!    adds firmware time to the latencies of a simulation.
//!
//! Left out: the paper's firmware has several threads, this one has one; there is no driver for the
//! flash and no host protocol.

mod callgrind;
mod child;
mod cortex_a53;
mod counters;
mod drive;
mod events;
mod fit;
mod launch;
mod observer;
mod predictor;
mod profile;
mod profiler;
mod records;
mod regress;
mod run;
mod text;
mod workloads;

pub use callgrind::CallgrindError;
pub use child::{ChildError, ChildRun};
pub use counters::CounterError;
pub use drive::{DriveSize, WorkCounts};
pub use events::EventSource;
pub use fit::{
    Correlation, Figures, FirmwareModel, FirmwareProvenance, FirmwareShare, FitError, FitOptions,
    FitReport, Gain, Gains, Judgement, Networks, PredictError, PredictedGroup, PredictionErrors,
    Say, WorkloadError, fit,
};
pub use launch::{ChildMessage, LaunchError};
pub use observer::{FirmwareObserver, FirmwareReport, LatencyWithFirmware};
pub use predictor::{Form, MissingInput, Predictor};
pub use profile::{
    Profile, ProfileError, ProfileSetup, ProfileSource, ProfiledGroup, Statistic, TimeSource,
};
pub use profiler::{EventChoice, Profiler, ProfilerError, ProfilerOptions};
pub use records::JoinError;
pub use regress::{NetworkShape, TrainError};
pub use run::{MeasuredGroup, RunError, WorkloadRun};
pub use workloads::{GROUP_REQUESTS, TABLE_4, UnknownWorkload, Workload};
