//! From a [`DeviceConfig`], which may be nonsense, to a [`CheckedConfig`], which a simulator may
//! trust.
//!
//! The ranges of single values come from the catalogue; here are the rules between several values.
//! Products are bounded so that no address, time or energy computed from a checked configuration
//! leaves its 64-bit range. A check walks the catalogue
//! once.

use crate::catalogue::{self, Parameter, Value};
use crate::config::{
    Cache, CacheMode, DeviceConfig, Frontiers, Gc, GcPolicy, GcUnit, HostInterface, MovedPages,
    PlacementPolicy,
};
use crate::fault::{Fault, Faults, Problem};
use crate::ledger::Ledger;
use serde::Serialize;
use std::ops::Deref;

/// Most flash pages that a drive may have: 1 EiB of 4 KiB pages, which leaves room in a `u64` for
/// any arithmetic on them.
pub const MAX_PAGES: u64 = 1 << 48;
/// Most planes that a drive may have: far more than any drive, and an index fits 32 bits with bits
/// to spare.
pub const MAX_PLANES: u64 = 1 << 20;
/// Mapping units (pages, if they are not smaller) of a die that one command serves, at most.
pub const COMMAND_UNITS_MAX: u32 = 64;

const DYNAMIC_ABOVE: &str = "slc_cache.dynamic_above";

/// A configuration that has passed [`DeviceConfig::check`].
#[derive(Clone, Debug, PartialEq)]
pub struct CheckedConfig(DeviceConfig);

impl CheckedConfig {
    /// The configuration, to be changed and checked again.
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

/// A hint about a setting that is legal but may not be what its author meant.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Advice {
    /// The key of the setting.
    pub key: &'static str,
    /// What its author should know about it.
    pub message: String,
}

impl DeviceConfig {
    /// Checks every value for itself, and then the rules between values.
    ///
    /// # Errors
    /// Every fault, not only the first.
    pub fn check(&self) -> Result<CheckedConfig, Faults> {
        let mut faults = Faults::default();
        for row in catalogue::parameters() {
            let value = row.get(self);
            if !row.legal.allows(value) {
                let text = value.to_string();
                faults.push(Fault::new(row.key, row.illegal(&text)).with_value(text));
            }
        }
        // Rules between values that are illegal for themselves would only repeat the complaint.
        if faults.0.is_empty() {
            self.check_size(&mut faults);
        }
        if faults.0.is_empty() {
            self.check_space(&mut faults);
            self.check_placement(&mut faults);
            self.check_superblocks(&mut faults);
            self.check_plane_reads(&mut faults);
            self.check_one_shot(&mut faults);
            self.check_units(&mut faults);
            self.check_stripes(&mut faults);
            self.check_latencies(&mut faults);
            self.check_slc_cache(&mut faults);
            self.check_dram(&mut faults);
            self.check_write_buffer(&mut faults);
            self.check_read_ahead(&mut faults);
        }
        faults.or_ok(()).map(|()| CheckedConfig(self.clone()))
    }

