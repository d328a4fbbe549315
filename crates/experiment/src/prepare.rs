//! From a blank drive and a [`Preparation`] to a drive that is ready for its run.

use crate::error::{PrepareError, SourceError};
use crate::extents::Extents;
use crate::preparation::{Age, Preparation, Share, Shares, Start};
use ssdtune_model::{CheckedConfig, Place, Sectors, TenantId};
use ssdtune_sim::{
    Border, Filling, Footprint, InitialContent, InitialState, Observe, Places, SimError, Simulator,
    SnapshotError, Tenant,
};
use ssdtune_trace::Request;
use std::borrow::Cow;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};

/// Requests that may fail to come. Each names its tenant.
pub type FallibleRequests<'a> = Box<dyn Iterator<Item = Result<Request, SourceError>> + 'a>;

/// The requests that a preparation looks at: those of the run that follows, as a rule.
pub trait Upcoming {
    /// Opens them from their beginning, for a drive of this size.
    ///
    /// # Errors
    /// They cannot be opened.
    fn open<'a>(&'a self, drive: &Simulator) -> Result<FallibleRequests<'a>, SourceError>;

    /// The sectors they touch; fewer when `stop` is set meanwhile. Types that know them already say
    /// so here and save a pass over the requests.
    ///
    /// # Errors
    /// They cannot be read.
    fn extents(
        &self,
        drive: &Simulator,
        stop: &AtomicBool,
    ) -> Result<Cow<'_, Extents>, SourceError> {
        let requests = self.open(drive)?.take_while(|_| !stop.load(Ordering::Relaxed));
        Extents::try_of(requests).map(Cow::Owned)
    }
}

/// No requests: for preparations that look at none.
#[derive(Clone, Copy, Debug)]
pub struct Nothing;

impl Upcoming for Nothing {
    fn open<'a>(&'a self, _: &Simulator) -> Result<FallibleRequests<'a>, SourceError> {
        Ok(Box::new(std::iter::empty()))
    }
}

impl Upcoming for [Request] {
    fn open<'a>(&'a self, _: &Simulator) -> Result<FallibleRequests<'a>, SourceError> {
        Ok(Box::new(self.iter().copied().map(Ok)))
    }
}

/// Where a tenant writes from now on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Binding {
    /// The places it may use.
    pub places: Places,
    /// Whether it mostly writes, which decides its placement under hybrid allocation.
    pub writer: bool,
    /// Whether its writes may leave these places.
    pub border: Border,
}

impl Binding {
    /// Binds the tenants of a drive from now on, the first tenant first.
    ///
    /// # Errors
    /// The drive has no such places.
    ///
    /// # Panics
    /// The drive has fewer tenants.
    pub fn bind_all(all: &[Self], drive: &mut Simulator) -> Result<(), SimError> {
        for (tenant, own) in (0..).map(TenantId).zip(all) {
            drive.bind(tenant, &own.places, own.writer, own.border)?;
        }
        Ok(())
    }
}

/// A drive that does not exist yet: what it is made of.
#[derive(Clone, Copy, Debug)]
pub struct Blank<'a> {
    /// The drive.
    pub device: &'a CheckedConfig,
    /// Its tenants, which decide the sizes of their address spaces.
    pub tenants: &'a [Tenant],
    /// Where each tenant's data go, set before any data are in place; empty leaves the tenants' own
    /// places.
    pub bindings: &'a [Binding],
    /// What the simulator keeps for the caller.
    pub observe: Observe,
}

impl<'a> Blank<'a> {
    /// A drive whose data go where its tenants' places say.
    pub fn new(device: &'a CheckedConfig, tenants: &'a [Tenant], observe: Observe) -> Self {
        Self { device, tenants, bindings: &[], observe }
    }

    /// Sectors that each tenant can address.
    ///
    /// # Errors
    /// The drive cannot be simulated with these tenants.
    pub fn address_spaces(&self) -> Result<Vec<Sectors>, SimError> {
        let drive = Simulator::new(self.device, self.tenants, self.observe)?;
        Ok(address_spaces(&drive, self.tenants.len()))
    }

