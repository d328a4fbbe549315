//! Looking ahead: what an access will touch is prefetched step by step while the accesses before it
//! are served.
//!
//! The way to a page's data is a chain: the directory of the page table, the entry, on a drive with
//! an initial content the place that is computed for it, and the records of the old page. Each link
//! names the next, and each is a line that may come from memory, 100 ns away. So the steps of one
//! access are made with some other accesses between them, and the steps of different accesses
//! overlap. The results are those without looking ahead: a place that is stored early is the place
//! that would have been stored late.

use crate::ftl::Ftl;
use crate::initial_content::Sought;
use ssdtune_model::{Lpn, TenantId};
use std::collections::VecDeque;

/// A queue of accesses that are soon to be served, each with something of the caller's.
pub struct Lookahead<T> {
    queue: VecDeque<Ahead<T>>,
    /// Accesses between two steps of one access.
    gap: usize,
}

/// An access that is soon to be served.
struct Ahead<T> {
    access: T,
    tenant: TenantId,
    lpn: Lpn,
    writes: bool,
    /// Where its page lies at the start, if nobody has asked for it before.
    sought: Option<Sought>,
}

/// Steps of an access before it is served: directory, entry, initial place, old page.
const STEPS: usize = 4;

impl<T> Lookahead<T> {
    /// An empty queue that looks `4 * gap` accesses ahead. A gap of 4 suits a replay without time,
    /// where an access takes about 100 ns.
    pub fn new(gap: usize) -> Self {
        let gap = gap.max(1);
        Self { queue: VecDeque::with_capacity(STEPS * gap + 1), gap }
    }

    /// Adds an access to a logical page, the last to be served. Returns the one whose turn it is
    /// now; `None` as long as the queue is not full.
    pub fn push(
        &mut self,
        ftl: &mut Ftl,
        access: T,
        tenant: TenantId,
        lpn: Lpn,
        writes: bool,
    ) -> Option<T> {
        self.queue.push_back(Ahead { access, tenant, lpn, writes, sought: None });
        let newest = self.queue.len() - 1;
        for step in 0..STEPS {
            let Some(at) = newest.checked_sub(step * self.gap) else { break };
            let ahead = &mut self.queue[at];
            match step {
                0 => ftl.prefetch_directory(ahead.tenant, ahead.lpn),
                1 => ftl.prefetch_entry(ahead.tenant, ahead.lpn),
                2 if ahead.writes => ahead.sought = ftl.seek(ahead.tenant, ahead.lpn),
                3 if ahead.writes => {
                    ftl.prefetch_write(ahead.tenant, ahead.lpn, ahead.sought.take());
                }
                _ => {}
            }
        }
        if newest < STEPS * self.gap {
            return None;
        }
        self.queue.pop_front().map(|ahead| ahead.access)
    }

    /// The next access to be served, when no more are added.
    pub fn pop(&mut self) -> Option<T> {
        self.queue.pop_front().map(|ahead| ahead.access)
    }
}

impl Ftl {
    /// Prefetches what a write of a page will touch, once its entry is near.
    fn prefetch_write(&mut self, tenant: TenantId, lpn: Lpn, sought: Option<Sought>) {
        if let Some(sought) = sought {
            self.resolve_sought(tenant, lpn, &sought);
        }
        if let Some(at) = self.existing_entry(tenant, lpn) {
            self.prefetch_old_page(at);
        }
    }
}
