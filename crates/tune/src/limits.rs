//! The limits of a search: what a proposed drive must keep to, and how other parameters follow so
//! that it does.
//!
//! [`Limits`] are the model's [`Constraints`] (capacity, interface, flash type, power, DRAM, chips)
//! and three more: a price, computed from a price list; inequalities over names of the catalogue;
//! and the checks of the configuration itself. Power is only known after a simulation
//! (`breach.rs`); everything else is checked before one.
//!
//! A change of one layout parameter alone would change the capacity. So [`Limits::complete`]
//! changes up to two others until the capacity fits again, nearest values first. (The paper adjusts
//! them "with linear regression"; its artifact enumerates pairs, as is done here.) When one DRAM
//! size grows, the other shrinks.
//!
//! Cost: some microseconds to check a configuration, some hundred to complete one.

mod capacity;
mod complete;
mod inequality;
mod price;
mod stated;
mod wear;

pub use complete::Feasible;
pub use inequality::Inequality;
pub use price::{BillItem, PriceLimit, Prices};
pub use stated::{Bounds, StatedLimits};
pub use wear::{controller_pins, endurance_bytes};

use crate::space::Space;
use price::price;
use ssdtune_model::Violation;
use ssdtune_model::ledger::{Ledger, Memory};
use ssdtune_model::{
    CheckedConfig, Constraints, DeviceConfig, Fault, Faults, Problem, Sectors, catalogue,
};
use toml::de::DeValue;

/// Everything a drive must keep to.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Limits {
    /// Limits on capacity, interface, flash type, power, DRAM and chips.
    pub constraints: Constraints,
    /// The price list; `None` where prices are not known.
    pub prices: Option<Prices>,
    /// The highest price of a drive, in the currency of `prices`.
    pub max_price: Option<f64>,
    /// Further conditions.
    pub inequalities: Vec<Inequality>,
}

/// How far a capacity may be from the baseline's.
const CAPACITY_TOLERANCE: f64 = 0.1;
/// How many times the baseline's price a drive that is to be bought may cost.
const PRICE_FACTOR: f64 = 1.1;
/// The factor by which the number of chips may grow. AutoBlox's artifact allows 80 instead of 60.
const CHIPS_FACTOR: f64 = 80.0 / 60.0;
/// The factor by which the number of planes may grow. AutoBlox's artifact allows 1,024 instead of
/// 480.
const PLANES_FACTOR: f64 = 1024.0 / 480.0;
/// The factor by which the planes of one chip may grow. AutoBlox's artifact allows 16 instead of 8.
const CHIP_PLANES_FACTOR: f64 = 2.0;

/// Names that a constraints file may have in addition to those of [`Constraints`].
const NAMES: [&str; 3] = ["prices", "max_price", "inequalities"];

impl Limits {
    /// Limits around a baseline: its capacity (a tenth more or less), its interface, flash type and
    /// DRAM size, and as much growth of chips and planes as AutoBlox's artifact allows.
    pub fn around(base: &DeviceConfig) -> Self {
        let mut limits = Self::default();
        limits.complete_from(base);
        limits
    }

    /// Adds the limits of [`Limits::around`] for everything that is not limited yet.
    pub fn complete_from(&mut self, base: &DeviceConfig) {
        self.complete_widely_from(base);
        let constraints = &mut self.constraints;
        constraints.dram_budget.get_or_insert(Memory::of(base).drive_dram_bytes);
        if constraints.max_chips.is_none() && self.inequalities.is_empty() {
            let at = base.geometry();
            let grown = |count: u64, factor: f64| (count as f64 * factor).round();
            constraints.max_chips = Some(grown(at.chips(), CHIPS_FACTOR) as u64);
            let in_chip = u64::from(at.dies_per_chip * at.planes_per_die);
            for text in [
                format!("planes <= {}", grown(at.planes(), PLANES_FACTOR)),
                format!(
                    "flash.dies_per_chip * flash.planes_per_die <= {}",
                    grown(in_chip, CHIP_PLANES_FACTOR)
                ),
            ] {
                self.inequalities.push(Inequality::parse(&text).expect("names of the catalogue"));
            }
        }
    }

    /// Adds limits around a baseline on capacity, interface and flash type only, where these are
    /// not limited yet. What-if analysis uses them: its drives must be comparable with the
    /// baseline, but may have more chips and DRAM.
    pub fn complete_widely_from(&mut self, base: &DeviceConfig) {
        if self.wanted_capacity().is_none() {
            self.constraints.capacity = Some(Ledger::of(base).raw_bytes);
            self.constraints.capacity_tolerance = CAPACITY_TOLERANCE;
        }
        let constraints = &mut self.constraints;
        constraints.interface.get_or_insert(base.host.interface);
        constraints.flash_type.get_or_insert(base.flash.technology);
    }