    /// Makes the drive and puts it into the state asked for. When `stop` is set, ageing ends early
    /// and the drive is of no use.
    ///
    /// # Errors
    /// The drive cannot be simulated, has no room for the data, or the requests cannot be read.
    pub fn prepare<U: Upcoming + ?Sized>(
        &self,
        preparation: &Preparation,
        upcoming: &U,
        stop: &AtomicBool,
    ) -> Result<Simulator, PrepareError> {
        preparation.check()?;
        let mut drive = match &preparation.start {
            Start::Restored(path) => self.restore(path)?,
            _ => Simulator::new(self.device, self.tenants, self.observe)?,
        };
        Binding::bind_all(self.bindings, &mut drive)?;
        let mut work = Work { drive: &mut drive, tenants: self.tenants.len(), upcoming, stop };
        work.start(preparation)?;
        for age in &preparation.ages {
            if let Age::Trace { times } = age {
                (0..*times).try_for_each(|_| work.serve_upcoming())?;
            }
        }
        Ok(drive)
    }

    /// The drive whose snapshot this is, made with the same parts.
    ///
    /// # Errors
    /// The bytes are no whole snapshot, or one of another drive.
    pub fn resume(&self, snapshot: &[u8]) -> Result<Simulator, SnapshotError> {
        Simulator::restore(self.device, self.tenants, self.observe, snapshot)
    }

    /// The drive whose snapshot this is, but for the times of commands. It had nothing to do then.
    ///
    /// # Errors
    /// The bytes are no whole snapshot, one of a drive that differs in more, or that was at work.
    pub fn resume_with_times(&self, snapshot: &[u8]) -> Result<Simulator, SnapshotError> {
        Simulator::restore_with_times(self.device, self.tenants, self.observe, snapshot)
    }

    fn restore(&self, path: &Path) -> Result<Simulator, PrepareError> {
        let unreadable = |source| PrepareError::Unreadable { path: path.to_path_buf(), source };
        let bytes = std::fs::read(path).map_err(unreadable)?;
        self.resume(&bytes)
            .map_err(|source| PrepareError::Restore { path: path.to_path_buf(), source })
    }
}

/// Sectors that each of a drive's tenants can address.
pub(crate) fn address_spaces(drive: &Simulator, tenants: usize) -> Vec<Sectors> {
    let space = |tenant| drive.address_space(tenant).sectors_floor();
    (0..tenants).map(TenantId::at).map(space).collect()
}

/// A preparation under way.
struct Work<'a, U: ?Sized> {
    drive: &'a mut Simulator,
    tenants: usize,
    upcoming: &'a U,
    stop: &'a AtomicBool,
}

