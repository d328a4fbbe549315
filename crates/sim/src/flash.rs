//! The flash: transactions, the scheduler that makes commands of them, channels and dies.
//!
//! Work comes in as transactions: [`Flash::insert`], [`Flash::stage`] when its place is known, then
//! [`Flash::schedule`]. What has ended goes out as the answer of an event: a page whose data are in
//! the controller ([`PageOut`]), or the list of a die's programs or erases. Whoever gets the answer
//! does what follows from it, and then says so ([`Flash::page_taken`], [`Flash::die_done`]): until
//! then the channel or the die counts as taken, so that what follows cannot use it.
//!
//! Superblocks would be a matter of who makes transactions; a queue of commands by age or kind, and
//! the controller's own time for each, would go into `scheduler`.

mod array;
mod channel;
mod gather;
mod long_queues;
mod plane_reads;
mod register_cache;
mod scheduler;
mod striping;
mod suspension;
mod timing;
mod transaction;
mod unit_set;
mod wear;

pub(crate) use channel::PageOut;
pub(crate) use striping::Striping;
pub(crate) use transaction::{Purpose, Transaction};

use crate::accounting::Item;
use crate::base::Base;
use crate::engine::Servers;
use crate::id::{ChannelId, RequestId, TransactionId};
use crate::operation::Class;
use crate::stored::Part;
use array::{FlashArray, Transactions};
use plane_reads::Planes;
use serde::{Deserialize, Serialize};
use ssdtune_ftl::{Ftl, Phys};
use ssdtune_model::config::{BusOrder, GcUnit, Scheduler, Suspension, SuspensionSupport};
use ssdtune_model::{DeviceConfig, Nanos, PageId, PlaneId, TenantId};
use timing::FlashTiming;
use wear::Wear;

/// What of the configuration steers the flash.
#[derive(Clone)]
struct Rules {
    scheduler: Scheduler,
    /// What a free channel carries first.
    order: BusOrder,
    /// Which operations a die can interrupt.
    suspension: SuspensionSupport,
    /// When an operation is interrupted, and what that costs.
    suspend_rules: Suspension,
    /// Array times depend on more than the type of the page: on wear, or on cache commands. Or the
    /// pages of a program have several types.
    times_vary: bool,
    /// A command may go to a die that has one: by cache program, or to another plane.
    joins_others: bool,
    /// Dies have the read cache command: they read the next page while data of the last one leave.
    cache_read: bool,
    /// Dies have the page cache program command: they take data while they program.
    cache_program: bool,
    /// Collection goes before the host only if it is urgent.
    preemptible: bool,
    /// Pages that are moved do not leave their die.
    copyback: bool,
    /// MQSim: translation pages are written back without a flash program.
    free_mapping_writes: bool,
    /// Superblocks are collected in steps: reads go before them, writes behind them.
    in_steps: bool,
    /// MQSim: an erase command goes to one plane.
    single_plane_erases: bool,
    /// Number of priorities in use.
    priorities: u8,
    /// Mapping units that share a page. Each has a plane of its own in the geometry.
    units_per_page: u32,
    /// The FTL knows pages by other places than the flash does.
    places_differ: bool,
    /// What collection reads does not go with reads of other planes in a command.
    single_plane_moves: bool,
    /// A page can go with others in a command if it is in another plane at the same offset.
    joins_by_offset: bool,
}

impl Rules {
    fn new(config: &DeviceConfig, wears: bool) -> Self {
        // Suspension and cache commands are matters of single dies.
        let single_dies = !config.compat.chip_idle_batches;
        // Copyback needs the registers that the read cache command uses.
        let cache_read = config.flash.cache_read && single_dies && !config.gc.copyback;
        let suspension =
            if single_dies { config.suspension.support } else { SuspensionSupport::None };
        let in_steps = config.gc.unit != GcUnit::Block;
        let single_plane_moves = in_steps && config.gc.single_plane_reads;
        let by_priority = config.bus.scheduler == Scheduler::PriorityOutOfOrder;
        Self {
            scheduler: config.bus.scheduler,
            order: config.bus.order,
            suspension,
            suspend_rules: config.suspension.clone(),
            times_vary: wears || cache_read || config.pages_per_program() > 1,
            joins_others: single_dies
                && (config.flash.cache_program || config.flash.independent_plane_reads),
            cache_read,
            cache_program: config.flash.cache_program && single_dies,
            preemptible: config.gc.preemptible,
            copyback: config.gc.copyback,
            free_mapping_writes: config.compat.free_mapping_writes,
            in_steps,
            single_plane_erases: config.compat.single_plane_erases,
            priorities: if by_priority { array::PRIORITIES as u8 } else { 1 },
            units_per_page: config.units_per_page(),
            places_differ: in_steps || config.slc_cache.is_on(),
            single_plane_moves,
            joins_by_offset: config.units_per_page() == 1
                && !config.slc_cache.is_on()
                && !single_plane_moves,
        }
    }

