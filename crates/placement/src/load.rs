//! The writes of a trace or a workload model, on pages that are numbered without gaps.
//!
//! Only pages that are written count. They are numbered in the order of their addresses, device by
//! device, so that neighbours stay neighbours. Memory: 32 B for each write request.

use crate::error::PlacementError;
use serde::Serialize;
use ssdtune_experiment::{Origin, Position, RequestSource, page_sectors};
use ssdtune_ftl::placement::{RequestShape, Shape, ShapeTracker};
use ssdtune_model::{Nanos, Sectors, TenantId};
use ssdtune_trace::{Op, Request, note_held};
use std::collections::BTreeSet;
use std::fmt;

/// The volumes of HAML-SSD's Table IV, by the names of their bundled workload models.
pub const TABLE_IV_VOLUMES: [&str; 13] = [
    "prn_1",
    "proj_1",
    "usr_2",
    "prxy_0",
    "proj_0",
    "ts_0",
    "usr_1",
    "stg_1",
    "wdev_0",
    "web_2",
    "systor_lun0",
    "systor_lun1",
    "systor_lun3",
];

/// A write request, in pages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WriteRequest {
    /// Nanoseconds since the first write of the load.
    pub at_ns: u64,
    /// Number of the first page.
    pub page: u32,
    /// How many pages are written.
    pub count: u32,
    /// Device of the trace, or tenant of the model: who writes.
    pub application: u16,
    /// The host's request that the pages come from.
    pub host: HostRequest,
}

/// A write request as the host made it, of which a write buffer may pass on a part.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct HostRequest {
    /// Number of the first page.
    pub page: u32,
    /// How many pages are written.
    pub count: u32,
    /// What it looks like beside the requests before it.
    pub shape: RequestShape,
    /// Whether it begins inside its first page.
    pub begins_inside: bool,
    /// Whether it ends inside its last page.
    pub ends_inside: bool,
}

impl HostRequest {
    /// What the request looks like from one of its pages.
    pub(crate) fn seen_from(&self, page: u32) -> Shape {
        let (before, after) = (page > self.page, page + 1 < self.page + self.count);
        self.shape.of_page(before, after, !before && self.begins_inside, !after && self.ends_inside)
    }
}

/// What a write buffer made of a load.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Buffered {
    /// Pages that the buffer holds.
    pub pages: u32,
    /// Pages that the host wrote.
    pub host_pages: u64,
    /// Pages that were rewritten in the buffer, so that they cost no flash write.
    pub absorbed_pages: u64,
    /// Pages that the host wrote in the second half of its requests, which is measured.
    pub measured_pages: u64,
    /// Of the writes that leave: the first that the second half of the host's requests pushes out.
    #[serde(skip)]
    pub half: usize,
}

/// What a drive is to serve: the writes of one trace or model.
#[derive(Clone, Debug)]
pub struct Load {
    /// The file's path or the model's name.
    pub name: String,
    /// Whether it comes from a model fitted to published figures, not from a recorded trace.
    pub synthetic: bool,
    /// All writes in order of time. Behind a write buffer: those that leave it.
    pub writes: Vec<WriteRequest>,
    /// What a write buffer made of the host's writes; `None` without one.
    pub buffered: Option<Buffered>,
    /// Pages written at least once; they are numbered from 0.
    pub footprint_pages: u32,
    /// Nanoseconds from the first to the last write.
    pub duration_ns: u64,
    /// How many devices or tenants write.
    pub applications: usize,
    /// The requests whose response times are measured, reads among them, on the numbered pages:
    /// the first ones of the second half. Empty if none were asked for.
    pub timed: Vec<Request>,
    /// What is to be said of the file: lines that were skipped, times that jump back.
    pub warnings: Vec<String>,
}

impl fmt::Display for Load {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { name, writes, footprint_pages, .. } = self;
        write!(f, "{name}: {} writes of {footprint_pages} pages", writes.len())
    }
}

/// How a load is read.
#[derive(Clone, Copy, Debug)]
pub struct LoadOptions {
    /// Bytes of a flash page.
    pub page_bytes: u32,
    /// Whether the devices of a trace share one address space. Otherwise each has its own.
    pub one_address_space: bool,
    /// How many requests of the second half to keep for timing, reads among them.
    pub timed_requests: usize,
}

