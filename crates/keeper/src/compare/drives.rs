//! The drive of a comparison, once with each page allocation that its plans need.

use super::CompareError;
use crate::binding::check_divisible;
use crate::labels::labelled_allocation;
use ssdtune_experiment::Start;
use ssdtune_model::CheckedConfig;
use ssdtune_model::config::Allocation;

/// The drives of a comparison, which differ by their page allocation alone.
#[derive(Debug)]
pub(super) struct Drives {
    fixed: CheckedConfig,
    dynamic: CheckedConfig,
    hybrid: CheckedConfig,
    /// The allocation of the drive that was asked for, which allocators work on: dynamic or static.
    pub own: Allocation,
}

impl Drives {
    /// Of a drive that begins like this.
    pub fn new(device: &CheckedConfig, start: &Start) -> Result<Self, CompareError> {
        check_divisible(device)?;
        let must_allocate = *start == Start::Empty && !device.compat.read_allocates;
        let with = |allocation| {
            let mut config = (**device).clone();
            config.mapping.allocation = allocation;
            let other = config.clone();
            config.compat.read_allocates |= must_allocate;
            config.check().map_err(|faults| match must_allocate && other.check().is_ok() {
                true => CompareError::Empty(faults.to_string()),
                false => CompareError::Config(faults.to_string()),
            })
        };
        Ok(Self {
            fixed: with(Allocation::Static)?,
            dynamic: with(Allocation::Dynamic)?,
            hybrid: with(Allocation::Hybrid)?,
            own: labelled_allocation(device),
        })
    }

    /// The one with static allocation, as fixed strategies have it.
    pub fn fixed(&self) -> &CheckedConfig {
        &self.fixed
    }

    /// The one with this allocation.
    pub fn with(&self, allocation: Allocation) -> &CheckedConfig {
        match allocation {
            Allocation::Static => &self.fixed,
            Allocation::Dynamic => &self.dynamic,
            Allocation::Hybrid => &self.hybrid,
        }
    }

    /// The allocations that the allocator is compared on, with what its plan is called there:
    /// hybrid allocation comes on top of a static one.
    pub fn of_allocators(&self) -> Vec<(&'static str, Allocation)> {
        let hybrid = ("SSDKeeper + hybrid", Allocation::Hybrid);
        let is_static = self.own == Allocation::Static;
        [("SSDKeeper", self.own)].into_iter().chain(is_static.then_some(hybrid)).collect()
    }
}

/// The plan that a sceptic compares with: nobody divides the channels, and pages of all tenants are
/// placed by load.
pub(super) const UNDIVIDED: &str = "Shared, dynamic";
