//! A frontier for each application, the aim of AutoStream and of multi-frontier drives (the paper's "Auto-SSD").
//!
//! The application is what the caller tells: a process, a file system, a tenant of the trace. Where nobody knows
//! it, all pages have one frontier and the policy is no policy. The 17th application shares with the first.

use super::{Cause, Policy, Write};
use serde::{Deserialize, Serialize};
use ssdtune_model::config::MAX_FRONTIERS;

const QUEUES: u8 = MAX_FRONTIERS as u8;

/// No state: a moved page belongs to the application of the block it leaves, where blocks of moved pages know it.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub(crate) struct AutoStream;

impl Policy for AutoStream {
    fn queue(&self, write: &Write) -> u8 {
        match write.cause {
            Cause::Host => (write.application % u16::from(QUEUES)) as u8,
            Cause::Move(queue) => queue % QUEUES,
        }
    }
}
