//! What the flash is asked to do, and for whom.

use serde::{Deserialize, Serialize};

/// What a die does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Work {
    Read = 0,
    Program = 1,
    Erase = 2,
}

/// The type of pages in SLC mode. Those of other pages are their places in the lists of latencies.
pub(crate) const SLC_MODE: usize = 4;

/// What a transaction does, and for whom. It decides the queue in which the transaction waits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Class {
    UserRead = 0,
    UserWrite = 1,
    MappingRead = 2,
    MappingWrite = 3,
    GcRead = 4,
    GcWrite = 5,
    Erase = 6,
}

impl Class {
    /// Number of classes.
    pub const COUNT: usize = 7;

    /// What a die does for it.
    #[inline]
    pub fn work(self) -> Work {
        match self {
            Self::UserRead | Self::MappingRead | Self::GcRead => Work::Read,
            Self::UserWrite | Self::MappingWrite | Self::GcWrite => Work::Program,
            Self::Erase => Work::Erase,
        }
    }
}
