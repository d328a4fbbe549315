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
//! Data stay where they are, so what is read of the data that the drive holds is not moved by any
//! strategy; that belongs to what is decided from ([`ObservedMix::settled`]). A division that ends
//! badly is taken back (the file `guard`).
//!
//! Cost: the drive counts what is asked for ([`Demand`]). A decision is some predictions of the
//! network and, if it changes anything, one binding for each tenant.

use crate::binding::bind;
use crate::features::{DemandCollector, ObservedMix, SLOTS};
use crate::guard::Guard;
use crate::policy::{Choice, DecisionMemory, NetworkKind, Policy, TenantsError};
use crate::rates::ratio;
use crate::strategy::Strategy;
use serde::Serialize;
use ssdtune_experiment::{Observer, ObserverError};
use ssdtune_model::Nanos;
use ssdtune_sim::{Completion, Demand, Look, PagesLookedFor, SimError, Simulator};

/// What a division must promise over `Shared`, as a logarithm of latencies, to pay for the switch:
/// pages placed before it and after it lie in different orders, and requests that touch both wait
/// more often for the same channel. Of 400 mixes served 32 end more than 2 % above `Shared` without
/// it and 6 with it, and a seventh of the gain is lost.
const SWITCH_COST: f64 = 0.1;

/// The slots of a period after which reads show where data lie: the last quarter.
const SETTLED_SLOTS: u64 = SLOTS * 3 / 4;

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
    /// For each tenant, the share of its reads, 0 to 1, that go to data that lie on all channels; 0
    /// once the channels have been divided, since it is not known then.
    pub settled: Vec<f64>,
    /// The best strategy by the network alone.
    pub favourite: Strategy,
    /// What it promises over `Shared`, as a logarithm of latencies (of a classifier: of
    /// probabilities). Below the price of a switch, 0.1, a network for parts leaves the channels
    /// shared.
    pub gain: f64,
    /// What of that is left if tenants ask for more, and for its bursts; the channels stay shared
    /// where that is less than the network's `abstain`.
    pub doubtful_gain: f64,
    /// The strategy that the policy chose.
    pub proposed: Strategy,
    /// The strategy in place from then on.
    pub strategy: Strategy,
    /// Why channels were shared again between two decisions: latencies had been above those of
    /// `Shared` by this factor. `None` for what the policy decided.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub over_shared: Option<f64>,
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
    #[error(transparent)]
    Tenants(#[from] TenantsError),
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
    /// What reads had looked for before the last part of the period.
    looked_for: Vec<PagesLookedFor>,
    /// The books of the run; only a network for parts can keep them.
    guard: Option<Guard>,
    /// Dividing the channels was a mistake, and they stay shared.
    has_returned: bool,
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
        // A drive of one tenant counts nothing.
        policy.kind.check_tenants(demands.len().max(1))?;
        let bound = (Strategy::Shared, vec![false; demands.len()]);
        let collector = DemandCollector::new(demands.len(), collect);
        let guard = (policy.kind == NetworkKind::Parts)
            .then(|| Guard::new(policy.drive(), collector.slot()));
        Ok(Self {
            policy,
            repeat,
            memory: policy.memory(),
            collector,
            last: demands,
            bound,
            candidate: None,
            looked_for: Vec::new(),
            guard,
            has_returned: false,
            decisions: Vec::new(),
        })
    }

    /// The simulated time after which it is to be called again ([`Allocator::slot_ended`]).
    pub fn slot(&self) -> Nanos {
        self.collector.slot()
    }

    /// Takes note of requests that were completed since the last call.
    pub fn completed(&mut self, done: &[Completion]) {
        if let Some(guard) = &mut self.guard {
            guard.complete(done);
        }
    }

    /// Takes note of a slot that has ended at `at`, and decides if a period has ended with it.
    /// Channels that are divided are shared again if that was a mistake. All requests that were
    /// completed before must have been told of ([`Allocator::completed`]).
    ///
    /// # Errors
    /// The drive refuses the binding.
    pub fn slot_ended(&mut self, drive: &mut Simulator, at: Nanos) -> Result<(), SimError> {
        let is_first = self.decisions.is_empty();
        let is_divided = self.bound.0 != Strategy::Shared;
        if self.has_returned || !is_first && !is_divided && self.repeat == Repeat::Once {
            return Ok(());
        }
        let now: Vec<Demand> = drive.demands().collect();
        let asked: Vec<Demand> =
            now.iter().zip(&self.last).map(|(now, last)| now.since(last)).collect();
        self.last = now;
        if let Some(guard) = &mut self.guard {
            guard.add(&asked);
            let worse = if is_divided { guard.is_worse(&self.policy.network) } else { None };
            if let Some(over_shared) = worse {
                return self.share_again(drive, at, over_shared);
            }
        }
        if !is_first && self.repeat == Repeat::Once {
            return Ok(());
        }
        self.collector.add(&asked);
        if self.collector.is_at(SETTLED_SLOTS) {
            self.looked_for = drive.pages_looked_for().collect();
        }
        if !self.collector.is_full() {
            return Ok(());
        }
        let period = self.collector.take();
        if period.pages() == 0 {
            return Ok(());
        }
        let observed = ObservedMix::new(&period, self.policy.intensity);
        let observed = match is_divided {
            // Where data lie that were placed under several strategies is not known.
            true => observed,
            false => ObservedMix { settled: self.settled(drive), ..observed },
        };
        let choice = self.policy.choose(&observed, &mut self.memory);
        let choice = if is_divided { choice } else { self.worth_a_switch(choice) };
        let proposed = choice.strategy.clone();
        let is_due = is_first || self.is_due(&choice, &observed);
        if is_due {
            self.candidate = None;
            let wanted = (proposed.clone(), observed.writers.clone());
            if wanted != self.bound {
                bind(drive, &wanted.0, &wanted.1)?;
                if let Some(guard) = self.guard.as_mut().filter(|_| !is_divided) {
                    guard.divide(&self.policy.network);
                }
                self.bound = wanted;
            }
        }
        self.decisions.push(Decision {
            at_ns: at.0,
            level: observed.level + 1,
            reads: observed.readers,
            shares: observed.shares,
            burst: observed.burst,
            settled: observed.settled,
            favourite: choice.favourite,
            gain: choice.gain,
            doubtful_gain: choice.doubtful_gain,
            proposed,
            strategy: self.bound.0.clone(),
            over_shared: None,
        });
        Ok(())
    }

    /// A choice for a drive whose channels are shared, or `Shared` if it promises less than the
    /// switch costs.
    fn worth_a_switch(&self, choice: Choice) -> Choice {
        let is_for_parts = self.policy.kind == NetworkKind::Parts;
        match is_for_parts && choice.gain < SWITCH_COST {
            true => Choice { strategy: Strategy::Shared, ..choice },
            false => choice,
        }
    }

    /// For each tenant, the share of its reads in the last part of the period that found data. They
    /// are on all channels, and go on to be read from there.
    fn settled(&self, drive: &Simulator) -> Vec<f64> {
        let of = |(now, before): (PagesLookedFor, &PagesLookedFor)| {
            let [pages, unwritten] =
                [now.pages - before.pages, now.unwritten - before.unwritten].map(|n| n as f64);
            ratio((pages - unwritten).max(0.0), pages)
        };
        drive.pages_looked_for().zip(&self.looked_for).map(of).collect()
    }

    /// Shares all channels for the rest of the run.
    fn share_again(
        &mut self,
        drive: &mut Simulator,
        at: Nanos,
        over_shared: f64,
    ) -> Result<(), SimError> {
        self.has_returned = true;
        self.bound.0 = Strategy::Shared;
        bind(drive, &self.bound.0, &self.bound.1)?;
        let last = self.decisions.last().expect("channels were divided by a decision").clone();
        let strategy = Strategy::Shared;
        let back = Decision { at_ns: at.0, strategy, over_shared: Some(over_shared), ..last };
        self.decisions.push(back);
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
            self.memory.place(observed.writers.len(), &observed.to_ordered(strategy))
        };
        let gain = match (place(&self.bound.0), place(proposed)) {
            // What the network promises says nothing of parts for other kinds.
            (Some(from), Some(to)) if same_kinds => Some(self.policy.gain(&self.memory, from, to)),
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

    fn wants_completions(&self) -> bool {
        true
    }

    fn interval(&self) -> Option<Nanos> {
        self.allocator.as_ref().map(Allocator::slot)
    }

    fn look(
        &mut self,
        drive: &mut Simulator,
        completions: &[Completion],
        look: Look,
    ) -> Result<(), ObserverError> {
        let Some(allocator) = &mut self.allocator else { return Ok(()) };
        allocator.completed(completions);
        if let Look::IntervalEnd(at) = look {
            allocator.slot_ended(drive, at)?;
        }
        Ok(())
    }
}
