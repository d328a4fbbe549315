//! What the pass remembers of each page that the trace touches, and where it finds it.
//!
//! A time is the number of a request. A record takes 16 B; the pages of a leaf lie together, since
//! most requests touch neighbours. Cost: one or two cache misses a leaf.

use ssdtune_ftl::prefetch;
use std::collections::HashMap;

/// No request.
pub const NEVER: u32 = u32::MAX;

/// What requests have done with one page so far.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Record {
    /// The last request that read or wrote it; [`NEVER`] if none has.
    pub touch: u32,
    /// The last one that wrote it.
    pub write: u32,
    /// The last but one that wrote it.
    pub rewrite: u32,
    /// Eighths of the page that were touched, one bit each.
    pub eighths: u8,
    /// The longest time between two uses since the last write, as eight times its binary logarithm.
    gap: u8,
    /// See the constants.
    flags: u8,
}

/// The last access was a read.
const READ_LAST: u8 = 1;
/// It was written again in the epoch of its last write, by the times of the trace.
const DIRTY: u8 = 2;
/// It was trimmed and not written since.
const TRIMMED: u8 = 4;

impl Record {
    /// That of a page that nothing has touched.
    pub const NONE: Self =
        Self { touch: NEVER, write: NEVER, rewrite: NEVER, eighths: 0, gap: 0, flags: 0 };

    /// That of a page like this one, which was read last and is as flash has it.
    pub fn as_clean(self) -> Self {
        Self { flags: READ_LAST, write: NEVER, rewrite: NEVER, ..self }
    }

    /// That of a page like this one, which was changed in a data cache.
    pub fn as_changed(self) -> Self {
        Self { flags: DIRTY, write: self.touch, rewrite: self.touch, gap: 0, ..self }
    }

    /// Whether the last access was a read.
    #[inline]
    pub fn read_last(&self) -> bool {
        self.flags & READ_LAST != 0
    }

    /// Whether the data cache holds it as changed, by the times of the trace.
    #[inline]
    pub fn dirty(&self) -> bool {
        self.flags & DIRTY != 0
    }

    /// Whether it holds no data because it was trimmed.
    pub fn trimmed(&self) -> bool {
        self.flags & TRIMMED != 0
    }

    /// The record after a read.
    #[inline]
    pub fn after_read(mut self, now: u32, eighths: u8) -> Self {
        if self.write != NEVER {
            let gap = (now - self.touch).max(1);
            // Between two powers of two the logarithm is nearly a line.
            let whole = gap.ilog2();
            let eighth = ((u64::from(gap) << 3 >> whole) & 7) as u32;
            self.gap = self.gap.max((8 * whole + eighth) as u8);
        }
        self.touch = now;
        self.eighths |= eighths;
        self.flags |= READ_LAST;
        self
    }

    /// The record after a write. `epoch` is the first request of the present epoch.
    #[inline]
    pub fn after_write(mut self, now: u32, eighths: u8, epoch: u32) -> Self {
        let again = self.write != NEVER && self.write >= epoch && self.write != now;
        self.rewrite = if self.write == now { self.rewrite } else { self.write };
        (self.touch, self.write) = (now, now);
        self.eighths |= eighths;
        self.flags = if again { DIRTY } else { 0 };
        self.gap = 0;
        self
    }

    /// The longest time between two uses since the last write, in requests.
    pub fn gap(&self) -> u32 {
        let (whole, eighth) = (u32::from(self.gap) / 8, u64::from(self.gap) % 8);
        (((8 + eighth) << whole) >> 3) as u32
    }

    /// The record after a trim.
    pub fn after_trim(mut self) -> Self {
        self.flags = TRIMMED;
        (self.write, self.rewrite) = (NEVER, NEVER);
        self
    }

    /// Its parts, for a file.
    pub fn parts(&self) -> ([u32; 3], [u8; 3]) {
        ([self.touch, self.write, self.rewrite], [self.eighths, self.gap, self.flags])
    }

    /// Whether its flags are known.
    pub(super) fn is_known(&self) -> bool {
        self.flags <= READ_LAST | DIRTY | TRIMMED
    }

