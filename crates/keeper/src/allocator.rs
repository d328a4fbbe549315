//! The allocator: looks at a running drive when its time has come, decides, and binds its tenants.
//!
//! For the first period T everybody shares all channels (Algorithm 2). At T the policy decides from what the tenants
//! asked for in it. With [`Repeat::Always`] it looks again after every further T, at what they asked for
//! since the last look, and switches when the better strategy promises more than the hysteresis over the one
//! in place, twice in a row: a switch costs nothing at once, but what is written then lies elsewhere. Where latencies
//! are to fall to half (`URGENT`) once is enough: a part that is asked for more than it can do falls behind with every
//! period.
//!
//! Cost: the drive counts (see `ssdtune_sim::Demand`); a decision is one prediction and, if it changes anything, one
//! binding for each tenant.

use crate::bench::bind;
use crate::features::{Collector, Seen};
use crate::policy::{Choice, Policy, Scratch};
use crate::strategy::Strategy;
use crate::vector::TENANTS;
use serde::Serialize;
use ssdtune_experiment::{Observer, ObserverError};
use ssdtune_model::Nanos;
use ssdtune_sim::{Completion, Demand, Look, SimError, Simulator};

/// A promise that is not waited on.
const URGENT: f64 = std::f64::consts::LN_2;

/// How often to decide.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Repeat {
    /// At T.
    Once,
    /// Every T; a strategy has to promise so much over the one in place (a logarithm of latencies).
    Always {
        /// What it has to promise.
        hysteresis: f64,
    },
}

/// A decision, for the record.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Decision {
    /// When.
    pub at_ns: u64,
    /// The intensity level seen, 0 to 19.
    pub level: u8,
    /// Whether each tenant mostly reads.
    pub reads: Vec<bool>,
    /// Each tenant's share.
    pub shares: Vec<f64>,
    /// How far requests came together, in standard deviations of such that come at random.
    pub burst: f64,
    /// What the policy says.
    pub proposed: Strategy,
    /// What is in place from now on.
    pub strategy: Strategy,
}

/// Why a drive cannot have this allocator.
#[derive(Debug, thiserror::Error)]
pub enum AllocatorError {
    /// The policy is for another drive.
    #[error(
        "the model is for drives of {trained} channels, this one has {found}: train one with `ssdtune keeper train`"
    )]
    Channels {
        /// Of the policy.
        trained: u32,
        /// Of the drive.
        found: u32,
    },
    /// It knows mixes of so many tenants only.
    #[error("the allocator shares a drive out to 2 to {TENANTS} tenants, not to {found}")]
    Tenants {
        /// How many there are.
        found: usize,
    },
    /// The drive refuses.
    #[error(transparent)]
    Drive(#[from] SimError),
}

/// An allocator at work on a drive.
#[derive(Debug)]
pub struct Allocator<'a> {
    policy: &'a Policy,
    repeat: Repeat,
    scratch: Scratch,
    collector: Collector,
    /// What had been asked for at the end of the last slot.
    last: Vec<Demand>,
    /// What is in place, and as what each tenant is bound.
    bound: (Strategy, Vec<bool>),
    /// What was proposed last and not done.
    candidate: Option<Strategy>,
    decisions: Vec<Decision>,
}

impl<'a> Allocator<'a> {
    /// An allocator for a drive whose tenants share all channels; `collect` is the period T.
    ///
    /// # Errors
    /// The policy does not fit the drive.
    pub fn new(
        policy: &'a Policy,
        collect: Nanos,
        repeat: Repeat,
        drive: &Simulator,
    ) -> Result<Self, AllocatorError> {
        let found = drive.config().geometry().channels;
        if found != policy.channels {
            return Err(AllocatorError::Channels { trained: policy.channels, found });
        }
        let demands: Vec<Demand> = drive.demands().collect();
        if !(2..=TENANTS).contains(&demands.len()) {
            // A drive of one tenant counts nothing.
            return Err(AllocatorError::Tenants { found: demands.len().max(1) });
        }
        let bound = (Strategy::Shared, vec![false; demands.len()]);
        Ok(Self {
            policy,
            repeat,
            scratch: policy.scratch(),
            collector: Collector::new(demands.len(), collect),
            last: demands,
            bound,
            candidate: None,
            decisions: Vec::new(),
        })
    }

    /// How often it wants to look.
    pub fn slot(&self) -> Nanos {
        self.collector.slot()
    }

