//! From a [`DeviceConfig`], which may be nonsense, to a [`CheckedConfig`], which a simulator may
//! trust.
//!
//! The ranges of single values come from the catalogue; here stands what several values must keep
//! together. Products are bounded so that no address, time or energy computed from a checked
//! configuration leaves its 64-bit range.

use crate::catalogue::{self, Value};
use crate::config::{CacheMode, DeviceConfig, FlashTechnology, Frontiers, HostInterface};
use crate::fault::{Fault, Faults, Problem};
use crate::ledger::Ledger;
use serde::Serialize;
use std::ops::Deref;

/// Physical pages a drive may have: 1 EiB of 4 KiB pages, and room in a `u64` for any arithmetic on
/// them.
pub const MAX_PAGES: u64 = 1 << 48;
/// Planes a drive may have: far beyond any drive, and an index that fits 32 bits with bits to
/// spare.
pub const MAX_PLANES: u64 = 1 << 20;

/// A configuration that has passed [`DeviceConfig::check`].
#[derive(Clone, Debug, PartialEq)]
pub struct CheckedConfig(DeviceConfig);

impl CheckedConfig {
    /// The configuration itself, to be changed and checked again.
    pub fn into_inner(self) -> DeviceConfig {
        self.0
    }
}

impl Deref for CheckedConfig {
    type Target = DeviceConfig;

    fn deref(&self) -> &DeviceConfig {
        &self.0
    }
}

/// Something legal that its author may not have meant.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Advice {
    /// The key.
    pub key: &'static str,
    /// What to know about it.
    pub message: String,
}

/// The page types that cells of a technology have: indices into the latency arrays.
pub const fn page_types(technology: FlashTechnology) -> &'static [usize] {
    match technology {
        FlashTechnology::Slc => &[0],
        FlashTechnology::Mlc => &[0, 2],
        FlashTechnology::Tlc => &[0, 1, 2],
        FlashTechnology::Qlc => &[0, 1, 2, 3],
    }
}

impl DeviceConfig {
    /// Checks every value and what they must keep together.
    ///
    /// # Errors
    /// Every fault there is, not only the first.
    pub fn check(&self) -> Result<CheckedConfig, Faults> {
        let mut faults = Faults::default();
        for row in catalogue::parameters() {
            let value = row.get(self);
            if !row.legal.allows(value) {
                let text = value.to_string();
                faults.push(Fault::new(row.key, row.illegal(&text)).with_value(text));
            }
        }
        // Combinations of values that are illegal each for itself would only repeat the complaint.
        if faults.0.is_empty() {
            self.check_size(&mut faults);
        }
        if faults.0.is_empty() {
            self.check_space(&mut faults);
            self.check_placement(&mut faults);
            self.check_latencies(&mut faults);
            self.check_dram(&mut faults);
        }
        faults.or_ok(()).map(|()| CheckedConfig(self.clone()))
    }

    fn check_size(&self, faults: &mut Faults) {
        let at = self.geometry();
        // Single counts are bounded by the catalogue such that these products cannot wrap: 2^10 *
        // 2^10 * 2^8 * 2^8 planes, times 2^20 * 2^16 pages, is beyond 64 bits, so planes are judged
        // first.
        let planes = at.planes();
        if planes > MAX_PLANES {
            let reason = format!(
                "{planes} planes in all (channels x chips x dies x planes), at most {MAX_PLANES}"
            );
            faults.push(Fault::new("bus.channels", Problem::Conflict { reason }));
            return;
        }
        let pages = u128::from(planes) * u128::from(at.pages_per_plane());
        if pages > u128::from(MAX_PAGES) {
            let reason = format!("{pages} flash pages in all, at most {MAX_PAGES}; lower a count");
            faults.push(Fault::new("flash.blocks_per_plane", Problem::Conflict { reason }));
        }
    }

    fn check_space(&self, faults: &mut Faults) {
        let ledger = Ledger::of(self);
        let blocks = self.flash.blocks_per_plane;
        if ledger.spare_blocks_per_plane < 2.0 {
            let reason = format!(
                "leaves {:.2} spare blocks of {blocks} per plane; a full drive needs 2 to collect garbage \
                 with: raise it or flash.blocks_per_plane",
                ledger.spare_blocks_per_plane
            );
            let fault = Fault::new("mapping.overprovisioning", Problem::Conflict { reason });
            faults.push(fault.with_value(Value::Real(self.mapping.overprovisioning).to_string()));
        }
        for (key, value) in [("gc.choices", self.gc.choices), ("gc.window", self.gc.window)] {
            if value > blocks {
                let reason =
                    format!("more than the {blocks} blocks of a plane (flash.blocks_per_plane)");
                faults.push(
                    Fault::new(key, Problem::Conflict { reason }).with_value(value.to_string()),
                );
            }
        }
    }

