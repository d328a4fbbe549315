//! The shape of the flash array and the arithmetic of its addresses.
//!
//! Counts are plain numbers. A few divisions for each conversion; nothing is stored.

use crate::address::{BlockId, ChannelId, ChipId, DieId, PageAddr, PageId, PlaneId, Ppn};
use crate::units::{Bytes, SECTOR_BYTES};

/// How many channels, chips, dies, planes, blocks and pages a drive has. In a checked configuration
/// every count is at least 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Geometry {
    /// Flash channels of the drive.
    pub channels: u32,
    /// Chips that share one channel.
    pub chips_per_channel: u32,
    /// Dies in one chip.
    pub dies_per_chip: u32,
    /// Planes in one die.
    pub planes_per_die: u32,
    /// Erase blocks in one plane.
    pub blocks_per_plane: u32,
    /// Pages in one block.
    pub pages_per_block: u32,
    /// Data bytes of one page.
    pub page_bytes: u32,
}

/// The place of a plane: channel, chip, die, and plane within the die.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct PlaneAddr {
    /// The channel.
    pub channel: ChannelId,
    /// The chip on that channel.
    pub chip: ChipId,
    /// The die in that chip.
    pub die: DieId,
    /// The number of the plane in that die. [`PlaneId`] numbers planes over the whole drive.
    pub plane: u32,
}

impl Geometry {
    /// Number of chips in the drive.
    pub const fn chips(&self) -> u64 {
        self.channels as u64 * self.chips_per_channel as u64
    }

    /// Number of dies in the drive.
    pub const fn dies(&self) -> u64 {
        self.chips() * self.dies_per_chip as u64
    }

    /// Number of planes in the drive.
    pub const fn planes(&self) -> u64 {
        self.dies() * self.planes_per_die as u64
    }

    /// Number of erase blocks in the drive.
    pub const fn blocks(&self) -> u64 {
        self.planes() * self.blocks_per_plane as u64
    }

    /// Number of pages in one plane.
    pub const fn pages_per_plane(&self) -> u64 {
        self.blocks_per_plane as u64 * self.pages_per_block as u64
    }

    /// Number of pages in the drive.
    pub const fn pages(&self) -> u64 {
        self.planes() * self.pages_per_plane()
    }

    /// 512-byte sectors in one page.
    pub const fn sectors_per_page(&self) -> u32 {
        self.page_bytes / SECTOR_BYTES as u32
    }

    /// Data bytes of the whole flash, over-provisioning included.
    pub const fn raw_capacity(&self) -> Bytes {
        Bytes(self.pages() * self.page_bytes as u64)
    }

    /// Data bytes of one block.
    pub const fn block_bytes(&self) -> Bytes {
        Bytes(self.pages_per_block as u64 * self.page_bytes as u64)
    }

    /// The number of a plane in the whole drive.
    pub const fn plane_id(&self, at: PlaneAddr) -> PlaneId {
        let chip = at.channel.0 * self.chips_per_channel + at.chip.0;
        let die = chip * self.dies_per_chip + at.die.0;
        PlaneId(die * self.planes_per_die + at.plane)
    }

    /// The place of a plane, from its number in the whole drive.
    pub const fn plane_addr(&self, id: PlaneId) -> PlaneAddr {
        let die = id.0 / self.planes_per_die;
        let chip = die / self.dies_per_chip;
        PlaneAddr {
            channel: ChannelId(chip / self.chips_per_channel),
            chip: ChipId(chip % self.chips_per_channel),
            die: DieId(die % self.dies_per_chip),
            plane: id.0 % self.planes_per_die,
        }
    }

    /// The number of a page in the whole drive.
    pub const fn pack(&self, at: PageAddr) -> Ppn {
        let block = at.plane.0 as u64 * self.blocks_per_plane as u64 + at.block.0 as u64;
        Ppn(block * self.pages_per_block as u64 + at.page.0 as u64)
    }

    /// The address of a page, from its number in the whole drive.
    pub const fn unpack(&self, ppn: Ppn) -> PageAddr {
        let block = ppn.0 / self.pages_per_block as u64;
        PageAddr {
            plane: PlaneId((block / self.blocks_per_plane as u64) as u32),
            block: BlockId((block % self.blocks_per_plane as u64) as u32),
            page: PageId((ppn.0 % self.pages_per_block as u64) as u32),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SMALL: Geometry = Geometry {
        channels: 3,
        chips_per_channel: 2,
        dies_per_chip: 2,
        planes_per_die: 2,
        blocks_per_plane: 5,
        pages_per_block: 7,
        page_bytes: 8192,
    };

    #[test]
    fn every_page_packs_to_its_own_number_and_back() {
        let mut next = 0;
        for plane in 0..SMALL.planes() as u32 {
            for block in 0..SMALL.blocks_per_plane {
                for page in 0..SMALL.pages_per_block {
                    let at = PageAddr {
                        plane: PlaneId(plane),
                        block: BlockId(block),
                        page: PageId(page),
                    };
                    let ppn = SMALL.pack(at);
                    assert_eq!(ppn, Ppn(next));
                    assert_eq!(SMALL.unpack(ppn), at);
                    next += 1;
                }
            }
        }
        assert_eq!(next, SMALL.pages());
    }

    #[test]
    fn plane_numbers_follow_channel_chip_die_plane() {
        for id in 0..SMALL.planes() as u32 {
            assert_eq!(SMALL.plane_id(SMALL.plane_addr(PlaneId(id))), PlaneId(id));
        }
        let last = SMALL.plane_addr(PlaneId(SMALL.planes() as u32 - 1));
        assert_eq!((last.channel.0, last.chip.0, last.die.0, last.plane), (2, 1, 1, 1));
    }
}