impl Load {
    /// Reads a source and keeps its writes. Reads it twice if requests are to be timed.
    ///
    /// # Errors
    /// The source cannot be read, has no write, or writes more than page numbers can name.
    pub fn read(source: &RequestSource, options: LoadOptions) -> Result<Self, PlacementError> {
        let name = source.name();
        let mut pages = PageNumbers::new(options);
        let position = Position::default();
        let writes = pages.read(source, &position)?;
        // Of a pipe that was kept in memory, its reader has said it.
        let warnings = [source.warnings.clone(), position.warnings()].concat();
        let (Some(first), Some(last)) = (writes.first(), writes.last()) else {
            return Err(PlacementError::NoWrite { name });
        };
        let (start, duration_ns) = (first.at, (last.at - first.at).0);
        let middle = writes[writes.len() / 2].at;
        // Times count from the first write.
        let mut timed = pages.timed(source, middle, options.timed_requests)?;
        timed.iter_mut().for_each(|request| request.at = request.at.saturating_sub(start));
        let applications: BTreeSet<u16> = writes.iter().map(|request| request.tenant.0).collect();
        let mut shapes = ShapeTracker::default();
        let numbered = writes.iter().filter_map(|request| {
            let (page, count) = pages.of(request)?;
            let (at, tenant) = (request.at - start, TenantId(request.tenant.0));
            let shape = shapes.request(at, tenant, page.into(), count, request.sectors);
            let host = HostRequest {
                page,
                count,
                shape,
                begins_inside: !request.lba.0.is_multiple_of(pages.page_sectors),
                ends_inside: !request.end().0.is_multiple_of(pages.page_sectors),
            };
            Some(WriteRequest { at_ns: at.0, page, count, application: tenant.0, host })
        });
        Ok(Self {
            writes: numbered.collect(),
            buffered: None,
            synthetic: matches!(source.origin, Origin::Model { .. }),
            footprint_pages: pages.total,
            duration_ns,
            applications: applications.len(),
            timed,
            warnings,
            name,
        })
    }

    /// Pages written by some of the requests; a page that is written twice counts twice.
    pub fn pages(&self, requests: std::ops::Range<usize>) -> u64 {
        self.writes[requests].iter().map(|write| u64::from(write.count)).sum()
    }

    /// The number of the first write of the second half, which is the half that is measured. Behind
    /// a write buffer: the first that a host write of that half pushes out.
    pub fn half(&self) -> usize {
        self.buffered.map_or(self.writes.len() / 2, |buffered| buffered.half)
    }
}

/// Bits of a page's address below its device's number.
const DEVICE_SHIFT: u32 = 44;

/// Ranges of written pages and the numbers they begin with, in order of their addresses.
struct PageNumbers {
    starts: Vec<u64>,
    ends: Vec<u64>,
    numbers: Vec<u32>,
    total: u32,
    page_sectors: u64,
    one_address_space: bool,
}

impl PageNumbers {
    fn new(options: LoadOptions) -> Self {
        Self {
            starts: Vec::new(),
            ends: Vec::new(),
            numbers: Vec::new(),
            total: 0,
            page_sectors: page_sectors(options.page_bytes).0,
            one_address_space: options.one_address_space,
        }
    }

    /// Reads all writes of a source and numbers their pages.
    fn read(
        &mut self,
        source: &RequestSource,
        position: &Position,
    ) -> Result<Vec<Request>, PlacementError> {
        let name = || source.name();
        let mut stream = source.stream(position)?;
        let (mut batch, mut writes, mut extents) = (Vec::new(), Vec::new(), Vec::new());
        while stream.fill(&mut batch)? > 0 {
            for request in batch.drain(..).filter(|r: &Request| r.op == Op::Write && r.sectors > 0)
            {
                let sector = request.end().0;
                if sector / self.page_sectors >= 1 << DEVICE_SHIFT {
                    return Err(PlacementError::AddressTooHigh { name: name(), sector });
                }
                extents.push(self.extent(&request));
                writes.push(request);
                note_held(1);
            }
        }
        self.number(extents).ok_or_else(|| PlacementError::TooManyPages { name: name() })?;
        Ok(writes)
    }

    /// Numbers the pages of these ranges; `None` if there are more than 2^32.
    fn number(&mut self, mut extents: Vec<(u64, u64)>) -> Option<()> {
        extents.sort_unstable();
        let mut total = 0u64;
        for (start, end) in extents {
            match self.ends.last_mut() {
                Some(last) if *last >= start => {
                    total += end.saturating_sub(*last);
                    *last = end.max(*last);
                }
                _ => {
                    self.starts.push(start);
                    self.ends.push(end);
                    self.numbers.push(u32::try_from(total).ok()?);
                    total += end - start;
                }
            }
        }
        self.total = u32::try_from(total).ok()?;
        Some(())
    }

    /// The pages of a request by their addresses: the first, and the one after the last.
    fn extent(&self, request: &Request) -> (u64, u64) {
        let device = if self.one_address_space { 0 } else { request.tenant.0 };
        let device = u64::from(device) << DEVICE_SHIFT;
        let first = request.lba.0 / self.page_sectors;
        (device | first, device | ((request.end().0 - 1) / self.page_sectors + 1))
    }

    /// The number of the page that a request begins in and how many pages it covers. `None` if the
    /// first page is never written. Pages after the end of a written range are left out.
    fn of(&self, request: &Request) -> Option<(u32, u32)> {
        let (start, end) = self.extent(request);
        let range = self.starts.partition_point(|&from| from <= start).checked_sub(1)?;
        let count = u32::try_from(end.min(self.ends[range]).checked_sub(start)?).ok()?;
        (count > 0).then(|| (self.numbers[range] + (start - self.starts[range]) as u32, count))
    }

