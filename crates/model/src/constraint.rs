//! Limits that a drive must keep: capacity, interface, flash type, power, DRAM, chips.
//!
//! Power is measured by simulation and judged by [`Constraints::power_violation`]; everything else
//! follows from the configuration alone.

use crate::config::{DeviceConfig, FlashTechnology, HostInterface};
use crate::fault::{Fault, Faults, Problem};
use crate::ledger::{Ledger, Memory};
use crate::nearest::closest_name;
use crate::units::Bytes;
use crate::value::Unit;
use toml::Spanned;
use toml::de::{DeTable, DeValue};

/// Limits that a drive must keep. `None` is no limit.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Constraints {
    /// Raw flash capacity that the drive must have.
    pub capacity: Option<Bytes>,
    /// Capacity that the host must see: the raw capacity less what is over-provisioned.
    pub usable_capacity: Option<Bytes>,
    /// How far a capacity may be below or above the wanted one, as a share of it (0.1 is 10 %).
    pub capacity_tolerance: f64,
    /// The host interface that the drive must have.
    pub interface: Option<HostInterface>,
    /// The flash technology that the drive must have.
    pub flash_type: Option<FlashTechnology>,
    /// Largest average power, in watt.
    pub power_budget_watts: Option<f64>,
    /// Largest DRAM, for data cache and mapping entries together.
    pub dram_budget: Option<Bytes>,
    /// Largest number of flash chips.
    pub max_chips: Option<u64>,
    /// Smallest over-provisioning, as a share of the raw capacity (0 to 0.95).
    pub min_overprovisioning: Option<f64>,
}

/// A limit that a configuration breaks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Violation {
    /// The name of the limit in a constraints file.
    pub limit: &'static str,
    /// What the drive has, and what the limit asks for.
    pub explanation: String,
}

impl std::fmt::Display for Violation {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}: {}", self.limit, self.explanation)
    }
}

/// AutoBlox takes layouts from 0.9 of the capacity up to the next power of two; a tenth either way
/// keeps 480 GiB a "512 GB" drive.
const DEFAULT_TOLERANCE: f64 = 0.1;

impl Constraints {
    /// The four limits of AutoBlox, as its `set_cons(capacity, interface, flash_type,
    /// power_budget)` sets them. Power is in watt; the capacity may be a tenth below or above.
    pub fn set_cons(
        capacity: Bytes,
        interface: HostInterface,
        flash_type: FlashTechnology,
        power_budget_watts: f64,
    ) -> Self {
        Self {
            capacity: Some(capacity),
            capacity_tolerance: DEFAULT_TOLERANCE,
            interface: Some(interface),
            flash_type: Some(flash_type),
            power_budget_watts: Some(power_budget_watts),
            ..Self::default()
        }
    }

    /// The limits that a configuration breaks, power aside.
    pub fn violations(&self, config: &DeviceConfig) -> Vec<Violation> {
        let mut violations = Vec::new();
        let mut broken = |limit, explanation| violations.push(Violation { limit, explanation });
        let Ledger { raw_bytes: raw, visible_bytes: visible, .. } = Ledger::of(config);
        let tolerance = self.capacity_tolerance * 100.0;
        if let Some(wanted) = self.capacity.filter(|wanted| !self.is_near(raw, *wanted)) {
            let explanation = format!("{raw} of flash, wanted {wanted} within {tolerance} %");
            broken("capacity_bytes", explanation);
        }
        if let Some(wanted) = self.usable_capacity.filter(|wanted| !self.is_near(visible, *wanted))
        {
            let explanation =
                format!("{visible} for the host, wanted {wanted} within {tolerance} %");
            broken("usable_capacity_bytes", explanation);
        }
        if let Some(wanted) = self.interface.filter(|wanted| *wanted != config.host.interface) {
            broken("interface", format!("{}, wanted {wanted}", config.host.interface));
        }
        if let Some(wanted) = self.flash_type.filter(|wanted| *wanted != config.flash.technology) {
            broken("flash_type", format!("{}, wanted {wanted}", config.flash.technology));
        }
        let dram = Memory::of(config).drive_dram_bytes;
        if let Some(most) = self.dram_budget.filter(|most| dram > *most) {
            broken(
                "dram_budget_bytes",
                format!("{dram} for cache, mapping table and placement, at most {most}"),
            );
        }
        let chips = config.geometry().chips();
        if let Some(most) = self.max_chips.filter(|most| chips > *most) {
            broken("max_chips", format!("{chips} chips, at most {most}"));
        }
        let spare = config.mapping.overprovisioning;
        if let Some(least) = self.min_overprovisioning.filter(|least| spare < *least) {
            broken("min_overprovisioning", format!("{spare}, at least {least}"));
        }
        violations
    }

    /// Whether a capacity is the wanted one as far as the tolerance asks for.
    pub fn is_near(&self, own: Bytes, wanted: Bytes) -> bool {
        (own.0 as f64 / wanted.0 as f64 - 1.0).abs() <= self.capacity_tolerance + 1e-9
    }

