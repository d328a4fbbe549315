//! Cache commands of a die with two registers: ONFI read cache and page cache program.
//!
//! Cache read: when the array has read a page, the data go to the cache register, and the array
//! reads the next page while they leave over the channel. The command of the next read goes over
//! the channel before the data, or nothing would overlap. If the array is done first, its data wait
//! in the page register. While data are in the cache register, the die takes reads only. A die with
//! a suspended operation has no register to spare and does without.
//!
//! Cache program: while the array programs, the channel brings the data of one more program. That
//! program begins when the first one has ended and the data are there. Reads go first: nothing is
//! loaded while reads wait for the die. A die with a loaded program is not suspended, since its
//! registers are full.
//!
//! Moving a page from one register to the other delays the array by `flash.cache_busy_ns`. Only
//! units of one die use cache commands, so `compat.chip_idle_batches` has none.

use crate::ageing::Ageing;
use crate::energy::Work;
use crate::flash::{DieState, Loaded, Transfer};
use crate::simulator::Core;
use crate::tx::{Class, NIL};
use ssdtune_model::Nanos;

impl Core {
    /// Whether a unit may take nothing but reads, because its cache register holds data.
    #[inline]
    pub(crate) fn keeps_to_reads(&self, unit: u32) -> bool {
        self.switches.cache_read && {
            let die = self.flash.units[unit as usize].first_die;
            self.flash.dies[die as usize].out != NIL
        }
    }

    /// The array has read: the data go to the cache register, or wait until it is empty.
    #[inline(never)]
    pub(crate) fn read_ended(&mut self, unit: u32, die: u32) {
        if self.flash.dies[die as usize].out == NIL {
            self.pass_to_cache(unit, die);
        }
    }

    /// Moves data from the page register to the cache register, so that the array is free for the
    /// next read.
    fn pass_to_cache(&mut self, unit: u32, die: u32) {
        let record = &mut self.flash.dies[die as usize];
        let list = std::mem::replace(&mut record.txs, NIL);
        record.out = list;
        self.free_die(unit, die);
        let channel = self.flash.units[unit as usize].channel as usize;
        if self.is_free(channel) {
            self.next_cached_read(unit);
        } else {
            self.flash.channels[channel].cached.push_back(unit);
        }
        self.data_ready(channel, list);
    }

    /// Gives a unit its next read if it is idle and a read waits.
    fn next_cached_read(&mut self, unit: u32) -> bool {
        self.flash.units[unit as usize].busy_dies == 0 && self.serve_reads(unit, true)
    }

    /// Uses a free channel for the next read command of a die whose last data wait for the channel.
    /// Returns whether there was one.
    #[inline(never)]
    pub(crate) fn serve_cached(&mut self, channel: usize) -> bool {
        while let Some(unit) = self.flash.channels[channel].cached.pop_front() {
            if self.next_cached_read(unit) && self.flash.channels[channel].current.is_some() {
                self.hear_end(channel);
                return true;
            }
        }
        false
    }

    /// The data of one page have left the cache register of a die.
    #[inline(never)]
    pub(crate) fn cached_data_arrived(&mut self, unit: u32, die: u32, tx: u32) {
        let left = self.unlinked(self.flash.dies[die as usize].out, tx);
        self.flash.dies[die as usize].out = left;
        self.read_done(tx);
        let record = &self.flash.dies[die as usize];
        if record.out == NIL && record.state == DieState::DataOut {
            self.pass_to_cache(unit, die);
        }
    }

    /// Whether a unit's die can take the data of a program while it programs.
    pub(crate) fn may_load(&self, unit: u32) -> bool {
        if !self.switches.cache_program {
            return false;
        }
        let record = &self.flash.units[unit as usize];
        let die = &self.flash.dies[record.first_die as usize];
        let reads = [Class::UserRead, Class::MappingRead, Class::GcRead];
        die.state == DieState::Busy
            && die.class.work() == Work::Program
            && die.loaded.is_none()
            && die.suspended.is_none()
            && die.kept == NIL
            && reads.iter().all(|&class| record.waiting[class as usize] == 0)
    }

    /// Sends the command and the data of a program to a die that programs. The channel is free.
    #[inline(never)]
    pub(crate) fn load(&mut self, die: u32, txs: u32, class: Class, planes: u32, command: Nanos) {
        let now = self.events.now();
        let at = now + command;
        self.flash.dies[die as usize].loaded = Some(Loaded { txs, class, planes, at });
        self.stats.flash.cache_programs += 1;
        if self.stats.has_several() {
            self.stats.shares[usize::from(self.txs[txs].tenant)].flash.cache_programs += 1;
        }
        let unit = self.txs[txs].unit;
        let channel = self.flash.units[unit as usize].channel as usize;
        let bus = &mut self.flash.channels[channel];
        debug_assert!(bus.current.is_none());
        bus.current = Some(Transfer::Command);
        bus.busy += command;
        bus.unheard = Some(self.events.key(at, now, bus.server));
    }

    /// The array has programmed: it goes on with the loaded program. Returns whether there is one.
    #[inline(never)]
    pub(crate) fn start_loaded(&mut self, die: u32) -> bool {
        let record = &mut self.flash.dies[die as usize];
        let Some(loaded) = record.loaded.take() else { return false };
        record.txs = loaded.txs;
        record.class = loaded.class;
        record.planes = loaded.planes;
        let from = (self.events.now() + self.timing.cache_busy).max(loaded.at);
        self.start_array(die, from);
        true
    }

    /// The time of an array operation, and the repetitions of its reads, if either depends on more
    /// than the page type. The slowest plane decides the time.
    #[cold]
    pub(crate) fn varied(
        &mut self,
        die: u32,
        work: Work,
        fresh: Nanos,
        kind: usize,
    ) -> (Nanos, u32) {
        let record = &self.flash.dies[die as usize];
        let (first, overlaps) = (record.txs, record.out != NIL);
        let (mut takes, mut repeated) = (fresh, 0);
        if self.ageing.is_some() {
            (takes, repeated) = self.aged(first, work, fresh, kind);
        }
        if overlaps {
            takes += self.timing.cache_busy;
            self.stats.flash.cache_reads += 1;
            if self.stats.has_several() {
                self.stats.shares[usize::from(self.txs[first].tenant)].flash.cache_reads += 1;
            }
        }
        (takes, repeated)
    }

    /// The time and the repetitions by the wear of the blocks.
    fn aged(&mut self, first: u32, work: Work, fresh: Nanos, kind: usize) -> (Nanos, u32) {
        let Some(ageing) = &self.ageing else { return (fresh, 0) };
        let (mut longest, mut repeated) = (Nanos::ZERO, 0);
        let mut at = first;
        while at != NIL {
            let tx = &self.txs[at];
            let erases = self.ftl.block_erases(self.layout.block(tx.phys));
            let mut takes = ageing.time(work, fresh, erases);
            if work == Work::Read {
                let retries = ageing.retries(tx.phys.to_bits(), erases);
                takes = Ageing::repeated(takes, retries);
                repeated += retries;
                if retries > 0 && self.stats.has_several() {
                    let share = &mut self.stats.shares[usize::from(tx.tenant)];
                    share.flash.read_retries += u64::from(retries);
                    share.energy.die_works(work, kind, retries);
                }
            }
            longest = longest.max(takes);
            at = tx.next;
        }
        self.stats.flash.read_retries += u64::from(repeated);
        (longest, repeated)
    }
}
