//! Placement policies: which write frontier of its plane a page goes to. Pages that will be
//! overwritten at about the same time should share a block, so that the block is empty when it is
//! collected.
//!
//! Given a write, a policy names a queue, and it learns from the writes it sees. Queues are write
//! frontiers of every plane: first those of host data, then those of moved pages, if the policy
//! keeps them apart. On the hot path the policy is an enum; a drive without one takes a branch and
//! nothing else.
//!
//! | policy | queues | memory | frontiers of moved pages |
//! |---|---|---|---|
//! | none | 1 | none | one |
//! | `AutoStream` | 16 | none | one |
//! | `Hotis` | 2 | 4 B a region, 1 MiB at most | one for each queue |
//! | `AsaFtl` | 3 | 4 B a region, 1 MiB at most | one for each queue |
//! | `Haml` | 2 to 16 | 37 B a slice | one for each queue |
//! | `SepBit` | 2 | 4 B a logical page, 4 B a block | four, by the page's age |
//! | `Dac` | 6 | 5 B a logical page | one for each queue |
//! | `Warcip` | 6 | 4 B a logical page | one for each queue |
//! | `Midas` | 2 | 4 B a logical page | six, by how often the page was moved |
//! | `Lifespan` | 9 | 8 B a page, 4 B a block, 185 or 145 KiB | nine, by the page's age |
//! | `Oracle` | 2 to 16 | 4 B a write of the trace, 4 B a page | those of host data |
//!
//! Moved pages have frontiers apart from those of host data. `placement.moved` changes that: they
//! go to the frontiers of host data, to one frontier, or to one for each queue.
//!
//! Policies see the pages of all tenants as one range of numbers. Translation pages always have a
//! frontier of their own.

mod asa_ftl;
mod auto_stream;
pub mod clusters;
mod cuts;
mod dac;
mod haml;
pub mod haml_unit;
mod heat;
mod hotis;
mod lifespan;
mod midas;
mod oracle;
mod per_page;
mod reserve;
mod sepbit;
mod shape;
#[cfg(test)]
mod tests;
mod warcip;

pub use haml::{Tables, Training, TrainingOptions, scaled, slices_in_memory_of_asa_ftl};
pub use oracle::{Foresight, Reference};
pub use shape::{RequestShape, Shape, ShapeTracker};

use crate::block::{FRONTIERS, FrontierId, Pick};
use crate::error::FtlError;
use crate::number::LogicalPage;
use asa_ftl::AsaFtl;
use auto_stream::AutoStream;
use dac::Dac;
use haml::Haml;
use hotis::Hotis;
use lifespan::{DriveSize, Lifespan};
use midas::Midas;
use oracle::Oracle;
use rand::RngExt;
use rand_pcg::Pcg64Mcg;
use sepbit::SepBit;
use serde::{Deserialize, Serialize};
use ssdtune_model::config::PlacementPolicy;
use ssdtune_model::{BlockAddr, DeviceConfig, Nanos, Place, PlaneId};
use warcip::Warcip;

pub(crate) use haml::EXCHANGE_GAP;
pub(crate) use reserve::FrontierNeeds;

/// A queue of a policy: first those of host data, then those of moved pages.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub(crate) struct Queue(pub u8);

/// Why a page is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Cause {
    /// A host write.
    Host,
    /// The page's block is collected. The queue is the one that the block was opened for.
    Move(Queue),
}

/// A page that is to be written.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Write {
    pub page: LogicalPage,
    /// The application that writes it, as far as the caller knows.
    pub application: u16,
    /// The time of the write in nanoseconds.
    pub at: u64,
    /// What the host request looks like from this page.
    pub shape: Shape,
    pub cause: Cause,
}

/// A placement policy.
pub(crate) trait Policy {
    /// The queue that a page goes to. May be asked any number of times for one write.
    fn queue(&self, write: &Write) -> Queue;

    /// Is told of a host write before its queue is asked for.
    fn expect(&mut self, _: &Write) {}

