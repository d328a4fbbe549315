//! Where the pages of a superblock lie: die by die, and in each die one page in every plane, at the
//! same offset, so that one command can carry them.
//!
//! The FTL knows a superblock as one long block of one plane (`DeviceConfig::allocation_geometry`).
//! Here its pages become pages of blocks of the drive: with P planes a die and D dies in which the
//! superblock lies, page i is in plane i mod P of die (i / P) mod D, at offset i / (P D). Pages
//! i P to i P + P - 1 are a *stripe*: what one command programs. Dies follow each other channel by
//! channel, then chip by chip, so that neighbouring stripes go over different channels.
//!
//! Of a superblock in SLC mode only the first offsets of each block are used; its stripes have P
//! pages, as its word lines have one.
//!
//! If a command programs whole word lines of W pages (`flash.one_shot`), a stripe has P W pages:
//! all planes of a die at one offset, then at the next one, and so on.
//!
//! If neighbours are dealt over S dies (`mapping.stripe_dies`), S stripes are filled together: each
//! takes the next page in turn, so that neighbouring mapping units lie in different dies, and every
//! Sth one in the same page of flash. These S stripes are a *row*.

use ssdtune_model::config::GcUnit;
use ssdtune_model::{DeviceConfig, Geometry, PageId, Place, PlaneId};

/// How superblocks lie on the flash.
#[derive(Clone)]
pub(crate) struct Striping {
    planes_per_die: u32,
    /// Pages of a stripe.
    width: u32,
    /// Stripes that are filled together.
    together: u32,
    /// The first plane of each die that a superblock lies in, in order. With superblocks of one die
    /// that is the first plane of the first superblock; the others follow `planes_per_die` further.
    dies: Vec<PlaneId>,
    /// A superblock lies in all dies.
    spans_all: bool,
}

impl Striping {
    /// The striping of a drive; `None` if it has no superblocks.
    pub fn new(config: &DeviceConfig) -> Option<Self> {
        let at = config.geometry();
        let dies = match config.gc.unit {
            GcUnit::Block => return None,
            GcUnit::Die => vec![PlaneId(0)],
            GcUnit::Drive => dies_in_order(&at),
        };
        let spans_all = config.gc.unit == GcUnit::Drive;
        let width = at.planes_per_die * config.pages_per_program();
        let together = config.stripes_together();
        Some(Self { planes_per_die: at.planes_per_die, width, together, dies, spans_all })
    }

    /// Pages of a row: what is written before a page goes to the next offset.
    pub fn row(&self) -> u32 {
        self.width * self.together
    }

    /// Pages of a stripe of superblocks in SLC mode, or of others.
    fn width_of(&self, is_slc: bool) -> u32 {
        if is_slc { self.planes_per_die } else { self.width }
    }

    /// The first page of each block of a superblock, which is in SLC mode or is not.
    pub fn blocks(&self, is_slc: bool) -> impl ExactSizeIterator<Item = PageId> + use<> {
        let (planes, width) = (self.planes_per_die, self.width_of(is_slc));
        let together = self.together;
        (0..planes * self.dies.len() as u32).map(move |block| {
            let (die, plane) = (block / planes, block % planes);
            let (row, die) = (die / together, die % together);
            PageId(row * width * together + plane * together + die)
        })
    }

    /// The plane of the drive that a page of a superblock lies in, and its offset in its block.
    #[inline(never)]
    pub fn place(&self, plane: PlaneId, page: PageId, is_slc: bool) -> (PlaneId, PageId) {
        let (width, together) = (self.width_of(is_slc), self.together);
        let (round, within) = (page.0 / (width * together), page.0 % (width * together));
        let (stripe, within) = (round * together + within % together, within / together);
        let (row, within) = (within / self.planes_per_die, within % self.planes_per_die);
        let (dies, rows) = (self.dies.len() as u32, width / self.planes_per_die);
        let first = self.dies[(stripe % dies) as usize].0;
        let base = if self.spans_all { 0 } else { plane.0 * self.planes_per_die };
        (PlaneId(base + first + within), PageId(stripe / dies * rows + row))
    }

    /// The plane that the FTL knows a plane of the drive by.
    #[inline]
    pub fn allocated(&self, plane: PlaneId) -> PlaneId {
        PlaneId(if self.spans_all { 0 } else { plane.0 / self.planes_per_die })
    }
}

