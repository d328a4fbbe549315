//! What a strategy does to a mix: the mean latencies of reads and of writes, by simulation.
//!
//! Every tenant sees the same logical space under every strategy, so that all of them serve the same requests: the
//! drive is made with all tenants on all channels, and bound to the strategy before its data are defined. Working
//! sets hold data, everything else is free, so nothing is ever collected (2 million requests of the paper write
//! 6 % of the drive at most).
//!
//! [`Bench::race`] finds the best of many strategies with less work: see there.

use crate::features::{Period, first_period};
use crate::mix::{Mix, Play, SECTORS_MAX};
use crate::strategy::{Part, Strategy, TENANTS};
use serde::{Deserialize, Serialize};
use ssdtune_model::{CheckedConfig, Nanos};
use ssdtune_sim::{
    Completion, Footprint, InitialContent, InitialState, Look, Observe, Outcome, Places, SimError,
    Simulator, Stream, Tenant,
};
use ssdtune_trace::{Op, Request};
use std::sync::atomic::{AtomicBool, Ordering};

/// What decides a measurement, beside the drive, the mix and the strategy.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Settings {
    /// Where intensity level 20 ends, flash pages in a second.
    pub rate_max_pages: f64,
    /// Requests of a mix.
    pub requests: u64,
    /// Pages of each tenant's working set.
    pub working_set_pages: u64,
    /// Share of a tenant's requests that are not of its kind.
    pub minority: f64,
    /// Pages of a read and of a write request.
    pub request_pages: [u32; 2],
    /// Share of the mixes whose tenants come in bursts.
    pub bursty: f64,
    /// The period T from which features are collected.
    pub collect_ns: u64,
    /// What decides the draws.
    pub seed: u64,
    /// Strategies that cannot win any more are given up.
    pub eliminate: bool,
}

/// Mean latencies.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Means {
    /// Of reads; 0 if there were none.
    pub read_ns: f64,
    /// Of writes.
    pub write_ns: f64,
}

impl Means {
    /// The paper's figure: mean read plus mean write latency.
    pub fn total_ns(&self) -> f64 {
        self.read_ns + self.write_ns
    }
}

/// How many, and the sum of their latencies.
type Sums = (u64, u128);

/// Sums over completions.
#[derive(Clone, Debug)]
pub struct Tally {
    /// Of each tenant, of reads and of writes.
    tenants: Vec<[Sums; 2]>,
}

impl Tally {
    /// Nothing yet, of so many tenants.
    pub fn new(tenants: usize) -> Self {
        Self { tenants: vec![[(0, 0); 2]; tenants] }
    }

    /// Counts a completion, from its arrival at the host.
    pub fn add(&mut self, completion: &Completion) {
        let direction = match completion.op {
            Op::Read => 0,
            Op::Write => 1,
            Op::Trim | Op::Flush => return,
        };
        let sums = &mut self.tenants[usize::from(completion.tenant)][direction];
        sums.0 += 1;
        sums.1 += u128::from((completion.completed - completion.arrived).0);
    }

    /// The means over all.
    pub fn means(&self) -> Means {
        self.means_of(|_| true)
    }

    /// The means over some tenants.
    pub fn means_of(&self, mut is_of: impl FnMut(usize) -> bool) -> Means {
        let mut all: [Sums; 2] = [(0, 0); 2];
        for (_, tenant) in self.tenants.iter().enumerate().filter(|(number, _)| is_of(*number)) {
            for (all, own) in all.iter_mut().zip(tenant) {
                *all = (all.0 + own.0, all.1 + own.1);
            }
        }
        let [read_ns, write_ns] = all.map(|(count, sum)| sum as f64 / count.max(1) as f64);
        Means { read_ns, write_ns }
    }
}

