//! A server that serves in order of arrival, whose service times are known on arrival: a PCIe direction,
//! the DRAM channel, a SATA adapter. Its schedule is arithmetic; only items that somebody hears of need an
//! event.

use crate::event::{EventQueue, ServerId};
use serde::{Deserialize, Serialize};
use ssdtune_model::Nanos;
use std::collections::VecDeque;

#[derive(Serialize, Deserialize)]
pub(crate) struct Pipe<T> {
    server: ServerId,
    free_at: Nanos,
    /// The item whose event is pending. Mostly there is no other, and the queue behind it is not touched.
    current: Option<T>,
    /// Items behind it: start, end, item.
    waiting: VecDeque<(Nanos, Nanos, T)>,
    busy: Nanos,
}

impl<T> Pipe<T> {
    pub fn new(server: ServerId) -> Self {
        Self {
            server,
            free_at: Nanos::ZERO,
            current: None,
            waiting: VecDeque::new(),
            busy: Nanos::ZERO,
        }
    }

    /// An item whose end matters.
    #[inline]
    pub fn send(&mut self, events: &mut EventQueue, takes: Nanos, item: T) {
        let start = self.occupy(events.now(), takes);
        if self.current.is_none() && self.waiting.is_empty() {
            self.current = Some(item);
            events.push_caused(self.free_at, start, self.server);
        } else {
            self.waiting.push_back((start, self.free_at, item));
        }
    }

    /// Nothing is under way at a time.
    #[inline]
    pub fn is_idle(&self, at: Nanos) -> bool {
        self.free_at <= at && self.current.is_none() && self.waiting.is_empty()
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
        self.current.take()
    }

    /// Makes the next item the current one; call it when the one taken has been handled.
    #[inline]
    pub fn start_next(&mut self, events: &mut EventQueue) {
        if self.current.is_none()
            && let Some((start, end, item)) = self.waiting.pop_front()
        {
            self.current = Some(item);
            events.push_caused(end, start, self.server);
        }
    }

    /// Time spent serving.
    pub fn busy(&self) -> Nanos {
        self.busy
    }
}
