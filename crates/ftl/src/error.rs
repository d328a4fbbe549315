//! What can be wrong with a drive before it runs.

use thiserror::Error;

/// A drive that this FTL cannot manage.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum FtlError {
    /// More pages than a page-table entry can name.
    #[error(
        "the drive needs {bits}-bit page numbers, {limit} is the limit: use larger pages or fewer planes, blocks or pages"
    )]
    TooLarge {
        /// Bits needed.
        bits: u32,
        /// Bits there are.
        limit: u32,
    },
    /// No tenant.
    #[error("a drive needs at least one tenant")]
    NoTenant,
    /// A tenant without planes, or with ones outside the geometry.
    #[error("tenant {tenant}: {level} {id} does not exist (the drive has {count})")]
    NoSuchPlace {
        /// Which tenant.
        tenant: usize,
        /// Channel, chip, die or plane.
        level: &'static str,
        /// The id asked for; 0 where the list is empty.
        id: u32,
        /// How many there are.
        count: u32,
    },
    /// Write frontiers take more blocks than a plane has.
    #[error(
        "a plane has {blocks} blocks, {needed} are needed for write frontiers and garbage collection"
    )]
    TooFewBlocks {
        /// Blocks of a plane.
        blocks: u32,
        /// Blocks needed.
        needed: u32,
    },
    /// A placement policy's write frontiers take more blocks than a full plane has to spare.
    #[error(
        "placement {policy} needs {needed} spare blocks in each plane for its write frontiers and for collection, and there are {spare}: raise mapping.overprovisioning or flash.blocks_per_plane, or take fewer clusters"
    )]
    TooFewSpare {
        /// The policy.
        policy: &'static str,
        /// Blocks that the host's data do not fill.
        spare: u32,
        /// Blocks needed.
        needed: u32,
    },
    /// A drive that is aged has no room left.
    #[error(
        "plane {plane} is full and no block in it can be collected: write less, or give the drive more over-provisioning"
    )]
    OutOfSpace {
        /// Which plane.
        plane: u32,
    },
    /// The data a drive is to hold at the start do not fit.
    #[error(
        "plane {plane} has {room} blocks for the data it is to hold at the start, which fill {blocks}: lower the occupancy, or give the drive more over-provisioning"
    )]
    NoRoomForPast {
        /// Which plane.
        plane: u32,
        /// Blocks that the data fill.
        blocks: u64,
        /// Blocks there are, without the reserve of garbage collection.
        room: u32,
    },
    /// Nothing is left for the host.
    #[error("tenant {tenant} sees no capacity: lower the over-provisioning or give it more planes")]
    NoCapacity {
        /// Which tenant.
        tenant: usize,
    },
}
