//! A submission queue and its completion queue, as counters. What is sent over the link because of
//! them is the matter of [`super::Host`].
//!
//! A place in the submission queue is free again when the host learns, from a completion, that the
//! drive has fetched the entry. The completion queue has as many entries. The host takes
//! completions as they come, and rings a bell for each place that it gives back. Completions that
//! the drive has sent without hearing the bell fill the queue; a full queue holds further
//! completions back.

use crate::id::RequestId;
use serde::{Deserialize, Serialize};
use ssdtune_model::Nanos;
use std::collections::VecDeque;

/// Both queues. All counters count since the start.
#[derive(Clone, Serialize, Deserialize)]
pub(super) struct HostQueue {
    /// Entries of the queue. One of them always stays empty.
    depth: u64,
    /// Requests that may be in service at a time.
    fetch_limit: u32,
    /// Entries that the host has written.
    submitted: u64,
    /// Entries of which the host knows that they were fetched.
    acknowledged: u64,
    /// Entries whose doorbell has reached the drive.
    rung: u64,
    /// Fetches that were started.
    fetching: u64,
    /// Fetches that the host has heard of.
    asked: u64,
    /// Entries that have arrived in the drive.
    fetched: u64,
    /// Requests that were fetched and are not done.
    in_service: u32,
    /// Requests in the queue that have not been fetched.
    entries: VecDeque<RequestId>,
    /// Requests that found the queue full.
    waiting: VecDeque<RequestId>,
    /// Completions that the drive has sent.
    told: u64,
    /// Places of the completion queue that the host has given back, as far as they were counted.
    freed: u64,
    /// When the drive hears of places that were given back and not counted yet, in order.
    bells: VecDeque<Nanos>,
    /// Requests that are done and found the completion queue full.
    withheld: VecDeque<RequestId>,
    /// The first of `bells` is in the event queue.
    listens: bool,
}

impl HostQueue {
    /// Empty queues. `depth` is at least 2.
    pub fn new(depth: u32, fetch_limit: u32) -> Self {
        Self {
            depth: depth.into(),
            fetch_limit,
            submitted: 0,
            acknowledged: 0,
            rung: 0,
            fetching: 0,
            asked: 0,
            fetched: 0,
            in_service: 0,
            entries: VecDeque::new(),
            waiting: VecDeque::new(),
            told: 0,
            freed: 0,
            bells: VecDeque::new(),
            withheld: VecDeque::new(),
            listens: false,
        }
    }

    /// Whether the submission queue is full.
    fn is_full(&self) -> bool {
        self.submitted - self.acknowledged == self.depth - 1
    }

    /// Whether a request can be fetched at once, before everything that its queue has.
    pub fn is_open(&self) -> bool {
        self.in_service < self.fetch_limit
            && self.rung == self.submitted
            && self.fetching == self.rung
            && !self.is_full()
    }

    /// Takes a request that is fetched at once.
    pub fn pass(&mut self, request: RequestId) {
        self.submitted += 1;
        self.rung += 1;
        self.fetching += 1;
        self.asked += 1;
        self.in_service += 1;
        self.entries.push_back(request);
    }

    /// Takes a request, or lets it wait if the queue is full. Returns whether it was taken.
    pub fn submit(&mut self, request: RequestId) -> bool {
        if self.is_full() {
            self.waiting.push_back(request);
            return false;
        }
        self.submitted += 1;
        self.entries.push_back(request);
        true
    }

    /// The drive hears a doorbell. Returns whether it asks for the entry.
    pub fn ring_doorbell(&mut self) -> bool {
        self.rung += 1;
        self.in_service < self.fetch_limit && self.start_fetch()
    }

    fn start_fetch(&mut self) -> bool {
        self.in_service += 1;
        self.fetching += 1;
        true
    }

    /// The host hears of a fetch. Returns the request whose entry it sends.
    pub fn ask(&mut self) -> Option<RequestId> {
        let entry = (self.asked - self.fetched) as usize;
        self.asked += 1;
        self.entries.get(entry).copied()
    }

