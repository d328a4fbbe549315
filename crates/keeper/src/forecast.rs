//! The latencies of a strategy, forecast from those of its parts.
//!
//! Tenants that share no channel hardly disturb each other. So the latencies under a strategy are
//! those within its parts, weighted by their numbers of requests. What must be learned for all
//! strategies and all mixes are then two functions: the mean latencies of reads and of writes
//! within a part, from what its pages ask of each of its channels, its number of channels, the
//! sizes of its requests, how long they would wait in a queue that drains evenly (the file
//! `queue`), which is what tells bursts, and what the drive is like (the file `drive`). Every part
//! of every strategy of a labelled mix is an example of them.
//!
//! Cost: the 42 strategies of four tenants have 34 different parts. A network is asked about each
//! once, and about all of them at the same time.

use crate::drive::{self, DriveFigures};
use crate::features::{ObservedMix, Rates};
use crate::queue::{Tanks, Waits, add_slots, unevenness, waits};
use crate::rates::ratio;
use crate::strategy::{Part, Strategy, TENANTS, TenantSet};
use ssdtune_learn::mlp::{Buffer, MlpModel};

/// Inputs of a network for parts ([`inputs`]).
pub(crate) const INPUTS: usize = PART_INPUTS + drive::INPUTS;
/// Those of them that are of the part.
const PART_INPUTS: usize = 10;
/// Outputs of a network for parts: one for reads and one for writes ([`outputs`]).
pub(crate) const OUTPUTS: usize = 2;
/// The logarithm of the longest latency that an output is believed to stand for: three hours.
const SECONDS_MAX: f64 = 9.3;
/// A wait that is as good as none, in the drive's unit (on the drive of Table I it is 1 ms): it is
/// added to each, whose logarithm is an input.
const SHORT_WAIT: f64 = 2.43;
/// Less unevenness than this is luck.
const UNEVENNESS_MIN: f64 = 0.3;
/// Numbers of channels whose waits are found at once.
const LANES: usize = 8;

/// What a network is told of a part: what pages read and written ask of each channel (1 is all that
/// it can do), the number of channels, its inverse, pages of a read and of a write, the logarithms
/// of how long they would wait in an even queue, how unevenly they come, and the drive.
pub(crate) fn inputs(
    rates: &Rates,
    waits: &Waits,
    unevenness: f64,
    channels: u32,
    drive: &DriveFigures,
) -> [f64; INPUTS] {
    let unit = drive.channel_pages_per_s;
    let channels = f64::from(channels);
    let [read, written] = drive.work(rates.pages).map(|work| work / channels / unit);
    let [read_size, write_size] = [0, 1].map(|n| ratio(rates.pages[n], rates.requests[n]));
    let log = |wait: f64| (wait * unit + SHORT_WAIT).ln();
    let [alone, reads, writes] = [waits.reads_alone, waits.reads, waits.writes].map(log);
    let uneven = unevenness.max(UNEVENNESS_MIN).ln();
    let inverse = channels.recip();
    let part: [f64; PART_INPUTS] =
        [read, written, channels, inverse, read_size, write_size, alone, reads, writes, uneven];
    drive.beside(part)
}

/// The places of the waits of reads and of writes among the inputs.
const WAITS: [usize; OUTPUTS] = [7, 8];

/// Mean latencies of reads and writes in the drive's unit, as a network learns them: the logarithms
/// of their ratios to the waits that it is told. Where a queue decides, hardly anything is left to
/// learn.
pub(crate) fn outputs(row: &[f64; INPUTS], latencies: [f64; 2]) -> [f64; OUTPUTS] {
    [0, 1].map(|op| latencies[op].ln() - row[WAITS[op]])
}

/// The latency in nanoseconds that an output stands for, beside the logarithm of a wait.
fn latency_ns(output: f64, wait: f64, drive: &DriveFigures) -> f64 {
    1e9 * (output + wait - drive.channel_pages_per_s.ln()).min(SECONDS_MAX).exp()
}

