//! What each victim policy costs: write amplification of a nearly full drive under random writes.
//!
//! Run it with `cargo run --release -p ssdtune-ftl --example victim_policies`. It takes a few
//! seconds, prints one line for each policy and needs no input. No simulator is involved: the FTL
//! alone decides where data go and what must be moved, and that does not depend on time.

use ssdtune_ftl::{Ftl, FtlError, Places, TenantSpec};
use ssdtune_model::config::GcPolicy;
use ssdtune_model::{DeviceConfig, Lpn, TenantId};

/// One plane of 256 blocks of 64 pages, of which the host sees 85 %.
fn device(policy: GcPolicy) -> DeviceConfig {
    let mut config = DeviceConfig::default();
    [config.bus.channels, config.bus.chips_per_channel] = [1, 1];
    [config.flash.dies_per_chip, config.flash.planes_per_die] = [1, 1];
    [config.flash.blocks_per_plane, config.flash.pages_per_block] = [256, 64];
    config.mapping.overprovisioning = 0.15;
    config.gc.policy = policy;
    config
}

/// Random page numbers, the same in every run.
fn random_pages(pages: u64) -> impl FnMut() -> u64 {
    let mut state = 1_u64;
    move || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        (state >> 33) % pages
    }
}

fn main() -> Result<(), FtlError> {
    println!("{:<16} {:>6} {:>12} {:>10}", "policy", "WA", "collections", "most worn");
    for &policy in GcPolicy::UNPLACED {
        let config = device(policy);
        let places = Places::all(&config.flash_geometry());
        let mut ftl = Ftl::new(&config, &[TenantSpec { places, writer: false }])?;
        let pages = ftl.tenant_pages(TenantId(0));

        // Fill the drive, then overwrite it three times at random until it no longer changes in
        // character.
        let mut drive = ftl.warm_up();
        (0..pages).try_for_each(|page| drive.write_whole(TenantId(0), Lpn(page)))?;
        let mut page = random_pages(pages);
        (0..3 * pages).try_for_each(|_| drive.write_whole(TenantId(0), Lpn(page())))?;

        // Measure during one more overwrite.
        ftl.reset_counters();
        let mut drive = ftl.warm_up();
        (0..pages).try_for_each(|_| drive.write_whole(TenantId(0), Lpn(page())))?;

        let counters = ftl.counters();
        let written = pages + counters.moved_pages;
        let most_worn = ftl.erase_histogram().last().map_or(0, |&(erases, _)| erases);
        println!(
            "{:<16} {:>6.2} {:>12} {:>10}",
            policy.name(),
            written as f64 / pages as f64,
            counters.collections,
            most_worn
        );
    }
    Ok(())
}
