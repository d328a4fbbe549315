//! Everything between the data cache and the dies: the flash translation layer, what waits for it,
//! collection, and the flash.
//!
//! The FTL knows where data are and when a plane must be collected, but has no clock. `translate`
//! asks it for places and lets transactions wait; `collect` carries out its moves and erases in
//! time, `relocate` does so in steps for superblocks, and `stripes` makes their programs commands
//! of all planes of a die.

mod collect;
mod relocate;
mod stripes;
mod translate;

use crate::base::Base;
use crate::flash::Flash;
use crate::id::{JobId, Slab, Table, TransactionId};
use crate::stored::Part;
use collect::Job;
use relocate::Pace;
use serde::Serialize;
use ssdtune_ftl::{Ftl, FtlState, Layout, Phys, Token};
use ssdtune_model::config::{GcUnit, Priority, Scheduler, Sharing};
use ssdtune_model::{DeviceConfig, Nanos, PlaneId};
use std::collections::VecDeque;
use stripes::Stripes;

/// What of the configuration steers translation and collection.
#[derive(Clone)]
struct Rules {
    /// MQSim: a held write starts no collection by itself.
    collect_when_full_only: bool,
    /// MQSim: translation pages are written back without a flash program.
    free_mapping_writes: bool,
    /// MQSim: a read of a page that was never written gives it a flash page.
    read_allocates: bool,
    /// Collection in steps advances with the writes of the host.
    paced: bool,
    /// Pages that a collection in steps moves at once.
    moves_max: u32,
    /// Pages of a stripe: what one program command carries at most, if programs wait for that. Of
    /// all stripes that are filled together, where there are such.
    stripe: u32,
    /// Pages of a stripe in SLC mode.
    slc_stripe: u32,
    /// Blocks in SLC mode are folded when the host leaves the drive alone.
    folds: bool,
    /// Cached pages that may wait for the rest of their stripes.
    waiting_max: usize,
    /// The priority of transactions that serve no request directly.
    internal_priority: u8,
    /// Sectors of a page.
    page_sectors: u16,
}

impl Rules {
    fn new(config: &DeviceConfig, tenants: usize) -> Self {
        let by_priority = config.bus.scheduler == Scheduler::PriorityOutOfOrder;
        let planes = config.geometry().planes_per_die;
        let word_line = config.pages_per_program();
        let planes_at_once = if config.gc.unit == GcUnit::Block { 1 } else { planes };
        Self {
            collect_when_full_only: config.compat.gc_reserve_ten,
            free_mapping_writes: config.compat.free_mapping_writes,
            read_allocates: config.compat.read_allocates,
            paced: config.gc.paced,
            moves_max: planes * word_line * (config.geometry().dies() as u32).max(16),
            stripe: planes_at_once * word_line * config.stripes_together(),
            slc_stripe: config.slc_stripe(),
            folds: config.slc_cache.is_on() && config.slc_cache.fold_after > Nanos::ZERO,
            waiting_max: pages_to_flash(config, tenants) as usize - 1,
            internal_priority: if by_priority { Priority::High as u8 } else { 0 },
            page_sectors: config.geometry().sectors_per_page() as u16,
        }
    }
}

/// Pages that may be on their way from a part of the data cache to flash: what the write buffer
/// holds. Without one, as in MQSim one for each plane; twice what the planes program at once, if
/// that is more, since the next ones gather meanwhile.
pub(crate) fn pages_to_flash(config: &DeviceConfig, tenants: usize) -> u64 {
    let planes = config.geometry().planes();
    match (config.cache.write_buffer.0, config.pages_per_program()) {
        (0, 1) => planes,
        (0, pages) => planes * 2 * u64::from(pages),
        (buffer, _) => {
            let parts = if config.cache.sharing == Sharing::Shared { 1 } else { tenants as u64 };
            (buffer / parts / u64::from(config.geometry().page_bytes)).max(1)
        }
    }
}

/// The back end.
#[derive(Clone)]
pub(crate) struct Backend {
    pub ftl: Ftl,
    pub flash: Flash,
    rules: Rules,
    layout: Layout,
    /// For each plane, the transactions that wait until the plane has been collected.
    held: Table<PlaneId, VecDeque<TransactionId>>,
    /// Blocks that are being collected.
    jobs: Slab<JobId, Job>,
    /// For each plane that has superblocks, how its collection advances.
    paces: Table<PlaneId, Pace>,
    /// Programs that wait until a command for all planes of a die can carry them.
    stripes: Stripes,
    /// Scratch list: pages of a victim. Empty between two events.
    victim_pages: Vec<Phys>,
    /// Scratch list: transactions whose mapping has come, by the numbers that the FTL knows them
    /// by. Empty between two events.
    tokens: Vec<Token>,
    /// Empty lists, kept for reuse.
    spare_lists: Vec<Vec<TransactionId>>,
}

/// What is stored of a back end.
pub(crate) type Stored = (
    Flash,
    Table<PlaneId, VecDeque<TransactionId>>,
    Slab<JobId, Job>,
    Table<PlaneId, Pace>,
    Stripes,
    FtlState,
);

impl Backend {
    /// A back end that has nothing to do.
    pub fn new(config: &DeviceConfig, tenants: usize, ftl: Ftl, flash: Flash) -> Self {
        Self {
            layout: ftl.layout(),
            held: (0..config.allocation_geometry().planes()).map(|_| VecDeque::new()).collect(),
            ftl,
            flash,
            rules: Rules::new(config, tenants),
            jobs: Slab::default(),
            paces: (0..config.allocation_geometry().planes()).map(|_| Pace::default()).collect(),
            stripes: Stripes::default(),
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
            paces,
            stripes,
            victim_pages: _,
            tokens: _,
            spare_lists: _,
        } = self;
        (flash, held, jobs, paces, stripes, ftl.state())
    }

    /// Takes over a stored state.
    pub fn set_state(&mut self, (flash, held, jobs, paces, stripes, ftl): Stored) {
        let made = std::mem::replace(&mut self.flash, flash);
        self.flash.adopt(made);
        self.held = held;
        self.jobs = jobs;
        self.paces = paces;
        self.stripes = stripes;
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

    /// Nothing more will happen by itself: programs what waits for more of its stripe, and tries to
    /// collect the planes that hold writes back.
    /// Returns whether there are events now.
    pub fn collect_starved(&mut self, base: &mut Base) -> bool {
        self.program_open_stripes(base);
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
        self.flash.check(held + elsewhere + self.stripes.len(), self.ftl.is_ideal());
        for id in self.held.iter().flatten() {
            assert!(self.flash.transaction(*id).live, "a plane holds a transaction that is gone");
        }
    }
}
