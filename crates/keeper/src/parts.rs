//! The part of a drive by itself: how long reads and writes take, from what is asked of each of its channels.
//!
//! Tenants that share no channel hardly meet: a strategy's latencies are those of its parts, weighted by their
//! requests. So what is to be learned of all strategies of all mixes are two functions of three numbers (pages read
//! and written in a second for each channel, and how many channels), and every part of every strategy of a mix is an
//! example of them.
//!
//! Cost: the 42 strategies of four tenants have 34 different parts. Each is asked about once at most, and none for a
//! strategy that cannot win: a part takes at least as long as if it were idle, and where the sum of what is known and
//! of that is `GIVEN_UP` times the best total so far, nothing more is asked. That leaves about fourteen.

use crate::features::{Rates, Seen};
use crate::strategy::{Part, Strategy, TENANTS, Tenants};
use ssdtune_learn::mlp::{Buffer, MlpModel};

/// What a network is told of a part.
pub const INPUTS: usize = 4;
/// What it says of reads and of writes: [`outputs`].
pub const OUTPUTS: usize = 2;
/// The least that is believed, a request that takes a second: beyond a part's limit latencies grow as long as it is
/// asked, and all that can be said is that they are long.
const OUTPUT_MIN: f64 = 1.0;
/// See above; beyond a hysteresis, so that a strategy in place that was given up is left in earnest.
const GIVEN_UP: f64 = 1.2;

/// A part, as a network sees it.
pub fn inputs(rates: &Rates, channels: u32) -> [f64; INPUTS] {
    let channels = f64::from(channels);
    let [read, written] = rates.pages.map(|pages| pages / channels);
    [read, written, channels, channels.recip()]
}

/// A part's mean latencies, as a network learns them: the square root of how many there would be in a second, one
/// after the other. It falls evenly with the load, to little at the part's limit, so that neither what is far beyond it
/// nor what is idle outweighs what is learned of the loads in between, where strategies differ.
pub fn outputs(latencies_ns: [f64; 2]) -> [f64; OUTPUTS] {
    latencies_ns.map(|ns| (1e9 / ns).sqrt())
}

/// The other way.
fn latency_ns(output: f64) -> f64 {
    1e9 / output.max(OUTPUT_MIN).powi(2)
}

/// Latencies of an idle part of so many channels, from 0, which is none.
type Idle = Vec<[f64; 2]>;

fn idle(network: &MlpModel, channels: u32) -> Idle {
    let mut buffer = Buffer::default();
    let of = |channels| {
        let row = inputs(&Rates::default(), channels);
        let outputs = network.predict_one(&row, &mut buffer).expect("finite numbers");
        [0, 1].map(|direction| latency_ns(outputs[direction]))
    };
    std::iter::once([0.0; 2]).chain((1..=channels).map(of)).collect()
}

/// What a part adds to a total.
#[derive(Clone, Copy, Debug)]
struct Added {
    ns: f64,
    /// Whether it is that, or at least that.
    is_known: bool,
}

/// Whose a part is, as a number: a tenant by its place in the order of [`Seen`] or on the drive, or a group.
type Owner = usize;
const PLACES: Owner = 0;
const TENANT: Owner = *TENANTS.end();
const WRITERS: Owner = TENANT + *TENANTS.end();
const READERS: Owner = WRITERS + 1;
const ALL: Owner = WRITERS + 2;
const OWNERS: usize = WRITERS + 3;

/// The parts of every strategy for so many tenants: none where the strategy is for others.
#[derive(Clone, Debug)]
struct Plan(Vec<Vec<(Owner, u32)>>);

