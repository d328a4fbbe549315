//! Read-ahead: pages behind reads that follow each other are read into the data cache before the
//! host asks for them.
//!
//! A read that begins where an earlier one of its tenant ended continues that one's stream. From
//! the second read of a stream on, the pages up to `cache.read_ahead_bytes` behind its end are
//! asked for; so as many pages are on their way as the window has, on as many dies as they lie in.
//! A few streams are followed; a read that continues none takes the place of the one that was
//! continued longest ago.
//!
//! A page that is asked for has its slot at once, and a read that finds it waits for that page
//! instead of reading it again. When its data come, it is a clean page as those that reads leave in
//! the cache, whatever else `cache.mode` keeps there. What was never written is not asked for.
//!
//! Cost: a look at every stream for a read, and at every page on its way for one that waits.
//! Left out: streams that go backwards or by strides, and reads of one stream that come out of
//! order.

use super::slots::{Mark, Slot, SlotState};
use super::{Access, Batch, DataCache};
use crate::backend::Backend;
use crate::base::Base;
use crate::flash::{Purpose, Transaction};
use crate::host::{Host, Spaces};
use crate::id::{RequestId, SlotId, TransactionId};
use crate::operation::Class;
use serde::{Deserialize, Serialize};
use ssdtune_model::config::Cache;
use ssdtune_model::{DeviceConfig, Lpn, Nanos, TenantId};
use std::ops::Range;

/// Reads of a stream behind which pages are read ahead.
const LEAST: u32 = 2;

/// Reads that follow each other.
#[derive(Clone, Serialize, Deserialize)]
struct Run {
    tenant: TenantId,
    /// The sector behind the last one.
    next: u64,
    /// How many reads there were.
    reads: u32,
    /// Pages before this one have been asked for.
    asked: Lpn,
}

/// A page that was asked for and has not come.
#[derive(Clone, Serialize, Deserialize)]
struct Coming {
    read: TransactionId,
    tenant: TenantId,
    lpn: Lpn,
    /// Requests that wait for it.
    waits: Vec<RequestId>,
}

/// Streams, and what was asked for ahead of them.
#[derive(Clone, Serialize, Deserialize)]
pub(super) struct ReadAhead {
    /// Pages ahead of a stream, at most.
    window: u64,
    /// The stream that was continued last is at the end.
    runs: Vec<Run>,
    coming: Vec<Coming>,
}

impl ReadAhead {
    /// The read-ahead of a drive; `None` if it has none.
    pub fn new(config: &DeviceConfig) -> Option<Self> {
        let window = config.cache.read_ahead.0 / u64::from(config.geometry().page_bytes);
        (window > 0).then(|| Self { window, runs: Vec::new(), coming: Vec::new() })
    }

    /// Notes a read. Returns the pages that shall be asked for behind it.
    fn follow(&mut self, spaces: &Spaces, tenant: TenantId, sectors: Range<u64>) -> Range<Lpn> {
        let size = spaces.size(tenant).0;
        let continued = |run: &Run| run.tenant == tenant && run.next == sectors.start;
        let mut run = match self.runs.iter().rposition(continued) {
            Some(at) => self.runs.remove(at),
            None => {
                if self.runs.len() == Cache::READ_STREAMS {
                    self.runs.remove(0);
                }
                Run { tenant, next: 0, reads: 0, asked: Lpn(0) }
            }
        };
        (run.next, run.reads) = (sectors.end, run.reads.saturating_add(1));
        let mut ahead = Lpn(0)..Lpn(0);
        if run.reads >= LEAST && sectors.end < size {
            let behind = spaces.page_of(sectors.end - 1).0 + 1;
            let end = (behind + self.window).min(spaces.page_of(size - 1).0 + 1);
            ahead = Lpn(run.asked.0.clamp(behind, end))..Lpn(end);
            run.asked = ahead.end;
        }
        self.runs.push(run);
        ahead
    }
}

impl DataCache {
    /// Asks for pages ahead of a read that is served, if it follows others.
    #[inline(never)]
    pub(super) fn look_ahead(
        &mut self,
        base: &mut Base,
        host: &mut Host,
        backend: &mut Backend,
        request: RequestId,
    ) {
        let record = &host.requests[request];
        let (tenant, first) = (record.tenant, record.lba.0);
        let sectors = first..first + u64::from(record.sectors);
        let Some(ahead) = self.ahead.as_mut().filter(|_| !sectors.is_empty()) else { return };
        let pages = ahead.follow(&host.spaces, tenant, sectors);
        let mut batch = Batch::None;
        for lpn in pages.start.0..pages.end.0 {
            if let Some(read) = self.ask_for(base, host, backend, tenant, Lpn(lpn)) {
                batch.push(backend, read);
            }
        }
        batch.dispatch(base, host, backend);
    }

