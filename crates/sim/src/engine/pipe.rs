//! A server that serves in the order of arrival and whose service times are known on arrival: a
//! direction of PCIe, a SATA adapter. Its schedule is arithmetic. Only an item whose end matters to
//! somebody needs an event.

use super::event::EventQueue;
use super::server::ServerId;
use serde::{Deserialize, Serialize};
use ssdtune_model::Nanos;
use std::collections::VecDeque;

/// The server and the items that wait for it.
#[derive(Clone, Serialize, Deserialize)]
pub(crate) struct Pipe<T> {
    server: ServerId,
    /// When it will have served everything that was sent so far.
    free_at: Nanos,
    /// The item whose event is pending. Mostly there is no other, and then the queue behind it is
    /// not touched.
    current: Option<T>,
    /// Items behind it, as (start, end, item).
    waiting: VecDeque<(Nanos, Nanos, T)>,
    /// Time spent serving.
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

    /// Sends an item whose end matters: there will be an event.
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

    /// Whether nothing is under way at a time.
    #[inline]
    pub fn is_idle(&self, at: Nanos) -> bool {
        self.free_at <= at && self.current.is_none() && self.waiting.is_empty()
    }

    /// Sends an item whose end matters to nobody: it only takes time. Returns when it starts.
    #[inline]
    pub fn occupy(&mut self, now: Nanos, takes: Nanos) -> Nanos {
        let start = self.free_at.max(now);
        self.free_at = start + takes;
        self.busy += takes;
        start
    }

    /// Takes the item whose event has come. Handle it, then call [`Pipe::start_next`].
    #[inline]
    pub fn take(&mut self) -> Option<T> {
        self.current.take()
    }

    /// Makes the next waiting item the current one.
    #[inline]
    pub fn start_next(&mut self, events: &mut EventQueue) {
        if self.current.is_none()
            && let Some((start, end, item)) = self.waiting.pop_front()
        {
            self.current = Some(item);
            events.push_caused(end, start, self.server);
        }
    }

    /// Time spent serving so far.
    pub fn busy(&self) -> Nanos {
        self.busy
    }
}
