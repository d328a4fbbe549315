//! The books: everything that is counted while the drive runs, for the drive and, if several
//! tenants share it, for each of them. Nothing in here decides what the drive does.

mod counts;
mod demand;
mod energy;
mod joules;
mod stats;
mod tenant_share;

pub(crate) use counts::Counts;
pub use counts::FlashCommands;
pub use demand::Demand;
pub use joules::{ControllerEnergy, DramEnergy, Energy, FlashEnergy, PageTypes, TenantEnergy};
pub use stats::LatencySummary;
pub(crate) use stats::{Latencies, OpStats, TenantStats};

use crate::operation::{Class, Work};
use crate::stored::Part;
use crate::vocabulary::{Completion, Observe};
use energy::Meter;
use serde::{Deserialize, Serialize};
use ssdtune_ftl::MappingAccess;
use ssdtune_model::{DeviceConfig, Nanos};
use ssdtune_trace::{Op, TenantId};
use stats::Stats;
use tenant_share::TenantShare;

/// How much a flash command works on.
#[derive(Clone, Copy)]
pub(crate) struct Extent {
    /// Mapping units, or for erases their shares of blocks.
    pub units: u32,
    /// Pages in which the units lie, or blocks.
    pub pages: u32,
}

impl Extent {
    /// One unit in one page.
    pub const ONE: Self = Self { units: 1, pages: 1 };

    /// What reports count: units read and programmed, blocks erased.
    fn counted(self, work: Work) -> u32 {
        if work == Work::Erase { self.pages } else { self.units }
    }
}

/// One unit of a page, or block, of a flash command, as far as it is counted.
#[derive(Clone, Copy)]
pub(crate) struct Item {
    /// Whose data it holds.
    pub tenant: TenantId,
    /// The type of the page.
    pub kind: usize,
    /// The plane of its die.
    pub plane: u8,
    /// The number of its page among those of a plane that one command programs.
    pub row: u8,
    /// Sectors that go over the channel with the command.
    pub sectors: u32,
}

/// Tells the first unit of each page of a command from the others.
#[derive(Default)]
pub(crate) struct Pages([u64; 4]);

impl Pages {
    /// Whether no unit of this page was seen before.
    pub fn is_new(&mut self, item: &Item) -> bool {
        let seen = &mut self.0[usize::from(item.row)];
        let plane = 1 << item.plane;
        let is_new = *seen & plane == 0;
        *seen |= plane;
        is_new
    }
}

/// All counters.
#[derive(Clone, Serialize, Deserialize)]
pub(crate) struct Books {
    pub stats: Stats,
    energy: Meter,
    /// The pages of a program may have different types.
    #[serde(skip)]
    types_mix: bool,
    /// Completions that the caller has not taken yet; `None` if it does not want them.
    pub completions: Option<Vec<Completion>>,
}

impl Part for Books {
    fn adopt(&mut self, made: Self) {
        self.types_mix = made.types_mix;
        // Whether completions are kept is the wish of who restores the drive.
        match made.completions {
            Some(_) => drop(self.completions.get_or_insert_default()),
            None => self.completions = None,
        }
    }
}

impl Books {
    /// Books in which nothing stands.
    pub fn new(config: &DeviceConfig, tenants: usize, observe: Observe) -> Self {
        Self {
            stats: Stats::new(tenants, observe.exact_percentiles),
            energy: Meter::new(config),
            types_mix: config.pages_per_program() > 1,
            completions: observe.completions.then(Vec::new),
        }
    }

    /// Counts something for a tenant, if there are several.
    #[inline]
    fn share(&mut self, tenant: TenantId, add: impl FnOnce(&mut TenantShare)) {
        if let Some(share) = self.stats.shares.get_mut(tenant) {
            add(share);
        }
    }

    /// A request has reached the host's driver. `pages` says how many flash pages it touches.
    #[inline]
    pub fn request_arrived(
        &mut self,
        now: Nanos,
        tenant: TenantId,
        op: Op,
        pages: impl FnOnce() -> u64,
    ) {
        self.stats.first_arrival.get_or_insert(now);
        self.stats.arrived += 1;
        self.share(tenant, |share| {
            share.arrived += 1;
            share.demand.count(op, pages());
            share.energy.request();
        });
        self.energy.request(now);
    }

