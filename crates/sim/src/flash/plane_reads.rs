//! Planes that read for themselves: each plane of a die has a read of its own under way, with a
//! command, an array time and a data transfer of its own. Programs and erases take the whole die.
//!
//! A plane is taken from the command of its read until the data have left for the controller; there
//! is no second register (`flash.cache_read` is refused). Reads go first, as everywhere: a die at
//! whose planes reads are under way takes one more if a read waits for a free plane. When it is the
//! turn of a program or an erase, no more reads begin, and the die gets it when the last plane is
//! done; so reads that follow each other in different planes do not keep it away.
//!
//! A read that interrupts a program or an erase lets others follow it, one in each plane.
//!
//! Cost: one branch for a read where this is off.

use super::Flash;
use super::array::{DieState, FlashArray, Source, Transactions};
use crate::accounting::Extent;
use crate::base::Base;
use crate::id::{DieId, Table, TransactionId, UnitId};
use crate::operation::{Class, Work};
use serde::{Deserialize, Serialize};
use ssdtune_ftl::Ftl;
use ssdtune_model::{DeviceConfig, Nanos};

/// Classes that the array reads for.
const READS: [Class; 3] = [Class::UserRead, Class::MappingRead, Class::GcRead];

/// The reads under way in the planes of a die.
#[derive(Clone, Default, Serialize, Deserialize)]
struct PlaneReads {
    /// Planes that cannot take a read now, one bit each.
    taken: u64,
    /// Reads whose array time has not ended, with its end, in the order of their commands. Each has
    /// an event of the die.
    sensing: Vec<(Nanos, TransactionId)>,
    /// It is the turn of a program or an erase: no more reads begin.
    drains: bool,
}

/// The reads of all dies whose planes read for themselves.
#[derive(Clone, Serialize, Deserialize)]
pub(super) struct Planes(Table<DieId, PlaneReads>);

impl Planes {
    /// The planes of a drive; `None` if they do not read for themselves.
    pub fn new(config: &DeviceConfig) -> Option<Self> {
        let on = config.flash.independent_plane_reads && !config.compat.chip_idle_batches;
        on.then(|| Self((0..config.geometry().dies()).map(|_| PlaneReads::default()).collect()))
    }

    /// Asserts that every read of a die has taken its plane, and that no two have the same.
    pub fn check(&self, array: &FlashArray, transactions: &Transactions) {
        for (die, reads) in self.0.named() {
            if array.dies[die].state != DieState::Reading {
                assert!(reads.sensing.is_empty());
                continue;
            }
            let next = |id: &TransactionId| transactions[*id].next;
            let list: Vec<_> = std::iter::successors(array.dies[die].list, next).collect();
            let planes = list.iter().fold(0, |planes: u64, &id| {
                let plane = 1 << transactions[id].plane;
                assert!(planes & plane == 0, "two reads in a plane of die {die:?}");
                planes | plane
            });
            assert_eq!(planes & !reads.taken, 0, "a read in a free plane of die {die:?}");
            assert!(reads.sensing.iter().all(|(_, id)| list.contains(id)));
        }
    }
}

impl Flash {
    /// Gives a unit what it should do next.
    #[inline(never)]
    pub(super) fn serve_unit_of_planes(&mut self, base: &mut Base, ftl: &Ftl, unit: UnitId) {
        if self.take_turn(base, ftl, unit) || !self.may_serve(unit) {
            return;
        }
        let idle = self.array.units[unit].busy_dies == 0;
        if self.serve_reads::<true>(base, ftl, unit, idle) {
            return;
        }
        self.drain(unit);
        self.serve_others(base, ftl, unit, idle);
    }

    /// Gives a unit a program, or erases.
    fn serve_others(&mut self, base: &mut Base, ftl: &Ftl, unit: UnitId, idle: bool) {
        if !self.serve_programs(base, ftl, unit, idle) && idle {
            self.serve_erases(base, ftl, unit);
        }
    }

