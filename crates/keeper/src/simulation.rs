//! What a strategy does to a mix, by simulation: the mean latencies of reads and of writes.
//!
//! Each tenant has the same logical address space under every strategy, so all strategies serve the
//! same requests. For that the drive is made with every tenant on all channels, and bound to the
//! strategy before its data are put in place. The working sets hold data and everything else is
//! free, so nothing is ever collected: even the paper's 2 million requests write at most 6 % of the
//! drive.
//!
//! [`MixSimulator::run`] measures one strategy. [`MixSimulator::race`] finds the best of many with
//! less work. [`MixSimulator::saturation`] finds how much the drive can do at all, which is what
//! intensity levels are measured by.
//!
//! Cost: 1 to 3 us for each page of the requests, and some milliseconds to make the drive.

mod race;
mod saturation;
mod shares;
mod switches;

pub use race::StrategyOutcome;
pub use saturation::{LEVEL_20_SHARE, Saturation};
pub use shares::ShareOutcome;
pub use switches::SwitchOutcome;

use crate::binding::{Indivisible, bindings};
use crate::bursts::SECTORS_MAX;
use crate::features::{PeriodDemand, first_period};
use crate::mix::{Mix, MixStyle, RequestOptions};
use crate::strategy::{Strategy, TENANTS};
use serde::{Deserialize, Serialize};
use ssdtune_experiment::{
    Blank, ByOp, Nothing, Preparation, PrepareError, Served, Share, Shares, Start, Tally, serve,
};
use ssdtune_model::{CheckedConfig, Faults, GOLDEN_STEP, Nanos};
use ssdtune_sim::{Border, Look, Observe, Simulator, Stream, Tenant};
use ssdtune_trace::Request;
use std::cell::Cell;
use std::sync::atomic::{AtomicBool, Ordering};

/// How mixes are drawn and measured: all that decides a measurement beside the drive, the mix and
/// the strategy.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SimulationSettings {
    /// Flash pages a second at which intensity level 20 ends.
    pub rate_max_pages: f64,
    /// Requests of a mix.
    pub requests: u64,
    /// Flash pages of each tenant's working set.
    pub working_set_pages: u64,
    /// The share of a tenant's requests that are not of its kind, 0 to 1.
    pub minority: f64,
    /// Flash pages of a read and of a write request.
    pub request_pages: [u32; 2],
    /// What mixes are drawn like.
    pub style: MixStyle,
    /// The period T, in nanoseconds, whose requests the features are computed from.
    pub collect_ns: u64,
    /// Decides the random draws.
    pub seed: u64,
    /// Whether a race gives up strategies that can no longer win.
    pub eliminate: bool,
}

impl SimulationSettings {
    /// How the requests of the mix of a number are drawn, for flash pages of this many sectors.
    pub fn request_options(&self, number: u64, page_sectors: u32) -> RequestOptions {
        RequestOptions {
            rate_max_pages: self.rate_max_pages,
            requests: self.requests,
            working_set_pages: self.working_set_pages,
            minority: self.minority,
            request_pages: self.request_pages,
            page_sectors,
            seed: self.seed.wrapping_mul(GOLDEN_STEP).wrapping_add(number),
        }
    }
}

/// Mean latencies of reads and of writes, from arrival at the host to completion.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct MeanLatencies {
    /// Mean latency of a read in nanoseconds; 0 if there were none.
    pub read_ns: f64,
    /// Mean latency of a write in nanoseconds; 0 if there were none.
    pub write_ns: f64,
}

impl MeanLatencies {
    /// The means of some completed requests.
    pub fn of(sums: &ByOp) -> Self {
        let (read_ns, write_ns) = (sums.read.latency_ns_mean(), sums.write.latency_ns_mean());
        Self { read_ns, write_ns }
    }

    /// The figure that strategies are compared by, as in the paper: mean read plus mean write
    /// latency, in nanoseconds.
    pub fn total_ns(&self) -> f64 {
        self.read_ns + self.write_ns
    }
}

