//! The latencies of a strategy, forecast from those of its parts.
//!
//! Tenants that share no channel hardly disturb each other. So the latencies under a strategy are
//! those within its parts, weighted by their numbers of requests. What must be learned for all
//! strategies and all mixes are then two functions of three numbers: the mean latencies of reads
//! and of writes within a part, from its pages read and written in a second for each channel, and
//! its number of channels. Every part of every strategy of a labelled mix is an example of them.
//!
//! Cost: the 42 strategies of four tenants have 34 different parts. A network is asked about each
//! at most once. It is asked about none for a strategy that cannot win: a part takes at least as
//! long as it would idle, and where the sum of what is known and of that exceeds the best total so
//! far by the factor `GIVEN_UP`, nothing more is asked. About fourteen questions remain.

use crate::features::{ObservedMix, Rates};
use crate::strategy::{Part, Strategy, TENANTS, TenantSet};
use ssdtune_learn::mlp::{Buffer, MlpModel};

/// Inputs of a network for parts ([`inputs`]).
pub(crate) const INPUTS: usize = 4;
/// Outputs of a network for parts: one for reads and one for writes ([`outputs`]).
pub(crate) const OUTPUTS: usize = 2;
/// The least output that is believed: a request that takes a second. Beyond a part's limit
/// latencies grow for as long as it is asked for more, and all that can be said is that they are
/// long.
const OUTPUT_MIN: f64 = 1.0;
/// A strategy is given up when its total is at least this many times the best one's. An allocator
/// whose hysteresis is below ln 1.2 = 0.18 would leave such a strategy anyway, so it need not know
/// how bad it is.
const GIVEN_UP: f64 = 1.2;

/// What a network is told of a part: pages read and written in a second for each channel, the
/// number of channels, and its inverse.
pub(crate) fn inputs(rates: &Rates, channels: u32) -> [f64; INPUTS] {
    let channels = f64::from(channels);
    let [read, written] = rates.pages.map(|pages| pages / channels);
    [read, written, channels, channels.recip()]
}

/// Mean latencies of reads and writes in nanoseconds, as a network learns them: the square root of
/// how many such requests there would be in a second, one after the other. This falls evenly with
/// the load and is small at the part's limit. So neither loads far beyond the limit nor idle parts
/// outweigh the loads in between, where strategies differ.
pub(crate) fn outputs(latencies_ns: [f64; 2]) -> [f64; OUTPUTS] {
    latencies_ns.map(|ns| (1e9 / ns).sqrt())
}

/// The latency in nanoseconds that an output stands for.
fn latency_ns(output: f64) -> f64 {
    1e9 / output.max(OUTPUT_MIN).powi(2)
}

/// Latencies of idle parts, in nanoseconds, by their number of channels from 0.
type IdleLatencies = Vec<[f64; 2]>;

fn idle_latencies(network: &MlpModel, channels: u32) -> IdleLatencies {
    let mut buffer = Buffer::default();
    let of = |channels| {
        let row = inputs(&Rates::default(), channels);
        let outputs = network.predict_one(&row, &mut buffer).expect("finite numbers");
        [0, 1].map(|direction| latency_ns(outputs[direction]))
    };
    std::iter::once([0.0; 2]).chain((1..=channels).map(of)).collect()
}

/// What a part adds to the total of a strategy.
#[derive(Clone, Copy, Debug)]
struct Contribution {
    /// Nanoseconds.
    ns: f64,
    /// Whether `ns` is what the network says, or only the least that is possible.
    is_known: bool,
}

/// Whose a part is, as a number: one tenant by its place in the order of [`ObservedMix`], one
/// tenant by its number on the drive, or a group of tenants.
type Owner = usize;
const PLACES: Owner = 0;
const TENANT: Owner = *TENANTS.end();
const WRITERS: Owner = TENANT + *TENANTS.end();
const READERS: Owner = WRITERS + 1;
const ALL: Owner = WRITERS + 2;
const OWNERS: usize = WRITERS + 3;

/// The parts of every strategy for one number of tenants: owner and channels of each. A strategy
/// for another number of tenants has none.
#[derive(Clone, Debug)]
struct PartLists(Vec<Vec<(Owner, u32)>>);

impl PartLists {
    fn new(strategies: &[Strategy], channels: u32, tenants: usize) -> Self {
        // Any tenants of both kinds do: the owners of parts are the same for all of them.
        let writers: Vec<bool> = (0..tenants).map(|tenant| tenant == 0).collect();
        let of = |strategy: &Strategy| -> Vec<(Owner, u32)> {
            let owner = |number: usize| match strategy {
                Strategy::Shared => ALL,
                Strategy::Isolated if channels as usize >= tenants => TENANT + number,
                Strategy::Isolated => ALL,
                Strategy::ByKind { .. } => [WRITERS, READERS][number],
                Strategy::Parts(_) => PLACES + number,
            };
            let parts = strategy.parts(channels, &writers).enumerate();
            match strategy.is_distinct(&writers) {
                true => parts.map(|(number, part)| (owner(number), part.channels)).collect(),
                false => Vec::new(),
            }
        };
        Self(strategies.iter().map(of).collect())
    }
}

