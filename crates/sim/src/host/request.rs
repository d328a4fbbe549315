//! A request of the host while the drive has it.

use crate::id::RequestId;
use crate::vocabulary::Completion;
use serde::{Deserialize, Serialize};
use ssdtune_model::{Nanos, Sectors};
use ssdtune_trace::{Op, TenantId};

/// A host request between arrival and completion.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct HostRequest {
    /// The first sector, in the tenant's address space.
    pub lba: Sectors,
    /// When it reached the host's driver.
    pub arrived: Nanos,
    /// When it entered the submission queue.
    pub enqueued: Nanos,
    /// When the drive could begin to work on it: a write when its data were in the drive.
    pub stamp: Nanos,
    /// Its number in its stream.
    pub number: u64,
    pub sectors: u32,
    /// Cached writes: sectors that the cache has not taken yet.
    pub rest: u32,
    /// Cached writes: where these sectors begin. Reads: when the controller will have the last data
    /// ready for the host, in nanoseconds. (A drive under too much load holds millions of requests,
    /// so they share the room.)
    pub cursor: u64,
    /// A flush that waits for this one.
    pub next_flush: Option<RequestId>,
    /// Flash transactions that it waits for.
    pub waits_flash: u32,
    /// Sectors that it waits for on the DRAM channel.
    pub waits_dram: u32,
    pub tenant: TenantId,
    pub op: Op,
}

impl HostRequest {
    /// A request that arrives.
    pub fn new(
        now: Nanos,
        tenant: TenantId,
        op: Op,
        lba: Sectors,
        sectors: u32,
        number: u64,
    ) -> Self {
        Self {
            lba,
            arrived: now,
            enqueued: now,
            stamp: now,
            number,
            sectors,
            rest: 0,
            cursor: 0,
            next_flush: None,
            waits_flash: 0,
            waits_dram: 0,
            tenant,
            op,
        }
    }

    /// When the controller will have the last data of a read ready for the host.
    #[inline]
    pub fn data_ready(&self) -> Nanos {
        if self.op == Op::Read { Nanos(self.cursor) } else { Nanos::ZERO }
    }

    /// Whether the drive has done everything that it asks for.
    #[inline]
    pub fn is_done(&self) -> bool {
        self.waits_flash == 0 && self.waits_dram == 0 && self.rest == 0
    }

    /// What the caller is told when the host has seen its completion.
    #[inline]
    pub fn completion(&self, now: Nanos) -> Completion {
        Completion {
            number: self.number,
            tenant: self.tenant,
            op: self.op,
            lba: self.lba,
            sectors: self.sectors,
            arrived: self.arrived,
            enqueued: self.enqueued,
            completed: now,
        }
    }
}
