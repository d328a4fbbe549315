//! The event queue: what happens next, and in which order at the same time.
//!
//! The order is (time, time of the cause, registration). Two events of one instant run in the order
//! in which their causes started them. So an event may be registered before the time of its cause
//! has come, and still takes its right place. This happens for a message behind another one on a
//! link, and for the end of a die's work behind the end of its command.
//!
//! A key has 128 bits, from the top: the time (64 bits); 26 bits that get smaller as the time since
//! the cause gets longer; the registration (24 bits); the server (14 bits). A time since the cause
//! of more than 67 ms counts as 67 ms; such events are told apart by their registration.
//!
//! Every server has at most one pending event (a die whose planes read for themselves: one for each
//! plane). So the queue stays small, mostly below ten entries,
//! and a sorted array with the next event last beats a heap. Short delays are the common ones, and
//! insert near the end. Measured: 3 ns for an insertion among 3 entries. With 256 entries the end
//! of a die's work moves 4 KiB, which takes about 80 ns, once in nine events.

use super::server::ServerId;
use serde::{Deserialize, Serialize};
use ssdtune_model::Nanos;

const SERVER_BITS: u32 = 14;
const SEQUENCE_BITS: u32 = 24;
/// The longest time since a cause that a key tells apart, in nanoseconds.
const LEAD_MAX: u64 = (1 << (64 - SERVER_BITS - SEQUENCE_BITS)) - 1;
/// An event that belongs further than this from the end finds its place by bisection.
const FAR: usize = 16;

/// An event's place in the order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct EventKey(u128);

/// All pending events, and the simulated time.
#[derive(Clone, Serialize, Deserialize)]
pub(crate) struct EventQueue {
    /// Keys in descending order: the next event is last.
    keys: Vec<u128>,
    /// One event that is not in `keys`: the next arrival, which would otherwise travel through the
    /// whole queue each time.
    beside: u128,
    /// The key of the event that is being handled.
    current: u128,
    now: u64,
    /// Events registered so far.
    sequence: u64,
    processed: u64,
}

/// The key of no event, and its time, at which nothing ever happens.
const NEVER: u128 = u128::MAX;
const NEVER_AT: u64 = u64::MAX;

impl Default for EventQueue {
    fn default() -> Self {
        Self { keys: Vec::new(), beside: NEVER, current: 0, now: 0, sequence: 0, processed: 0 }
    }
}

impl EventQueue {
    /// The simulated time.
    pub fn now(&self) -> Nanos {
        Nanos(self.now)
    }

    /// Events taken so far.
    pub fn processed(&self) -> u64 {
        self.processed
    }

    /// The place in the order of an event of `server` at `at`, whose cause happens at `caused`, now
    /// or later.
    #[inline]
    pub fn key(&mut self, at: Nanos, caused: Nanos, server: ServerId) -> EventKey {
        debug_assert!(at.0 >= self.now, "an event in the past");
        let lead = LEAD_MAX - (at.0 - caused.0).min(LEAD_MAX);
        let low = (lead << (SERVER_BITS + SEQUENCE_BITS))
            | ((self.sequence & ((1 << SEQUENCE_BITS) - 1)) << SERVER_BITS)
            | u64::from(server.0);
        self.sequence += 1;
        EventKey((u128::from(at.0) << 64) | u128::from(low))
    }

    /// Registers an event of `server` at `at` that is caused now.
    #[inline]
    pub fn push(&mut self, at: Nanos, server: ServerId) {
        self.push_caused(at, Nanos(self.now), server);
    }

    /// Registers an event of `server` at `at` whose cause happens at `caused`, now or later.
    #[inline]
    pub fn push_caused(&mut self, at: Nanos, caused: Nanos, server: ServerId) {
        let key = self.key(at, caused, server);
        self.push_key(key);
    }

    /// Whether an event with this key would have come before the event that is being handled.
    #[inline]
    pub fn is_past(&self, key: EventKey) -> bool {
        key.0 < self.current
    }

