//! The flash array as the scheduler sees it: channels, scheduling units, dies, and the queues in
//! front of them.
//!
//! A unit takes commands only when all its dies are idle. ssdtune's unit is one die, so dies work
//! independently of each other. MQSim's unit is the chip (`compat.chip_idle_batches`), whose idle
//! dies get a batch of commands back to back. Everything else is the same for both.

use crate::event::{EventKey, ServerId};
use crate::tx::{CLASSES, Class, NIL, Slab, Tx};
use crate::unit_set::UnitSet;
use serde::{Deserialize, Serialize};
use ssdtune_model::{DeviceConfig, Geometry, Nanos, PlaneId};
use std::collections::VecDeque;

/// Transactions of one class and priority that wait for one die, oldest first.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub(crate) struct Queue {
    pub head: u32,
    pub tail: u32,
    /// Planes for which transactions were queued since the queue was last empty, one bit each.
    planes: u64,
}

const EMPTY: Queue = Queue { head: NIL, tail: NIL, planes: 0 };

impl Queue {
    #[inline]
    fn push(&mut self, txs: &mut Slab<Tx>, tx: u32) {
        txs[tx].next = NIL;
        txs[tx].prev = self.tail;
        let plane = 1 << txs[tx].plane;
        match self.tail {
            NIL => {
                self.head = tx;
                self.planes = plane;
            }
            tail => {
                txs[tail].next = tx;
                self.planes |= plane;
            }
        }
        self.tail = tx;
    }

    #[inline]
    fn remove(&mut self, txs: &mut Slab<Tx>, tx: u32) {
        let (prev, next) = (txs[tx].prev, txs[tx].next);
        match prev {
            NIL => self.head = next,
            _ => txs[prev].next = next,
        }
        match next {
            NIL => self.tail = prev,
            _ => txs[next].prev = prev,
        }
    }
}

/// Priorities of host transactions.
pub(crate) const PRIORITIES: usize = 4;
/// Queues of a die: one for each priority of host reads and of host writes, and one for each other
/// class.
const QUEUES: usize = 2 * PRIORITIES + CLASSES - 2;

/// The queue of a class and a priority.
#[inline]
fn queue_index(class: Class, priority: u8) -> usize {
    match class {
        Class::UserRead => priority as usize,
        Class::UserWrite => PRIORITIES + priority as usize,
        other => 2 * PRIORITIES + other as usize - 2,
    }
}

/// What a die is doing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum DieState {
    Idle,
    /// Its command waits for the channel within a batch.
    Command,
    /// Its command is on the channel, or its array works. The end is in the event queue.
    Busy,
    /// Data that were read wait for the channel, or are on it.
    DataOut,
}

/// A die.
#[derive(Serialize, Deserialize)]
pub(crate) struct Die {
    pub server: ServerId,
    pub state: DieState,
    /// Transactions of the running command, linked by `next`.
    pub txs: u32,
    /// Class of the running command.
    pub class: Class,
    /// Planes that the running command uses.
    pub planes: u32,
    /// How long the command takes on the channel.
    pub command: Nanos,
    /// When the array will be done.
    pub ends: Nanos,
    /// Time that the array has worked, with all that has begun.
    pub busy: Nanos,
    /// Transactions that wait for the die.
    queues: [Queue; QUEUES],
    /// Copyback: pages that were read and wait to be programmed, linked by `next`.
    pub kept: u32,
    /// An operation that gave way to another one.
    pub suspended: Option<Suspended>,
    /// Cache read: pages in the cache register whose data have not left, linked by `next`.
    pub out: u32,
    /// Cache program: what is programmed next. Its data are in the cache register or on their way
    /// there.
    pub loaded: Option<Loaded>,
}

/// A program that waits in a die for the end of the one before.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub(crate) struct Loaded {
    pub txs: u32,
    pub class: Class,
    pub planes: u32,
    /// When its data are in the die.
    pub at: Nanos,
}

/// A program or an erase that was interrupted.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub(crate) struct Suspended {
    pub txs: u32,
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
        if self.state == DieState::Busy {
            ahead += self.ends.saturating_sub(now);
        }
        since.saturating_sub(self.busy.saturating_sub(ahead))
    }
}

