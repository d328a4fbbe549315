//! What happens on channels and in dies: commands, array operations and data transfers begin and
//! end. Copyback is here, too.

use super::Flash;
use super::array::{DieState, Transfer};
use super::transaction::{Purpose, Transaction};
use crate::accounting::Pages;
use crate::base::Base;
use crate::id::{ChannelId, DieId, TransactionId};
use crate::operation::{Class, Work};
use ssdtune_ftl::Ftl;
use ssdtune_model::Nanos;
use ssdtune_model::config::BusOrder;

/// A page whose data have left their die.
#[derive(Clone, Copy)]
pub(crate) struct PageOut {
    /// The transaction that read it.
    pub transaction: TransactionId,
    die: DieId,
    /// The plane within the die.
    plane: u8,
    /// Its data were in the cache register, not in the page register.
    from_cache: bool,
}

impl Flash {
    /// Sends a command over a free channel. Its end is known, and so is that of the array operation
    /// behind it. So the channel needs an event of its own only if somebody asks for the channel
    /// before.
    pub(super) fn start_command(
        &mut self,
        base: &mut Base,
        ftl: &Ftl,
        channel: ChannelId,
        die: DieId,
    ) {
        let from = self.carry_command(base, channel, self.array.dies[die].command);
        self.start_array(base, ftl, die, from);
    }

    /// Lets a free channel carry a command. Returns when it ends; that is no event yet.
    pub(super) fn carry_command(
        &mut self,
        base: &mut Base,
        channel: ChannelId,
        takes: Nanos,
    ) -> Nanos {
        let now = base.now();
        let bus = &mut self.array.channels[channel];
        debug_assert!(bus.current.is_none());
        bus.current = Some(Transfer::Command);
        bus.busy += takes;
        bus.unheard = Some(base.events.key(now + takes, now, bus.server));
        now + takes
    }

    /// Starts the array of a die, now or a little later.
    // Always, though there is a second caller: that one is rare, and the first one is on the
    // hottest path there is.
    #[inline(always)]
    pub(super) fn start_array(&mut self, base: &mut Base, ftl: &Ftl, die: DieId, from: Nanos) {
        let record = &self.array.dies[die];
        let Some(first) = record.list else { return };
        let work = record.class.work();
        let (mut takes, kind) = self.timing.array(work, self.transactions[first].page);
        let mut count = record.planes;
        if self.rules.times_vary {
            let repeated;
            (takes, repeated) = self.varied(base, ftl, die, work, takes, kind);
            count += repeated;
            if self.timing.lines.pages > 1 && work == Work::Program {
                count = self.count_other_types(base, first, kind, [from, from + takes]);
            }
        }
        let record = &mut self.array.dies[die];
        record.state = DieState::Busy;
        record.ends = from + takes;
        record.busy += takes;
        base.books.die_works(base.events.now(), work, kind, count, [from, record.ends]);
        base.events.push_caused(record.ends, from, record.server);
    }

    /// Counts the pages that a command programs beside those of one type. Returns how many are of
    /// that type.
    #[cold]
    fn count_other_types(
        &self,
        base: &mut Base,
        first: TransactionId,
        kind: usize,
        time: [Nanos; 2],
    ) -> u32 {
        let (now, mut count) = (base.now(), 0);
        let mut pages = Pages::default();
        for item in self.items(first).filter(|item| pages.is_new(item)) {
            if item.kind == kind {
                count += 1;
            } else {
                let alone = Nanos::ZERO;
                base.books.die_works_along(now, Work::Program, item.kind, 1, time, alone);
            }
        }
        count
    }

    /// Whether a channel is free. If not, the caller waits for it: the end of what it carries
    /// becomes an event.
    #[inline]
    pub(super) fn is_free(&mut self, base: &mut Base, channel: ChannelId) -> bool {
        let record = &mut self.array.channels[channel];
        if record.current.is_none() {
            return true;
        }
        let Some(end) = record.unheard else { return false };
        if base.events.is_past(end) {
            record.current = None;
            record.unheard = None;
            return true;
        }
        self.hear_end(base, channel);
        false
    }

