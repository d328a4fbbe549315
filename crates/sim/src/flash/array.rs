//! The flash array as the scheduler sees it: channels, scheduling units, dies, and the queues in
//! front of them.
//!
//! A unit takes commands only when all its dies are idle. ssdtune's unit is one die, so dies work
//! independently of each other. MQSim's unit is the chip (`compat.chip_idle_batches`), whose idle
//! dies get a batch of commands back to back. Everything else is the same for both.

use super::long_queues::LongQueues;
use super::timing::WordLines;
use super::transaction::Transaction;
use super::unit_set::UnitSet;
use crate::engine::{EventKey, Server, ServerId, Servers};
use crate::id::{ChannelId, DieId, Slab, Table, TransactionId, UnitId};
use crate::operation::Class;
use serde::{Deserialize, Serialize};
use ssdtune_model::{DeviceConfig, Nanos, PageId, PlaneId};
use std::collections::VecDeque;

/// All transactions on their way.
pub(super) type Transactions = Slab<TransactionId, Transaction>;

/// Transactions of one class and priority that wait for one die, oldest first.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
struct Queue {
    head: Option<TransactionId>,
    tail: Option<TransactionId>,
    /// Planes for which transactions were queued since the queue was last empty, one bit each.
    planes: u64,
}

impl Queue {
    #[inline]
    fn push(&mut self, transactions: &mut Transactions, id: TransactionId) {
        transactions[id].next = None;
        transactions[id].prev = self.tail;
        let plane = 1 << transactions[id].plane;
        match self.tail {
            None => {
                self.head = Some(id);
                self.planes = plane;
            }
            Some(tail) => {
                transactions[tail].next = Some(id);
                self.planes |= plane;
            }
        }
        self.tail = Some(id);
    }

    #[inline]
    fn remove(&mut self, transactions: &mut Transactions, id: TransactionId) {
        let (prev, next) = (transactions[id].prev, transactions[id].next);
        match prev {
            None => self.head = next,
            Some(prev) => transactions[prev].next = next,
        }
        match next {
            None => self.tail = prev,
            Some(next) => transactions[next].prev = prev,
        }
    }
}

/// Priorities of host transactions.
pub(super) const PRIORITIES: usize = 4;
/// Queues of a die: one for each priority of host reads and of host writes, and one for each other
/// class.
const QUEUES: usize = 2 * PRIORITIES + Class::COUNT - 2;

/// A class and a priority: where the transactions of a command come from.
pub(super) type Source = (Class, u8);

/// The queue of a class and a priority.
#[inline]
fn queue_index((class, priority): Source) -> usize {
    match class {
        Class::UserRead => priority as usize,
        Class::UserWrite => PRIORITIES + priority as usize,
        other => 2 * PRIORITIES + other as usize - 2,
    }
}

/// The number of a die's queue for a class and a priority, as [`queue_number`] counts.
#[inline]
fn queue_of(die: DieId, source: Source) -> usize {
    queue_number(die, queue_index(source))
}

/// The number of the `nth` queue of a die, counted through the queues of all dies from 0. Indexes
/// of long queues are found by it.
#[inline]
fn queue_number(die: DieId, nth: usize) -> usize {
    die.0 as usize * QUEUES + nth
}

/// What a die is doing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum DieState {
    Idle,
    /// Its command waits for the channel within a batch.
    Command,
    /// Its command is on the channel, or its array works. The end is in the event queue.
    Busy,
    /// Data that were read wait for the channel, or are on it.
    DataOut,
    /// Its planes read for themselves: see [`super::plane_reads`].
    Reading,
}

