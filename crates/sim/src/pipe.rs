//! A server that serves in order of arrival, whose service times are known on arrival: a PCIe direction,
//! the DRAM channel, a SATA adapter. Its schedule is arithmetic; only items that somebody hears of need an
//! event.

use crate::event::{EventQueue, ServerId};
use ssdtune_model::Nanos;
use std::collections::VecDeque;

pub(crate) struct Pipe<T> {
    server: ServerId,
    free_at: Nanos,
    /// Items under way: start, end, item. The first one's event is pending.
    items: VecDeque<(Nanos, Nanos, T)>,
    busy: Nanos,
}

impl<T> Pipe<T> {
    pub fn new(server: ServerId) -> Self {
        Self { server, free_at: Nanos::ZERO, items: VecDeque::new(), busy: Nanos::ZERO }
    }

    /// An item whose end matters.
    #[inline]
    pub fn send(&mut self, events: &mut EventQueue, takes: Nanos, item: T) {
        let start = self.occupy(events.now(), takes);
        if self.items.is_empty() {
            events.push_caused(self.free_at, start, self.server);
        }
        self.items.push_back((start, self.free_at, item));
    }

    /// An item nobody waits for: it only takes time.
    #[inline]
    pub fn occupy(&mut self, now: Nanos, takes: Nanos) -> Nanos {
        let start = self.free_at.max(now);
        self.free_at = start + takes;
        self.busy += takes;
        start
    }

    /// The pending event has come: the item, to be handled before [`Pipe::start_next`].
    #[inline]
    pub fn take(&mut self) -> Option<T> {
        self.items.pop_front().map(|(_, _, item)| item)
    }

    /// Registers the event of the item that is first now. Call it once after each [`Pipe::take`], when the
    /// item has been handled; `waiting` is what [`Pipe::len`] said right after the take.
    #[inline]
    pub fn start_next(&mut self, events: &mut EventQueue, waiting: usize) {
        if waiting > 0
            && let Some(&(start, end, _)) = self.items.front()
        {
            events.push_caused(end, start, self.server);
        }
    }

    /// Items under way.
    #[inline]
    pub fn len(&self) -> usize {
        self.items.len()
    }

    /// Time spent serving.
    pub fn busy(&self) -> Nanos {
        self.busy
    }
}
