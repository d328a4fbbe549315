//! Where things are: logical pages as the host names them, physical places as the flash does.
//!
//! A physical page packs into one `u64` ([`Ppn`]) in the order channel, chip, die, plane, block,
//! page, so that neighbouring numbers share a block; the [`Geometry`](crate::Geometry) owns the
//! arithmetic.

use crate::table::Place;
use serde::{Deserialize, Serialize};

macro_rules! id {
    ($(#[$doc:meta])* $name:ident($repr:ty)) => {
        $(#[$doc])*
        #[derive(
            Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash,
            Serialize, Deserialize,
        )]
        #[serde(transparent)]
        #[repr(transparent)]
        pub struct $name(pub $repr);

        impl Place for $name {
            #[inline]
            fn index(self) -> usize {
                self.0 as usize
            }
            #[inline]
            fn at(index: usize) -> Self {
                Self(index as $repr)
            }
        }
    };
}

id!(
    /// The number of the tenant (namespace, flow, volume) that a request belongs to; 0 if a trace
    /// has only one tenant.
    TenantId(u16)
);
id!(
    /// The number of a logical page in its tenant's address space: the host address divided by the
    /// page size.
    Lpn(u64)
);
id!(
    /// The number of a physical page in the whole drive.
    Ppn(u64)
);
id!(
    /// The number of a channel in the drive.
    ChannelId(u32)
);
id!(
    /// The number of a chip on its channel.
    ChipId(u32)
);
id!(
    /// The number of a die in its chip.
    DieId(u32)
);
id!(
    /// The number of a plane in the whole drive. Planes of one channel have neighbouring numbers.
    PlaneId(u32)
);
id!(
    /// The number of a block in its plane.
    BlockId(u32)
);
id!(
    /// The number of a page in its block.
    PageId(u32)
);

/// The address of an erase block.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct BlockAddr {
    /// The plane that the block lies in.
    pub plane: PlaneId,
    /// The number of the block in that plane.
    pub block: BlockId,
}

/// The address of a physical page. [`Ppn`] is the same page as one number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PageAddr {
    /// The plane that the page lies in.
    pub plane: PlaneId,
    /// The number of the block in that plane.
    pub block: BlockId,
    /// The number of the page in that block.
    pub page: PageId,
}

impl PageAddr {
    /// The address of the block that the page lies in.
    pub const fn block_addr(self) -> BlockAddr {
        BlockAddr { plane: self.plane, block: self.block }
    }
}
