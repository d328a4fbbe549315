//! Which write frontier of its plane a page goes to: pages that die together should share a block.
//!
//! A policy is a `Policy`: given a write it names a queue, and it learns from what it observes.
//! Queues are write frontiers of every plane: those of host data, then those of moved pages, if a
//! policy keeps them apart. On the hot path the policy is an enum; a drive without one takes a
//! branch and nothing else.
//!
//! | policy | queues | memory | moved pages go |
//! |---|---|---|---|
//! | none | 1 | none | to one frontier of their own |
//! | `AutoStream` | 16 | none | likewise |
//! | `Hotis` | 2 | 4 B a region, 1 MiB at most | to one for each queue, apart from host data |
//! | `AsaFtl` | 3 | 4 B a region, 1 MiB at most | likewise |
//! | `Haml` | 2 to 16 | 45 B a slice | likewise |
//! | `SepBit` | 2 | 4 B a logical page, 4 B a block | to four of their own, by the page's age |
//! | `Oracle` | 2 to 16 | 4 B a write of the trace, 4 B a page | as for `Haml`, by the time of death |
//!
//! Where moved pages go can be set otherwise (`placement.moved`): with host data, to one frontier,
//! to one for each queue.
//!
//! Policies see host pages of all tenants in one numbering; translation pages have a frontier of
//! their own.

mod asa_ftl;
mod auto_stream;
pub mod clusters;
mod haml;
pub mod haml_unit;
mod heat;
mod hotis;
mod oracle;
mod reserve;
mod sepbit;
#[cfg(test)]
mod tests;

pub use haml::{Tables, Training, TrainingOptions, scaled};
pub use oracle::Foresight;

use crate::block::{FRONTIERS, FrontierId, Pick};
use crate::error::FtlError;
use crate::ftl::Ftl;
use crate::layout::BlockRef;
use asa_ftl::AsaFtl;
use auto_stream::AutoStream;
use haml::Haml;
use hotis::Hotis;
use oracle::Oracle;
use rand::RngExt;
use rand_pcg::Pcg64Mcg;
use sepbit::SepBit;
use serde::{Deserialize, Serialize};
use ssdtune_model::config::PlacementPolicy;
use ssdtune_model::{DeviceConfig, Nanos};

pub(crate) use haml::EXCHANGE_GAP;
pub(crate) use reserve::FrontierNeeds;

/// Why a page is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Cause {
    /// The host says so.
    Host,
    /// Its block is collected; the queue that the block was opened for.
    Move(u8),
}

/// A page that is to be written.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Write {
    /// Its number among the logical pages of all tenants.
    pub page: u64,
    /// Who writes it, as far as the caller knows.
    pub application: u16,
    /// When, in nanoseconds.
    pub at: u64,
    pub cause: Cause,
}

/// A placement policy.
pub(crate) trait Policy {
    /// The queue a page goes to. Asked as often as the caller likes.
    fn queue(&self, write: &Write) -> u8;

    /// A host write was placed.
    fn observe(&mut self, _: &Write) {}

    /// A page will be written soon: asks for the cache line of what is known of it.
    fn prefetch_page(&self, _page: u64) {}

    /// A block was opened for a queue.
    fn opened(&mut self, _: BlockRef, _queue: u8) {}

    /// All pages of a block of that queue have been moved.
    fn collected(&mut self, _: BlockRef, _queue: u8) {}
}

/// The policies there are.
#[derive(Clone, Debug, Serialize, Deserialize)]
enum ActivePolicy {
    None,
    AutoStream(AutoStream),
    Hotis(Box<Hotis>),
    AsaFtl(Box<AsaFtl>),
    Haml(Box<Haml>),
    SepBit(Box<SepBit>),
    Oracle(Box<Oracle>),
}

/// Does the same with whatever policy there is; the other value without one.
macro_rules! with_policy {
    ($kind:expr, $policy:ident => $act:expr, $none:expr) => {
        match $kind {
            ActivePolicy::None => $none,
            ActivePolicy::AutoStream($policy) => $act,
            ActivePolicy::Hotis($policy) => $act,
            ActivePolicy::AsaFtl($policy) => $act,
            ActivePolicy::Haml($policy) => $act,
            ActivePolicy::SepBit($policy) => $act,
            ActivePolicy::Oracle($policy) => $act,
        }
    };
}

/// The policy of a drive and what it is told.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Placer {
    kind: ActivePolicy,
    /// Queues of host data.
    host: u8,
    /// Queues of moved pages alone.
    moved: u8,
    /// Where moved pages go without a policy.
    plain: FrontierId,
    now: u64,
    /// What is added to the caller's time, which may begin anew.
    since: u64,
    application: u16,
    /// Writes are placed but teach nothing.
    learning_off: bool,
}