/// Mean latencies of reads and of writes in a part, in nanoseconds, by a network.
///
/// # Panics
/// If the network is not one for parts.
pub(crate) fn latencies_ns(
    network: &MlpModel,
    rates: &Rates,
    (waits, unevenness): (&Waits, f64),
    channels: u32,
    drive: &DriveFigures,
    buffer: &mut Buffer,
) -> [f64; OUTPUTS] {
    let row = inputs(rates, waits, unevenness, channels, drive);
    let outputs = network.predict_one(&row, buffer).expect("finite numbers, as many as it has");
    [0, 1].map(|op| latency_ns(outputs[op], row[WAITS[op]], drive))
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
    drive: DriveFigures,
    /// For each number of tenants in [`TENANTS`].
    part_lists: Vec<PartLists>,
    memory: AskedMemory,
    /// What each part adds to the total of a strategy, in nanoseconds; NaN if it was not asked.
    contributions: Vec<f64>,
    totals: Vec<f64>,
}

impl Forecast {
    /// For strategies of ordered tenants on a drive, a list for each number of tenants in
    /// [`TENANTS`].
    pub(crate) fn new(strategies: &[Vec<Strategy>], drive: DriveFigures) -> Self {
        let part_list =
            |(own, tenants): (&Vec<Strategy>, usize)| PartLists::new(own, drive.channels, tenants);
        Self {
            drive,
            part_lists: strategies.iter().zip(TENANTS).map(part_list).collect(),
            memory: AskedMemory::default(),
            contributions: Vec::new(),
            totals: Vec::new(),
        }
    }

    /// Mean read plus mean write latency under each strategy, in nanoseconds. It is infinite where
    /// the strategy is not possible for these tenants.
    ///
    /// # Panics
    /// If the network is not one for parts, or there is only one tenant.
    pub(crate) fn totals(&mut self, network: &MlpModel, observed: &ObservedMix) -> &[f64] {
        let width = self.drive.channels as usize + 1;
        let rows = Rows::new(observed);
        let Self { drive, part_lists, memory, contributions, totals } = self;
        let mut asked = Asked::new(observed, *drive, 0.0, memory);
        let mut waits: [Option<(Vec<Waits>, f64)>; *TENANTS.end() + 3] = Default::default();
        contributions.clear();
        contributions.resize(rows.owners().len() * width, f64::NAN);
        let part_lists = &part_lists[observed.rates.len() - TENANTS.start()].0;
        let is_possible = |parts: &[(Owner, u32)]| {
            parts.first().is_some_and(|part| part.0 != WRITERS || rows.has_kinds)
        };
        let place = |owner: Owner, channels: u32| rows.of[owner] * width + channels as usize;
        for &(owner, channels) in part_lists.iter().filter(|parts| is_possible(parts)).flatten() {
            let place = place(owner, channels);
            if contributions[place].is_nan() {
                contributions[place] = 0.0;
                let row = rows.of[owner];
                let part = Part { tenants: rows.tenants[row], channels };
                let (own, uneven) = waits[row].get_or_insert_with(|| asked.all_waits(part.tenants));
                asked.ask(place, part, (own[channels as usize], *uneven), 1.0);
            }
        }
        asked.answer(network, |place, added, _| contributions[place] = added);
        totals.clear();
        totals.extend(part_lists.iter().map(|parts| match is_possible(parts) {
            true => parts.iter().map(|part| contributions[place(part.0, part.1)]).sum(),
            false => f64::INFINITY,
        }));
        totals
    }

    /// The totals in nanoseconds under some strategies for the tenants as the drive numbers them,
    /// if each of their parts is asked for more than was observed by this number of standard
    /// deviations: a period is only a sample.
    ///
    /// # Panics
    /// If the network is not one for parts.
    pub(crate) fn busy_totals(
        &mut self,
        network: &MlpModel,
        strategies: &[&Strategy],
        observed: &ObservedMix,
        deviations: f64,
    ) -> Vec<f64> {
        let mut asked = Asked::new(observed, self.drive, deviations, &mut self.memory);
        for (place, strategy) in strategies.iter().enumerate() {
            for part in strategy.parts(self.drive.channels, &observed.writers) {
                asked.ask_busy(place, part);
            }
        }
        let mut totals = vec![0.0; strategies.len()];
        asked.answer(network, |place, added, _| totals[place] += added);
        totals
    }

