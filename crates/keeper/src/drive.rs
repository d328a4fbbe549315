//! What must be known of a drive to tell how long the requests of a part of it take.
//!
//! A network learns in the drive's own unit of time: what a flash page takes of a channel where all
//! channels together carry as much as they can. Told in this unit, a fast drive and a slow one are
//! one drive, as far as their channels go. What is left between them is what decides that unit: the
//! times of a page on the bus and in the cells, and how many dies and planes share a channel.

use crate::simulation::LEVEL_20_SHARE;
use crate::vector::Intensity;
use serde::{Deserialize, Serialize};
use ssdtune_model::DeviceConfig;

/// How many numbers tell drives apart ([`DriveFigures::beside`]).
pub(crate) const INPUTS: usize = 5;

/// The flash of a drive, as far as it decides how long a page takes.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FlashFigures {
    /// A page on its channel, in nanoseconds.
    pub transfer_ns: f64,
    /// A page read from the cells, in nanoseconds: the mean over the page types.
    pub read_ns: f64,
    /// A page programmed, in nanoseconds: the mean over the page types.
    pub program_ns: f64,
    /// Dies of a channel.
    pub dies: u32,
    /// Planes of a die.
    pub planes: u32,
}

impl FlashFigures {
    /// Those of a drive.
    pub fn of(device: &DeviceConfig) -> Self {
        let (bus, flash) = (&device.bus, &device.flash);
        let bytes_per_ns = f64::from(bus.rate_mts) * f64::from(bus.width_bytes) / 1e3;
        Self {
            transfer_ns: f64::from(flash.page_bytes) / bytes_per_ns,
            read_ns: flash.technology.mean_ns(&flash.read_latency),
            program_ns: flash.technology.mean_ns(&flash.program_latency),
            dies: bus.chips_per_channel * flash.dies_per_chip,
            planes: flash.planes_per_die,
        }
    }

    /// What a page that is read and one that is written cost, if both cost 1 in the mean: each
    /// takes its channel for the transfer, or its share of the planes for longer.
    fn costs(&self) -> [f64; 2] {
        let planes = f64::from(self.dies) * f64::from(self.planes);
        let taken = [self.read_ns, self.program_ns].map(|ns| (ns / planes).max(self.transfer_ns));
        taken.map(|one| 2.0 * one / (taken[0] + taken[1]))
    }
}

/// A drive: its channels, how much they carry, and its flash.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct DriveFigures {
    pub channels: u32,
    /// Flash pages that a channel carries in a second.
    pub channel_pages_per_s: f64,
    /// What a page that is read and one that is written cost of what a channel can do, in the
    /// drive's unit: more than 1 for the dearer of the two.
    pub costs: [f64; 2],
    /// The logarithms of the figures of the flash, times in the drive's unit.
    inputs: [f64; INPUTS],
}

impl DriveFigures {
    /// From the rate at which intensity level 20 ends.
    pub(crate) fn new(channels: u32, intensity: Intensity, flash: &FlashFigures) -> Self {
        let all = intensity.requests_per_s_max / LEVEL_20_SHARE;
        let channel_pages_per_s = all / f64::from(channels);
        let time = |ns: f64| (ns / 1e9 * channel_pages_per_s).ln();
        let inputs = [
            time(flash.transfer_ns),
            time(flash.read_ns),
            time(flash.program_ns),
            f64::from(flash.dies).ln(),
            f64::from(flash.planes).ln(),
        ];
        Self { channels, channel_pages_per_s, costs: flash.costs(), inputs }
    }

    /// What is wrong with figures from a file, if anything.
    pub(crate) fn fault(&self) -> Option<&'static str> {
        let above_0 = [self.channel_pages_per_s, self.costs[0], self.costs[1]];
        let is_sound = above_0.iter().all(|one| one.is_finite() && *one > 0.0)
            && self.inputs.iter().all(|input| input.is_finite())
            && self.channels > 0;
        (!is_sound).then_some(
            "the channels of its drive, the times, dies and planes of its flash and its rate must \
             be above 0, and no number out of range",
        )
    }

    /// Flash pages that some channels carry in a second.
    pub(crate) fn pages_per_s(&self, channels: u32) -> f64 {
        self.channel_pages_per_s * f64::from(channels)
    }

    /// A drive of eight channels for tests. `channel_pages_per_s` is what each channel carries, in
    /// flash pages a second, above 0; a page costs 1 read and written, so that work counts pages.
    #[cfg(test)]
    pub(crate) fn plain(channel_pages_per_s: f64) -> Self {
        Self { channels: 8, channel_pages_per_s, costs: [1.0; 2], inputs: [0.0; INPUTS] }
    }

    /// What these pages, read and written, cost, in the drive's unit.
    pub(crate) fn work(&self, pages: [f64; 2]) -> [f64; 2] {
        [0, 1].map(|op| pages[op] * self.costs[op])
    }

    /// A time in nanoseconds, in the drive's unit.
    pub(crate) fn in_unit(&self, ns: f64) -> f64 {
        ns / 1e9 * self.channel_pages_per_s
    }

    /// The inputs of a forecast: `OWN` numbers of its own, then [`INPUTS`] that tell drives apart,
    /// which are logarithms of the times of a page on the bus, read and programmed, in the drive's
    /// unit, and of its numbers of dies and planes. `ALL` is the sum of both.
    pub(crate) fn beside<const OWN: usize, const ALL: usize>(&self, own: [f64; OWN]) -> [f64; ALL] {
        const { assert!(ALL == OWN + INPUTS) };
        std::array::from_fn(|n| if n < OWN { own[n] } else { self.inputs[n - OWN] })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ssdtune_model::presets;

    #[test]
    fn figures_are_those_of_the_preset() {
        let of = |name: &str| FlashFigures::of(&presets::load(name).unwrap());
        // 16 KiB at 40 MB/s; two chips of one die of four planes.
        let table_i = of("ssdkeeper");
        let expected = FlashFigures {
            transfer_ns: 409_600.0,
            read_ns: 20_000.0,
            program_ns: 200_000.0,
            dies: 2,
            planes: 4,
        };
        assert_eq!(table_i, expected);
        // Of a cell of two bits the means of both pages: 45 and 60 us, 300 and 900 us.
        let mlc = of("samsung-850-pro");
        assert_eq!((mlc.read_ns, mlc.program_ns), (52_500.0, 600_000.0));
    }

    #[test]
    fn a_page_costs_its_channel_or_its_planes() {
        let drive = |program_ns: f64| {
            let flash =
                FlashFigures { transfer_ns: 100.0, read_ns: 50.0, program_ns, dies: 2, planes: 2 };
            DriveFigures::new(8, Intensity { requests_per_s_max: 0.9 * 8e6 }, &flash)
        };
        // A program takes a quarter of the planes: up to 400 ns it is the channel that counts.
        assert_eq!(drive(400.0).costs, [1.0, 1.0]);
        assert_eq!(drive(1_200.0).costs, [0.5, 1.5]);
        // A channel carries a million pages a second, so the unit is a microsecond.
        assert!((drive(400.0).in_unit(2_500.0) - 2.5).abs() < 1e-12);
        assert!((drive(400.0).inputs[2] - 0.4f64.ln()).abs() < 1e-12);
    }
}
