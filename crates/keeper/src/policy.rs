//! A trained network and the rules around it: from what tenants ask for to a strategy.
//!
//! There are three kinds of network. A *classifier* (the paper's, with 9, 64 and 42 neurons) gives
//! each strategy the probability that it is the best. A *ranker*, of the same size, gives each
//! strategy the logarithm of its total latency divided by that of `Shared`. A network of *parts*
//! says how long reads and writes take within one part of a drive, from which the total of every
//! strategy follows.
//!
//! A policy abstains where it is in doubt, and channels stay shared: where the best strategy
//! promises less than [`Policy::abstain`] over `Shared`. What it must promise grows with how much
//! requests come in bursts ([`Policy::doubt`]): the next period may be another one. On a running
//! drive a network of parts only proposes; a [`SwitchModel`] decides.
//!
//! Cost: a decision of a classifier takes 1 us. One of a network for parts takes some 12 us: half
//! for the queues of seven groups of tenants on every number of channels, half for the network,
//! which is three times as large if it learned from several drives; and some 5 us for a switch.

use crate::drive::{DriveFigures, FlashFigures};
use crate::features::ObservedMix;
use crate::forecast::{self, Forecast};
use crate::labels::{LabelSource, is_like};
use crate::strategy::{Strategy, TENANTS};
use crate::switch::{self, Outlook, SwitchModel};
use crate::vector::{FEATURES, Intensity, VECTOR_TENANTS};
use serde::{Deserialize, Serialize};
use ssdtune_learn::mlp::{Buffer, MlpModel};
use ssdtune_learn::{ModelFile, ModelFileError, Version};
use ssdtune_model::config::{Allocation, Mapping};
use ssdtune_model::{DeviceConfig, presets};
use std::borrow::Cow;
use std::path::Path;

/// What the outputs of a network are.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum NetworkKind {
    /// For each strategy, the probability that it is the best.
    Classifier,
    /// For each strategy, the logarithm of its total latency divided by that of `Shared`.
    Ranker,
    /// For one part of a drive, the logarithms of the mean latencies of reads and of writes.
    Parts,
}

impl NetworkKind {
    /// Numbers of inputs and outputs of such a network, for a policy with this number of
    /// strategies.
    pub const fn shape(self, strategies: usize) -> (usize, usize) {
        match self {
            Self::Classifier | Self::Ranker => (FEATURES, strategies),
            Self::Parts => (forecast::INPUTS, forecast::OUTPUTS),
        }
    }

    /// Checks that such a network can decide about this number of tenants. A part may be anybody's,
    /// and the paper's vector has four places.
    ///
    /// # Errors
    /// It cannot.
    pub fn check_tenants(self, found: usize) -> Result<(), TenantsError> {
        let most = match self {
            Self::Classifier | Self::Ranker => VECTOR_TENANTS,
            Self::Parts => *TENANTS.end(),
        };
        match (*TENANTS.start()..=most).contains(&found) {
            true => Ok(()),
            false => Err(TenantsError { found, most }),
        }
    }
}

/// A drive or a mix has a number of tenants that is not 2 to 8 or, for a classifier or a ranker,
/// whose inputs have four places, 2 to 4.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("a network of this kind shares a drive out to 2 to {most} tenants, not to {found}")]
pub struct TenantsError {
    /// How many there are.
    pub found: usize,
    /// The most that it can decide about.
    pub most: usize,
}

/// By how many standard deviations a part may be asked for more than a period shows, when the risk
/// of a strategy is judged.
pub const DEVIATIONS: f64 = 2.0;

/// Number of strategies, those with the least forecast latencies, whose risk is looked at. With one
/// alone a network that is wrong about the best would decide; each costs 3 us.
const PROPOSALS: usize = 3;

