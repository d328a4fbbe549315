//! What every part of the drive works with.

use crate::accounting::Books;
use crate::engine::EventQueue;
use crate::stored::Part;
use serde::{Deserialize, Serialize};
use ssdtune_model::Nanos;

/// What will happen, with the simulated time, and what has been counted.
#[derive(Serialize, Deserialize)]
pub(crate) struct Base {
    pub events: EventQueue,
    pub books: Books,
}

impl Part for Base {
    fn adopt(&mut self, made: Self) {
        self.books.adopt(made.books);
    }
}

impl Base {
    /// The simulated time.
    #[inline]
    pub fn now(&self) -> Nanos {
        self.events.now()
    }
}
