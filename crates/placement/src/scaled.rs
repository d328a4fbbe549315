//! A small drive that works as a large one, for a load that would not fill the large one.
//!
//! Where pages die matters only once a drive has been written over, and a recorded trace of some
//! gigabytes never writes over a drive of a terabyte. So the drive is cut to what the load fills:
//! a part of its planes, with the same part of its cache and of its controller's bandwidths, and
//! blocks that are smaller and fewer. What a command takes, the link, the victim policy, pacing,
//! the unit of collection and the share of spare capacity stay those of the drive.
//!
//! What that changes: fewer planes serve a burst, as if the load were that of the whole drive times
//! the part that is left.

use crate::error::PlacementError;
use crate::load::Load;
use ssdtune_model::{Bytes, DeviceConfig};

/// Blocks of a plane that a scaled drive shall have, so that open blocks take few spare ones.
const BLOCKS: u64 = 512;
/// Programs that fill a block, the most and the fewest.
const BLOCK_PROGRAMS: [u64; 2] = [64, 8];
/// Mapping units that a cache holds at least.
const CACHE_UNITS: u64 = 64;

/// The drive for a load that works as this one.
///
/// # Errors
/// The load writes too few pages for a drive with blocks enough.
pub(crate) fn scaled(device: &DeviceConfig, load: &Load) -> Result<DeviceConfig, PlacementError> {
    let mut config = device.clone();
    let units = u64::from(load.footprint_pages);
    let units_per_page = u64::from(device.flash.page_bytes / device.geometry().page_bytes);
    let pages = units.div_ceil(units_per_page) as f64;
    let raw = (pages / (1.0 - device.mapping.overprovisioning)).ceil() as u64;
    let page_types = device.flash.technology.page_types().len() as u64;
    let [most, fewest] = BLOCK_PROGRAMS;
    let mut block_pages = (page_types * most).min(device.flash.pages_per_block.into());
    while raw / (planes(&config) * page_types * fewest) < BLOCKS && take_part(&mut config) {}
    while raw / (planes(&config) * block_pages) < BLOCKS && block_pages > page_types * fewest {
        block_pages /= 2;
    }
    block_pages = block_pages / page_types * page_types;
    let per_plane = pages / planes(&config) as f64;
    let raw_per_plane = (per_plane / (1.0 - device.mapping.overprovisioning)).ceil() as u64;
    let blocks = raw_per_plane.div_ceil(block_pages);
    if blocks < BLOCKS / 2 {
        return Err(PlacementError::TooFewBlocks {
            name: load.name.clone(),
            pages: load.footprint_pages,
            page_bytes: device.geometry().page_bytes,
            blocks,
            block_pages,
            least: BLOCKS / 2,
        });
    }
    config.name = format!("{}, scaled for {}", device.name, load.name);
    config.flash.pages_per_block = block_pages as u32;
    config.flash.blocks_per_plane = blocks as u32;
    // Half a page more, so that rounding down leaves the pages that are needed.
    config.mapping.overprovisioning =
        1.0 - (per_plane.ceil() + 0.5) / (blocks * block_pages) as f64;
    let divisor = planes(device) / planes(&config);
    scale_controller(&mut config, divisor);
    Ok(config)
}

/// Planes of the flash as it is built.
fn planes(config: &DeviceConfig) -> u64 {
    config.flash_geometry().planes()
}

/// Divides the channels, or else the chips, dies or planes, by the smallest number that divides
/// them; `false` if only one plane is left.
fn take_part(config: &mut DeviceConfig) -> bool {
    let counts = [
        &mut config.bus.channels,
        &mut config.bus.chips_per_channel,
        &mut config.flash.dies_per_chip,
        &mut config.flash.planes_per_die,
    ];
    let Some(count) = counts.into_iter().find(|count| **count > 1) else { return false };
    let divisor = (2..=*count).find(|divisor| count.is_multiple_of(*divisor));
    *count /= divisor.unwrap_or(1);
    true
}

/// Divides the cache and the bandwidths of the controller; 0 stays 0, which is no limit.
fn scale_controller(config: &mut DeviceConfig, divisor: u64) {
    let least = CACHE_UNITS * u64::from(config.geometry().page_bytes);
    for bytes in [&mut config.cache.capacity, &mut config.cache.write_buffer] {
        *bytes = if bytes.0 == 0 { Bytes(0) } else { Bytes((bytes.0 / divisor).max(least)) };
    }
    let controller = &mut config.controller;
    for bandwidth in [&mut controller.bandwidth_mbs, &mut controller.write_bandwidth_mbs] {
        *bandwidth = (u64::from(*bandwidth).div_ceil(divisor)) as u32;
    }
    controller.core_rate = controller.core_rate.div_ceil(divisor);
}

#[cfg(test)]
mod tests {
    use super::*;
    use ssdtune_model::presets;

    fn load(footprint_pages: u32) -> Load {
        Load {
            name: "some".to_owned(),
            synthetic: false,
            writes: Vec::new(),
            buffered: None,
            footprint_pages,
            duration_ns: 1,
            applications: 1,
            timed: Vec::new(),
            warnings: Vec::new(),
        }
    }

    #[test]
    fn a_scaled_drive_shows_the_pages_that_are_written_and_keeps_its_share_of_spare() {
        for name in ["micron-7450-max-800gb", "intel-750", "samsung-850-pro"] {
            let device = presets::load(name).unwrap();
            for units in [40_000, 400_000, 30_000_000] {
                let drive = scaled(&device, &load(units)).unwrap();
                drive.check().unwrap_or_else(|error| panic!("{name}, {units}: {error}"));
                let geometry = drive.geometry();
                let raw = geometry.planes()
                    * u64::from(geometry.blocks_per_plane)
                    * u64::from(geometry.pages_per_block);
                let visible = raw as f64 * (1.0 - drive.mapping.overprovisioning);
                assert!(visible >= f64::from(units), "{name}, {units}: {visible}");
                assert!(visible < f64::from(units) + 2.0 * geometry.planes() as f64, "{name}");
                let spare = drive.mapping.overprovisioning - device.mapping.overprovisioning;
                assert!(spare.abs() < 0.01, "{name}, {units}: {spare}");
                assert!(drive.flash.blocks_per_plane >= 256);
                assert_eq!(drive.flash.program_latency, device.flash.program_latency);
                assert_eq!(drive.gc, device.gc);
            }
        }
    }

    #[test]
    fn a_part_of_the_planes_has_that_part_of_cache_and_bandwidth() {
        let device = presets::load("micron-7450-max-800gb").unwrap();
        let drive = scaled(&device, &load(400_000)).unwrap();
        let part = planes(&device) / planes(&drive);
        assert!(part > 1);
        assert_eq!(drive.cache.capacity.0, device.cache.capacity.0 / part);
        let bandwidth = u64::from(device.controller.write_bandwidth_mbs).div_ceil(part);
        assert_eq!(u64::from(drive.controller.write_bandwidth_mbs), bandwidth);
        let error = scaled(&device, &load(3_000)).unwrap_err();
        assert!(matches!(error, PlacementError::TooFewBlocks { .. }), "{error}");
    }
}
