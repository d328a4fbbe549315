//! The allocator: it observes a running drive, decides which channels its tenants should have, and
//! binds them.
//!
//! For the first period T all tenants share all channels (Algorithm 2). At its end the policy
//! decides, from what the tenants asked for in it. A network of parts may divide the channels
//! before, or later if it left them shared, at the moments that the file `watch` names, where it is
//! sure enough. With [`Repeat::Always`] the allocator decides again after every further period T,
//! from what was asked for in that period.
//!
//! Such a later decision is carried out only if the better strategy promises more than a hysteresis
//! over the one in place, and does so twice in a row. A switch costs nothing at once, but what is
//! written from then on lies elsewhere. Where latencies are to fall to half (`URGENT`), once is
//! enough: a part that is asked for more than it can do falls further behind with every period.
//!
//! Parts have open borders ([`Border::Open`]): a write that would wait in its part goes to the
//! plane of the whole drive that has the least to do. So a burst that nobody foresaw does not queue
//! up in a part while the rest of the drive is idle, and a part of one channel costs little where
//! it was a mistake. Fixed strategies, of labels and comparisons, have closed ones, as the paper's
//! have, and so may an allocator ([`Allocator::with_border`]).
//!
//! Data stay where they are, so what is read of the data that the drive holds is not moved by any
//! strategy; that belongs to what is decided from ([`ObservedMix::settled`]). What a division does
//! to a running drive is forecast, with its risk (the file `switch`), and one that ends badly is
//! taken back (the file `guard`).
//!
//! Cost: the drive counts what is asked for ([`ssdtune_sim::Demand`]). A decision is some
//! predictions of the network and, if it changes anything, one binding for each tenant.

mod division;

pub use division::{Change, Division};

use crate::binding::bind;
use crate::fairness::Aim;
use crate::features::{ObservedMix, SLOTS};
use crate::guard::Guard;
use crate::policy::{DecisionMemory, NetworkKind, Policy, TenantsError};
use crate::strategy::Strategy;
use crate::targets::PlacedTarget;
use crate::watch::{Watch, seen};
use serde::Serialize;
use ssdtune_experiment::{Observer, ObserverError};
use ssdtune_model::Nanos;
use ssdtune_sim::{Border, Completion, Look, SimError, Simulator};

/// A promise, as a logarithm of latencies, that is acted on without waiting for a second period.
const URGENT: f64 = std::f64::consts::LN_2;

