//! One simulation: a drive, its tenants, and a feed for each; run to its end or to an interruption.

use crate::feed::{ErrorSlot, Feed, Gauge, Target, page_sectors};
use crate::firmware::{FirmwareReport, FirmwareTime};
use crate::record::{Recorder, RecorderOptions};
use anyhow::{Context as _, anyhow};
use ssdtune_keeper::allocator::{Allocator, Decision, Repeat};
use ssdtune_keeper::policy::Policy;
use ssdtune_model::config::HostInterface;
use ssdtune_model::{CheckedConfig, DeviceConfig, Nanos, Sectors};
use ssdtune_predict::firmware::fit::FirmwareModel;
use ssdtune_sim::{
    Completion, Filling, Footprint, InitialContent, InitialState, Look, Observe, Replay, Report,
    Simulator, Stream, Tenant,
};
use ssdtune_trace::{Request, TenantId};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// One stream of a cell.
#[derive(Clone, Debug)]
pub(crate) struct Lane {
    pub(crate) feed: Feed,
    pub(crate) replay: Replay,
    /// Whose it is; `None` lets each request say.
    pub(crate) tenant: Option<u16>,
}

/// What a drive is before anything is done with it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum StartArg {
    /// It holds nothing.
    Empty,
    /// Its pages were written once, in their order.
    Sequential,
    /// Then they were overwritten at random for ever.
    Steady,
}

impl From<StartArg> for InitialState {
    fn from(start: StartArg) -> Self {
        match start {
            StartArg::Empty => Self::Empty,
            StartArg::Sequential => Self::Sequential,
            StartArg::Steady => Self::Steady,
        }
    }
}

/// What a drive has been through before its run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum WarmUp {
    /// Every page was written once, in order.
    Sequential,
    /// Likewise, and then five times as many pages at random.
    Random,
    /// It has served the same requests before.
    Trace,
}

/// Overwrites after which collection under random writes is as good as steady.
const OVERWRITES: u32 = 5;

/// How a drive is aged.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Ageing {
    pub(crate) how: WarmUp,
    /// Share of the pages that hold data, where no trace says so.
    pub(crate) occupancy: f64,
}

/// SSDKeeper, as the command line asks for it.
#[derive(Debug)]
pub(crate) struct Keeper {
    pub(crate) policy: Policy,
    /// The period after which it decides.
    pub(crate) collect: Nanos,
    pub(crate) repeat: Repeat,
}

/// One simulation, not yet run.
#[derive(Clone, Debug)]
pub(crate) struct Cell {
    pub(crate) device: CheckedConfig,
    pub(crate) tenants: Vec<Tenant>,
    pub(crate) lanes: Vec<Lane>,
    /// Only this tenant is served in the run; all of them have aged the drive.
    pub(crate) only: Option<u16>,
    /// What the drive is born as.
    pub(crate) past: InitialContent,
    /// Where the drive comes from, if it was kept before.
    pub(crate) restore: Option<PathBuf>,
    /// Where it is kept before the run.
    pub(crate) save: Option<PathBuf>,
    /// What comes before the run.
    pub(crate) ageing: Option<Ageing>,
    /// Who shares the channels out to the tenants while it runs.
    pub(crate) allocator: Option<Arc<Keeper>>,
    /// What the sweep has set.
    pub(crate) settings: Vec<(String, String)>,
}

/// How to observe a run.
pub(crate) struct Watch<'a> {
    pub(crate) stop: &'a AtomicBool,
    /// Told the share done and the requests completed since the last time.
    pub(crate) progress: &'a (dyn Fn(f64, u64) + Sync),
    pub(crate) record: RecorderOptions,
    pub(crate) exact: bool,
    /// Hand every completion out at the end.
    pub(crate) keep: bool,
    /// Firmware time to predict.
    pub(crate) firmware: Option<&'a FirmwareModel>,
}

/// What a run gave.
pub(crate) struct Ran {
    pub(crate) report: Report,
    pub(crate) completions: Vec<Completion>,
    /// What the allocator decided.
    pub(crate) decisions: Vec<Decision>,
    pub(crate) firmware: Option<FirmwareReport>,
}

/// Why this drive cannot be simulated, if it cannot.
pub(crate) fn unsupported(config: &DeviceConfig, tenants: usize) -> Option<&'static str> {
    let sata = config.host.interface == HostInterface::Sata;
    (sata && tenants > 1).then_some("SATA has one queue: merge the flows into one")
}