    /// Checks that the number of planes and pages fits the arithmetic.
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
        let superblock = planes * u64::from(at.pages_per_block);
        if self.gc.unit == GcUnit::Drive && superblock > 1 << 31 {
            let reason = format!("a superblock of {superblock} pages, at most 2^31");
            faults.push(Fault::new("gc.unit", Problem::Conflict { reason }));
        }
    }

    /// Checks that a full drive has blocks to collect garbage with.
    fn check_space(&self, faults: &mut Faults) {
        let ledger = Ledger::of(self);
        let blocks = self.flash.blocks_per_plane;
        if ledger.spare_blocks_per_plane < 2.0 {
            let reason = format!(
                "leaves {:.2} spare blocks of {blocks} per plane; a full drive needs 2 to collect \
                 garbage with: raise it or flash.blocks_per_plane",
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

    /// Checks that a placement policy with more frontiers is not combined with MQSim's three, and
    /// that victims are not chosen by what the policy does not know.
    fn check_placement(&self, faults: &mut Faults) {
        let policy = self.placement.policy;
        if self.gc.policy == GcPolicy::RemainingLife && policy != PlacementPolicy::Lifespan {
            let lifespan = PlacementPolicy::Lifespan.name();
            let reason = format!(
                "placement.policy {} does not tell how long pages live: set it to {lifespan}, or \
                 choose other victims",
                policy.name()
            );
            let fault = Fault::new("gc.policy", Problem::Conflict { reason });
            faults.push(fault.with_value(self.gc.policy.name()));
        }
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

    /// Checks that superblocks are not combined with what works on single blocks, and that the data
    /// cache can fill a command of all planes of a die.
    fn check_superblocks(&self, faults: &mut Faults) {
        if self.gc.unit == GcUnit::Block {
            return;
        }
        let mut conflict = |reason: String| {
            let fault = Fault::new("gc.unit", Problem::Conflict { reason });
            faults.push(fault.with_value(self.gc.unit.name()));
        };
        if let Some(key) = self.switch_of_mqsim() {
            conflict(format!("MQSim has no superblocks: switch {key} off"));
        }
        if self.gc.copyback {
            conflict("pages move to other dies: switch gc.copyback off".to_owned());
        }
        let planes = self.flash.planes_per_die;
        let two = u64::from(planes) * 2 * u64::from(self.flash.page_bytes);
        if self.cache.mode != CacheMode::Off && self.cache.capacity.0 < two {
            conflict(format!(
                "needs a data cache of at least two pages for each of the {planes} planes of a die \
                 (cache.capacity_bytes: {two})"
            ));
        }
    }

    /// Checks that planes that read for themselves are not combined with what uses the registers of
    /// all planes of a die at once.
    fn check_plane_reads(&self, faults: &mut Faults) {
        if !self.flash.independent_plane_reads {
            return;
        }
        let others =
            [("flash.cache_read", self.flash.cache_read), ("gc.copyback", self.gc.copyback)];
        let on = others.into_iter().find(|(_, on)| *on);
        let Some((key, _)) = on else { return };
        let reason =
            format!("{key} uses the registers of all planes of a die at once: switch it off");
        let fault = Fault::new("flash.independent_plane_reads", Problem::Conflict { reason });
        faults.push(fault.with_value("true"));
    }

    /// A switch of `compat` that is on.
    fn switch_of_mqsim(&self) -> Option<&'static str> {
        let is_on = |row: &&Parameter| row.get(self) == Value::Bool(true);
        let switches = catalogue::parameters().filter(|row| row.path().0 == "compat");
        switches.map(|row| row as &Parameter).find(is_on).map(|row| row.key)
    }

    /// Checks that blocks have whole word lines, and that word lines are not combined with what
    /// programs single pages.
    fn check_one_shot(&self, faults: &mut Faults) {
        let pages = self.pages_per_program();
        if pages == 1 {
            return;
        }
        let mut conflict = |reason: String| {
            let fault = Fault::new("flash.one_shot", Problem::Conflict { reason });
            faults.push(fault.with_value("true"));
        };
        if let Some(key) = self.switch_of_mqsim() {
            conflict(format!("MQSim programs single pages: switch {key} off"));
        }
        if self.gc.copyback {
            conflict("a die programs single pages that it has read: switch gc.copyback off".into());
        }
        let block = self.flash.pages_per_block;
        if !block.is_multiple_of(pages) {
            conflict(format!(
                "blocks have word lines of {pages} pages: make flash.pages_per_block ({block}) a \
                 multiple of that"
            ));
        }
        let dies = self.stripes_together();
        let two = u64::from(self.flash.planes_per_die * pages) * u64::from(dies) * 2;
        let bytes = two * u64::from(self.flash.page_bytes);
        if self.cache.mode != CacheMode::Off && self.cache.capacity.0 < bytes {
            conflict(format!(
                "needs a data cache of two word lines for each plane that is filled at once, \
                 {two} pages (cache.capacity_bytes: {bytes})"
            ));
        }
    }

    /// Checks that mapping units divide a page, and that pages are filled before they are
    /// programmed.
    fn check_units(&self, faults: &mut Faults) {
        let (unit, page) = (self.mapping.unit_bytes, self.flash.page_bytes);
        if unit == 0 || unit == page {
            return;
        }
        let mut conflict = |reason: String| {
            let fault = Fault::new("mapping.unit_bytes", Problem::Conflict { reason });
            faults.push(fault.with_value(unit.to_string()));
        };
        if unit > page || !page.is_multiple_of(unit) {
            conflict(format!("does not divide a page of {page} bytes (flash.page_bytes)"));
            return;
        }
        if self.gc.unit == GcUnit::Block {
            conflict(
                "units of a page are written together: set gc.unit to die or drive".to_owned(),
            );
        }
        if !matches!(self.cache.mode, CacheMode::Write | CacheMode::ReadWrite) {
            conflict(format!(
                "pages are filled in the data cache: set cache.mode to {} or {}",
                CacheMode::Write.name(),
                CacheMode::ReadWrite.name()
            ));
        }
        let units = self.geometry().planes_per_die;
        if units > COMMAND_UNITS_MAX {
            conflict(format!(
                "{units} units in all pages of a die that one command serves, at most \
                 {COMMAND_UNITS_MAX}: fewer or larger ones, or fewer planes (flash.planes_per_die)"
            ));
        }
    }

    /// Checks that the dies that are filled together are the same ones in every round.
    fn check_stripes(&self, faults: &mut Faults) {
        let (together, dies) = (u64::from(self.stripes_together()), self.geometry().dies());
        if !dies.is_multiple_of(together) {
            let reason = format!("does not divide the {dies} dies of the drive");
            let fault = Fault::new("mapping.stripe_dies", Problem::Conflict { reason });
            faults.push(fault.with_value(together.to_string()));
        }
    }

    /// Checks that no flash operation that the cells know takes no time.
    fn check_latencies(&self, faults: &mut Faults) {
        let zero = |key: &str| {
            let technology = self.flash.technology;
            let reason = format!("must be above 0, since {technology} flash has such pages");
            Fault::new(key, Problem::Conflict { reason }).with_value("0")
        };
        const NAMES: [&str; 4] = ["lsb", "csb", "msb", "tsb"];
        for &index in self.flash.technology.page_types() {
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

    /// Checks that an SLC cache leaves room for the data, and is not combined with what it is not
    /// defined with.
    fn check_slc_cache(&self, faults: &mut Faults) {
        let cache = &self.slc_cache;
        if !cache.is_on() {
            return;
        }
        let key = if cache.static_blocks > 0 { "slc_cache.static_blocks" } else { DYNAMIC_ABOVE };
        let mut conflict = |key: &str, reason: String| {
            faults.push(Fault::new(key, Problem::Conflict { reason }));
        };
        let bits = self.flash.technology.page_types().len() as u32;
        let dynamic = u32::from(cache.dynamic_above < 1.0);
        let spare = Ledger::of(self).spare_blocks_per_plane - f64::from(cache.static_blocks);
        if let Some(switch) = self.switch_of_mqsim() {
            conflict(key, format!("MQSim has no SLC cache: switch {switch} off"));
        }
        if bits == 1 {
            conflict(key, "flash.technology is slc: every block has one bit in a cell".to_owned());
        } else if self.flash.pages_per_block < bits {
            conflict(key, format!("a block needs {bits} pages (flash.pages_per_block)"));
        }
        if self.gc.copyback {
            conflict(key, "folding changes the mode of cells: switch gc.copyback off".to_owned());
        }
        let placement = &self.placement;
        if placement.policy != PlacementPolicy::None || placement.frontiers().moved != 1 {
            let (none, policy) = (PlacementPolicy::None.name(), MovedPages::Policy.name());
            conflict(
                key,
                format!(
                    "there is one queue of host writes: set placement.policy to {none} and \
                     placement.moved to {policy}"
                ),
            );
        }
        if spare < 2.0 + f64::from(dynamic) {
            let least = 2 + dynamic;
            conflict(
                key,
                format!(
                    "leaves {spare:.2} spare blocks per plane beside those kept for SLC mode, and \
                     {least} are needed: raise mapping.overprovisioning or keep fewer"
                ),
            );
        }
        if cache.dynamic_above < self.gc.threshold {
            let reason = format!("below gc.threshold ({}): raise it", self.gc.threshold);
            conflict(DYNAMIC_ABOVE, reason);
        }
        let times = [
            ("slc_cache.page_read_latency_ns", cache.read_latency),
            ("slc_cache.page_program_latency_ns", cache.program_latency),
            ("slc_cache.block_erase_latency_ns", cache.erase_latency),
        ];
        for (key, _) in times.into_iter().filter(|(_, time)| time.0 == 0) {
            conflict(key, "must be above 0".to_owned());
        }
    }

    /// Checks that the cache can hold a page, and a DRAM row a transfer.
    fn check_dram(&self, faults: &mut Faults) {
        let cache = &self.cache;
        if cache.dram_burst_bytes > cache.dram_row_bytes {
            let reason =
                format!("more than a row of {} bytes (cache.dram_row_bytes)", cache.dram_row_bytes);
            let fault = Fault::new("cache.dram_burst_bytes", Problem::Conflict { reason });
            faults.push(fault.with_value(cache.dram_burst_bytes.to_string()));
        }
        let page = u64::from(self.geometry().page_bytes);
        if cache.mode != CacheMode::Off && cache.capacity.0 < page {
            let reason = format!(
                "less than one page of {page} bytes (flash.page_bytes); for no cache set \
                 cache.mode = \"off\""
            );
            let fault = Fault::new("cache.capacity_bytes", Problem::Conflict { reason });
            faults.push(fault.with_value(cache.capacity.0.to_string()));
        }
    }

    /// Checks that the write buffer is a part of the cache, and holds the pages that a program
    /// command waits for.
    fn check_write_buffer(&self, faults: &mut Faults) {
        let buffer = self.cache.write_buffer.0;
        if buffer == 0 {
            return;
        }
        let pages = match self.gc.unit {
            GcUnit::Block => self.pages_per_program(),
            GcUnit::Die | GcUnit::Drive => self.pages_per_program() * self.flash.planes_per_die,
        };
        let pages = pages * self.stripes_together();
        // The next command gathers while one is under way.
        let pages = if pages == 1 { 1 } else { 2 * pages };
        let least = u64::from(pages) * u64::from(self.flash.page_bytes);
        let reason = if buffer > self.cache.capacity.0 {
            format!("more than the data cache (cache.capacity_bytes: {})", self.cache.capacity.0)
        } else if buffer < least {
            format!("less than {pages} pages ({least}), twice what is programmed at once")
        } else {
            return;
        };
        let fault = Fault::new("cache.write_buffer_bytes", Problem::Conflict { reason });
        faults.push(fault.with_value(buffer.to_string()));
    }

    /// Checks that read-ahead is by whole pages, and that the cache holds what is read ahead of all
    /// streams. Pages that the host has read meanwhile are there as long, so it takes twice the
    /// room.
    fn check_read_ahead(&self, faults: &mut Faults) {
        let (ahead, page) = (self.cache.read_ahead.0, u64::from(self.geometry().page_bytes));
        if ahead == 0 {
            return;
        }
        let all = 2 * ahead * Cache::READ_STREAMS as u64;
        let reason = if let Some(key) = self.switch_of_mqsim() {
            format!("MQSim reads nothing ahead: switch {key} off")
        } else if ahead < page {
            format!("less than a page or mapping unit of {page} bytes")
        } else if all > self.cache.capacity.0 {
            format!(
                "{} streams need a data cache of twice that each (cache.capacity_bytes: {all})",
                Cache::READ_STREAMS
            )
        } else {
            return;
        };
        let fault = Fault::new("cache.read_ahead_bytes", Problem::Conflict { reason });
        faults.push(fault.with_value(ahead.to_string()));
    }

    /// The settings among `keys` that cannot change any result, each with the reason.
    pub fn inert<'a>(&self, keys: impl IntoIterator<Item = &'a str>) -> Vec<Advice> {
        let rows = keys.into_iter().filter_map(catalogue::find);
        rows.filter_map(|row| {
            let reason = row.inert(self)?;
            Some(Advice { key: row.key, message: format!("has no effect: {reason}") })
        })
        .collect()
    }

    /// Why collection is never pre-empted although `gc.preemptible` is set; `None` if it is, or
    /// need not be. Requests then wait for whole collections: a drive that collects while it serves
    /// has long latencies at few busy dies.
    pub fn preemption_that_never_acts(&self) -> Option<String> {
        let Gc { threshold, hard_threshold, preemptible, .. } = self.gc;
        (preemptible && hard_threshold >= threshold).then(|| {
            format!(
                "{hard_threshold} is not below gc.threshold ({threshold}): collection always goes \
                 before the host, and gc.preemptible never acts; lower it, to {} say",
                DeviceConfig::default().gc.hard_threshold.min(threshold / 2.0)
            )
        })
    }

    /// Hints about values that are legal but may not be what their author meant.
    pub fn advice(&self) -> Vec<Advice> {
        let mut advice = Vec::new();
        let mut say = |key, message| advice.push(Advice { key, message });
        let ledger = Ledger::of(self);
        let needed = ledger.needed_blocks_per_plane() + f64::from(self.slc_cache.static_blocks);
        if ledger.spare_blocks_per_plane < needed {
            say(
                "mapping.overprovisioning",
                format!(
                    "{:.1} spare blocks per plane, but frontiers and the collection threshold ask \
                     for {needed:.0}: a full drive collects without pause",
                    ledger.spare_blocks_per_plane,
                ),
            );
        }
        if let Some(message) = self.preemption_that_never_acts() {
            say("gc.hard_threshold", message);
        }
        if self.host.interface == HostInterface::Sata && self.host.queue_depth > 32 {
            say("host.queue_depth", "SATA's command queue has 32 entries".to_owned());
        }
        advice
    }
}

#[cfg(test)]
mod tests;
