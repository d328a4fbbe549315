//! Fits the addresses of a trace to a drive.
//!
//! Most traces touch a small part of a large address space. [`DensePlan`] closes the holes and
//! keeps the locality that a drive can notice. It cuts the space into chunks and numbers the
//! touched chunks without gaps, in order of address, one tenant after the other. A request keeps
//! its size and its offset inside a chunk. A request over several chunks stays in one piece,
//! because all of them are touched and so get consecutive numbers.
//!
//! This takes two passes. The first keeps a roaring bitmap of the chunks, of limited size: about 2
//! bytes for each chunk where they are scattered, 1 bit where they are dense. [`Modulo`] takes one
//! pass and folds the address space instead.

use super::Transform;
use crate::error::TraceError;
use crate::request::{Op, Request};
use crate::source::Source;
use roaring::RoaringBitmap;
use ssdtune_model::{Sectors, TenantId};
use std::collections::BTreeMap;

/// A group is 65,536 chunks, one container of a roaring bitmap. Its key is the tenant and the
/// number of the chunk divided by 65,536.
type GroupKey = (TenantId, u64);

/// The dense numbers of all touched chunks: the result of the first pass of a dense remapping.
pub struct DensePlan {
    chunk: u64,
    /// The groups, sorted by key. Each has the number of its first chunk and the bitmap of its
    /// chunks.
    groups: Vec<(GroupKey, u64, RoaringBitmap)>,
    chunks: u64,
    bitmap_bytes: u64,
}

/// Options of a dense remapping.
#[derive(Clone, Copy, Debug)]
pub struct DenseOptions {
    /// The size of a chunk. A multiple of the page size of the drive keeps requests aligned.
    pub chunk: Sectors,
    /// The largest size of the bitmap in bytes.
    pub limit_bytes: u64,
}

impl Default for DenseOptions {
    fn default() -> Self {
        Self { chunk: Sectors(32), limit_bytes: 64 << 20 }
    }
}

fn split_key(tenant: TenantId, chunk: u64) -> (GroupKey, u32) {
    ((tenant, chunk >> 16), (chunk & 0xffff) as u32)
}

/// The memory of a group beside its bitmap, in bytes.
const GROUP_BYTES: u64 = 96;

impl DensePlan {
    /// Numbers the chunks that `source` touches. Reads it to its end.
    ///
    /// # Errors
    /// The chunk has no sectors, `source` cannot be read, or the bitmap exceeds its limit.
    pub fn of(source: &mut dyn Source, options: DenseOptions) -> Result<Self, TraceError> {
        let chunk = options.chunk.0;
        if chunk == 0 {
            return Err(TraceError::Option {
                option: "--chunk",
                value: "0".into(),
                problem: "a chunk of nothing".into(),
                legal: "1 sector or more".into(),
            });
        }
        let mut touched = Touched::new(options.limit_bytes);
        let (mut batch, mut since_check) = (Vec::new(), 0);
        while source.fill(&mut batch)? > 0 {
            for r in batch.iter().filter(|r| r.op != Op::Flush) {
                touched.mark(r.tenant, r.lba.0 / chunk, (r.end().0 - 1) / chunk)?;
            }
            since_check += batch.len();
            batch.clear();
            if since_check > 1 << 20 {
                since_check = 0;
                touched.check()?;
            }
        }
        let bitmap_bytes = touched.check()?;
        let groups = touched.groups;
        let mut chunks = 0;
        let number = |(key, bits): (GroupKey, RoaringBitmap)| {
            let first = chunks;
            chunks += bits.len();
            (key, first, bits)
        };
        let groups = groups.into_iter().map(number).collect();
        Ok(Self { chunk, groups, chunks, bitmap_bytes })
    }

    /// The size of the dense address space. The drive must be at least as large.
    pub fn sectors(&self) -> Sectors {
        Sectors(self.chunks * self.chunk)
    }

    /// The size of the bitmap in bytes.
    pub fn bitmap_bytes(&self) -> u64 {
        self.bitmap_bytes
    }

    /// The dense address of `lba`; `None` if the first pass has not seen it.
    pub fn address(&self, tenant: TenantId, lba: Sectors) -> Option<Sectors> {
        let (key, low) = split_key(tenant, lba.0 / self.chunk);
        let index = self.groups.binary_search_by_key(&key, |group| group.0).ok()?;
        let (_, first, bits) = &self.groups[index];
        bits.contains(low).then(|| {
            let number = first + bits.rank(low) - 1;
            Sectors(number * self.chunk + lba.0 % self.chunk)
        })
    }
}