    /// Makes the end of a command an event, because somebody waits for the channel.
    pub(super) fn hear_end(&mut self, base: &mut Base, channel: ChannelId) {
        if let Some(end) = self.array.channels[channel].unheard.take() {
            base.events.push_key(end);
        }
    }

    /// A channel has carried what it carried. If that were the data of a page, do what follows from
    /// it, then call [`Flash::page_taken`].
    #[inline]
    pub fn channel_event(
        &mut self,
        base: &mut Base,
        ftl: &Ftl,
        channel: ChannelId,
    ) -> Option<PageOut> {
        let record = &mut self.array.channels[channel];
        match record.current {
            Some(Transfer::Data(transaction)) => return Some(self.page_out(transaction)),
            Some(Transfer::Command) => {
                if let Some(next) = record.batch.pop_front() {
                    record.current = None;
                    self.start_command(base, ftl, channel, next);
                    self.hear_end(base, channel);
                    return None;
                }
                record.current = None;
            }
            None => debug_assert!(false, "an event of an idle channel"),
        }
        self.next_transfer(base, ftl, channel);
        None
    }

    /// Takes a page whose data have left its die off that die's list.
    #[inline]
    fn page_out(&mut self, transaction: TransactionId) -> PageOut {
        let Transaction { die, plane, .. } = self.transactions[transaction];
        let record = &self.array.dies[die];
        let from_cache = self.rules.cache_read && record.out.is_some();
        if from_cache {
            self.array.dies[die].out = self.without(record.out, transaction);
        } else {
            self.array.dies[die].list = self.without(record.list, transaction);
        }
        PageOut { transaction, die, plane, from_cache }
    }

    /// A list without one of its transactions.
    fn without(
        &mut self,
        head: Option<TransactionId>,
        leaves: TransactionId,
    ) -> Option<TransactionId> {
        let next = self.transactions[leaves].next;
        if head == Some(leaves) {
            return next;
        }
        let mut at = head;
        while let Some(id) = at {
            at = self.transactions[id].next;
            if at == Some(leaves) {
                self.transactions[id].next = next;
                break;
            }
        }
        head
    }

    /// What follows from the data of a page is done. The die, if that was its last page, and the
    /// channel are free for their next work.
    #[inline]
    pub fn page_taken(&mut self, base: &mut Base, ftl: &Ftl, page: PageOut) {
        let record = &self.array.dies[page.die];
        let channel = self.array.channel_of(record.unit);
        if page.from_cache {
            self.cached_page_taken(base, ftl, page.die);
        } else if record.list.is_none() {
            self.free_die(base, ftl, page.die);
        } else if record.state == DieState::Reading {
            self.plane_taken(page.die, page.plane);
        }
        self.array.channels[channel].current = None;
        self.next_transfer(base, ftl, channel);
    }

    /// Gives a free channel its next work: programs of kept pages first, then data that were read
    /// (translation pages, host reads, collection), then commands. `bus.order` may let commands go
    /// before data.
    fn next_transfer(&mut self, base: &mut Base, ftl: &Ftl, channel: ChannelId) {
        if let Some(die) = self.array.channels[channel].copybacks.pop_front() {
            self.start_command(base, ftl, channel, die);
            self.hear_end(base, channel);
            return;
        }
        if self.rules.cache_read && self.serve_next_reads(base, ftl, channel) {
            return;
        }
        if self.rules.order != BusOrder::DataFirst && self.commands_went_first(base, ftl, channel) {
            return;
        }
        let waiting = &mut self.array.channels[channel].data_out;
        if let Some(id) = waiting.iter_mut().find_map(|queue| queue.pop_front()) {
            self.start_data(base, channel, id);
            return;
        }
        self.try_channel(base, ftl, channel);
    }