/// Why a mix could not be measured.
#[derive(Debug, thiserror::Error)]
pub enum SimulationError {
    /// The drive cannot be simulated.
    #[error(transparent)]
    Drive(#[from] PrepareError),
    /// The drive cannot have static allocation of pages.
    #[error(transparent)]
    Static(#[from] Faults),
    /// The drive's channels cannot be divided.
    #[error(transparent)]
    Indivisible(#[from] Indivisible),
    /// The caller stopped it.
    #[error("interrupted")]
    Interrupted,
    /// The drive ran out of free blocks.
    #[error("{strategy} runs the drive out of free blocks: take fewer requests, or a larger drive")]
    OutOfSpace {
        /// The strategy under which that happened.
        strategy: Strategy,
    },
}

/// How often a run is looked at, at equal distances of simulated time.
pub(crate) const LOOKS: u64 = 20;

/// A drive on which mixes are measured.
#[derive(Debug)]
pub struct MixSimulator<'a> {
    device: CheckedConfig,
    /// The drive for runs that give a [`SwitchOutcome`]. It holds no data at the start and gives a
    /// page its place when the page is first read or written; else the first read of a page would
    /// cost no flash read.
    first_touch: CheckedConfig,
    settings: SimulationSettings,
    stop: &'a AtomicBool,
}

impl<'a> MixSimulator<'a> {
    /// Measures on this drive until `stop` is set. Give it the page allocation of
    /// [`labelled_allocation`](crate::labels::labelled_allocation).
    pub fn new(device: &CheckedConfig, settings: SimulationSettings, stop: &'a AtomicBool) -> Self {
        let device = with_fewer_blocks(device, &settings);
        Self { first_touch: switches::first_touch(&device), device, settings, stop }
    }

    /// Whether the caller wants measuring to end.
    pub fn is_stopped(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }

    /// How the requests of the mix of a number are drawn.
    pub fn request_options(&self, number: u64) -> RequestOptions {
        self.settings.request_options(number, self.device.geometry().sectors_per_page())
    }

    /// A drive whose tenants are bound by a strategy, with their working sets in place.
    fn drive(&self, strategy: &Strategy, writers: &[bool]) -> Result<Simulator, PrepareError> {
        let tenants = vec![Tenant::sole(&self.device); writers.len()];
        let bindings = bindings(strategy, &self.device.flash_geometry(), writers, Border::Closed);
        let observe = Observe { completions: true, ..Observe::default() };
        let blank = Blank { bindings: &bindings, ..Blank::new(&self.device, &tenants, observe) };
        let working_sets = Shares(vec![Share::Pages(self.settings.working_set_pages)]);
        let start = Start::Sequential(working_sets);
        blank.prepare(&Preparation::of(start, self.device.run.seed), &Nothing, self.stop)
    }

    /// Serves requests, given in order of time, to their end under one strategy.
    ///
    /// # Errors
    /// The drive cannot be simulated, has no room, or the caller stopped it.
    pub fn run(
        &self,
        strategy: &Strategy,
        writers: &[bool],
        requests: &[Request],
    ) -> Result<MeanLatencies, SimulationError> {
        let tally = self.tally(strategy, writers, requests, &mut |_, _| true)?;
        Ok(MeanLatencies::of(&tally.total()))
    }

    /// Serves requests until they end or `go_on` answers `false`. It is asked at every look, and
    /// told the look's number and the means so far. What has come until then is served to its end:
    /// requests that wait belong to the means of what was asked for.
    fn tally(
        &self,
        strategy: &Strategy,
        writers: &[bool],
        requests: &[Request],
        go_on: &mut dyn FnMut(usize, MeanLatencies) -> bool,
    ) -> Result<Tally, SimulationError> {
        let mut drive = self.drive(strategy, writers)?;
        let end = requests.last().map_or(Nanos(1), |request| request.at);
        let interval = Nanos((end.0 / LOOKS).max(1));
        let is_over = Cell::new(false);
        let coming = requests.iter().copied().take_while(|_| !is_over.get());
        let stream = Stream { tenant: None, ..Stream::open(coming) };
        let (mut tally, mut looks) = (Tally::default(), 0);
        let streams = vec![stream];
        let served = serve(&mut drive, streams, Some(interval), self.stop, |_, done, look| {
            done.iter().for_each(|completion| tally.add(completion));
            if look != Look::Between && !is_over.get() {
                looks += 1;
                is_over.set(!go_on(looks - 1, MeanLatencies::of(&tally.total())));
            }
            true
        });
        match served {
            Served::Completed | Served::GivenUp => Ok(tally),
            Served::Interrupted => Err(SimulationError::Interrupted),
            Served::OutOfSpace { .. } => {
                Err(SimulationError::OutOfSpace { strategy: strategy.clone() })
            }
        }
    }

    /// What the tenants of a mix ask for in its first period T, which is what an allocator would be
    /// told.
    pub fn observe(&self, mix: &Mix, number: u64) -> PeriodDemand {
        let requests: Vec<Request> = mix.requests(self.request_options(number)).collect();
        let page_sectors = self.device.geometry().sectors_per_page();
        let period = Nanos(self.settings.collect_ns);
        first_period(&requests, mix.tenants.len(), period, page_sectors)
    }
}

/// The drive with no more blocks than a mix can touch. It takes a fifth of the time to make and
/// serves every request in the same time: nothing is collected on either drive, and no time depends
/// on a block's number.
fn with_fewer_blocks(device: &CheckedConfig, settings: &SimulationSettings) -> CheckedConfig {
    let geometry = device.geometry();
    let block_pages = u64::from(geometry.pages_per_block);
    // All working sets and all writes in one channel, twice, and what collection and frontiers
    // want free.
    let write_pages = match settings.style.bursty > 0.0 {
        true => settings.request_pages[1].max(SECTORS_MAX.div_ceil(geometry.sectors_per_page())),
        false => settings.request_pages[1],
    };
    let pages = *TENANTS.end() as u64 * settings.working_set_pages
        + settings.requests * u64::from(write_pages);
    let blocks =
        2 * pages.div_ceil(geometry.planes() / u64::from(geometry.channels) * block_pages) + 64;
    let mut smaller = (**device).clone();
    smaller.flash.blocks_per_plane =
        u32::try_from(blocks).unwrap_or(u32::MAX).min(geometry.blocks_per_plane);
    smaller.check().unwrap_or_else(|_| device.clone())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mix::MINORITY;
    use ssdtune_model::presets;

    #[test]
    fn fewer_blocks_change_no_latency() {
        let device = presets::load("ssdkeeper").unwrap().check().unwrap();
        let settings = SimulationSettings {
            rate_max_pages: 90_000.0,
            requests: 2_000,
            working_set_pages: 1_024,
            minority: MINORITY,
            request_pages: [4, 1],
            style: MixStyle { bursty: 0.5, ..MixStyle::PLAIN },
            collect_ns: 100_000_000,
            seed: 3,
            eliminate: false,
        };
        let stop = AtomicBool::new(false);
        let fewer = MixSimulator::new(&device, settings, &stop);
        let blocks = fewer.device.geometry().blocks_per_plane;
        assert!(blocks < device.geometry().blocks_per_plane / 10, "{blocks}");
        let whole = MixSimulator { first_touch: device.clone(), device, settings, stop: &stop };
        for (number, name) in [(0, "Shared"), (1, "1:7"), (2, "5:1:1:1"), (3, "Isolated")] {
            let mix = Mix::draw(3, number, 4, settings.style);
            let requests: Vec<Request> = mix.requests(whole.request_options(number)).collect();
            let strategy: Strategy = name.parse().unwrap();
            let run = |simulator: &MixSimulator| {
                simulator.run(&strategy, &mix.writers(), &requests).unwrap()
            };
            assert_eq!(run(&fewer), run(&whole), "{name}");
        }
    }
}
