//! Describes a trace in one pass and bounded memory.
//!
//! Pages are 4 KiB. Each belongs to one tenant: two tenants never share a page. Times must not run
//! backwards, which the readers guarantee. Memory: three fixed histograms, a SHARDS sample of at
//! most 32,768 pages (about 3 MB), and the footprint in roaring bitmaps, whose size the result
//! states. A dense footprint takes about 1 bit for each page, a scattered one 2 bytes and more.
//!
//! Reuse distance and skew come from the sample. They are exact while the footprint fits into it;
//! [`ReuseDescription::error_95`] bounds the error otherwise. In the sample a request counts with
//! its first 65,536 pages (256 MiB) only. Flushes have no place. Trims count in operations and
//! bytes only.
//!
//! ```
//! use ssdtune_model::{Nanos, Sectors};
//! use ssdtune_trace::{Op, Request, TenantId, describe::describe};
//!
//! let request = |n: u64| Request {
//!     at: Nanos(1_000 * n),
//!     lba: Sectors(8 * n),
//!     sectors: 8,
//!     tenant: TenantId(0),
//!     op: Op::Read,
//! };
//! let trace: Vec<Request> = (0..1_000).map(request).collect();
//! let description = describe(&trace);
//! assert_eq!(description.footprint.pages, 1_000);
//! assert!(description.read_sequence.sequential_share > 0.99);
//! ```

mod arrivals;
mod pattern;
mod sequence;
mod shards;
mod show;
mod values;

use crate::{Op, Request, Source, TenantId, TraceError};
use arrivals::Arrivals;
use roaring::RoaringTreemap;
use sequence::Sequence;
use serde::Serialize;
use shards::Shards;
use values::Values;

pub use arrivals::{ArrivalsDescription, Dispersion};
pub use pattern::AccessPattern;
pub use sequence::{SequenceDescription, StrideCount};
pub use shards::{ReuseBucket, ReuseDescription, SkewDescription};
pub use values::{Bucket, Quantiles};

/// The sectors of a page of 4 KiB.
const PAGE_SECTORS: u64 = 8;
/// The bits of a page number inside a tenant: 2^48 pages are one exbibyte.
const PAGE_BITS: u32 = 48;
/// The largest number of pages that a single request adds to the sample.
const SAMPLED_PAGES_MAX: u64 = 1 << 16;

/// What a trace is like: the result of a [`Describer`].
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Description {
    /// The number of requests.
    pub requests: u64,
    /// The number of reads.
    pub reads: u64,
    /// The number of writes.
    pub writes: u64,
    /// The number of trims.
    pub trims: u64,
    /// The number of flushes.
    pub flushes: u64,
    /// The share of reads among reads and writes, 0 to 1.
    pub read_share: f64,
    /// Bytes read.
    pub read_bytes: u64,
    /// Bytes written.
    pub write_bytes: u64,
    /// Bytes trimmed.
    pub trim_bytes: u64,
    /// The number of tenants that have requests.
    pub tenants: usize,
    /// The share of reads and writes that start and end on 4 KiB boundaries, 0 to 1.
    pub aligned_4k_share: f64,
    /// The time from the first arrival to the last.
    pub duration_ns: u64,
    /// The sizes of reads in bytes.
    pub read_size_bytes: Quantiles,
    /// The sizes of writes in bytes.
    pub write_size_bytes: Quantiles,
    /// The gaps between arrivals in nanoseconds.
    pub gap_ns: Quantiles,
    /// The pages that are read or written.
    pub footprint: FootprintDescription,
    /// Page writes divided by distinct pages written: 1 if each is written once, 0 if there are
    /// none.
    pub overwrite_factor: f64,
    /// Runs and strides of reads.
    pub read_sequence: SequenceDescription,
    /// Runs and strides of writes.
    pub write_sequence: SequenceDescription,
    /// Rates and burstiness of arrivals.
    pub arrivals: ArrivalsDescription,
    /// Reuse distances of pages.
    pub reuse: ReuseDescription,
    /// Popularity of pages.
    pub skew: SkewDescription,
}

/// The distinct 4 KiB pages that a trace touches.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct FootprintDescription {
    /// The number of pages read or written.
    pub pages: u64,
    /// The number of pages read.
    pub read_pages: u64,
    /// The number of pages written.
    pub write_pages: u64,
    /// The size of `pages` in bytes.
    pub bytes: u64,
    /// The end of the highest request in bytes. The device must be as large, unless addresses are
    /// remapped.
    pub address_end_bytes: u64,
    /// The size of the bitmaps that hold the footprint, in bytes.
    pub bitmap_bytes: u64,
}

/// Describes a trace from its requests, which it takes one by one.
#[derive(Debug)]
pub struct Describer {
    counts: [u64; 4],
    bytes: [u64; 4],
    tenants: Vec<bool>,
    aligned: u64,
    address_end: u64,
    sizes: [Values; 2],
    pages: [RoaringTreemap; 2],
    page_writes: u64,
    sequences: [Sequence; 2],
    arrivals: Arrivals,
    shards: Shards,
}

impl Default for Describer {
    fn default() -> Self {
        Self::new()
    }
}