    /// Gives a free channel commands if they go before the data that wait for it. Returns whether
    /// it did.
    fn commands_went_first(&mut self, base: &mut Base, ftl: &Ftl, channel: ChannelId) -> bool {
        if self.rules.order == BusOrder::OldestFirst && !self.oldest_is_command(channel) {
            return false;
        }
        self.try_channel(base, ftl, channel);
        let record = &self.array.channels[channel];
        if record.current.is_none() {
            return false;
        }
        if record.data_out.iter().any(|queue| !queue.is_empty()) {
            self.hear_end(base, channel);
        }
        true
    }

    /// Whether the transaction that has waited longest for a channel, of those that may go now,
    /// waits for a command, not for its data to leave.
    fn oldest_is_command(&self, channel: ChannelId) -> bool {
        let waiting =
            self.array.channels[channel].data_out.iter().filter_map(|queue| queue.front());
        let ages = waiting.map(|&id| self.array.age(&self.transactions[id]));
        let Some(oldest_data) = ages.max() else { return true };
        self.array.oldest_ready(&self.transactions, channel).is_some_and(|age| age > oldest_data)
    }

    /// A die's array operation has ended. Returns its list of programs or erases, if it is one: do
    /// what follows from each, then call [`Flash::die_done`]. A read goes on by itself, unless its
    /// pages may stay in the die: see [`Flash::reads_ended`].
    #[inline]
    pub fn array_ended(&mut self, die: DieId) -> (Option<TransactionId>, Work) {
        let record = &mut self.array.dies[die];
        // The die still counts as taken: what this sets free must neither use it nor interrupt it.
        record.state = DieState::DataOut;
        (record.list, record.class.work())
    }

    /// What follows from the programs or erases of a die is done: the die is free for its next
    /// work.
    pub fn die_done(&mut self, base: &mut Base, ftl: &Ftl, die: DieId) {
        if !self.rules.cache_program || !self.start_loaded(base, ftl, die) {
            self.free_die(base, ftl, die);
        }
        self.try_channel_of(base, ftl, die);
    }

    /// Copyback: takes the pages that a die has read to be moved off its list. A die that has an
    /// operation to resume needs its registers for that and keeps nothing.
    pub fn take_moves(&mut self, die: DieId) -> Option<TransactionId> {
        if !self.rules.copyback || self.array.dies[die].suspended.is_some() {
            return None;
        }
        let list = self.array.dies[die].list;
        let (moves, others) =
            self.partition(list, |record| matches!(record.purpose, Purpose::Move(_)));
        self.array.dies[die].list = others;
        moves
    }

    /// Copyback: lets a die keep pages until it can program them.
    pub fn keep(&mut self, die: DieId, pages: Option<TransactionId>) {
        self.array.dies[die].kept = pages;
    }

    /// The reads of a die have ended: their data go over the channel, or wait for it.
    #[inline]
    pub fn reads_ended(&mut self, base: &mut Base, ftl: &Ftl, die: DieId) {
        let record = &self.array.dies[die];
        if self.rules.cache_read && record.suspended.is_none() {
            self.fill_cache_register(base, ftl, die);
        } else if record.list.is_none() {
            self.free_die(base, ftl, die);
        } else {
            self.data_ready(base, die, record.list);
        }
        self.try_channel_of(base, ftl, die);
    }

    #[inline]
    pub(super) fn try_channel_of(&mut self, base: &mut Base, ftl: &Ftl, die: DieId) {
        let channel = self.array.channel_of(self.array.dies[die].unit);
        self.try_channel(base, ftl, channel);
    }

    /// Splits a list in two; both keep the old order.
    fn partition(
        &mut self,
        list: Option<TransactionId>,
        first: impl Fn(&Transaction) -> bool,
    ) -> (Option<TransactionId>, Option<TransactionId>) {
        let (mut heads, mut tails) = ([None; 2], [None; 2]);
        let mut at = list;
        while let Some(id) = at {
            at = self.transactions[id].next.take();
            let side = usize::from(!first(&self.transactions[id]));
            match tails[side] {
                None => heads[side] = Some(id),
                Some(tail) => {
                    let tail: TransactionId = tail;
                    self.transactions[tail].next = Some(id);
                }
            }
            tails[side] = Some(id);
        }
        (heads[0], heads[1])
    }

