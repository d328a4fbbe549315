//! Where the capacity of a drive goes, and how much memory it needs: DRAM on the drive, and memory
//! of the simulator.
//!
//! Arithmetic on a configuration; nothing is measured.

use crate::config::{DeviceConfig, Frontiers};
use crate::geometry::Geometry;
use crate::units::Bytes;
use serde::Serialize;

/// Bytes of one mapping entry in the drive's DRAM; MQSim has the same figure.
const MAPPING_ENTRY_BYTES: u64 = 8;
/// The simulator's memory for one block, whether written or not.
const SIM_BLOCK_BYTES: u64 = 32;
/// The simulator's memory for one written page: its place with a mark of the data cache, a record
/// and a valid bit. Pages of which only a part was written take 8 B more.
const SIM_PAGE_BYTES: u64 = 13;

/// Where the raw capacity of a drive goes.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Ledger {
    /// Data bytes of all flash pages.
    pub raw_bytes: Bytes,
    /// Bytes that the host can address.
    pub visible_bytes: Bytes,
    /// Bytes that the host cannot address.
    pub overprovisioned_bytes: Bytes,
    /// The part of the over-provisioned bytes that garbage collection keeps free.
    pub gc_reserve_bytes: Bytes,
    /// The part of the over-provisioned bytes in write frontiers (open blocks).
    pub frontier_bytes: Bytes,
    /// Blocks in each plane.
    pub blocks_per_plane: u32,
    /// Blocks of each plane that the host's data never fill.
    pub spare_blocks_per_plane: f64,
    /// A plane collects garbage when it has fewer free blocks than this.
    pub gc_reserve_blocks_per_plane: u32,
    /// Write frontiers (open blocks) of each plane: host data, moved data, translation pages.
    pub frontiers_per_plane: u32,
    /// The number of chips, dies, planes, blocks and pages.
    pub totals: Totals,
}

/// How many chips, dies, planes, blocks and pages a drive has.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Totals {
    /// Flash chips of the drive.
    pub chips: u64,
    /// Dies of the drive.
    pub dies: u64,
    /// Planes of the drive.
    pub planes: u64,
    /// Erase blocks of the drive.
    pub blocks: u64,
    /// Flash pages of the drive.
    pub pages: u64,
}

/// Memory that a drive and its simulation need.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Memory {
    /// DRAM on the drive, for the data cache, for mapping entries and for the placement policy.
    pub drive_dram_bytes: Bytes,
    /// The part of it that the placement policy takes: up to 8 bytes for each visible page.
    pub placement_bytes: Bytes,
    /// Size of the whole mapping table: 8 bytes for each visible page.
    pub mapping_table_bytes: Bytes,
    /// Estimate of the memory that a simulation of the empty drive takes.
    pub simulation_empty_bytes: Bytes,
    /// Estimate of the memory that a simulation takes when the workload has written every visible
    /// page.
    pub simulation_full_bytes: Bytes,
}

/// Write frontiers (open blocks) of each plane: host data, moved data, translation pages.
fn frontiers(config: &DeviceConfig) -> u32 {
    let Frontiers { host, moved } = config.placement.frontiers();
    host + moved + 1
}

impl Ledger {
    /// Computes the ledger of a configuration. Each value must be legal for itself.
    pub fn of(config: &DeviceConfig) -> Self {
        let at = config.geometry();
        let blocks = at.blocks_per_plane;
        let visible = f64::from(blocks) * (1.0 - config.mapping.overprovisioning);
        let plane_bytes = at.pages_per_plane() * u64::from(at.page_bytes);
        // Pages are whole: the visible share is rounded down in each plane.
        let visible_pages = at.pages_per_plane() as f64 * (1.0 - config.mapping.overprovisioning);
        let visible_bytes = visible_pages as u64 * u64::from(at.page_bytes) * at.planes();
        let reserve = (config.gc.threshold * f64::from(blocks)) as u32;
        let reserve = reserve.max(if config.compat.gc_reserve_ten { 10 } else { 1 });
        let block_bytes = plane_bytes / u64::from(blocks.max(1)) * at.planes();
        let raw = at.raw_capacity();
        Self {
            raw_bytes: raw,
            visible_bytes: Bytes(visible_bytes),
            overprovisioned_bytes: raw.saturating_sub(Bytes(visible_bytes)),
            gc_reserve_bytes: Bytes(block_bytes * u64::from(reserve)),
            frontier_bytes: Bytes(block_bytes * u64::from(frontiers(config))),
            blocks_per_plane: blocks,
            spare_blocks_per_plane: f64::from(blocks) - visible,
            gc_reserve_blocks_per_plane: reserve,
            frontiers_per_plane: frontiers(config),
            totals: Totals {
                chips: at.chips(),
                dies: at.dies(),
                planes: config.flash_geometry().planes(),
                blocks: config.flash_geometry().blocks(),
                pages: config.flash_geometry().pages(),
            },
        }
    }

    /// Spare blocks that each plane needs to keep its reserve and its frontiers while the drive is
    /// full.
    pub fn needed_blocks_per_plane(&self) -> f64 {
        f64::from(self.gc_reserve_blocks_per_plane + self.frontiers_per_plane)
    }
}