    /// Mean latencies of each tenant's reads and writes under one strategy, in nanoseconds, for the
    /// tenants as the drive numbers them: those of the part that it has, whose requests wait alike.
    ///
    /// # Panics
    /// If the network is not one for parts.
    pub(crate) fn of_tenants(
        &mut self,
        network: &MlpModel,
        strategy: &Strategy,
        observed: &ObservedMix,
    ) -> Vec<[f64; OUTPUTS]> {
        let parts: Vec<Part> = strategy.parts(self.drive.channels, &observed.writers).collect();
        self.of_parts(network, &parts, observed)
    }

    /// Mean latencies of each tenant's reads and writes alone on the drive, in nanoseconds.
    ///
    /// # Panics
    /// If the network is not one for parts.
    pub(crate) fn alone(
        &mut self,
        network: &MlpModel,
        observed: &ObservedMix,
    ) -> Vec<[f64; OUTPUTS]> {
        let channels = self.drive.channels;
        let all = |tenant| Part { tenants: TenantSet::only(tenant), channels };
        let parts: Vec<Part> = (0..observed.rates.len()).map(all).collect();
        self.of_parts(network, &parts, observed)
    }

    /// Mean latencies of each tenant's reads and writes, in nanoseconds: those of its part.
    fn of_parts(
        &mut self,
        network: &MlpModel,
        parts: &[Part],
        observed: &ObservedMix,
    ) -> Vec<[f64; OUTPUTS]> {
        let mut asked = Asked::new(observed, self.drive, 0.0, &mut self.memory);
        parts.iter().enumerate().for_each(|(place, part)| asked.ask_busy(place, *part));
        let mut all = vec![[0.0; OUTPUTS]; observed.rates.len()];
        asked.answer(network, |place, _, own| {
            let tenants = parts[place].tenants;
            (0..all.len()).filter(|t| tenants.contains(*t)).for_each(|t| all[t] = own);
        });
        all
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

/// A mix, and what a network is asked about it: questions gather until all are answered together.
struct Asked<'a> {
    observed: &'a ObservedMix,
    drive: DriveFigures,
    all: Rates,
    deviations: f64,
    memory: &'a mut AskedMemory,
}

/// Memory that is used again.
#[derive(Clone, Debug, Default)]
struct AskedMemory {
    buffer: Buffer,
    /// What some tenants ask for together in each slot.
    slots: Vec<[f64; 2]>,
    /// What is asked: for whom, a number that is the caller's, and what share of all reads and of
    /// all writes the part has.
    questions: Vec<(usize, [f64; OUTPUTS])>,
    /// What the network is told for each question.
    rows: Vec<f64>,
}

impl<'a> Asked<'a> {
    fn new(
        observed: &'a ObservedMix,
        drive: DriveFigures,
        deviations: f64,
        memory: &'a mut AskedMemory,
    ) -> Self {
        let all = Rates::sum(observed.rates.iter());
        memory.questions.clear();
        memory.rows.clear();
        Self { observed, drive, all, deviations, memory }
    }

    /// What these tenants ask for in a second.
    fn rates(&self, tenants: TenantSet) -> Rates {
        Rates::sum(tenants.select(&self.observed.rates))
    }

    /// Gathers the pages that these tenants ask for in each slot, multiplied by the factor `more`:
    /// 1 for what was observed, above 1 for a busier period.
    fn gather(&mut self, tenants: TenantSet, more: f64) {
        self.memory.slots.clear();
        for own in tenants.select(&self.observed.slots) {
            add_slots(&mut self.memory.slots, own, self.drive.work([more; 2]));
        }
    }