/// A trained network, for one drive or to be put on several, and when to trust it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Policy {
    /// Version of the file.
    pub version: Version<5>,
    /// Number of drives that it learned from. One that learned from several can be put on any with
    /// as many channels ([`Policy::for_drive`]).
    pub drives: usize,
    /// Name of the drive that it is for: the one it was trained for, or was put on; in the file of
    /// a network that learned from several drives what these are, in words.
    pub device: String,
    /// Digest of that drive's configuration ([`crate::labels::device_digest`]); empty for several.
    pub device_digest: String,
    /// Number of channels of that drive.
    pub channels: u32,
    /// Its flash; of several drives, that of the first.
    pub flash: FlashFigures,
    /// The command that made it.
    pub made_by: String,
    /// The seed of its training.
    pub seed: u64,
    /// How intensity levels are measured.
    pub intensity: Intensity,
    /// The period T, in nanoseconds, whose requests decide; of several drives, that of the first.
    pub collect_ns: u64,
    /// What the outputs of the network are.
    pub kind: NetworkKind,
    /// What the best strategy must promise over `Shared` to be chosen, as a logarithm of latencies
    /// (of a classifier: of probabilities). Of a network of parts that is what it promises if each
    /// part, and the whole drive under `Shared`, is asked for [`DEVIATIONS`] standard deviations
    /// more than was observed: a period is only a sample.
    pub abstain: f64,
    /// How much more it must promise where requests come in bursts: this for each time that
    /// [`ObservedMix::burst`] is as large again by a factor of e. Only networks of parts have it.
    pub doubt: f64,
    /// What is forecast of dividing the channels of a running drive. Only networks of parts have
    /// it, and only those that have learned from enough runs: without it an allocator leaves the
    /// channels shared.
    // Files without this key are not those of today: `null` says that nothing was learned.
    #[serde(deserialize_with = "Option::deserialize")]
    pub switch: Option<SwitchModel>,
    /// The strategies to choose from, for tenants ordered as in [`ObservedMix`]. The first one is
    /// `Shared`. For a number of tenants that has parts of its own and none here, a network of
    /// parts chooses from all that there are.
    pub strategies: Vec<Strategy>,
    /// The network.
    pub network: MlpModel,
}

const FILE: ModelFile =
    ModelFile { holds: "network of SSDKeeper", written_by: "ssdtune keeper train" };

/// What a policy decides about a mix.
#[derive(Clone, Debug, PartialEq)]
pub struct Choice {
    /// The strategy, for the tenants as the drive numbers them.
    pub strategy: Strategy,
    /// The best strategy by the network alone: the same, unless the policy abstains.
    pub favourite: Strategy,
    /// What the favourite promises over `Shared`: the logarithm of their latencies (of a
    /// classifier: of their probabilities). 0 for `Shared` itself.
    pub gain: f64,
    /// What of that is left in doubt, which [`Policy::abstain`] is compared with.
    pub doubtful_gain: f64,
}

/// The memory that the decisions of one policy need, and what its last decision was made from.
#[derive(Clone, Debug)]
pub struct DecisionMemory {
    /// The strategies to choose from, for each number of tenants in [`TENANTS`].
    strategies: Vec<Vec<Strategy>>,
    buffer: Buffer,
    /// For a network of parts.
    forecast: Option<Forecast>,
    /// For each strategy, depending on the kind of network: its probability, the logarithm of its
    /// ratio to `Shared`, or its total latency in nanoseconds.
    outlook: Vec<f64>,
    /// The total of `Shared` in the last decision, in nanoseconds, if all is asked for more.
    busy_shared: Option<f64>,
}

impl DecisionMemory {
    /// The place of a strategy among those to choose from for this number of ordered tenants.
    pub fn place(&self, tenants: usize, strategy: &Strategy) -> Option<usize> {
        let known = &self.strategies[tenants - TENANTS.start()];
        known.iter().position(|known| known == strategy)
    }
}

impl Policy {
    /// Reads a policy and checks it.
    ///
    /// # Errors
    /// The file cannot be read, or holds no sound policy.
    pub fn read(path: &Path) -> Result<Self, ModelFileError> {
        FILE.read(path, Self::verify)
    }

    /// Checks what serde cannot; an error says what is wrong.
    fn verify(&self) -> Result<(), String> {
        let found = (self.network.inputs(), self.network.outputs());
        let wanted = self.kind.shape(self.strategies.len());
        if found != wanted {
            return Err(format!(
                "the network has {} inputs and {} outputs where {} and {} are wanted",
                found.0, found.1, wanted.0, wanted.1
            ));
        }
        if self.strategies.first() != Some(&Strategy::Shared) {
            return Err("its first strategy is not Shared".to_owned());
        }
        let all = u64::from(self.channels);
        let is_wrong = |strategy: &&Strategy| match strategy {
            Strategy::Shared | Strategy::Isolated => false,
            Strategy::ByKind { writers, readers } => {
                u64::from(*writers) + u64::from(*readers) != all
            }
            Strategy::Parts(parts) => parts.iter().copied().map(u64::from).sum::<u64>() != all,
        };
        if let Some(strategy) = self.strategies.iter().find(is_wrong) {
            return Err(format!("{strategy} does not divide {all} channels"));
        }
        if let Some(fault) = self.switch.as_ref().and_then(SwitchModel::fault) {
            return Err(fault.to_owned());
        }
        if self.drives == 0 {
            return Err("drives must be above 0".to_owned());
        }
        if self.collect_ns == 0 {
            return Err("collect_ns must be above 0".to_owned());
        }
        let rate = self.intensity.requests_per_s_max;
        let numbers = [rate, self.abstain, self.doubt];
        if !(numbers.into_iter().all(f64::is_finite) && rate > 0.0) {
            let names = "intensity, abstain and doubt";
            return Err(format!("{names} must be finite numbers, intensity above 0"));
        }
        self.drive().fault().map_or(Ok(()), |fault| Err(fault.to_owned()))
    }