/// The chunks seen so far.
struct Touched {
    groups: BTreeMap<GroupKey, RoaringBitmap>,
    limit_bytes: u64,
    /// The number of groups at which the size is checked next. One large request can make thousands
    /// of groups, of up to 8 KiB each.
    next_check: usize,
}

impl Touched {
    fn new(limit_bytes: u64) -> Self {
        Self { groups: BTreeMap::new(), limit_bytes, next_check: 512 }
    }

    fn mark(&mut self, tenant: TenantId, first: u64, last: u64) -> Result<(), TraceError> {
        let mut chunk = first;
        while chunk <= last {
            let (key, low) = split_key(tenant, chunk);
            let high = (chunk | 0xffff).min(last);
            self.groups.entry(key).or_default().insert_range(low..=(high & 0xffff) as u32);
            chunk = high + 1;
            if self.groups.len() >= self.next_check {
                self.next_check += 512;
                self.check()?;
            }
        }
        Ok(())
    }

    /// The size in bytes.
    ///
    /// # Errors
    /// It exceeds the limit.
    fn check(&self) -> Result<u64, TraceError> {
        let bits: u64 = self.groups.values().map(|bits| bits.serialized_size() as u64).sum();
        let size = bits + self.groups.len() as u64 * GROUP_BYTES;
        if size <= self.limit_bytes {
            return Ok(size);
        }
        Err(TraceError::Memory {
            what: "the bitmap of touched chunks",
            limit_bytes: self.limit_bytes,
            remedy: "take larger chunks (--chunk), or --remap modulo",
        })
    }
}

/// The second pass of a dense remapping: replaces addresses by those of the plan.
pub struct Dense(
    /// The result of the first pass over the same trace.
    pub DensePlan,
);

impl Transform for Dense {
    fn apply(&mut self, batch: &mut Vec<Request>) -> Result<(), TraceError> {
        for r in batch.iter_mut().filter(|r| r.op != Op::Flush) {
            r.lba = self.0.address(r.tenant, r.lba).ok_or_else(|| TraceError::Option {
                option: "--remap",
                value: "dense".into(),
                problem: format!("{} was not there in the first pass", r.lba),
                legal: "a trace that does not change between two readings".into(),
            })?;
        }
        Ok(())
    }
}

/// The smallest capacity in sectors. It limits the longest request, of 2 TiB, to 2,048 pieces.
const SECTORS_MIN: u64 = 1 << 21;

/// Folds addresses: each is taken modulo the size of the drive. A request that reaches beyond the
/// end is cut into pieces.
#[derive(Clone, Copy, Debug)]
pub struct Modulo {
    capacity: u64,
}

impl Modulo {
    /// Folds addresses onto `capacity` sectors.
    ///
    /// # Errors
    /// `capacity` is below 1 GiB.
    pub fn new(capacity: Sectors) -> Result<Self, TraceError> {
        if capacity.0 >= SECTORS_MIN {
            return Ok(Self { capacity: capacity.0 });
        }
        Err(TraceError::Option {
            option: "--capacity",
            value: capacity.to_string(),
            problem: "too small to fold a trace onto".into(),
            legal: "1 GiB or more".into(),
        })
    }
}

impl Transform for Modulo {
    fn apply(&mut self, batch: &mut Vec<Request>) -> Result<(), TraceError> {
        if !batch.iter().any(|r| r.lba.0 % self.capacity + u64::from(r.sectors) > self.capacity) {
            batch.iter_mut().for_each(|r| r.lba.0 %= self.capacity);
            return Ok(());
        }
        let mut folded = Vec::with_capacity(batch.len() + 1);
        for r in batch.iter() {
            let (mut lba, mut left) = (r.lba.0 % self.capacity, u64::from(r.sectors));
            while left > self.capacity - lba {
                let part = self.capacity - lba;
                folded.push(Request { lba: Sectors(lba), sectors: part as u32, ..*r });
                (lba, left) = (0, left - part);
            }
            folded.push(Request { lba: Sectors(lba), sectors: left as u32, ..*r });
        }
        *batch = folded;
        Ok(())
    }
}
