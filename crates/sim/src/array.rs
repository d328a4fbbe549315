//! What happens on channels and in dies: ends of commands, array operations and data transfers.

use crate::flash::{DieState, Suspended, Transfer};
use crate::simulator::Core;
use crate::tx::{Class, NIL};
use ssdtune_model::Nanos;
use ssdtune_model::config::SuspensionSupport;

impl Core {
    /// A channel has carried what it carried.
    pub(crate) fn channel_event(&mut self, channel: usize) {
        match self.flash.channels[channel].current {
            Some(Transfer::Command(die)) => {
                self.start_array(die);
                if let Some(next) = self.flash.channels[channel].batch.pop_front() {
                    let takes = self.flash.dies[next as usize].command;
                    self.start_transfer(channel, Transfer::Command(next), takes);
                    return;
                }
                self.flash.channels[channel].current = None;
            }
            Some(Transfer::Data(tx)) => {
                // The host may send more work before the channel is free: it waits until it is.
                self.data_arrived(tx);
                self.flash.channels[channel].current = None;
            }
            None => debug_assert!(false, "an event of an idle channel"),
        }
        self.next_transfer(channel);
    }

    /// A free channel takes waiting read data first: mapping, host, collection; then commands.
    fn next_transfer(&mut self, channel: usize) {
        let waiting = &mut self.flash.channels[channel].data_out;
        if let Some(tx) = waiting.iter_mut().find_map(|queue| queue.pop_front()) {
            let takes = self.timing.transfer(self.txs[tx].sectors.into());
            self.start_transfer(channel, Transfer::Data(tx), takes);
            return;
        }
        self.try_channel(channel as u32);
    }

    fn start_array(&mut self, die: u32) {
        let record = &mut self.flash.dies[die as usize];
        let page = self.txs[record.txs].page;
        let takes = match record.class {
            Class::UserRead | Class::MappingRead | Class::GcRead => self.timing.read(page),
            Class::Erase => self.timing.erase,
            Class::UserWrite | Class::MappingWrite | Class::GcWrite => self.timing.program(page),
        };
        record.state = DieState::Busy;
        record.ends = self.events.now() + takes;
        record.busy += takes;
        self.events.push(record.ends, record.server);
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
                self.data_ready(channel, list);
            }
            _ => {
                // Told while the die still counts as busy: what this sets free must not use it yet.
                let mut at = list;
                while at != NIL {
                    let next = self.txs[at].next;
                    self.array_done(at);
                    at = next;
                }
                self.free_die(unit, die);
            }
        }
        if self.flash.channels[channel].current.is_none() {
            self.try_channel(channel as u32);
        }
    }

    fn data_ready(&mut self, channel: usize, list: u32) {
        let lane = match self.txs[list].class {
            Class::MappingRead => 0,
            Class::GcRead => 2,
            _ => 1,
        };
        let mut at = list;
        while at != NIL {
            let next = self.txs[at].next;
            if self.flash.channels[channel].current.is_none() {
                let takes = self.timing.transfer(self.txs[at].sectors.into());
                self.start_transfer(channel, Transfer::Data(at), takes);
            } else {
                self.flash.channels[channel].data_out[lane].push_back(at);
            }
            at = next;
        }
    }

    /// One page has left its die.
    fn data_arrived(&mut self, tx: u32) {
        let unit = self.txs[tx].unit;
        let die = self.flash.units[unit as usize].first_die + u32::from(self.txs[tx].die);
        self.unlink_from_die(die, tx);
        self.read_done(tx);
        if self.flash.dies[die as usize].txs == NIL {
            self.free_die(unit, die);
        }
    }

    fn unlink_from_die(&mut self, die: u32, tx: u32) {
        let next = self.txs[tx].next;
        let head = self.flash.dies[die as usize].txs;
        if head == tx {
            self.flash.dies[die as usize].txs = next;
            return;
        }
        let mut at = head;
        while self.txs[at].next != tx {
            at = self.txs[at].next;
        }
        self.txs[at].next = next;
    }

    fn free_die(&mut self, unit: u32, die: u32) {
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
        self.flash.units[unit as usize].busy_dies -= 1;
    }

    /// Whether a unit that is busy may be interrupted for a command. Only units of one die are.
    pub(crate) fn may_suspend(&self, unit: u32, first: (Class, u8)) -> bool {
        let record = &self.flash.units[unit as usize];
        let die = &self.flash.dies[record.first_die as usize];
        if record.dies > 1 || die.state != DieState::Busy || die.suspended.is_some() {
            return false;
        }
        let left = die.ends.saturating_sub(self.events.now());
        let rules = &self.suspend_rules;
        let programs =
            matches!(self.suspension, SuspensionSupport::Program | SuspensionSupport::ProgramErase);
        let erases =
            matches!(self.suspension, SuspensionSupport::Erase | SuspensionSupport::ProgramErase);
        let is_read = matches!(first.0, Class::UserRead | Class::MappingRead);
        let list = die.txs;
        if self.txs[list].suspensions() >= crate::tx::SUSPENSIONS_MAX {
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

    /// Puts the running operation of a die aside, if there is one; the time that takes.
    pub(crate) fn suspend_for(&mut self, unit: u32, die: u32) -> Nanos {
        let now = self.events.now();
        let record = &mut self.flash.dies[die as usize];
        if record.state != DieState::Busy {
            return Nanos::ZERO;
        }
        self.events.cancel(record.server);
        let remaining = record.ends.saturating_sub(now);
        record.suspended = Some(Suspended { txs: record.txs, class: record.class, remaining });
        self.txs[record.txs].count_suspension();
        self.flash.units[unit as usize].busy_dies -= 1;
        let halt = if record.class == Class::Erase {
            self.stats.flash.erase_suspensions += 1;
            self.suspend_rules.suspend_erase
        } else {
            self.stats.flash.program_suspensions += 1;
            self.suspend_rules.suspend_program
        };
        self.timing.suspend_command + halt
    }
}
