//! The scheduler: which transactions become a command, and when.
//!
//! A channel that is idle asks its units in turn. A unit that is idle takes reads, else programs,
//! else erases, with one command for each of its dies. A command gathers transactions of one die in
//! different planes: the first one whatever its page offset, further ones only with the same offset
//! as the oldest transaction of the queue. Reads of translation pages go before everything.
//! Collection goes before or after the host, depending on its urgency.

use crate::energy::Work;
use crate::flash::{DieState, PRIORITIES, Transfer};
use crate::simulator::Core;
use crate::tx::{Class, NIL};
use ssdtune_model::Nanos;
use ssdtune_model::config::Scheduler;

/// A class and a priority: where the transactions of a command come from.
type Source = (Class, u8);

/// Commands of each priority that are served in one round. Priority 0 is served before all rounds.
const WEIGHTS: [u8; PRIORITIES] = [0, 4, 2, 1];

impl Core {
    /// Queues the staged transactions, and tries the channels they belong to.
    pub(crate) fn schedule(&mut self) {
        if let [tx] = self.staged[..] {
            self.staged.clear();
            let unit = self.txs[tx].unit;
            let channel = self.flash.units[unit as usize].channel;
            if self.meets_nobody(tx) {
                let record = &mut self.flash.channels[channel as usize];
                let next = unit - record.first_unit + 1;
                record.turn = if next == record.units { 0 } else { next };
                let die = self.flash.units[unit as usize].first_die + u32::from(self.txs[tx].die);
                self.txs[tx].next = NIL;
                self.issue(unit, die, tx, 1);
                return;
            }
            self.flash.enqueue(&mut self.txs, tx);
            self.try_channel(channel);
            return;
        }
        let mut staged = std::mem::take(&mut self.staged);
        for &tx in &staged {
            self.flash.enqueue(&mut self.txs, tx);
            let unit = self.txs[tx].unit;
            self.touched.push(self.flash.units[unit as usize].channel);
        }
        staged.clear();
        self.staged = staged;
        let mut touched = std::mem::take(&mut self.touched);
        if touched.len() > 1 {
            touched.sort_unstable();
            touched.dedup();
        }
        for &channel in &touched {
            self.try_channel(channel);
        }
        touched.clear();
        self.touched = touched;
    }

    /// If a channel is free, asks its units in turn until one of them takes it.
    pub(crate) fn try_channel(&mut self, channel: u32) {
        let index = channel as usize;
        if self.flash.channels[index].ready.is_empty() || !self.is_free(index) {
            return;
        }
        let record = &self.flash.channels[index];
        let (first, units, turn) = (record.first_unit, record.units, record.turn);
        for (mut from, end) in [(turn, units), (0, turn)] {
            while let Some(unit) = self.flash.channels[index].ready.next(from)
                && unit < end
            {
                self.serve_unit(first + unit);
                let record = &mut self.flash.channels[index];
                if record.current.is_some() {
                    record.turn = if unit + 1 == units { 0 } else { unit + 1 };
                    if !record.ready.is_empty() {
                        self.hear_end(index);
                    }
                    return;
                }
                from = unit + 1;
            }
        }
    }

    /// Whether a transaction can go to its die without waiting in a queue, because nothing else can
    /// go to its channel.
    fn meets_nobody(&mut self, tx: u32) -> bool {
        let record = &self.txs[tx];
        let unit = &self.flash.units[record.unit as usize];
        !record.blocked
            && unit.busy_dies == 0
            && unit.queued == 0
            // Turns among priorities are kept by the queues.
            && (record.priority == 0 || self.switches.scheduler == Scheduler::OutOfOrder)
            && self.flash.channels[unit.channel as usize].ready.is_empty()
            && (record.class.work() == Work::Read || !self.keeps_to_reads(record.unit))
            && self.is_free(self.flash.units[self.txs[tx].unit as usize].channel as usize)
    }

    /// Gives a unit what it should do next: reads, else programs, else erases.
    fn serve_unit(&mut self, unit: u32) {
        let idle = self.flash.units[unit as usize].busy_dies == 0;
        if self.serve_reads(unit, idle) || self.keeps_to_reads(unit) {
            return;
        }
        if !self.serve_programs(unit, idle) && idle {
            self.serve_erases(unit);
        }
    }

