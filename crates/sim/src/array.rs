//! What happens on channels and in dies: the ends of commands, of array operations and of data
//! transfers. Copyback and suspension are here, too.

use crate::energy::Work;
use crate::flash::{DieState, Suspended, Transfer};
use crate::simulator::Core;
use crate::tx::{Class, NIL, Purpose, Tx};
use ssdtune_model::Nanos;
use ssdtune_model::config::SuspensionSupport;

impl Core {
    /// A channel has carried what it carried.
    pub(crate) fn channel_event(&mut self, channel: usize) {
        match self.flash.channels[channel].current {
            Some(Transfer::Command) => {
                if let Some(next) = self.flash.channels[channel].batch.pop_front() {
                    self.start_command(channel, next);
                    self.hear_end(channel);
                    return;
                }
                self.flash.channels[channel].current = None;
            }
            Some(Transfer::Data(tx)) => {
                // The host may send more work before the channel counts as free: that work waits
                // until it does.
                self.data_arrived(tx);
                self.flash.channels[channel].current = None;
            }
            None => debug_assert!(false, "an event of an idle channel"),
        }
        self.next_transfer(channel);
    }

    /// Gives a free channel its next work: programs of kept pages first, then data that were read
    /// (translation pages, host reads, collection), then commands.
    fn next_transfer(&mut self, channel: usize) {
        if let Some(die) = self.flash.channels[channel].copybacks.pop_front() {
            self.start_command(channel, die);
            self.hear_end(channel);
            return;
        }
        if self.switches.cache_read && self.serve_cached(channel) {
            return;
        }
        let waiting = &mut self.flash.channels[channel].data_out;
        if let Some(tx) = waiting.iter_mut().find_map(|queue| queue.pop_front()) {
            self.start_data(channel, tx);
            return;
        }
        self.try_channel(channel as u32);
    }

    /// A die's array operation has ended.
    pub(crate) fn die_event(&mut self, die: u32) {
        let class = self.flash.dies[die as usize].class;
        let list = self.flash.dies[die as usize].txs;
        let unit = self.txs[list].unit;
        let channel = self.flash.units[unit as usize].channel as usize;
        match class {
            Class::UserRead | Class::MappingRead | Class::GcRead => {
                self.flash.dies[die as usize].state = DieState::DataOut;
                if self.switches.cache_read && self.flash.dies[die as usize].suspended.is_none() {
                    self.read_ended(unit, die);
                    self.try_channel(channel as u32);
                    return;
                }
                let list = if self.switches.copyback { self.keep_moves(die) } else { list };
                if list == NIL {
                    self.free_die(unit, die);
                } else {
                    self.data_ready(channel, list);
                }
            }
            _ => {
                // The die still counts as taken: what this sets free must neither use it nor
                // interrupt it.
                self.flash.dies[die as usize].state = DieState::DataOut;
                let mut at = list;
                while at != NIL {
                    let next = self.txs[at].next;
                    self.array_done(at);
                    at = next;
                }
                if !self.switches.cache_program || !self.start_loaded(die) {
                    self.free_die(unit, die);
                }
            }
        }
        self.try_channel(channel as u32);
    }

    /// Copyback: pages that were read for moves stay in the die until it can program them. Returns
    /// the other pages. A die that has an operation to resume needs its registers for that and
    /// keeps nothing.
    fn keep_moves(&mut self, die: u32) -> u32 {
        let list = self.flash.dies[die as usize].txs;
        if self.flash.dies[die as usize].suspended.is_some() {
            return list;
        }
        let (moves, others) = self.partition(list, |tx| tx.purpose == Purpose::Move);
        self.flash.dies[die as usize].txs = others;
        if moves != NIL {
            let kept = self.copy_back(moves);
            self.flash.dies[die as usize].kept = kept;
        }
        others
    }

    /// Splits a list in two; both keep the old order.
    fn partition(&mut self, list: u32, first: impl Fn(&Tx) -> bool) -> (u32, u32) {
        let (mut heads, mut tails) = ([NIL; 2], [NIL; 2]);
        let mut at = list;
        while at != NIL {
            let next = std::mem::replace(&mut self.txs[at].next, NIL);
            let side = usize::from(!first(&self.txs[at]));
            match tails[side] {
                NIL => heads[side] = at,
                tail => self.txs[tail].next = at,
            }
            tails[side] = at;
            at = next;
        }
        (heads[0], heads[1])
    }

    /// Copyback: programs those kept pages that go to the same offset, in one command. The others
    /// follow it.
    fn program_kept(&mut self, unit: u32, die: u32) {
        let kept = self.flash.dies[die as usize].kept;
        let page = self.txs[kept].page;
        let (now, later) = self.partition(kept, |tx| tx.page == page);
        let mut count = 0;
        let mut at = now;
        while at != NIL {
            count += 1;
            at = self.txs[at].next;
        }
        self.stats.flash.count_command(Work::Program, count);
        self.stats.flash.count_pages(Work::Program, Class::GcWrite, count);
        self.stats.flash.copybacks += u64::from(count);
        if self.stats.has_several() {
            self.count_copybacks_for_tenants(now, count);
        }
        let takes = self.timing.program_command[count as usize];
        let record = &mut self.flash.dies[die as usize];
        record.txs = now;
        record.kept = later;
        record.class = Class::GcWrite;
        record.planes = count;
        record.command = takes;
        record.state = DieState::Command;
        let channel = self.flash.units[unit as usize].channel as usize;
        if self.is_free(channel) {
            self.start_command(channel, die);
        } else {
            self.flash.channels[channel].copybacks.push_back(die);
        }
    }