/// A die.
#[derive(Clone, Serialize, Deserialize)]
pub(super) struct Die {
    pub server: ServerId,
    /// Its scheduling unit.
    pub unit: UnitId,
    pub state: DieState,
    /// Class of the running command.
    pub class: Class,
    /// Planes that the running command uses.
    pub planes: u32,
    /// Transactions of the running command, linked by `next`.
    pub list: Option<TransactionId>,
    /// Copyback: pages that were read and wait to be programmed, linked by `next`.
    pub kept: Option<TransactionId>,
    /// Cache read: pages in the cache register whose data have not left, linked by `next`.
    pub out: Option<TransactionId>,
    /// How long the command takes on the channel.
    pub command: Nanos,
    /// When the array will be done.
    pub ends: Nanos,
    /// Time that the array has worked, with all that has begun.
    pub busy: Nanos,
    /// An operation that gave way to another one.
    pub suspended: Option<Suspended>,
    /// Cache program: what is programmed next. Its data are in the cache register or on their way
    /// there.
    pub loaded: Option<Loaded>,
    /// Transactions that wait for the die.
    queues: [Queue; QUEUES],
}

/// A program that waits in a die for the end of the one before.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub(super) struct Loaded {
    pub list: TransactionId,
    pub class: Class,
    pub planes: u32,
    /// When its data are in the die.
    pub at: Nanos,
}

/// A program or an erase that was interrupted.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub(super) struct Suspended {
    pub list: Option<TransactionId>,
    pub class: Class,
    /// How long it will still take.
    pub remaining: Nanos,
}

impl Die {
    /// Of a span of time that ends now, the part in which the array did not work. The time in which
    /// an operation waits for its command counts as work from the start of the command on, so that
    /// the part never falls.
    pub fn idle(&self, since: Nanos, now: Nanos) -> Nanos {
        let mut ahead = self.suspended.map_or(Nanos::ZERO, |suspended| suspended.remaining);
        if matches!(self.state, DieState::Busy | DieState::Reading) {
            ahead += self.ends.saturating_sub(now);
        }
        since.saturating_sub(self.busy.saturating_sub(ahead))
    }
}

/// A scheduling unit.
#[derive(Clone, Serialize, Deserialize)]
pub(super) struct Unit {
    /// Its channel.
    pub channel: ChannelId,
    /// Its first die; the others follow.
    pub first_die: DieId,
    /// Number of its dies.
    pub dies: u32,
    /// Transactions that wait for it.
    pub queued: u32,
    /// Transactions that will be queued at the next scheduling. 0 between two events.
    #[serde(skip)]
    pub staged: u32,
    /// Transactions of each class that wait for it.
    pub waiting: [u32; Class::COUNT],
    /// Dies that have a command, an operation, or data to be fetched.
    pub busy_dies: u32,
    /// How far the weighted round robin among priorities is, for reads and for writes.
    pub rounds: [u8; 2],
}

impl Unit {
    /// Transactions of a class that wait for it.
    #[inline]
    pub fn waits(&self, class: Class) -> u32 {
        self.waiting[class as usize]
    }

    /// Its dies.
    pub fn all_dies(&self) -> impl Iterator<Item = DieId> + use<> {
        (self.first_die.0..self.first_die.0 + self.dies).map(DieId)
    }
}

/// What a channel carries.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum Transfer {
    /// A command to a die, with the data of a program. The die's array starts when it ends.
    Command,
    /// The data of one page out of a die.
    Data(TransactionId),
}

/// A flash channel.
#[derive(Clone, Serialize, Deserialize)]
pub(super) struct Channel {
    pub server: ServerId,
    /// What it carries.
    pub current: Option<Transfer>,
    /// The end of a command that nobody has asked for. Its event is not in the queue.
    pub unheard: Option<EventKey>,
    /// Time that it has carried something, with all that has begun.
    pub busy: Nanos,
    /// Its first scheduling unit; the others follow.
    pub first_unit: UnitId,
    /// Number of its scheduling units.
    pub units: u32,
    /// The unit that is asked first, counted from the channel's first.
    pub turn: u32,
    /// Units on which transactions wait and which may take a command: the idle ones, or all if
    /// operations can be suspended, commands taken in advance, or planes read for themselves.
    pub ready: UnitSet,
    /// Dies of the running batch whose commands come next.
    pub batch: VecDeque<DieId>,
    /// Copyback: dies that are to program pages they keep.
    pub copybacks: VecDeque<DieId>,
    /// Cache read: units whose last read is in the cache register, so that the next read may begin.
    pub next_reads: VecDeque<UnitId>,
    /// Pages whose data are ready in a die: of translation pages, of host reads, of collection.
    pub data_out: [VecDeque<TransactionId>; 3],
}