    /// The oldest entry has arrived in the drive.
    pub fn fetch(&mut self) -> Option<RequestId> {
        self.fetched += 1;
        self.entries.pop_front()
    }

    /// A request is done. Returns whether the drive asks for another entry.
    pub fn leave(&mut self) -> bool {
        self.in_service -= 1;
        self.fetching != self.rung && self.start_fetch()
    }

    /// Keeps a completion back if the completion queue is full. Otherwise counts it as sent.
    pub fn withhold(&mut self, now: Nanos, request: RequestId) -> bool {
        if self.is_full_of_completions() {
            self.count_bells(now, usize::MAX);
            if self.is_full_of_completions() {
                self.withheld.push_back(request);
                return true;
            }
        }
        self.told += 1;
        false
    }

    fn is_full_of_completions(&self) -> bool {
        self.told - self.freed == self.depth - 1
    }

    /// Entries that have arrived in the drive so far.
    pub fn fetched(&self) -> u64 {
        self.fetched
    }

    /// The host sees a completion that says how many entries had been fetched.
    pub fn acknowledge(&mut self, fetched: u64) {
        self.acknowledged = fetched;
    }

    /// The next waiting request, taken into the queue, if there is one and the queue has room.
    pub fn admit(&mut self) -> Option<RequestId> {
        if self.is_full() {
            return None;
        }
        let request = self.waiting.pop_front()?;
        self.submit(request);
        Some(request)
    }

    /// Counts places of the completion queue that were given back until now, `most` of them at
    /// most.
    #[inline]
    fn count_bells(&mut self, now: Nanos, most: usize) {
        for _ in 0..most {
            match self.bells.front() {
                Some(&bell) if bell <= now && !self.listens => {
                    self.bells.pop_front();
                    self.freed += 1;
                }
                _ => break,
            }
        }
    }

    /// The host gives a place of the completion queue back; the drive hears of it at `bell`.
    #[inline]
    pub fn give_back(&mut self, now: Nanos, bell: Nanos) {
        // Bells that nobody waited for are counted two at a time, so that few are remembered.
        self.count_bells(now, 2);
        self.bells.push_back(bell);
    }

    /// If a completion is withheld: when the drive hears of the next place, unless that is an event
    /// already.
    #[inline]
    pub fn listen(&mut self) -> Option<Nanos> {
        if self.withheld.is_empty() || self.listens {
            return None;
        }
        let bell = self.bells.front().copied();
        self.listens = bell.is_some();
        bell
    }

    /// The drive hears of a place that a withheld completion waits for. Returns that completion,
    /// and counts it as sent.
    pub fn hear(&mut self) -> Option<RequestId> {
        self.listens = false;
        self.bells.pop_front();
        self.freed += 1;
        let request = self.withheld.pop_front()?;
        self.told += 1;
        Some(request)
    }

    /// Asserts that the counters follow each other in the order of a request's way.
    pub fn check(&self) {
        let way = [self.fetched, self.asked, self.fetching, self.rung, self.submitted];
        assert!(self.acknowledged <= self.fetched && way.is_sorted(), "{way:?}");
        assert_eq!(self.entries.len() as u64, self.submitted - self.fetched);
        assert!(self.submitted - self.acknowledged < self.depth, "a queue beyond its depth");
        assert!(self.in_service <= self.fetch_limit);
        assert!(self.told - self.freed < self.depth, "a completion queue beyond its depth");
    }

    /// Requests that have not reached the drive.
    pub fn before_the_drive(&self) -> usize {
        self.waiting.len() + self.entries.len()
    }
}

#[cfg(test)]
impl HostQueue {
    /// Queues with requests in service that never were submitted.
    pub fn with_in_service(depth: u32, fetch_limit: u32, in_service: u32) -> Self {
        Self { in_service, ..Self::new(depth, fetch_limit) }
    }

    /// Completions sent, and completions withheld.
    pub fn completions(&self) -> (u64, usize) {
        (self.told, self.withheld.len())
    }
}
