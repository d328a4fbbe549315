//! The sectors that requests touch, as few runs as possible, and the writes that put data there.
//!
//! Reading a page that was never written costs no flash read and flatters every drive alike; so a
//! drive that is to be judged by a trace first gets data wherever the trace looks. Cost: sorting
//! the requests, some million at a time, and at most 72 bytes for each run of sectors.

use ssdtune_model::{Nanos, Sectors};
use ssdtune_trace::{Op, Request, TenantId};
use std::ops::Range;

/// Ends of runs are rounded to this many sectors (4 KiB), the smallest flash page of the drives
/// searched.
const GRAIN: u64 = 8;
/// Sectors of one write that puts data in place: 1 MiB.
const WRITE_SECTORS: u64 = 2_048;

/// A run of sectors.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Extent {
    /// The tenant in whose address space it lies.
    pub tenant: TenantId,
    /// Its first sector.
    pub first: u64,
    /// The sector after its last.
    pub end: u64,
}

/// The runs of sectors that requests touch: in rising order, by tenant and address, with gaps
/// between them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Extents(Vec<Extent>);

/// Runs that are collected before they are joined for the first time.
const JOIN_AT: usize = 1 << 20;

impl Extents {
    /// Everything that these requests touch, whatever they do with it.
    pub fn of(requests: impl IntoIterator<Item = Request>) -> Self {
        let all = requests.into_iter().map(Ok::<_, std::convert::Infallible>);
        match Self::try_of(all) {
            Ok(extents) => extents,
            Err(never) => match never {},
        }
    }

    /// Everything that these requests touch, unless one of them does not come.
    ///
    /// # Errors
    /// The first error among them.
    pub fn try_of<E>(requests: impl IntoIterator<Item = Result<Request, E>>) -> Result<Self, E> {
        let (mut extents, mut join_at) = (Vec::new(), JOIN_AT);
        for request in requests {
            let request = request?;
            if request.sectors == 0 {
                continue;
            }
            if extents.len() == join_at {
                join(&mut extents);
                // Twice as many as are left: joining all costs a logarithm for each request.
                join_at = (2 * extents.len()).max(JOIN_AT);
            }
            extents.push(Extent {
                tenant: request.tenant,
                first: request.lba.0 / GRAIN * GRAIN,
                end: request.end().0.div_ceil(GRAIN) * GRAIN,
            });
        }
        join(&mut extents);
        extents.shrink_to_fit();
        Ok(Self(extents))
    }

    /// Pieces of 4 KiB of the first tenant, in rising order.
    pub(crate) fn of_grains(grains: impl Iterator<Item = Range<u64>>) -> Self {
        let mut extents: Vec<Extent> = Vec::new();
        for (first, end) in grains.map(|grains| (grains.start * GRAIN, grains.end * GRAIN)) {
            match extents.last_mut() {
                Some(last) if last.end == first => last.end = end,
                _ => extents.push(Extent { tenant: TenantId(0), first, end }),
            }
        }
        Self(extents)
    }

    /// The runs, in rising order.
    pub fn as_slice(&self) -> &[Extent] {
        &self.0
    }

    /// Sectors in all: what putting data there costs.
    pub fn sectors(&self) -> u64 {
        self.0.iter().map(|extent| extent.end - extent.first).sum()
    }

    /// Writes of at most 1 MiB each that put data everywhere, in the order of tenants and
    /// addresses.
    pub fn writes(&self) -> impl Iterator<Item = Request> + '_ {
        self.0.iter().flat_map(|extent| {
            let starts = (extent.first..extent.end).step_by(WRITE_SECTORS as usize);
            starts.map(|first| Request {
                at: Nanos::ZERO,
                lba: Sectors(first),
                sectors: (extent.end - first).min(WRITE_SECTORS) as u32,
                tenant: extent.tenant,
                op: Op::Write,
            })
        })
    }
}

/// Brings runs into their order, and makes one of those that touch.
fn join(extents: &mut Vec<Extent>) {
    extents.sort_unstable();
    extents.dedup_by(|next, last| {
        let joined = next.tenant == last.tenant && next.first <= last.end;
        if joined {
            last.end = last.end.max(next.end);
        }
        joined
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_touched_is_covered_once_and_nothing_else() {
        let request = |tenant, lba, sectors| {
            let (at, lba, tenant) = (Nanos::ZERO, Sectors(lba), TenantId(tenant));
            Request { at, lba, sectors, tenant, op: Op::Read }
        };
        let all = [
            request(0, 100, 8),
            request(0, 0, 8),
            request(0, 4, 8),
            request(0, 900, 0),
            request(0, 5_000, 4_000),
            request(1, 8, 8),
        ];
        let extents = Extents::of(all);
        let runs = extents.as_slice().iter().map(|own| (own.tenant.0, own.first, own.end));
        let expected = [(0, 0, 16), (0, 96, 112), (0, 5_000, 9_000), (1, 8, 16)];
        assert_eq!(runs.collect::<Vec<_>>(), expected);
        assert_eq!(Extents::of(extents.writes()), extents);
        let first = Extents(extents.0.iter().copied().filter(|own| own.tenant.0 == 0).collect());
        let grains = first.0.iter().map(|own| own.first / GRAIN..own.end / GRAIN);
        assert_eq!(Extents::of_grains(grains), first);
        let written: u64 = extents.writes().map(|write| u64::from(write.sectors)).sum();
        assert_eq!(written, extents.sectors());
        // More requests than are collected at once, in an order that joins few of them early.
        let scattered = (0..3 * JOIN_AT as u64).map(|n| request(0, n * 7_919 % 1_000_003 * 16, 8));
        let distinct = (0..1_000_003).map(|page| request(0, page * 16, 8));
        assert_eq!(Extents::of(scattered), Extents::of(distinct));
    }
}