    /// Learns from a host write that was placed.
    fn observe(&mut self, _: &Write) {}

    /// Learns that a page was moved to where [`Policy::queue`] says.
    fn moved(&mut self, _: &Write) {}

    /// Prefetches what the policy knows of a page that will be written soon.
    fn prefetch_page(&self, _: LogicalPage) {}

    /// Notes that a block was opened for a queue.
    fn opened(&mut self, _: BlockAddr, _: Queue) {}

    /// Notes that all pages of a block of a queue have been moved.
    fn collected(&mut self, _: BlockAddr, _: Queue) {}

    /// Heap memory of what the policy remembers, in bytes.
    fn memory_bytes(&self) -> u64 {
        0
    }
}

/// The policy of a drive. The order of the variants is part of the snapshot format.
#[derive(Clone, Debug, Serialize, Deserialize)]
enum ActivePolicy {
    None,
    AutoStream(AutoStream),
    Hotis(Box<Hotis>),
    AsaFtl(Box<AsaFtl>),
    Haml(Box<Haml>),
    SepBit(Box<SepBit>),
    Oracle(Box<Oracle>),
    Dac(Box<Dac>),
    Warcip(Box<Warcip>),
    Midas(Box<Midas>),
    Lifespan(Box<Lifespan>),
}

/// Calls the same method on whatever policy the drive has; without one, gives the other value.
macro_rules! with_policy {
    ($active:expr, $policy:ident => $act:expr, $none:expr) => {
        match $active {
            ActivePolicy::None => $none,
            ActivePolicy::AutoStream($policy) => $act,
            ActivePolicy::Hotis($policy) => $act,
            ActivePolicy::AsaFtl($policy) => $act,
            ActivePolicy::Haml($policy) => $act,
            ActivePolicy::SepBit($policy) => $act,
            ActivePolicy::Oracle($policy) => $act,
            ActivePolicy::Dac($policy) => $act,
            ActivePolicy::Warcip($policy) => $act,
            ActivePolicy::Midas($policy) => $act,
            ActivePolicy::Lifespan($policy) => $act,
        }
    };
}

/// Blocks of a plane that the pages which the host sees do not fill.
fn spare_blocks(config: &DeviceConfig) -> u32 {
    let geometry = config.allocation_geometry();
    let visible = geometry.pages_per_plane() as f64 * (1.0 - config.mapping.overprovisioning);
    let full = (visible / f64::from(geometry.pages_per_block)).ceil() as u32;
    geometry.blocks_per_plane - full.min(geometry.blocks_per_plane)
}

/// The policy of a drive, and what it is told about the writes that follow.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Placer {
    policy: ActivePolicy,
    /// Number of queues of host data.
    host: u8,
    /// Number of queues that only moved pages use.
    moved: u8,
    /// Where moved pages go if there is no policy.
    without_policy: FrontierId,
    /// The time of the next writes, in nanoseconds. It never falls.
    now: u64,
    /// Is added to the caller's time, in nanoseconds. A run that follows a warm-up starts again at
    /// zero.
    time_offset: u64,
    /// The application of the next writes.
    application: u16,
    /// The shape of the next write.
    shape: Shape,
    /// Writes are placed, but the policy does not learn from them.
    learning_off: bool,
}

