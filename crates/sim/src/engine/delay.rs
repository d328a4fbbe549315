//! Things that pass after a time of their own and do not meet on the way: requests in the host's
//! software, commands in the controller, data in its pipeline.

use super::event::EventQueue;
use super::server::ServerId;
use serde::{Deserialize, Serialize};
use ssdtune_model::Nanos;
use std::collections::VecDeque;

/// Items that wait for their times. Only the next one has an event.
#[derive(Clone, Serialize, Deserialize)]
pub(crate) struct DelayLine<T> {
    server: ServerId,
    /// Items with their times, the next one first. Mostly they come in the order of their times, so
    /// that a new one is the last.
    items: VecDeque<(Nanos, T)>,
    /// The event of the first item is pending.
    pending: bool,
}

impl<T> DelayLine<T> {
    pub fn new(server: ServerId) -> Self {
        Self { server, items: VecDeque::new(), pending: false }
    }

    /// Lets an item wait until a time, now or later. Items of one time pass in the order in which
    /// they came.
    pub fn push(&mut self, events: &mut EventQueue, due: Nanos, item: T) {
        let later = self.items.iter().rev().take_while(|(other, _)| *other > due).count();
        let at = self.items.len() - later;
        self.items.insert(at, (due, item));
        if at == 0 {
            if std::mem::replace(&mut self.pending, false) {
                events.cancel(self.server);
            }
            self.start_next(events);
        }
    }

    /// Takes the item whose event has come, and makes the next one the one whose event is pending.
    pub fn take(&mut self, events: &mut EventQueue) -> Option<T> {
        self.pending = false;
        let (_, item) = self.items.pop_front()?;
        self.start_next(events);
        Some(item)
    }

    fn start_next(&mut self, events: &mut EventQueue) {
        if let Some(&(due, _)) = self.items.front() {
            self.pending = true;
            events.push(due, self.server);
        }
    }

    /// Asserts that items stand in the order of their times, and that the first has an event.
    pub fn check(&self) {
        assert!(self.items.iter().is_sorted_by_key(|&(due, _)| due));
        assert_eq!(self.pending, !self.items.is_empty(), "an item that nobody will take");
    }
}

/// Processors that take one thing after the other. Each thing goes to the one that is free first.
#[derive(Clone, Serialize, Deserialize)]
pub(crate) struct Cores {
    /// When each will have done what it was given so far.
    free_at: Vec<Nanos>,
}

impl Cores {
    pub fn new(count: u32) -> Self {
        Self { free_at: vec![Nanos::ZERO; count as usize] }
    }

    /// Gives them something that takes a time. Returns when it is done.
    pub fn pass(&mut self, now: Nanos, takes: Nanos) -> Nanos {
        let Some(first) = self.free_at.iter_mut().min() else { return now + takes };
        *first = (*first).max(now) + takes;
        *first
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn items_pass_at_their_times_whatever_the_order_they_came_in() {
        let mut events = EventQueue::default();
        let mut line = DelayLine::new(ServerId(7));
        for (due, item) in [(30, 'c'), (10, 'a'), (30, 'd'), (20, 'b')] {
            line.push(&mut events, Nanos(due), item);
            line.check();
        }
        let mut passed = Vec::new();
        while let Some(server) = events.pop(Nanos::MAX) {
            assert_eq!(server, ServerId(7));
            let item = line.take(&mut events).unwrap();
            passed.push((events.now().0, item));
            if item == 'b' {
                line.push(&mut events, Nanos(25), 'x');
            }
        }
        assert_eq!(passed, [(10, 'a'), (20, 'b'), (25, 'x'), (30, 'c'), (30, 'd')]);
    }

    #[test]
    fn two_cores_serve_two_at_once() {
        let mut cores = Cores::new(2);
        let ends: Vec<u64> = (0..4).map(|_| cores.pass(Nanos(5), Nanos(10)).0).collect();
        assert_eq!(ends, [15, 15, 25, 25]);
    }
}
