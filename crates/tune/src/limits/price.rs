//! What the parts of a drive cost: a relative bill of materials.
//!
//! Prices are a list of what one of each part costs, in any currency. `configs/prices/market.toml`
//! is the list that is built in; it says where its figures come from and of which month they are.
//! Its use is to compare drives. It is no quotation.

use super::illegal;
use serde::Serialize;
use ssdtune_model::config::{FlashTechnology, HostInterface};
use ssdtune_model::ledger::Memory;
use ssdtune_model::{Bytes, DeviceConfig, Problem};
use std::str::FromStr;
use toml::de::{DeTable, DeValue};

/// A price list of parts, in any currency. Parts that are not listed cost nothing.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Prices {
    /// The price of everything that does not depend on the configuration.
    pub base: f64,
    /// The price of a gibibyte of flash of whatever cell type, besides that of its type.
    pub per_flash_gib: f64,
    /// The price of a gibibyte of flash by bits in a cell: SLC, MLC, TLC, QLC.
    pub per_cell_gib: [f64; 4],
    /// The price of a gibibyte of DRAM.
    pub per_dram_gib: f64,
    /// Sizes in which DRAM is sold, in rising order. A drive has the smallest one that holds what
    /// it needs, or several of the largest. Empty if any size can be had.
    pub dram_modules: Vec<Bytes>,
    /// The price of a flash channel of the controller.
    pub per_channel: f64,
    /// The price of a GT/s of a flash channel, for each byte of its width.
    pub per_channel_gts: f64,
    /// The price of a chip package.
    pub per_chip: f64,
    /// The price of a die.
    pub per_die: f64,
    /// The price of a lane of the host link.
    pub per_lane: f64,
    /// The price of a GB/s of the host link (the number of lanes times the bandwidth of one).
    pub per_link_gbps: f64,
}

/// What one kind of part costs in a drive.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct BillItem {
    /// The parts.
    pub part: &'static str,
    /// How many there are, with their unit.
    pub amount: String,
    /// What they cost together.
    pub price: f64,
}

/// The highest price of a drive, as a user states it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum PriceLimit {
    /// In the currency of the price list.
    Price(f64),
    /// As many times the baseline's price.
    TimesBaseline(f64),
}

impl PriceLimit {
    /// The limit where the baseline has this price.
    pub fn over(self, baseline: f64) -> f64 {
        match self {
            Self::Price(most) => most,
            Self::TimesBaseline(times) => times * baseline,
        }
    }
}

impl FromStr for PriceLimit {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let number =
            |text: &str| text.parse().ok().filter(|read: &f64| *read > 0.0 && *read <= 1e12);
        let read = match text.strip_suffix('x') {
            Some(times) => number(times).map(Self::TimesBaseline),
            None => number(text).map(Self::Price),
        };
        read.ok_or_else(|| {
            "write a price, as in 120, or a factor of the baseline's, as in 1.2x".into()
        })
    }
}