/// A scheduling unit.
#[derive(Serialize, Deserialize)]
pub(crate) struct Unit {
    /// Its channel.
    pub channel: u32,
    /// Its first die; the others follow.
    pub first_die: u32,
    /// Number of its dies.
    pub dies: u32,
    /// Transactions that wait for it.
    pub queued: u32,
    /// Transactions of each class that wait for it.
    pub waiting: [u32; CLASSES],
    /// Dies that have a command, an operation, or data to be fetched.
    pub busy_dies: u32,
    /// How far the weighted round robin among priorities is, for reads and for writes.
    pub turns: [u8; 2],
}

/// What a channel carries.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Transfer {
    /// A command to a die, with the data of a program. The die's array starts when it ends.
    Command,
    /// The data of one page out of a die.
    Data(u32),
}

/// A flash channel.
#[derive(Serialize, Deserialize)]
pub(crate) struct Channel {
    pub server: ServerId,
    /// What it carries.
    pub current: Option<Transfer>,
    /// Dies of the running batch whose commands come next.
    pub batch: VecDeque<u32>,
    /// Copyback: dies that are to program pages they keep.
    pub copybacks: VecDeque<u32>,
    /// Cache read: units whose last read is in the cache register, so that the next read may begin.
    pub cached: VecDeque<u32>,
    /// Pages whose data are ready in a die: of translation pages, of host reads, of collection.
    pub data_out: [VecDeque<u32>; 3],
    /// Its first scheduling unit; the others follow.
    pub first_unit: u32,
    /// Number of its scheduling units.
    pub units: u32,
    /// The unit that is asked first.
    pub turn: u32,
    /// Units on which transactions wait and which may take a command: the idle ones, or all if
    /// operations can be suspended or commands taken in advance.
    pub ready: UnitSet,
    /// The end of a command that nobody has asked for. Its event is not in the queue.
    pub unheard: Option<EventKey>,
    /// Time that it has carried something, with all that has begun.
    pub busy: Nanos,
}

/// All channels, units and dies.
#[derive(Serialize, Deserialize)]
pub(crate) struct FlashArray {
    pub channels: Vec<Channel>,
    pub units: Vec<Unit>,
    pub dies: Vec<Die>,
    /// For each plane: its unit, its die in the unit, and its number in the die.
    places: Vec<(u32, u16, u16)>,
    /// Transactions queued so far.
    seq: u32,
    pub planes_per_die: u32,
    /// A busy unit may take a command.
    suspends: bool,
}

impl FlashArray {
    /// The array of a drive. `first_server` is the number of the first channel; the dies follow the
    /// channels.
    pub fn new(
        config: &DeviceConfig,
        geometry: &Geometry,
        first_server: u32,
        suspends: bool,
    ) -> Self {
        let dies_per_chip = geometry.dies_per_chip;
        let (units_per_chip, dies_per_unit) =
            if config.compat.chip_idle_batches { (1, dies_per_chip) } else { (dies_per_chip, 1) };
        let units_per_channel = geometry.chips_per_channel * units_per_chip;
        let channels = (0..geometry.channels)
            .map(|channel| Channel {
                server: ServerId(first_server + channel),
                current: None,
                batch: VecDeque::new(),
                copybacks: VecDeque::new(),
                cached: VecDeque::new(),
                data_out: Default::default(),
                first_unit: channel * units_per_channel,
                units: units_per_channel,
                turn: 0,
                ready: UnitSet::new(units_per_channel),
                unheard: None,
                busy: Nanos::ZERO,
            })
            .collect();
        let units = (0..geometry.channels * units_per_channel)
            .map(|unit| Unit {
                channel: unit / units_per_channel,
                first_die: unit * dies_per_unit,
                dies: dies_per_unit,
                queued: 0,
                waiting: [0; CLASSES],
                busy_dies: 0,
                turns: [0; 2],
            })
            .collect();
        let dies = (0..geometry.dies() as u32)
            .map(|die| Die {
                server: ServerId(first_server + geometry.channels + die),
                state: DieState::Idle,
                txs: NIL,
                class: Class::UserRead,
                planes: 0,
                command: Nanos::ZERO,
                ends: Nanos::ZERO,
                busy: Nanos::ZERO,
                queues: [EMPTY; QUEUES],
                kept: NIL,
                suspended: None,
                out: NIL,
                loaded: None,
            })
            .collect();
        let places = (0..geometry.planes() as u32)
            .map(|plane| {
                let die = plane / geometry.planes_per_die;
                let in_die = (plane % geometry.planes_per_die) as u16;
                (die / dies_per_unit, (die % dies_per_unit) as u16, in_die)
            })
            .collect();
        let planes_per_die = geometry.planes_per_die;
        Self { channels, units, dies, places, seq: 0, planes_per_die, suspends }
    }

