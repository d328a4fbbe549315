//! Strategies and the allocator on the same requests: latencies of reads and writes, and what
//! sharing the drive costs each tenant.
//!
//! What a strategy can do depends on where data lie that are read before they are written, so on
//! the [`Preparation`] of the drive. On an empty drive a page gets its place when it is first read
//! or written, by the strategy of that moment; that is the paper's simulator. On a drive that
//! holds data at the start, the data lie on all channels, and only what is written moves.
//!
//! Cost: one preparation and one simulation for each plan, and for each tenant alone; all threads
//! take part.

mod aims;
mod drives;
mod merge;
mod plans;
mod queues;
mod stream;
mod told;
mod windows;

pub use crate::fairness::Aim;
pub use aims::Aims;
pub use merge::{MergeError, MergeOptions, merged_requests};
pub use plans::{CompareOptions, Comparison, PlanLine};
pub use stream::{LongMix, MixRequests};
pub use told::{Untold, WindowLine};
pub use windows::{MIX_WINDOWS, WindowComparison, WindowPlans, compare_windows};

use self::drives::Drives;
use crate::allocator::{Allocator, AllocatorError, Decision, Repeat};
use crate::binding::{Indivisible, bind};
use crate::policy::Policy;
use crate::simulation::MeanLatencies;
use crate::strategy::Strategy;
use crate::targets::PlacedTarget;
use ssdtune_experiment::livepoints::LivePointsError;
use ssdtune_experiment::sampled::SampledError;
use ssdtune_experiment::{Blank, Preparation, PrepareError, Served, SourceError, Tally, serve};
use ssdtune_model::config::Allocation;
use ssdtune_model::{CheckedConfig, Nanos, TenantId};
use ssdtune_sim::{Border, Completion, Look, Observe, Report, SimError, Simulator, Stream, Tenant};
use ssdtune_trace::{Op, Request};
use std::sync::atomic::AtomicBool;

/// Who decides which channels the tenants have.
#[derive(Clone, Copy, Debug)]
pub enum Plan<'a> {
    /// One strategy from the beginning to the end. Nothing leaves its part.
    Fixed {
        /// The strategy.
        strategy: &'a Strategy,
        /// For each tenant, whether it is bound as one that mostly writes.
        writers: &'a [bool],
    },
    /// The allocator.
    Keeper(Keeper<'a>),
}

/// How an allocator works.
#[derive(Clone, Copy, Debug)]
pub struct Keeper<'a> {
    /// The policy that it asks.
    pub policy: &'a Policy,
    /// The period T.
    pub collect: Nanos,
    /// How often it decides.
    pub repeat: Repeat,
    /// What tenants are promised ([`Allocator::for_targets`]).
    pub targets: &'a [PlacedTarget],
    /// What a division is to be the best in ([`Allocator::for_aim`]).
    pub aim: Aim,
    /// Whether writes leave its parts while these are busy.
    pub border: Border,
}

impl<'a> Keeper<'a> {
    /// One that decides once, by latencies, after the period of its policy, and whose parts have
    /// open borders.
    pub fn of(policy: &'a Policy) -> Self {
        let (collect, repeat, border) = (Nanos(policy.collect_ns), Repeat::Once, Border::Open);
        Self { policy, collect, repeat, targets: &[], aim: Aim::Latency, border }
    }

    /// Its allocator for a drive whose tenants share all channels.
    fn allocator(&self, drive: &Simulator) -> Result<Allocator<'a>, AllocatorError> {
        let allocator = Allocator::new(self.policy, self.collect, self.repeat, drive)?;
        Ok(allocator.for_targets(self.targets).for_aim(self.aim).with_border(self.border))
    }
}

/// What a plan did.
#[derive(Clone, Debug)]
pub struct PlanOutcome {
    /// Mean latencies over all tenants.
    pub means: MeanLatencies,
    /// The simulator's report.
    pub report: Report,
    /// What the allocator decided; empty for a fixed strategy.
    pub decisions: Vec<Decision>,
}

