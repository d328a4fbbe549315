//! How good a policy is on labelled mixes that it has not learned from.
//!
//! The paper counts how often the chosen strategy is the label. Where several strategies are
//! equally good that says little. So beside it stand the share of mixes whose choice is within
//! [`TIE`] of the best, and what a user pays: the *regret*, which is the total latency of the
//! chosen strategy divided by that of the best one, less 1. For a strategy that was given up in
//! its race the ratio is that at which it was given up.

use crate::features::{ObservedMix, SLOTS};
use crate::labels::{LabelSource, LabelledMix};
use crate::mix::{Mix, MixTenant};
use crate::policy::{Policy, TenantsError};
use crate::rates::ratio;
use crate::simulation::SwitchOutcome;
use crate::strategy::Strategy;
use crate::switch::SwitchExample;
use crate::vector::LEVELS;
use crate::watch::seen;
use rayon::prelude::*;
use serde::Serialize;
use ssdtune_model::Nanos;
use std::hint::black_box;
use std::time::Instant;

/// A regret up to this counts as good as the best.
pub const TIE: f64 = 0.01;

pub use crate::switch::HARMLESS;

/// The latencies under the best strategy of a mix are less than those under `Shared` by this part,
/// and dividing channels is worthwhile.
pub const WORTHWHILE: f64 = 0.1;

/// How good the choices for some mixes are.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Score {
    /// How many mixes were judged.
    pub mixes: usize,
    /// The share of mixes whose choice is the label, 0 to 1.
    pub accuracy: f64,
    /// The share of mixes whose regret is at most [`TIE`], 0 to 1.
    pub tie_accuracy: f64,
    /// Mean regret.
    pub regret_mean: f64,
    /// The regret that 99 % of the mixes do not exceed.
    pub regret_p99: f64,
    /// The largest regret.
    pub regret_max: f64,
    /// Mean regret of leaving everything shared.
    pub shared_regret_mean: f64,
    /// The most by which a choice is worse than leaving everything shared, as a part of that.
    pub above_shared_max: f64,
    /// The share of mixes whose choice is worse than leaving everything shared by more than
    /// [`HARMLESS`], 0 to 1.
    pub above_shared_share: f64,
    /// By how much choices are worse than that, in the mean over all mixes.
    pub harm_mean: f64,
    /// The share of mixes for which everything is left shared, 0 to 1.
    pub shared_share: f64,
    /// The share of mixes whose best strategy gains [`WORTHWHILE`] or more over `Shared`, 0 to 1.
    pub worthwhile_share: f64,
    /// What the choices take of that gain, as a share of it; 0 if there are no such mixes. Of
    /// logarithms of latencies.
    pub gain_taken: f64,
}

/// What an allocator that follows a run loses of the latencies of a choice that is worse than
/// leaving everything shared, however much worse: it goes back. Of 151 mixes in bursts (seed 1)
/// a bold policy divided 30, of which 13 are labelled `Shared`. Served, 5 ended beyond
/// [`HARMLESS`], by 6.8 % more in the mean (when it went back at 1.3 times `Shared`; now it does at
/// 4). This bears on choices by labels alone: on running drives the file `switch` decides.
const FOLLOWED_HARM: f64 = 0.05;

/// What the choices of a policy cost an allocator that follows the runs, summed: the regret, and
/// `weight` times what they lose beyond [`HARMLESS`].
pub(crate) fn followed_cost(policy: &Policy, judged: &[Judged], weight: f64) -> f64 {
    let cost = |(mix, chosen): (&LabelledMix, Strategy)| {
        let ratio = |strategy| mix.ratio(strategy).unwrap_or(f64::INFINITY);
        let shared = ratio(&Strategy::Shared);
        let above = (ratio(&chosen) / shared - 1.0).min(FOLLOWED_HARM);
        shared * (1.0 + above) - 1.0 + weight * (above - HARMLESS).max(0.0)
    };
    mixes_of(judged).into_iter().zip(choices(policy, judged)).map(cost).sum()
}

/// Labelled mixes of one drive to judge a policy by.
#[derive(Clone, Debug)]
pub(crate) struct Judged<'a> {
    /// How they were labelled.
    pub source: &'a LabelSource,
    pub mixes: Vec<&'a LabelledMix>,
}

/// The mixes of all drives, one after the other.
fn mixes_of<'a>(judged: &[Judged<'a>]) -> Vec<&'a LabelledMix> {
    judged.iter().flat_map(|one| one.mixes.iter().copied()).collect()
}

