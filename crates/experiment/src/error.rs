//! What can go wrong between a request for an experiment and its report.

use crate::preparation::PreparationError;
use crate::serve::ObserverError;
use ssdtune_model::Sectors;
use ssdtune_sim::{FtlError, SimError, SnapshotError};
use ssdtune_trace::TraceError;
use std::io;
use std::path::{Path, PathBuf};

/// Why requests do not come.
#[derive(Debug, thiserror::Error)]
pub enum SourceError {
    /// The trace or model cannot be read.
    #[error("{0}")]
    Trace(#[from] TraceError),
    /// The pages that the trace touches do not fit the drive, even without the gaps between them.
    #[error(
        "{name} touches {} and the drive has {}: take a larger drive, or --fit-addresses wrap \
         (which also folds addresses onto each other)",
        gib(*.needed), gib(*.space)
    )]
    TooLarge {
        /// The trace.
        name: String,
        /// What it touches.
        needed: Sectors,
        /// What the tenant can address.
        space: Sectors,
    },
    /// A pipe is to be read more than once, and is too long to be kept in memory.
    #[error(
        "{name} can be read once only, this run reads its trace more than once, and more than \
         {most} requests are not kept in memory: write it into a file first (`ssdtune trace \
         convert - -o FILE.ssdt`), or read less (--requests)"
    )]
    LongPipe {
        /// The pipe.
        name: String,
        /// How many requests are kept.
        most: usize,
    },
    /// A request reaches beyond the end of the drive.
    #[error(
        "{name}: request {number} reaches sector {} and the drive ends at {} ({}): \
         --fit-addresses compact closes the gaps in the trace's address space, \
         --fit-addresses wrap folds it, or take a larger drive",
        .end.0, .space.0, gib(*.space)
    )]
    BeyondEnd {
        /// The trace.
        name: String,
        /// The request's number, from 1.
        number: u64,
        /// The sector after its last.
        end: Sectors,
        /// What the tenant can address.
        space: Sectors,
    },
}

fn gib(size: Sectors) -> String {
    format!("{:.2} GiB", size.bytes().0 as f64 / f64::from(1 << 30))
}

/// Why a drive cannot be prepared.
#[derive(Debug, thiserror::Error)]
pub enum PrepareError {
    /// The parts of the preparation do not go together.
    #[error(transparent)]
    Contradiction(#[from] PreparationError),
    /// The drive cannot be simulated, or has no room for its data.
    #[error(transparent)]
    Drive(#[from] SimError),
    /// The requests that the preparation looks at do not come.
    #[error("{0}")]
    Source(#[from] SourceError),
    /// The file of a kept drive cannot be read.
    #[error("{}: {source}", .path.display())]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// Why not.
        source: io::Error,
    },
    /// The file does not hold this drive.
    #[error("{}", .path.display())]
    Restore {
        /// The file.
        path: PathBuf,
        /// Why not.
        source: SnapshotError,
    },
}

impl PrepareError {
    /// The file of a kept drive, where the error is of one.
    pub fn path(&self) -> Option<&Path> {
        match self {
            Self::Unreadable { path, .. } | Self::Restore { path, .. } => Some(path),
            Self::Contradiction(_) | Self::Drive(_) | Self::Source(_) => None,
        }
    }
}

/// Why an experiment has no report.
#[derive(Debug, thiserror::Error)]
pub enum ExperimentError {
    /// The drive cannot serve these tenants at all.
    #[error("{0}")]
    Unsupported(&'static str),
    /// The drive cannot be prepared.
    #[error("{0}")]
    Prepare(#[from] PrepareError),
    /// The requests do not come.
    #[error("{0}")]
    Source(#[from] SourceError),
    /// The prepared drive cannot be kept.
    #[error("writing {}", .path.display())]
    Save {
        /// The file.
        path: PathBuf,
        /// Why not.
        source: io::Error,
    },
    /// The prepared drive cannot be put into bytes.
    #[error(transparent)]
    Snapshot(#[from] SnapshotError),
    /// An observer cannot go on.
    #[error(transparent)]
    Observer(ObserverError),
}

impl ExperimentError {
    /// Whether the work failed (a full disk, a drive that is out of free blocks) rather than an
    /// input being wrong.
    pub fn is_failed_work(&self) -> bool {
        match self {
            Self::Prepare(PrepareError::Drive(SimError::Ftl(FtlError::OutOfSpace { .. })))
            | Self::Save { .. } => true,
            Self::Observer(error) => {
                let mut cause: Option<&(dyn std::error::Error + 'static)> = Some(error.as_ref());
                while let Some(error) = cause {
                    if error.is::<io::Error>() {
                        return true;
                    }
                    cause = error.source();
                }
                false
            }
            Self::Unsupported(_) | Self::Prepare(_) | Self::Source(_) | Self::Snapshot(_) => false,
        }
    }
}