    /// Sends the data of pages that were read over the channel, or lets them wait for it.
    // Always, though there is a second caller: that one is rare, and the first one is on the
    // hottest path there is.
    #[inline(always)]
    pub(crate) fn data_ready(&mut self, channel: usize, list: u32) {
        let lane = match self.txs[list].class {
            Class::MappingRead => 0,
            Class::GcRead => 2,
            _ => 1,
        };
        let mut at = list;
        while at != NIL {
            let next = self.txs[at].next;
            if self.is_free(channel) {
                self.start_data(channel, at);
            } else {
                self.flash.channels[channel].data_out[lane].push_back(at);
            }
            at = next;
        }
    }

    /// The data of one page have left their die.
    fn data_arrived(&mut self, tx: u32) {
        let unit = self.txs[tx].unit;
        let die = self.flash.units[unit as usize].first_die + u32::from(self.txs[tx].die);
        if self.switches.cache_read && self.flash.dies[die as usize].out != NIL {
            self.cached_data_arrived(unit, die, tx);
            return;
        }
        let left = self.unlinked(self.flash.dies[die as usize].txs, tx);
        self.flash.dies[die as usize].txs = left;
        self.read_done(tx);
        if self.flash.dies[die as usize].txs == NIL {
            self.free_die(unit, die);
        }
    }

    /// Takes a transaction out of a list. Returns the new head.
    pub(crate) fn unlinked(&mut self, head: u32, tx: u32) -> u32 {
        let next = self.txs[tx].next;
        if head == tx {
            return next;
        }
        let mut at = head;
        while self.txs[at].next != tx {
            at = self.txs[at].next;
        }
        self.txs[at].next = next;
        head
    }

    /// Gives a die that is done its next work: the operation that it put aside, or pages that it
    /// kept. Otherwise it is idle.
    pub(crate) fn free_die(&mut self, unit: u32, die: u32) {
        let now = self.events.now();
        let record = &mut self.flash.dies[die as usize];
        record.txs = NIL;
        record.state = DieState::Idle;
        if let Some(suspended) = record.suspended.take() {
            record.txs = suspended.txs;
            record.class = suspended.class;
            record.state = DieState::Busy;
            record.ends = now + suspended.remaining;
            self.events.push(record.ends, record.server);
            return;
        }
        if record.kept != NIL {
            self.program_kept(unit, die);
            return;
        }
        self.flash.free_die(unit);
    }

    /// Whether a busy unit may be interrupted for a command. Only units of one die can be.
    pub(crate) fn may_suspend(&self, unit: u32, first: (Class, u8)) -> bool {
        let record = &self.flash.units[unit as usize];
        let die = &self.flash.dies[record.first_die as usize];
        if record.dies > 1
            || die.state != DieState::Busy
            || die.suspended.is_some()
            || die.loaded.is_some()
        {
            return false;
        }
        let left = die.ends.saturating_sub(self.events.now());
        let rules = &self.switches.suspend_rules;
        let programs = matches!(
            self.switches.suspension,
            SuspensionSupport::Program | SuspensionSupport::ProgramErase
        );
        let erases = matches!(
            self.switches.suspension,
            SuspensionSupport::Erase | SuspensionSupport::ProgramErase
        );
        let is_read = matches!(first.0, Class::UserRead | Class::MappingRead);
        let list = die.txs;
        if self.txs[list].suspensions() >= rules.interruptions_max {
            return false;
        }
        match (die.class, first.0) {
            (Class::UserWrite | Class::MappingWrite | Class::GcWrite, _) => {
                programs && is_read && left >= rules.program_for_read
            }
            (Class::Erase, Class::UserWrite) => erases && left >= rules.erase_for_program,
            (Class::Erase, _) => erases && is_read && left >= rules.erase_for_read,
            _ => false,
        }
    }

    /// Puts the running operation of a die aside, if there is one. Returns how long that takes.
    pub(crate) fn suspend_for(&mut self, unit: u32, die: u32) -> Nanos {
        let now = self.events.now();
        let record = &mut self.flash.dies[die as usize];
        if record.state != DieState::Busy {
            return Nanos::ZERO;
        }
        self.events.cancel(record.server);
        let remaining = record.ends.saturating_sub(now);
        record.suspended = Some(Suspended { txs: record.txs, class: record.class, remaining });
        let class = record.class;
        self.txs[record.txs].count_suspension();
        let tenant = self.txs[record.txs].tenant;
        self.flash.free_die(unit);
        self.stats.flash.count_suspension(class);
        if self.stats.has_several() {
            self.stats.shares[usize::from(tenant)].flash.count_suspension(class);
        }
        let halt = if class == Class::Erase {
            self.switches.suspend_rules.suspend_erase
        } else {
            self.switches.suspend_rules.suspend_program
        };
        self.timing.suspend_command + halt
    }
}