    /// The first reads and writes from a time on that begin in a written page, on page numbers.
    fn timed(
        &self,
        source: &RequestSource,
        from: Nanos,
        most: usize,
    ) -> Result<Vec<Request>, PlacementError> {
        let mut kept = Vec::new();
        if most == 0 {
            return Ok(kept);
        }
        let mut stream = source.stream(&Position::default())?;
        let mut batch: Vec<Request> = Vec::new();
        while kept.len() < most && stream.fill(&mut batch)? > 0 {
            let late = batch.drain(..).filter(|request| request.at >= from && request.sectors > 0);
            let served = late.filter(|request| matches!(request.op, Op::Read | Op::Write));
            kept.extend(served.filter_map(|request| self.renumbered(&request)));
        }
        kept.truncate(most);
        Ok(kept)
    }

    /// A request on page numbers. Its first page may be touched in part.
    fn renumbered(&self, request: &Request) -> Option<Request> {
        let (page, count) = self.of(request)?;
        let within = request.lba.0 % self.page_sectors;
        let room = u64::from(count) * self.page_sectors - within;
        let lba = Sectors(u64::from(page) * self.page_sectors + within);
        let sectors = u64::from(request.sectors).min(room) as u32;
        Some(Request { lba, sectors, ..*request })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ssdtune_trace::TenantId;

    const OPTIONS: LoadOptions =
        LoadOptions { page_bytes: 4_096, one_address_space: false, timed_requests: 0 };

    fn request(at: u64, op: Op, tenant: u16, lba: u64, sectors: u32) -> Request {
        Request { at: Nanos(at), lba: Sectors(lba), sectors, tenant: TenantId(tenant), op }
    }

    fn load(requests: Vec<Request>, options: LoadOptions) -> Result<Load, PlacementError> {
        Load::read(&RequestSource::of_requests("some", requests), options)
    }

    #[test]
    fn written_pages_are_numbered_by_address_without_gaps() {
        let requests = vec![
            request(10, Op::Write, 0, 8_000, 16),
            request(20, Op::Read, 0, 0, 8),
            request(30, Op::Write, 0, 80, 8),
            request(40, Op::Write, 0, 8_010, 16),
            request(55, Op::Write, 0, 84, 8),
        ];
        let load = load(requests, OPTIONS).unwrap();
        let pages: Vec<(u64, u32, u32)> =
            load.writes.iter().map(|write| (write.at_ns, write.page, write.count)).collect();
        // Pages 10 and 11, then 1,000 to 1,003: sectors 8,010 to 8,025 lie in three pages.
        assert_eq!(pages, [(0, 2, 2), (20, 0, 1), (30, 3, 3), (45, 0, 2)]);
        assert_eq!((load.footprint_pages, load.duration_ns), (6, 45));
        assert_eq!((load.half(), load.pages(load.half()..load.writes.len())), (2, 5));
        assert!(!load.synthetic && load.timed.is_empty());
    }

    #[test]
    fn devices_have_an_address_space_each_unless_they_share_one() {
        let requests = vec![request(0, Op::Write, 0, 0, 8), request(1, Op::Write, 7, 0, 8)];
        let apart = load(requests.clone(), OPTIONS).unwrap();
        assert_eq!((apart.footprint_pages, apart.applications), (2, 2));
        let shared = LoadOptions { one_address_space: true, ..OPTIONS };
        let shared = load(requests, shared).unwrap();
        assert_eq!((shared.footprint_pages, shared.applications), (1, 2));
    }

    #[test]
    fn timed_requests_begin_with_the_second_half_and_stay_within_written_pages() {
        let requests = vec![
            request(100, Op::Write, 0, 0, 8),
            request(200, Op::Write, 0, 800, 8),
            request(250, Op::Read, 0, 400, 8),
            request(300, Op::Read, 0, 802, 32),
            request(400, Op::Trim, 0, 0, 8),
        ];
        let options = LoadOptions { timed_requests: 9, ..OPTIONS };
        let timed = load(requests, options).unwrap().timed;
        // The read at 250 touches no written page; the one at 300 is cut at the page's end.
        let expected = [request(100, Op::Write, 0, 8, 8), request(200, Op::Read, 0, 10, 6)];
        assert_eq!(timed, expected);
    }

    #[test]
    fn what_cannot_be_placed_is_refused() {
        let reads = load(vec![request(0, Op::Read, 0, 0, 8)], OPTIONS);
        assert!(matches!(reads, Err(PlacementError::NoWrite { .. })));
        let far = load(vec![request(0, Op::Write, 0, 8 << 44, 8)], OPTIONS);
        assert!(matches!(far, Err(PlacementError::AddressTooHigh { .. })));
        // 2^29 pages each, less one.
        let wide = |tenants: u16| {
            let write = |n: u16| request(n.into(), Op::Write, n, 0, u32::MAX - 7);
            load((0..tenants).map(write).collect(), OPTIONS)
        };
        assert_eq!(wide(8).unwrap().footprint_pages, 8 * ((1 << 29) - 1));
        assert!(matches!(wide(9), Err(PlacementError::TooManyPages { .. })));
    }
}