    /// The unit of a plane, its die in the unit, and its number in the die.
    #[inline]
    pub fn place(&self, plane: PlaneId) -> (u32, u16, u16) {
        self.places[plane.index()]
    }

    /// Lets a transaction whose place is known wait for its die.
    #[inline]
    pub fn enqueue(&mut self, txs: &mut Slab<Tx>, tx: u32) {
        self.seq = self.seq.wrapping_add(1);
        let record = &mut txs[tx];
        record.seq = self.seq;
        let unit = &mut self.units[record.unit as usize];
        unit.queued += 1;
        unit.waiting[record.class as usize] += 1;
        if unit.busy_dies == 0 || self.suspends {
            let channel = &mut self.channels[unit.channel as usize];
            channel.ready.insert(record.unit - channel.first_unit);
        }
        let die = (unit.first_die + u32::from(record.die)) as usize;
        let queue = queue_index(record.class, record.priority);
        self.dies[die].queues[queue].push(txs, tx);
    }

    /// Takes a transaction out of its queue.
    #[inline]
    pub fn dequeue(&mut self, txs: &mut Slab<Tx>, tx: u32) {
        let record = &txs[tx];
        let unit = &mut self.units[record.unit as usize];
        unit.queued -= 1;
        unit.waiting[record.class as usize] -= 1;
        if unit.queued == 0 {
            let channel = &mut self.channels[unit.channel as usize];
            channel.ready.remove(record.unit - channel.first_unit);
        }
        let die = (unit.first_die + u32::from(record.die)) as usize;
        let queue = queue_index(record.class, record.priority);
        self.dies[die].queues[queue].remove(txs, tx);
    }

    /// Notes that a die of a unit was given a command.
    #[inline]
    pub fn take_die(&mut self, unit: u32) {
        let record = &mut self.units[unit as usize];
        record.busy_dies += 1;
        if !self.suspends {
            let channel = &mut self.channels[record.channel as usize];
            channel.ready.remove(unit - channel.first_unit);
        }
    }

    /// Notes that a die of a unit is idle again, or has put its operation aside.
    #[inline]
    pub fn free_die(&mut self, unit: u32) {
        let record = &mut self.units[unit as usize];
        record.busy_dies -= 1;
        if record.busy_dies == 0 && record.queued > 0 {
            let channel = &mut self.channels[record.channel as usize];
            channel.ready.insert(unit - channel.first_unit);
        }
    }

    /// The first transaction of a class and priority that waits for a die.
    #[inline]
    pub fn first(&self, die: u32, class: Class, priority: u8) -> u32 {
        self.dies[die as usize].queues[queue_index(class, priority)].head
    }

    /// Whether a class and priority may have transactions for a die in planes other than the given
    /// ones. May say so of planes that have been served already.
    #[inline]
    pub fn has_other_planes(&self, die: u32, class: Class, priority: u8, planes: u64) -> bool {
        self.dies[die as usize].queues[queue_index(class, priority)].planes & !planes != 0
    }

    /// The oldest transaction of a class and priority in a unit.
    #[inline]
    pub fn oldest(&self, txs: &Slab<Tx>, unit: u32, class: Class, priority: u8) -> u32 {
        let unit = &self.units[unit as usize];
        let queue = queue_index(class, priority);
        if unit.dies == 1 {
            return self.dies[unit.first_die as usize].queues[queue].head;
        }
        let dies = &self.dies[unit.first_die as usize..(unit.first_die + unit.dies) as usize];
        let mut oldest = NIL;
        for head in dies.iter().map(|die| die.queues[queue].head).filter(|&head| head != NIL) {
            // Sequence numbers wrap. Ages within a queue differ by far less than half of their
            // range.
            if oldest == NIL || (txs[head].seq.wrapping_sub(txs[oldest].seq) as i32) < 0 {
                oldest = head;
            }
        }
        oldest
    }
}