    /// A slot has ended, and maybe a period.
    ///
    /// # Errors
    /// The drive refuses the binding.
    pub fn slot_ended(&mut self, drive: &mut Simulator, at: Nanos) -> Result<(), SimError> {
        let is_first = self.decisions.is_empty();
        if !is_first && self.repeat == Repeat::Once {
            return Ok(());
        }
        let now: Vec<Demand> = drive.demands().collect();
        let asked: Vec<Demand> =
            now.iter().zip(&self.last).map(|(now, last)| now.since(last)).collect();
        self.collector.add(&asked);
        self.last = now;
        if !self.collector.is_full() {
            return Ok(());
        }
        let period = self.collector.take();
        if period.pages() == 0 {
            return Ok(());
        }
        let seen = Seen::new(&period, self.policy.intensity);
        let tenants = seen.writers.len();
        let choice = self.policy.choose(&seen, &mut self.scratch);
        let proposed = choice.strategy.clone();
        let is_due = is_first || self.is_due(&choice, &seen);
        if is_due {
            self.candidate = None;
            let wanted = (proposed.clone(), seen.writers.clone());
            if wanted != self.bound {
                bind(drive, &wanted.0, &wanted.1)?;
                self.bound = wanted;
            }
        }
        self.decisions.push(Decision {
            at_ns: at.0,
            level: seen.features.level,
            reads: seen.features.reads[..tenants].to_vec(),
            shares: seen.features.shares[..tenants].to_vec(),
            burst: seen.burst,
            proposed,
            strategy: self.bound.0.clone(),
        });
        Ok(())
    }

    /// Whether a proposal is so much better than what is in place, and was so the last time.
    fn is_due(&mut self, choice: &Choice, seen: &Seen) -> bool {
        let Repeat::Always { hysteresis } = self.repeat else { return false };
        let proposed = &choice.strategy;
        // Two parts follow the kinds: with other kinds they are another strategy.
        let stays = *proposed == self.bound.0 && seen.writers == self.bound.1;
        let place = |strategy: &Strategy| {
            let ordered = seen.to_ordered(strategy);
            self.policy.strategies.iter().position(|known| *known == ordered)
        };
        let gain = match (place(&self.bound.0), place(proposed)) {
            // What the network promises says nothing of bursts, nor of parts for other kinds.
            (Some(from), Some(to)) if seen.writers == self.bound.1 && !choice.is_bursty => {
                Some(self.policy.gain(&self.scratch, from, to))
            }
            _ => None,
        };
        if stays || gain.is_some_and(|gain| gain < hysteresis) {
            self.candidate = None;
            return false;
        }
        let is_urgent = gain.is_some_and(|gain| gain >= URGENT);
        if is_urgent || self.candidate.as_ref() == Some(proposed) {
            return true;
        }
        self.candidate = Some(proposed.clone());
        false
    }

    /// Every look so far.
    pub fn decisions(&self) -> &[Decision] {
        &self.decisions
    }
}
/// An allocator that follows a run from its beginning; it is made when the drive is there.
#[derive(Debug)]
pub struct AllocatorObserver<'a> {
    policy: &'a Policy,
    collect: Nanos,
    repeat: Repeat,
    allocator: Option<Allocator<'a>>,
}

impl<'a> AllocatorObserver<'a> {
    /// An allocator for a drive that is not there yet; `collect` is the period T.
    pub fn new(policy: &'a Policy, collect: Nanos, repeat: Repeat) -> Self {
        Self { policy, collect, repeat, allocator: None }
    }

    /// What it has decided so far.
    pub fn decisions(&self) -> &[Decision] {
        self.allocator.as_ref().map_or(&[], Allocator::decisions)
    }
}

impl Observer for AllocatorObserver<'_> {
    fn begin(&mut self, drive: &mut Simulator) -> Result<(), ObserverError> {
        self.allocator = Some(Allocator::new(self.policy, self.collect, self.repeat, drive)?);
        Ok(())
    }

    fn interval(&self) -> Option<Nanos> {
        self.allocator.as_ref().map(Allocator::slot)
    }

    fn look(
        &mut self,
        drive: &mut Simulator,
        _: &[Completion],
        look: Look,
    ) -> Result<(), ObserverError> {
        if let (Some(allocator), Look::IntervalEnd(at)) = (&mut self.allocator, look) {
            allocator.slot_ended(drive, at)?;
        }
        Ok(())
    }
}
