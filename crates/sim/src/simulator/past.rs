//! A drive that begins in the middle of a trace: what it holds is defined, not written. See
//! `ssdtune_ftl::PastPage` for the flash; here the data cache is added.

use super::Simulator;
use crate::core::Core;
use crate::data_cache::Left;
use crate::vocabulary::SimError;
use ssdtune_ftl::{PastMapping, PastPage};
use ssdtune_model::{Lpn, Nanos, PlaneId, TenantId};

pub use crate::data_cache::CachedPage;

/// What a tenant has done with a drive before its start, as far as the coming requests can see it.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Past {
    /// Pages that hold data.
    pub pages: Vec<PastPage>,
    /// For each plane of the tenant, in its order: how many pages it has taken.
    pub taken: Vec<u64>,
    /// Mappings in the mapping cache, the one used longest ago first.
    pub mappings: Vec<PastMapping>,
    /// Further mappings there. They take room and never leave.
    pub other_mappings: u64,
    /// Pages whose translation pages have been written again, and how often.
    pub rewrites: Vec<(Lpn, u32)>,
    /// Pages in the data cache, the one used longest ago first.
    pub cached: Vec<CachedPage>,
    /// Further pages there. They take room and never leave.
    pub other_cached: u64,
    /// Pages that are not in the data cache and were written in the present epoch of writes.
    pub written: Vec<Lpn>,
    /// When the present epoch of writes ends at the earliest.
    pub epoch_ends: Nanos,
}

/// How a tenant's pages are laid out, for those who make a [`Past`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PastRoom {
    /// Planes that the tenant's pages are laid over.
    pub planes: u32,
    /// Mappings that the mapping cache holds; `None` if all are in DRAM.
    pub mappings: Option<u32>,
    /// Mappings of a translation page.
    pub mappings_per_page: u64,
    /// Pages that the data cache holds.
    pub cached: u64,
    /// Pages that may be on their way from the data cache to flash before writes wait.
    pub on_the_way: u64,
    /// Sectors of a page.
    pub page_sectors: u32,
    /// Pages of the tenant's address space.
    pub pages: u64,
    /// Pages that written data have in the data cache leave it as soon as they are on flash.
    pub is_buffer: bool,
}

impl Simulator {
    /// What a past of a tenant must fit.
    pub fn past_room(&self, tenant: TenantId) -> PastRoom {
        let (ftl, cache) = (&self.core.backend.ftl, &self.core.cache);
        PastRoom {
            planes: ftl.plane_count(tenant),
            mappings: ftl.mapping_capacity(tenant),
            mappings_per_page: ftl.mappings_per_page(),
            cached: cache.capacity(tenant),
            on_the_way: u64::from(cache.pressure_limit() / self.core.host.spaces.page_sectors()),
            page_sectors: self.core.host.spaces.page_sectors(),
            pages: ftl.tenant_pages(tenant),
            is_buffer: cache.is_buffer(),
        }
    }

    /// The planes that a tenant's pages are laid over, in their order: where `PastPage::position`
    /// counts.
    pub fn past_planes(&self, tenant: TenantId) -> &[PlaneId] {
        self.core.backend.ftl.tenant_planes(tenant)
    }

    /// Gives an empty drive a past. Call this before anything else. Cost: that of the pages named,
    /// some 50 ns each.
    ///
    /// # Errors
    /// A plane has too few blocks for the pages.
    ///
    /// # Panics
    /// Something was done with the drive before.
    pub fn set_past(&mut self, tenant: TenantId, past: &Past) -> Result<(), SimError> {
        assert_eq!(self.core.base.books.stats.arrived, 0, "a drive gets its past before its run");
        let ftl = &mut self.core.backend.ftl;
        ftl.define_pages(tenant, &past.pages, &past.taken)?;
        ftl.define_rewrites(tenant, &past.rewrites);
        ftl.define_mappings(tenant, past.mappings.iter().copied(), past.other_mappings);
        let left = Left {
            cached: &past.cached,
            others: past.other_cached,
            written: &past.written,
            epoch_ends: past.epoch_ends,
        };
        self.core.cache.define(ftl, tenant, &left);
        Ok(())
    }

    /// Begins to write a page to flash, as the data cache does with what it has taken, without a
    /// request. Call this after [`Simulator::set_past`] and before the first request, for what is
    /// on its way when a run begins; a page that was pushed out takes no room in the cache.
    /// [`Simulator::run_until`] lets time pass between two pages.
    pub fn write_back(&mut self, tenant: TenantId, lpn: Lpn, sectors: u64, pushed_out: bool) {
        let Core { base, host, cache, backend, .. } = &mut self.core;
        cache.write_back(base, host, backend, (tenant, lpn), (sectors, pushed_out));
    }

    /// Sectors on their way from the data cache to flash, of a tenant and those that share it.
    pub fn sectors_on_the_way(&self, tenant: TenantId) -> u64 {
        self.core.cache.pressure(tenant)
    }