/// Forecasts of one network for some strategies, with the memory that they need.
#[derive(Clone, Debug)]
pub(crate) struct Forecast {
    channels: u32,
    idle: IdleLatencies,
    /// For each number of tenants in [`TENANTS`].
    part_lists: Vec<PartLists>,
    buffer: Buffer,
    contributions: Vec<Contribution>,
    totals: Vec<f64>,
}

impl Forecast {
    /// For strategies of ordered tenants on a drive of this number of channels.
    ///
    /// # Panics
    /// If the network is not one for parts.
    pub(crate) fn new(network: &MlpModel, strategies: &[Strategy], channels: u32) -> Self {
        let part_lists = |tenants| PartLists::new(strategies, channels, tenants);
        Self {
            channels,
            idle: idle_latencies(network, channels),
            part_lists: TENANTS.map(part_lists).collect(),
            buffer: Buffer::default(),
            contributions: Vec::new(),
            totals: Vec::new(),
        }
    }

    /// Mean read plus mean write latency under each strategy, in nanoseconds. It is infinite where
    /// the strategy was given up or is not possible for these tenants. `network` must be the one
    /// that this was made for.
    ///
    /// # Panics
    /// If the network is not one for parts, or there is only one tenant.
    pub(crate) fn totals(&mut self, network: &MlpModel, observed: &ObservedMix) -> &[f64] {
        let width = self.channels as usize + 1;
        let rows = Rows::new(observed);
        let Self { idle, part_lists, buffer, contributions, totals, .. } = self;
        let mut asked = Asked::new(network, observed, 0.0, buffer);
        contributions.clear();
        for owner in rows.owners() {
            let weights = asked.weights(&Rates::sum(owner.select(&observed.rates)));
            let least = |both: &[f64; 2]| weights[0] * both[0] + weights[1] * both[1];
            let part = |both: &[f64; 2]| Contribution { ns: least(both), is_known: false };
            contributions.extend(idle.iter().map(part));
        }
        totals.clear();
        let mut best = f64::INFINITY;
        for parts in &part_lists[observed.rates.len() - TENANTS.start()].0 {
            let place =
                |&(owner, channels): &(Owner, u32)| rows.of[owner] * width + channels as usize;
            let is_possible = parts.first().is_some_and(|part| part.0 != WRITERS || rows.has_kinds);
            let mut total = match is_possible {
                true => parts.iter().map(|part| contributions[place(part)].ns).sum(),
                false => f64::INFINITY,
            };
            let limit = GIVEN_UP * best;
            for part in parts {
                if total > limit {
                    break;
                }
                let known = &mut contributions[place(part)];
                if !known.is_known {
                    total -= known.ns;
                    let part = Part { tenants: rows.tenants[rows.of[part.0]], channels: part.1 };
                    *known = Contribution { ns: asked.part(part), is_known: true };
                    total += known.ns;
                }
            }
            if total > limit {
                total = f64::INFINITY;
            }
            best = best.min(total);
            totals.push(total);
        }
        totals
    }

    /// The total in nanoseconds under one strategy for the tenants as the drive numbers them, if
    /// each of its parts is asked for more than was observed by this number of standard deviations:
    /// a period is only a sample.
    ///
    /// # Panics
    /// If the network is not one for parts.
    pub(crate) fn total(
        &mut self,
        network: &MlpModel,
        strategy: &Strategy,
        observed: &ObservedMix,
        deviations: f64,
    ) -> f64 {
        let mut asked = Asked::new(network, observed, deviations, &mut self.buffer);
        strategy.parts(self.channels, &observed.writers).map(|part| asked.part(part)).sum()
    }
}

/// The rows of the table of contributions: one for each tenant, then the writers, the readers and
/// all tenants together.
struct Rows {
    tenants: [TenantSet; *TENANTS.end() + 3],
    count: usize,
    /// The row of each [`Owner`].
    of: [usize; OWNERS],
    /// Whether some tenants mostly write and others mostly read.
    has_kinds: bool,
}

impl Rows {
    fn new(observed: &ObservedMix) -> Self {
        let tenants = observed.rates.len();
        let all = TenantSet::first(tenants);
        let writing = TenantSet::from_flags(observed.writers.iter().copied());
        let mut sets = [all; *TENANTS.end() + 3];
        let mut of = [0; OWNERS];
        for (tenant, &place) in observed.place.iter().enumerate() {
            sets[tenant] = TenantSet::only(tenant);
            (of[PLACES + place], of[TENANT + tenant]) = (tenant, tenant);
        }
        let groups = [(WRITERS, writing), (READERS, all.without(writing)), (ALL, all)];
        for (number, (owner, group)) in groups.into_iter().enumerate() {
            sets[tenants + number] = group;
            of[owner] = tenants + number;
        }
        let has_kinds = writing != all && writing != TenantSet::first(0);
        Self { tenants: sets, count: tenants + groups.len(), of, has_kinds }
    }

