//! What dividing the channels of a running drive does to a mix, by simulation.
//!
//! Strategies are labelled on drives that place data by them from the beginning. An allocator has
//! no such drive: all tenants share all channels first, and what is placed until it divides them
//! stays where it is. Here the drive is empty at first, as in the paper: a page gets its place when
//! it is first read or written. Under one mix in [`HELD`] it holds all working sets already, since
//! dividing the channels of such drives hardly ever pays, and that must be known. It serves the mix
//! once with shared channels to its end, and once for each moment and strategy that are tried.
//!
//! On a drive with static allocation nothing leaves its part here ([`Border::Closed`]), while
//! writes of an allocator's divisions leave a part that is busy. That is nearly always the harder
//! case, and on purpose: forecasts that learn from open borders harm more of the mixes whose bursts
//! have shapes that nobody has seen (docs/results/keeper.md, "Open borders"). On a drive with
//! dynamic allocation borders are open here, too: there what shared channels give is so much more
//! that hardly any closed part is worth it.
//!
//! Cost: a whole run for each outcome, and one more for each mix. A run that ends badly is cut off
//! once that is certain; two runs of five end so.

use super::race::StrategyOutcome;
use super::{MeanLatencies, MixSimulator, SimulationError};
use crate::binding::bind;
use crate::mix::Mix;
use crate::rates::ratio;
use crate::strategy::Strategy;
use crate::watch::{LAST_MOMENT, MOMENTS, Watch};
use serde::{Deserialize, Serialize};
use ssdtune_experiment::{
    Blank, Nothing, Preparation, PrepareError, Served, Start, Sums, Tally, serve,
};
use ssdtune_model::config::Allocation;
use ssdtune_model::{CheckedConfig, Nanos, split_mix};
use ssdtune_sim::{Border, Look, Observe, Simulator, Stream, Tenant};
use ssdtune_trace::{Op, Request};

/// The second strategy is drawn from those of two parts in 3 of 4 moments, and from all others
/// (`Isolated`, a part for each tenant) in 1 of `OWN_PARTS`: these are many and seldom proposed.
const OWN_PARTS: u64 = 4;

/// Every moment is tried with 1 mix in `MIXES`, two moments with each. Which mixes these are is
/// drawn: other things, as the number of tenants, repeat themselves from mix to mix.
const MIXES: u64 = MOMENTS.len() as u64 / 2;

/// 1 mix in `HELD` is served by a drive that holds all working sets at the start: on such drives
/// hardly any division pays, and forecasts must have seen that.
const HELD: u64 = 4;

/// A run is over once its latencies, with nothing more for requests that are still to end, are this
/// many times those of a run that shares all channels. That is no part of the labels' settings:
/// forecasts tell nothing apart above 1.65 times (`LOG_RANGE` of the file `switch`), and the
/// choice of the risk that is taken knows it for bad.
const LOST: f64 = 2.0;

/// What dividing the channels at one moment did to a mix.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SwitchOutcome {
    /// After how many slots the channels were divided. A period T has
    /// [`SLOTS`](crate::features::SLOTS).
    pub slots: u64,
    /// For each tenant, the share of its reads, 0 to 1, that found data on all channels shortly
    /// before.
    pub settled: Vec<f64>,
    /// How they were divided.
    pub strategy: Strategy,
    /// Mean read plus mean write latency of the whole run, over that of a run that shared all
    /// channels to its end. From 2 on it is at least this: the run may have been cut off.
    pub over_shared: f64,
}

/// What an allocator sees at a moment.
#[derive(Clone)]
struct Moment {
    slots: u64,
    /// For each tenant, the share of its reads that find data on all channels.
    settled: Vec<f64>,
    /// Whether each tenant mostly wrote until then.
    writers: Vec<bool>,
}

/// Dividing the channels of a run.
#[derive(Clone, Copy)]
struct Switch<'a> {
    /// When.
    moment: &'a Moment,
    /// How.
    strategy: &'a Strategy,
    /// The mean read plus mean write latency, in nanoseconds, at which the run is cut off.
    lost_ns: f64,
}