    /// Sectors that were on their way from the data cache to flash when the last run had served
    /// everything, and how long it took until the mean one was there.
    pub fn unwritten_when_served(&self) -> (u64, Nanos) {
        let then = self.when_served.filter(|then| then.on_the_way > 0);
        then.map_or((0, Nanos::ZERO), |then| {
            let all = self.core.cache.written_at() - then.written_at;
            let mean = Nanos((all / u128::from(then.on_the_way)) as u64);
            (then.on_the_way, mean.saturating_sub(then.at))
        })
    }

    /// Pages that the data cache holds for a tenant and those that share it.
    pub fn cached_pages(&self, tenant: TenantId) -> u64 {
        self.core.cache.held(tenant)
    }

    /// Makes the data cache a full one: forgets pages that were used longest ago and takes away the
    /// room that is free then, but for `free` pages. For the time between the last
    /// [`Simulator::write_back`] and the first request.
    pub fn fill_cache(&mut self, tenant: TenantId, forget: u64, free: u64) {
        let Core { cache, backend, .. } = &mut self.core;
        cache.fill_up(&mut backend.ftl, tenant, forget, free);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::vocabulary::{Observe, Tenant};
    use ssdtune_model::config::CacheMode;
    use ssdtune_model::{Bytes, DeviceConfig, Sectors};
    use ssdtune_trace::{Op, Request};

    const TENANT: TenantId = TenantId(0);

    /// A drive with a data cache of eight pages that holds two: a changed one, used longest ago,
    /// and another. The others only take room, but for one.
    fn drive(past: &mut Past) -> Simulator {
        let mut config = DeviceConfig::default();
        config.mapping.ideal = true;
        config.cache.mode = CacheMode::ReadWrite;
        config.cache.capacity = Bytes(8 * u64::from(config.flash.page_bytes));
        let config = config.check().unwrap();
        let mut drive =
            Simulator::new(&config, &[Tenant::sole(&config)], Observe::default()).unwrap();
        let room = drive.past_room(TENANT);
        assert_eq!(room.cached, 8);
        let sectors = if room.page_sectors >= 64 { u64::MAX } else { (1 << room.page_sectors) - 1 };
        let page = |lpn| PastPage { lpn: Lpn(lpn), position: lpn as u32, nth: 0, sectors };
        past.pages = (0..6).map(page).collect();
        past.taken = (0..room.planes).map(|position| u64::from(position < 6)).collect();
        let cached = |lpn, dirty| CachedPage { lpn: Lpn(lpn), sectors, dirty, this_epoch: true };
        past.cached = vec![cached(0, true), cached(1, false)];
        past.other_cached = 5;
        drive.set_past(TENANT, past).unwrap();
        drive.check();
        drive
    }

    fn serve(drive: &mut Simulator, op: Op, lpns: &[u64]) {
        let page = drive.past_room(TENANT).page_sectors;
        for &lpn in lpns {
            let lba = Sectors(lpn * u64::from(page));
            let at = drive.now() + Nanos::from_ms(20);
            drive.push(Request { at, lba, sectors: page, tenant: TENANT, op });
            drive.run_until(at + Nanos::from_ms(10));
        }
    }

    #[test]
    fn a_past_decides_what_is_hit_and_what_is_written_when_pages_leave() {
        let mut drive = drive(&mut Past::default());
        serve(&mut drive, Op::Read, &[1, 2]);
        let report = drive.report();
        assert_eq!((report.data_cache.read_hits, report.flash.pages_read), (1, 1));
        assert_eq!(report.flash.pages_programmed_host, 0);
        assert_eq!(report.unwritten_reads.share, 0.0);
        // There was room for one page; the next one pushes out the changed one.
        serve(&mut drive, Op::Read, &[3]);
        assert_eq!(drive.report().flash.pages_programmed_host, 1);
        serve(&mut drive, Op::Read, &[4, 1]);
        assert_eq!(drive.report().flash.pages_programmed_host, 1);
        drive.check();
    }

    #[test]
    fn a_page_written_in_the_epoch_stays_in_the_cache_and_one_sent_on_its_way_leaves_it() {
        let mut past = Past { written: vec![Lpn(5)], epoch_ends: Nanos::MAX, ..Past::default() };
        let mut drive = drive(&mut past);
        assert_eq!(drive.cached_pages(TENANT), 2);
        serve(&mut drive, Op::Write, &[5]);
        assert_eq!(drive.report().flash.pages_programmed_host, 0);
        assert_eq!(drive.cached_pages(TENANT), 3);

        let mut drive = self::drive(&mut Past::default());
        drive.write_back(TENANT, Lpn(0), 1, false);
        drive.write_back(TENANT, Lpn(3), 1, true);
        assert_eq!(drive.cached_pages(TENANT), 2);
        drive.run_until(Nanos::from_ms(50));
        assert_eq!(drive.cached_pages(TENANT), 1, "the page that was changed is on flash");
        drive.fill_cache(TENANT, 1, 0);
        assert_eq!(drive.cached_pages(TENANT), 0);
        drive.check();
    }
}