    /// Whether a busy die may be given a command.
    fn busy_dies_take_commands(&self) -> bool {
        self.suspension != SuspensionSupport::None || self.joins_others
    }
}

impl Default for Rules {
    fn default() -> Self {
        Self::new(&DeviceConfig::default(), false)
    }
}

/// The flash and all work that is on its way to it.
#[derive(Clone, Serialize, Deserialize)]
pub(crate) struct Flash {
    #[serde(skip)]
    rules: Rules,
    #[serde(skip)]
    timing: FlashTiming,
    /// Wear in time; `None` if nothing wears.
    #[serde(skip)]
    wear: Option<Wear>,
    /// How superblocks lie on the flash; `None` without superblocks.
    #[serde(skip)]
    striping: Option<Striping>,
    transactions: Transactions,
    array: FlashArray,
    /// Reads of planes that read for themselves; `None` if they do not.
    planes: Option<Planes>,
    /// Transactions that will be queued at the next scheduling. Empty between two events.
    #[serde(skip)]
    staged: Vec<TransactionId>,
    /// Scratch list: channels that a scheduling has to try. Empty between two events.
    #[serde(skip)]
    touched: Vec<ChannelId>,
    /// Scratch list: of each plane of a die one of the pages that the program of word lines takes
    /// which is being gathered. What it says of planes that the program does not use is old.
    #[serde(skip)]
    taken: Vec<Option<TransactionId>>,
    /// While this is not 0, transactions are only staged; the caller schedules when it has staged
    /// all of them. 0 between two events.
    #[serde(skip)]
    deferred: u32,
}

impl Part for Flash {
    fn adopt(&mut self, made: Self) {
        self.rules = made.rules;
        self.timing = made.timing;
        self.taken = made.taken;
        self.array.adopt(made.array);
        self.wear = made.wear;
        self.striping = made.striping;
    }
}

impl Flash {
    /// Flash that has nothing to do.
    pub fn new(config: &DeviceConfig, servers: &Servers) -> Self {
        let wear = Wear::new(config);
        let rules = Rules::new(config, wear.is_some());
        let planes = Planes::new(config);
        let interrupts = rules.busy_dies_take_commands();
        Self {
            timing: FlashTiming::new(config),
            wear,
            striping: Striping::new(config),
            transactions: Transactions::default(),
            array: FlashArray::new(config, servers, interrupts),
            planes,
            rules,
            staged: Vec::new(),
            touched: Vec::new(),
            taken: vec![None; config.geometry().planes_per_die as usize],
            deferred: 0,
        }
    }

    /// Whether dies have the read cache command, and the page cache program command.
    pub fn has_cache_commands(&self) -> [bool; 2] {
        [self.rules.cache_read, self.rules.cache_program]
    }

    /// Adds a transaction.
    #[inline]
    pub fn insert(&mut self, transaction: Transaction) -> TransactionId {
        self.transactions.insert(transaction)
    }

    /// Forgets a transaction that is done.
    #[inline]
    pub fn remove(&mut self, id: TransactionId) {
        self.transactions[id].live = false;
        self.transactions.remove(id);
    }

    #[inline]
    pub fn transaction(&self, id: TransactionId) -> &Transaction {
        &self.transactions[id]
    }

    #[inline]
    pub fn transaction_mut(&mut self, id: TransactionId) -> &mut Transaction {
        &mut self.transactions[id]
    }

    /// Lets a flush wait for all writes of its tenant that no other flush waits for. Returns how
    /// many there are.
    pub fn flush(&mut self, tenant: TenantId, flush: RequestId) -> u32 {
        let mut waits = 0;
        for id in self.transactions.places() {
            let record = &mut self.transactions[id];
            let is_write = record.live && record.class == Class::UserWrite;
            if is_write && record.tenant == tenant && record.flush.is_none() {
                record.flush = Some(flush);
                waits += 1;
            }
        }
        waits
    }

    /// Writes down where on flash a transaction goes.
    #[inline]
    pub fn set_place(&mut self, ftl: &Ftl, id: TransactionId, phys: Phys) {
        let layout = ftl.layout();
        let (mut plane, mut page) = (layout.plane(phys), layout.page(phys));
        if self.rules.places_differ {
            (plane, page) = self.place_on_flash(ftl, phys);
        }
        let place = self.array.place(plane);
        let record = &mut self.transactions[id];
        record.phys = phys;
        record.unit = place.unit;
        record.die = place.die;
        record.plane = place.plane;
        record.page = page;
    }

