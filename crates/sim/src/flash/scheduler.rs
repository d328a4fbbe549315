//! The scheduler: which transactions become a command, and when.
//!
//! A channel that is idle asks its units in turn. A unit that is idle takes reads, else programs,
//! else erases, with one command for each of its dies. A command gathers transactions of one die in
//! different planes: the first one whatever its page offset, further ones only with the same offset
//! as the oldest transaction of the queue. With `flash.one_shot` a program gathers all pages of a
//! word line in each plane. Reads of translation pages go before everything.
//! Collection goes before or after the host, depending on its urgency.

use super::array::{DieState, PRIORITIES, Source};
use super::gather::Batch;
use super::{Flash, Transaction};
use crate::accounting::{Extent, Pages};
use crate::base::Base;
use crate::id::{ChannelId, DieId, TransactionId, UnitId};
use crate::operation::{Class, Work};
use ssdtune_ftl::Ftl;
use ssdtune_model::PlaneId;
use ssdtune_model::config::{BusOrder, Scheduler};

/// Commands of each priority that are served in one round. Priority 0 is served before all rounds.
const WEIGHTS: [u8; PRIORITIES] = [0, 4, 2, 1];

impl Flash {
    /// Queues the staged transactions and tries the channels they belong to, unless the caller has
    /// more to stage.
    #[inline]
    pub fn schedule(&mut self, base: &mut Base, ftl: &Ftl) {
        if self.deferred > 0 {
            return;
        }
        if let [one] = self.staged[..] {
            self.staged.clear();
            self.schedule_one(base, ftl, one);
        } else if !self.staged.is_empty() {
            self.schedule_many(base, ftl);
        }
    }

    #[inline]
    fn schedule_one(&mut self, base: &mut Base, ftl: &Ftl, id: TransactionId) {
        let unit = self.transactions[id].unit;
        self.array.units[unit].staged -= 1;
        let channel = self.array.channel_of(unit);
        if self.meets_nobody(base, id) {
            self.array.channels[channel].pass_turn(unit);
            self.transactions[id].next = None;
            self.issue(base, ftl, id, Extent::ONE);
            return;
        }
        self.array.enqueue(&mut self.transactions, id);
        self.try_channel(base, ftl, channel);
    }

    fn schedule_many(&mut self, base: &mut Base, ftl: &Ftl) {
        let mut staged = std::mem::take(&mut self.staged);
        let mut touched = std::mem::take(&mut self.touched);
        for &id in &staged {
            let unit = self.transactions[id].unit;
            self.array.units[unit].staged -= 1;
            self.array.enqueue(&mut self.transactions, id);
            touched.push(self.array.channel_of(unit));
        }
        staged.clear();
        self.staged = staged;
        touched.sort_unstable();
        touched.dedup();
        for &channel in &touched {
            self.try_channel(base, ftl, channel);
        }
        touched.clear();
        self.touched = touched;
    }

    /// If a channel is free, asks its units in turn until one of them takes it.
    pub(super) fn try_channel(&mut self, base: &mut Base, ftl: &Ftl, channel: ChannelId) {
        if self.array.channels[channel].ready.is_empty() || !self.is_free(base, channel) {
            return;
        }
        let record = &self.array.channels[channel];
        let (first, units, turn) = (record.first_unit.0, record.units, record.turn);
        for (mut from, end) in [(turn, units), (0, turn)] {
            while let Some(within) = self.array.channels[channel].ready.next(from)
                && within < end
            {
                let unit = UnitId(first + within);
                self.serve_unit(base, ftl, unit);
                let record = &mut self.array.channels[channel];
                if record.current.is_some() {
                    record.pass_turn(unit);
                    if !record.ready.is_empty() {
                        self.hear_end(base, channel);
                    }
                    return;
                }
                from = within + 1;
            }
        }
    }