    /// From its parts.
    pub fn of_parts([touch, write, rewrite]: [u32; 3], [eighths, gap, flags]: [u8; 3]) -> Self {
        Self { touch, write, rewrite, eighths, gap, flags }
    }
}

/// Pages of a leaf.
const LEAF: usize = 16;
/// Leaves of a node, as a power of two.
const NODE_BITS: u32 = 10;
/// Leaves for which memory is asked at once: 1 MiB.
const CHUNK: usize = 4_096;
/// Nodes that are found by their number: those of the first 64 TiB, if pages have 4 KiB.
const DENSE: u64 = 1 << 20;

type Node = Box<[u32; 1 << NODE_BITS]>;

#[derive(Clone, Copy)]
#[repr(align(64))]
struct Leaf([Record; LEAF]);

/// The records of all pages.
#[derive(Default)]
pub struct Records {
    /// Where the first nodes are; [`NEVER`] for those that are not there.
    dense: Vec<u32>,
    /// Where the others are.
    sparse: HashMap<u64, u32>,
    leaves_of: Vec<Node>,
    chunks: Vec<Vec<Leaf>>,
    leaves: u32,
}

impl Records {
    /// The record of a page. It is made if there is none.
    #[inline]
    pub fn of(&mut self, page: u64) -> &mut Record {
        let leaf = page / LEAF as u64;
        let (node, within) = (leaf >> NODE_BITS, (leaf & ((1 << NODE_BITS) - 1)) as usize);
        let place = match self.dense.get(node as usize) {
            Some(&place) if place != NEVER => place,
            _ => self.node(node),
        };
        let slot = &mut self.leaves_of[place as usize][within];
        if *slot == NEVER {
            *slot = self.leaves;
            self.leaves += 1;
            let is_full = self.chunks.last().is_none_or(|chunk| chunk.len() == CHUNK);
            if is_full {
                self.chunks.push(Vec::with_capacity(CHUNK));
            }
            if let Some(chunk) = self.chunks.last_mut() {
                chunk.push(Leaf([Record::NONE; LEAF]));
            }
        }
        let at = *slot as usize;
        &mut self.chunks[at / CHUNK][at % CHUNK].0[(page % LEAF as u64) as usize]
    }

    #[cold]
    fn node(&mut self, node: u64) -> u32 {
        let next = self.leaves_of.len() as u32;
        let place = match node < DENSE {
            true => {
                let length = self.dense.len().max(node as usize + 1);
                self.dense.resize(length, NEVER);
                &mut self.dense[node as usize]
            }
            false => self.sparse.entry(node).or_insert(NEVER),
        };
        if *place == NEVER {
            *place = next;
            self.leaves_of.push(Box::new([NEVER; 1 << NODE_BITS]));
        }
        *place
    }

    /// What leads to the record of a page, if the pages around it have any.
    #[inline]
    fn slot(&self, page: u64) -> Option<&u32> {
        let leaf = page / LEAF as u64;
        let place = *self.dense.get((leaf >> NODE_BITS) as usize)?;
        let node = self.leaves_of.get(place as usize)?;
        Some(&node[(leaf & ((1 << NODE_BITS) - 1)) as usize])
    }

    /// The record of a page, if it has one and is found by its number.
    #[inline]
    pub fn find(&self, page: u64) -> Option<&Record> {
        let at = *self.slot(page)? as usize;
        Some(&self.chunks.get(at / CHUNK)?.get(at % CHUNK)?.0[(page % LEAF as u64) as usize])
    }

    /// Asks for what leads to the record of a page: the first of two steps.
    #[inline]
    pub fn prefetch_slot(&self, page: u64) {
        if let Some(slot) = self.slot(page) {
            prefetch(slot);
        }
    }

    /// Asks for the record of a page.
    #[inline]
    pub fn prefetch(&self, page: u64) {
        if let Some(record) = self.find(page) {
            prefetch(record);
        }
    }

    /// Heap memory in bytes.
    pub fn memory_bytes(&self) -> u64 {
        (self.chunks.len() * CHUNK * size_of::<Leaf>()
            + self.leaves_of.len() * (4 << NODE_BITS)
            + self.dense.capacity() * 4
            + self.sparse.capacity() * 16) as u64
    }
}