impl Cell {
    /// What tables and documents call its workload.
    pub(crate) fn workload(&self) -> String {
        let mut names: Vec<String> = self.lanes.iter().map(|lane| lane.feed.name()).collect();
        names.dedup();
        names.join(" + ")
    }

    /// Runs it.
    ///
    /// # Errors
    /// The drive or a tenant is impossible, or a feed fails.
    pub(crate) fn run(&self, watch: &Watch) -> anyhow::Result<Ran> {
        if let Some(reason) = unsupported(&self.device, self.tenants.len()) {
            return Err(anyhow!(reason));
        }
        let mut recorder = Recorder::create(&watch.record)?;
        let completions = watch.keep || recorder.wants_completions() || watch.firmware.is_some();
        let observe = Observe { exact_percentiles: watch.exact, completions };
        let mut drive = self.make(observe)?;
        let slot = ErrorSlot::default();
        let gauges: Vec<Gauge> = self.lanes.iter().map(|_| Gauge::default()).collect();
        if self.restore.is_none() && self.past.state != InitialState::Empty {
            let footprint = self.footprint(&drive, &slot, watch.stop)?;
            drive.set_initial_content(&self.past, &footprint)?;
        }
        if let Some(ageing) = self.ageing {
            self.age(&mut drive, ageing, &slot, watch.stop)?;
        }
        // A drive whose ageing was cut short is not the one that was asked for.
        if let Some(path) = self.save.as_ref().filter(|_| !watch.stop.load(Ordering::Relaxed)) {
            let bytes = drive.snapshot()?;
            std::fs::write(path, bytes).with_context(|| format!("writing {}", path.display()))?;
        }
        let served: Vec<Lane> = self.lanes.iter().filter_map(|lane| self.served(lane)).collect();
        let streams = self.open(&served, &drive, &slot, &gauges)?;
        let lengths: Vec<u64> = served.iter().map(|lane| lane.feed.length()).collect();
        let mut allocator = match &self.allocator {
            Some(keeper) => {
                Some(Allocator::new(&keeper.policy, keeper.collect, keeper.repeat, &drive)?)
            }
            None => None,
        };
        // The command line lets only one of the two have its intervals.
        let interval = watch.record.interval.or(allocator.as_ref().map(Allocator::slot));
        let mut kept = Vec::new();
        let mut firmware =
            watch.firmware.map(|model| FirmwareTime::new(model, &drive)).transpose()?;
        let mut told = 0;
        let mut look = |drive: &mut Simulator, look: Look| {
            if completions {
                let some = drive.take_completions();
                if let Err(error) = recorder.take(drive, &some, look) {
                    slot.put(error);
                    return false;
                }
                if let Some(firmware) = &mut firmware {
                    firmware.take(drive, &some);
                }
                if watch.keep {
                    kept.extend(some);
                }
            }
            if let (Some(allocator), Look::IntervalEnd(at)) = (&mut allocator, look)
                && let Err(error) = allocator.slot_ended(drive, at)
            {
                slot.put(error);
                return false;
            }
            if drive.completed() - told >= PROGRESS_EVERY {
                (watch.progress)(share(&gauges, &lengths), drive.completed() - told);
                told = drive.completed();
            }
            !watch.stop.load(Ordering::Relaxed)
        };
        match interval {
            Some(interval) => drive.run_in_intervals(streams, interval, &mut look),
            None => drive.run(streams, |drive| look(drive, Look::Between)),
        };
        look(&mut drive, Look::Between);
        if let Some(error) = slot.take() {
            return Err(error);
        }
        recorder.finish(&drive)?;
        let report = drive.report();
        let firmware = firmware.map(|firmware| firmware.finish(&drive, &report));
        let decisions = allocator.map(|a| a.decisions().to_vec()).unwrap_or_default();
        Ok(Ran { report, completions: kept, decisions, firmware })
    }

    fn make(&self, observe: Observe) -> anyhow::Result<Simulator> {
        let Some(path) = &self.restore else {
            return Ok(Simulator::new(&self.device, &self.tenants, observe)?);
        };
        // A file that cannot be read is a faulty input, not failed work.
        let bytes = std::fs::read(path).map_err(|error| anyhow!("{}: {error}", path.display()))?;
        Simulator::restore(&self.device, &self.tenants, observe, &bytes)
            .with_context(|| path.display().to_string())
    }