    /// Whether a transaction can go to its die without waiting in a queue, because nothing else can
    /// go to its channel.
    #[inline]
    fn meets_nobody(&mut self, base: &mut Base, id: TransactionId) -> bool {
        let record = &self.transactions[id];
        let unit = &self.array.units[record.unit];
        let channel = unit.channel;
        !record.blocked
            && unit.busy_dies == 0
            && unit.queued == 0
            // Ages are given by the queues.
            && self.rules.order != BusOrder::OldestFirst
            // Turns among priorities are kept by the queues.
            && (record.priority == 0 || self.rules.scheduler == Scheduler::OutOfOrder)
            && self.array.channels[channel].ready.is_empty()
            && (record.class.work() == Work::Read || !self.keeps_to_reads(record.unit))
            && self.is_free(base, channel)
    }

    /// Gives a unit what it should do next: reads, else programs, else erases.
    fn serve_unit(&mut self, base: &mut Base, ftl: &Ftl, unit: UnitId) {
        if self.planes.is_some() {
            self.serve_unit_of_planes(base, ftl, unit);
            return;
        }
        let idle = self.array.units[unit].busy_dies == 0;
        if self.serve_reads::<false>(base, ftl, unit, idle) || self.keeps_to_reads(unit) {
            return;
        }
        if !self.serve_programs(base, ftl, unit, idle) && idle {
            self.serve_erases(base, ftl, unit);
        }
    }

    /// Whether collection in a unit goes before host requests.
    fn collection_is_urgent(&self, ftl: &Ftl, unit: UnitId) -> bool {
        if !self.rules.preemptible && !self.rules.in_steps {
            return true;
        }
        let unit = &self.array.units[unit];
        let planes = self.array.units_per_die;
        let first = unit.first_die.0 * planes;
        (first..first + unit.dies * planes).map(PlaneId).any(|plane| match &self.striping {
            Some(striping) => ftl.is_urgent(striping.allocated(plane)),
            None => ftl.is_urgent(plane),
        })
    }

    /// The priority whose turn it is, of those that wait; `None` if none waits.
    fn next_priority(&mut self, unit: UnitId, class: Class) -> Option<u8> {
        if self.array.units[unit].waits(class) == 0 {
            return None;
        }
        let waits = |flash: &Self, priority: u8| {
            flash.array.oldest(&flash.transactions, unit, (class, priority)).is_some()
        };
        if self.rules.scheduler == Scheduler::OutOfOrder || waits(self, 0) {
            return Some(0);
        }
        // High, medium and low priority share in the proportion of 4, 2 and 1 commands.
        let lane = usize::from(class == Class::UserWrite);
        let total: u8 = WEIGHTS.iter().sum();
        for _ in 0..total {
            let turn = self.array.units[unit].rounds[lane];
            self.array.units[unit].rounds[lane] = (turn + 1) % total;
            let priority = match turn {
                0..4 => 1,
                4..6 => 2,
                _ => 3,
            };
            if waits(self, priority) {
                return Some(priority);
            }
        }
        (1..PRIORITIES as u8).find(|&priority| waits(self, priority))
    }

    /// Gives a unit a read command if it should do that next. Returns whether it did.
    // Always, though there is a second caller: that one is rare, and the first one is on the
    // hottest path there is.
    #[inline(always)]
    pub(super) fn serve_reads<const BY_PLANE: bool>(
        &mut self,
        base: &mut Base,
        ftl: &Ftl,
        unit: UnitId,
        idle: bool,
    ) -> bool {
        let waiting = self.array.units[unit].waiting;
        let count = |class: Class| waiting[class as usize];
        let (first, second): (Source, Option<Class>);
        if count(Class::MappingRead) > 0 {
            let gc_first = count(Class::GcRead) > 0 && self.collection_is_urgent(ftl, unit);
            first = (Class::MappingRead, 0);
            second = Some(if gc_first { Class::GcRead } else { Class::UserRead });
        } else if count(Class::GcRead) + count(Class::GcWrite) + count(Class::Erase) > 0
            && self.collection_is_urgent(ftl, unit)
        {
            if count(Class::GcRead) > 0 {
                first = (Class::GcRead, 0);
                second = Some(Class::UserRead);
            } else if count(Class::GcWrite) == 0 && self.erases_wait_for_reads(ftl, unit) {
                // Erases that wait for host reads, and host reads that wait for erases, would block
                // each other for ever.
                let Some(priority) = self.next_priority(unit, Class::UserRead) else {
                    return false;
                };
                first = (Class::UserRead, priority);
                second = None;
            } else {
                return false;
            }
        } else if count(Class::UserRead) > 0 {
            let Some(priority) = self.next_priority(unit, Class::UserRead) else { return false };
            first = (Class::UserRead, priority);
            second = Some(Class::GcRead);
        } else if count(Class::UserWrite) > 0 && !self.rules.in_steps || count(Class::GcRead) == 0 {
            return false;
        } else {
            first = (Class::GcRead, 0);
            second = None;
        }
        if BY_PLANE {
            return self.serve_planes(base, ftl, unit, first, second);
        }
        if !idle && !self.may_suspend(base, unit, first) {
            return false;
        }
        self.issue_batch(base, ftl, unit, first, second);
        true
    }