    /// The tenants of each row.
    fn owners(&self) -> &[TenantSet] {
        &self.tenants[..self.count]
    }
}

/// A network and the mix that it is asked about.
struct Asked<'a> {
    network: &'a MlpModel,
    observed: &'a ObservedMix,
    all: Rates,
    deviations: f64,
    buffer: &'a mut Buffer,
}

impl<'a> Asked<'a> {
    fn new(
        network: &'a MlpModel,
        observed: &'a ObservedMix,
        deviations: f64,
        buffer: &'a mut Buffer,
    ) -> Self {
        let all = Rates::sum(observed.rates.iter());
        Self { network, observed, all, deviations, buffer }
    }

    /// What a nanosecond of the reads and of the writes of a part adds to the total.
    fn weights(&self, own: &Rates) -> [f64; 2] {
        [0, 1].map(
            |n| if own.requests[n] > 0.0 { own.requests[n] / self.all.requests[n] } else { 0.0 },
        )
    }

    /// What a part adds to the total, in nanoseconds.
    fn part(&mut self, part: Part) -> f64 {
        let own = Rates::sum(part.tenants.select(&self.observed.rates));
        let more = 1.0 + self.deviations * own.deviation(self.observed.seconds);
        let row = inputs(&own, part.channels);
        let row = [row[0] * more, row[1] * more, row[2], row[3]];
        let outputs =
            self.network.predict_one(&row, self.buffer).expect("finite numbers, as many as it has");
        let [read, write] = [0, 1].map(|direction| latency_ns(outputs[direction]));
        let weights = self.weights(&own);
        weights[0] * read + weights[1] * write
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::features::PeriodDemand;
    use crate::vector::Intensity;
    use proptest::prelude::{prop, prop_assert, prop_assert_eq, proptest};
    use ssdtune_sim::Demand;

    const CHANNELS: u32 = 8;

    /// A network of two hidden units, whose latencies rise with both rates, and not linearly.
    fn network(weights: &[f64]) -> MlpModel {
        let mut weights = weights.to_vec();
        weights[..4].iter_mut().for_each(|weight| *weight = weight.abs());
        weights[8..].iter_mut().for_each(|weight| *weight = -weight.abs());
        let text = serde_json::json!({
            "version": 1, "activation": "relu", "output": "linear",
            "layers": [
                { "inputs": INPUTS, "weights": &weights[..8], "bias": [0.1, -0.5] },
                { "inputs": 2, "weights": &weights[8..12], "bias": [34.0, 30.0] },
            ],
        });
        serde_json::from_value(text).expect("a sound network")
    }

    /// The total by asking about every part of one strategy, as the mean over all requests.
    fn plain(network: &MlpModel, strategy: &Strategy, observed: &ObservedMix) -> f64 {
        let strategy = observed.to_drive(strategy);
        let (mut sums, mut counts) = ([0.0; 2], [0.0; 2]);
        for part in strategy.parts(CHANNELS, &observed.writers) {
            let own = Rates::sum(part.tenants.select(&observed.rates));
            let mut buffer = Buffer::default();
            let row = inputs(&own, part.channels);
            let speeds = network.predict_one(&row, &mut buffer).expect("finite");
            for direction in 0..2 {
                counts[direction] += own.requests[direction];
                sums[direction] +=
                    own.requests[direction] * 1e9 / speeds[direction].max(1.0).powi(2);
            }
        }
        (0..2).filter(|&n| counts[n] > 0.0).map(|n| sums[n] / counts[n]).sum()
    }

    proptest! {
        #[test]
        fn a_forecast_is_what_its_parts_say(
            asked in prop::collection::vec((0u64..400, 0u64..400), 2..=4),
            weights in prop::collection::vec(-0.6f64..0.3, 12),
        ) {
            let demand = |&(reads, writes): &(u64, u64)| {
                Demand { reads, writes, read_pages: 4 * reads, written_pages: writes }
            };
            let asked: Vec<Demand> = asked.iter().map(demand).collect();
            let period = PeriodDemand { seconds: 100.0, asked, ..PeriodDemand::default() };
            let observed = ObservedMix::new(&period, Intensity { requests_per_s_max: 100.0 });
            let strategies = Strategy::all(CHANNELS, 4);
            let network = network(&weights);
            let mut forecast = Forecast::new(&network, &strategies, CHANNELS);
            let totals = forecast.totals(&network, &observed).to_vec();
            let best = totals.iter().copied().fold(f64::INFINITY, f64::min);
            for (strategy, total) in strategies.iter().zip(totals) {
                let on_drive = observed.to_drive(strategy);
                if !on_drive.is_distinct(&observed.writers) {
                    prop_assert_eq!(total, f64::INFINITY);
                    continue;
                }
                let expected = plain(&network, strategy, &observed);
                match total.is_finite() {
                    true => prop_assert!(
                        (total - expected).abs() <= 1e-9 * expected,
                        "{} {} {}", strategy, total, expected
                    ),
                    false => prop_assert!(expected > GIVEN_UP * best, "{} {}", strategy, expected),
                }
            }
        }
    }
}
