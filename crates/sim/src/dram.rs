//! The DRAM channel: it serves one access at a time.
//!
//! Accesses are served in the order of arrival. If tenants do not share the data cache, they take
//! turns, so that none waits for all accesses of another.

use crate::simulator::Core;
use serde::{Deserialize, Serialize};
use ssdtune_model::Nanos;
use ssdtune_trace::Op;
use std::collections::VecDeque;

/// What an access to the DRAM is for.
#[derive(Serialize, Deserialize)]
pub(crate) enum DramAccess {
    /// Data of a request, read or written: the request, and the number of sectors.
    Request(u32, u32),
    /// Pages that leave the data cache: the transactions that will write them to flash.
    Evictions(Vec<u32>),
    /// A page that was read from flash enters the data cache.
    Fill,
}

/// The channel and the accesses that wait for it.
#[derive(Serialize, Deserialize)]
pub(crate) struct DramChannel {
    /// One queue for each part of the data cache. Each access stands with the time it takes.
    queues: Vec<VecDeque<(Nanos, DramAccess)>>,
    current: Option<DramAccess>,
    /// The queue that was served last.
    turn: usize,
}

impl DramChannel {
    pub fn new(partitions: usize) -> Self {
        Self { queues: (0..partitions).map(|_| VecDeque::new()).collect(), current: None, turn: 0 }
    }
}

impl Core {
    /// Starts an access, or queues it behind others.
    pub(crate) fn dram_access(&mut self, tenant: u16, sectors: u32, access: DramAccess) {
        let takes = self.dram_timing.sectors(sectors);
        self.stats.dram_busy += takes;
        let now = self.events.now();
        let writes = match access {
            DramAccess::Request(req, _) => self.reqs[req].op == Op::Write,
            DramAccess::Evictions(_) => false,
            DramAccess::Fill => true,
        };
        let rows = self.dram_timing.rows(sectors);
        self.energy.dram_works(now, writes, sectors, rows);
        if self.stats.has_several() {
            self.stats.shares[usize::from(tenant)].energy.dram_works(writes, sectors, rows);
        }
        let queue = if self.dram.queues.len() == 1 { 0 } else { tenant as usize };
        if self.dram.current.is_some() {
            self.dram.queues[queue].push_back((takes, access));
        } else {
            self.dram.current = Some(access);
            self.dram.turn = queue;
            self.events.push(now + takes, self.dram_server);
        }
    }

    /// An access has ended.
    pub(crate) fn dram_event(&mut self) {
        let current = self.dram.current.take();
        // What follows from it must wait its turn: the channel still counts as taken.
        self.dram.current = Some(DramAccess::Fill);
        match current {
            Some(DramAccess::Request(req, sectors)) => {
                self.reqs[req].waits_dram -= sectors;
                self.check_done(req);
            }
            Some(DramAccess::Evictions(list)) => self.dispatch(list),
            Some(DramAccess::Fill) | None => {}
        }
        self.dram.current = None;
        let queues = self.dram.queues.len();
        for _ in 0..queues {
            self.dram.turn = if self.dram.turn + 1 < queues { self.dram.turn + 1 } else { 0 };
            if let Some((takes, access)) = self.dram.queues[self.dram.turn].pop_front() {
                self.dram.current = Some(access);
                self.events.push(self.events.now() + takes, self.dram_server);
                break;
            }
        }
    }
}
