//! The reference that knows when each page dies.
//!
//! For replay of a finite list of writes in the order in which it was foreseen: time is counted in those writes.
//! Queue `n` takes pages that die within `2^n` times as many writes as one block in each plane holds, the last
//! queue all later ones; moved pages are placed by what is left of their lives, together with host data.

use super::{Cause, Policy, Write};
use serde::{Deserialize, Serialize};

const NEVER: u32 = u32::MAX;

/// When each of the pages that a list of writes leaves behind is overwritten.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Foresight {
    /// By write: the number of the write that overwrites it.
    deaths: Vec<u32>,
    /// By page: the number of its next write.
    next: Vec<u32>,
}

impl Foresight {
    /// Of the writes to come, as logical pages in order (tenant 0's numbers), of a drive of so many pages. Writes
    /// beyond 2^32 - 1 are not foreseen.
    pub fn new(pages: u64, writes: &[u32]) -> Self {
        let mut next = vec![NEVER; pages as usize];
        let mut deaths = vec![NEVER; writes.len().min(NEVER as usize)];
        for number in (0..deaths.len()).rev() {
            let page = &mut next[writes[number] as usize];
            deaths[number] = *page;
            *page = number as u32;
        }
        Self { deaths, next }
    }
}

#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Oracle {
    foresight: Foresight,
    now: usize,
    /// Host pages that fill one block in each plane.
    unit: u64,
    queues: u8,
}

impl Oracle {
    pub fn new(foresight: Foresight, unit: u64, queues: u8) -> Self {
        Self { foresight, now: 0, unit, queues }
    }

    pub fn memory_bytes(&self) -> u64 {
        4 * (self.foresight.deaths.len() + self.foresight.next.len()) as u64
    }
}

impl Policy for Oracle {
    fn queue(&self, write: &Write) -> u8 {
        let death = match write.cause {
            Cause::Host => self.foresight.deaths.get(self.now).copied().unwrap_or(NEVER),
            Cause::Move(_) => self.foresight.next[write.page as usize],
        };
        let left = u64::from(death).saturating_sub(self.now as u64) / self.unit.max(1);
        let order = (u64::BITS - left.leading_zeros()) as u8;
        if death == NEVER { self.queues - 1 } else { order.min(self.queues - 1) }
    }

    fn observe(&mut self, write: &Write) {
        if let Some(&death) = self.foresight.deaths.get(self.now) {
            self.foresight.next[write.page as usize] = death;
        }
        self.now += 1;
    }
}