/// Why a mix has no figures.
#[derive(Debug, thiserror::Error)]
pub enum BenchError {
    /// The drive cannot be simulated.
    #[error(transparent)]
    Drive(#[from] SimError),
    /// The caller stopped it.
    #[error("interrupted")]
    Interrupted,
    /// The drive ran out of free blocks.
    #[error("{strategy} runs the drive out of free blocks: take fewer requests, or a larger drive")]
    OutOfSpace {
        /// Under which strategy.
        strategy: Strategy,
    },
}

/// What a strategy did in a race.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Entry {
    /// The strategy.
    pub strategy: Strategy,
    /// Its latencies, as far as it was run.
    pub means: Means,
    /// The same of each part alone, in their order.
    pub parts: Vec<Means>,
    /// Given up: how much longer its total was than that of the best one at the same time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub behind: Option<f64>,
}

/// Looks at a run, in equal times.
const LOOKS: u64 = 20;
/// A strategy is given up when its total at a look is so many times the best one's at the same look, for looks
/// from the first; later ones are as the last. `docs/results/keeper.md` has the check that no label depends on it.
const MARGINS: [f64; 12] = [3.0, 2.5, 2.2, 2.0, 1.8, 1.7, 1.6, 1.5, 1.45, 1.4, 1.35, 1.3];

fn margin(look: usize) -> f64 {
    MARGINS[look.min(MARGINS.len() - 1)]
}

/// A drive to be measured.
#[derive(Debug)]
pub struct Bench<'a> {
    config: CheckedConfig,
    settings: Settings,
    stop: &'a AtomicBool,
}

impl<'a> Bench<'a> {
    /// A drive; measuring ends when `stop` is set.
    pub fn new(config: &CheckedConfig, settings: Settings, stop: &'a AtomicBool) -> Self {
        Self { config: with_fewer_blocks(config, &settings), settings, stop }
    }

    /// Whether the caller wants it to end.
    pub fn is_stopped(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }

    /// How requests of a mix are drawn.
    pub fn play(&self, number: u64) -> Play {
        Play {
            rate_max_pages: self.settings.rate_max_pages,
            requests: self.settings.requests,
            working_set_pages: self.settings.working_set_pages,
            minority: self.settings.minority,
            request_pages: self.settings.request_pages,
            page_sectors: self.config.geometry().sectors_per_page(),
            seed: self.settings.seed.wrapping_mul(0x9e37_79b9_7f4a_7c15).wrapping_add(number),
        }
    }

    /// A drive that serves these tenants by a strategy, their working sets in place.
    ///
    /// # Errors
    /// The drive cannot be simulated.
    pub fn drive(&self, strategy: &Strategy, writers: &[bool]) -> Result<Simulator, SimError> {
        let tenants = vec![Tenant::sole(&self.config); writers.len()];
        let observe = Observe { completions: true, ..Observe::default() };
        let mut drive = Simulator::new(&self.config, &tenants, observe)?;
        bind(&mut drive, strategy, writers)?;
        let page_bytes = u64::from(self.config.flash.page_bytes);
        let share = |tenant| {
            let pages = drive.address_space(tenant).0 / page_bytes;
            (self.settings.working_set_pages as f64 / pages as f64).min(1.0)
        };
        let occupancy = (0..writers.len()).map(share).collect();
        let seed = self.config.run.seed;
        let past = InitialContent { state: InitialState::Sequential, occupancy, erases: 0, seed };
        drive.set_initial_content(&past, &Footprint::default())?;
        Ok(drive)
    }

    /// Runs requests to their end under one strategy.
    ///
    /// # Errors
    /// The drive cannot be simulated, has no room, or the caller stopped it.
    pub fn run(
        &self,
        strategy: &Strategy,
        writers: &[bool],
        requests: &[Request],
    ) -> Result<Means, BenchError> {
        let track = self.track(strategy, writers, requests, &mut |_, _| true)?;
        Ok(track.tally.means())
    }