    /// Gives a unit a program command if it should do that next. Returns whether it did.
    // Always, though there is a second caller, which is rare.
    #[inline(always)]
    pub(super) fn serve_programs(
        &mut self,
        base: &mut Base,
        ftl: &Ftl,
        unit: UnitId,
        idle: bool,
    ) -> bool {
        let waiting = self.array.units[unit].waiting;
        let count = |class: Class| waiting[class as usize];
        let (first, second): (Source, Option<Class>);
        if count(Class::MappingWrite) > 0 && !self.rules.free_mapping_writes {
            first = (Class::MappingWrite, 0);
            second = Some(Class::UserWrite);
        } else if count(Class::GcWrite) + count(Class::Erase) > 0
            && (self.rules.in_steps || self.collection_is_urgent(ftl, unit))
        {
            if count(Class::GcWrite) == 0 {
                return false;
            }
            first = (Class::GcWrite, 0);
            second = Some(Class::UserWrite);
        } else if count(Class::UserWrite) > 0 {
            let Some(priority) = self.next_priority(unit, Class::UserWrite) else { return false };
            first = (Class::UserWrite, priority);
            second = Some(Class::GcWrite);
        } else if count(Class::GcWrite) > 0 {
            first = (Class::GcWrite, 0);
            second = None;
        } else {
            return false;
        }
        if !idle && !self.may_suspend(base, unit, first) && !self.may_load(unit) {
            return false;
        }
        self.issue_batch(base, ftl, unit, first, second);
        true
    }

    /// Gives a unit its erases.
    pub(super) fn serve_erases(&mut self, base: &mut Base, ftl: &Ftl, unit: UnitId) {
        if self.array.units[unit].waits(Class::Erase) > 0 {
            self.issue_batch(base, ftl, unit, (Class::Erase, 0), None);
        }
    }

    /// Gives each idle die of a unit one command if something is ready for it, the die of the
    /// oldest transaction first.
    fn issue_batch(
        &mut self,
        base: &mut Base,
        ftl: &Ftl,
        unit: UnitId,
        first: Source,
        second: Option<Class>,
    ) {
        let Some(oldest) = self.array.oldest(&self.transactions, unit, first) else { return };
        let record = &self.array.units[unit];
        let others = second.map_or(0, |class| record.waits(class));
        if record.waits(first.0) == 1 && others == 0 && first.0 != Class::Erase {
            // Nothing to gather and no other die to look at.
            if !self.transactions[oldest].blocked {
                self.array.dequeue(&mut self.transactions, oldest);
                self.issue(base, ftl, oldest, Extent::ONE);
            }
            return;
        }
        let (first_die, dies) = (record.first_die.0, record.dies);
        let page = self.transactions[oldest].page;
        let start = self.transactions[oldest].die.0 - first_die;
        for step in start..start + dies {
            let within = if step < dies { step } else { step - dies };
            let die = DieId(first_die + within);
            let mut batch = Batch::default();
            self.gather(ftl, die, first, page, &mut batch);
            if let Some(class) = second
                && self.array.units[unit].waits(class) > 0
                && batch.count < self.array.units_per_die * self.timing.lines.pages
            {
                let priorities = match class {
                    Class::UserRead | Class::UserWrite => self.rules.priorities,
                    _ => 1,
                };
                for priority in 0..priorities {
                    self.gather(ftl, die, (class, priority), page, &mut batch);
                }
            }
            debug_assert!(
                batch.units.count_ones() == batch.count || self.timing.lines.pages > 1,
                "one unit for each place"
            );
            if let Some(list) = batch.list {
                let extent = self.extent(list, batch.count);
                self.issue(base, ftl, list, extent);
            }
        }
    }

