//! What a drive endures, and the pins of its controller: figures that follow from a configuration
//! and are told beside its price.

use ssdtune_model::DeviceConfig;
use ssdtune_model::config::HostInterface;

/// Bytes that a host may write until the mean block was erased as often as it is rated for, if the
/// drive programs this many pages for each page that is written. Data sheets call it TBW, for a
/// workload of their own.
pub fn endurance_bytes(config: &DeviceConfig, write_amplification: f64) -> f64 {
    let raw = config.geometry().raw_capacity().0 as f64;
    raw * f64::from(config.flash.pe_cycles_limit) / write_amplification
}

/// Signals of an 8-bit flash channel: data 8, strobe 2, read enable 2, CLE, ALE, write enable,
/// write protection (ONFI 3.2). Each further byte of width adds data and strobe.
const PINS_PER_CHANNEL: u32 = 16;
const PINS_PER_FURTHER_BYTE: u32 = 10;
/// Signals of a PCIe lane: a pair in each direction; of a port: the clock's pair, reset, request.
const PINS_PER_LANE: u32 = 4;
const PINS_PER_PORT: u32 = 4;
/// Signals of a DRAM interface besides data: addresses, commands, clocks (DDR4). Data take 11 for
/// each byte: 8, a strobe's pair, and a mask.
const PINS_OF_DRAM: u32 = 30;
const PINS_PER_DRAM_BYTE: u32 = 11;

/// Signal pins of the controller for flash, DRAM and host. Each chip on a channel has a chip enable
/// of its own. Power, ground and debugging are left out: they double the number of balls.
pub fn controller_pins(config: &DeviceConfig) -> u32 {
    let (bus, host, cache) = (&config.bus, &config.host, &config.cache);
    let width = PINS_PER_FURTHER_BYTE * (bus.width_bytes.max(1) - 1);
    let flash = bus.channels * (PINS_PER_CHANNEL + width + bus.chips_per_channel);
    let link = match host.interface {
        HostInterface::Nvme => PINS_PER_PORT + PINS_PER_LANE * host.pcie_lanes,
        HostInterface::Sata => PINS_PER_LANE,
    };
    flash + link + PINS_OF_DRAM + PINS_PER_DRAM_BYTE * cache.dram_burst_bytes
}

#[cfg(test)]
mod tests {
    use super::*;
    use ssdtune_model::presets;

    #[test]
    fn endurance_is_what_cells_are_rated_for() {
        let mut drive = presets::load("intel-750").unwrap();
        drive.flash.pe_cycles_limit = 3_000;
        // 480 GiB, 3,000 times, at a write amplification of 2.
        let expected = 480.0 * f64::from(1 << 30) * 1_500.0;
        assert!((endurance_bytes(&drive, 2.0) / expected - 1.0).abs() < 1e-12);
    }

    #[test]
    fn pins_are_those_of_a_usual_controller() {
        let mut drive = presets::load("intel-750").unwrap();
        drive.bus.channels = 8;
        drive.bus.chips_per_channel = 4;
        drive.cache.dram_burst_bytes = 4;
        // Eight channels of 20, 20 of PCIe x4, 74 of DDR4 x32.
        assert_eq!(controller_pins(&drive), 160 + 20 + 74);
        drive.bus.width_bytes = 2;
        assert_eq!(controller_pins(&drive), 160 + 80 + 20 + 74);
    }
}