    /// Runs requests; `go_on` is asked at every look, told its number and the means so far.
    fn track(
        &self,
        strategy: &Strategy,
        writers: &[bool],
        requests: &[Request],
        go_on: &mut dyn FnMut(usize, Means) -> bool,
    ) -> Result<Track, BenchError> {
        let mut drive = self.drive(strategy, writers)?;
        let end = requests.last().map_or(Nanos(1), |request| request.at);
        let interval = Nanos((end.0 / LOOKS).max(1));
        let stream = Stream { tenant: None, ..Stream::open(requests.iter().copied()) };
        let mut track = Track { tally: Tally::new(writers.len()), given_up: false };
        let mut look = 0;
        let mut watch = |drive: &mut Simulator, what: Look| {
            drive.take_completions().iter().for_each(|completion| track.tally.add(completion));
            if matches!(what, Look::IntervalEnd(_)) {
                track.given_up |= !go_on(look, track.tally.means());
                look += 1;
            }
            !track.given_up && !self.is_stopped()
        };
        let outcome = drive.run_in_intervals(vec![stream], interval, &mut watch);
        watch(&mut drive, Look::Between);
        match outcome {
            _ if self.is_stopped() => Err(BenchError::Interrupted),
            Outcome::OutOfSpace { .. } => {
                Err(BenchError::OutOfSpace { strategy: strategy.clone() })
            }
            Outcome::Completed | Outcome::Interrupted => Ok(track),
        }
    }

    /// What is asked for in the first T of a mix, which the allocator would see, and in the whole run.
    pub fn observe(&self, mix: &Mix, number: u64) -> [Period; 2] {
        let requests: Vec<Request> = mix.requests(self.play(number)).collect();
        let page_sectors = self.config.geometry().sectors_per_page();
        let periods = [Nanos(self.settings.collect_ns), Nanos::MAX];
        periods.map(|period| first_period(&requests, mix.tenants.len(), period, page_sectors))
    }

    /// Every distinct strategy for a mix, the best first found by racing: all run to the first look, and then,
    /// the most promising first, to the end, unless at a look they are too far behind the best so far at the same
    /// look. `Shared` is always run to the end. Which ones are given up depends on nothing but the mix.
    ///
    /// # Errors
    /// As [`Bench::run`].
    pub fn race(
        &self,
        strategies: &[Strategy],
        mix: &Mix,
        number: u64,
    ) -> Result<Vec<Entry>, BenchError> {
        let writers = mix.writers();
        let requests: Vec<Request> = mix.requests(self.play(number)).collect();
        let channels = self.config.geometry().channels;
        let entry = |strategy: &Strategy, tally: &Tally, behind| {
            let of = |part: Part| tally.means_of(|tenant| part.tenants.contains(tenant));
            let parts = strategy.parts(channels, &writers).map(of).collect();
            Entry { strategy: strategy.clone(), means: tally.means(), parts, behind }
        };
        let mut order: Vec<(Tally, &Strategy)> = Vec::new();
        for strategy in strategies.iter().filter(|strategy| strategy.is_distinct(&writers)) {
            let mut first = Tally::new(writers.len());
            if self.settings.eliminate && *strategy != Strategy::Shared {
                first = self.track(strategy, &writers, &requests, &mut |_, _| false)?.tally;
            }
            order.push((first, strategy));
        }
        order.sort_by(|a, b| a.0.means().total_ns().total_cmp(&b.0.means().total_ns()));
        let mut entries = Vec::with_capacity(order.len());
        let mut leader = Leader { total_ns: f64::INFINITY, seen: Vec::new() };
        for (first, strategy) in order {
            let is_kept = *strategy == Strategy::Shared || !self.settings.eliminate;
            let behind = leader.too_far(0, first.means()).filter(|_| !is_kept);
            if behind.is_some() {
                entries.push(entry(strategy, &first, behind));
                continue;
            }
            let (mut seen, mut behind) = (Vec::new(), None);
            let track = self.track(strategy, &writers, &requests, &mut |look, means| {
                seen.push(means.total_ns());
                behind = leader.too_far(look, means).filter(|_| !is_kept);
                behind.is_none()
            })?;
            let total_ns = track.tally.means().total_ns();
            if behind.is_none() && total_ns < leader.total_ns {
                leader = Leader { total_ns, seen };
            }
            entries.push(entry(strategy, &track.tally, behind));
        }
        Ok(entries)
    }
}