    /// Whether collection in a unit goes before host requests.
    fn collection_is_urgent(&self, unit: u32) -> bool {
        if !self.switches.preemptible {
            return true;
        }
        let unit = &self.flash.units[unit as usize];
        let planes = self.flash.planes_per_die;
        let first = unit.first_die * planes;
        (first..first + unit.dies * planes)
            .any(|plane| self.ftl.is_urgent(ssdtune_model::PlaneId(plane)))
    }

    /// The priority whose turn it is, of those that wait; `None` if none waits.
    fn next_priority(&mut self, unit: u32, class: Class) -> Option<u8> {
        let waits =
            |core: &Self, priority: u8| core.flash.oldest(&core.txs, unit, class, priority) != NIL;
        if self.flash.units[unit as usize].waiting[class as usize] == 0 {
            return None;
        }
        if self.switches.scheduler == Scheduler::OutOfOrder || waits(self, 0) {
            return Some(0);
        }
        // High, medium and low priority share in the proportion of 4, 2 and 1 commands.
        let lane = (class == Class::UserWrite) as usize;
        let total: u8 = WEIGHTS.iter().sum();
        for _ in 0..total {
            let turn = self.flash.units[unit as usize].turns[lane];
            self.flash.units[unit as usize].turns[lane] = (turn + 1) % total;
            let priority = if turn < 4 {
                1
            } else if turn < 6 {
                2
            } else {
                3
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
    pub(crate) fn serve_reads(&mut self, unit: u32, idle: bool) -> bool {
        let waiting = self.flash.units[unit as usize].waiting;
        let count = |class: Class| waiting[class as usize];
        let (first, second): (Source, Option<Class>);
        if count(Class::MappingRead) > 0 {
            let gc_first = count(Class::GcRead) > 0 && self.collection_is_urgent(unit);
            first = (Class::MappingRead, 0);
            second = Some(if gc_first { Class::GcRead } else { Class::UserRead });
        } else if count(Class::GcRead) + count(Class::GcWrite) + count(Class::Erase) > 0
            && self.collection_is_urgent(unit)
        {
            if count(Class::GcRead) > 0 {
                first = (Class::GcRead, 0);
                second = Some(Class::UserRead);
            } else if count(Class::GcWrite) == 0 && self.erases_wait_for_reads(unit) {
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
        } else if count(Class::UserWrite) > 0 || count(Class::GcRead) == 0 {
            return false;
        } else {
            first = (Class::GcRead, 0);
            second = None;
        }
        if !idle && !self.may_suspend(unit, first) {
            return false;
        }
        self.issue_batch(unit, first, second);
        true
    }

    /// Gives a unit a program command if it should do that next. Returns whether it did.
    fn serve_programs(&mut self, unit: u32, idle: bool) -> bool {
        let waiting = self.flash.units[unit as usize].waiting;
        let count = |class: Class| waiting[class as usize];
        let (first, second): (Source, Option<Class>);
        if count(Class::MappingWrite) > 0 && !self.switches.free_mapping_writes {
            first = (Class::MappingWrite, 0);
            second = Some(Class::UserWrite);
        } else if count(Class::GcWrite) + count(Class::Erase) > 0 && self.collection_is_urgent(unit)
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
        if !idle && !self.may_suspend(unit, first) && !self.may_load(unit) {
            return false;
        }
        self.issue_batch(unit, first, second);
        true
    }

    /// Gives a unit its erases.
    fn serve_erases(&mut self, unit: u32) {
        if self.flash.units[unit as usize].waiting[Class::Erase as usize] > 0 {
            self.issue_batch(unit, (Class::Erase, 0), None);
        }
    }

    /// Gives each idle die of a unit one command if something is ready for it, the die of the
    /// oldest transaction first.
    fn issue_batch(&mut self, unit: u32, first: Source, second: Option<Class>) {
        let oldest = self.flash.oldest(&self.txs, unit, first.0, first.1);
        if oldest == NIL {
            return;
        }
        let waiting = &self.flash.units[unit as usize].waiting;
        let others = second.map_or(0, |class| waiting[class as usize]);
        if waiting[first.0 as usize] == 1 && others == 0 && first.0 != Class::Erase {
            // Nothing to gather and no other die to look at.
            if !self.txs[oldest].blocked {
                let die =
                    self.flash.units[unit as usize].first_die + u32::from(self.txs[oldest].die);
                self.flash.dequeue(&mut self.txs, oldest);
                self.txs[oldest].next = NIL;
                self.issue(unit, die, oldest, 1);
            }
            return;
        }
        let page = self.txs[oldest].page;
        let start = u32::from(self.txs[oldest].die);
        let dies = self.flash.units[unit as usize].dies;
        let first_die = self.flash.units[unit as usize].first_die;
        for step in 0..dies {
            let in_unit = if start + step < dies { start + step } else { start + step - dies };
            let die = first_die + in_unit;
            let mut list = NIL;
            let mut planes = 0u64;
            let mut count = 0;
            if self.flash.first(die, first.0, first.1) != NIL {
                self.gather(die, first, page, &mut list, &mut planes, &mut count);
            }
            if let Some(class) = second
                && self.flash.units[unit as usize].waiting[class as usize] > 0
                && count < self.flash.planes_per_die
            {
                let priorities = match class {
                    Class::UserRead | Class::UserWrite => self.priorities,
                    _ => 1,
                };
                for priority in 0..priorities {
                    self.gather(die, (class, priority), page, &mut list, &mut planes, &mut count);
                }
            }
            debug_assert_eq!(planes.count_ones(), count, "a command uses each plane once");
            if count > 0 {
                self.issue(unit, die, list, count);
            }
        }
    }

    /// Takes what fits into a command out of one queue of a die.
    fn gather(
        &mut self,
        die: u32,
        source: Source,
        page: u32,
        list: &mut u32,
        planes: &mut u64,
        count: &mut u32,
    ) {
        let mut at = self.flash.first(die, source.0, source.1);
        let mut last = *list;
        while last != NIL && self.txs[last].next != NIL {
            last = self.txs[last].next;
        }
        let limit = match source.0 {
            Class::Erase if self.switches.single_plane_erases => 1,
            _ => self.flash.planes_per_die,
        };
        while at != NIL
            && *count < limit
            && self.flash.has_other_planes(die, source.0, source.1, *planes)
        {
            let tx = &self.txs[at];
            let next = tx.next;
            let bit = 1u64 << tx.plane;
            let fits = *planes & bit == 0
                && !tx.blocked
                && (*count == 0 || tx.page == page || source.0 == Class::Erase);
            if fits && !(source.0 == Class::Erase && self.is_being_read(at)) {
                self.flash.dequeue(&mut self.txs, at);
                self.txs[at].next = NIL;
                match last {
                    NIL => *list = at,
                    _ => self.txs[last].next = at,
                }
                last = at;
                *planes |= bit;
                *count += 1;
            }
            at = next;
        }
    }

    /// Whether the erases of a unit wait for nothing but host reads.
    fn erases_wait_for_reads(&self, unit: u32) -> bool {
        let record = &self.flash.units[unit as usize];
        if record.waiting[Class::UserRead as usize] == 0 {
            return false;
        }
        let mut waits = false;
        for die in record.first_die..record.first_die + record.dies {
            let mut at = self.flash.first(die, Class::Erase, 0);
            while at != NIL {
                let tx = &self.txs[at];
                if !tx.blocked && !self.is_being_read(at) {
                    return false;
                }
                waits |= !tx.blocked;
                at = tx.next;
            }
        }
        waits
    }

    /// Whether reads still wait for a block that is to be erased.
    fn is_being_read(&self, erase: u32) -> bool {
        let tx = &self.txs[erase];
        let block = self.layout.block(tx.phys);
        let die = self.flash.units[tx.unit as usize].first_die + u32::from(tx.die);
        let reads = (0..self.priorities).map(|p| (Class::UserRead, p));
        reads.chain([(Class::MappingRead, 0)]).any(|(class, priority)| {
            let mut at = self.flash.first(die, class, priority);
            while at != NIL {
                if self.layout.block(self.txs[at].phys) == block {
                    return true;
                }
                at = self.txs[at].next;
            }
            false
        })
    }

    /// Sends a command to a die: at once, or behind the commands of its batch.
    fn issue(&mut self, unit: u32, die: u32, list: u32, count: u32) {
        let class = self.txs[list].class;
        let planes = count as usize;
        let now = self.events.now();
        if self.stats.has_several() {
            self.count_for_tenants(list, class, count);
        }
        let flash = &mut self.stats.flash;
        let work = class.work();
        let command = match work {
            Work::Read => {
                flash.count_command(Work::Read, count);
                flash.count_pages(Work::Read, class, count);
                self.timing.read_command[planes]
            }
            Work::Program => {
                flash.count_command(Work::Program, count);
                flash.count_pages(Work::Program, class, count);
                let mut time = self.timing.program_command[planes];
                let mut sectors = 0;
                let mut at = list;
                while at != NIL {
                    let data = u32::from(self.txs[at].sectors);
                    time += self.timing.transfer(data);
                    sectors += data;
                    at = self.txs[at].next;
                }
                self.energy.channel_moves(now, sectors);
                time
            }
            Work::Erase => {
                flash.count_command(Work::Erase, count);
                flash.count_pages(Work::Erase, class, count);
                self.timing.erase_command[planes]
            }
        };
        if self.switches.cache_program && work == Work::Program && self.may_load(unit) {
            self.load(die, list, class, count, command);
            return;
        }
        let suspend = self.suspend_for(unit, die);
        let record = &mut self.flash.dies[die as usize];
        record.txs = list;
        record.class = class;
        record.planes = count;
        record.command = command + suspend;
        record.state = DieState::Command;
        self.flash.take_die(unit);
        let channel = self.flash.units[unit as usize].channel as usize;
        if self.is_free(channel) {
            self.start_command(channel, die);
        } else {
            self.flash.channels[channel].batch.push_back(die);
        }
    }

    /// Sends a command over a free channel. Its end is known, and so is that of the array operation
    /// behind it. So the channel needs an event of its own only if somebody asks for the channel
    /// before.
    pub(crate) fn start_command(&mut self, channel: usize, die: u32) {
        let now = self.events.now();
        let command = self.flash.dies[die as usize].command;
        let from = now + command;
        let bus = &mut self.flash.channels[channel];
        bus.current = Some(Transfer::Command);
        bus.busy += command;
        bus.unheard = Some(self.events.key(from, now, bus.server));
        self.start_array(die, from);
    }

    /// Starts the array of a die, now or a little later.
    // Always, though there is a second caller: that one is rare, and the first one is on the
    // hottest path there is.
    #[inline(always)]
    pub(crate) fn start_array(&mut self, die: u32, from: Nanos) {
        let record = &self.flash.dies[die as usize];
        let page = self.txs[record.txs].page;
        let work = record.class.work();
        let (mut takes, kind) = self.timing.array(work, page);
        let mut count = record.planes;
        if self.switches.times_vary {
            let repeated;
            (takes, repeated) = self.varied(die, work, takes, kind);
            count += repeated;
        }
        let record = &mut self.flash.dies[die as usize];
        record.state = DieState::Busy;
        record.ends = from + takes;
        record.busy += takes;
        self.energy.die_works(self.events.now(), work, kind, count, [from, record.ends]);
        self.events.push_caused(record.ends, from, record.server);
    }

    /// Whether a channel is free. If not, the caller waits for it: the end of what it carries
    /// becomes an event.
    #[inline]
    pub(crate) fn is_free(&mut self, channel: usize) -> bool {
        let record = &mut self.flash.channels[channel];
        if record.current.is_none() {
            return true;
        }
        let Some(end) = record.unheard else { return false };
        if self.events.is_past(end) {
            record.current = None;
            record.unheard = None;
            return true;
        }
        self.hear_end(channel);
        false
    }

    /// Makes the end of a command an event, because somebody waits for the channel.
    pub(crate) fn hear_end(&mut self, channel: usize) {
        if let Some(end) = self.flash.channels[channel].unheard.take() {
            self.events.push_key(end);
        }
    }

    /// Sends the data of one page over a free channel.
    pub(crate) fn start_data(&mut self, channel: usize, tx: u32) {
        let sectors = u32::from(self.txs[tx].sectors);
        let takes = self.timing.transfer(sectors);
        let now = self.events.now();
        let record = &mut self.flash.channels[channel];
        record.current = Some(Transfer::Data(tx));
        record.busy += takes;
        self.events.push(now + takes, record.server);
        self.energy.channel_moves(now, sectors);
        if self.stats.has_several() {
            let tenant = usize::from(self.txs[tx].tenant);
            self.stats.shares[tenant].energy.channel_moves(sectors);
        }
    }
}