    /// Asks about a part that is asked for more than was observed, by the number of deviations.
    fn ask_busy(&mut self, place: usize, part: Part) {
        let more = 1.0 + self.deviations * self.deviation(part);
        self.gather(part.tenants, more);
        let uneven = self.unevenness(part.tenants);
        let per_s = self.drive.pages_per_s(part.channels);
        let waits = waits(&self.memory.slots, self.observed.slot_seconds, per_s);
        self.ask(place, part, (waits, uneven), more);
    }

    /// How unevenly what was gathered for these tenants comes.
    fn unevenness(&self, tenants: TenantSet) -> f64 {
        let own = self.rates(tenants);
        let sizes = self.drive.work([0, 1].map(|op| ratio(own.pages[op], own.requests[op])));
        unevenness(&self.memory.slots, sizes)
    }

    /// The waits of these tenants with each number of channels, from 0, and how unevenly they ask.
    fn all_waits(&mut self, tenants: TenantSet) -> (Vec<Waits>, f64) {
        self.gather(tenants, 1.0);
        let uneven = self.unevenness(tenants);
        let channels = self.drive.channels as usize;
        let mut all = vec![Waits::default()];
        while all.len() <= channels {
            let first = all.len();
            let per_s = std::array::from_fn(|n| self.drive.pages_per_s((first + n) as u32));
            let mut tanks = Tanks::<LANES>::new(self.observed.slot_seconds, per_s);
            tanks.add_all(&self.memory.slots);
            all.extend(tanks.waits());
        }
        (all, uneven)
    }

    /// Asks about a part with these waits, of which `more` times is asked what was observed.
    /// Nothing is asked about a part whose tenants ask for nothing.
    fn ask(&mut self, place: usize, part: Part, (waits, uneven): (Waits, f64), more: f64) {
        let own = self.rates(part.tenants);
        if own.requests == [0.0; 2] {
            return;
        }
        let shares = [0, 1].map(|n| ratio(own.requests[n], self.all.requests[n]));
        let row = inputs(&own.times(more), &waits, uneven, part.channels, &self.drive);
        self.memory.questions.push((place, shares));
        self.memory.rows.extend_from_slice(&row);
    }

    /// Tells `take` for each question, in the order in which they were asked, for whom it was, what
    /// the part adds to the total and the mean latencies of its reads and writes, in nanoseconds.
    fn answer(self, network: &MlpModel, mut take: impl FnMut(usize, f64, [f64; OUTPUTS])) {
        let AskedMemory { buffer, questions, rows, .. } = self.memory;
        if questions.is_empty() {
            return;
        }
        let found = network.predict_rows(rows, buffer).expect("finite numbers, as many as it has");
        let answers = rows.chunks_exact(INPUTS).zip(found.chunks_exact(OUTPUTS));
        for ((place, shares), (row, found)) in questions.iter().zip(answers) {
            let ns = [0, 1].map(|op| latency_ns(found[op], row[WAITS[op]], &self.drive));
            take(*place, shares[0] * ns[0] + shares[1] * ns[1], ns);
        }
    }

