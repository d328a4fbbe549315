//! What every part of the drive works with.

use crate::accounting::Books;
use crate::engine::{EventQueue, Server, ServerId, Servers};
use crate::stored::Part;
use serde::{Deserialize, Serialize};
use ssdtune_model::{DeviceConfig, Nanos};

/// What will happen, with the simulated time, and what has been counted.
#[derive(Clone, Serialize, Deserialize)]
pub(crate) struct Base {
    pub events: EventQueue,
    pub books: Books,
    /// Notices that the host leaves the drive alone; `None` if nobody wants to know.
    alarm: Option<Alarm>,
}

/// An alarm that goes off when no request has been under way for a while.
#[derive(Clone, Serialize, Deserialize)]
struct Alarm {
    server: ServerId,
    after: Nanos,
    /// Its event is pending.
    is_set: bool,
}

impl Part for Base {
    fn adopt(&mut self, made: Self) {
        self.books.adopt(made.books);
    }
}

impl Base {
    /// Nothing happens, and nothing was counted.
    pub fn new(config: &DeviceConfig, books: Books, servers: &Servers) -> Self {
        let (cache, server) = (&config.slc_cache, servers.number(Server::Rest));
        let folds = cache.is_on() && cache.fold_after > Nanos::ZERO;
        let alarm = folds.then_some(Alarm { server, after: cache.fold_after, is_set: false });
        Self { events: EventQueue::default(), books, alarm }
    }

    /// The simulated time.
    #[inline]
    pub fn now(&self) -> Nanos {
        self.events.now()
    }

    /// How long no request has been under way; `None` if one is.
    fn quiet(&self) -> Option<Nanos> {
        let stats = &self.books.stats;
        (stats.arrived == stats.completed).then(|| self.now() - stats.last_completion)
    }

    /// Whether the host leaves the drive alone. Never, if nobody wants to know.
    pub fn is_at_rest(&self) -> bool {
        let Some(alarm) = &self.alarm else { return false };
        self.quiet().is_some_and(|quiet| quiet >= alarm.after)
    }

    /// A request was completed: it may have been the last one for a while.
    #[inline]
    pub fn request_left(&mut self) {
        if self.alarm.is_some() {
            self.set_alarm();
        }
    }

    /// Lets the alarm go off when the host will have left the drive alone for long enough, if it is
    /// quiet now. What comes until then is found out when it goes off, so there is one event at
    /// most.
    fn set_alarm(&mut self) {
        let (now, quiet) = (self.now(), self.quiet());
        if let (Some(alarm), Some(quiet)) = (&mut self.alarm, quiet)
            && !alarm.is_set
        {
            alarm.is_set = true;
            self.events.push(now + alarm.after.saturating_sub(quiet), alarm.server);
        }
    }

    /// The alarm goes off. Returns whether the host leaves the drive alone; if not, the alarm is
    /// set again.
    pub fn alarm_event(&mut self) -> bool {
        if let Some(alarm) = &mut self.alarm {
            alarm.is_set = false;
        }
        let is_at_rest = self.is_at_rest();
        if !is_at_rest {
            self.set_alarm();
        }
        is_at_rest
    }
}