/// The first plane of each die: channel by channel first, then chip by chip, then die by die.
fn dies_in_order(at: &Geometry) -> Vec<PlaneId> {
    let dies = at.dies() as usize;
    let per_channel = (at.chips_per_channel * at.dies_per_chip) as usize;
    let number = |index: usize| {
        let (channel, rest) = (index % at.channels as usize, index / at.channels as usize);
        let (chip, die) =
            (rest % at.chips_per_channel as usize, rest / at.chips_per_channel as usize);
        channel * per_channel + chip * at.dies_per_chip as usize + die
    };
    (0..dies).map(|index| PlaneId::at(number(index) * at.planes_per_die as usize)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use ssdtune_model::config::FlashTechnology;
    use std::collections::BTreeSet;

    fn drive(unit: GcUnit) -> DeviceConfig {
        let mut config = DeviceConfig::default();
        [config.bus.channels, config.bus.chips_per_channel] = [3, 2];
        [config.flash.dies_per_chip, config.flash.planes_per_die] = [2, 4];
        config.flash.pages_per_block = 6;
        config.gc.unit = unit;
        config
    }

    #[test]
    fn every_page_of_every_block_is_one_page_of_a_superblock() {
        for unit in [GcUnit::Die, GcUnit::Drive] {
            for technology in [FlashTechnology::Slc, FlashTechnology::Tlc] {
                for together in [1, 3, 12] {
                    check_striping(unit, technology, together);
                }
            }
        }
    }

    fn check_striping(unit: GcUnit, technology: FlashTechnology, together: u32) {
        let mut config = drive(unit);
        config.mapping.stripe_dies = together;
        config.flash.technology = technology;
        config.flash.one_shot = true;
        config.slc_cache.static_blocks = 1;
        let striping = Striping::new(&config).unwrap();
        let (flash, allocated) = (config.geometry(), config.allocation_geometry());
        let bits = technology.page_types().len() as u32;
        for (is_slc, offsets) in [(false, 6), (true, 6 / bits)] {
            let blocks = striping.blocks(is_slc).len() as u32;
            assert_eq!(allocated.pages_per_block, blocks * flash.pages_per_block);
            let place = |plane, page| striping.place(PlaneId(plane), page, is_slc);
            let firsts: BTreeSet<_> = striping.blocks(is_slc).map(|page| place(0, page)).collect();
            assert!(firsts.len() as u32 == blocks && firsts.iter().all(|first| first.1.0 == 0));
            let mut seen = BTreeSet::new();
            let pages = match is_slc {
                true => config.slc_pages_per_block().unwrap(),
                false => allocated.pages_per_block,
            };
            for plane in 0..allocated.planes() as u32 {
                for page in 0..pages {
                    let (at, offset) = place(plane, PageId(page));
                    assert_eq!(striping.allocated(at), PlaneId(plane));
                    assert!(u64::from(at.0) < flash.planes() && offset.0 < offsets);
                    assert!(seen.insert((at, offset)), "{at:?} {offset:?} twice");
                }
            }
            assert_eq!(seen.len() as u64, flash.planes() * u64::from(offsets));
        }
    }

    /// Over three dies of 4 planes: three neighbours in the first plane of each, then the next
    /// plane, and the next three dies after 12 pages.
    #[test]
    fn neighbours_are_dealt_over_dies() {
        let mut config = drive(GcUnit::Drive);
        config.mapping.stripe_dies = 3;
        let striping = Striping::new(&config).unwrap();
        let planes = |pages: std::ops::Range<u32>| -> Vec<u32> {
            let places = pages.map(|page| striping.place(PlaneId(0), PageId(page), false));
            places.map(|(plane, _)| plane.0).collect()
        };
        assert_eq!(planes(0..6), [0, 16, 32, 1, 17, 33]);
        assert_eq!(planes(12..16), [8, 24, 40, 9]);
        assert_eq!(striping.place(PlaneId(0), PageId(48), false), (PlaneId(0), PageId(1)));
        assert_eq!(striping.row(), 12);
    }

    #[test]
    fn a_stripe_is_one_command_and_neighbours_use_other_channels() {
        let config = drive(GcUnit::Drive);
        let striping = Striping::new(&config).unwrap();
        let of = |page| striping.place(PlaneId(0), PageId(page), false);
        let stripe: Vec<_> = (4..8).map(of).collect();
        let planes: Vec<u32> = stripe.iter().map(|(plane, _)| plane.0).collect();
        // The second die in order is the first one of the second channel.
        assert_eq!(planes, [16, 17, 18, 19]);
        assert!(stripe.iter().all(|(_, offset)| *offset == PageId(0)));
        assert_eq!(of(48), (PlaneId(0), PageId(1)));
    }
}
