//! A reference policy that knows when each page will be overwritten.
//!
//! It replays a finite list of writes that was given to it beforehand; time is counted in these
//! writes. Queue n takes pages that will be overwritten within 2^n times as many writes as one
//! block in each plane holds; the last queue takes all others. Moved pages go by what is left of
//! their lives, and share queues with host data.

use super::{Cause, Policy, Queue, Write};
use crate::number::LogicalPage;
use serde::{Deserialize, Serialize};
use ssdtune_model::Table;

/// The number of a write that does not come.
const NEVER: u32 = u32::MAX;

/// When each page that a list of writes leaves behind will be overwritten.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Foresight {
    /// For each write, the number of the write that overwrites it.
    deaths: Vec<u32>,
    /// For each logical page, the number of its next write.
    next: Table<LogicalPage, u32>,
}

impl Foresight {
    /// Looks through the writes to come: `writes` are logical page numbers of tenant 0 in the order
    /// of writing, on a drive of `pages` logical pages. Writes beyond the first 2^32 - 1 are
    /// ignored.
    ///
    /// # Panics
    /// A write names a page that is not below `pages`.
    pub fn new(pages: u64, writes: &[u32]) -> Self {
        let mut next = Table::of(NEVER, pages as usize);
        let mut deaths = vec![NEVER; writes.len().min(NEVER as usize)];
        for number in (0..deaths.len()).rev() {
            let page = &mut next[LogicalPage(writes[number].into())];
            deaths[number] = *page;
            *page = number as u32;
        }
        Self { deaths, next }
    }
}

/// The policy: the foresight, and how far the replay has come.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Oracle {
    foresight: Foresight,
    /// Writes replayed so far.
    now: usize,
    /// Pages that fill one block in each plane.
    unit: u64,
    /// Number of queues.
    queues: u8,
}

impl Oracle {
    pub fn new(foresight: Foresight, unit: u64, queues: u8) -> Self {
        Self { foresight, now: 0, unit, queues }
    }

    /// Heap memory in bytes.
    pub fn memory_bytes(&self) -> u64 {
        4 * (self.foresight.deaths.len() + self.foresight.next.len()) as u64
    }
}

impl Policy for Oracle {
    fn queue(&self, write: &Write) -> Queue {
        let death = match write.cause {
            Cause::Host => self.foresight.deaths.get(self.now).copied().unwrap_or(NEVER),
            Cause::Move(_) => self.foresight.next[write.page],
        };
        let left = u64::from(death).saturating_sub(self.now as u64) / self.unit.max(1);
        let order = (u64::BITS - left.leading_zeros()) as u8;
        let last = self.queues - 1;
        Queue(if death == NEVER { last } else { order.min(last) })
    }

    fn observe(&mut self, write: &Write) {
        if let Some(&death) = self.foresight.deaths.get(self.now) {
            self.foresight.next[write.page] = death;
        }
        self.now += 1;
    }
}