impl Memory {
    /// Computes the needs of a configuration. Each value must be legal for itself.
    pub fn of(config: &DeviceConfig) -> Self {
        let ledger = Ledger::of(config);
        let visible_pages = ledger.visible_bytes.0 / u64::from(config.geometry().page_bytes.max(1));
        let table = Bytes(visible_pages * MAPPING_ENTRY_BYTES);
        let cached = if config.mapping.ideal { table } else { config.mapping.cmt_capacity };
        let placement_bytes = config.placement.memory_needed(visible_pages, ledger.totals.blocks);
        let empty = ledger.totals.blocks * SIM_BLOCK_BYTES;
        Self {
            drive_dram_bytes: config.cache.capacity + cached + placement_bytes,
            placement_bytes,
            mapping_table_bytes: table,
            simulation_empty_bytes: Bytes(empty) + placement_bytes,
            simulation_full_bytes: Bytes(empty + visible_pages * SIM_PAGE_BYTES) + placement_bytes,
        }
    }
}

impl Ledger {
    /// Where the capacity goes, a line for each part: its size, its share of the raw capacity, and
    /// what it consists of. `at` is the geometry of the drive as it is built.
    pub fn lines(&self, at: &Geometry) -> Vec<String> {
        let layout = format!(
            "{} channels x {} chips x {} dies x {} planes x {} blocks x {} pages x {}",
            at.channels,
            at.chips_per_channel,
            at.dies_per_chip,
            at.planes_per_die,
            at.blocks_per_plane,
            at.pages_per_block,
            Bytes(at.page_bytes.into()),
        );
        let spare = format!("{:.1} blocks of each plane", self.spare_blocks_per_plane);
        let reserve = format!("{} blocks of each plane", self.gc_reserve_blocks_per_plane);
        let frontiers = format!("{} open blocks of each plane", self.frontiers_per_plane);
        [
            ("raw capacity", self.raw_bytes, layout),
            ("visible to the host", self.visible_bytes, String::new()),
            ("over-provisioned", self.overprovisioned_bytes, spare),
            ("  collection reserve", self.gc_reserve_bytes, reserve),
            ("  write frontiers", self.frontier_bytes, frontiers),
        ]
        .map(|(name, bytes, remark)| {
            let share = 100.0 * bytes.0 as f64 / self.raw_bytes.0 as f64;
            format!("{name:<22}{:>12} {share:>6.2} %  {remark}", bytes.to_string())
        })
        .into()
    }
}

impl Memory {
    /// What needs memory, a line for each part.
    pub fn lines(&self) -> [String; 5] {
        [
            ("DRAM of the drive", self.drive_dram_bytes, "data cache, mapping entries, placement"),
            ("  of the placement", self.placement_bytes, "what the policy knows of pages"),
            ("whole mapping table", self.mapping_table_bytes, "8 bytes for each visible page"),
            ("to simulate, empty", self.simulation_empty_bytes, "estimate"),
            (
                "to simulate, full",
                self.simulation_full_bytes,
                "estimate, every visible page written",
            ),
        ]
        .map(|(name, bytes, remark)| {
            format!("{name:<22}{:>12}           {remark}", bytes.to_string())
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::PlacementPolicy;

    #[test]
    fn the_parts_of_the_default_drive_add_up() {
        let config = DeviceConfig::default();
        let ledger = Ledger::of(&config);
        assert_eq!(ledger.raw_bytes, Bytes::from_gib(512));
        assert_eq!(ledger.visible_bytes + ledger.overprovisioned_bytes, ledger.raw_bytes);
        // 7 % of 2,048 blocks, and 5 % of them kept free, of 128 planes with 2 MiB blocks.
        assert!((ledger.spare_blocks_per_plane - 143.36).abs() < 1e-9);
        assert_eq!(ledger.gc_reserve_blocks_per_plane, 102);
        assert_eq!(ledger.frontier_bytes, Bytes::from_mib(3 * 2 * 128));
    }

    #[test]
    fn an_ideal_table_needs_eight_bytes_for_each_visible_page() {
        let mut config = DeviceConfig::default();
        config.mapping.ideal = true;
        config.mapping.overprovisioning = 0.5;
        let memory = Memory::of(&config);
        assert_eq!(memory.mapping_table_bytes, Bytes::from_mib(256));
        assert_eq!(memory.drive_dram_bytes, Bytes::from_mib(512));
    }

    #[test]
    fn what_a_placement_policy_knows_of_pages_is_dram() {
        let of = |policy: PlacementPolicy, ideal: bool| {
            let mut config = DeviceConfig::default();
            config.placement.policy = policy;
            config.mapping.ideal = ideal;
            config.mapping.overprovisioning = 0.5;
            Memory::of(&config)
        };
        let [none, lifespan] =
            [PlacementPolicy::None, PlacementPolicy::Lifespan].map(|policy| of(policy, true));
        assert_eq!(none.placement_bytes, Bytes(0));
        // 8 B for each page that the host sees, as much as the mapping table has.
        let table = lifespan.mapping_table_bytes;
        let blocks = 4 * Ledger::of(&DeviceConfig::default()).totals.blocks;
        assert_eq!(lifespan.placement_bytes, table + Bytes((185 << 10) + blocks));
        let more = lifespan.placement_bytes;
        assert_eq!(lifespan.drive_dram_bytes, none.drive_dram_bytes + more);
        assert_eq!(lifespan.simulation_full_bytes, none.simulation_full_bytes + more);
        // A cached mapping saves nothing of it.
        assert_eq!(of(PlacementPolicy::Lifespan, false).placement_bytes, more);
    }
}