    /// Whether it was trained for this drive. The seed that decides where data lie does not matter:
    /// the drive may have been labelled with the seed of the training.
    pub fn is_for(&self, device: &DeviceConfig) -> bool {
        is_like(device, self.seed, &self.device_digest)
    }

    /// Whether it can decide as it is: it is for one drive, or was put on one
    /// ([`Policy::for_drive`]).
    pub fn is_put(&self) -> bool {
        self.drives == 1 || !self.device_digest.is_empty()
    }

    /// Whether labels are of the drive that it was trained for, as far as that can be told: by
    /// their digests, or by a preset of that name, of which both are then, whatever the seeds.
    pub fn is_for_labels(&self, labels: &LabelSource) -> bool {
        let is_of_both = |device: &DeviceConfig| self.is_for(device) && labels.is_of(device);
        let of_preset = |device: DeviceConfig| {
            [Allocation::Static, Allocation::Dynamic].into_iter().any(|allocation| {
                let mapping = Mapping { allocation, ..device.mapping.clone() };
                is_of_both(&DeviceConfig { mapping, ..device.clone() })
            })
        };
        labels.device_digest == self.device_digest
            || presets::load(&labels.device).is_ok_and(of_preset)
    }

    /// What must be known of its drive.
    pub(crate) fn drive(&self) -> DriveFigures {
        DriveFigures::new(self.channels, self.intensity, &self.flash)
    }