/// What a policy, put on the drive of each mix, chooses for it.
fn choices(policy: &Policy, judged: &[Judged]) -> Vec<Strategy> {
    let of = |one: &Judged| -> Vec<Strategy> {
        let policy = policy.on(one.source);
        let mut memory = policy.memory();
        let choose = |mix: &&LabelledMix| {
            let observed = ObservedMix::new(&mix.seen, policy.intensity);
            policy.choose(&observed, &mut memory).strategy
        };
        one.mixes.iter().map(choose).collect()
    };
    judged.iter().flat_map(of).collect()
}

/// Judges the choices of a policy.
pub(crate) fn score(policy: &Policy, judged: &[Judged]) -> Score {
    score_choices(&mixes_of(judged), &choices(policy, judged))
}

/// Those of the mixes that come in bursts, or the others.
fn of_kind<'a>(judged: &[Judged<'a>], is_bursty: bool) -> Vec<Judged<'a>> {
    let is_so = |mix: &&'a LabelledMix| mix.mix.is_bursty() == is_bursty;
    let of = |one: &Judged<'a>| Judged {
        mixes: one.mixes.iter().copied().filter(is_so).collect(),
        source: one.source,
    };
    judged.iter().map(of).collect()
}

/// Judges a network alone, as the paper does: on plain mixes, and never abstaining.
pub(crate) fn score_network(policy: &Policy, judged: &[Judged]) -> Score {
    let bold = Policy { abstain: f64::MIN, doubt: 0.0, ..policy.clone() };
    score(&bold, &of_kind(judged, false))
}

/// Judges one choice for each mix.
pub fn score_choices(mixes: &[&LabelledMix], chosen: &[Strategy]) -> Score {
    let count = mixes.len().max(1) as f64;
    let ratio =
        |mix: &LabelledMix, strategy: &Strategy| mix.ratio(strategy).unwrap_or(f64::INFINITY);
    let pairs = || mixes.iter().zip(chosen);
    let share = |hits: usize| hits as f64 / count;
    let mut regrets: Vec<f64> = pairs().map(|(mix, strategy)| ratio(mix, strategy) - 1.0).collect();
    let shared: Vec<f64> = mixes.iter().map(|mix| ratio(mix, &Strategy::Shared)).collect();
    let above: Vec<f64> =
        regrets.iter().zip(&shared).map(|(own, shared)| (1.0 + own) / shared - 1.0).collect();
    let worthwhile: Vec<usize> =
        (0..mixes.len()).filter(|&n| shared[n].recip() <= 1.0 - WORTHWHILE).collect();
    let gains: f64 = worthwhile.iter().map(|&n| shared[n].ln()).sum();
    let taken: f64 = worthwhile.iter().map(|&n| (shared[n] / (1.0 + regrets[n])).ln()).sum();
    let score = Score {
        worthwhile_share: share(worthwhile.len()),
        gain_taken: if gains > 0.0 { taken / gains } else { 0.0 },
        mixes: mixes.len(),
        accuracy: share(pairs().filter(|(mix, s)| mix.best().strategy == **s).count()),
        tie_accuracy: share(regrets.iter().filter(|regret| **regret <= TIE).count()),
        regret_mean: regrets.iter().sum::<f64>() / count,
        regret_p99: 0.0,
        regret_max: regrets.iter().copied().fold(0.0, f64::max),
        shared_regret_mean: shared.iter().sum::<f64>() / count - 1.0,
        above_shared_max: above.iter().copied().fold(0.0, f64::max),
        above_shared_share: share(above.iter().filter(|above| **above > HARMLESS).count()),
        harm_mean: above.iter().map(|above| (above - HARMLESS).max(0.0)).sum::<f64>() / count,
        shared_share: share(chosen.iter().filter(|s| **s == Strategy::Shared).count()),
    };
    regrets.sort_by(f64::total_cmp);
    // The 99th percentile by the nearest rank.
    let rank = ((0.99 * count).ceil() as usize).clamp(1, regrets.len().max(1)) - 1;
    Score { regret_p99: regrets.get(rank).copied().unwrap_or(0.0), ..score }
}

/// How good the forecasts of switches are: of dividing the channels of running drives at moments
/// and by strategies that were not chosen by the policy.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct SwitchScore {
    /// How many switches were judged: those at moments that the policy looks at.
    pub switches: usize,
    /// The share of them, 0 to 1, that ends more than [`HARMLESS`] above `Shared`.
    pub harmful_share: f64,
    /// The share of them, 0 to 1, that the policy allows.
    pub allowed_share: f64,
    /// The share of those that it allows, 0 to 1, that ends more than [`HARMLESS`] above `Shared`.
    pub harm_of_allowed: f64,
    /// The greatest risk that the policy takes, 0 to 1.
    pub risk_max: f64,
    /// Mean forecast of the risk of those that it allows, 0 to 1.
    pub risk_of_allowed: f64,
    /// What it allows of the gains of [`WORTHWHILE`] and more, as a share of them. Of logarithms of
    /// latencies.
    pub gain_taken: f64,
}

