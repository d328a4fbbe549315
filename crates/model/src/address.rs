//! Where things are: logical pages as the host names them, physical places as the flash does.
//!
//! A physical page packs into one `u64` ([`Ppn`]) in the order channel, chip, die, plane, block,
//! page, so that neighbouring numbers share a block; the [`Geometry`](crate::Geometry) owns the
//! arithmetic.

use serde::{Deserialize, Serialize};

macro_rules! id {
    ($(#[$doc:meta])* $name:ident($repr:ty)) => {
        $(#[$doc])*
        #[derive(
            Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
        )]
        #[serde(transparent)]
        #[repr(transparent)]
        pub struct $name(pub $repr);

        impl $name {
            /// As an index into a table.
            #[inline]
            pub const fn index(self) -> usize {
                self.0 as usize
            }
        }
    };
}

id!(
    /// A logical page: the host address divided by the page size.
    Lpn(u64)
);
id!(
    /// A physical page, numbered over the whole drive.
    Ppn(u64)
);
id!(
    /// A channel of the drive.
    ChannelId(u32)
);
id!(
    /// A chip on its channel.
    ChipId(u32)
);
id!(
    /// A die in its chip.
    DieId(u32)
);
id!(
    /// A plane, numbered over the whole drive (channel-major, as the packing order).
    PlaneId(u32)
);
id!(
    /// A block in its plane.
    BlockId(u32)
);
id!(
    /// A page in its block.
    PageId(u32)
);

/// One erase block.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct BlockAddr {
    /// The plane it belongs to.
    pub plane: PlaneId,
    /// Its number in that plane.
    pub block: BlockId,
}

/// One physical page, unpacked.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PageAddr {
    /// The plane it belongs to.
    pub plane: PlaneId,
    /// The block in that plane.
    pub block: BlockId,
    /// The page in that block.
    pub page: PageId,
}

impl PageAddr {
    /// The block this page lies in.
    pub const fn block_addr(self) -> BlockAddr {
        BlockAddr { plane: self.plane, block: self.block }
    }
}