/// A name of a price list and its place in the list.
type Slot = (&'static str, fn(&mut Prices) -> &mut f64);

/// The names of all prices.
const SLOTS: [Slot; 13] = [
    ("base", |list| &mut list.base),
    ("per_flash_gib", |list| &mut list.per_flash_gib),
    ("per_slc_gib", |list| &mut list.per_cell_gib[0]),
    ("per_mlc_gib", |list| &mut list.per_cell_gib[1]),
    ("per_tlc_gib", |list| &mut list.per_cell_gib[2]),
    ("per_qlc_gib", |list| &mut list.per_cell_gib[3]),
    ("per_dram_gib", |list| &mut list.per_dram_gib),
    ("per_channel", |list| &mut list.per_channel),
    ("per_channel_gts", |list| &mut list.per_channel_gts),
    ("per_chip", |list| &mut list.per_chip),
    ("per_die", |list| &mut list.per_die),
    ("per_lane", |list| &mut list.per_lane),
    ("per_link_gbps", |list| &mut list.per_link_gbps),
];

/// The name of the sizes in which DRAM is sold.
const DRAM_MODULES: &str = "dram_modules";

impl Prices {
    /// The price list that is built in.
    ///
    /// # Panics
    /// Never: a test reads the file that is built in.
    pub fn market() -> Self {
        let text = include_str!("../../../../configs/prices/market.toml");
        let table = DeTable::parse(text).expect("sound TOML");
        Self::default().changed_by(table.get_ref()).expect("a sound price list")
    }

    /// The list with the prices of a table in place of its own.
    pub(super) fn changed_by(mut self, table: &DeTable<'_>) -> Result<Self, Problem> {
        for (name, value) in table {
            let name = name.get_ref().as_ref();
            if name == DRAM_MODULES {
                self.dram_modules = sizes(value.get_ref())?;
                continue;
            }
            let slot = SLOTS.iter().find(|(own, _)| *own == name);
            let (_, slot) = slot.ok_or_else(|| Problem::Conflict {
                reason: format!("{name} has no price; legal names: {}", legal_names()),
            })?;
            *slot(&mut self) = price(value.get_ref())?;
        }
        Ok(self)
    }

    /// Reads a price list from a value, which must be a table, onto this one.
    pub(super) fn read_onto(self, value: &DeValue<'_>) -> Result<Self, Problem> {
        match value {
            DeValue::Table(table) => self.changed_by(table),
            _ => Err(illegal("a table", &legal_names())),
        }
    }

    /// The price of a drive.
    pub fn of(&self, config: &DeviceConfig) -> f64 {
        self.bill(config).iter().map(|item| item.price).sum()
    }

    /// What a drive consists of, and what that costs.
    pub fn bill(&self, config: &DeviceConfig) -> Vec<BillItem> {
        let gib = |bytes: Bytes| bytes.0 as f64 / f64::from(1 << 30);
        let (at, bus, host) = (config.flash_geometry(), &config.bus, &config.host);
        let technology = config.flash.technology;
        let flash = gib(at.raw_capacity());
        let per_gib = self.per_flash_gib + self.per_cell_gib[rank(technology)];
        let dram = gib(self.dram_bought(Memory::of(config).drive_dram_bytes));
        let rate = f64::from(bus.rate_mts) / 1e3 * f64::from(bus.width_bytes);
        let per_channel = self.per_channel + self.per_channel_gts * rate;
        let gbps = host.pcie_lane_bandwidth_gbps * f64::from(host.pcie_lanes);
        let link = self.per_lane * f64::from(host.pcie_lanes) + self.per_link_gbps * gbps;
        let link_name = match host.interface {
            HostInterface::Nvme => format!("{} lanes, {gbps:.2} GB/s", host.pcie_lanes),
            HostInterface::Sata => format!("SATA, {gbps:.2} GB/s"),
        };
        let item = |part, amount, price| BillItem { part, amount, price };
        vec![
            item("flash", format!("{flash:.0} GiB of {technology}"), flash * per_gib),
            item("dies", at.dies().to_string(), at.dies() as f64 * self.per_die),
            item("packages", at.chips().to_string(), at.chips() as f64 * self.per_chip),
            item("DRAM", format!("{:.0} MiB", dram * 1024.0), dram * self.per_dram_gib),
            item(
                "flash channels",
                format!("{} of {rate:.2} GB/s", at.channels),
                f64::from(at.channels) * per_channel,
            ),
            item("host link", link_name, link),
            item("all else", String::new(), self.base),
        ]
    }

    /// The DRAM that is bought where a drive needs this much.
    fn dram_bought(&self, needed: Bytes) -> Bytes {
        let Some(largest) = self.dram_modules.last() else { return needed };
        let fits = self.dram_modules.iter().find(|size| **size >= needed);
        *fits.unwrap_or(&Bytes(needed.0.div_ceil(largest.0) * largest.0))
    }
}

/// The place of a cell type in a list by bits in a cell.
fn rank(technology: FlashTechnology) -> usize {
    technology.page_types().len() - 1
}

fn legal_names() -> String {
    let names = SLOTS.iter().map(|(name, _)| *name).chain([DRAM_MODULES]);
    names.collect::<Vec<_>>().join(", ")
}

/// Reads a price.
pub(super) fn price(value: &DeValue<'_>) -> Result<f64, Problem> {
    let text = match value {
        DeValue::Integer(int) => int.as_str(),
        DeValue::Float(real) => real.as_str(),
        _ => "",
    };
    let read = text.parse().ok().filter(|read: &f64| (0.0..=1e12).contains(read));
    read.ok_or_else(|| illegal("a price", "0 or more"))
}

/// Reads sizes, and puts them in rising order.
fn sizes(value: &DeValue<'_>) -> Result<Vec<Bytes>, Problem> {
    let wrong = || illegal("sizes", "a list of texts such as \"512 MiB\", each above 0");
    let DeValue::Array(items) = value else { return Err(wrong()) };
    let one = |item: &toml::Spanned<DeValue<'_>>| {
        let size = item.get_ref().as_str().and_then(|text| text.parse::<Bytes>().ok());
        size.filter(|size| size.0 > 0).ok_or_else(wrong)
    };
    let mut sizes: Vec<Bytes> = items.iter().map(one).collect::<Result<_, _>>()?;
    sizes.sort_unstable();
    Ok(sizes)
}