/// Why plans could not be compared.
#[derive(Debug, thiserror::Error)]
pub enum CompareError {
    /// The drive cannot be prepared.
    #[error(transparent)]
    Prepare(#[from] PrepareError),
    /// The drive cannot be simulated.
    #[error(transparent)]
    Drive(#[from] SimError),
    /// The allocator does not fit the drive.
    #[error(transparent)]
    Allocator(#[from] AllocatorError),
    /// The drive's channels cannot be divided.
    #[error(transparent)]
    Indivisible(#[from] Indivisible),
    /// The drive cannot give pages a place when they are read, which one needs that starts empty.
    #[error(
        "on a drive that starts empty, a page that is read before it is written gets its place \
         when it is read (compat.read_allocates), which this drive cannot do; --start footprint \
         writes what the run touches before it begins:\n{0}"
    )]
    Empty(String),
    /// The drive cannot have the settings that a plan needs: its faults.
    #[error("{0}")]
    Config(String),
    /// A target names no tenant.
    #[error("{0}")]
    Target(String),
    /// The workloads are no mix, or cannot be read.
    #[error(transparent)]
    Mix(#[from] MergeError),
    /// Windows of the mix cannot be made or served.
    #[error(transparent)]
    Windows(SampledError),
    /// The drive was aged before the mix.
    #[error(
        "--age with --sample: windows of a mix begin on a drive that was empty before it or holds \
         what it touches; run the mix whole on an aged drive"
    )]
    Aged,
    /// The drive has dynamic page allocation.
    #[error(
        "--sample with mapping.allocation = \"dynamic\": windows of a mix do not know where pages \
         lie that were written before the allocator decided; run the mix whole, or on a drive with \
         --set mapping.allocation=static"
    )]
    DynamicWindows,
    /// The caller stopped it.
    #[error("interrupted")]
    Interrupted,
    /// The drive ran out of free blocks.
    #[error("{plan} runs the drive out of free blocks: take fewer requests, or a larger drive")]
    OutOfSpace {
        /// The plan under which that happened.
        plan: String,
    },
}

impl From<SourceError> for CompareError {
    fn from(error: SourceError) -> Self {
        Self::Mix(error.into())
    }
}

impl From<LivePointsError> for CompareError {
    fn from(error: LivePointsError) -> Self {
        Self::Windows(error.into())
    }
}

impl CompareError {
    /// Whether the caller asked for what this drive or these workloads cannot do.
    pub fn is_usage(&self) -> bool {
        match self {
            Self::Target(_) | Self::Allocator(_) | Self::Indivisible(_) => true,
            Self::Empty(_) | Self::Aged | Self::DynamicWindows => true,
            Self::Windows(error) => error.is_usage(),
            _ => false,
        }
    }
}

impl From<SampledError> for CompareError {
    fn from(error: SampledError) -> Self {
        match error {
            SampledError::Interrupted => Self::Interrupted,
            other => Self::Windows(other),
        }
    }
}

/// Requests, and the drive that is to serve them under one plan after the other.
#[derive(Debug)]
pub struct PlanRunner<'a> {
    drives: Drives,
    preparation: Preparation,
    tenants: usize,
    requests: &'a [Request],
    stop: &'a AtomicBool,
}

impl<'a> PlanRunner<'a> {
    /// Requests in order of time, whose addresses lie within their tenants' address spaces, on a
    /// drive prepared like this before each plan. Runs end early when `stop` is set.
    ///
    /// If the drive starts empty, `compat.read_allocates` is set: reads of pages that were never
    /// written would else cost no flash read under any plan.
    ///
    /// # Errors
    /// The drive cannot have some page allocation.
    pub fn new(
        device: &CheckedConfig,
        preparation: Preparation,
        tenants: usize,
        requests: &'a [Request],
        stop: &'a AtomicBool,
    ) -> Result<Self, CompareError> {
        let drives = Drives::new(device, &preparation.start)?;
        Ok(Self { drives, preparation, tenants, requests, stop })
    }