    /// Copyback: programs those kept pages that go to the same offset, in one command. The others
    /// follow it.
    fn program_kept(&mut self, base: &mut Base, ftl: &Ftl, die: DieId, kept: TransactionId) {
        let page = self.transactions[kept].page;
        let (now, later) = self.partition(Some(kept), |record| record.page == page);
        let count = self.items(kept).count() as u32;
        base.books.copyback(count, self.items(kept));
        let record = &mut self.array.dies[die];
        record.list = now;
        record.kept = later;
        record.class = Class::GcWrite;
        record.planes = count;
        record.command = self.timing.program_command[count as usize];
        record.state = DieState::Command;
        let unit = record.unit;
        let channel = self.array.channel_of(unit);
        if self.is_free(base, channel) {
            self.start_command(base, ftl, channel, die);
        } else {
            self.array.channels[channel].copybacks.push_back(die);
        }
    }

    /// Sends the data of pages that were read over the channel, or lets them wait for it.
    // Always, though there is a second caller: that one is rare, and the first one is on the
    // hottest path there is.
    #[inline(always)]
    pub(super) fn data_ready(&mut self, base: &mut Base, die: DieId, list: Option<TransactionId>) {
        let channel = self.array.channel_of(self.array.dies[die].unit);
        let lane = lane(list.map(|first| self.transactions[first].class));
        let mut at = list;
        while let Some(id) = at {
            at = self.transactions[id].next;
            if self.is_free(base, channel) {
                self.start_data(base, channel, id);
            } else {
                self.array.channels[channel].data_out[lane].push_back(id);
            }
        }
    }

    /// Sends the data of one page over the channel, or lets them wait for it.
    pub(super) fn page_ready(&mut self, base: &mut Base, die: DieId, id: TransactionId) {
        let channel = self.array.channel_of(self.array.dies[die].unit);
        if self.is_free(base, channel) {
            self.start_data(base, channel, id);
        } else {
            let lane = lane(Some(self.transactions[id].class));
            self.array.channels[channel].data_out[lane].push_back(id);
        }
    }

    /// Sends the data of one page over a free channel.
    fn start_data(&mut self, base: &mut Base, channel: ChannelId, id: TransactionId) {
        let record = &self.transactions[id];
        let sectors = u32::from(record.sectors);
        let takes = self.timing.transfer(sectors);
        let now = base.now();
        let bus = &mut self.array.channels[channel];
        bus.current = Some(Transfer::Data(id));
        bus.busy += takes;
        base.events.push(now + takes, bus.server);
        base.books.data_out(now, record.tenant, sectors);
    }

    /// Gives a die that is done its next work: the operation that it put aside, or pages that it
    /// kept. Otherwise it is idle.
    pub(super) fn free_die(&mut self, base: &mut Base, ftl: &Ftl, die: DieId) {
        let now = base.now();
        let record = &mut self.array.dies[die];
        record.list = None;
        record.state = DieState::Idle;
        if let Some(suspended) = record.suspended.take() {
            record.list = suspended.list;
            record.class = suspended.class;
            record.state = DieState::Busy;
            record.ends = now + suspended.remaining;
            base.events.push(record.ends, record.server);
            return;
        }
        if let Some(kept) = record.kept {
            self.program_kept(base, ftl, die, kept);
            return;
        }
        let unit = record.unit;
        self.array.free_die(unit);
    }
}

/// Where data wait for a channel: those of translation pages, of host reads, of collection.
#[inline]
fn lane(class: Option<Class>) -> usize {
    match class {
        Some(Class::MappingRead) => 0,
        Some(Class::GcRead) => 2,
        _ => 1,
    }
}
