//! Live-points: windows from all over a trace, each with the state that any drive of a search space
//! needs to begin there.
//!
//! A [`Sampler`] passes over a trace once and leaves [`LivePoints`], which a file keeps; a
//! [`Restorer`] makes the drive with which a window begins, by defining its state and not by
//! writing it; [`replay`] serves the window.
//!
//! # What a window holds
//!
//! One pass serves drives with any size of caches, so a window holds no content of a cache but what
//! each can be told from. All times are numbers of requests.
//!
//! | data | bytes |
//! |---|---|
//! | the requests: 500 to warm up, those measured, 64 behind them | 24 each |
//! | records of the pages they touch: last use, last two writes | 32 a run of equal ones |
//! | some 180 depths: pages used, read last, changed, since some request | 36 each |
//! | earlier requests, a quarter of a doubling of age apart: what leaves a cache | 32 a run |
//! | the latest 2,048 writes: what is on its way to flash | 40 a run |
//!
//! The rank of a page in any cache is the depth of its last use. Whether it has changed follows
//! from its last two writes, at which offset of a block it lies from the last.
//!
//! That is some 150 KB for a window of 1,000 small requests, so 300 MB for 2,000 windows, whatever
//! the length of the trace. For the whole trace there are the footprint (a bit for each 4 KiB, or
//! less) and what was written by when.
//!
//! # Cost
//!
//! The pass takes 16 B for each page touched, in leaves of 16 pages, and 8 MiB of counters.
//! Restoring copies a prepared drive (a third of a millisecond for an empty one of 480 planes) and
//! names some thousand pages, 200 ns each. docs/results/sampling.md has the figures.
//!
//! # Left out
//!
//! Tenants with caches of their own, or with closed loops ([`SharedDrive`] has the others). Pages
//! of the size that the pass was told. Drives with an SLC cache or with MQSim's eager frontiers
//! begin as if these were not there. A drive that collects needs a start of its own (`steady`), on
//! which what the trace did before the window has no trace but in the caches. Records of pages are
//! kept for the whole trace: where they do not fit into the memory given, the pass ends with an
//! error.

mod course;
mod features;
mod file;
pub(crate) mod fingerprint;
mod layout;
mod log;
mod pass;
mod recency;
mod record;
mod replay;
mod restore;
mod spaces;
mod summary;
#[cfg(test)]
mod tests;

pub use course::{Course, Mark, Written, Wrote};
pub use features::Features;
pub(crate) use file::MAGIC as LIVE_POINTS_MAGIC;
pub use file::PointsFileError;
pub use pass::Sampler;
pub use recency::Depth;
pub use record::{NEVER, Record};
pub use replay::{Replayed, replay};
pub use restore::{Clock, Restorer, SharedDrive, Timed};
pub use spaces::Spaces;
pub use summary::Sampled;

use crate::error::PrepareError;
use roaring::RoaringTreemap;
use ssdtune_model::Nanos;
use ssdtune_sim::SimError;
use ssdtune_trace::{Request, TraceError};
use std::ops::Range;

/// How a trace is sampled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SampleOptions {
    /// Windows at most; at least half as many are kept of a long trace.
    pub windows: usize,
    /// Requests of a window that are served to warm up.
    pub warm_up: u32,
    /// Requests of a window that are measured.
    pub measured: u32,
    /// Bytes of a flash page of the drives that will be restored.
    pub page_bytes: u32,
    /// Decides where windows lie.
    pub seed: u64,
    /// Memory that the records of pages may take.
    pub memory_bytes: u64,
}

/// The version of what restored drives answer. It is raised by one when that changes, so that no
/// evaluation stored before is found any more; a test compares some answers with those of this
/// epoch.
pub const RESTORED_EPOCH: u32 = 5;

/// Requests behind those that are measured, so that these are not served alone.
pub const TAIL: u32 = 64;

/// Latest writes that a window keeps, in pages.
const RECENT_PAGES: u32 = 4_096;
/// Pages of earlier requests that a window keeps. Only requests of more than 16 MiB reach it.
const SAMPLE_PAGES: u64 = 1 << 24;
/// Requests of a window, to warm up or measured, at most.
const LENGTH_MAX: u32 = 1 << 24;

impl SampleOptions {
    /// Requests of a window.
    pub fn length(&self) -> u32 {
        self.warm_up + self.measured + TAIL
    }

    /// Whether drives with pages of this size can be restored: 4, 8, 16 or 32 KiB.
    pub fn has_page_bytes(bytes: u32) -> bool {
        bytes.is_power_of_two() && (4_096..=32_768).contains(&bytes)
    }

    fn check(&self) -> Result<(), LivePointsError> {
        let bytes = self.page_bytes;
        if !Self::has_page_bytes(bytes) {
            return Err(LivePointsError::Page { bytes });
        }
        match self.windows < 2 || self.measured == 0 {
            true => Err(LivePointsError::NoWindows),
            false if self.measured.max(self.warm_up) > LENGTH_MAX => Err(LivePointsError::Long),
            false => Ok(()),
        }
    }
}

impl Default for SampleOptions {
    fn default() -> Self {
        Self {
            windows: 2_000,
            warm_up: 500,
            measured: 1_000,
            page_bytes: 4_096,
            seed: 1,
            memory_bytes: 8 << 30,
        }
    }
}

/// Pages side by side with the same record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Run {
    /// The first page.
    pub first: u64,
    /// Pages.
    pub pages: u32,
    /// What was done with each of them.
    pub record: Record,
}

impl Run {
    /// Its pages.
    pub fn pages(&self) -> std::ops::Range<u64> {
        self.first..self.first + u64::from(self.pages)
    }