    /// Whether a unit may take anything now. One whose planes read may take a read for another
    /// plane, unless it is the turn of something else.
    fn may_serve(&mut self, unit: UnitId) -> bool {
        let die = self.array.units[unit].first_die;
        let record = &self.array.dies[die];
        let Some(planes) = &self.planes else { return true };
        if record.state != DieState::Reading {
            return true;
        }
        let (taken, drains) = (planes.0[die].taken, planes.0[die].drains);
        if drains || taken.count_ones() == self.array.units_per_die {
            return false;
        }
        if READS.iter().all(|&class| self.array.units[unit].waits(class) == 0) {
            self.drain(unit);
            return false;
        }
        let priorities = self.rules.priorities;
        let reads = (0..priorities).map(|priority| (Class::UserRead, priority));
        let others = [(Class::MappingRead, 0), (Class::GcRead, 0)];
        let mut sources = reads.chain(others);
        sources.any(|source| self.waits_for_other_plane(die, source, taken).is_some())
    }

    /// Gives an idle die that has waited for its planes what it has waited for. Returns whether it
    /// did.
    fn take_turn(&mut self, base: &mut Base, ftl: &Ftl, unit: UnitId) -> bool {
        let die = self.array.units[unit].first_die;
        if self.array.dies[die].state != DieState::Idle {
            return false;
        }
        match &mut self.planes {
            Some(planes) if planes.0[die].drains => planes.0[die].drains = false,
            _ => return false,
        }
        self.serve_others(base, ftl, unit, true);
        self.array.dies[die].state != DieState::Idle
    }

    /// It is not the turn of reads: no more begin if a program or an erase could.
    fn drain(&mut self, unit: UnitId) {
        let die = self.array.units[unit].first_die;
        if self.array.dies[die].state != DieState::Reading
            || self.array.dies[die].suspended.is_some()
        {
            return;
        }
        let priorities = self.rules.priorities;
        let writes = (0..priorities).map(|priority| (Class::UserWrite, priority));
        let others = [(Class::MappingWrite, 0), (Class::GcWrite, 0), (Class::Erase, 0)];
        let may_begin = writes.chain(others).any(|source| {
            let first = self.array.first(die, source);
            let next = |id: &TransactionId| self.transactions[*id].next;
            std::iter::successors(first, next).any(|id| !self.transactions[id].blocked)
        });
        if let Some(planes) = &mut self.planes {
            planes.0[die].drains = may_begin;
        }
    }

    /// The oldest read of a queue for a plane that is not taken.
    fn waits_for_other_plane(
        &self,
        die: DieId,
        source: Source,
        taken: u64,
    ) -> Option<TransactionId> {
        let mut at = self.array.first(die, source);
        if !self.array.has_other_planes(die, source, taken) {
            return None;
        }
        while let Some(id) = at {
            let record = &self.transactions[id];
            if taken & 1 << record.plane == 0 {
                return Some(id);
            }
            at = record.next;
        }
        None
    }

    /// Sends a read to a free plane of a unit, of the first class if there is one, else of the
    /// second. Returns whether it is the turn of reads.
    #[inline(never)]
    pub(super) fn serve_planes(
        &mut self,
        base: &mut Base,
        ftl: &Ftl,
        unit: UnitId,
        first: Source,
        second: Option<Class>,
    ) -> bool {
        let die = self.array.units[unit].first_die;
        let state = self.array.dies[die].state;
        let reads = matches!(state, DieState::Idle | DieState::Reading);
        if !reads && !self.may_suspend(base, unit, first) {
            return false;
        }
        let taken = match (&self.planes, state) {
            (Some(planes), DieState::Reading) => planes.0[die].taken,
            _ => 0,
        };
        let priorities = self.rules.priorities;
        let of = |class: Class| {
            let count = if class == Class::UserRead { priorities } else { 1 };
            (0..count).map(move |priority| (class, priority))
        };
        let mut sources =
            std::iter::once(first).chain(of(first.0)).chain(second.into_iter().flat_map(of));
        let found = sources.find_map(|source| self.waits_for_other_plane(die, source, taken));
        if let Some(id) = found {
            let units = self.take_page(ftl, id);
            self.issue(base, ftl, id, Extent { units, pages: 1 });
        }
        true
    }