    /// Adds limits around a baseline for drives that are to be bought, where nothing is limited
    /// yet: what the host sees of it (a tenth more or less), its interface, and its price and a
    /// tenth. What takes more flash, DRAM, channels or lanes is paid for by the price, so their
    /// numbers have no limits of their own.
    pub fn complete_for_purchase_from(&mut self, base: &DeviceConfig) {
        self.complete_for_the_host_from(base);
        let prices = self.prices.get_or_insert_with(Prices::market);
        self.max_price.get_or_insert(prices.of(base) * PRICE_FACTOR);
    }

    /// What tells whether a drive is dearer than another: its price, or where limits count the
    /// capacity for the host, that of a byte that the host sees. `None` without a price list.
    pub fn price_compared(&self, config: &DeviceConfig) -> Option<f64> {
        let price = self.prices.as_ref()?.of(config);
        let host = self.counts_for_the_host().then(|| Ledger::of(config).visible_bytes.0 as f64);
        Some(price / host.unwrap_or(1.0))
    }

    /// Adds limits around a baseline on what the host sees of it, its capacity and its interface,
    /// where these are not limited yet, and a price list where there is none.
    pub fn complete_for_the_host_from(&mut self, base: &DeviceConfig) {
        if self.wanted_capacity().is_none() {
            self.constraints.usable_capacity = Some(Ledger::of(base).visible_bytes);
            self.constraints.capacity_tolerance = CAPACITY_TOLERANCE;
        }
        self.constraints.interface.get_or_insert(base.host.interface);
        self.prices.get_or_insert_with(Prices::market);
    }

    /// A baseline with as many blocks in each plane as the capacity asked for takes; `None` if its
    /// capacity is within the limits already. Nothing else changes, so drives of one capacity are
    /// compared: as many channels, dies and planes as before serve the requests.
    ///
    /// # Errors
    /// No number of blocks gives the capacity.
    pub fn resized(&self, base: &CheckedConfig) -> Result<Option<CheckedConfig>, Faults> {
        let Some(wanted) = self.wanted_capacity() else { return Ok(None) };
        let own = self.capacity_of(base);
        if self.constraints.is_near(own, wanted) {
            return Ok(None);
        }
        let share = wanted.0 as f64 / own.0 as f64;
        let blocks = (f64::from(base.flash.blocks_per_plane) * share).round().max(1.0);
        let mut other: DeviceConfig = (**base).clone();
        // More than fits saturates, and the check refuses it.
        other.flash.blocks_per_plane = blocks as u32;
        other.name = format!("{}-at-{}", base.name, wanted.to_string().replace(' ', ""));
        let name =
            if self.counts_for_the_host() { "usable_capacity_bytes" } else { "capacity_bytes" };
        let wrong = |reason| Faults::from(Fault::new(name, Problem::Conflict { reason }));
        let checked = other.check().map_err(|faults| {
            wrong(format!(
                "{wanted} would take {blocks} blocks in each plane of the baseline {} ({own}), \
                 which cannot be: {faults}",
                base.name
            ))
        })?;
        let given = self.capacity_of(&checked);
        match self.constraints.is_near(given, wanted) {
            true => Ok(Some(checked)),
            false => Err(wrong(format!(
                "{wanted} cannot be reached from the baseline {} ({own}): {blocks} blocks in each \
                 plane make {given}; choose another baseline",
                base.name
            ))),
        }
    }

    /// The number of sectors that the smallest drive of a space within the limits has for the host.
    /// A trace within these addresses fits on every drive.
    pub fn host_sectors_min(&self, base: &DeviceConfig, space: &Space) -> Sectors {
        let tolerance = 1.0 - self.constraints.capacity_tolerance;
        let least = match (self.constraints.usable_capacity, space.axis("mapping.overprovisioning"))
        {
            (Some(usable), _) => usable.0 as f64 * tolerance,
            (None, axis) => {
                let raw = self.constraints.capacity.unwrap_or(Ledger::of(base).raw_bytes);
                let axis = axis.map(|axis| &space.axes()[axis]);
                let values = axis
                    .iter()
                    .flat_map(|axis| (0..axis.count() as u16).map(|rank| axis.number(rank)));
                let spare = values.fold(base.mapping.overprovisioning, f64::max);
                raw.0 as f64 * tolerance * (1.0 - spare)
            }
        };
        Sectors((least / 512.0) as u64)
    }

    /// Reads a constraints file, a TOML document with the names of [`Constraints`], and `prices`,
    /// `max_price` and `inequalities`.
    ///
    /// # Errors
    /// Every fault, with its line.
    pub fn parse(text: &str) -> Result<Self, Faults> {
        Self::parse_onto(text, None)
    }

    /// Reads a constraints file whose prices take the place of those of a list, name by name.
    ///
    /// # Errors
    /// Every fault, with its line.
    pub fn parse_onto(text: &str, list: Option<Prices>) -> Result<Self, Faults> {
        let mut limits = Self { prices: list.clone(), ..Self::default() };
        let constraints = Constraints::parse_with(text, &NAMES, |name, value| match name {
            "prices" => {
                let read = list.clone().unwrap_or_default().read_onto(value.get_ref());
                Some(read.map(|prices| limits.prices = Some(prices)))
            }
            "max_price" => Some(price(value.get_ref()).map(|most| limits.max_price = Some(most))),
            "inequalities" => Some(read_inequalities(value.get_ref()).map(|all| {
                limits.inequalities = all;
            })),
            _ => None,
        })?;
        if limits.max_price.is_some() && limits.prices.is_none() {
            let remedy = "max_price needs a table [prices] of what parts cost".to_owned();
            return Err(Fault::new("prices", Problem::Missing { remedy }).into());
        }
        Ok(Self { constraints, ..limits })
    }