    /// The plane of its die in which a transaction has its page.
    pub(super) fn plane_of(&self, record: &Transaction) -> u32 {
        u32::from(record.plane) / self.rules.units_per_page
    }

    /// How much a command works on. `list` links its transactions, `units` of them.
    fn extent(&self, list: TransactionId, units: u32) -> Extent {
        let is_one = self.rules.units_per_page == 1;
        Extent { units, pages: if is_one { units } else { self.pages_of(list) } }
    }

    /// The pages that the transactions of a command concern.
    #[inline(never)]
    fn pages_of(&self, list: TransactionId) -> u32 {
        let mut pages = Pages::default();
        let firsts = self.items(list).filter(|item| pages.is_new(item));
        firsts.count() as u32
    }

    /// Whether the erases of a unit wait for nothing but host reads.
    fn erases_wait_for_reads(&self, ftl: &Ftl, unit: UnitId) -> bool {
        let record = &self.array.units[unit];
        if record.waits(Class::UserRead) == 0 {
            return false;
        }
        let mut waits = false;
        for die in record.all_dies() {
            let mut at = self.array.first(die, (Class::Erase, 0));
            while let Some(id) = at {
                let record = &self.transactions[id];
                if !record.blocked && !self.is_being_read(ftl, id) {
                    return false;
                }
                waits |= !record.blocked;
                at = record.next;
            }
        }
        waits
    }

    /// Whether reads still wait for a block that is to be erased.
    pub(super) fn is_being_read(&self, ftl: &Ftl, erase: TransactionId) -> bool {
        let layout = ftl.layout();
        let record = &self.transactions[erase];
        let block = layout.block(record.phys);
        let reads = (0..self.rules.priorities).map(|priority| (Class::UserRead, priority));
        reads.chain([(Class::MappingRead, 0)]).any(|source| {
            let mut at = self.array.first(record.die, source);
            while let Some(id) = at {
                let read = &self.transactions[id];
                let planes = [read, record].map(|one| self.plane_of(one));
                if layout.block(read.phys) == block && planes[0] == planes[1] {
                    return true;
                }
                at = read.next;
            }
            false
        })
    }

    /// Sends a command to a die: at once, or behind the commands of its batch. `list` links its
    /// transactions.
    #[inline]
    pub(super) fn issue(
        &mut self,
        base: &mut Base,
        ftl: &Ftl,
        list: TransactionId,
        extent: Extent,
    ) {
        let record = &self.transactions[list];
        let (class, unit, die) = (record.class, record.unit, record.die);
        let pages = extent.pages as usize;
        let mut sectors = 0;
        let command = match class.work() {
            Work::Read => self.timing.read_command[pages],
            Work::Program => {
                let mut time = self.timing.program_command[pages];
                let mut at = Some(list);
                while let Some(id) = at {
                    let data = u32::from(self.transactions[id].sectors);
                    time += self.timing.transfer(data);
                    sectors += data;
                    at = self.transactions[id].next;
                }
                time
            }
            Work::Erase => self.timing.erase_command[pages],
        };
        let now = base.now();
        base.books.command(now, class, extent, sectors, self.items(list));
        if self.rules.joins_others {
            if self.planes.is_some() && class.work() == Work::Read {
                self.issue_to_plane(base, ftl, list);
                return;
            }
            if class.work() == Work::Program && self.may_load(unit) {
                self.load(base, list, extent.pages, command);
                return;
            }
        }
        let suspend = self.suspend_for(base, unit, die);
        let record = &mut self.array.dies[die];
        record.list = Some(list);
        record.class = class;
        record.planes = extent.pages;
        record.command = command + suspend;
        record.state = DieState::Command;
        self.array.take_die(unit);
        let channel = self.array.channel_of(unit);
        if self.is_free(base, channel) {
            self.start_command(base, ftl, channel, die);
        } else {
            self.array.channels[channel].batch.push_back(die);
        }
    }
}