    /// Its pages, each with the record.
    pub fn records(&self) -> impl Iterator<Item = (u64, Record)> + use<> {
        let record = self.record;
        self.pages().map(move |page| (page, record))
    }

    /// Some of its pages.
    fn part(&self, pages: std::ops::Range<u64>) -> Self {
        Self { first: pages.start, pages: (pages.end - pages.start) as u32, ..*self }
    }
}

/// The present epoch of writes, by the times of the trace.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Epoch {
    /// Its first request.
    pub first: u32,
    /// When it ends at the earliest.
    pub ends: Nanos,
}

/// A part of the trace, and what came before it as far as it can be seen there.
#[derive(Clone, Debug, PartialEq)]
pub struct Window {
    /// The number of its first request in the trace.
    pub start: u32,
    /// Requests that warm up.
    pub warm_up: u32,
    /// Its requests: those that warm up, those that are measured, and some behind them.
    pub requests: Vec<Request>,
    /// The records, before the window, of the pages that it touches.
    pub before: Vec<Run>,
    /// Records of pages used at earlier times, the earliest first: such pages leave caches.
    pub samples: Vec<Run>,
    /// The latest writes of pages that were not written since, with their times: what may be on its
    /// way to flash when the window begins.
    pub recent: Vec<(Nanos, Run)>,
    /// How many pages were used since.
    pub depths: Vec<Depth>,
    /// The epoch of writes.
    pub epoch: Epoch,
}

/// Which trace live-points come from.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct About {
    /// What the user calls the trace.
    pub trace: String,
    /// The BLAKE3 hash of its requests, 23 bytes each: time, address, sectors, tenant, operation.
    pub fingerprint: [u8; 32],
    /// When its first request comes.
    pub first: Nanos,
    /// When its last one comes.
    pub last: Nanos,
}

/// The live-points of a trace.
#[derive(Clone, Debug, PartialEq)]
pub struct LivePoints {
    /// Which trace it is.
    pub about: About,
    /// How it was sampled.
    pub options: SampleOptions,
    /// Requests of the trace.
    pub requests: u64,
    /// The windows, in the order of the trace.
    pub windows: Vec<Window>,
    /// All pages of 4 KiB that the trace touches.
    pub footprint: RoaringTreemap,
    /// What was written by when.
    pub course: Course,
}

impl LivePoints {
    /// What the trace touches, in pieces of 4 KiB: those side by side together, in order.
    pub fn touched(&self) -> impl Iterator<Item = Range<u64>> + '_ {
        self.footprint.bitmaps().flat_map(|(high, low)| {
            let (first, mut pieces) = (u64::from(high) << 32, low.iter());
            let next = std::iter::from_fn(move || pieces.next_range());
            next.map(move |own| first + u64::from(*own.start())..first + u64::from(*own.end()) + 1)
        })
    }
}

/// Why there are no live-points, or none for this drive.
#[derive(Debug, thiserror::Error)]
pub enum LivePointsError {
    /// Pages of a size that drives do not have.
    #[error("pages of {bytes} bytes: write 4096, 8192, 16384 or 32768")]
    Page {
        /// The size.
        bytes: u32,
    },
    /// Fewer windows than two, or empty ones.
    #[error("at least two windows, and at least one measured request in each")]
    NoWindows,
    /// Windows that are too long.
    #[error("more than 16,777,216 requests in a window: write fewer")]
    Long,
    /// The trace is too short.
    #[error(
        "{requests} requests, and two windows need {least}: run the whole trace instead, or let \
         `trace sample` take shorter windows (--measured, --warm-up)"
    )]
    TooShort {
        /// Its requests.
        requests: u64,
        /// Requests that two windows need.
        least: u64,
    },
    /// The trace is too long.
    #[error("the trace has more than 4,294,967,294 requests: cut it")]
    TooLong,
    /// The pages that the trace touches need too much memory.
    #[error(
        "the pages that the first {requests} requests touch need more than {most} bytes: allow \
         more (--memory), or cut the trace"
    )]
    Memory {
        /// Bytes that they may take.
        most: u64,
        /// Requests so far.
        requests: u64,
    },
    /// Requests of several devices, whose addresses have nothing to do with each other.
    #[error(
        "the trace is one of several devices: choose one (--devices), or take all for one \
         (--merge-devices)"
    )]
    Devices,
    /// The trace cannot be read on.
    #[error(transparent)]
    Trace(#[from] TraceError),
    /// The drive's pages have another size.
    #[error("live-points for pages of {theirs} bytes, and the drive has pages of {ours}")]
    OtherPage {
        /// That of the live-points.
        theirs: u32,
        /// That of the drive.
        ours: u32,
    },
    /// The drive is too small for the trace.
    #[error("the trace reaches page {last}, and the drive has {pages}")]
    TooSmall {
        /// The last page.
        last: u64,
        /// Pages of the drive.
        pages: u64,
    },
    /// The drive cannot be made.
    #[error(transparent)]
    Drive(#[from] SimError),
    /// The drive cannot be brought into its state.
    #[error(transparent)]
    Prepare(#[from] PrepareError),
    /// Each tenant has caches of its own.
    #[error(
        "windows know the order of last use over all tenants, and this drive divides its caches \
         among them: set cache.sharing and mapping.cmt_sharing to shared, or run the mix whole"
    )]
    Partitions,
    /// A drive that tenants share begins otherwise than it can be restored.
    #[error(
        "--start {start}: windows of a mix begin on a drive that was empty before it (empty) or \
         holds what it touches (footprint)"
    )]
    SharedStart {
        /// How it begins.
        start: String,
    },
    /// Host writes wait for free blocks that no collection can make.
    #[error("the drive runs out of free blocks")]
    OutOfSpace,
}