impl Placer {
    /// The policy that a configuration names, for a number of logical pages.
    pub fn new(config: &DeviceConfig, pages: u64) -> Self {
        let frontiers = config.placement.frontiers();
        let planes = config.allocation_geometry().planes() as usize;
        let policy = match config.placement.policy {
            PlacementPolicy::None => ActivePolicy::None,
            PlacementPolicy::AutoStream => ActivePolicy::AutoStream(AutoStream),
            PlacementPolicy::Hotis => ActivePolicy::Hotis(Box::new(Hotis::new(pages))),
            PlacementPolicy::AsaFtl => ActivePolicy::AsaFtl(Box::new(AsaFtl::new(pages))),
            PlacementPolicy::Haml => {
                ActivePolicy::Haml(Box::new(Haml::new(&config.placement, pages, planes)))
            }
            PlacementPolicy::Sepbit => ActivePolicy::SepBit(Box::new(SepBit::new(pages, planes))),
            PlacementPolicy::Dac => ActivePolicy::Dac(Box::new(Dac::new(pages))),
            PlacementPolicy::Warcip => ActivePolicy::Warcip(Box::new(Warcip::new(pages))),
            PlacementPolicy::Midas => ActivePolicy::Midas(Box::new(Midas::new(pages))),
            PlacementPolicy::Lifespan => {
                let unit = u64::from(config.allocation_geometry().pages_per_block) * planes as u64;
                let size = DriveSize {
                    pages,
                    unit,
                    planes: planes as u64,
                    blocks: config.allocation_geometry().blocks_per_plane,
                    spare: spare_blocks(config),
                };
                ActivePolicy::Lifespan(Box::new(Lifespan::new(&size, config.placement.memory)))
            }
        };
        Self {
            policy,
            host: frontiers.host as u8,
            moved: frontiers.moved as u8,
            without_policy: if frontiers.moved == 0 { FrontierId::DATA } else { FrontierId::MOVED },
            now: 0,
            time_offset: 0,
            application: 0,
            shape: Shape::default(),
            learning_off: false,
        }
    }

    /// Refuses a drive that has not enough spare blocks for the frontiers of its policy.
    ///
    /// # Errors
    /// [`FtlError::TooFewSpare`].
    pub fn check_spare(
        &self,
        config: &DeviceConfig,
        needs: &FrontierNeeds,
    ) -> Result<(), FtlError> {
        let geometry = config.allocation_geometry();
        let visible = geometry.pages_per_plane() as f64 * (1.0 - config.mapping.overprovisioning);
        let pages = f64::from(geometry.pages_per_block);
        let (blocks, needed) = (geometry.blocks_per_plane, needs.open + needs.reserve);
        // Even if all other blocks are full, one of them must hold an invalid page.
        let is_enough = visible < f64::from(blocks.saturating_sub(needed)) * pages;
        if matches!(self.policy, ActivePolicy::None) || is_enough {
            return Ok(());
        }
        Err(FtlError::TooFewSpare {
            policy: config.placement.policy.name(),
            spare: spare_blocks(config),
            needed: needed + 1,
        })
    }

    /// Write frontiers that each tenant has in a plane.
    pub fn frontiers(&self) -> usize {
        FRONTIERS + usize::from(self.host - 1) + usize::from(self.moved.max(1) - 1)
    }

    /// The frontier of a queue. The first host queue and the first queue of moved pages have the
    /// frontiers of a drive without a policy; the rest follow.
    ///
    /// Without branches, since queues come in no order that the CPU could predict.
    #[inline]
    fn frontier(&self, Queue(queue): Queue) -> FrontierId {
        let further = FrontierId::further((queue + u8::from(queue < self.host)).wrapping_sub(2));
        let frontier = if queue == self.host { FrontierId::MOVED } else { further };
        if queue == 0 { FrontierId::DATA } else { frontier }
    }

    /// The queue of a frontier: the inverse of [`Placer::frontier`].
    fn queue(&self, frontier: FrontierId) -> Queue {
        let further = frontier.index() as u8 - if frontier == FrontierId::DATA { 0 } else { 2 };
        Queue(match frontier {
            FrontierId::DATA => 0,
            // If moved pages have no queue of their own, only blocks that the drive held at the
            // start have this frontier.
            FrontierId::MOVED if self.moved == 0 => 0,
            FrontierId::MOVED => self.host,
            _ if further < self.host => further,
            _ => further + 1,
        })
    }

    /// A write at the present time by the present application.
    fn write(&self, page: LogicalPage, cause: Cause) -> Write {
        Write { page, application: self.application, at: self.now, shape: self.shape, cause }
    }

