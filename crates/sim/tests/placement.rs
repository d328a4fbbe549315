//! What `model` says a placement policy needs, memory and spare blocks, against the policies.

use crate::drives;
use ssdtune_ftl::{Ftl, FtlError, TenantSpec};
use ssdtune_model::DeviceConfig;
use ssdtune_model::config::{MovedPages, PlacementMemory, PlacementPolicy};
use ssdtune_model::ledger::{Ledger, Memory};
use ssdtune_sim::Tenant;

const POLICIES: [PlacementPolicy; 10] = [
    PlacementPolicy::None,
    PlacementPolicy::AutoStream,
    PlacementPolicy::Hotis,
    PlacementPolicy::AsaFtl,
    PlacementPolicy::Haml,
    PlacementPolicy::Sepbit,
    PlacementPolicy::Dac,
    PlacementPolicy::Warcip,
    PlacementPolicy::Midas,
    PlacementPolicy::Lifespan,
];

fn ftl(config: &DeviceConfig) -> Result<Ftl, FtlError> {
    let Tenant { places, writer, .. } = Tenant::sole(config);
    Ftl::new(config, &[TenantSpec { places, writer }])
}

/// The memory that is charged is what the policies hold, within 3 %: sampling tables of lifespan,
/// whole regions, slices and leaves of pages are rounded, and lifespan is charged for 18 KiB of
/// constants that all drives share.
#[test]
fn the_memory_charged_is_what_a_policy_holds() {
    let full = POLICIES.map(|policy| (policy, PlacementMemory::Full));
    let small = (PlacementPolicy::Lifespan, PlacementMemory::Small);
    let all = full.into_iter().chain([small]);
    for ((policy, memory), unit_bytes) in all.flat_map(|one| [(one, 0), (one, 4096)]) {
        let mut config = drives::small();
        config.flash.blocks_per_plane = 512;
        config.flash.pages_per_block = 64;
        config.flash.page_bytes = 16_384;
        config.placement.policy = policy;
        config.placement.memory = memory;
        if unit_bytes > 0 {
            config.gc.unit = ssdtune_model::config::GcUnit::Drive;
            config.mapping.unit_bytes = unit_bytes;
        }
        let held = ftl(&config).expect("a sound drive").placement_bytes();
        let charged = Memory::of(&config).placement_bytes.0;
        // 24 of the 37 B of a slice are there before the first training.
        let held = if policy == PlacementPolicy::Haml { held * 37 / 24 } else { held };
        let apart = held.abs_diff(charged) as f64;
        assert!(apart <= 0.03 * charged as f64, "{policy:?}, units {unit_bytes}: {held} {charged}");
    }
}

/// With every number of spare blocks, the FTL takes a drive exactly if `model` says that it has
/// enough.
#[test]
fn the_spare_blocks_asked_for_are_those_that_a_policy_needs() {
    let (mut taken, mut refused) = (0, 0);
    for policy in POLICIES.into_iter().filter(|policy| *policy != PlacementPolicy::None) {
        let all = [MovedPages::Policy, MovedPages::WithHost, MovedPages::Together];
        for (moved, ideal, spare) in all.into_iter().flat_map(|moved| {
            [false, true].into_iter().flat_map(move |ideal| (3..40).map(move |n| (moved, ideal, n)))
        }) {
            let mut config = drives::small();
            config.flash.blocks_per_plane = 64;
            config.placement.policy = policy;
            config.placement.moved = moved;
            config.mapping.ideal = ideal;
            // Half a page more than these blocks, so that rounding decides nothing.
            config.mapping.overprovisioning = (f64::from(spare) + 1.0 / 32.0) / 64.0;
            let needed = f64::from(config.placement.blocks_needed(!ideal));
            let enough = needed < Ledger::of(&config).spare_blocks_per_plane;
            let answer = ftl(&config);
            let case = format!("{policy:?} {moved:?} ideal {ideal}, {spare} spare, {needed}");
            assert_eq!(answer.is_ok(), enough, "{case}");
            if enough { taken += 1 } else { refused += 1 }
        }
    }
    assert!(taken > 100 && refused > 100, "{taken} {refused}");
}