    /// Registers an event that will mostly be the next one. Otherwise as
    /// [`EventQueue::push_caused`].
    #[inline]
    pub fn push_beside(&mut self, at: Nanos, caused: Nanos, server: ServerId) {
        let key = self.key(at, caused, server);
        if self.beside == NEVER {
            self.beside = key.0;
        } else {
            self.push_key(key);
        }
    }

    /// Registers an event by its key.
    pub fn push_key(&mut self, EventKey(key): EventKey) {
        if let Some(far) = self.keys.len().checked_sub(FAR)
            && self.keys[far] < key
        {
            let index = self.keys[..far].partition_point(|&other| other > key);
            self.keys.insert(index, key);
            return;
        }
        self.keys.push(key);
        // Earlier events move up by one place, until the place of this one is found.
        let mut later = self.keys.iter_mut().rev();
        let Some(mut place) = later.next() else { return };
        for other in later {
            if *other > key {
                break;
            }
            *place = *other;
            place = other;
        }
        *place = key;
    }

    /// The time of the next event.
    #[inline]
    pub fn next_at(&self) -> Option<Nanos> {
        let key = self.keys.last().map_or(NEVER, |&key| key).min(self.beside);
        (key != NEVER).then_some(Nanos((key >> 64) as u64))
    }

    /// Takes the next event and moves the time to it, unless it comes later than `until`.
    #[inline]
    pub fn pop(&mut self, until: Nanos) -> Option<ServerId> {
        let (key, is_beside) = match self.keys.last() {
            Some(&key) if key < self.beside => (key, false),
            _ => (self.beside, true),
        };
        let at = (key >> 64) as u64;
        if at > until.0 || at == NEVER_AT {
            return None;
        }
        if is_beside {
            self.beside = NEVER;
        } else {
            self.keys.pop();
        }
        self.current = key;
        self.now = at;
        self.processed += 1;
        Some(ServerId(key as u32 & (ServerId::LIMIT - 1)))
    }

    /// Moves the time forward to a moment before which everything has happened. Does nothing if an
    /// event comes earlier.
    pub fn advance(&mut self, to: Nanos) {
        if to.0 > self.now && self.next_at().is_none_or(|next| next >= to) {
            self.move_to(to);
        }
    }

    /// Moves the time to an event that needs no call. No other event comes before it.
    #[inline]
    pub fn move_to(&mut self, at: Nanos) {
        // A link may be so fast that it takes less than a nanosecond.
        debug_assert!(at.0 >= self.now && self.next_at().is_none_or(|next| next >= at));
        self.now = at.0;
        self.current = (u128::from(at.0) << 64) | u128::from(u64::MAX);
    }

    /// Removes the pending event of a server.
    pub fn cancel(&mut self, server: ServerId) {
        self.keys.retain(|key| *key as u32 & (ServerId::LIMIT - 1) != server.0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_times_run_in_the_order_of_their_causes() {
        let mut queue = EventQueue::default();
        queue.push_caused(Nanos(50), Nanos(20), ServerId(1));
        queue.push(Nanos(50), ServerId(2));
        queue.push(Nanos(50), ServerId(3));
        queue.push(Nanos(10), ServerId(4));
        assert_eq!(queue.pop(Nanos::MAX), Some(ServerId(4)));
        queue.push(Nanos(50), ServerId(5));
        let order: Vec<u32> = std::iter::from_fn(|| queue.pop(Nanos::MAX)).map(|s| s.0).collect();
        assert_eq!(order, [2, 3, 5, 1]);
        assert_eq!(queue.now(), Nanos(50));
    }

    #[test]
    fn many_events_come_out_sorted() {
        let mut queue = EventQueue::default();
        let mut state = 12345u64;
        for server in 0..2000 {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            queue.push(Nanos(state >> 50), ServerId(server));
        }
        let mut last = (Nanos(0), 0);
        while let Some(at) = queue.next_at() {
            let server = queue.pop(Nanos::MAX).unwrap().0;
            assert!((at, server) > last || at > last.0 || last == (Nanos(0), 0));
            last = (at, server);
        }
        assert_eq!(queue.processed(), 2000);
    }
}
