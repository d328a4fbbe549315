//! The writes of a trace or a workload model, on pages without gaps.
//!
//! Only pages that are written count: they are numbered in the order of their addresses, device by device, so
//! that neighbours stay neighbours. Memory: 24 B a write request.

use crate::context::Context;
use crate::outcome::{Failure, Outcome};
use anyhow::anyhow;
use ssdtune_experiment::{Origin, Position, RequestSource};
use ssdtune_trace::{Op, Request};
use std::collections::BTreeSet;

/// A write request, in pages.
#[derive(Clone, Copy, Debug)]
pub(crate) struct WriteRequest {
    pub(crate) at_ns: u64,
    pub(crate) page: u32,
    pub(crate) count: u32,
    /// Device of the trace, or tenant of the model.
    pub(crate) application: u16,
}

/// What a drive is to serve.
pub(crate) struct Load {
    pub(crate) name: String,
    /// It comes from a model fitted to published figures, not from a recorded trace.
    pub(crate) synthetic: bool,
    pub(crate) writes: Vec<WriteRequest>,
    /// Pages written at least once.
    pub(crate) footprint_pages: u32,
    /// From the first to the last write.
    pub(crate) duration_ns: u64,
    pub(crate) applications: usize,
    /// The first requests of the second half, if they were asked for: on the numbered pages.
    pub(crate) slice: Vec<Request>,
}

impl Load {
    /// Pages written by a part of the requests.
    pub(crate) fn pages(&self, part: std::ops::Range<usize>) -> u64 {
        self.writes[part].iter().map(|write| u64::from(write.count)).sum()
    }

    /// The number of the first request of the second half.
    pub(crate) fn half(&self) -> usize {
        self.writes.len() / 2
    }
}

/// Ranges of written pages and the numbers they begin with.
struct Dense {
    starts: Vec<u64>,
    ends: Vec<u64>,
    numbers: Vec<u32>,
    page_sectors: u64,
    /// Devices of the trace are applications that share addresses.
    one_space: bool,
}

/// Bits of a page's address below its device's.
const DEVICE_SHIFT: u32 = 44;

impl Dense {
    fn new(page_sectors: u64, one_space: bool) -> Self {
        let (starts, ends, numbers) = (Vec::new(), Vec::new(), Vec::new());
        Self { starts, ends, numbers, page_sectors, one_space }
    }

    /// Closes the gaps between ranges of pages and counts them; `None` if there are more than 2^32.
    fn close(&mut self, mut extents: Vec<(u64, u64)>) -> Option<u32> {
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
        u32::try_from(total).ok()
    }

    fn extent(&self, request: &Request) -> (u64, u64) {
        let page_sectors = self.page_sectors;
        let device = if self.one_space { 0 } else { request.tenant.0 };
        let device = u64::from(device) << DEVICE_SHIFT;
        let first = request.lba.0 / page_sectors;
        (device | first, device | ((request.end().0 - 1) / page_sectors + 1))
    }

    /// The number of the page that a request begins in and how many it covers, if it was written.
    fn pages(&self, request: &Request) -> Option<(u32, u32)> {
        let (start, end) = self.extent(request);
        let range = self.starts.partition_point(|&from| from <= start).checked_sub(1)?;
        let count = u32::try_from(end.min(self.ends[range]).checked_sub(start)?).ok()?;
        (count > 0).then(|| (self.numbers[range] + (start - self.starts[range]) as u32, count))
    }
}

/// How a load is read.
#[derive(Clone, Copy, Debug)]
pub(crate) struct LoadOptions {
    pub(crate) page_bytes: u32,
    /// Devices of a trace are applications that share addresses.
    pub(crate) one_space: bool,
    /// Requests of the second half to keep, reads as well.
    pub(crate) slice: usize,
}

/// Reads a source and keeps its writes; twice if a slice is asked for.
pub(crate) fn load(
    source: &RequestSource,
    options: LoadOptions,
    context: &Context,
) -> Outcome<Load> {
    let name = source.name();
    let page_sectors = u64::from(options.page_bytes) / ssdtune_model::SECTOR_BYTES;
    let mut plan = Dense::new(page_sectors, options.one_space);
    let mut stream = source.stream(&Position::default()).map_err(Failure::input)?;
    let (mut batch, mut writes, mut extents) = (Vec::new(), Vec::new(), Vec::new());
    while stream.fill(&mut batch).map_err(Failure::input)? > 0 {
        let kept = batch.iter().filter(|request| request.op == Op::Write && request.sectors > 0);
        for request in kept {
            if request.end().0 / page_sectors >= 1 << DEVICE_SHIFT {
                let error = anyhow!("{name}: a write reaches sector {}", request.end().0);
                return Err(Failure::input(error.context("addresses beyond 2^44 pages")));
            }
            extents.push(plan.extent(request));
            writes.push(*request);
        }
        batch.clear();
    }
    let too_many = || Failure::input(anyhow!("{name}: writes more than 2^32 pages"));
    let footprint_pages = plan.close(extents).ok_or_else(too_many)?;
    let (Some(first), Some(last)) = (writes.first(), writes.last()) else {
        return Err(Failure::input(anyhow!("{name}: has no write, so nothing to place")));
    };
    let (start, duration_ns) = (first.at.0, last.at.0 - first.at.0);
    let middle = writes[writes.len() / 2].at;
    let slice = slice(source, &plan, middle, options.slice)?;
    let applications: BTreeSet<u16> = writes.iter().map(|request| request.tenant.0).collect();
    let numbered = writes.iter().filter_map(|request| {
        let (page, count) = plan.pages(request)?;
        let application = request.tenant.0;
        Some(WriteRequest { at_ns: request.at.0 - start, page, count, application })
    });
    // Times count from the first write.
    let slice = slice.into_iter().map(|request| Request {
        at: request.at.saturating_sub(ssdtune_model::Nanos(start)),
        ..request
    });
    context.note(format_args!("{name}: {} writes of {footprint_pages} pages", writes.len()));
    Ok(Load {
        writes: numbered.collect(),
        synthetic: matches!(source.origin, Origin::Model { .. }),
        footprint_pages,
        duration_ns,
        applications: applications.len(),
        slice: slice.collect(),
        name,
    })
}

/// The requests from a time on that touch written pages, on the numbers of these.
fn slice(
    source: &RequestSource,
    plan: &Dense,
    from: ssdtune_model::Nanos,
    most: usize,
) -> Outcome<Vec<Request>> {
    let mut kept = Vec::new();
    if most == 0 {
        return Ok(kept);
    }
    let mut stream = source.stream(&Position::default()).map_err(Failure::input)?;
    let mut batch = Vec::new();
    while kept.len() < most && stream.fill(&mut batch).map_err(Failure::input)? > 0 {
        let late = batch.drain(..).filter(|r| r.at >= from && r.sectors > 0);
        kept.extend(late.filter(|r| matches!(r.op, Op::Read | Op::Write)).filter_map(|request| {
            let (page, count) = plan.pages(&request)?;
            // The first page may be written in part.
            let within = request.lba.0 % plan.page_sectors;
            let room = u64::from(count) * plan.page_sectors - within;
            let lba = ssdtune_model::Sectors(u64::from(page) * plan.page_sectors + within);
            let sectors = u64::from(request.sectors).min(room) as u32;
            Some(Request { lba, sectors, ..request })
        }));
    }
    kept.truncate(most);
    Ok(kept)
}