impl Channel {
    /// The number of a unit within the channel.
    #[inline]
    fn within(&self, unit: UnitId) -> u32 {
        unit.0 - self.first_unit.0
    }

    /// Makes the unit behind this one the one that is asked first.
    #[inline]
    pub fn pass_turn(&mut self, unit: UnitId) {
        let next = self.within(unit) + 1;
        self.turn = if next == self.units { 0 } else { next };
    }
}

/// Where a plane is: its unit, its die, and its number in the die.
#[derive(Clone, Copy, Serialize, Deserialize)]
pub(super) struct PlanePlace {
    pub unit: UnitId,
    pub die: DieId,
    pub plane: u8,
}

/// All channels, units and dies.
#[derive(Clone, Serialize, Deserialize)]
pub(super) struct FlashArray {
    pub channels: Table<ChannelId, Channel>,
    pub units: Table<UnitId, Unit>,
    pub dies: Table<DieId, Die>,
    planes: Table<PlaneId, PlanePlace>,
    /// Transactions queued so far.
    seq: u32,
    pub units_per_die: u32,
    /// A busy unit may take a command.
    interrupts: bool,
    #[serde(skip)]
    long: LongQueues,
}

impl FlashArray {
    /// The array of a drive. `interrupts`: a busy unit may take a command.
    pub fn new(config: &DeviceConfig, servers: &Servers, interrupts: bool) -> Self {
        let geometry = config.geometry();
        let dies_per_chip = geometry.dies_per_chip;
        let (units_per_chip, dies_per_unit) =
            if config.compat.chip_idle_batches { (1, dies_per_chip) } else { (dies_per_chip, 1) };
        let units_per_channel = geometry.chips_per_channel * units_per_chip;
        let channels = (0..geometry.channels)
            .map(|channel| Channel {
                server: servers.number(Server::Channel(ChannelId(channel))),
                current: None,
                unheard: None,
                busy: Nanos::ZERO,
                first_unit: UnitId(channel * units_per_channel),
                units: units_per_channel,
                turn: 0,
                ready: UnitSet::new(units_per_channel),
                batch: VecDeque::new(),
                copybacks: VecDeque::new(),
                next_reads: VecDeque::new(),
                data_out: Default::default(),
            })
            .collect();
        let units = (0..geometry.channels * units_per_channel)
            .map(|unit| Unit {
                channel: ChannelId(unit / units_per_channel),
                first_die: DieId(unit * dies_per_unit),
                dies: dies_per_unit,
                queued: 0,
                staged: 0,
                waiting: [0; Class::COUNT],
                busy_dies: 0,
                rounds: [0; 2],
            })
            .collect();
        let dies =
            (0..geometry.dies() as u32).map(|die| Die::new(DieId(die), dies_per_unit, servers));
        let planes = (0..geometry.planes() as u32).map(|plane| {
            let die = plane / geometry.planes_per_die;
            let plane = (plane % geometry.planes_per_die) as u8;
            PlanePlace { unit: UnitId(die / dies_per_unit), die: DieId(die), plane }
        });
        Self {
            channels,
            units,
            dies: dies.collect(),
            planes: planes.collect(),
            seq: 0,
            units_per_die: geometry.planes_per_die,
            interrupts,
            long: LongQueues::new(WordLines::new(config)),
        }
    }

    /// Takes over what snapshots leave out.
    pub fn adopt(&mut self, made: Self) {
        self.long = made.long;
    }

    /// Where a plane is.
    #[inline]
    pub fn place(&self, plane: PlaneId) -> PlanePlace {
        self.planes[plane]
    }

    /// The channel of a unit.
    #[inline]
    pub fn channel_of(&self, unit: UnitId) -> ChannelId {
        self.units[unit].channel
    }