    /// Checks a configuration against every limit that needs no simulation.
    ///
    /// # Errors
    /// Every limit that the configuration breaks.
    pub fn check(&self, config: &DeviceConfig) -> Result<CheckedConfig, Vec<Violation>> {
        let mut broken = self.constraints.violations(config);
        if let (Some(prices), Some(most)) = (&self.prices, self.max_price) {
            let price = prices.of(config);
            if price > most {
                let explanation = format!("{price:.2}, at most {most:.2}");
                broken.push(Violation { limit: "max_price", explanation });
            }
        }
        for inequality in self.inequalities.iter().filter(|inequality| !inequality.holds(config)) {
            let explanation = inequality.explain(config);
            broken.push(Violation { limit: "inequalities", explanation });
        }
        if !broken.is_empty() {
            return Err(broken);
        }
        let violation = |explanation| Violation { limit: "configuration", explanation };
        let checked = config.check().map_err(|faults| {
            faults.0.iter().map(|fault| violation(fault.to_string())).collect::<Vec<_>>()
        })?;
        // The FTL refuses such a drive, but a refused measurement is paid for from the budget.
        let needed = config.placement.blocks_needed(!config.mapping.ideal);
        let spare = Ledger::of(config).spare_blocks_per_plane;
        match f64::from(needed) < spare {
            true => Ok(checked),
            false => Err(vec![violation(format!(
                "placement.policy {} needs more than {needed} spare blocks in each plane, and \
                 there are {spare:.1}",
                config.placement.policy.name()
            ))]),
        }
    }

    /// Every limit as a line of text.
    pub fn lines(&self) -> Vec<String> {
        let constraints = &self.constraints;
        let mut lines = Vec::new();
        let percent = constraints.capacity_tolerance * 100.0;
        lines.extend(constraints.capacity.map(|raw| format!("capacity {raw} within {percent} %")));
        lines.extend(
            constraints
                .usable_capacity
                .map(|usable| format!("capacity for the host {usable} within {percent} %")),
        );
        lines.extend(constraints.interface.map(|interface| format!("interface {interface}")));
        lines.extend(constraints.flash_type.map(|flash| format!("flash {flash}")));
        lines.extend(
            constraints.power_budget_watts.map(|watts| format!("average power <= {watts} W")),
        );
        lines.extend(
            constraints
                .dram_budget
                .map(|dram| format!("cache + mapping table + placement <= {dram}")),
        );
        lines.extend(constraints.max_chips.map(|chips| format!("chips <= {chips}")));
        lines.extend(
            constraints.min_overprovisioning.map(|least| format!("over-provisioning >= {least}")),
        );
        lines.extend(self.max_price.map(|most| format!("price <= {most:.2}")));
        lines.extend(self.inequalities.iter().map(ToString::to_string));
        lines
    }
}

/// The problem of a value that is not what was expected.
fn illegal(expected: &'static str, legal: &str) -> Problem {
    Problem::Illegal { expected, legal: legal.to_owned(), nearest: None }
}

fn read_inequalities(value: &DeValue<'_>) -> Result<Vec<Inequality>, Problem> {
    let legal = "a list of texts such as \"bus.channels * bus.chips_per_channel <= 80\"";
    let DeValue::Array(items) = value else { return Err(illegal("inequalities", legal)) };
    let one = |item: &toml::Spanned<DeValue<'_>>| {
        let text = item.get_ref().as_str().ok_or_else(|| illegal("inequalities", legal))?;
        Inequality::parse(text).map_err(|reason| Problem::Conflict { reason })
    };
    items.iter().map(one).collect()
}

/// The value of a name that inequalities may use in addition to the catalogue's keys.
fn derived(name: &str, config: &DeviceConfig) -> Option<f64> {
    let at = config.geometry();
    Some(match name {
        "capacity_bytes" => at.raw_capacity().0 as f64,
        "usable_bytes" => Ledger::of(config).visible_bytes.0 as f64,
        "dram_bytes" => Memory::of(config).drive_dram_bytes.0 as f64,
        "chips" => at.chips() as f64,
        "dies" => at.dies() as f64,
        "planes" => at.planes() as f64,
        "controller_pins" => f64::from(controller_pins(config)),
        _ => return None,
    })
}

/// The value of any name in an inequality; not a number where there is no such name.
fn value_of(name: &str, config: &DeviceConfig) -> f64 {
    let in_catalogue = || catalogue::find(name).map(|row| crate::space::number(row.get(config)));
    derived(name, config).or_else(in_catalogue).unwrap_or(f64::NAN)
}

#[cfg(test)]
mod tests;