    /// The host has seen a completion.
    #[inline]
    pub fn request_completed(&mut self, done: Completion) {
        self.stats.complete(&done);
        if let Some(completions) = &mut self.completions {
            completions.push(done);
        }
    }

    /// Counts what a request has met.
    #[inline]
    pub fn count(&mut self, tenant: TenantId, add: impl Fn(&mut Counts)) {
        self.stats.count(tenant, add);
    }

    /// An access to the DRAM takes its time, opens rows, and reads or writes sectors.
    #[inline]
    pub fn dram_works(
        &mut self,
        now: Nanos,
        tenant: TenantId,
        takes: Nanos,
        writes: bool,
        sectors: u32,
        rows: u64,
    ) {
        self.stats.dram_busy += takes;
        self.energy.dram_works(now, writes, sectors, rows);
        self.share(tenant, |share| share.energy.dram_works(writes, sectors, rows));
    }

    /// A command goes to a die. `items` are the mapping units of its pages, or its blocks;
    /// `sectors` go over the channel with it.
    #[inline]
    pub fn command(
        &mut self,
        now: Nanos,
        class: Class,
        extent: Extent,
        sectors: u32,
        items: impl Iterator<Item = Item>,
    ) {
        let work = class.work();
        self.stats.flash.count_command(work, extent.pages);
        self.stats.flash.count_pages(work, class, extent.counted(work));
        if class.work() == Work::Program {
            self.energy.channel_moves(now, sectors);
        }
        if self.stats.has_several() {
            self.share_command(class, extent.pages, items);
        }
    }

    /// A command programs pages that have not left their die. `items` are these pages, `count` of
    /// them.
    pub fn copyback(&mut self, count: u32, items: impl Iterator<Item = Item> + Clone) {
        let class = Class::GcWrite;
        self.stats.flash.count_command(class.work(), count);
        self.stats.flash.count_pages(class.work(), class, count);
        self.stats.flash.copybacks += u64::from(count);
        if self.stats.has_several() {
            let unmoved = items.clone().map(|item| Item { sectors: 0, ..item });
            self.share_command(class, count, unmoved);
            items.for_each(|item| self.share(item.tenant, |share| share.flash.copybacks += 1));
        }
    }

    /// Counts a command for the tenants whose data it concerns.
    #[cold]
    fn share_command(&mut self, class: Class, count: u32, items: impl Iterator<Item = Item>) {
        let work = class.work();
        // The command counts for the tenant of its first page, and the type of that page for all,
        // but for word lines.
        let types_mix = self.types_mix && work == Work::Program;
        // The work on a page counts for the tenant of the first of its units.
        let mut first = None;
        let mut pages = Pages::default();
        for item in items {
            let kind = first.filter(|_| !types_mix).unwrap_or(item.kind);
            let is_new = pages.is_new(&item);
            self.share(item.tenant, |share| {
                if first.is_none() {
                    share.flash.count_command(work, count);
                }
                if is_new || work != Work::Erase {
                    share.flash.count_pages(work, class, 1);
                }
                share.energy.die_works(work, kind, u32::from(is_new));
                if work == Work::Program {
                    share.energy.channel_moves(item.sectors);
                }
            });
            first = Some(kind);
        }
    }

    /// The data of a page leave their die.
    #[inline]
    pub fn data_out(&mut self, now: Nanos, tenant: TenantId, sectors: u32) {
        self.energy.channel_moves(now, sectors);
        self.share(tenant, |share| share.energy.channel_moves(sectors));
    }

    /// A die works on a number of pages of a type, or of blocks, for a time that begins now or a
    /// little later.
    #[inline]
    pub fn die_works(&mut self, now: Nanos, work: Work, kind: usize, count: u32, time: [Nanos; 2]) {
        self.energy.die_works(now, work, kind, count, time);
    }

