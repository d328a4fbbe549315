//! The part of a drive by itself: how long reads and writes take, from what is asked of each of its channels.
//!
//! Tenants that share no channel hardly meet: a strategy's latencies are those of its parts, weighted by their
//! requests. So what is to be learned of all strategies of all mixes are two functions of three numbers (pages read
//! and written in a second for each channel, and how many channels), and every part of every strategy of a mix is an
//! example of them.
//!
//! Cost: the 42 strategies of four tenants have 34 different parts. Each is asked about once, and a strategy is left
//! as soon as its parts so far take [`GIVEN_UP`] times as long as the whole of the best one.

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
/// See above; beyond any hysteresis, so that a strategy in place that was left is left in earnest.
const GIVEN_UP: f64 = 2.0;

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

/// Room for one forecast, reused between calls.
#[derive(Clone, Debug, Default)]
pub struct Forecast {
    buffer: Buffer,
    /// What each part adds to a total, by its tenants and channels; not a number before it is known.
    parts: Vec<f64>,
    totals: Vec<f64>,
}

impl Forecast {
    /// The mean read plus the mean write latency under each strategy, which are for ordered tenants, in nanoseconds;
    /// infinite where it was given up.
    ///
    /// # Panics
    /// The network is none for parts.
    pub fn totals(
        &mut self,
        network: &MlpModel,
        strategies: &[Strategy],
        channels: u32,
        seen: &Seen,
    ) -> &[f64] {
        let mut asked = Asked::new(network, seen, 0.0, &mut self.buffer);
        let tenants = seen.rates.len();
        let writing = Tenants::those(seen.writers.iter().copied());
        let mut order = [0; *TENANTS.end()];
        seen.place.iter().enumerate().for_each(|(tenant, &place)| order[place] = tenant);
        let (parts, totals) = (&mut self.parts, &mut self.totals);
        let width = channels as usize + 1;
        parts.clear();
        parts.resize((tenants + 3) * width, f64::NAN);
        let mut of_part = |part: Part| {
            let group = match part.tenants.sole() {
                Some(tenant) => tenant,
                None if part.tenants == writing => tenants,
                None if part.tenants == Tenants::first(tenants) => tenants + 1,
                None => tenants + 2,
            };
            let known = &mut parts[group * width + part.channels as usize];
            if known.is_nan() {
                *known = asked.part(part);
            }
            *known
        };
        totals.clear();
        let mut best = f64::INFINITY;
        for strategy in strategies {
            let mut total = 0.0;
            if strategy.is_distinct(&seen.writers) {
                for (number, mut part) in strategy.parts(channels, &seen.writers).enumerate() {
                    if matches!(strategy, Strategy::Parts(_)) {
                        part.tenants = Tenants::only(order[number]);
                    }
                    total += of_part(part);
                    if total > GIVEN_UP * best {
                        total = f64::INFINITY;
                        break;
                    }
                }
                best = best.min(total);
            } else {
                total = f64::INFINITY;
            }
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
        channels: u32,
        seen: &Seen,
        deviations: f64,
    ) -> f64 {
        let mut asked = Asked::new(network, seen, deviations, &mut self.buffer);
        strategy.parts(channels, &seen.writers).map(|part| asked.part(part)).sum()
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

    /// What a part adds to the total.
    fn part(&mut self, part: Part) -> f64 {
        let own = Rates::sum(part.tenants.of(&self.seen.rates));
        let more = 1.0 + self.deviations * own.deviation(self.seen.seconds);
        let row = inputs(&own, part.channels);
        let row = [row[0] * more, row[1] * more, row[2], row[3]];
        let outputs =
            self.network.predict_one(&row, self.buffer).expect("finite numbers, as many as it has");
        (0..OUTPUTS)
            .filter(|&n| own.requests[n] > 0.0)
            .map(|n| own.requests[n] / self.all.requests[n] * latency_ns(outputs[n]))
            .sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::features::Period;
    use proptest::prelude::{prop, prop_assert, prop_assert_eq, proptest};
    use ssdtune_sim::Demand;
    use ssdtune_trace::features::ssdkeeper::Intensity;

    const CHANNELS: u32 = 8;

    /// Two hidden units, so that latencies rise with both rates and bend.
    fn network(weights: &[f64]) -> MlpModel {
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
            let mut forecast = Forecast::default();
            let totals = forecast.totals(&network, &strategies, CHANNELS, &seen).to_vec();
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