impl Describer {
    /// A describer that has seen no request.
    pub fn new() -> Self {
        Self {
            counts: [0; 4],
            bytes: [0; 4],
            tenants: Vec::new(),
            aligned: 0,
            address_end: 0,
            sizes: [Values::new(), Values::new()],
            pages: [RoaringTreemap::new(), RoaringTreemap::new()],
            page_writes: 0,
            sequences: [Sequence::default(), Sequence::default()],
            arrivals: Arrivals::new(),
            shards: Shards::new(shards::SAMPLE_PAGES),
        }
    }

    /// Adds a request, which must not be earlier than the one before it.
    pub fn push(&mut self, request: &Request) {
        let op = request.op as usize;
        self.counts[op] += 1;
        let bytes = u64::from(request.sectors) * 512;
        self.bytes[op] += bytes;
        self.arrivals.push(request.at.0, bytes);
        let tenant = usize::from(request.tenant.0);
        if tenant >= self.tenants.len() {
            self.tenants.resize(tenant + 1, false);
        }
        self.tenants[tenant] = true;
        if matches!(request.op, Op::Read | Op::Write) && request.sectors > 0 {
            self.push_access(request, op, bytes);
        }
    }

    fn push_access(&mut self, request: &Request, op: usize, bytes: u64) {
        let end = request.lba.0.saturating_add(u64::from(request.sectors));
        self.aligned += u64::from((request.lba.0 | end).is_multiple_of(PAGE_SECTORS));
        self.sizes[op].record(bytes);
        self.sequences[op].push(request.tenant, request.lba.0, request.sectors);
        let (first, last) = self.push_footprint(request);
        for page in first..=last.min(first.saturating_add(SAMPLED_PAGES_MAX - 1)) {
            self.shards.push(page_key(request.tenant, page));
        }
    }

    /// Adds a read or write to the footprint and the overwrite factor only. Returns its first and
    /// its last page.
    pub(crate) fn push_footprint(&mut self, request: &Request) -> (u64, u64) {
        let op = usize::from(request.op == Op::Write);
        let end = request.lba.0.saturating_add(u64::from(request.sectors));
        self.address_end = self.address_end.max(end);
        let (first, last) = (request.lba.0 / PAGE_SECTORS, (end - 1) / PAGE_SECTORS);
        let (from, to) = (page_key(request.tenant, first), page_key(request.tenant, last));
        if from <= to {
            self.pages[op].insert_range(from..=to);
        }
        if request.op == Op::Write {
            self.page_writes += last - first + 1;
        }
        (first, last)
    }

    /// Takes all of a source in.
    ///
    /// # Errors
    /// The source cannot be read on.
    pub fn push_all(&mut self, source: &mut dyn Source) -> Result<(), TraceError> {
        let mut batch = Vec::new();
        while source.fill(&mut batch)? > 0 {
            batch.drain(..).for_each(|request| self.push(&request));
        }
        Ok(())
    }

    /// The description of the requests so far.
    pub fn finish(&self) -> Description {
        let [reads, writes, trims, flushes] = self.counts;
        let [read_bytes, write_bytes, trim_bytes, _] = self.bytes;
        let accesses = reads + writes;
        let write_pages = self.pages[1].len();
        let pages = self.pages[0].union_len(&self.pages[1]);
        Description {
            requests: self.counts.iter().sum(),
            reads,
            writes,
            trims,
            flushes,
            read_share: ratio(reads, accesses),
            read_bytes,
            write_bytes,
            trim_bytes,
            tenants: self.tenants.iter().filter(|&&seen| seen).count(),
            aligned_4k_share: ratio(self.aligned, accesses),
            duration_ns: self.arrivals.duration_ns(),
            read_size_bytes: self.sizes[0].quantiles(),
            write_size_bytes: self.sizes[1].quantiles(),
            gap_ns: self.arrivals.gaps().quantiles(),
            footprint: FootprintDescription {
                pages,
                read_pages: self.pages[0].len(),
                write_pages,
                bytes: pages * 4096,
                address_end_bytes: self.address_end.saturating_mul(512),
                bitmap_bytes: self.pages.iter().map(|p| p.serialized_size() as u64).sum(),
            },
            overwrite_factor: ratio(self.page_writes, write_pages),
            read_sequence: self.sequences[0].describe(),
            write_sequence: self.sequences[1].describe(),
            arrivals: self.arrivals.describe(),
            reuse: self.shards.reuse(),
            skew: self.shards.skew(),
        }
    }
}

/// Describes a whole stream, whose requests must be in order of time.
pub fn describe<'r>(requests: impl IntoIterator<Item = &'r Request>) -> Description {
    let mut describer = Describer::new();
    requests.into_iter().for_each(|request| describer.push(request));
    describer.finish()
}

/// A page of a tenant as one number.
fn page_key(tenant: TenantId, page: u64) -> u64 {
    (u64::from(tenant.0) << PAGE_BITS) | (page & ((1 << PAGE_BITS) - 1))
}

fn ratio(part: u64, whole: u64) -> f64 {
    if whole == 0 { 0.0 } else { part as f64 / whole as f64 }
}

#[cfg(test)]
mod tests;