    /// Takes a read and what else waits for the same page out of their queue. Returns how many
    /// there are, linked by `next`.
    fn take_page(&mut self, ftl: &Ftl, first: TransactionId) -> u32 {
        let record = &self.transactions[first];
        let (die, source) = (record.die, (record.class, record.priority));
        let (plane, page, block) =
            (self.plane_of(record), record.page, ftl.layout().block(record.phys));
        self.array.dequeue(&mut self.transactions, first);
        self.transactions[first].next = None;
        let (mut last, mut count, mut taken) = (first, 1, 1_u64 << self.transactions[first].plane);
        let mut at = self.array.first(die, source);
        while let Some(id) = at
            && count < self.rules.units_per_page
        {
            let record = &self.transactions[id];
            at = record.next;
            let unit = 1 << record.plane;
            let is_there = self.plane_of(record) == plane
                && record.page == page
                && ftl.layout().block(record.phys) == block;
            if is_there && taken & unit == 0 {
                self.array.dequeue(&mut self.transactions, id);
                self.transactions[last].next = Some(id);
                self.transactions[id].next = None;
                (last, count, taken) = (id, count + 1, taken | unit);
            }
        }
        count
    }

    /// The places of all units of a plane of a die, one bit each.
    fn units_of(&self, plane: u32) -> u64 {
        let units = self.rules.units_per_page;
        u64::MAX >> (64 - units) << (plane * units)
    }

    /// Sends a read to its plane. The channel is free. `id` links the units of its page.
    #[inline(never)]
    pub(super) fn issue_to_plane(&mut self, base: &mut Base, ftl: &Ftl, id: TransactionId) {
        let record = &self.transactions[id];
        let (class, unit, die, page) = (record.class, record.unit, record.die, record.page);
        let taken = self.units_of(self.plane_of(record));
        let command = self.timing.read_command[1] + self.suspend_for(base, unit, die);
        let (mut takes, kind) = self.timing.array(Work::Read, page);
        let mut count = 1;
        if self.rules.times_vary {
            let repeated;
            (takes, repeated) = self.worn(base, ftl, id, Work::Read, takes, kind);
            count += repeated;
        }
        let Some(planes) = &mut self.planes else { return };
        if self.array.dies[die].state != DieState::Reading {
            self.array.take_die(unit);
            let record = &mut self.array.dies[die];
            (record.state, record.class, record.planes) = (DieState::Reading, class, 1);
            (record.list, record.ends) = (None, base.now());
            planes.0[die].taken = 0;
        }
        planes.0[die].taken |= taken;
        let channel = self.array.channel_of(unit);
        let from = self.carry_command(base, channel, command);
        let record = &mut self.array.dies[die];
        let ends = from + takes;
        // What of this time other planes do not work anyway.
        let alone = ends.saturating_sub(from.max(record.ends));
        record.busy += alone;
        record.ends = record.ends.max(ends);
        base.books.die_works_along(base.events.now(), Work::Read, kind, count, [from, ends], alone);
        let Some(planes) = &mut self.planes else { return };
        let mut at = Some(id);
        while let Some(id) = at {
            at = self.transactions[id].next;
            self.transactions[id].next = record.list.replace(id);
            planes.0[die].sensing.push((ends, id));
            base.events.push_caused(ends, from, record.server);
        }
    }

    /// Handles the event of a die whose planes read for themselves. Returns whether it is one.
    #[inline]
    pub fn plane_event(&mut self, base: &mut Base, ftl: &Ftl, die: DieId) -> bool {
        if self.planes.is_none() || self.array.dies[die].state != DieState::Reading {
            return false;
        }
        self.plane_read_ended(base, die);
        self.try_channel_of(base, ftl, die);
        true
    }

    /// The array has read the page of a plane: its data go over the channel, or wait for it.
    #[inline(never)]
    fn plane_read_ended(&mut self, base: &mut Base, die: DieId) {
        let Some(planes) = &mut self.planes else { return };
        let sensing = &mut planes.0[die].sensing;
        let first = (0..sensing.len()).min_by_key(|&index| sensing[index].0);
        if let Some(first) = first {
            let (ends, id) = sensing.remove(first);
            debug_assert_eq!(ends, base.now());
            self.page_ready(base, die, id);
        }
    }

    /// The data of a plane have left while others still have some: the plane can read again, unless
    /// the die has something to go on with.
    pub(super) fn plane_taken(&mut self, die: DieId, plane: u8) {
        let plane = u32::from(plane) / self.rules.units_per_page;
        let next = |id: &TransactionId| self.transactions[*id].next;
        let mut rest = std::iter::successors(self.array.dies[die].list, next);
        if rest.any(|id| self.plane_of(&self.transactions[id]) == plane) {
            return;
        }
        let units = self.units_of(plane);
        if let Some(planes) = &mut self.planes
            && self.array.dies[die].suspended.is_none()
        {
            planes.0[die].taken &= !units;
        }
    }
}
