//! How many blocks must stay free so that garbage collection never gets stuck, by the frontiers
//! that moved pages go to.
//!
//! If moved pages have one frontier, a victim opens one block at most and gives one back. So one
//! free block suffices, and the host leaves it alone.
//!
//! If they have several frontiers, a victim may open a block for each. Then what counts is room.
//! Let T be the pages in free blocks and in those F frontiers, and P the pages of a block. A victim
//! takes less than P pages and gives back P. A move is stuck if no block is free and its own
//! frontier is full; then T <= (F - 1)(P - 1). If the host writes only while at least F blocks are
//! free, T never falls below F P - (P - 1), which is more than (F - 1)(P - 1). So no move is ever
//! stuck. If moved pages share frontiers with host data, the host must stop as soon as fewer than F
//! blocks are free, even if its own frontier has room.

//!
//! A policy that lets a moved page go to another frontier of moved pages than its own (`Lifespan`)
//! needs one free block, however many frontiers there are. Say one block is free when a victim is
//! chosen. It has at most P - 1 valid pages, since a victim of collection has an invalid one. A
//! page of it whose own frontier is full opens the free block. From then on no block is free, but
//! the opened block has room for P pages and takes at most the P - 1 of this victim: victims of a
//! plane come one after the other, and no host write goes to a frontier of moved pages. So there is
//! a frontier with room for each page of the victim, and it belongs to the victim's tenant, who
//! opened it. Then the victim's block is free, and all is as before. A victim for the sake of wear
//! may have P valid pages, but is chosen only while more than one block is free: 2 P pages of room.
//! A block of translation pages has one frontier, which opens one block at most. Collection does
//! not go round for ever: each victim wins a page at least, and once the frontiers of moved pages
//! have room for a victim, none is opened and one block more is free.

use ssdtune_model::DeviceConfig;
use ssdtune_model::config::{Frontiers, PlacementPolicy};

/// How many blocks of a plane the write frontiers need. All numbers are blocks of one plane.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct FrontierNeeds {
    /// Blocks that may be open at the same time.
    pub open: u32,
    /// Free blocks that host writes leave alone.
    pub reserve: u32,
    /// The host does not write at all while fewer blocks are free.
    pub floor: u32,
    /// Free blocks that writes which nobody can hold back leave alone: translation pages, and reads
    /// that allocate.
    pub keep: u32,
}

impl FrontierNeeds {
    /// The needs of a drive with a number of tenants.
    pub fn of(config: &DeviceConfig, tenants: u32) -> Self {
        let eager = config.compat.eager_frontiers;
        let Frontiers { host, moved } = config.placement.frontiers();
        // An ideal mapping table has no translation pages.
        let translation = u32::from(!config.mapping.ideal || eager);
        let open = (host + moved + translation) * tenants;
        if moved == 1 || config.placement.policy == PlacementPolicy::Lifespan {
            return Self { open, reserve: 1 + u32::from(eager), floor: 0, keep: 1 };
        }
        let targets = if moved == 0 { host } else { moved };
        let reserve = (targets + translation) * tenants;
        Self { open, reserve, floor: if moved == 0 { reserve } else { 0 }, keep: reserve }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ssdtune_model::config::MovedPages;

    fn needs(policy: PlacementPolicy, ideal: bool, tenants: u32) -> FrontierNeeds {
        let mut config = DeviceConfig::default();
        config.placement.policy = policy;
        config.mapping.ideal = ideal;
        FrontierNeeds::of(&config, tenants)
    }

    #[test]
    fn a_drive_without_a_policy_needs_what_it_always_needed() {
        let one = FrontierNeeds { open: 2, reserve: 1, floor: 0, keep: 1 };
        assert_eq!(needs(PlacementPolicy::None, true, 1), one);
        assert_eq!(needs(PlacementPolicy::None, false, 3), FrontierNeeds { open: 9, ..one });
    }

    #[test]
    fn every_frontier_that_moves_may_open_is_counted() {
        let apart = FrontierNeeds { open: 12, reserve: 6, floor: 0, keep: 6 };
        assert_eq!(needs(PlacementPolicy::Haml, true, 1), apart);
        let mut config = DeviceConfig::default();
        config.placement.policy = PlacementPolicy::Haml;
        config.placement.moved = MovedPages::WithHost;
        config.mapping.ideal = true;
        let shared = FrontierNeeds { open: 6, reserve: 6, floor: 6, keep: 6 };
        assert_eq!(FrontierNeeds::of(&config, 1), shared);
        let apart = FrontierNeeds { open: 7, reserve: 5, floor: 0, keep: 5 };
        assert_eq!(needs(PlacementPolicy::Sepbit, false, 1), apart);
        let lenient = FrontierNeeds { open: 18, reserve: 1, floor: 0, keep: 1 };
        assert_eq!(needs(PlacementPolicy::Lifespan, true, 1), lenient);
        let streams = FrontierNeeds { open: 17, reserve: 1, floor: 0, keep: 1 };
        assert_eq!(needs(PlacementPolicy::AutoStream, true, 1), streams);
    }
}