    /// The standard deviation of what a part is asked for, as a share of the mean, if its tenants
    /// do not depend on each other.
    fn deviation(&self, part: Part) -> f64 {
        let observed = self.observed;
        let pages = |rates: &Rates| self.drive.work(rates.pages).iter().sum::<f64>();
        let rates = || part.tenants.select(&observed.rates);
        let deviations = part.tenants.select(&observed.deviations);
        let squares: f64 =
            rates().zip(deviations).map(|(one, own)| (pages(one) * own).powi(2)).sum();
        ratio(squares.sqrt(), rates().map(pages).sum())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::drive::FlashFigures;
    use crate::features::PeriodDemand;
    use crate::vector::Intensity;
    use proptest::prelude::{prop, prop_assert, prop_assert_eq, proptest};
    use ssdtune_model::DeviceConfig;
    use ssdtune_sim::Demand;

    const CHANNELS: u32 = 8;

    /// A network of two hidden units, whose latencies rise with both rates, and not linearly.
    fn network(weights: &[f64]) -> MlpModel {
        let mut weights = weights.to_vec();
        weights.iter_mut().for_each(|weight| *weight /= 100.0);
        let text = serde_json::json!({
            "version": 1, "activation": "relu", "output": "linear",
            "layers": [
                { "inputs": INPUTS, "weights": &weights[..2 * INPUTS], "bias": [0.1, -0.5] },
                { "inputs": 2, "weights": &weights[2 * INPUTS..], "bias": [-1.0, 0.0] },
            ],
        });
        serde_json::from_value(text).expect("a sound network")
    }

    /// The total by asking about every part of one strategy, as the mean over all requests.
    fn plain(
        network: &MlpModel,
        strategy: &Strategy,
        observed: &ObservedMix,
        drive: &DriveFigures,
    ) -> f64 {
        let strategy = observed.to_drive(strategy);
        let (mut sums, mut counts) = ([0.0; 2], [0.0; 2]);
        for part in strategy.parts(CHANNELS, &observed.writers) {
            let own = Rates::sum(part.tenants.select(&observed.rates));
            let mut buffer = Buffer::default();
            let row = inputs(&own, &Waits::default(), 0.0, part.channels, drive);
            let found = network.predict_one(&row, &mut buffer).expect("finite");
            for op in 0..2 {
                // Nobody waits: the ratio is to the shortest wait that counts.
                let wait_s = SHORT_WAIT / drive.channel_pages_per_s;
                let latency_ns = 1e9 * (found[op] + wait_s.ln()).min(9.3).exp();
                counts[op] += own.requests[op];
                sums[op] += own.requests[op] * latency_ns;
            }
        }
        (0..2).filter(|&n| counts[n] > 0.0).map(|n| sums[n] / counts[n]).sum()
    }

    proptest! {
        #[test]
        fn a_forecast_is_what_its_parts_say(
            asked in prop::collection::vec((0u64..400, 0u64..400), TENANTS),
            weights in prop::collection::vec(-0.6f64..0.3, 2 * INPUTS + 4),
        ) {
            let demand = |&(reads, writes): &(u64, u64)| {
                Demand { reads, writes, read_pages: 4 * reads, written_pages: writes }
            };
            let asked: Vec<Demand> = asked.iter().map(demand).collect();
            let slots = vec![vec![[0; 2]; 50]; asked.len()];
            let period = PeriodDemand { seconds: 100.0, asked, slots };
            let intensity = Intensity { requests_per_s_max: 100.0 };
            let observed = ObservedMix::new(&period, intensity);
            // Two and three tenants are given those of four, of which some are not possible.
            let of = |tenants: usize| Strategy::all(CHANNELS, tenants.max(4));
            let strategies: Vec<Vec<Strategy>> = TENANTS.map(of).collect();
            let network = network(&weights);
            let flash = FlashFigures::of(&DeviceConfig::default());
            let drive = DriveFigures::new(CHANNELS, intensity, &flash);
            let mut forecast = Forecast::new(&strategies, drive);
            let totals = forecast.totals(&network, &observed).to_vec();
            for (strategy, total) in of(observed.rates.len()).iter().zip(totals) {
                let on_drive = observed.to_drive(strategy);
                if !on_drive.is_distinct(&observed.writers) {
                    prop_assert_eq!(total, f64::INFINITY);
                    continue;
                }
                let expected = plain(&network, strategy, &observed, &drive);
                prop_assert!(
                    (total - expected).abs() <= 1e-9 * expected,
                    "{} {} {}", strategy, total, expected
                );
                // Latencies of all tenants, weighted by their requests, add up to the total.
                let all = Rates::sum(observed.rates.iter());
                let own = forecast.of_tenants(&network, &on_drive, &observed);
                let of_tenants: f64 = (own.iter().zip(&observed.rates))
                    .flat_map(|(ns, rates)| [0, 1].map(|n| ns[n] * rates.requests[n]))
                    .zip([0, 1].iter().cycle())
                    .map(|(sum, &n)| ratio(sum, all.requests[n]))
                    .sum();
                prop_assert!((of_tenants - total).abs() <= 1e-9 * total);
            }
        }
    }
}