    /// The violation of the power budget by a measured average power, if there is one.
    pub fn power_violation(&self, average_watts: f64) -> Option<Violation> {
        let most = self.power_budget_watts.filter(|most| average_watts > *most)?;
        let explanation = format!("{average_watts:.3} W on average, at most {most} W");
        Some(Violation { limit: "power_budget_watts", explanation })
    }

    /// Reads a constraints file: TOML whose keys are `capacity_bytes` (raw flash),
    /// `usable_capacity_bytes`, `capacity_tolerance` (0.1 if absent), `interface`, `flash_type`,
    /// `power_budget_watts`, `dram_budget_bytes`, `max_chips` and `min_overprovisioning`. All are
    /// optional; other keys are faults.
    ///
    /// # Errors
    /// Every fault, with its line.
    pub fn parse(text: &str) -> Result<Self, Faults> {
        Self::parse_with(text, &[], |_, _| None)
    }

    /// Reads a constraints file with further keys. `extra` is asked first about each key and its
    /// value; it returns `None` for a key that it does not know. `names` are the keys that it
    /// knows, for hints.
    ///
    /// # Errors
    /// Every fault, with its line.
    pub fn parse_with(
        text: &str,
        names: &[&str],
        mut extra: impl FnMut(&str, &Spanned<DeValue<'_>>) -> Option<Result<(), Problem>>,
    ) -> Result<Self, Faults> {
        let (table, errors) = DeTable::parse_recoverable(text);
        let mut faults = Faults::default();
        let line = |position: usize| {
            1 + text.as_bytes().iter().take(position).filter(|&&byte| byte == b'\n').count()
        };
        for error in errors {
            let message = format!("not TOML: {}", error.message());
            let at = error.span().unwrap_or_default().start;
            faults.push(Fault::new("", Problem::Syntax { message }).at_line(line(at)));
        }
        let mut limits = Self { capacity_tolerance: DEFAULT_TOLERANCE, ..Self::default() };
        for (key, value) in table.get_ref() {
            let name: &str = key.get_ref();
            let outcome = extra(name, value).unwrap_or_else(|| limits.assign(name, value, names));
            if let Err(problem) = outcome {
                faults.push(Fault::new(name, problem).at_line(line(key.span().start)));
            }
        }
        faults.0.sort_by_key(|fault| fault.line);
        faults.or_ok(limits)
    }

    fn assign(
        &mut self,
        name: &str,
        value: &Spanned<DeValue<'_>>,
        others: &[&str],
    ) -> Result<(), Problem> {
        let value = value.get_ref();
        match name {
            "capacity_bytes" => self.capacity = Some(size(value, 1, 1 << 60)?),
            "usable_capacity_bytes" => self.usable_capacity = Some(size(value, 1, 1 << 60)?),
            "capacity_tolerance" => self.capacity_tolerance = real(value, 0.0, 1.0)?,
            "interface" => {
                self.interface =
                    Some(choice(value, HostInterface::NAMES, HostInterface::from_name)?);
            }
            "flash_type" => {
                self.flash_type =
                    Some(choice(value, FlashTechnology::NAMES, FlashTechnology::from_name)?);
            }
            "power_budget_watts" => self.power_budget_watts = Some(real(value, 0.0, 1e6)?),
            "dram_budget_bytes" => self.dram_budget = Some(size(value, 0, 1 << 50)?),
            "max_chips" => self.max_chips = Some(int(value, 1, 1 << 20)?),
            "min_overprovisioning" => self.min_overprovisioning = Some(real(value, 0.0, 0.95)?),
            _ => {
                let names = || NAMES.iter().chain(others).copied();
                let reason = match closest_name(name, names()) {
                    Some(nearest) => format!("no such key; did you mean {nearest}?"),
                    None => {
                        let all: Vec<&str> = names().collect();
                        format!("no such key; a constraints file has {}", all.join(", "))
                    }
                };
                return Err(Problem::Unsupported { reason });
            }
        }
        Ok(())
    }
}

/// The keys of a constraints file.
const NAMES: [&str; 9] = [
    "capacity_bytes",
    "usable_capacity_bytes",
    "capacity_tolerance",
    "interface",
    "flash_type",
    "power_budget_watts",
    "dram_budget_bytes",
    "max_chips",
    "min_overprovisioning",
];

/// A size: a number of bytes, or a text with a unit.
fn size(value: &DeValue<'_>, min: u64, max: u64) -> Result<Bytes, Problem> {
    let Some(text) = value.as_str() else { return int(value, min, max).map(Bytes) };
    let read = Unit::Bytes.parse_int(text).filter(|read| (min..=max).contains(read));
    read.map(Bytes).ok_or_else(|| Problem::Illegal {
        expected: "a size",
        legal: format!("{min} to {max} B, or a text such as \"512 GiB\" or \"1 TB\""),
        nearest: None,
    })
}

fn int(value: &DeValue<'_>, min: u64, max: u64) -> Result<u64, Problem> {
    let read =
        value.as_integer().and_then(|int| u64::from_str_radix(int.as_str(), int.radix()).ok());
    let legal = || format!("{min} to {max}");
    read.filter(|read| (min..=max).contains(read)).ok_or_else(|| Problem::Illegal {
        expected: "a whole number",
        legal: legal(),
        nearest: None,
    })
}

fn real(value: &DeValue<'_>, min: f64, max: f64) -> Result<f64, Problem> {
    let text = match value {
        DeValue::Integer(int) => int.as_str(),
        DeValue::Float(real) => real.as_str(),
        _ => "",
    };
    let read = text.parse().ok().filter(|read: &f64| (min..=max).contains(read));
    read.ok_or_else(|| Problem::Illegal {
        expected: "a number",
        legal: format!("{min} to {max}"),
        nearest: None,
    })
}

fn choice<T>(
    value: &DeValue<'_>,
    names: &[(&'static str, &str)],
    parse: fn(&str) -> Option<T>,
) -> Result<T, Problem> {
    let text = value.as_str().unwrap_or_default();
    let own = || names.iter().map(|(own, _)| *own);
    parse(text).ok_or_else(|| Problem::Illegal {
        expected: "a name",
        legal: own().collect::<Vec<_>>().join(", "),
        nearest: closest_name(text, own()).map(str::to_owned),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::presets;

    fn paper() -> Constraints {
        Constraints::set_cons(Bytes::from_gib(512), HostInterface::Nvme, FlashTechnology::Mlc, 10.0)
    }

    #[test]
    fn the_baseline_keeps_the_papers_constraints() {
        assert_eq!(paper().violations(&presets::load("intel-750").unwrap()), []);
        assert_eq!(paper().power_violation(9.9), None);
        assert!(paper().power_violation(10.1).unwrap().to_string().contains("at most 10 W"));
    }

    #[test]
    fn each_broken_limit_is_explained() {
        let broken = paper().violations(&presets::load("samsung-850-pro").unwrap());
        let text: Vec<String> = broken.iter().map(ToString::to_string).collect();
        let expected = [
            "capacity_bytes: 256 GiB of flash, wanted 512 GiB within 10 %",
            "interface: sata, wanted nvme",
        ];
        assert_eq!(text, expected);
        let limits = Constraints {
            dram_budget: Some(Bytes::from_mib(1)),
            max_chips: Some(1),
            min_overprovisioning: Some(0.5),
            flash_type: Some(FlashTechnology::Qlc),
            ..Constraints::default()
        };
        assert_eq!(limits.violations(&presets::load("z-ssd").unwrap()).len(), 4);
    }

    #[test]
    fn usable_capacity_is_what_the_host_sees() {
        let mut drive = presets::load("intel-750").unwrap();
        let limits = Constraints::parse("usable_capacity_bytes = \"384 GiB\"").unwrap();
        assert_eq!(limits.violations(&drive), []);
        // 480 GiB of flash, of which 30 % more than before is spare: 336 GiB.
        drive.mapping.overprovisioning = 0.3;
        let broken = limits.violations(&drive);
        assert_eq!(broken.len(), 1, "{broken:?}");
        let told = broken[0].to_string();
        let expected = "usable_capacity_bytes: 336.00 GiB for the host, wanted 384 GiB within 10 %";
        assert_eq!(told, expected);
    }

    #[test]
    fn shipped_files_read_and_wrong_ones_name_every_fault() {
        let shipped = include_str!("../../../configs/constraints/nvme-mlc-512gb.toml");
        let expected = Constraints { power_budget_watts: Some(25.0), ..paper() };
        assert_eq!(Constraints::parse(shipped), Ok(expected));
        let sata = include_str!("../../../configs/constraints/sata-mlc-256gb.toml");
        let sata = Constraints::parse(sata).unwrap();
        assert_eq!(sata.violations(&presets::load("samsung-850-pro").unwrap()), []);
        let wrong =
            "capacity = 3\nflash_type = \"mcl\"\nmax_chips = 0\npower_budget_watts = nan\n[x]\n";
        let sizes = "capacity_bytes = \"1 TB\"\ndram_budget_bytes = \"1.5 GiB\"\n";
        let sizes = Constraints::parse(sizes).unwrap();
        assert_eq!(sizes.capacity, Some(Bytes(1_000_000_000_000)));
        assert_eq!(sizes.dram_budget, Some(Bytes::from_mib(1_536)));
        let lost = Constraints::parse("capacity_bytes = \"1 Tib\"").unwrap_err().to_string();
        assert!(lost.contains("a text such as \"512 GiB\""), "{lost}");
        let faults = Constraints::parse(wrong).unwrap_err();
        assert_eq!(faults.0.len(), 5, "{faults}");
        assert!(faults.to_string().contains("line 2: flash_type: must be a name"), "{faults}");
        assert!(Constraints::parse("= 3").is_err());
    }
}
