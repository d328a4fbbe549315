//! How a physical page packs into the page table: bit fields, so that no division stands on the hot
//! path.
//!
//! A [`Phys`] is `plane | block | page`, each field as wide as its count needs. 36 bits reach a 256
//! TiB drive of 4 KiB pages; [`Layout::new`] refuses what does not fit.

use crate::error::FtlError;
use serde::{Deserialize, Serialize};
use ssdtune_model::{Geometry, PlaneId};

/// Bits of a packed physical page in a page-table entry.
pub(crate) const PHYS_BITS: u32 = 36;

/// A physical page in the packing of one [`Layout`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Phys(pub(crate) u64);

impl Phys {
    /// A value that names no page, for records whose place is not known yet.
    pub const NONE: Self = Self(u64::MAX);

    /// The packed number.
    pub fn to_bits(self) -> u64 {
        self.0
    }

    /// The inverse of [`Phys::to_bits`].
    pub fn from_bits(bits: u64) -> Self {
        Self(bits)
    }
}

/// An erase block: its plane and its number there.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct BlockRef {
    /// The plane.
    pub plane: u32,
    /// The block in the plane.
    pub block: u32,
}

/// The widths of the fields.
#[derive(Clone, Copy, Debug)]
pub struct Layout {
    page_bits: u32,
    block_bits: u32,
}

fn width(count: u64) -> u32 {
    count.next_power_of_two().trailing_zeros()
}

impl Layout {
    /// The layout of a drive.
    pub fn new(geometry: &Geometry) -> Result<Self, FtlError> {
        let layout = Self {
            page_bits: width(geometry.pages_per_block.into()),
            block_bits: width(geometry.blocks_per_plane.into()),
        };
        let bits = layout.page_bits + layout.block_bits + width(geometry.planes());
        // One value is the absent page.
        if bits >= PHYS_BITS {
            return Err(FtlError::TooLarge { bits, limit: PHYS_BITS - 1 });
        }
        Ok(layout)
    }

    /// Packs a page.
    #[inline]
    pub fn pack(&self, at: BlockRef, page: u32) -> Phys {
        let block = (u64::from(at.plane) << self.block_bits) | u64::from(at.block);
        Phys((block << self.page_bits) | u64::from(page))
    }

    /// The plane of a page.
    #[inline]
    pub fn plane(&self, at: Phys) -> PlaneId {
        PlaneId((at.0 >> (self.page_bits + self.block_bits)) as u32)
    }

    /// The block of a page.
    #[inline]
    pub fn block(&self, at: Phys) -> BlockRef {
        let block = at.0 >> self.page_bits;
        BlockRef {
            plane: (block >> self.block_bits) as u32,
            block: (block & ((1 << self.block_bits) - 1)) as u32,
        }
    }

    /// The offset of a page in its block.
    #[inline]
    pub fn page(&self, at: Phys) -> u32 {
        (at.0 & ((1 << self.page_bits) - 1)) as u32
    }
}
