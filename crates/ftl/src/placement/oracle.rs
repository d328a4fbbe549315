//! Reference policies that know when each page will be overwritten.
//!
//! They replay a finite list of writes that was given to them beforehand; time is counted in these
//! writes. A page's queue follows from how many writes it has left to live; the file `cuts` says
//! where lives are cut, in one of two ways ([`Reference`]). Pages that are not overwritten any more
//! have the last queue. Moved pages go by what is left of their lives.

use super::cuts::{Cuts, NEVER};
use super::{Cause, Policy, Queue, Write};
use crate::number::LogicalPage;
use serde::{Deserialize, Serialize};
use ssdtune_model::Table;

/// Where a reference that knows the future cuts the lives of pages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reference {
    /// Queue n takes pages that will be overwritten within 2^n times as many writes as one block in
    /// each plane holds; the last queue takes all others.
    Doubling,
    /// By the order of death, with the cuts that lose least room to pages that wait in their blocks
    /// for the death of the others.
    Order,
}

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
    cuts: Cuts,
    /// Number of queues.
    queues: u8,
}

impl Oracle {
    /// `unit` pages fill one block in each plane.
    pub fn new(foresight: Foresight, reference: Reference, unit: u64, queues: u8) -> Self {
        let (deaths, pages) = (&foresight.deaths, foresight.next.len() as u64);
        let cuts = match reference {
            Reference::Doubling => Cuts::doubling(unit, queues),
            Reference::Order => Cuts::least_wait(deaths, pages, unit, queues),
        };
        Self { foresight, now: 0, cuts, queues }
    }
}

impl Policy for Oracle {
    fn queue(&self, write: &Write) -> Queue {
        let death = match write.cause {
            Cause::Host => self.foresight.deaths.get(self.now).copied().unwrap_or(NEVER),
            Cause::Move(_) => self.foresight.next[write.page],
        };
        let (now, last) = (self.now as u64, self.queues - 1);
        let left = u64::from(death).saturating_sub(now);
        Queue(if death == NEVER { last } else { self.cuts.queue(now, left).min(last) })
    }

    fn observe(&mut self, write: &Write) {
        if let Some(&death) = self.foresight.deaths.get(self.now) {
            self.foresight.next[write.page] = death;
        }
        self.now += 1;
    }

    fn memory_bytes(&self) -> u64 {
        4 * (self.foresight.deaths.len() + self.foresight.next.len()) as u64
    }
}
