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

use super::Flash;
use super::array::{DieState, Loaded};
use super::wear::Wear;
use crate::base::Base;
use crate::id::{ChannelId, DieId, TransactionId, UnitId};
use crate::operation::{Class, Work};
use ssdtune_ftl::Ftl;
use ssdtune_model::Nanos;

impl Flash {
    /// Whether a unit may take nothing but reads, because its cache register holds data.
    #[inline]
    pub(super) fn keeps_to_reads(&self, unit: UnitId) -> bool {
        self.rules.cache_read && {
            let die = self.array.units[unit].first_die;
            self.array.dies[die].out.is_some()
        }
    }

    /// The array has read: the data go to the cache register, or wait until it is empty.
    #[inline(never)]
    pub(super) fn fill_cache_register(&mut self, base: &mut Base, ftl: &Ftl, die: DieId) {
        if self.array.dies[die].out.is_none() {
            self.pass_to_cache(base, ftl, die);
        }
    }

    /// Moves data from the page register to the cache register, so that the array is free for the
    /// next read.
    fn pass_to_cache(&mut self, base: &mut Base, ftl: &Ftl, die: DieId) {
        let record = &mut self.array.dies[die];
        let list = record.list.take();
        record.out = list;
        let unit = record.unit;
        self.free_die(base, ftl, die);
        let channel = self.array.channel_of(unit);
        if self.is_free(base, channel) {
            self.next_read(base, ftl, unit);
        } else {
            self.array.channels[channel].next_reads.push_back(unit);
        }
        self.data_ready(base, die, list);
    }

    /// Gives a unit its next read if it is idle and a read waits.
    fn next_read(&mut self, base: &mut Base, ftl: &Ftl, unit: UnitId) -> bool {
        self.array.units[unit].busy_dies == 0 && self.serve_reads::<false>(base, ftl, unit, true)
    }

    /// Uses a free channel for the next read command of a die whose last data wait for the channel.
    /// Returns whether there was one.
    #[inline(never)]
    pub(super) fn serve_next_reads(
        &mut self,
        base: &mut Base,
        ftl: &Ftl,
        channel: ChannelId,
    ) -> bool {
        while let Some(unit) = self.array.channels[channel].next_reads.pop_front() {
            if self.next_read(base, ftl, unit) && self.array.channels[channel].current.is_some() {
                self.hear_end(base, channel);
                return true;
            }
        }
        false
    }

    /// What follows from a page that has left the cache register of a die is done.
    #[inline(never)]
    pub(super) fn cached_page_taken(&mut self, base: &mut Base, ftl: &Ftl, die: DieId) {
        let record = &self.array.dies[die];
        if record.out.is_none() && record.state == DieState::DataOut {
            self.pass_to_cache(base, ftl, die);
        }
    }

    /// Whether a unit's die can take the data of a program while it programs.
    pub(super) fn may_load(&self, unit: UnitId) -> bool {
        if !self.rules.cache_program {
            return false;
        }
        let record = &self.array.units[unit];
        let die = &self.array.dies[record.first_die];
        let reads = [Class::UserRead, Class::MappingRead, Class::GcRead];
        die.state == DieState::Busy
            && die.class.work() == Work::Program
            && die.loaded.is_none()
            && die.suspended.is_none()
            && die.kept.is_none()
            && reads.iter().all(|&class| record.waits(class) == 0)
    }

    /// Sends the command and the data of a program to a die that programs. The channel is free.
    #[inline(never)]
    pub(super) fn load(
        &mut self,
        base: &mut Base,
        list: TransactionId,
        planes: u32,
        command: Nanos,
    ) {
        let first = &self.transactions[list];
        let (die, unit, class) = (first.die, first.unit, first.class);
        base.books.count_flash(first.tenant, |flash| flash.cache_programs += 1);
        let at = self.carry_command(base, self.array.channel_of(unit), command);
        self.array.dies[die].loaded = Some(Loaded { list, class, planes, at });
    }

    /// The array has programmed: it goes on with the loaded program. Returns whether there is one.
    #[inline(never)]
    pub(super) fn start_loaded(&mut self, base: &mut Base, ftl: &Ftl, die: DieId) -> bool {
        let record = &mut self.array.dies[die];
        let Some(loaded) = record.loaded.take() else { return false };
        record.list = Some(loaded.list);
        record.class = loaded.class;
        record.planes = loaded.planes;
        let from = (base.now() + self.timing.cache_busy).max(loaded.at);
        self.start_array(base, ftl, die, from);
        true
    }

    /// The time of an array operation, and the repetitions of its reads, if either depends on more
    /// than the page type. The slowest plane decides the time.
    #[cold]
    pub(super) fn varied(
        &mut self,
        base: &mut Base,
        ftl: &Ftl,
        die: DieId,
        work: Work,
        fresh: Nanos,
        kind: usize,
    ) -> (Nanos, u32) {
        let record = &self.array.dies[die];
        let Some(first) = record.list else { return (fresh, 0) };
        let overlaps = record.out.is_some();
        let (mut takes, repeated) = self.worn(base, ftl, first, work, fresh, kind);
        if overlaps {
            takes += self.timing.cache_busy;
            let tenant = self.transactions[first].tenant;
            base.books.count_flash(tenant, |flash| flash.cache_reads += 1);
        }
        (takes, repeated)
    }

    /// The time and the repetitions by the wear of the blocks.
    pub(super) fn worn(
        &self,
        base: &mut Base,
        ftl: &Ftl,
        first: TransactionId,
        work: Work,
        fresh: Nanos,
        kind: usize,
    ) -> (Nanos, u32) {
        let Some(wear) = &self.wear else { return (fresh, 0) };
        let (mut longest, mut repeated) = (Nanos::ZERO, 0);
        let mut at = Some(first);
        while let Some(id) = at {
            let record = &self.transactions[id];
            let erases = ftl.block_erases(ftl.layout().block(record.phys));
            let mut takes = wear.time(work, fresh, erases);
            if work == Work::Read {
                let retries = wear.retries(record.phys, erases);
                takes = Wear::repeated(takes, retries);
                repeated += retries;
                if retries > 0 {
                    base.books.read_again(record.tenant, kind, retries);
                }
            }
            longest = longest.max(takes);
            at = record.next;
        }
        (longest, repeated)
    }
}