#[cfg(test)]
mod tests {
    use super::*;
    use ssdtune_model::presets;

    #[test]
    fn a_bill_names_every_part_and_adds_up() {
        let drive = presets::load("intel-750").unwrap();
        let prices = Prices::market();
        let bill = prices.bill(&drive);
        let sum: f64 = bill.iter().map(|item| item.price).sum();
        assert!((prices.of(&drive) - sum).abs() < 1e-9);
        assert!(bill.iter().all(|item| item.price >= 0.0), "{bill:?}");
        assert!(bill[0].amount.contains("480 GiB of mlc"), "{bill:?}");
        // Fewer bits in a cell cost more, and every part that is listed costs something.
        assert!(prices.per_cell_gib.windows(2).all(|pair| pair[0] > pair[1]), "{prices:?}");
        let own = |part: &str| bill.iter().find(|item| item.part == part).unwrap().price;
        for part in ["flash", "DRAM", "flash channels", "host link", "packages"] {
            assert!(own(part) > 0.0, "{part}");
        }
    }

    #[test]
    fn dram_is_bought_in_modules() {
        let modules = [256_u64, 1024].map(Bytes::from_mib).to_vec();
        let prices = Prices { dram_modules: modules, ..Prices::default() };
        let bought = |mib| prices.dram_bought(Bytes::from_mib(mib)).0 >> 20;
        assert_eq!([1, 256, 257, 1024, 1025, 2049].map(bought), [256, 256, 1024, 1024, 2048, 3072]);
        assert_eq!(Prices::default().dram_bought(Bytes(5)), Bytes(5));
    }

    #[test]
    fn limits_are_prices_or_factors() {
        let of = |text: &str| text.parse::<PriceLimit>().map(|limit| limit.over(50.0));
        assert_eq!((of("120"), of("1.2x")), (Ok(120.0), Ok(60.0)));
        for wrong in ["", "x", "-1", "0x", "nan", "1.2 x", "inf"] {
            assert!(of(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn a_list_is_changed_name_by_name() {
        let changed = |text: &str| {
            let table = DeTable::parse(text).unwrap();
            Prices::market().changed_by(table.get_ref())
        };
        let other = changed("per_tlc_gib = 0.5\ndram_modules = [\"1 GiB\", \"64 MiB\"]").unwrap();
        assert_eq!(other.per_cell_gib[2], 0.5);
        assert_eq!(other.dram_modules, [64_u64, 1024].map(Bytes::from_mib));
        assert_eq!(other.per_dram_gib, Prices::market().per_dram_gib);
        for wrong in ["per_tcl_gib = 1", "per_tlc_gib = -1", "dram_modules = [3]"] {
            assert!(changed(wrong).is_err(), "{wrong}");
        }
    }
}