impl<U: Upcoming + ?Sized> Work<'_, U> {
    fn start(&mut self, preparation: &Preparation) -> Result<(), PrepareError> {
        let random = match preparation.ages.first() {
            Some(Age::Random { times }) => Some(*times),
            _ => None,
        };
        match (&preparation.start, random) {
            (Start::Empty | Start::Restored(_), _) => Ok(()),
            (Start::Footprint, _) => {
                let extents = self.upcoming.extents(self.drive, self.stop)?;
                self.write(extents.writes())
            }
            (Start::Sequential(shares), Some(times)) => self.fill(shares, times, preparation.seed),
            (Start::Sequential(shares), None) => {
                self.define(InitialState::Sequential, shares, preparation)
            }
            (Start::Steady(shares), _) => self.define(InitialState::Steady, shares, preparation),
        }
    }

    /// Lets the simulator compute where data lie, when it looks.
    fn define(
        &mut self,
        state: InitialState,
        shares: &Shares,
        preparation: &Preparation,
    ) -> Result<(), PrepareError> {
        let mut footprint = Footprint::default();
        for request in self.upcoming.open(self.drive)? {
            if self.stop.load(Ordering::Relaxed) {
                break;
            }
            self.drive.cover(&mut footprint, &request?);
        }
        let tenants = (0..self.tenants).map(TenantId::at);
        let occupancy = tenants.map(|tenant| self.occupancy(shares, tenant)).collect();
        let content =
            InitialContent { state, occupancy, erases: preparation.erases, seed: preparation.seed };
        Ok(self.drive.set_initial_content(&content, &footprint)?)
    }

    /// Writes the data in order and then overwrites them at random, tenant by tenant.
    fn fill(&mut self, shares: &Shares, overwrites: u32, seed: u64) -> Result<(), PrepareError> {
        for tenant in (0..self.tenants).map(TenantId::at) {
            let filling = Filling { occupancy: self.occupancy(shares, tenant), overwrites, seed };
            let writes = self.drive.filling(tenant, filling);
            self.write(writes)?;
        }
        Ok(())
    }

    fn write(&mut self, requests: impl Iterator<Item = Request>) -> Result<(), PrepareError> {
        let stop = self.stop;
        self.drive.warm_up(requests.take_while(|_| !stop.load(Ordering::Relaxed)))?;
        Ok(())
    }

    fn serve_upcoming(&mut self) -> Result<(), PrepareError> {
        let upcoming = self.upcoming;
        let mut fault = None;
        let requests = upcoming.open(self.drive)?.map_while(|request| match request {
            Ok(request) => Some(request),
            Err(error) => {
                fault = Some(error);
                None
            }
        });
        let stop = self.stop;
        self.drive.warm_up(requests.take_while(|_| !stop.load(Ordering::Relaxed)))?;
        fault.map_or(Ok(()), |error| Err(error.into()))
    }

    /// The part of a tenant's pages that hold data, 0 to 1.
    fn occupancy(&self, shares: &Shares, tenant: TenantId) -> f64 {
        let Some(share) = shares.0.get(tenant.index()).or(shares.0.last()) else { return 1.0 };
        match *share {
            Share::Fraction(fraction) => fraction,
            Share::Pages(pages) => {
                let page_bytes = u64::from(self.drive.config().geometry().page_bytes);
                let all = self.drive.address_space(tenant).0 / page_bytes;
                (pages as f64 / all as f64).min(1.0)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::serve::{Served, serve};
    use ssdtune_model::{Nanos, presets};
    use ssdtune_sim::Stream;
    use ssdtune_trace::Op;

    fn small() -> CheckedConfig {
        let mut config = presets::load("samsung-850-pro").unwrap();
        config.flash.blocks_per_plane = 256;
        config.check().unwrap()
    }

    fn read(lba: u64) -> Request {
        let (at, lba, tenant) = (Nanos(1_000_000), Sectors(lba), TenantId(0));
        Request { at, lba, sectors: 8, tenant, op: Op::Read }
    }

    /// Whether a page within the footprint, and one beyond it, hold data after a preparation.
    fn hold_data(preparation: &Preparation) -> [bool; 2] {
        let (config, stop) = (small(), AtomicBool::new(false));
        [64, 100_000].map(|lba| {
            let (tenants, requests) = ([Tenant::sole(&config)], [read(lba)]);
            let blank = Blank::new(&config, &tenants, Observe::default());
            let upcoming = [read(64)];
            let mut drive = blank.prepare(preparation, &upcoming[..], &stop).unwrap();
            let stream = Stream::open(requests.iter().copied());
            let served = serve(&mut drive, vec![stream], None, &stop, |_, _, _| true);
            assert_eq!(served, Served::Completed);
            drive.report().unwritten_reads.share == 0.0
        })
    }

    #[test]
    fn data_lie_where_the_preparation_says() {
        let of = |start| hold_data(&Preparation::of(start, 1));
        assert_eq!(of(Start::Empty), [false, false]);
        assert_eq!(of(Start::Footprint), [true, false]);
        assert_eq!(of(Start::sequential(0.0)), [true, false]);
        assert_eq!(of(Start::sequential(1.0)), [true, true]);
        assert_eq!(of(Start::steady(1.0)), [true, true]);
        let random = Age::Random { times: 0 };
        let written =
            Preparation { ages: vec![random], ..Preparation::of(Start::sequential(1.0), 1) };
        assert_eq!(hold_data(&written), [true, true]);
        let pages = Shares(vec![Share::Pages(16)]);
        assert_eq!(of(Start::Sequential(pages)), [true, false]);
    }

    #[test]
    fn a_preparation_that_contradicts_itself_makes_no_drive() {
        let (config, stop) = (small(), AtomicBool::new(false));
        let tenants = [Tenant::sole(&config)];
        let blank = Blank::new(&config, &tenants, Observe::default());
        let wrong = Preparation { erases: 3, ..Preparation::default() };
        assert!(matches!(
            blank.prepare(&wrong, &Nothing, &stop),
            Err(PrepareError::Contradiction(_))
        ));
    }
}