impl MixSimulator<'_> {
    /// What dividing the channels did, at two moments, by two strategies each:
    /// the one that would be the best from the beginning, and one drawn from all, mostly of two
    /// parts, since an allocator does not know which is the best. Moments and strategies change
    /// with the number of the mix. There is nothing to tell if the mix is over before.
    ///
    /// # Errors
    /// The drive cannot be simulated, has no room, or the caller stopped it.
    pub fn switches(
        &self,
        mix: &Mix,
        number: u64,
        entries: &[StrategyOutcome],
    ) -> Result<Vec<SwitchOutcome>, SimulationError> {
        let Some(best) = best_division(entries) else { return Ok(Vec::new()) };
        let requests: Vec<Request> = mix.requests(self.request_options(number)).collect();
        let drawn_number = split_mix(number);
        let (turn, rest) = (drawn_number % MIXES, drawn_number / MIXES);
        let is_held = rest.is_multiple_of(HELD);
        let writers = mix.writers();
        let (shared, moments) = self.switched(&writers, is_held, &requests, None)?;
        let mut outcomes = Vec::new();
        for (place, moment) in (0u32..).zip(&moments) {
            if u64::from(place) % MIXES != turn {
                continue;
            }
            let draw = split_mix(rest.wrapping_add(u64::from(place)));
            let tried = [Some(best), drawn(entries, best, draw)];
            let is_division = |one: &&Strategy| one.is_distinct(&moment.writers);
            for strategy in tried.into_iter().flatten().filter(is_division) {
                let switch = Switch { moment, strategy, lost_ns: LOST * shared.total_ns() };
                let (own, _) = self.switched(&writers, is_held, &requests, Some(switch))?;
                outcomes.push(SwitchOutcome {
                    slots: moment.slots,
                    settled: moment.settled.clone(),
                    strategy: strategy.clone(),
                    over_shared: own.total_ns() / shared.total_ns(),
                });
            }
        }
        Ok(outcomes)
    }

    /// Means over a run on a drive that was empty or held all working sets, and the moments until
    /// the channels were divided. Of a run that is cut off the means are as if all requests that
    /// had not ended took no time.
    fn switched(
        &self,
        writers: &[bool],
        is_held: bool,
        requests: &[Request],
        switch: Option<Switch>,
    ) -> Result<(MeanLatencies, Vec<Moment>), SimulationError> {
        let mut drive = match is_held {
            true => self.drive(&Strategy::Shared, writers)?,
            false => self.empty_drive(writers.len())?,
        };
        let period = Nanos(self.settings.collect_ns);
        let mut watch = Watch::new(period, LAST_MOMENT, &drive);
        let (mut tally, mut moments, mut fault) = (Tally::default(), Vec::new(), None);
        let mut is_watching = true;
        let border = match self.device.mapping.allocation {
            Allocation::Dynamic => Border::Open,
            Allocation::Static | Allocation::Hybrid => Border::Closed,
        };
        let writes = requests.iter().filter(|request| request.op == Op::Write).count();
        let counts = [requests.len() - writes, writes];
        let streams = vec![Stream { tenant: None, ..Stream::open(requests.iter().copied()) }];
        let slot = Some(watch.slot());
        let served = serve(&mut drive, streams, slot, self.stop, |drive, done, look| {
            done.iter().for_each(|completion| tally.add(completion));
            if !matches!(look, Look::IntervalEnd(_)) {
                return true;
            }
            if !is_watching {
                let least = || means_of(&tally, counts).total_ns();
                return switch.is_none_or(|switch| least() < switch.lost_ns);
            }
            let asked = watch.asked(drive);
            let Some(slots) = watch.add(&asked, drive, &MOMENTS) else { return true };
            is_watching = slots != LAST_MOMENT;
            let (settled, writers) = (watch.settled(drive), watch.period().writers());
            moments.push(Moment { slots, settled, writers });
            if let Some(now) = switch.filter(|switch| switch.moment.slots == slots) {
                fault = bind(drive, now.strategy, &now.moment.writers, border).err();
                is_watching = false;
            }
            fault.is_none()
        });
        if let Some(fault) = fault {
            return Err(PrepareError::from(fault).into());
        }
        match served {
            Served::Completed | Served::GivenUp => Ok((means_of(&tally, counts), moments)),
            Served::Interrupted => Err(SimulationError::Interrupted),
            Served::OutOfSpace { .. } => {
                let strategy = switch.map_or(Strategy::Shared, |switch| switch.strategy.clone());
                Err(SimulationError::OutOfSpace { strategy })
            }
        }
    }

    /// A drive that holds nothing, whose tenants share all channels.
    fn empty_drive(&self, tenants: usize) -> Result<Simulator, PrepareError> {
        let tenants = vec![Tenant::sole(&self.first_touch); tenants];
        let observe = Observe { completions: true, ..Observe::default() };
        let blank = Blank::new(&self.first_touch, &tenants, observe);
        let empty = Preparation::of(Start::Empty, self.device.run.seed);
        blank.prepare(&empty, &Nothing, self.stop)
    }
}

/// Mean latencies in nanoseconds over all reads and writes that a run will have (`counts`), where
/// those that have not ended add 0: so the means of a run under way are never above its last ones,
/// and it can be cut off.
fn means_of(tally: &Tally, counts: [usize; 2]) -> MeanLatencies {
    let sums = tally.total();
    let of = |ended: &Sums, count: usize| {
        ended.latency_ns_mean() * ratio(ended.requests as f64, count as f64)
    };
    MeanLatencies { read_ns: of(&sums.read, counts[0]), write_ns: of(&sums.write, counts[1]) }
}

/// A drive on which a page gets its place when it is first read or written.
pub(super) fn first_touch(device: &CheckedConfig) -> CheckedConfig {
    let mut config = (**device).clone();
    config.compat.read_allocates = true;
    config.check().unwrap_or_else(|_| device.clone())
}

/// The strategy that divides the channels best if it does so from the beginning, as far as that is
/// known.
fn best_division(entries: &[StrategyOutcome]) -> Option<&Strategy> {
    let total = |entry: &StrategyOutcome| entry.means.total_ns();
    let least = entries.iter().filter(|e| e.behind.is_none()).map(total).fold(f64::MAX, f64::min);
    let ratio = |entry: &StrategyOutcome| {
        let whole = total(entry) / least;
        entry.behind.map_or(whole, |behind| behind.max(whole))
    };
    let divided = entries.iter().filter(|entry| entry.strategy != Strategy::Shared);
    let best = divided.min_by(|a, b| ratio(a).total_cmp(&ratio(b)));
    best.map(|entry| &entry.strategy)
}

/// Another strategy that divides the channels, by a number drawn at random.
fn drawn<'a>(entries: &'a [StrategyOutcome], best: &Strategy, draw: u64) -> Option<&'a Strategy> {
    let of_two = !draw.is_multiple_of(OWN_PARTS);
    let mut others: Vec<&Strategy> = (entries.iter().map(|entry| &entry.strategy))
        .filter(|one| **one != Strategy::Shared && *one != best)
        .filter(|one| matches!(one, Strategy::ByKind { .. }) == of_two)
        .collect();
    // The order of a race is not that of the strategies.
    others.sort();
    let count = others.len() as u64;
    (count > 0).then(|| others[(draw / OWN_PARTS % count) as usize])
}