    /// Gives a page a slot and a transaction that reads it, unless it is here or holds no data.
    fn ask_for(
        &mut self,
        base: &mut Base,
        host: &mut Host,
        backend: &mut Backend,
        tenant: TenantId,
        lpn: Lpn,
    ) -> Option<TransactionId> {
        let entry = backend.ftl.find(tenant, lpn)?;
        backend.ftl.phys(entry)?;
        if let Mark::Slot(_) = Mark::read(backend.ftl.mark(entry)) {
            return None;
        }
        self.room_for_read(base, host, backend, tenant);
        let page = Slot::new(entry, tenant, lpn, 0, base.now());
        let page = Slot { state: SlotState::Coming, ..page };
        self.insert_slot(&mut backend.ftl, tenant, page);
        let mut read = Transaction::new(Class::UserRead, Purpose::ReadAhead, entry, tenant);
        read.set_lpn(lpn);
        read.stamp = base.now();
        read.sectors = host.spaces.page_sectors() as u16;
        read.mask = u64::MAX >> (64 - host.spaces.page_sectors());
        read.priority = self.rules.priorities[tenant];
        let read = backend.flash.insert(read);
        if let Some(ahead) = &mut self.ahead {
            ahead.coming.push(Coming { read, tenant, lpn, waits: Vec::new() });
        }
        Some(read)
    }

    /// Lets a request wait for its part of the page in a slot, if that was asked for and has not
    /// come. Returns whether it does.
    #[inline(never)]
    pub(super) fn wait_for_coming(
        &mut self,
        tenant: TenantId,
        slot: SlotId,
        request: RequestId,
    ) -> bool {
        let page = &self.partitions[self.partition_of(tenant)].slots[slot];
        let lpn = page.lpn;
        if page.state != SlotState::Coming {
            return false;
        }
        let Some(ahead) = &mut self.ahead else { return false };
        let mut coming = ahead.coming.iter_mut();
        match coming.find(|coming| coming.tenant == tenant && coming.lpn == lpn) {
            Some(coming) => coming.waits.push(request),
            None => return false,
        }
        true
    }

    /// A page that was asked for has come. `ready` says when the host can have its data, if not
    /// now.
    #[inline(never)]
    pub fn page_came(
        &mut self,
        base: &mut Base,
        host: &mut Host,
        backend: &mut Backend,
        read: TransactionId,
        ready: Option<Nanos>,
    ) {
        let record = backend.flash.transaction(read);
        let (tenant, entry) = (record.tenant, record.entry);
        let (mask, sectors) = (record.mask, u32::from(record.sectors));
        backend.flash.remove(read);
        if let Mark::Slot(slot) = Mark::read(backend.ftl.mark(entry)) {
            let partition = self.partition_of(tenant);
            let page = &mut self.partitions[partition].slots[slot];
            if page.state == SlotState::Coming {
                (page.state, page.mask) = (SlotState::Clean, mask);
                self.dram.access(base, tenant, partition, sectors, true, Access::Fill);
            }
        }
        let Some(ahead) = &mut self.ahead else { return };
        let Some(at) = ahead.coming.iter().position(|coming| coming.read == read) else { return };
        for request in ahead.coming.remove(at).waits {
            if let Some(ready) = ready {
                host.data_ready_at(request, ready);
            }
            host.part_done(base, request);
        }
    }

    /// A page holds no data any more: nobody waits for what was asked for.
    pub(super) fn forget_coming(
        &mut self,
        base: &mut Base,
        host: &mut Host,
        tenant: TenantId,
        lpn: Lpn,
    ) {
        let Some(ahead) = &mut self.ahead else { return };
        let is_gone = |coming: &mut Coming| coming.tenant == tenant && coming.lpn == lpn;
        let gone: Vec<Coming> = ahead.coming.extract_if(.., is_gone).collect();
        for request in gone.into_iter().flat_map(|coming| coming.waits) {
            host.part_done(base, request);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stream_is_followed_from_its_second_read_to_the_end_of_the_address_space() {
        // 25 pages of 8 sectors for each of two tenants; windows of 4 pages.
        let spaces = Spaces::new([200, 200].into_iter(), 8, true);
        let mut ahead = ReadAhead { window: 4, runs: Vec::new(), coming: Vec::new() };
        let mut pages = |tenant, sectors| {
            let Range { start, end } = ahead.follow(&spaces, TenantId(tenant), sectors);
            (start.0..end.0).collect::<Vec<u64>>()
        };
        assert_eq!(pages(0, 0..8), [0; 0]);
        // Another tenant's read there continues nothing.
        assert_eq!(pages(1, 8..16), [0; 0]);
        assert_eq!(pages(0, 8..20), [3, 4, 5, 6]);
        // Up to the middle of page 3, four pages behind it.
        assert_eq!(pages(0, 20..28), [7]);
        assert_eq!(pages(0, 28..160), [20, 21, 22, 23]);
        assert_eq!(pages(0, 160..176), [24]);
        assert_eq!(pages(0, 176..200), [0; 0]);
        // As many others as are followed; the first one was continued longest ago.
        assert_eq!(pages(1, 16..24), [3, 4, 5, 6]);
        for other in 0..Cache::READ_STREAMS as u64 {
            assert_eq!(pages(0, 30 + other * 8..37 + other * 8), [0; 0]);
        }
        assert_eq!(pages(1, 24..32), [0; 0]);
    }
}
