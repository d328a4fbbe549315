//! Strategies and the allocator against each other on one mix of requests: response times of reads and writes, and
//! what sharing costs each tenant.
//!
//! Where data lie that are read before anybody writes them decides what a strategy can do. [`Data::FirstTouch`] is
//! the paper's simulator: a page gets its place when it is first used, read or written, by the strategy of
//! that moment. [`Data::Spread`] is a drive in use: everything the run touches lies on all channels from the
//! beginning, and only what is written moves.

use crate::allocator::{Allocator, AllocatorError, Decision, Repeat};
use crate::bench::{Means, Tally, bind};
use crate::policy::Policy;
use crate::strategy::Strategy;
use serde::{Deserialize, Serialize};
use ssdtune_model::config::Allocation;
use ssdtune_model::{CheckedConfig, Nanos};
use ssdtune_sim::{
    Footprint, InitialContent, InitialState, Look, Observe, Outcome, Report, SimError, Simulator,
    Stream, Tenant,
};
use ssdtune_trace::{Op, Request};
use std::sync::atomic::{AtomicBool, Ordering};

/// Where data lie that are read before they are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Data {
    /// Where the strategy of their first use puts them.
    FirstTouch,
    /// On all channels.
    Spread,
}

/// Who decides.
#[derive(Clone, Copy, Debug)]
pub enum Plan<'a> {
    /// One strategy from the beginning, with each tenant bound as a writer or not.
    Fixed(&'a Strategy, &'a [bool]),
    /// The allocator.
    Keeper {
        /// Its policy.
        policy: &'a Policy,
        /// The period T.
        collect: Nanos,
        /// Once or always.
        repeat: Repeat,
    },
}

/// A run.
#[derive(Clone, Debug)]
pub struct Ran {
    /// Mean latencies.
    pub means: Means,
    /// Everything else.
    pub report: Report,
    /// What the allocator decided.
    pub decisions: Vec<Decision>,
}

/// Why a run has no figures.
#[derive(Debug, thiserror::Error)]
pub enum CompareError {
    /// The drive cannot be simulated.
    #[error(transparent)]
    Drive(#[from] SimError),
    /// The allocator does not fit it.
    #[error(transparent)]
    Allocator(#[from] AllocatorError),
    /// A configuration made of a legal one is not: the faults.
    #[error("{0}")]
    Config(String),
    /// The caller stopped it.
    #[error("interrupted")]
    Interrupted,
    /// The drive ran out of free blocks.
    #[error("{plan} runs the drive out of free blocks: take fewer requests, or a larger drive")]
    OutOfSpace {
        /// Under which plan.
        plan: String,
    },
}

/// A mix of requests and the drive that is to serve it.
#[derive(Debug)]
pub struct Contest<'a> {
    config: CheckedConfig,
    /// As hybrid allocation has it.
    hybrid: CheckedConfig,
    data: Data,
    tenants: usize,
    requests: &'a [Request],
    stop: &'a AtomicBool,
}

impl<'a> Contest<'a> {
    /// Requests of so many tenants, in order of time and inside the tenants' spaces.
    ///
    /// # Errors
    /// The drive cannot have these settings.
    pub fn new(
        config: &CheckedConfig,
        data: Data,
        tenants: usize,
        requests: &'a [Request],
        stop: &'a AtomicBool,
    ) -> Result<Self, CompareError> {
        let with = |allocation| {
            let mut config = (**config).clone();
            config.mapping.allocation = allocation;
            config.compat.read_allocates |= data == Data::FirstTouch;
            config.check().map_err(|faults| CompareError::Config(faults.to_string()))
        };
        Ok(Self {
            config: with(Allocation::Static)?,
            hybrid: with(Allocation::Hybrid)?,
            data,
            tenants,
            requests,
            stop,
        })
    }

    /// Sectors of a flash page.
    pub fn page_sectors(&self) -> u64 {
        self.config.geometry().sectors_per_page().into()
    }

    /// Whether each tenant mostly writes, over all its pages.
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

    /// Runs the requests, those of one tenant only if asked.
    ///
    /// # Errors
    /// The drive cannot be simulated, has no room, or the caller stopped it.
    pub fn run(&self, plan: Plan, hybrid: bool, only: Option<u16>) -> Result<Ran, CompareError> {
        let mut drive = self.drive(plan, hybrid)?;
        let (mut allocator, interval) = match plan {
            Plan::Fixed(..) => (None, Nanos::MAX),
            Plan::Keeper { policy, collect, repeat } => {
                let allocator = Allocator::new(policy, collect, repeat, &drive)?;
                let slot = allocator.slot();
                (Some(allocator), slot)
            }
        };
        let mine = |request: &Request| only.is_none_or(|only| request.tenant.0 == only);
        let requests = self.requests.iter().copied().filter(mine);
        let stream = Stream { tenant: None, ..Stream::open(requests) };
        let mut tally = Tally::new(self.tenants);
        let mut fault = None;
        let mut watch = |drive: &mut Simulator, look: Look| {
            drive.take_completions().iter().for_each(|completion| tally.add(completion));
            if let (Some(allocator), Look::IntervalEnd(at)) = (&mut allocator, look) {
                fault = allocator.slot_ended(drive, at).err();
            }
            fault.is_none() && !self.stop.load(Ordering::Relaxed)
        };
        let outcome = drive.run_in_intervals(vec![stream], interval, &mut watch);
        watch(&mut drive, Look::Between);
        if let Some(fault) = fault {
            return Err(fault.into());
        }
        if self.stop.load(Ordering::Relaxed) {
            return Err(CompareError::Interrupted);
        }
        if matches!(outcome, Outcome::OutOfSpace { .. }) {
            let plan = match plan {
                Plan::Fixed(strategy, _) => strategy.to_string(),
                Plan::Keeper { .. } => "SSDKeeper".to_owned(),
            };
            return Err(CompareError::OutOfSpace { plan });
        }
        let decisions = allocator.map(|a| a.decisions().to_vec()).unwrap_or_default();
        Ok(Ran { means: tally.means(), report: drive.report(), decisions })
    }

    fn drive(&self, plan: Plan, hybrid: bool) -> Result<Simulator, SimError> {
        let config = if hybrid { &self.hybrid } else { &self.config };
        let tenants = vec![Tenant::sole(config); self.tenants];
        let observe = Observe { completions: true, ..Observe::default() };
        let mut drive = Simulator::new(config, &tenants, observe)?;
        if self.data == Data::Spread {
            let mut footprint = Footprint::default();
            self.requests.iter().for_each(|request| drive.cover(&mut footprint, request));
            let past = InitialContent {
                state: InitialState::Sequential,
                occupancy: vec![0.0],
                erases: 0,
                seed: config.run.seed,
            };
            drive.set_initial_content(&past, &footprint)?;
        }
        if let Plan::Fixed(strategy, writers) = plan {
            bind(&mut drive, strategy, writers)?;
        }
        Ok(drive)
    }
}
