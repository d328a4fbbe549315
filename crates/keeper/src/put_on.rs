//! A network that learned from several drives, put on one that it may never have seen.
//!
//! It was told what drives are like ([`FlashFigures`]), and it counts in the drive's own unit of
//! time. So all that is missing is that unit: how many pages a second the drive can serve. That is
//! measured as for labels ([`MixSimulator::saturation`]), and the period T is made as long as the
//! drive takes for as many pages.
//!
//! Cost: some seconds of simulation.

use crate::binding::check_divisible;
use crate::drive::FlashFigures;
use crate::features::SLOTS;
use crate::labels::{device_digest, labelled_allocation};
use crate::mix::{MINORITY, MixStyle, REQUEST_PAGES};
use crate::policy::Policy;
use crate::simulation::{MixSimulator, SimulationError, SimulationSettings};
use crate::vector::Intensity;
use ssdtune_model::CheckedConfig;
use ssdtune_model::config::Allocation;
use std::sync::atomic::AtomicBool;

/// A policy for a drive.
#[derive(Clone, Debug)]
pub struct Fitted {
    /// The policy.
    pub policy: Policy,
    /// What a user should know of how it suits the drive: nothing if it was trained for it.
    pub note: Option<String>,
}

impl Policy {
    /// The policy for a drive. One that was trained for one drive stays as it is. One that learned
    /// from several is put on this one if it has as many channels as they; else an allocator
    /// refuses it.
    ///
    /// # Errors
    /// The drive's channels cannot be divided, it cannot be simulated, has no room, or the caller
    /// stopped it.
    pub fn for_drive(
        self,
        device: &CheckedConfig,
        stop: &AtomicBool,
    ) -> Result<Fitted, SimulationError> {
        check_divisible(device)?;
        // A drive with other channels is refused later, whatever a note would say.
        if self.is_for(device) || self.channels != device.bus.channels {
            return Ok(Fitted { policy: self, note: None });
        }
        if self.drives == 1 {
            if let Some(note) = self.other_allocation(device) {
                return Ok(Fitted { policy: self, note: Some(note) });
            }
            let note = format!(
                "the network was trained for {} as it was then, not for {} as it is here: what it \
                 promises may not hold; configs/keeper/any-drive.json is for any drive of 8 \
                 channels, and `ssdtune keeper label` and `train` make one for this drive",
                self.device, device.name
            );
            return Ok(Fitted { policy: self, note: Some(note) });
        }
        let mut labelled = (**device).clone();
        labelled.mapping.allocation = labelled_allocation(device);
        let labelled = labelled.check()?;
        let saturation = MixSimulator::new(&labelled, settings(&labelled), stop).saturation()?;
        let intensity = Intensity { requests_per_s_max: saturation.rate_max_pages() };
        let times = self.intensity.requests_per_s_max / intensity.requests_per_s_max;
        let slot_us = (self.collect_ns as f64 * times / SLOTS as f64 / 1e3).round().max(1.0);
        let collect_ns = (slot_us as u64).saturating_mul(1_000 * SLOTS);
        let note = format!(
            "the network learned from {} drives and was put on {}, which can serve {:.0} flash \
             pages a second; T is {:.0} ms{}",
            self.drives,
            device.name,
            saturation.rate_pages,
            collect_ns as f64 / 1e6,
            match labelled.mapping.allocation {
                Allocation::Dynamic =>
                    ". If these had static page allocation, as those of the shipped one, what it \
                     promises may not hold with mapping.allocation = \"dynamic\"",
                Allocation::Static | Allocation::Hybrid => "",
            }
        );
        let policy = Self {
            device: device.name.clone(),
            device_digest: device_digest(&labelled),
            flash: FlashFigures::of(device),
            intensity,
            collect_ns,
            ..self
        };
        Ok(Fitted { policy, note: Some(note) })
    }

    /// What is to be said if it was trained for this drive with another page allocation.
    fn other_allocation(&self, device: &CheckedConfig) -> Option<String> {
        let (found, mut other) = (device.mapping.allocation, (**device).clone());
        other.mapping.allocation = match labelled_allocation(device) {
            Allocation::Dynamic => Allocation::Static,
            Allocation::Static | Allocation::Hybrid => Allocation::Dynamic,
        };
        self.is_for(&other).then(|| {
            format!(
                "the network was trained for this drive with mapping.allocation = \"{}\", here it \
                 is \"{found}\": what it promises may not hold",
                other.mapping.allocation
            )
        })
    }
}

/// Mixes as `keeper label` draws them, for the measurement. The working sets of its four tenants
/// take an eighth of a small drive, so that nothing is collected.
fn settings(device: &CheckedConfig) -> SimulationSettings {
    let geometry = device.geometry();
    let pages = geometry.planes()
        * u64::from(geometry.blocks_per_plane)
        * u64::from(geometry.pages_per_block);
    SimulationSettings {
        rate_max_pages: 1.0,
        requests: 30_000,
        working_set_pages: (pages / 32).clamp(1, 16_384),
        minority: MINORITY,
        request_pages: REQUEST_PAGES,
        style: MixStyle::PLAIN,
        collect_ns: 1,
        seed: 0,
        eliminate: false,
    }
}
