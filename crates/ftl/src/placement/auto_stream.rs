//! One write frontier for each application: the aim of AutoStream and of multi-stream drives (the
//! paper's "Auto-SSD").
//!
//! The application is whatever the caller names: a process, a file system, a tenant of the trace.
//! If nobody names any, all pages go to one frontier, as without a policy. There are 16 frontiers;
//! the 17th application shares one with the first.

use super::{Cause, Policy, Queue, Write};
use serde::{Deserialize, Serialize};
use ssdtune_model::config::MAX_FRONTIERS;

/// One queue for each frontier that a policy may have.
const QUEUES: u8 = MAX_FRONTIERS as u8;

/// The policy. It has no state: a moved page belongs to the application of the block it leaves, if
/// blocks of moved pages are kept apart by application.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub(crate) struct AutoStream;

impl Policy for AutoStream {
    fn queue(&self, write: &Write) -> Queue {
        Queue(match write.cause {
            Cause::Host => (write.application % u16::from(QUEUES)) as u8,
            Cause::Move(queue) => queue.0 % QUEUES,
        })
    }
}
