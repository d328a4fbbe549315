//! What the caller tells and asks the placement policy.

use super::Ftl;
use crate::block::FrontierId;
use crate::placement::{Foresight, Reference, Training};
use ssdtune_model::{BlockAddr, Nanos};

impl Ftl {
    /// Says when the writes that follow happen and which application they belong to, for policies
    /// that learn from it. If `now` falls, as when a run follows a warm-up, the policy's time goes
    /// on from where it was.
    #[inline]
    pub fn set_write_context(&mut self, now: Nanos, application: u16) {
        self.placer.set_context(now, application);
    }

    /// Says whether policies learn from the writes that follow. Switch it off while filling a drive
    /// with data that are not part of a workload.
    pub fn set_learning(&mut self, learns: bool) {
        self.placer.set_learning(learns);
    }

    /// Replaces the policy by a reference that knows when each page will be overwritten. The drive
    /// must have been made with the HAML-SSD policy, with as many clusters as there are to be
    /// frontiers. How near the write amplification comes to the least that a policy can hope for
    /// depends on the reference.
    ///
    /// # Panics
    /// The drive has another policy.
    pub fn foresee(&mut self, foresight: Foresight, reference: Reference) {
        let pages = self.geometry.planes() * u64::from(self.geometry.pages_per_block);
        self.placer.foresee(foresight, reference, pages);
    }

    /// What HAML-SSD learned in its last training. `None` if the drive has another policy, or has
    /// not trained yet.
    pub fn last_training(&self) -> Option<&Training> {
        self.placer.last_training()
    }

    /// Heap memory of what the policy remembers, in bytes.
    pub fn placement_bytes(&self) -> u64 {
        self.placer.memory_bytes()
    }

    /// The number of write frontiers for host data and moved pages that a tenant may have in a
    /// plane.
    pub fn frontiers_per_plane(&self) -> usize {
        self.placer.queues()
    }

    /// The write frontier that a block was opened for.
    pub fn block_frontier(&self, block: BlockAddr) -> FrontierId {
        self.planes[block.plane].blocks[block.block].frontier
    }
}
