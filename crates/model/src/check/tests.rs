use super::*;
use crate::config::FlashTechnology;

fn faults_of(change: impl FnOnce(&mut DeviceConfig)) -> Vec<String> {
    let mut config = DeviceConfig::default();
    change(&mut config);
    let faults = config.check().err().unwrap_or_default();
    faults.0.iter().map(|fault| fault.key.clone()).collect()
}

#[test]
fn the_default_drive_is_sound() {
    assert_eq!(faults_of(|_| ()), [""; 0]);
}

#[test]
fn all_faults_are_named_at_once() {
    let faults = faults_of(|config| {
        config.gc.threshold = f64::NAN;
        config.bus.channels = 0;
        config.flash.page_bytes = 1000;
    });
    assert_eq!(faults, ["gc.threshold", "bus.channels", "flash.page_bytes"]);
}

#[test]
fn values_that_do_not_go_together_are_faults() {
    let faults = faults_of(|config| {
        config.mapping.overprovisioning = 0.0;
        config.gc.window = 5000;
        config.flash.read_latency[2].0 = 0;
        config.cache.dram_burst_bytes = 4096;
        config.cache.dram_row_bytes = 1024;
        config.cache.capacity.0 = 100;
    });
    let expected = [
        "mapping.overprovisioning",
        "gc.window",
        "flash.page_read_latency_msb_ns",
        "cache.dram_burst_bytes",
        "cache.capacity_bytes",
    ];
    assert_eq!(faults, expected);
}

#[test]
fn planes_that_read_for_themselves_have_no_second_register() {
    let of = |change: fn(&mut DeviceConfig)| {
        faults_of(|config| {
            config.flash.independent_plane_reads = true;
            change(config);
        })
    };
    assert_eq!(of(|_| ()), [""; 0]);
    let key = "flash.independent_plane_reads";
    assert_eq!(of(|config| config.flash.cache_read = true), [key]);
    assert_eq!(of(|config| config.gc.copyback = true), [key]);
    assert_eq!(of(|config| config.flash.planes_per_die = 65), ["flash.planes_per_die"]);
}

#[test]
fn blocks_have_whole_word_lines() {
    let of = |change: fn(&mut DeviceConfig)| {
        faults_of(|config| {
            config.flash.one_shot = true;
            change(config);
        })
    };
    // 256 pages of two, three and four bits.
    assert_eq!(of(|config| config.flash.technology = FlashTechnology::Mlc), [""; 0]);
    assert_eq!(of(|config| config.flash.technology = FlashTechnology::Qlc), [""; 0]);
    let key = "flash.one_shot";
    assert_eq!(of(|config| config.flash.technology = FlashTechnology::Tlc), [key]);
    assert_eq!(of(|config| config.gc.copyback = true), [key]);
    assert_eq!(of(|config| config.compat.free_mapping_writes = true), [key]);
    // Two planes of two pages, twice.
    assert_eq!(of(|config| config.cache.capacity.0 = 8 * 8192 - 1), [key]);
    // A word line of one page is nothing special.
    let slc = |config: &mut DeviceConfig| {
        config.flash.technology = FlashTechnology::Slc;
        config.gc.copyback = true;
    };
    assert_eq!(of(slc), [""; 0]);
}

#[test]
fn a_write_buffer_holds_two_commands_and_fits_into_the_cache() {
    let of = |bytes: u64, change: fn(&mut DeviceConfig)| {
        faults_of(|config| {
            config.cache.write_buffer.0 = bytes;
            change(config);
        })
    };
    let key = "cache.write_buffer_bytes";
    assert_eq!(of(8192, |_| ()), [""; 0]);
    assert_eq!(of(8191, |_| ()), [key]);
    assert_eq!(of((256 << 20) + 1, |_| ()), [key]);
    // Two planes of two pages, twice.
    let word_lines = |config: &mut DeviceConfig| {
        config.gc.unit = GcUnit::Die;
        config.flash.one_shot = true;
    };
    assert_eq!(of(8 * 8192, word_lines), [""; 0]);
    assert_eq!(of(8 * 8192 - 1, word_lines), [key]);
}

#[test]
fn the_cache_holds_what_is_read_ahead_of_all_streams() {
    let of = |bytes: u64, change: fn(&mut DeviceConfig)| {
        faults_of(|config| {
            config.cache.read_ahead.0 = bytes;
            change(config);
        })
    };
    let key = "cache.read_ahead_bytes";
    assert_eq!(of(8192, |_| ()), [""; 0]);
    assert_eq!(of(8191, |_| ()), [key]);
    assert_eq!(of(16 << 20, |_| ()), [""; 0]);
    assert_eq!(of((16 << 20) + 1, |_| ()), [key]);
    assert_eq!(of(8192, |config| config.compat.read_fill_dirty = true), [key]);
}