impl Placer {
    /// The policy that a configuration names, for so many logical pages.
    pub fn new(config: &DeviceConfig, pages: u64) -> Self {
        let frontiers = config.placement.frontiers();
        let planes = config.geometry().planes() as usize;
        let kind = match config.placement.policy {
            PlacementPolicy::None => ActivePolicy::None,
            PlacementPolicy::AutoStream => ActivePolicy::AutoStream(AutoStream),
            PlacementPolicy::Hotis => ActivePolicy::Hotis(Box::new(Hotis::new(pages))),
            PlacementPolicy::AsaFtl => ActivePolicy::AsaFtl(Box::new(AsaFtl::new(pages))),
            PlacementPolicy::Haml => {
                ActivePolicy::Haml(Box::new(Haml::new(&config.placement, pages, planes)))
            }
            PlacementPolicy::Sepbit => ActivePolicy::SepBit(Box::new(SepBit::new(pages, planes))),
        };
        Self {
            kind,
            host: frontiers.host as u8,
            moved: frontiers.moved as u8,
            plain: if frontiers.moved == 0 { FrontierId::DATA } else { FrontierId::MOVED },
            now: 0,
            since: 0,
            application: 0,
            learning_off: false,
        }
    }

    /// Whether a full plane has the blocks that further frontiers take.
    pub fn check_spare(
        &self,
        config: &DeviceConfig,
        needs: &FrontierNeeds,
    ) -> Result<(), FtlError> {
        let geometry = config.geometry();
        let visible = geometry.pages_per_plane() as f64 * (1.0 - config.mapping.overprovisioning);
        let pages = f64::from(geometry.pages_per_block);
        let (blocks, needed) = (geometry.blocks_per_plane, needs.open + needs.reserve);
        // When all other blocks are full, one of them must hold an invalid page.
        let is_enough = visible < f64::from(blocks.saturating_sub(needed)) * pages;
        if matches!(self.kind, ActivePolicy::None) || is_enough {
            return Ok(());
        }
        Err(FtlError::TooFewSpare {
            policy: config.placement.policy.name(),
            spare: blocks - ((visible / pages).ceil() as u32).min(blocks),
            needed: needed + 1,
        })
    }

    /// Frontiers that each tenant has in a plane.
    pub fn frontiers(&self) -> usize {
        FRONTIERS + usize::from(self.host - 1) + usize::from(self.moved.max(1) - 1)
    }

    /// The frontiers of the first host queue and of the first queue of moved pages are those of a
    /// drive without a policy; the rest follow.
    ///
    /// Queues follow each other in no order that a branch could be foreseen by, so there is none.
    #[inline]
    fn frontier(&self, queue: u8) -> FrontierId {
        let further = FrontierId::further((queue + u8::from(queue < self.host)).wrapping_sub(2));
        let frontier = if queue == self.host { FrontierId::MOVED } else { further };
        if queue == 0 { FrontierId::DATA } else { frontier }
    }

    fn queue(&self, frontier: FrontierId) -> u8 {
        let further = frontier.index() as u8 - if frontier == FrontierId::DATA { 0 } else { 2 };
        match frontier {
            FrontierId::DATA => 0,
            // Without a queue for moved pages none of their blocks exists, except from a drive's
            // past.
            FrontierId::MOVED if self.moved == 0 => 0,
            FrontierId::MOVED => self.host,
            _ if further < self.host => further,
            _ => further + 1,
        }
    }

    fn write(&self, page: u64, cause: Cause) -> Write {
        Write { page, application: self.application, at: self.now, cause }
    }

    /// The frontier of a host write.
    #[inline]
    pub fn host_frontier(&self, page: u64) -> FrontierId {
        match self.kind {
            ActivePolicy::None => FrontierId::DATA,
            _ => self.frontier_for(page, Cause::Host),
        }
    }

    /// The frontier of a page that leaves a block of another frontier.
    #[inline]
    pub fn moved_frontier(&self, page: u64, from: FrontierId) -> FrontierId {
        match self.kind {
            ActivePolicy::None => self.plain,
            _ if self.moved == 1 => FrontierId::MOVED,
            _ => self.frontier_for(page, Cause::Move(self.class(self.queue(from)))),
        }
    }

    #[inline]
    fn frontier_for(&self, page: u64, cause: Cause) -> FrontierId {
        let write = self.write(page, cause);
        let queue = with_policy!(&self.kind, policy => policy.queue(&write), 0);
        // A policy that does not look at the cause names the queue that a host write would go to.
        let is_apart = cause != Cause::Host && self.moved == self.host && queue < self.host;
        self.frontier(if is_apart { self.host + queue } else { queue })
    }

