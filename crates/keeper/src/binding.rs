//! From a strategy to what the drive is told: which channels each tenant may write to.

use crate::strategy::Strategy;
use ssdtune_experiment::Binding;
use ssdtune_model::config::GcUnit;
use ssdtune_model::{DeviceConfig, Geometry};
use ssdtune_sim::{Border, Places, SimError, Simulator};

/// A drive whose channels cannot be divided among tenants.
#[derive(Debug, thiserror::Error)]
#[error(
    "the channels of {0} cannot be divided: each of its superblocks has a block in all of them \
     (gc.unit = \"drive\"); with --set gc.unit=die a superblock lies in one die"
)]
pub struct Indivisible(String);

/// Whether tenants can have channels of their own.
///
/// # Errors
/// A superblock of the drive lies in all channels.
pub fn check_divisible(device: &DeviceConfig) -> Result<(), Indivisible> {
    match device.gc.unit {
        GcUnit::Drive => Err(Indivisible(device.name.clone())),
        GcUnit::Block | GcUnit::Die => Ok(()),
    }
}

/// The places of each tenant under a strategy; `writers` says for each tenant whether it mostly
/// writes, `border` whether writes may leave their part while that is busy.
pub(crate) fn bindings(
    strategy: &Strategy,
    geometry: &Geometry,
    writers: &[bool],
    border: Border,
) -> Vec<Binding> {
    let sets = strategy.channels(geometry.channels, writers).into_iter();
    let binding = |(channels, &writer): (Vec<u32>, &bool)| Binding {
        places: Places { channels, ..Places::all(geometry) },
        writer,
        border,
    };
    sets.zip(writers).map(binding).collect()
}

/// Binds the tenants of a drive as a strategy says; `border` says whether writes may leave their
/// part while that is busy.
///
/// # Errors
/// The drive does not have the strategy's channels.
pub(crate) fn bind(
    drive: &mut Simulator,
    strategy: &Strategy,
    writers: &[bool],
    border: Border,
) -> Result<(), SimError> {
    let geometry = drive.config().flash_geometry();
    Binding::bind_all(&bindings(strategy, &geometry, writers, border), drive)
}