    /// Lets a transaction whose place is known wait for its die.
    #[inline]
    pub fn enqueue(&mut self, transactions: &mut Transactions, id: TransactionId) {
        self.seq = self.seq.wrapping_add(1);
        let record = &mut transactions[id];
        record.seq = self.seq;
        let unit = &mut self.units[record.unit];
        unit.queued += 1;
        unit.waiting[record.class as usize] += 1;
        if unit.busy_dies == 0 || self.interrupts {
            let channel = &mut self.channels[unit.channel];
            channel.ready.insert(channel.within(record.unit));
        }
        let (die, source) = (record.die, (record.class, record.priority));
        self.long.push(queue_of(die, source), record, id);
        self.dies[die].queues[queue_index(source)].push(transactions, id);
    }

    /// Takes a transaction out of its queue.
    #[inline]
    pub fn dequeue(&mut self, transactions: &mut Transactions, id: TransactionId) {
        let record = &transactions[id];
        let unit = &mut self.units[record.unit];
        unit.queued -= 1;
        unit.waiting[record.class as usize] -= 1;
        if unit.queued == 0 {
            let channel = &mut self.channels[unit.channel];
            channel.ready.remove(channel.within(record.unit));
        }
        let (die, source) = (record.die, (record.class, record.priority));
        let list = &mut self.dies[die].queues[queue_index(source)];
        list.remove(transactions, id);
        self.long.remove(queue_of(die, source), &transactions[id], id, list.head.is_none());
        transactions[id].next = None;
    }

    /// Notes that a die of a unit was given a command.
    #[inline]
    pub fn take_die(&mut self, unit: UnitId) {
        let record = &mut self.units[unit];
        record.busy_dies += 1;
        if !self.interrupts {
            let channel = &mut self.channels[record.channel];
            channel.ready.remove(channel.within(unit));
        }
    }

    /// Notes that a die of a unit is idle again, or has put its operation aside.
    #[inline]
    pub fn free_die(&mut self, unit: UnitId) {
        let record = &mut self.units[unit];
        record.busy_dies -= 1;
        if record.busy_dies == 0 && record.queued > 0 {
            let channel = &mut self.channels[record.channel];
            channel.ready.insert(channel.within(unit));
        }
    }

    /// The first transaction of a class and priority that waits for a die.
    #[inline]
    pub fn first(&self, die: DieId, source: Source) -> Option<TransactionId> {
        self.dies[die].queues[queue_index(source)].head
    }

    /// Whether the transactions of a class and priority that wait for a die have an index by what
    /// those of a command have in common.
    #[inline]
    pub fn is_indexed(&self, die: DieId, source: Source) -> bool {
        self.long.has(queue_of(die, source))
    }

    /// Gives the transactions of a class and priority that wait for a die an index, unless they
    /// have one.
    pub fn index(&mut self, transactions: &Transactions, die: DieId, source: Source) {
        let first = self.first(die, source);
        self.long.index(transactions, queue_of(die, source), first);
    }

    /// The first transaction of a class and priority that waits for a die and can go with one of
    /// this page, or another one that shares its place in the index.
    #[inline]
    pub fn first_in_chain(
        &self,
        die: DieId,
        source: Source,
        page: PageId,
    ) -> Option<TransactionId> {
        self.long.first(queue_of(die, source), source.0, page)
    }

    /// The transaction behind one that shares its place in the index.
    #[inline]
    pub fn next_in_chain(&self, id: TransactionId) -> Option<TransactionId> {
        self.long.behind(id)
    }

    /// Whether a class and priority may have transactions for a die in planes other than the given
    /// ones. May say so of planes that have been served already.
    #[inline]
    pub fn has_other_planes(&self, die: DieId, source: Source, planes: u64) -> bool {
        self.dies[die].queues[queue_index(source)].planes & !planes != 0
    }

    /// For how many queued transactions a transaction has been waiting, or has been on its way
    /// since it waited.
    pub fn age(&self, transaction: &Transaction) -> u32 {
        // Sequence numbers wrap.
        self.seq.wrapping_sub(transaction.seq)
    }