    /// The policy for the drive of some labels, if it learned from several drives: else as it is.
    pub(crate) fn on(&self, source: &LabelSource) -> Cow<'_, Self> {
        if self.drives == 1 {
            return Cow::Borrowed(self);
        }
        Cow::Owned(Self {
            device: source.device.clone(),
            device_digest: source.device_digest.clone(),
            channels: source.channels,
            flash: source.flash,
            intensity: source.intensity(),
            collect_ns: source.settings.collect_ns,
            ..self.clone()
        })
    }

    /// The memory that its decisions need.
    pub fn memory(&self) -> DecisionMemory {
        let strategies: Vec<_> = TENANTS.map(|tenants| self.strategies_for(tenants)).collect();
        let forecast = matches!(self.kind, NetworkKind::Parts)
            .then(|| Forecast::new(&strategies, self.drive()));
        let (buffer, outlook, busy_shared) = (Buffer::default(), Vec::new(), None);
        DecisionMemory { strategies, buffer, forecast, outlook, busy_shared }
    }

    /// The strategies to choose from for this number of tenants.
    fn strategies_for(&self, tenants: usize) -> Vec<Strategy> {
        let is_own =
            |one: &Strategy| matches!(one, Strategy::Parts(parts) if parts.len() == tenants);
        let are_listed = tenants == 2 || self.strategies.iter().any(is_own);
        match self.kind == NetworkKind::Parts && !are_listed {
            true => Strategy::all(self.channels, tenants),
            false => self.strategies.clone(),
        }
    }

    /// The strategy for an observed mix. `memory` must come from [`Policy::memory`] of this policy.
    ///
    /// # Panics
    /// If the memory is another policy's, or [`NetworkKind::check_tenants`] refuses the number of
    /// tenants.
    pub fn choose(&self, observed: &ObservedMix, memory: &mut DecisionMemory) -> Choice {
        let DecisionMemory { strategies, buffer, forecast, outlook, busy_shared } = memory;
        let strategies = &strategies[observed.writers.len() - TENANTS.start()];
        let found = match forecast {
            Some(forecast) => forecast.totals(&self.network, observed),
            None => {
                let row = observed.vector();
                self.network.predict_one(&row, buffer).expect("nine finite numbers")
            }
        };
        outlook.clear();
        outlook.extend_from_slice(found);
        *busy_shared = None;
        let mut best = 0;
        for (number, strategy) in strategies.iter().enumerate() {
            let is_better = match self.kind {
                NetworkKind::Classifier => outlook[number] > outlook[best],
                NetworkKind::Ranker | NetworkKind::Parts => outlook[number] < outlook[best],
            };
            if is_better && strategy.is_distinct(&observed.writers) {
                best = number;
            }
        }
        let favourite = observed.to_drive(&strategies[best]);
        let gain = self.gain(memory, 0, best);
        let doubtful_gain = match best {
            0 => 0.0,
            // Where requests come in bursts more is wanted: the next period may be another one.
            _ => match self.busy_promises(observed, memory, std::slice::from_ref(&favourite)) {
                Some(promises) => promises[0] - self.doubt * observed.burst.max(1.0).ln(),
                None => gain,
            },
        };
        let strategy = match best > 0 && doubtful_gain < self.abstain {
            true => Strategy::Shared,
            false => favourite.clone(),
        };
        Choice { strategy, favourite, gain, doubtful_gain }
    }

    /// What some strategies of the drive promise over `Shared`, as logarithms of latencies, if each
    /// part, and under `Shared` the whole drive, is asked for [`DEVIATIONS`] standard deviations
    /// more than was observed; `None` if the network is not one for parts.
    fn busy_promises(
        &self,
        observed: &ObservedMix,
        memory: &mut DecisionMemory,
        strategies: &[Strategy],
    ) -> Option<Vec<f64>> {
        let forecast = memory.forecast.as_mut()?;
        // Shared comes first: the last decision may know it.
        let known = memory.busy_shared;
        let shared = known.is_none().then_some(&Strategy::Shared);
        let asked: Vec<&Strategy> = shared.into_iter().chain(strategies).collect();
        let totals = forecast.busy_totals(&self.network, &asked, observed, DEVIATIONS);
        let (shared, own) = match known {
            Some(known) => (known, &totals[..]),
            None => (totals[0], &totals[1..]),
        };
        memory.busy_shared = Some(shared);
        Some(own.iter().map(|own| (shared / own).ln()).collect())
    }

    /// The inputs of a [`SwitchModel`] for dividing the channels by each of `strategies` after
    /// `slots` slots, of which a period T has 250. [`Policy::choose`] must have seen the same
    /// observation before: the promises come from its memory. There are none if the network is not
    /// one for parts, and `None` stands for a strategy that it does not know or that divides
    /// nothing, or if nothing was asked for.
    pub(crate) fn switch_inputs(
        &self,
        observed: &ObservedMix,
        slots: u64,
        strategies: &[Strategy],
        memory: &mut DecisionMemory,
    ) -> Vec<Option<[f64; switch::INPUTS]>> {
        let Some(busy) = self.busy_promises(observed, memory, strategies) else {
            return Vec::new();
        };
        let of = |(strategy, busy): (&Strategy, f64)| {
            let place = memory.place(observed.writers.len(), &observed.to_ordered(strategy))?;
            let promises = [self.gain(memory, 0, place), busy];
            let inputs = switch::inputs(observed, slots, strategy, promises, self.drive());
            inputs.iter().all(|input| input.is_finite()).then_some(inputs)
        };
        strategies.iter().zip(busy).map(of).collect()
    }

    /// Mean latencies of each tenant's reads and writes under a strategy of the drive, in
    /// nanoseconds, if data are placed by it from the beginning. `None` if the network is not one
    /// for parts.
    pub(crate) fn tenant_latencies(
        &self,
        observed: &ObservedMix,
        strategy: &Strategy,
        memory: &mut DecisionMemory,
    ) -> Option<Vec<[f64; 2]>> {
        let forecast = memory.forecast.as_mut()?;
        Some(forecast.of_tenants(&self.network, strategy, observed))
    }

    /// As [`Policy::tenant_latencies`], if the channels are divided now and each tenant had
    /// `before` under shared ones. Reads of data that lie on all channels go on to be served by
    /// these, and are taken to last as long as they did.
    pub(crate) fn tenant_latencies_from_now(
        &self,
        observed: &ObservedMix,
        strategy: &Strategy,
        before: &[[f64; 2]],
        memory: &mut DecisionMemory,
    ) -> Option<Vec<[f64; 2]>> {
        let mut after = self.tenant_latencies(observed, strategy, memory)?;
        for ((own, before), settled) in after.iter_mut().zip(before).zip(&observed.settled) {
            own[0] = settled * before[0] + (1.0 - settled) * own[0];
        }
        Some(after)
    }

    /// Mean latencies of each tenant's reads and writes alone on the drive, in nanoseconds. `None`
    /// if the network is not one for parts.
    pub(crate) fn latencies_alone(
        &self,
        observed: &ObservedMix,
        memory: &mut DecisionMemory,
    ) -> Option<Vec<[f64; 2]>> {
        Some(memory.forecast.as_mut()?.alone(&self.network, observed))
    }

    /// The strategies of the drive that divide the channels among these tenants, `count` at most,
    /// the one with the least total latency in the last [`Policy::choose`] first, which must have
    /// seen the same observation.
    pub(crate) fn divisions(
        &self,
        observed: &ObservedMix,
        memory: &DecisionMemory,
        count: usize,
    ) -> Vec<Strategy> {
        let strategies = &memory.strategies[observed.writers.len() - TENANTS.start()];
        let mut places: Vec<usize> = (1..strategies.len())
            .filter(|&place| strategies[place].is_distinct(&observed.writers))
            .collect();
        let outlook = &memory.outlook;
        places.sort_by(|&a, &b| outlook[a].total_cmp(&outlook[b]));
        let first = places.into_iter().take(count);
        first.map(|at| observed.to_drive(&strategies[at])).collect()
    }

    /// What is forecast of dividing the channels by each of some strategies after `slots` slots,
    /// beside the strategy. A strategy is left out if the policy has no switch model, or where
    /// [`Policy::switch_inputs`] gives nothing.
    pub(crate) fn outlooks(
        &self,
        observed: &ObservedMix,
        slots: u64,
        mut strategies: Vec<Strategy>,
        memory: &mut DecisionMemory,
    ) -> Vec<(Strategy, Outlook)> {
        let Some(model) = &self.switch else { return Vec::new() };
        let inputs = self.switch_inputs(observed, slots, &strategies, memory);
        let mut is_known = inputs.iter().map(Option::is_some);
        strategies.retain(|_| is_known.next().unwrap_or(false));
        let inputs: Vec<_> = inputs.into_iter().flatten().collect();
        strategies.into_iter().zip(model.outlooks(&inputs)).collect()
    }

    /// The division with the greatest expected gain, with its risk and gain, after `slots` slots,
    /// of which a period T has 250. Looked at are the [`PROPOSALS`] strategies with the least
    /// total latencies in the last [`Policy::choose`], which must have seen the same observation.
    /// One that [`SwitchModel::allows`] goes before all that it does not. `None` if the policy has
    /// no switch model, or no strategy divides the channels.
    pub(crate) fn best_switch(
        &self,
        observed: &ObservedMix,
        slots: u64,
        memory: &mut DecisionMemory,
    ) -> Option<(Strategy, Outlook)> {
        let model = self.switch.as_ref()?;
        let worth = |outlook: Outlook| (model.allows(outlook), outlook.gain);
        let proposals = self.divisions(observed, memory, PROPOSALS);
        let outlooks = self.outlooks(observed, slots, proposals, memory);
        // Of equal ones the first.
        outlooks.into_iter().reduce(|a, b| if worth(b.1) > worth(a.1) { b } else { a })
    }

    /// What one strategy promised over another in the last decision, both by their places among
    /// those to choose from ([`DecisionMemory::place`]): the logarithm of their latencies or, of a
    /// classifier, probabilities.
    pub fn gain(&self, memory: &DecisionMemory, from: usize, to: usize) -> f64 {
        let [from, to] = [from, to].map(|number| memory.outlook[number]);
        match self.kind {
            NetworkKind::Classifier => (to.max(1e-300) / from.max(1e-300)).ln(),
            NetworkKind::Ranker => from - to,
            NetworkKind::Parts => (from / to).ln(),
        }
    }

    /// Bytes of the network as the paper counts them: 16 for each neuron (section IV-D).
    pub fn paper_bytes(&self) -> usize {
        16 * (self.hidden() + self.network.outputs())
    }

    /// Bytes of the network's weights and biases as single-precision numbers.
    pub fn bytes(&self) -> usize {
        4 * self.network.parameters()
    }

    /// Multiplications of one prediction of the network: one for each weight.
    pub fn multiplications(&self) -> usize {
        self.network.parameters() - self.hidden() - self.network.outputs()
    }

    /// Neurons of the hidden layers.
    fn hidden(&self) -> usize {
        self.network.neurons() - self.network.outputs()
    }
}