    /// For each tenant, whether it writes more sectors than it reads.
    pub fn writers(&self) -> Vec<bool> {
        let mut balance = vec![0i64; self.tenants];
        for request in self.requests {
            let sign = match request.op {
                Op::Write => 1,
                Op::Read => -1,
                Op::Trim | Op::Flush => 0,
            };
            balance[usize::from(request.tenant.0)] += sign * i64::from(request.sectors);
        }
        balance.into_iter().map(|balance| balance > 0).collect()
    }

    /// Serves the requests, or those of one tenant only, on the drive with this page allocation.
    ///
    /// # Errors
    /// The drive cannot be simulated, has no room, does not fit the policy, or the caller stopped
    /// it.
    pub fn run(
        &self,
        plan: Plan,
        allocation: Allocation,
        only: Option<TenantId>,
    ) -> Result<PlanOutcome, CompareError> {
        self.run_and_tell(plan, allocation, only, &mut |_| ())
    }

    /// As [`PlanRunner::run`], and tells of every completed request.
    ///
    /// # Errors
    /// As of [`PlanRunner::run`].
    pub fn run_and_tell(
        &self,
        plan: Plan,
        allocation: Allocation,
        only: Option<TenantId>,
        told: &mut dyn FnMut(&Completion),
    ) -> Result<PlanOutcome, CompareError> {
        let mut drive = self.drive(plan, allocation)?;
        let mut allocator = match plan {
            Plan::Fixed { .. } => None,
            Plan::Keeper(keeper) => Some(keeper.allocator(&drive)?),
        };
        let interval = allocator.as_ref().map(Allocator::slot);
        let is_mine = |request: &Request| only.is_none_or(|only| request.tenant == only);
        let requests = self.requests.iter().copied().filter(is_mine);
        let streams = vec![Stream { tenant: None, ..Stream::open(requests) }];
        let (mut tally, mut fault) = (Tally::default(), None);
        let served = serve(&mut drive, streams, interval, self.stop, |drive, done, look| {
            done.iter().for_each(|completion| {
                tally.add(completion);
                told(completion);
            });
            if let Some(allocator) = &mut allocator {
                allocator.completed(done);
                if let Look::IntervalEnd(at) = look {
                    fault = allocator.slot_ended(drive, at).err();
                }
            }
            fault.is_none()
        });
        if let Some(fault) = fault {
            return Err(fault.into());
        }
        match served {
            Served::Completed | Served::GivenUp => {}
            Served::Interrupted => return Err(CompareError::Interrupted),
            Served::OutOfSpace { .. } => {
                let plan = match plan {
                    Plan::Fixed { strategy, .. } => strategy.to_string(),
                    Plan::Keeper(_) => "SSDKeeper".to_owned(),
                };
                return Err(CompareError::OutOfSpace { plan });
            }
        }
        let means = MeanLatencies::of(&tally.total());
        let decisions = allocator.map(|one| one.decisions().to_vec()).unwrap_or_default();
        Ok(PlanOutcome { means, report: drive.report(), decisions })
    }

    /// A drive with its data in place, bound as the plan begins.
    fn drive(&self, plan: Plan, allocation: Allocation) -> Result<Simulator, CompareError> {
        let device = self.drives.with(allocation);
        let tenants = vec![Tenant::sole(device); self.tenants];
        let observe = Observe { completions: true, ..Observe::default() };
        let blank = Blank::new(device, &tenants, observe);
        let mut drive = blank.prepare(&self.preparation, self.requests, self.stop)?;
        if let Plan::Fixed { strategy, writers } = plan {
            bind(&mut drive, strategy, writers, Border::Closed)?;
        }
        Ok(drive)
    }
}
