//! How the address of a physical page is packed into a number: bit fields, so that the hot path
//! needs no division.
//!
//! A [`Phys`] is `plane | block | page`; each field has the bits that its count needs. 36 bits are
//! enough for a drive of 256 TiB with pages of 4 KiB; [`Layout::new`] refuses larger ones.

use crate::error::FtlError;
use serde::{Deserialize, Serialize};
use ssdtune_model::{BlockAddr, BlockId, Geometry, PageId, PlaneId};

/// Bits that a page-table entry has for a packed physical page.
pub(crate) const PHYS_BITS: u32 = 36;

/// The address of a physical page, packed by the [`Layout`] of its drive.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Phys(pub(crate) u64);

impl Phys {
    /// The address of the page that many pages further in the same block.
    #[inline]
    pub(crate) fn plus(self, pages: u64) -> Self {
        Self(self.0 + pages)
    }

    /// Names no page. For records whose physical page is not known yet.
    pub const NONE: Self = Self(u64::MAX);

    /// The address as a number.
    pub fn to_bits(self) -> u64 {
        self.0
    }

    /// The address that [`Phys::to_bits`] turned into a number.
    pub fn from_bits(bits: u64) -> Self {
        Self(bits)
    }
}

/// A page of a plane.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Spot {
    pub block: BlockId,
    pub page: PageId,
}

/// How the addresses of one drive are packed: the widths of their fields.
#[derive(Clone, Copy, Debug)]
pub struct Layout {
    page_bits: u32,
    block_bits: u32,
}

/// Bits that the numbers below `count` need.
fn width(count: u64) -> u32 {
    count.next_power_of_two().trailing_zeros()
}

impl Layout {
    /// The layout for a drive of this geometry.
    ///
    /// # Errors
    /// [`FtlError::TooLarge`] if an address needs more bits than a page-table entry has.
    pub fn new(geometry: &Geometry) -> Result<Self, FtlError> {
        let layout = Self {
            page_bits: width(geometry.pages_per_block.into()),
            block_bits: width(geometry.blocks_per_plane.into()),
        };
        let bits = layout.page_bits + layout.block_bits + width(geometry.planes());
        // One value of the field means that the page is absent.
        if bits >= PHYS_BITS {
            return Err(FtlError::TooLarge { bits, limit: PHYS_BITS - 1 });
        }
        Ok(layout)
    }

    /// The address of a page, by its block and its offset in the block.
    #[inline]
    pub fn pack(&self, at: BlockAddr, page: PageId) -> Phys {
        let block = (u64::from(at.plane.0) << self.block_bits) | u64::from(at.block.0);
        Phys((block << self.page_bits) | u64::from(page.0))
    }

    /// The plane that a page lies in.
    #[inline]
    pub fn plane(&self, at: Phys) -> PlaneId {
        PlaneId((at.0 >> (self.page_bits + self.block_bits)) as u32)
    }

    /// The block that a page lies in.
    #[inline]
    pub fn block(&self, at: Phys) -> BlockAddr {
        let block = at.0 >> self.page_bits;
        BlockAddr {
            plane: PlaneId((block >> self.block_bits) as u32),
            block: BlockId((block & ((1 << self.block_bits) - 1)) as u32),
        }
    }

    /// The plane that a page lies in, and where in it.
    #[inline]
    pub(crate) fn spot(&self, at: Phys) -> (PlaneId, Spot) {
        let BlockAddr { plane, block } = self.block(at);
        (plane, Spot { block, page: self.page(at) })
    }

    /// The offset of a page in its block, from 0.
    #[inline]
    pub fn page(&self, at: Phys) -> PageId {
        PageId((at.0 & ((1 << self.page_bits) - 1)) as u32)
    }
}