/// How often to decide.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Repeat {
    /// Once: at the end of the first period or, with a network of parts, at one of the other
    /// moments that it has learned.
    Once,
    /// At the end of every period T and, until the channels are divided, at the moments before the
    /// end of the first one.
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
    /// What it promises over `Shared` if data are placed by it from the beginning, as a logarithm
    /// of latencies (of a classifier: of probabilities).
    pub gain: f64,
    /// What of that is left if tenants ask for more, and for its bursts. Networks other than those
    /// of parts leave the channels shared where that is less than their `abstain`.
    pub doubtful_gain: f64,
    /// The best division from now on, if the channels were shared until now and the policy has
    /// learned what divisions do to a running drive.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub division: Option<Division>,
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
        "the model is for drives of {trained} channels, this one has {found}: make labels for it \
         with `ssdtune keeper label`, and a model of them with `ssdtune keeper train`"
    )]
    Channels {
        /// Channels of the drive that the policy was trained for.
        trained: u32,
        /// Channels of the drive.
        found: u32,
    },
    /// The network learned from several drives and was not put on one ([`Policy::for_drive`]).
    #[error("the model is for several drives and was not put on this one")]
    NotPut,
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
    /// Whether writes may leave the parts.
    border: Border,
    /// What tenants are promised.
    targets: &'a [PlacedTarget],
    /// What a division is to be the best in.
    aim: Aim,
    memory: DecisionMemory,
    watch: Watch,
    /// After how many slots to look whether to divide the channels for the first time.
    moments: Vec<u64>,
    /// Whether that is still to be decided.
    is_open: bool,
    /// The strategy in place, and for each tenant whether it is bound as one that mostly writes.
    bound: (Strategy, Vec<bool>),
    /// The strategy that the last period proposed and that was not put in place.
    candidate: Option<Strategy>,
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
        if !policy.is_put() {
            return Err(AllocatorError::NotPut);
        }
        let tenants = drive.demands().count();
        // A drive of one tenant counts nothing.
        policy.kind.check_tenants(tenants.max(1))?;
        let bound = (Strategy::Shared, vec![false; tenants]);
        // Only what knows the risk of a division may decide at other times than the end of T.
        let mut moments = policy.switch.as_ref().map_or(vec![SLOTS], |own| own.moments.clone());
        if repeat != Repeat::Once {
            moments.retain(|&moment| moment <= SLOTS);
        }
        let last = moments.last().copied().unwrap_or(SLOTS);
        let watch = Watch::new(collect, last, drive);
        let guard =
            (policy.kind == NetworkKind::Parts).then(|| Guard::new(policy.drive(), watch.slot()));
        Ok(Self {
            policy,
            repeat,
            border: Border::Open,
            targets: &[],
            aim: Aim::Latency,
            memory: policy.memory(),
            watch,
            moments,
            is_open: true,
            bound,
            candidate: None,
            guard,
            has_returned: false,
            decisions: Vec::new(),
        })
    }

    /// This allocator, now told of targets, which go before the latencies of all. Where some are
    /// missed on shared channels, it divides them by a strategy that is forecast to keep more of
    /// them, to break none, and to make latencies of the run at most 10.5 % longer, whatever its
    /// risk. A division for the latencies of all must leave each target with a fifth to spare, or
    /// as it is or better. Targets are not looked at once the channels are divided. They are
    /// ignored with [`Repeat::Always`], and by a policy that has no [`SwitchModel`].
    ///
    /// [`SwitchModel`]: crate::SwitchModel
    pub fn for_targets(mut self, targets: &'a [PlacedTarget]) -> Self {
        if self.repeat == Repeat::Once {
            self.targets = targets;
        }
        self
    }

    /// This allocator, now told what a division is to be the best in. With [`Aim::Fairness`] it
    /// divides the channels by the strategy that is the fairest by forecast, if it is fairer than
    /// what is done otherwise (shared channels, or a division for the latencies of all that is
    /// fairer than these) and no tenant is slowed down more than the slowest one there, and if
    /// latencies of the run are at most 10.5 % longer and the risk is at most 0.4. Fairness is not
    /// looked at where there are targets, nor once the channels are divided, with
    /// [`Repeat::Always`], or by a policy that has no [`SwitchModel`].
    ///
    /// [`SwitchModel`]: crate::SwitchModel
    pub fn for_aim(mut self, aim: Aim) -> Self {
        if self.repeat == Repeat::Once {
            self.aim = aim;
        }
        self
    }

    /// This allocator, with parts whose borders are like this. They are open otherwise; with closed
    /// ones tenants have their channels to themselves, as in the paper, and a burst that nobody
    /// foresaw waits in its part.
    pub fn with_border(self, border: Border) -> Self {
        Self { border, ..self }
    }

    /// The simulated time after which it is to be called again ([`Allocator::slot_ended`]).
    pub fn slot(&self) -> Nanos {
        self.watch.slot()
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
        let is_divided = self.bound.0 != Strategy::Shared;
        let is_decided = self.is_decided();
        if self.has_returned || is_decided && !is_divided {
            return Ok(());
        }
        let asked = self.watch.asked(drive);
        if let Some(guard) = &mut self.guard {
            guard.add(&asked);
            let worse = if is_divided { guard.is_worse(&self.policy.network) } else { None };
            if let Some(over_shared) = worse {
                return self.share_again(drive, at, over_shared);
            }
        }
        if is_decided {
            return Ok(());
        }
        let moments = if self.is_open { &self.moments[..] } else { &[SLOTS] };
        match self.watch.add(&asked, drive, moments) {
            Some(slots) => self.decide(drive, at, slots),
            None => Ok(()),
        }
    }

    /// Decides from what was asked for in the first slots of a run, or in a period.
    fn decide(&mut self, drive: &mut Simulator, at: Nanos, slots: u64) -> Result<(), SimError> {
        let is_first = self.is_open;
        let is_divided = self.bound.0 != Strategy::Shared;
        let settled = self.watch.settled(drive);
        let is_last = self.watch.is_at_end();
        let period = self.watch.period();
        if period.pages() == 0 {
            // Nobody was there: the run begins with who comes.
            if self.is_open && slots >= SLOTS {
                self.watch.begin_anew();
            }
            return Ok(());
        }
        // Where data lie that were placed under several strategies is not known.
        let settled = if is_divided { vec![0.0; settled.len()] } else { settled };
        let observed = seen(&period, self.policy.intensity, settled);
        let choice = self.policy.choose(&observed, &mut self.memory);
        let is_of_parts = self.policy.kind == NetworkKind::Parts;
        let division = match is_divided {
            true => None,
            false => self.division(drive, &observed, slots),
        };
        let proposed = match &division {
            Some(division) if division.is_taken => division.strategy.clone(),
            _ if is_of_parts && !is_divided => Strategy::Shared,
            _ => choice.strategy,
        };
        let is_division = proposed != Strategy::Shared;
        self.is_open &= !is_division && !is_last;
        // That channels stay shared is told of once.
        let is_told = slots == SLOTS || is_last && self.decisions.is_empty();
        if !is_division && !is_told {
            return Ok(());
        }
        if is_first || self.is_due(&proposed, &observed) {
            self.candidate = None;
            let wanted = (proposed.clone(), observed.writers.clone());
            if wanted != self.bound {
                bind(drive, &wanted.0, &wanted.1, self.border)?;
                if let Some(guard) = self.guard.as_mut().filter(|_| is_division && !is_divided) {
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
            division,
            proposed,
            strategy: self.bound.0.clone(),
            over_shared: None,
        });
        Ok(())
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
        bind(drive, &self.bound.0, &self.bound.1, self.border)?;
        let last = self.decisions.last().expect("channels were divided by a decision").clone();
        // What was seen is of the last look; nothing was forecast now.
        let back = Decision {
            at_ns: at.0,
            division: None,
            proposed: Strategy::Shared,
            strategy: Strategy::Shared,
            over_shared: Some(over_shared),
            ..last
        };
        self.decisions.push(back);
        Ok(())
    }

    /// Whether a later proposal is to be carried out now: it promises enough over the strategy in
    /// place, and either the period before proposed it too or it is urgent.
    fn is_due(&mut self, proposed: &Strategy, observed: &ObservedMix) -> bool {
        let Repeat::Always { hysteresis } = self.repeat else { return false };
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

    /// Whether it will decide no more; channels that are divided may still be shared again.
    pub fn is_decided(&self) -> bool {
        !self.is_open && self.repeat == Repeat::Once
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