    /// Where on flash a page lies that the FTL knows as one of a superblock, or of a block in SLC
    /// mode. Pages in SLC mode have offsets behind those of all others: a block is addressed by its
    /// mode, too, and no command mixes modes.
    #[inline(never)]
    fn place_on_flash(&self, ftl: &Ftl, phys: Phys) -> (PlaneId, PageId) {
        let layout = ftl.layout();
        let is_slc = ftl.is_in_slc_mode(layout.block(phys));
        let (mut plane, mut page) = (layout.plane(phys), layout.page(phys));
        if let Some(striping) = &self.striping {
            (plane, page) = striping.place(plane, page, is_slc);
        }
        (plane, if is_slc { PageId(page.0 + self.timing.lines.slc_from) } else { page })
    }

    /// Whether a transaction concerns a block in SLC mode.
    #[inline]
    pub fn is_in_slc_mode(&self, id: TransactionId) -> bool {
        self.transactions[id].page.0 >= self.timing.lines.slc_from
    }

    /// How superblocks lie on the flash; `None` without superblocks.
    #[inline]
    pub fn striping(&self) -> Option<&Striping> {
        self.striping.as_ref()
    }

    /// What waits for the scheduling unit of a plane as the FTL knows it, or has just been placed
    /// there, and its dies at work.
    pub fn backlog(&self, plane: PlaneId) -> u64 {
        let plane = match &self.striping {
            Some(striping) => striping.place(plane, PageId(0), false).0,
            None => plane,
        };
        let unit = &self.array.units[self.array.place(plane).unit];
        u64::from(unit.queued + unit.staged + unit.busy_dies)
    }

    /// Puts a transaction on the list for the next scheduling, with the read that it waits for.
    #[inline]
    pub fn stage(&mut self, id: TransactionId) {
        self.stage_alone(id);
        let record = &self.transactions[id];
        if record.blocked
            && let Some(rest) = record.rest
        {
            self.stage_alone(rest);
        }
    }

    #[inline]
    fn stage_alone(&mut self, id: TransactionId) {
        self.staged.push(id);
        self.array.units[self.transactions[id].unit].staged += 1;
    }

    /// Only stages what follows, until as many calls of [`Flash::resume`] have come.
    pub fn defer(&mut self) {
        self.deferred += 1;
    }

    /// Ends [`Flash::defer`], and schedules what is staged.
    pub fn resume(&mut self, base: &mut Base, ftl: &Ftl) {
        self.deferred -= 1;
        self.schedule(base, ftl);
    }

    /// What a transaction waited for has ended: it may be issued now.
    pub fn unblock(&mut self, base: &mut Base, ftl: &Ftl, id: TransactionId) {
        self.try_channel(base, ftl, self.array.channel_of(self.transactions[id].unit));
    }

    /// The transactions of a list, as they are counted.
    fn items(&self, list: TransactionId) -> impl Iterator<Item = Item> + Clone {
        let first = &self.transactions[list];
        let list = std::iter::successors(Some(first), |record| {
            record.next.map(|next| &self.transactions[next])
        });
        list.map(|record| Item {
            tenant: record.tenant,
            kind: self.timing.page_type(record.page),
            plane: record.plane / self.rules.units_per_page as u8,
            row: (record.page.0 % self.timing.lines.pages) as u8,
            sectors: record.sectors.into(),
        })
    }

    /// Time that channels and dies have worked, each, with all that has begun.
    pub fn busy(&self) -> [Vec<Nanos>; 2] {
        let channels = self.array.channels.iter().map(|channel| channel.busy);
        [channels.collect(), self.array.dies.iter().map(|die| die.busy).collect()]
    }

    /// Of a span of time that ends now, the part in which dies did not work, all dies together.
    pub fn idle(&self, since: Nanos, now: Nanos) -> Nanos {
        Nanos(self.array.dies.iter().map(|die| die.idle(since, now).0).sum())
    }

    /// Asserts that queues, dies and counters agree. `elsewhere` transactions are not here yet, and
    /// those are `all` of them, unless some wait for their mappings.
    pub fn check(&self, elsewhere: usize, all: bool) {
        if let Some(planes) = &self.planes {
            planes.check(&self.array, &self.transactions);
        }
        assert!(self.staged.is_empty() && self.touched.is_empty() && self.deferred == 0);
        let found = self.array.check(&self.transactions) + elsewhere;
        let wait = self.transactions.len().checked_sub(found);
        assert!(wait.is_some_and(|wait| wait == 0 || !all), "{found} transactions, {wait:?} more");
    }
}
