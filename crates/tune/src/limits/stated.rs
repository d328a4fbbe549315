//! Limits as a user states them, and what completes them from the baseline.

use super::{Inequality, Limits, PriceLimit, Prices};
use crate::space::Space;
use ssdtune_model::{Bytes, CheckedConfig, Faults};

/// Where limits come from that nobody stated.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Bounds {
    /// The baseline: its raw capacity, flash type and DRAM, and not many more chips than it has.
    Baseline,
    /// A purchase: what the host sees of the baseline, for its price and a tenth.
    Purchase,
    /// The baseline's capacity, interface and flash type alone: raw for drives of any flash, what
    /// the host sees for drives that are made of parts.
    Wide,
}

impl Bounds {
    /// The bounds of a search in a space. Flash parts are bought.
    pub fn of_search(space: &Space) -> Self {
        if space.has_parts() { Self::Purchase } else { Self::Baseline }
    }
}

/// Limits that are stated one by one, beside those of a constraints file.
#[derive(Clone, Debug, Default)]
pub struct StatedLimits {
    /// Raw flash capacity to have, within a tenth.
    pub capacity: Option<Bytes>,
    /// Capacity that the host must see, within a tenth.
    pub usable_capacity: Option<Bytes>,
    /// The most DRAM, for data cache and mapping entries together.
    pub dram_budget: Option<Bytes>,
    /// The most power on average, in watt.
    pub power_budget_watts: Option<f64>,
    /// The highest price of a drive.
    pub max_price: Option<PriceLimit>,
    /// Further conditions.
    pub require: Vec<Inequality>,
}

impl StatedLimits {
    /// Completes the limits of a constraints file: by those stated, then from the baseline. Returns
    /// the baseline with the capacity that is asked for, and a note if that is not its own.
    ///
    /// # Errors
    /// No number of blocks gives the baseline that capacity, or a price is limited and there is no
    /// price list.
    pub fn complete(
        &self,
        limits: &mut Limits,
        base: CheckedConfig,
        space: &Space,
        bounds: Bounds,
    ) -> Result<(CheckedConfig, Option<String>), Faults> {
        let constraints = &mut limits.constraints;
        if self.capacity.is_some() || self.usable_capacity.is_some() {
            (constraints.capacity, constraints.usable_capacity) =
                (self.capacity, self.usable_capacity);
            constraints.capacity_tolerance = super::CAPACITY_TOLERANCE;
        }
        constraints.dram_budget = self.dram_budget.or(constraints.dram_budget);
        constraints.power_budget_watts = self.power_budget_watts.or(constraints.power_budget_watts);
        let resized = limits.resized(&base)?;
        let note = resized.as_ref().map(|other| {
            let [own, was] = [other, &base].map(|drive| drive.flash.blocks_per_plane);
            format!(
                "the baseline {} is taken as {}: flash.blocks_per_plane = {own} instead of {was}",
                base.name, other.name
            )
        });
        let base = resized.unwrap_or(base);
        if let Some(limit) = self.max_price {
            let prices = limits.prices.get_or_insert_with(Prices::market);
            limits.max_price = Some(limit.over(prices.of(&base)));
        }
        match bounds {
            Bounds::Baseline => limits.complete_from(&base),
            Bounds::Purchase => limits.complete_for_purchase_from(&base),
            Bounds::Wide if space.has_parts() => limits.complete_for_the_host_from(&base),
            Bounds::Wide => limits.complete_widely_from(&base),
        }
        limits.inequalities.extend(self.require.iter().cloned());
        Ok((base, note))
    }
}
