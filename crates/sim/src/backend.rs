//! Everything between the data cache and the dies: the flash translation layer, what waits for it,
//! collection, and the flash.
//!
//! The FTL knows where data are and when a plane must be collected, but has no clock. `translate`
//! asks it for places and lets transactions wait; `collect` carries out its moves and erases in
//! time.

mod collect;
mod translate;

use crate::base::Base;
use crate::flash::Flash;
use crate::id::{JobId, Slab, Table, TransactionId};
use crate::stored::Part;
use collect::Job;
use serde::Serialize;
use ssdtune_ftl::{Ftl, FtlState, Layout, Phys, Token};
use ssdtune_model::config::{Allocation, Priority, Scheduler};
use ssdtune_model::{DeviceConfig, PlaneId};
use std::collections::VecDeque;

/// What of the configuration steers translation and collection.
struct Rules {
    /// MQSim: a held write starts no collection by itself.
    collect_when_full_only: bool,
    /// MQSim: translation pages are written back without a flash program.
    free_mapping_writes: bool,
    /// MQSim: a read of a page that was never written gives it a flash page.
    read_allocates: bool,
    /// Some tenant may be placed dynamically.
    any_dynamic: bool,
    /// The priority of transactions that serve no request directly.
    internal_priority: u8,
    /// Sectors of a page.
    page_sectors: u16,
}

impl Rules {
    fn new(config: &DeviceConfig) -> Self {
        let by_priority = config.bus.scheduler == Scheduler::PriorityOutOfOrder;
        Self {
            collect_when_full_only: config.compat.gc_reserve_ten,
            free_mapping_writes: config.compat.free_mapping_writes,
            read_allocates: config.compat.read_allocates,
            any_dynamic: config.mapping.allocation != Allocation::Static,
            internal_priority: if by_priority { Priority::High as u8 } else { 0 },
            page_sectors: config.geometry().sectors_per_page() as u16,
        }
    }
}

/// The back end.
pub(crate) struct Backend {
    pub ftl: Ftl,
    pub flash: Flash,
    rules: Rules,
    layout: Layout,
    /// For each plane, the transactions that wait until the plane has been collected.
    held: Table<PlaneId, VecDeque<TransactionId>>,
    /// Blocks that are being collected.
    jobs: Slab<JobId, Job>,
    /// Scratch list: pages of a victim. Empty between two events.
    victim_pages: Vec<Phys>,
    /// Scratch list: transactions whose mapping has come, by the numbers that the FTL knows them
    /// by. Empty between two events.
    tokens: Vec<Token>,
    /// Empty lists, kept for reuse.
    spare_lists: Vec<Vec<TransactionId>>,
}

/// What is stored of a back end.
pub(crate) type Stored =
    (Flash, Table<PlaneId, VecDeque<TransactionId>>, Slab<JobId, Job>, FtlState);

impl Backend {
    /// A back end that has nothing to do.
    pub fn new(config: &DeviceConfig, ftl: Ftl, flash: Flash) -> Self {
        Self {
            layout: ftl.layout(),
            held: (0..config.geometry().planes()).map(|_| VecDeque::new()).collect(),
            ftl,
            flash,
            rules: Rules::new(config),
            jobs: Slab::default(),
            victim_pages: Vec::new(),
            tokens: Vec::new(),
            spare_lists: Vec::new(),
        }
    }

    /// Its state, to be stored.
    pub fn state(&self) -> impl Serialize + '_ {
        // Every field is named, so that a new one cannot be forgotten. Those without a name in here
        // follow from the configuration or are empty between two events.
        let Self {
            ftl,
            flash,
            rules: _,
            layout: _,
            held,
            jobs,
            victim_pages: _,
            tokens: _,
            spare_lists: _,
        } = self;
        (flash, held, jobs, ftl.state())
    }

    /// Takes over a stored state.
    pub fn set_state(&mut self, (flash, held, jobs, ftl): Stored) {
        let made = std::mem::replace(&mut self.flash, flash);
        self.flash.adopt(made);
        self.held = held;
        self.jobs = jobs;
        self.ftl.set_state(ftl);
    }

    /// Whether a read of a page that was never written gives it a flash page.
    pub fn read_allocates(&self) -> bool {
        self.rules.read_allocates
    }

    /// An empty list. Give it back with [`Backend::give_list`].
    pub fn take_list(&mut self) -> Vec<TransactionId> {
        self.spare_lists.pop().unwrap_or_default()
    }

    /// Keeps a list for reuse.
    pub fn give_list(&mut self, mut list: Vec<TransactionId>) {
        list.clear();
        self.spare_lists.push(list);
    }

    /// Nothing more will happen by itself: tries to collect the planes that hold writes back.
    /// Returns whether there are events now.
    pub fn collect_starved(&mut self, base: &mut Base) -> bool {
        for plane in self.held.names() {
            if !self.held[plane].is_empty() {
                self.collect(base, plane);
            }
        }
        base.events.next_at().is_some()
    }

    /// Planes whose host writes wait for free blocks.
    pub fn starved_planes(&self) -> impl Iterator<Item = PlaneId> + '_ {
        self.held.named().filter(|(_, held)| !held.is_empty()).map(|(plane, _)| plane)
    }

    /// Asserts that no transaction is lost. `elsewhere` of them are on their way to the back end.
    pub fn check(&self, elsewhere: usize) {
        assert!(self.victim_pages.is_empty());
        let held: usize = self.held.iter().map(VecDeque::len).sum();
        self.flash.check(held + elsewhere, self.ftl.is_ideal());
        for id in self.held.iter().flatten() {
            assert!(self.flash.transaction(*id).live, "a plane holds a transaction that is gone");
        }
    }
}
