//! Ageing a drive before its run: requests are served without time, and leave nothing behind but
//! data, mappings and worn blocks.
//!
//! The data cache is passed by. Everything that the run reports is of the run alone, except the
//! erase counts. Cost: that of the FTL alone, without any event.

use super::Simulator;
use crate::data_cache::seen;
use crate::vocabulary::SimError;
use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64Mcg;
use ssdtune_ftl::{FtlCounters, Lookahead};
use ssdtune_model::Sectors;
use ssdtune_trace::{Op, Request, TenantId};

/// Requests between two steps of looking ahead for what a request will touch.
const GAP: usize = 4;

/// Which pages are written, and in which order, if no workload says so: first the lowest pages in
/// order, then random ones of them.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Filling {
    /// The share of a tenant's pages that hold data afterwards, 0 to 1. They are its first ones.
    pub occupancy: f64,
    /// How many times as many random writes follow.
    pub overwrites: u32,
    /// Decides the random writes.
    pub seed: u64,
}

impl Simulator {
    /// The requests that fill a tenant's address space. All have the time 0.
    pub fn filling(
        &self,
        tenant: TenantId,
        filling: Filling,
    ) -> impl Iterator<Item = Request> + use<> {
        let page = u64::from(self.core.host.spaces.page_sectors());
        let pages = self.core.host.spaces.size(tenant).0 / page;
        let used = (pages as f64 * filling.occupancy.clamp(0.0, 1.0)) as u64;
        let write = move |lpn: u64| Request {
            at: ssdtune_model::Nanos::ZERO,
            lba: Sectors(lpn * page),
            sectors: page as u32,
            tenant,
            op: Op::Write,
        };
        // Random numbers of its own for each tenant, so that one more tenant changes nothing for
        // the others.
        let mut rng = Pcg64Mcg::seed_from_u64(filling.seed ^ ((u64::from(tenant.0) + 1) << 48));
        let again = used * u64::from(filling.overwrites);
        let drawn = (0..again).map(move |_| rng.random_range(0..used));
        (0..used).chain(drawn).map(write)
    }

    /// Serves requests without time, each for the tenant it names. Call this before anything else,
    /// except [`Simulator::set_initial_content`]. Returns what the translation layer did meanwhile.
    ///
    /// # Errors
    /// A plane has no room left.
    ///
    /// # Panics
    /// Requests have arrived already.
    pub fn warm_up(
        &mut self,
        requests: impl Iterator<Item = Request>,
    ) -> Result<FtlCounters, SimError> {
        assert_eq!(self.core.base.books.stats.arrived, 0, "a drive is aged before its run");
        let mut ahead = Lookahead::new(GAP);
        for request in requests {
            let (spaces, ftl) = (&self.core.host.spaces, &mut self.core.backend.ftl);
            let tenant = spaces.tenant(request.tenant);
            let lpn = spaces.page_of(spaces.inside(tenant, request.lba).0);
            let writes = request.op == Op::Write;
            if let Some(request) = ahead.push(ftl, request, tenant, lpn, writes) {
                self.warm_up_by(&request)?;
            }
        }
        while let Some(request) = ahead.pop() {
            self.warm_up_by(&request)?;
        }
        let counters = *self.core.backend.ftl.counters();
        self.core.backend.ftl.reset_counters();
        Ok(counters)
    }

    /// Serves one request.
    fn warm_up_by(&mut self, request: &Request) -> Result<(), SimError> {
        let (spaces, ftl) = (&self.core.host.spaces, &mut self.core.backend.ftl);
        let cache = &mut self.core.cache;
        let tenant = spaces.tenant(request.tenant);
        ftl.set_write_context(request.at, request.tenant.0);
        let first = spaces.inside(tenant, request.lba);
        let shape = match request.op {
            Op::Write => cache.shape_of(spaces, tenant, request.at, first, request.sectors),
            _ => None,
        };
        let (mut cursor, mut rest) = (first.0, request.sectors);
        while rest > 0 {
            let before = cursor != first.0;
            let part = spaces.cut(tenant, &mut cursor, &mut rest);
            if shape.is_some() {
                ftl.expect_write(tenant, part.lpn, seen(shape, spaces, &part, before, rest > 0));
            }
            let mut warmup = ftl.warm_up();
            match request.op {
                Op::Write => {
                    warmup.write(tenant, part.lpn, part.mask)?;
                    self.core.base.books.stats.warm_up_pages += 1;
                }
                Op::Read => warmup.read(tenant, part.lpn),
                Op::Trim if part.sectors == spaces.page_sectors() => {
                    warmup.trim(tenant, part.lpn);
                }
                Op::Trim | Op::Flush => {}
            }
        }
        Ok(())
    }
}