    /// The age of the oldest transaction that waits for a unit that may take a command.
    pub fn oldest_ready(&self, transactions: &Transactions, channel: ChannelId) -> Option<u32> {
        let record = &self.channels[channel];
        let ready =
            std::iter::successors(record.ready.next(0), |&unit| record.ready.next(unit + 1));
        let dies = ready.flat_map(|unit| self.units[UnitId(record.first_unit.0 + unit)].all_dies());
        let heads =
            dies.flat_map(|die| self.dies[die].queues.iter().filter_map(|queue| queue.head));
        heads.map(|id| self.age(&transactions[id])).max()
    }

    /// The oldest transaction of a class and priority in a unit.
    #[inline]
    pub fn oldest(
        &self,
        transactions: &Transactions,
        unit: UnitId,
        source: Source,
    ) -> Option<TransactionId> {
        let unit = &self.units[unit];
        if unit.dies == 1 {
            return self.first(unit.first_die, source);
        }
        // Sequence numbers wrap. Ages within a queue differ by far less than half of their range.
        let is_older = |one: TransactionId, other: TransactionId| {
            (transactions[one].seq.wrapping_sub(transactions[other].seq) as i32) < 0
        };
        let heads = unit.all_dies().filter_map(|die| self.first(die, source));
        heads.reduce(|oldest, head| if is_older(head, oldest) { head } else { oldest })
    }

    /// Asserts that the counters of units and channels are what dies and queues say, and that every
    /// queue holds what belongs there. Returns the number of transactions in queues and in dies.
    pub fn check(&self, transactions: &Transactions) -> usize {
        let mut found = 0;
        let length = |mut at: Option<TransactionId>| {
            let mut length = 0;
            while let Some(id) = at {
                assert!(transactions[id].live, "a list holds a transaction that is gone");
                length += 1;
                at = transactions[id].next;
            }
            length
        };
        for (name, unit) in self.units.named() {
            let (mut waiting, mut busy) = ([0; Class::COUNT], 0);
            for die_name in unit.all_dies() {
                let die = &self.dies[die_name];
                let at_work = die.state != DieState::Idle;
                busy += u32::from(at_work);
                for (index, queue) in die.queues.iter().enumerate() {
                    let mut at = queue.head;
                    while let Some(id) = at {
                        let record = &transactions[id];
                        assert_eq!(queue_index((record.class, record.priority)), index);
                        assert_eq!(record.unit, name);
                        waiting[record.class as usize] += 1;
                        at = record.next;
                    }
                    found += length(queue.head);
                    self.long.check(transactions, queue_number(die_name, index), queue.head);
                }
                let lists = [die.list, die.kept, die.out, die.loaded.map(|loaded| loaded.list)];
                found += lists.into_iter().map(length).sum::<usize>();
                found += length(die.suspended.and_then(|suspended| suspended.list));
            }
            assert_eq!(unit.waiting, waiting, "unit {name:?}");
            assert_eq!(unit.queued, waiting.iter().sum::<u32>());
            assert_eq!(unit.staged, 0, "unit {name:?}");
            assert_eq!(unit.busy_dies, busy, "unit {name:?}");
            let channel = &self.channels[unit.channel];
            let is_ready = channel.ready.contains(channel.within(name));
            assert_eq!(is_ready, unit.queued > 0 && (busy == 0 || self.interrupts));
        }
        found
    }
}

impl Die {
    fn new(die: DieId, dies_per_unit: u32, servers: &Servers) -> Self {
        Self {
            server: servers.number(Server::Die(die)),
            unit: UnitId(die.0 / dies_per_unit),
            state: DieState::Idle,
            class: Class::UserRead,
            planes: 0,
            list: None,
            kept: None,
            out: None,
            command: Nanos::ZERO,
            ends: Nanos::ZERO,
            busy: Nanos::ZERO,
            suspended: None,
            loaded: None,
            queues: [Queue::default(); QUEUES],
        }
    }
}
