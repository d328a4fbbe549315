//! The allocator: it observes a running drive, decides which channels its tenants should have, and
//! binds them.
//!
//! For the first period T all tenants share all channels (Algorithm 2). At its end the policy
//! decides, from what the tenants asked for in it. With [`Repeat::Always`] the allocator decides
//! again after every further period T, from what was asked for in that period.
//!
//! Such a later decision is carried out only if the better strategy promises more than a hysteresis
//! over the one in place, and does so twice in a row. A switch costs nothing at once, but what is
//! written from then on lies elsewhere. Where latencies are to fall to half (`URGENT`), once is
//! enough: a part that is asked for more than it can do falls further behind with every period.
//!
//! Cost: the drive counts what is asked for ([`Demand`]). A decision is a few predictions of the
//! network and, if it changes anything, one binding for each tenant.

use crate::binding::bind;
use crate::features::{DemandCollector, ObservedMix};
use crate::policy::{Choice, DecisionMemory, Policy};
use crate::strategy::Strategy;
use crate::vector::TENANTS_MAX;
use serde::Serialize;
use ssdtune_experiment::{Observer, ObserverError};
use ssdtune_model::Nanos;
use ssdtune_sim::{Completion, Demand, Look, SimError, Simulator};

/// A promise, as a logarithm of latencies, that is acted on without waiting for a second period.
const URGENT: f64 = std::f64::consts::LN_2;

/// How often to decide.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Repeat {
    /// Once, at the end of the first period.
    Once,
    /// At the end of every period.
    Always {
        /// What a strategy must promise over the one in place, as a logarithm of latencies (of a
        /// classifier: of probabilities).
        hysteresis: f64,
    },
}

/// One decision, for the record.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Decision {
    /// When it was made, in nanoseconds of simulated time.
    pub at_ns: u64,
    /// The intensity level observed, 1 to 20.
    pub level: u8,
    /// Whether each tenant mostly reads.
    pub reads: Vec<bool>,
    /// Each tenant's share of the flash pages asked for, 0 to 1.
    pub shares: Vec<f64>,
    /// How bursty the requests were ([`crate::features::PeriodDemand::burst`]).
    pub burst: f64,
    /// The strategy that the policy chose.
    pub proposed: Strategy,
    /// The strategy in place from then on.
    pub strategy: Strategy,
}

/// Why a drive cannot have this allocator.
#[derive(Debug, thiserror::Error)]
pub enum AllocatorError {
    /// The policy is for a drive with another number of channels.
    #[error(
        "the model is for drives of {trained} channels, this one has {found}: train one with \
         `ssdtune keeper train`"
    )]
    Channels {
        /// Channels of the drive that the policy was trained for.
        trained: u32,
        /// Channels of the drive.
        found: u32,
    },
    /// The drive has too many tenants, or only one.
    #[error("the allocator shares a drive out to 2 to {TENANTS_MAX} tenants, not to {found}")]
    Tenants {
        /// How many there are.
        found: usize,
    },
    /// The drive refuses a binding.
    #[error(transparent)]
    Drive(#[from] SimError),
}

/// An allocator at work on a drive.
#[derive(Debug)]
pub struct Allocator<'a> {
    policy: &'a Policy,
    repeat: Repeat,
    memory: DecisionMemory,
    collector: DemandCollector,
    /// What had been asked for until the end of the last slot.
    last: Vec<Demand>,
    /// The strategy in place, and for each tenant whether it is bound as one that mostly writes.
    bound: (Strategy, Vec<bool>),
    /// The strategy that the last period proposed and that was not put in place.
    candidate: Option<Strategy>,
    decisions: Vec<Decision>,
}

impl<'a> Allocator<'a> {
    /// An allocator for a drive whose tenants share all channels. `collect` is the period T.
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
        if !(2..=TENANTS_MAX).contains(&demands.len()) {
            // A drive of one tenant counts nothing.
            return Err(AllocatorError::Tenants { found: demands.len().max(1) });
        }
        let bound = (Strategy::Shared, vec![false; demands.len()]);
        Ok(Self {
            policy,
            repeat,
            memory: policy.memory(),
            collector: DemandCollector::new(demands.len(), collect),
            last: demands,
            bound,
            candidate: None,
            decisions: Vec::new(),
        })
    }

    /// The simulated time after which it is to be called again ([`Allocator::slot_ended`]).
    pub fn slot(&self) -> Nanos {
        self.collector.slot()
    }

    /// Takes note of a slot that has ended at `at`, and decides if a period has ended with it.
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
        let observed = ObservedMix::new(&period, self.policy.intensity);
        let tenants = observed.writers.len();
        let choice = self.policy.choose(&observed, &mut self.memory);
        let proposed = choice.strategy.clone();
        let is_due = is_first || self.is_due(&choice, &observed);
        if is_due {
            self.candidate = None;
            let wanted = (proposed.clone(), observed.writers.clone());
            if wanted != self.bound {
                bind(drive, &wanted.0, &wanted.1)?;
                self.bound = wanted;
            }
        }
        self.decisions.push(Decision {
            at_ns: at.0,
            level: observed.features.level + 1,
            reads: observed.features.reads[..tenants].to_vec(),
            shares: observed.features.shares[..tenants].to_vec(),
            burst: observed.burst,
            proposed,
            strategy: self.bound.0.clone(),
        });
        Ok(())
    }

    /// Whether a later choice is to be carried out now: it promises enough over the strategy in
    /// place, and either the period before proposed it too or it is urgent.
    fn is_due(&mut self, choice: &Choice, observed: &ObservedMix) -> bool {
        let Repeat::Always { hysteresis } = self.repeat else { return false };
        let proposed = &choice.strategy;
        // Parts for writers and readers are other parts when a tenant changes its kind.
        let same_kinds = observed.writers == self.bound.1;
        let stays = *proposed == self.bound.0 && same_kinds;
        let place = |strategy: &Strategy| {
            let ordered = observed.to_ordered(strategy);
            self.policy.strategies.iter().position(|known| *known == ordered)
        };
        let gain = match (place(&self.bound.0), place(proposed)) {
            // What the network promises says nothing of bursts, nor of parts for other kinds.
            (Some(from), Some(to)) if same_kinds && !choice.is_bursty => {
                Some(self.policy.gain(&self.memory, from, to))
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

    /// For each tenant, whether it is bound as one that mostly writes.
    pub(crate) fn bound_writers(&self) -> &[bool] {
        &self.bound.1
    }

    /// All decisions so far.
    pub fn decisions(&self) -> &[Decision] {
        &self.decisions
    }
}

/// An allocator as an observer of an experiment. It makes its [`Allocator`] when the run begins.
#[derive(Debug)]
pub struct AllocatorObserver<'a> {
    policy: &'a Policy,
    collect: Nanos,
    repeat: Repeat,
    allocator: Option<Allocator<'a>>,
}

impl<'a> AllocatorObserver<'a> {
    /// An allocator for the run that it is given to. `collect` is the period T.
    pub fn new(policy: &'a Policy, collect: Nanos, repeat: Repeat) -> Self {
        Self { policy, collect, repeat, allocator: None }
    }

    /// All decisions so far.
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
