//! What the caller tells and asks the placement policy.

use super::Ftl;
use crate::block::FrontierId;
use crate::number::LogicalPage;
use crate::placement::{Foresight, Reference, Shape, Training};
use ssdtune_model::{BlockAddr, Lpn, Nanos, PlaneId, TenantId};

impl Ftl {
    /// Says when the writes that follow happen and which application they belong to, for policies
    /// that learn from it. If `now` falls, as when a run follows a warm-up, the policy's time goes
    /// on from where it was.
    #[inline]
    pub fn set_write_context(&mut self, now: Nanos, application: u16) {
        self.placer.set_context(now, application);
    }

    /// Whether the placement policy looks at the shapes of requests. If not, [`Ftl::expect_write`]
    /// need not be called.
    pub fn looks_at_shapes(&self) -> bool {
        self.placer.looks_at_shapes()
    }

    /// Says which page the host writes next and what its request looks like from there. Call it
    /// after [`Ftl::set_write_context`], before anything is asked about the write.
    #[inline]
    pub fn expect_write(&mut self, tenant: TenantId, lpn: Lpn, shape: Shape) {
        self.placer.expect(self.tenants[tenant].page(lpn), shape);
    }

    /// The frontier that a page goes to when it leaves a block of a tenant: the one that the policy
    /// names, or the nearest with room if that is full and no block is free.
    #[inline]
    pub(crate) fn moved_frontier(
        &self,
        (plane, tenant): (PlaneId, TenantId),
        page: LogicalPage,
        from: FrontierId,
    ) -> FrontierId {
        let named = self.placer.moved_frontier(page, from);
        let plane = &self.planes[plane];
        if plane.free_blocks() > 0 || plane.has_room(tenant, named) {
            return named;
        }
        let mut others = self.placer.other_moved(named);
        others.find(|&other| plane.has_room(tenant, other)).unwrap_or(named)
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