/// What switches of mixes did, and what the policy knows before; nothing for a network that is not
/// one for parts.
pub(crate) fn switch_examples(policy: &Policy, judged: &[Judged]) -> Vec<SwitchExample> {
    let of = |(policy, source, mix): (&Policy, &LabelSource, &LabelledMix)| -> Vec<SwitchExample> {
        let mut memory = policy.memory();
        let example = |switch: &SwitchOutcome| {
            let period = source.beginning(mix, switch.slots);
            let observed = seen(&period, policy.intensity, switch.settled.clone());
            let (slots, strategy) = (switch.slots, &switch.strategy);
            policy.choose(&observed, &mut memory);
            let of_one = std::slice::from_ref(strategy);
            let inputs = policy.switch_inputs(&observed, slots, of_one, &mut memory).pop()??;
            Some(SwitchExample { inputs, log_ratio: switch.over_shared.ln() })
        };
        mix.switches.iter().filter_map(example).collect()
    };
    let drive = |one: &Judged| -> Vec<SwitchExample> {
        let policy = policy.on(one.source);
        let mixes = one.mixes.par_iter();
        mixes.flat_map_iter(|mix| of((&policy, one.source, mix))).collect()
    };
    judged.iter().flat_map(drive).collect()
}

/// Judges the forecasts of switches of a policy; `None` if it makes none, or there are no switches.
pub(crate) fn score_switches(policy: &Policy, judged: &[Judged]) -> Option<SwitchScore> {
    let model = policy.switch.as_ref()?;
    let mut examples = switch_examples(policy, judged);
    examples.retain(|one| model.looks_at(one));
    let switches = examples.len();
    let inputs: Vec<_> = examples.iter().map(|one| one.inputs).collect();
    let allowed: Vec<(f64, &SwitchExample)> = (model.outlooks(&inputs).into_iter().zip(&examples))
        .filter(|(outlook, _)| model.allows(*outlook))
        .map(|(outlook, one)| (outlook.risk.clamp(0.0, 1.0), one))
        .collect();
    let is_harm = |one: &SwitchExample| one.harm() > 0.0;
    let gain = |one: &SwitchExample| match -one.log_ratio >= -(1.0 - WORTHWHILE).ln() {
        true => -one.log_ratio,
        false => 0.0,
    };
    let gains: f64 = examples.iter().map(gain).sum();
    let taken: f64 = allowed.iter().map(|(_, one)| gain(one)).sum();
    let share = |count: usize, of: usize| ratio(count as f64, of as f64);
    let harmed = allowed.iter().filter(|(_, one)| is_harm(one)).count();
    (switches > 0).then(|| SwitchScore {
        switches,
        harmful_share: share(examples.iter().filter(|one| is_harm(one)).count(), switches),
        allowed_share: share(allowed.len(), switches),
        harm_of_allowed: share(harmed, allowed.len()),
        risk_max: model.risk_max,
        risk_of_allowed: ratio(allowed.iter().map(|(risk, _)| risk).sum(), allowed.len() as f64),
        gain_taken: ratio(taken, gains),
    })
}

/// A policy beside the two simplest rules, on the same mixes.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Evaluation {
    /// The policy.
    pub model: Score,
    /// The policy on the plain mixes alone; `None` if all mixes are of one kind.
    pub plain: Option<Score>,
    /// The policy on the mixes that come in bursts; `None` if all mixes are of one kind.
    pub bursty: Option<Score>,
    /// Leaving all channels shared.
    pub shared: Score,
    /// Giving each tenant an equal part.
    pub isolated: Score,
    /// The forecasts of switches; `None` if the policy makes none, or the mixes have none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub switches: Option<SwitchScore>,
}

/// Why a policy cannot be judged by some labels.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum EvaluationError {
    /// They are of drives with different numbers of channels.
    #[error(
        "the network is for drives of {trained} channels, the labels are of one with {labelled}"
    )]
    Channels {
        /// Channels of the drive that the policy is for.
        trained: u32,
        /// Channels of the drive of the labels.
        labelled: u32,
    },
    /// The policy is for several drives ([`Policy::for_drive`]).
    #[error("the network learned from drives of other numbers of channels, or was not put on one")]
    NotPut,
    /// A mix has too many tenants.
    #[error(transparent)]
    Tenants(#[from] TenantsError),
}

