//! Why a drive cannot be made or filled.

use ssdtune_model::{PlaneId, TenantId};
use thiserror::Error;

/// A drive that the FTL refuses, or that has run out of space while it was aged.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum FtlError {
    /// The drive has more physical pages than a page-table entry can name.
    #[error(
        "the drive needs {bits}-bit page numbers, {limit} is the limit: \
         use larger pages or fewer planes, blocks or pages"
    )]
    TooLarge {
        /// Bits that a page number of this drive needs.
        bits: u32,
        /// Bits that a page number may have.
        limit: u32,
    },
    /// The list of tenants is empty.
    #[error("a drive needs at least one tenant")]
    NoTenant,
    /// A tenant lists no channels, chips, dies or planes, or one that the drive does not have.
    #[error("tenant {}: {level} {id} does not exist (the drive has {count})", .tenant.0)]
    NoSuchPlace {
        /// Number of the tenant, from 0.
        tenant: TenantId,
        /// `"channel"`, `"chip"`, `"die"` or `"plane"`.
        level: &'static str,
        /// The id that does not exist; 0 if the list is empty.
        id: u32,
        /// How many of that level the drive has.
        count: u32,
    },
    /// A tenant has only a part of the planes that a superblock lies in.
    #[error(
        "tenant {}: has some of the {level}, and a superblock lies in all of them (gc.unit = \
         \"{unit}\"): give it all, or collect in smaller units", .tenant.0
    )]
    PartOfSuperblock {
        /// Number of the tenant, from 0.
        tenant: TenantId,
        /// `"channels"`, `"chips"`, `"dies"` or `"planes"`.
        level: &'static str,
        /// Name of the unit of collection.
        unit: &'static str,
    },
    /// The write frontiers, together with the reserve of garbage collection, need more blocks than
    /// a plane has.
    #[error(
        "a plane has {blocks} blocks, {needed} are needed for write frontiers and garbage \
         collection"
    )]
    TooFewBlocks {
        /// Blocks of a plane.
        blocks: u32,
        /// Blocks that are needed.
        needed: u32,
    },
    /// The write frontiers of a placement policy need more spare blocks than a full plane has.
    #[error(
        "placement {policy} needs {needed} spare blocks in each plane for its write frontiers and \
         for collection, and there are {spare}: raise mapping.overprovisioning or \
         flash.blocks_per_plane, or take fewer clusters"
    )]
    TooFewSpare {
        /// Name of the placement policy.
        policy: &'static str,
        /// Blocks of a plane that remain when the host has written all it can.
        spare: u32,
        /// Blocks that are needed.
        needed: u32,
    },
    /// A drive that is aged has no free block left, and no block can be collected.
    #[error(
        "plane {} is full and no block in it can be collected: \
         write less, or give the drive more over-provisioning",
        .plane.0
    )]
    OutOfSpace {
        /// Number of the plane.
        plane: PlaneId,
    },
    /// The data that the drive is to hold at the start do not fit into a plane.
    #[error(
        "plane {} has {room} blocks for the data it is to hold at the start, which fill \
         {blocks}: lower the occupancy, or give the drive more over-provisioning",
        .plane.0
    )]
    NoRoomForInitialContent {
        /// Number of the plane.
        plane: PlaneId,
        /// Blocks that the data fill.
        blocks: u64,
        /// Blocks that are available: all but the open ones and the reserve of garbage collection.
        room: u32,
    },
    /// Over-provisioning leaves no address space for a tenant.
    #[error(
        "tenant {} sees no capacity: lower the over-provisioning or give it more planes",
        .tenant.0
    )]
    NoCapacity {
        /// Number of the tenant, from 0.
        tenant: TenantId,
    },
}