/// The best strategy of a race so far: its total, at the end and at every look.
struct Leader {
    total_ns: f64,
    seen: Vec<f64>,
}

impl Leader {
    /// How many times its total another's is at a look, if that is too much to catch up.
    fn too_far(&self, look: usize, means: Means) -> Option<f64> {
        let ratio = means.total_ns() / self.seen.get(look)?;
        (ratio > margin(look)).then_some(ratio)
    }
}

/// The drive with no more blocks than a mix can touch: it does the same in the same time, and takes a fifth of the
/// time to make. Nothing is collected on either, and no time depends on a block's number.
fn with_fewer_blocks(config: &CheckedConfig, settings: &Settings) -> CheckedConfig {
    let geometry = config.geometry();
    let block_pages = u64::from(geometry.pages_per_block);
    // All working sets and all writes in one channel, twice, and what collection and frontiers want free.
    let write_pages = match settings.bursty > 0.0 {
        true => settings.request_pages[1].max(SECTORS_MAX.div_ceil(geometry.sectors_per_page())),
        false => settings.request_pages[1],
    };
    let pages = *TENANTS.end() as u64 * settings.working_set_pages
        + settings.requests * u64::from(write_pages);
    let blocks =
        2 * pages.div_ceil(geometry.planes() / u64::from(geometry.channels) * block_pages) + 64;
    let mut smaller = (**config).clone();
    smaller.flash.blocks_per_plane =
        u32::try_from(blocks).unwrap_or(u32::MAX).min(geometry.blocks_per_plane);
    smaller.check().unwrap_or_else(|_| config.clone())
}

/// What was seen of a run.
struct Track {
    tally: Tally,
    given_up: bool,
}

/// Binds every tenant of a drive as a strategy says.
///
/// # Errors
/// The drive has not the channels.
pub fn bind(drive: &mut Simulator, strategy: &Strategy, writers: &[bool]) -> Result<(), SimError> {
    let geometry = drive.config().geometry();
    let sets = strategy.channels(geometry.channels, writers);
    for (tenant, (channels, &writer)) in sets.into_iter().zip(writers).enumerate() {
        let places = Places { channels, ..Places::all(&geometry) };
        drive.bind(tenant, &places, writer)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mix::MINORITY;
    use ssdtune_model::presets;

    #[test]
    fn fewer_blocks_change_no_latency() {
        let config = presets::load("ssdkeeper").unwrap().check().unwrap();
        let settings = Settings {
            rate_max_pages: 90_000.0,
            requests: 2_000,
            working_set_pages: 1_024,
            minority: MINORITY,
            request_pages: [4, 1],
            bursty: 0.5,
            collect_ns: 100_000_000,
            seed: 3,
            eliminate: false,
        };
        let stop = AtomicBool::new(false);
        let fewer = Bench::new(&config, settings, &stop);
        let blocks = fewer.config.geometry().blocks_per_plane;
        assert!(blocks < config.geometry().blocks_per_plane / 10, "{blocks}");
        let whole = Bench { config, settings, stop: &stop };
        for (number, name) in [(0, "Shared"), (1, "1:7"), (2, "5:1:1:1"), (3, "Isolated")] {
            let mix = Mix::draw(3, number, 4, 0.5);
            let requests: Vec<Request> = mix.requests(whole.play(number)).collect();
            let strategy: Strategy = name.parse().unwrap();
            let run = |bench: &Bench| bench.run(&strategy, &mix.writers(), &requests).unwrap();
            assert_eq!(run(&fewer), run(&whole), "{name}");
        }
    }
}