/// Judges a policy and compares it with `Shared` and `Isolated`. `source` says how the mixes were
/// labelled.
///
/// # Errors
/// The drive of the labels has another number of channels than the policy divides, or a mix has
/// more than the 4 tenants that the inputs of a classifier or a ranker have places for; a network
/// of parts takes 2 to 8.
pub fn evaluate(
    policy: &Policy,
    source: &LabelSource,
    mixes: &[&LabelledMix],
) -> Result<Evaluation, EvaluationError> {
    if policy.channels != source.channels {
        let (trained, labelled) = (policy.channels, source.channels);
        return Err(EvaluationError::Channels { trained, labelled });
    }
    mixes.iter().try_for_each(|mix| policy.kind.check_tenants(mix.mix.tenants.len()))?;
    let fixed = |strategy: Strategy| score_choices(mixes, &vec![strategy; mixes.len()]);
    let judged = [Judged { source, mixes: mixes.to_vec() }];
    let only = |is_bursty: bool| {
        let some = of_kind(&judged, is_bursty);
        let found = some[0].mixes.len();
        (found > 0 && found < mixes.len()).then(|| score(policy, &some))
    };
    Ok(Evaluation {
        model: score(policy, &judged),
        plain: only(false),
        bursty: only(true),
        shared: fixed(Strategy::Shared),
        isolated: fixed(Strategy::Isolated),
        switches: score_switches(policy, &judged),
    })
}

/// What the decisions of a policy cost (section IV-D).
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct DecisionCost {
    /// Weights and biases of the network.
    pub parameters: usize,
    /// Bytes of these in single precision.
    pub bytes: usize,
    /// Bytes as the paper counts them, 16 for each neuron.
    pub paper_bytes: usize,
    /// Multiplications of one prediction of the network.
    pub multiplications: usize,
    /// Time of a decision on this machine, in nanoseconds, with what is forecast of switches: the
    /// mean over the mixes.
    pub predict_ns: f64,
}

/// Measures what a decision about these mixes costs in the mean, in 20,000 rounds of 16 decisions.
pub fn decision_cost(policy: &Policy, mixes: &[&LabelledMix]) -> DecisionCost {
    let observe = |mix: &&LabelledMix| ObservedMix::new(&mix.seen, policy.intensity);
    let observed: Vec<ObservedMix> = mixes.iter().map(observe).collect();
    let mut memory = policy.memory();
    let rounds: Vec<&[ObservedMix]> = observed.chunks(16).collect();
    let mut fastest_ns = vec![f64::INFINITY; rounds.len()];
    // The least of many short rounds with the same mixes: others use the machine too.
    for (number, round) in rounds.iter().enumerate().cycle().take(rounds.len().max(20_000)) {
        let start = Instant::now();
        for one in *round {
            black_box(policy.choose(black_box(one), &mut memory));
            black_box(policy.best_switch(black_box(one), SLOTS, &mut memory));
        }
        fastest_ns[number] = fastest_ns[number].min(start.elapsed().as_nanos() as f64);
    }
    DecisionCost {
        parameters: policy.network.parameters(),
        bytes: policy.bytes(),
        paper_bytes: policy.paper_bytes(),
        multiplications: policy.multiplications(),
        predict_ns: fastest_ns.iter().sum::<f64>() / mixes.len().max(1) as f64,
    }
}

/// The strategy that a policy chooses at one point of the feature space.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct MapPoint {
    /// The intensity level, 1 to 20.
    pub level: u8,
    /// The writers' share of the flash pages asked for, 0 to 1.
    pub write_share: f64,
    /// The strategy.
    pub strategy: Strategy,
}

/// What a policy chooses for half writers and half readers at every intensity level, with write
/// shares of 90 % down to 10 % (Fig. 6). Writers have equal shares, and so have readers. Share by
/// share, the levels in their order.
///
/// # Errors
/// The policy was not put on a drive; `tenants` is not 2 to 8 or, for a classifier or a ranker,
/// whose inputs have four places, 2 to 4.
pub fn choice_map(policy: &Policy, tenants: usize) -> Result<Vec<MapPoint>, EvaluationError> {
    if !policy.is_put() {
        return Err(EvaluationError::NotPut);
    }
    policy.kind.check_tenants(tenants)?;
    let writers = tenants / 2;
    let readers = tenants - writers;
    let collect = Nanos(policy.collect_ns);
    let rate_max = policy.intensity.requests_per_s_max;
    let mut memory = policy.memory();
    let mut points = Vec::new();
    for tenth in (1..=9).rev() {
        let write_share = f64::from(tenth) / 10.0;
        let group = |writes: bool, share: f64, count: usize| {
            vec![MixTenant::plain(writes, share / count as f64); count]
        };
        let tenants =
            [group(true, write_share, writers), group(false, 1.0 - write_share, readers)].concat();
        for level in 1..=LEVELS {
            let mix = Mix { level, tenants: tenants.clone() };
            let observed = ObservedMix::of_mix(&mix, rate_max, collect);
            let strategy = policy.choose(&observed, &mut memory).strategy;
            points.push(MapPoint { level, write_share, strategy });
        }
    }
    Ok(points)
}
