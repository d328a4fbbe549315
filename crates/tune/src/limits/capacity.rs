//! Which capacity a drive must have, and how the axes of a space change it.
//!
//! Limits speak of the raw capacity (`--capacity`) or of the one that the host sees
//! (`--usable-capacity`). Either is a product of values on axes: of the layout, and for the host
//! also of the share that is not over-provisioned. So a change on one of these axes multiplies the
//! capacity by a factor, and changes on others can make up for it.

use super::Limits;
use crate::space::{Axis, LAYOUT, Space, number};
use ssdtune_model::ledger::Ledger;
use ssdtune_model::{Bytes, DeviceConfig};

/// The parameter that divides the raw capacity between the host and the drive.
const SPARE: &str = "mapping.overprovisioning";

impl Limits {
    /// The capacity that a drive must have within the tolerance; `None` if there is no limit.
    pub(crate) fn wanted_capacity(&self) -> Option<Bytes> {
        self.constraints.usable_capacity.or(self.constraints.capacity)
    }

    /// The capacity of a drive that the limits speak of.
    pub(crate) fn capacity_of(&self, config: &DeviceConfig) -> Bytes {
        let Ledger { raw_bytes, visible_bytes, .. } = Ledger::of(config);
        if self.counts_for_the_host() { visible_bytes } else { raw_bytes }
    }

    /// The axes that change this capacity.
    pub(crate) fn capacity_axes(&self, space: &Space) -> Vec<usize> {
        let mut axes = space.layout_axes();
        let spare = space.axis(SPARE).filter(|_| self.counts_for_the_host());
        axes.extend(spare.filter(|spare| !axes.contains(spare)));
        axes.sort_unstable();
        axes
    }

    /// The factor of this capacity that an axis stands for at a rank: the product of its layout
    /// values, and for the host the share that is not spare.
    pub(crate) fn capacity_factor(&self, axis: &Axis, rank: u16) -> f64 {
        let value = |key: &&str| axis.value_of(key, rank).map(number);
        let layout: f64 = LAYOUT.iter().filter_map(value).product();
        let spare = axis.value_of(SPARE, rank).filter(|_| self.counts_for_the_host());
        layout * spare.map_or(1.0, |spare| 1.0 - number(spare))
    }

    /// Whether the limits speak of what the host sees.
    pub(crate) fn counts_for_the_host(&self) -> bool {
        self.constraints.usable_capacity.is_some()
    }
}