impl Plan {
    fn new(strategies: &[Strategy], channels: u32, tenants: usize) -> Self {
        // Two kinds, the first the writers: their parts have the same owners for all.
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

/// Forecasts of one network for some strategies; holds what it needs for that.
#[derive(Clone, Debug)]
pub struct Forecast {
    channels: u32,
    idle: Idle,
    /// For two tenants and more.
    plans: Vec<Plan>,
    buffer: Buffer,
    parts: Vec<Added>,
    totals: Vec<f64>,
}

impl Forecast {
    /// For strategies of ordered tenants on a drive of so many channels.
    ///
    /// # Panics
    /// The network is none for parts.
    pub fn new(network: &MlpModel, strategies: &[Strategy], channels: u32) -> Self {
        let plan = |tenants| Plan::new(strategies, channels, tenants);
        Self {
            channels,
            idle: idle(network, channels),
            plans: TENANTS.map(plan).collect(),
            buffer: Buffer::default(),
            parts: Vec::new(),
            totals: Vec::new(),
        }
    }

    /// The mean read plus the mean write latency under each strategy, in nanoseconds; infinite where it was given up or
    /// cannot be had. The network is the one that this was made for.
    ///
    /// # Panics
    /// It is none for parts, or there is but one tenant.
    pub fn totals(&mut self, network: &MlpModel, seen: &Seen) -> &[f64] {
        let Self { channels, idle, plans, buffer, parts, totals } = self;
        let mut asked = Asked::new(network, seen, 0.0, buffer);
        let tenants = seen.rates.len();
        let (all, width) = (Tenants::first(tenants), *channels as usize + 1);
        let writing = Tenants::those(seen.writers.iter().copied());
        // Rows of `parts`: each tenant, and three groups.
        let rows = (0..tenants).map(Tenants::only);
        let rows = rows.chain([writing, all.without(writing), all]);
        let mut row_of = [0; OWNERS];
        for (tenant, &place) in seen.place.iter().enumerate() {
            (row_of[PLACES + place], row_of[TENANT + tenant]) = (tenant, tenant);
        }
        for (number, owner) in [WRITERS, READERS, ALL].into_iter().enumerate() {
            row_of[owner] = tenants + number;
        }
        let mut owners = [all; *TENANTS.end() + 3];
        parts.clear();
        for (row, of) in rows.enumerate() {
            owners[row] = of;
            let weights = asked.weights(&Rates::sum(of.of(&seen.rates)));
            let least = |both: &[f64; 2]| weights[0] * both[0] + weights[1] * both[1];
            parts.extend(idle.iter().map(|both| Added { ns: least(both), is_known: false }));
        }
        let has_kinds = writing != all && writing != Tenants::first(0);
        totals.clear();
        let mut best = f64::INFINITY;
        for plan in &plans[tenants - TENANTS.start()].0 {
            let cell =
                |&(owner, channels): &(Owner, u32)| row_of[owner] * width + channels as usize;
            let can_be = plan.first().is_some_and(|part| part.0 != WRITERS || has_kinds);
            let mut total = match can_be {
                true => plan.iter().map(|part| parts[cell(part)].ns).sum(),
                false => f64::INFINITY,
            };
            let limit = GIVEN_UP * best;
            for part in plan {
                if total > limit {
                    break;
                }
                let known = &mut parts[cell(part)];
                if !known.is_known {
                    total -= known.ns;
                    let part = Part { tenants: owners[row_of[part.0]], channels: part.1 };
                    *known = Added { ns: asked.part(part), is_known: true };
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

    /// The total under one strategy, which is for the drive's tenants, if each of its parts is asked for so many
    /// standard deviations more than was seen: a period is a sample.
    ///
    /// # Panics
    /// The network is none for parts.
    pub fn total(
        &mut self,
        network: &MlpModel,
        strategy: &Strategy,
        seen: &Seen,
        deviations: f64,
    ) -> f64 {
        let mut asked = Asked::new(network, seen, deviations, &mut self.buffer);
        strategy.parts(self.channels, &seen.writers).map(|part| asked.part(part)).sum()
    }
}

/// A network and what it is asked about.
struct Asked<'a> {
    network: &'a MlpModel,
    seen: &'a Seen,
    all: Rates,
    deviations: f64,
    buffer: &'a mut Buffer,
}

impl<'a> Asked<'a> {
    fn new(network: &'a MlpModel, seen: &'a Seen, deviations: f64, buffer: &'a mut Buffer) -> Self {
        Self { network, seen, all: Rates::sum(seen.rates.iter()), deviations, buffer }
    }

    /// What a nanosecond of a part's reads and of its writes adds to the total.
    fn weights(&self, own: &Rates) -> [f64; 2] {
        [0, 1].map(
            |n| if own.requests[n] > 0.0 { own.requests[n] / self.all.requests[n] } else { 0.0 },
        )
    }

    /// What a part adds to the total.
    fn part(&mut self, part: Part) -> f64 {
        let own = Rates::sum(part.tenants.of(&self.seen.rates));
        let more = 1.0 + self.deviations * own.deviation(self.seen.seconds);
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
    use crate::features::Period;
    use crate::vector::Intensity;
    use proptest::prelude::{prop, prop_assert, prop_assert_eq, proptest};
    use ssdtune_sim::Demand;

    const CHANNELS: u32 = 8;

    /// Two hidden units, so that latencies bend; they rise with both rates.
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

    /// Every part of one strategy by itself, and the mean over all requests.
    fn plain(network: &MlpModel, strategy: &Strategy, seen: &Seen) -> f64 {
        let strategy = seen.to_drive(strategy);
        let (mut sums, mut counts) = ([0.0; 2], [0.0; 2]);
        for part in strategy.parts(CHANNELS, &seen.writers) {
            let own = Rates::sum(part.tenants.of(&seen.rates));
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
            let seen = Period { seconds: 100.0, asked, ..Period::default() };
            let seen = Seen::new(&seen, Intensity { requests_per_s_max: 100.0 });
            let strategies = Strategy::all(CHANNELS, 4);
            let network = network(&weights);
            let mut forecast = Forecast::new(&network, &strategies, CHANNELS);
            let totals = forecast.totals(&network, &seen).to_vec();
            let best = totals.iter().copied().fold(f64::INFINITY, f64::min);
            for (strategy, total) in strategies.iter().zip(totals) {
                let on_drive = seen.to_drive(strategy);
                if !on_drive.is_distinct(&seen.writers) {
                    prop_assert_eq!(total, f64::INFINITY);
                    continue;
                }
                let expected = plain(&network, strategy, &seen);
                match total.is_finite() {
                    true => prop_assert!((total - expected).abs() <= 1e-9 * expected, "{} {} {}", strategy, total, expected),
                    false => prop_assert!(expected > GIVEN_UP * best, "{} {}", strategy, expected),
                }
            }
        }
    }
}