#[test]
fn an_slc_cache_needs_dense_cells_and_room_beside_the_data() {
    let of = |blocks: u32, change: fn(&mut DeviceConfig)| {
        faults_of(|config| {
            config.slc_cache.static_blocks = blocks;
            change(config);
        })
    };
    let key = "slc_cache.static_blocks";
    assert_eq!(of(16, |_| ()), [""; 0]);
    // 143.36 blocks of a plane are spare.
    assert_eq!(of(141, |_| ()), [""; 0]);
    assert_eq!(of(142, |_| ()), [key]);
    assert_eq!(of(16, |config| config.flash.technology = FlashTechnology::Slc), [key]);
    assert_eq!(of(16, |config| config.gc.copyback = true), [key]);
    assert_eq!(of(16, |config| config.compat.read_fill_dirty = true), [key]);
    assert_eq!(of(16, |config| config.placement.policy = PlacementPolicy::Hotis), [key]);
    assert_eq!(of(16, |config| config.placement.moved = MovedPages::WithHost), [key]);
    let few = |config: &mut DeviceConfig| {
        config.flash.technology = FlashTechnology::Qlc;
        config.flash.pages_per_block = 3;
    };
    assert_eq!(of(16, few), [key]);
    let dynamic = |above: f64| {
        faults_of(|config| {
            config.slc_cache.dynamic_above = above;
            config.slc_cache.erase_latency.0 = 0;
        })
    };
    assert_eq!(dynamic(1.0), [""; 0]);
    assert_eq!(dynamic(0.05), ["slc_cache.block_erase_latency_ns"]);
    let both = ["slc_cache.dynamic_above", "slc_cache.block_erase_latency_ns"];
    assert_eq!(dynamic(0.049), both);
}

#[test]
fn a_block_in_slc_mode_has_one_page_for_each_cell() {
    let of = |technology, unit| {
        let mut config = DeviceConfig::default();
        config.flash.technology = technology;
        config.flash.pages_per_block = 100;
        config.gc.unit = unit;
        assert_eq!(config.slc_pages_per_block(), None);
        config.slc_cache.static_blocks = 1;
        config.slc_pages_per_block()
    };
    assert_eq!(of(FlashTechnology::Mlc, GcUnit::Block), Some(50));
    assert_eq!(of(FlashTechnology::Tlc, GcUnit::Block), Some(33));
    // Two planes a die, 128 in all.
    assert_eq!(of(FlashTechnology::Qlc, GcUnit::Die), Some(2 * 25));
    assert_eq!(of(FlashTechnology::Tlc, GcUnit::Drive), Some(128 * 33));
}

#[test]
fn a_page_type_that_the_cells_lack_may_take_no_time() {
    assert_eq!(faults_of(|config| config.flash.read_latency[1].0 = 0), [""; 0]);
}

#[test]
fn the_largest_legal_counts_are_a_fault_and_no_overflow() {
    let largest = |config: &mut DeviceConfig| {
        config.bus.channels = 1_024;
        config.bus.chips_per_channel = 1_024;
        config.flash.dies_per_chip = 256;
        config.flash.planes_per_die = 64;
        config.flash.blocks_per_plane = 1 << 20;
        config.flash.pages_per_block = 1 << 16;
        config.flash.page_bytes = 32_768;
    };
    assert_eq!(faults_of(largest), ["bus.channels"]);
    let faults = faults_of(|config| {
        largest(config);
        config.flash.dies_per_chip = 1;
        config.flash.planes_per_die = 1;
    });
    assert_eq!(faults, ["flash.blocks_per_plane"]);
}

#[test]
fn inert_settings_are_found_among_those_asked_about() {
    let config = DeviceConfig::default();
    let advice = config.inert(["host.sata_processing_delay_ns", "bus.channels"]);
    assert_eq!(advice.len(), 1);
    assert_eq!(advice[0].key, "host.sata_processing_delay_ns");
}

#[test]
fn victims_by_remaining_life_need_a_policy_that_knows_it() {
    for &policy in PlacementPolicy::ALL {
        let mut config = DeviceConfig::default();
        config.gc.policy = GcPolicy::RemainingLife;
        config.placement.policy = policy;
        let keys = |faults: Faults| faults.0.iter().map(|one| one.key.clone()).collect::<Vec<_>>();
        let faults = config.check().err().map(keys).unwrap_or_default();
        let expected = if policy == PlacementPolicy::Lifespan { vec![] } else { vec!["gc.policy"] };
        assert_eq!(faults, expected, "{policy}");
    }
}