    /// The host queue that a queue of moved pages stands beside, if there is one for each.
    fn class(&self, queue: u8) -> u8 {
        if self.moved == self.host && queue >= self.host { queue - self.host } else { queue }
    }

    /// A host write was placed.
    #[inline]
    pub fn observe(&mut self, page: u64) {
        if !matches!(self.kind, ActivePolicy::None) && !self.learning_off {
            let write = self.write(page, Cause::Host);
            with_policy!(&mut self.kind, policy => policy.observe(&write), ());
        }
    }

    /// A page will be written soon.
    #[inline]
    pub fn prefetch_page(&self, page: u64) {
        with_policy!(&self.kind, policy => policy.prefetch_page(page), ());
    }

    /// Which free block a frontier takes.
    pub fn pick(&self, frontier: FrontierId, rng: &mut Pcg64Mcg) -> Pick {
        match &self.kind {
            ActivePolicy::Haml(haml) if frontier != FrontierId::TRANSLATION => {
                haml.pick(self.class(self.queue(frontier)), || rng.random())
            }
            _ => Pick::InOrder,
        }
    }

    pub fn opened(&mut self, at: BlockRef, frontier: FrontierId) {
        if frontier != FrontierId::TRANSLATION {
            let queue = self.queue(frontier);
            with_policy!(&mut self.kind, policy => policy.opened(at, queue), ());
        }
    }

    pub fn collected(&mut self, at: BlockRef, frontier: FrontierId) {
        if frontier != FrontierId::TRANSLATION {
            let queue = self.queue(frontier);
            with_policy!(&mut self.kind, policy => policy.collected(at, queue), ());
        }
    }

    /// The frontier whose least worn block, or whose most worn one, is to be moved next in a plane.
    pub fn exchange(&mut self, plane: usize) -> Option<(FrontierId, Pick)> {
        let ActivePolicy::Haml(haml) = &mut self.kind else { return None };
        let (queue, pick) = haml.exchange(plane)?;
        Some((self.frontier(queue), pick))
    }

    pub fn memory_bytes(&self) -> u64 {
        match &self.kind {
            ActivePolicy::None | ActivePolicy::AutoStream(_) => 0,
            ActivePolicy::Hotis(policy) => policy.memory_bytes(),
            ActivePolicy::AsaFtl(policy) => policy.memory_bytes(),
            ActivePolicy::Haml(policy) => policy.memory_bytes(),
            ActivePolicy::SepBit(policy) => policy.memory_bytes(),
            ActivePolicy::Oracle(policy) => policy.memory_bytes(),
        }
    }
}

impl Ftl {
    /// Tells the time and the application of the accesses that follow, for policies that learn from
    /// them. Time that begins anew, as when a run follows a warm-up, goes on from where it was.
    #[inline]
    pub fn set_write_context(&mut self, now: Nanos, application: u16) {
        let placer = &mut self.placer;
        if now.0 + placer.since < placer.now {
            placer.since = placer.now - now.0;
        }
        placer.now = now.0 + placer.since;
        placer.application = application;
    }

    /// Places the writes that follow without learning from them, or learns again: to fill a drive
    /// with what was not part of a workload.
    pub fn set_learning(&mut self, learns: bool) {
        self.placer.learning_off = !learns;
    }

    /// Places pages by the times of their deaths, which only somebody who knows all writes to come
    /// can tell: the least write amplification to be hoped for. The drive's policy must be HAML-SSD
    /// with as many clusters as there are to be frontiers; it is replaced.
    ///
    /// # Panics
    /// The drive has another policy.
    pub fn foresee(&mut self, foresight: Foresight) {
        assert!(matches!(self.placer.kind, ActivePolicy::Haml(_)), "a drive with hotness queues");
        let pages = self.geometry.planes() * u64::from(self.geometry.pages_per_block);
        let oracle = Oracle::new(foresight, pages, self.placer.host);
        self.placer.kind = ActivePolicy::Oracle(Box::new(oracle));
    }

    /// What HAML-SSD learned when it was trained last, if it is the policy and was.
    pub fn last_training(&self) -> Option<&Training> {
        match &self.placer.kind {
            ActivePolicy::Haml(haml) => haml.last_training(),
            _ => None,
        }
    }

    /// Heap bytes of what the policy remembers.
    pub fn placement_bytes(&self) -> u64 {
        self.placer.memory_bytes()
    }

    /// Write frontiers of host data and moved pages that a tenant may have in a plane.
    pub fn frontiers_per_plane(&self) -> usize {
        usize::from(self.placer.host + self.placer.moved)
    }

    /// The frontier a block was opened for.
    pub fn block_frontier(&self, block: BlockRef) -> FrontierId {
        self.planes[block.plane as usize].blocks[block.block as usize].frontier
    }
}