    fn check_placement(&self, faults: &mut Faults) {
        let Frontiers { host, moved } = self.placement.frontiers();
        if host == 1 && moved == 1 {
            return;
        }
        let switches = [
            ("compat.eager_frontiers", self.compat.eager_frontiers),
            ("compat.gc_reserve_ten", self.compat.gc_reserve_ten),
        ];
        for (key, _) in switches.into_iter().filter(|(_, on)| *on) {
            let reason =
                format!("a drive with {key} has the three write frontiers of MQSim: switch it off");
            let fault = Fault::new("placement.policy", Problem::Conflict { reason });
            faults.push(fault.with_value(self.placement.policy.name()));
        }
    }

    fn check_latencies(&self, faults: &mut Faults) {
        let zero = |key: &str| {
            let technology = self.flash.technology;
            let reason = format!("must be above 0, since {technology} flash has such pages");
            Fault::new(key, Problem::Conflict { reason }).with_value("0")
        };
        const NAMES: [&str; 4] = ["lsb", "csb", "msb", "tsb"];
        for &index in page_types(self.flash.technology) {
            if self.flash.read_latency[index].0 == 0 {
                faults.push(zero(&format!("flash.page_read_latency_{}_ns", NAMES[index])));
            }
            if self.flash.program_latency[index].0 == 0 {
                faults.push(zero(&format!("flash.page_program_latency_{}_ns", NAMES[index])));
            }
        }
        if self.flash.erase_latency.0 == 0 {
            let reason = "must be above 0".to_owned();
            let fault = Fault::new("flash.block_erase_latency_ns", Problem::Conflict { reason });
            faults.push(fault.with_value("0"));
        }
    }

    fn check_dram(&self, faults: &mut Faults) {
        let cache = &self.cache;
        if cache.dram_burst_bytes > cache.dram_row_bytes {
            let reason =
                format!("more than a row of {} bytes (cache.dram_row_bytes)", cache.dram_row_bytes);
            let fault = Fault::new("cache.dram_burst_bytes", Problem::Conflict { reason });
            faults.push(fault.with_value(cache.dram_burst_bytes.to_string()));
        }
        let page = u64::from(self.flash.page_bytes);
        if cache.mode != CacheMode::Off && cache.capacity.0 < page {
            let reason = format!(
                "less than one page of {page} bytes (flash.page_bytes); for no cache set cache.mode = \"off\""
            );
            let fault = Fault::new("cache.capacity_bytes", Problem::Conflict { reason });
            faults.push(fault.with_value(cache.capacity.0.to_string()));
        }
    }

    /// Settings out of `keys` that can change no result, each with the reason.
    pub fn inert<'a>(&self, keys: impl IntoIterator<Item = &'a str>) -> Vec<Advice> {
        let rows = keys.into_iter().filter_map(catalogue::find);
        rows.filter_map(|row| {
            let reason = row.inert(self)?;
            Some(Advice { key: row.key, message: format!("has no effect: {reason}") })
        })
        .collect()
    }

    /// Legal values that their author may not have meant.
    pub fn advice(&self) -> Vec<Advice> {
        let mut advice = Vec::new();
        let mut say = |key, message| advice.push(Advice { key, message });
        let ledger = Ledger::of(self);
        if ledger.spare_blocks_per_plane < ledger.needed_blocks_per_plane() {
            say(
                "mapping.overprovisioning",
                format!(
                    "{:.1} spare blocks per plane, but frontiers and the collection threshold ask for {:.0}: \
                     a full drive collects without pause",
                    ledger.spare_blocks_per_plane,
                    ledger.needed_blocks_per_plane()
                ),
            );
        }
        if self.gc.preemptible && self.gc.hard_threshold > self.gc.threshold {
            let soft = self.gc.threshold;
            say(
                "gc.hard_threshold",
                format!("above gc.threshold ({soft}): collection is never soft"),
            );
        }
        if self.host.interface == HostInterface::Sata && self.host.queue_depth > 32 {
            say("host.queue_depth", "SATA's command queue has 32 entries".to_owned());
        }
        advice
    }
}

#[cfg(test)]
mod tests;