    /// A die works on more pages than it does already, for a time that begins now or a little
    /// later. For `alone` of this time it would be idle without them.
    pub fn die_works_along(
        &mut self,
        now: Nanos,
        work: Work,
        kind: usize,
        count: u32,
        time: [Nanos; 2],
        alone: Nanos,
    ) {
        self.energy.die_works_along(now, work, kind, count, time, alone);
    }

    /// A page is read again, several times. The drive's energy for that is counted with the read.
    pub fn read_again(&mut self, tenant: TenantId, kind: usize, times: u32) {
        self.stats.flash.read_retries += u64::from(times);
        self.share(tenant, |share| {
            share.flash.read_retries += u64::from(times);
            share.energy.die_works(Work::Read, kind, times);
        });
    }

    /// Counts something about flash commands for the drive and for a tenant.
    #[inline]
    pub fn count_flash(&mut self, tenant: TenantId, add: impl Fn(&mut FlashCommands)) {
        add(&mut self.stats.flash);
        self.share(tenant, |share| add(&mut share.flash));
    }

    /// A transaction has looked for its mapping. The FTL counts for the drive.
    #[inline]
    pub fn mapping_looked_up(&mut self, tenant: TenantId, access: MappingAccess, write: bool) {
        self.share(tenant, |share| share.count_lookup(access, write));
    }

    /// A translation page is written back. The FTL counts for the drive.
    pub fn mapping_written_back(&mut self, tenant: TenantId) {
        self.share(tenant, |share| share.ftl.mapping_writebacks += 1);
    }

    /// A block with data of a tenant is collected. The FTL counts for the drive.
    pub fn victim_chosen(&mut self, tenant: TenantId, for_wear: bool) {
        self.share(tenant, |share| share.count_victim(for_wear));
    }

    /// A page of a victim has a new place, or needs none. The FTL counts moves for the drive.
    pub fn page_moved(&mut self, tenant: TenantId, placed: bool, for_wear: bool) {
        let levels = u64::from(placed && for_wear);
        self.count(tenant, |counts| counts.wear_moved_pages += levels);
        self.share(tenant, |share| share.count_move(placed));
    }

    /// Moves had no effect, since the host was faster. The FTL counts for the drive.
    pub fn moves_dropped(&mut self, tenant: TenantId, moves: u64) {
        self.share(tenant, |share| share.ftl.moves_dropped += moves);
    }

    /// Energy from the first arrival until now. `idle` says for how much of a time that ends now
    /// dies have not worked, all dies together.
    pub fn energy(&self, now: Nanos, idle: impl Fn(Nanos) -> Nanos) -> Energy {
        let since = self.stats.first_arrival.map_or(Nanos::ZERO, |first| now - first);
        self.energy.report(now, since, idle(since))
    }

    /// What the work of a tenant has cost, and what the work of all tenants has cost, in joule.
    pub fn work_j(&self, tenant: TenantId) -> [f64; 2] {
        let share = self.stats.shares.get(tenant);
        self.energy.work_j(share.map(|share| &share.energy))
    }

    /// Asserts that no request is lost, and that the tenants' shares are the whole.
    pub fn check(&self) {
        let stats = &self.stats;
        assert!(stats.completed <= stats.arrived, "more requests completed than arrived");
        let all =
            |figure: fn(&TenantShare) -> u64| -> u64 { stats.shares.iter().map(figure).sum() };
        if stats.has_several() {
            assert_eq!(all(|share| share.arrived), stats.arrived);
            assert_eq!(all(|share| share.flash.pages_read), stats.flash.pages_read);
            assert_eq!(all(|share| share.flash.blocks_erased), stats.flash.blocks_erased);
            let programmed = |flash: &FlashCommands| {
                [
                    flash.pages_programmed_host,
                    flash.pages_programmed_moved,
                    flash.pages_programmed_mapping,
                ]
            };
            let mut shares = [0; 3];
            for share in &stats.shares {
                let of = programmed(&share.flash);
                shares.iter_mut().zip(of).for_each(|(sum, pages)| *sum += pages);
            }
            assert_eq!(shares, programmed(&stats.flash));
        }
    }
}