    /// The pages that the run will use, by a first pass over it.
    fn footprint(
        &self,
        drive: &Simulator,
        slot: &ErrorSlot,
        stop: &AtomicBool,
    ) -> anyhow::Result<Footprint> {
        let mut footprint = Footprint::default();
        let gauges: Vec<Gauge> = self.lanes.iter().map(|_| Gauge::default()).collect();
        for stream in self.open(&self.lanes, drive, slot, &gauges)? {
            for request in stream.requests.take_while(|_| !stop.load(Ordering::Relaxed)) {
                let tenant = stream.tenant.map_or(request.tenant, TenantId);
                drive.cover(&mut footprint, &Request { tenant, ..request });
            }
        }
        slot.take().map_or(Ok(footprint), Err)
    }

    /// A lane as the run has it, if it has it at all.
    fn served(&self, lane: &Lane) -> Option<Lane> {
        let Some(only) = self.only else { return Some(lane.clone()) };
        match lane.tenant {
            Some(tenant) => (tenant == only).then(|| lane.clone()),
            None => {
                let feed = Feed { only: Some(TenantId(only)), ..lane.feed.clone() };
                Some(Lane { feed, tenant: Some(only), ..lane.clone() })
            }
        }
    }

    /// Ages the drive. An interruption cuts it short, and the run that follows ends at once.
    fn age(
        &self,
        drive: &mut Simulator,
        ageing: Ageing,
        slot: &ErrorSlot,
        stop: &AtomicBool,
    ) -> anyhow::Result<()> {
        let go_on = |_: &Request| !stop.load(Ordering::Relaxed);
        if ageing.how == WarmUp::Trace {
            let gauges: Vec<Gauge> = self.lanes.iter().map(|_| Gauge::default()).collect();
            for stream in self.open(&self.lanes, drive, slot, &gauges)? {
                let owned = |request: Request| Request {
                    tenant: stream.tenant.map_or(request.tenant, TenantId),
                    ..request
                };
                drive.warm_up(stream.requests.map(owned).take_while(go_on))?;
            }
            return slot.take().map_or(Ok(()), Err);
        }
        let overwrites = if ageing.how == WarmUp::Random { OVERWRITES } else { 0 };
        let seed = self.device.run.seed;
        for tenant in 0..self.tenants.len() as u16 {
            let filling = Filling { occupancy: ageing.occupancy, overwrites, seed };
            let requests = drive.filling(tenant, filling);
            drive.warm_up(requests.take_while(go_on))?;
        }
        Ok(())
    }

    fn open<'a>(
        &self,
        lanes: &[Lane],
        drive: &Simulator,
        slot: &'a ErrorSlot,
        gauges: &[Gauge],
    ) -> anyhow::Result<Vec<Stream<'a>>> {
        let space = |tenant: usize| drive.address_space(tenant).sectors_floor();
        let spaces: Vec<Sectors> = (0..self.tenants.len()).map(space).collect();
        let page = page_sectors(self.device.flash.page_bytes);
        let open = |(lane, gauge): (&Lane, &Gauge)| {
            let own = lane.tenant.map(|tenant| spaces[usize::from(tenant)]);
            let spaces = own.as_ref().map_or(spaces.as_slice(), std::slice::from_ref);
            let requests = lane.feed.open(Target { spaces, page }, slot, gauge)?;
            Ok(Stream { requests: Box::new(requests), tenant: lane.tenant, replay: lane.replay })
        };
        lanes.iter().zip(gauges).map(open).collect()
    }
}

/// Completions between two words about the progress.
const PROGRESS_EVERY: u64 = 10_000;

fn share(gauges: &[Gauge], lengths: &[u64]) -> f64 {
    let total: u64 = lengths.iter().sum();
    let read: u64 = gauges.iter().map(Gauge::position).sum();
    if total == 0 { 0.0 } else { (read as f64 / total as f64).min(1.0) }
}

/// The interval of a series, if it is a time at all.
pub(crate) fn interval_of_ms(ms: f64) -> Option<Nanos> {
    (ms.is_finite() && (0.001..=1e9).contains(&ms)).then(|| Nanos((ms * 1e6).round() as u64))
}