    /// The frontier that a host write goes to.
    #[inline]
    pub fn host_frontier(&self, page: LogicalPage) -> FrontierId {
        match self.policy {
            ActivePolicy::None => FrontierId::DATA,
            _ => self.frontier_for(page, Cause::Host),
        }
    }

    /// The frontier that a page goes to when it leaves a block of another frontier.
    #[inline]
    pub fn moved_frontier(&self, page: LogicalPage, from: FrontierId) -> FrontierId {
        match self.policy {
            ActivePolicy::None => self.without_policy,
            _ if self.moved == 1 => FrontierId::MOVED,
            _ => self.frontier_for(page, Cause::Move(self.class(self.queue(from)))),
        }
    }

    /// The frontiers that moved pages alone have, the nearest to one of them first. Empty if they
    /// have none or one.
    pub fn other_moved(&self, to: FrontierId) -> impl Iterator<Item = FrontierId> + '_ {
        let at = i16::from(self.queue(to).0) - i16::from(self.host);
        let moved = if at < 0 { 0 } else { i16::from(self.moved) };
        let both = (1..moved).flat_map(move |far| [at - far, at + far]);
        let queues = both.filter(move |queue| (0..moved).contains(queue));
        queues.map(|queue| self.frontier(Queue(self.host + queue as u8)))
    }

    /// Whether all pages of a block move to the same frontier.
    pub fn moves_alike(&self) -> bool {
        matches!(self.policy, ActivePolicy::None) || self.moved == 1
    }

    /// The frontier that the policy names for a write.
    #[inline]
    fn frontier_for(&self, page: LogicalPage, cause: Cause) -> FrontierId {
        let write = self.write(page, cause);
        let queue = with_policy!(&self.policy, policy => policy.queue(&write), Queue(0));
        // If the policy ignores the cause, it names the queue that a host write would go to.
        let is_apart = cause != Cause::Host && self.moved == self.host && queue.0 < self.host;
        self.frontier(if is_apart { Queue(self.host + queue.0) } else { queue })
    }

    /// The host queue that belongs to a queue of moved pages, if each host queue has one.
    fn class(&self, queue: Queue) -> Queue {
        let is_apart = self.moved == self.host && queue.0 >= self.host;
        if is_apart { Queue(queue.0 - self.host) } else { queue }
    }

    /// Lets the policy learn from a host write that was placed.
    #[inline]
    pub fn observe(&mut self, page: LogicalPage) {
        if !matches!(self.policy, ActivePolicy::None) && !self.learning_off {
            let write = self.write(page, Cause::Host);
            with_policy!(&mut self.policy, policy => policy.observe(&write), ());
        }
    }

    /// Tells the policy how many valid pages a block has that was chosen to win free space. Most do
    /// not care.
    pub fn will_move(&mut self, pages: u32, from: FrontierId) {
        if let ActivePolicy::Lifespan(lifespan) = &mut self.policy
            && from != FrontierId::TRANSLATION
        {
            lifespan.will_move(pages);
        }
    }

    /// Tells the policy that a page was moved out of a block of some frontier. Most do not care.
    #[inline]
    pub fn moved(&mut self, page: LogicalPage, from: FrontierId) {
        if let ActivePolicy::Dac(_) = self.policy {
            let write = self.write(page, Cause::Move(self.class(self.queue(from))));
            with_policy!(&mut self.policy, policy => policy.moved(&write), ());
        }
    }

    /// Prefetches what the policy knows of a page that will be written soon.
    #[inline]
    pub fn prefetch_page(&self, page: LogicalPage) {
        with_policy!(&self.policy, policy => policy.prefetch_page(page), ());
    }

    /// Which free block a frontier takes.
    pub fn pick(&self, frontier: FrontierId, rng: &mut Pcg64Mcg) -> Pick {
        match &self.policy {
            ActivePolicy::Haml(haml) if frontier != FrontierId::TRANSLATION => {
                haml.pick(self.class(self.queue(frontier)), || rng.random())
            }
            _ => Pick::InOrder,
        }
    }

    /// Tells the policy that a block was opened for a frontier.
    pub fn opened(&mut self, at: BlockAddr, frontier: FrontierId) {
        if frontier != FrontierId::TRANSLATION {
            let queue = self.queue(frontier);
            with_policy!(&mut self.policy, policy => policy.opened(at, queue), ());
        }
    }

    /// Tells the policy that all pages of a block were moved.
    pub fn collected(&mut self, at: BlockAddr, frontier: FrontierId) {
        if frontier != FrontierId::TRANSLATION {
            let queue = self.queue(frontier);
            with_policy!(&mut self.policy, policy => policy.collected(at, queue), ());
        }
    }

    /// The share of the valid pages of a block that will be overwritten before long, with 16 bits
    /// behind the point; 0 if the policy does not know.
    pub fn dies_soon(&self, at: BlockAddr, frontier: FrontierId) -> u32 {
        match &self.policy {
            ActivePolicy::Lifespan(lifespan) if frontier != FrontierId::TRANSLATION => {
                lifespan.dies_soon(at, self.queue(frontier))
            }
            _ => 0,
        }
    }

    /// A block that the policy wants moved in a plane for the sake of wear: its frontier, and which
    /// of the frontier's blocks.
    pub fn exchange(&mut self, plane: PlaneId) -> Option<(FrontierId, Pick)> {
        let ActivePolicy::Haml(haml) = &mut self.policy else { return None };
        let (queue, pick) = haml.exchange(plane)?;
        Some((self.frontier(queue), pick))
    }

    /// Says when the writes that follow happen and who makes them. If `now` falls, the policy's
    /// time goes on from where it was.
    #[inline]
    pub fn set_context(&mut self, now: Nanos, application: u16) {
        if now.0 + self.time_offset < self.now {
            self.time_offset = self.now - now.0;
        }
        self.now = now.0 + self.time_offset;
        self.application = application;
    }

    /// Whether the policy looks at the shapes of requests.
    pub fn looks_at_shapes(&self) -> bool {
        match &self.policy {
            ActivePolicy::Lifespan(_) => true,
            ActivePolicy::Haml(haml) => haml.counts_requests(),
            _ => false,
        }
    }

    /// Says which page the host writes next, and what its request looks like from there.
    #[inline]
    pub fn expect(&mut self, page: LogicalPage, shape: Shape) {
        if matches!(self.policy, ActivePolicy::None) {
            return;
        }
        self.shape = shape;
        if !self.learning_off {
            let write = self.write(page, Cause::Host);
            with_policy!(&mut self.policy, policy => policy.expect(&write), ());
        }
    }

    /// Says whether the policy learns from the writes that follow.
    pub fn set_learning(&mut self, learns: bool) {
        self.learning_off = !learns;
    }

    /// Replaces the policy, which must be HAML-SSD, by one that knows the future. `pages` is the
    /// number of pages that a frontier of each plane takes.
    pub fn foresee(&mut self, foresight: Foresight, reference: Reference, pages: u64) {
        assert!(matches!(self.policy, ActivePolicy::Haml(_)), "a drive with hotness queues");
        let oracle = Oracle::new(foresight, reference, pages, self.host);
        self.policy = ActivePolicy::Oracle(Box::new(oracle));
    }

    /// What HAML-SSD learned in its last training.
    pub fn last_training(&self) -> Option<&Training> {
        match &self.policy {
            ActivePolicy::Haml(haml) => haml.last_training(),
            _ => None,
        }
    }

    /// Queues of host data and of moved pages.
    pub fn queues(&self) -> usize {
        usize::from(self.host + self.moved)
    }

    /// Heap memory of what the policy remembers, in bytes.
    pub fn memory_bytes(&self) -> u64 {
        with_policy!(&self.policy, policy => policy.memory_bytes(), 0)
    }
}
