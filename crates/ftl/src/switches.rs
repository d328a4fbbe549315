//! The parts of the configuration that the FTL consults at run time, resolved once into plain
//! numbers.

use crate::block::SectorMask;
use crate::placement::FrontierNeeds;
use ssdtune_model::{DeviceConfig, Geometry};

/// Thresholds and switches of one drive. All counts are free blocks of one plane.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Switches {
    /// A plane collects while it has fewer free blocks than this.
    pub threshold: u32,
    /// Below this, collection has priority over host requests.
    pub hard_threshold: u32,
    /// A host write that would open a new block is held back while no more blocks than this are
    /// free.
    pub reserve: u32,
    /// Below this, every host write is held back, even if its frontier still has room. Zero unless
    /// moved pages share frontiers with host data.
    pub floor: u32,
    /// Blocks that stay free for page moves. The limit of writes that cannot be held back as host
    /// writes are: translation pages, and reads that allocate.
    pub keep: u32,
    /// How many victims a plane collects at the same time.
    pub concurrent: u32,
    /// Free blocks are handed out least erased first.
    pub dynamic_wear: bool,
    /// The difference in erase counts that starts static wear levelling; `None` if it is off.
    pub static_wear: Option<u32>,
    /// MQSim: every frontier owns a block before its first page is written.
    pub eager_frontiers: bool,
    /// MQSim: translation pages are written back without a flash program.
    pub free_mapping_writes: bool,
    /// MQSim: a steady drive is laid out by MQSim's analytic model.
    pub analytic_start: bool,
    /// All sectors of a page.
    pub full_mask: SectorMask,
}

/// Free blocks that MQSim keeps in reserve, whatever the size of a plane.
const MQSIM_RESERVE: u32 = 10;

impl Switches {
    pub fn new(config: &DeviceConfig, geometry: &Geometry, needs: &FrontierNeeds) -> Self {
        let blocks = f64::from(geometry.blocks_per_plane);
        let mqsim = config.compat.gc_reserve_ten;
        let threshold = ((config.gc.threshold * blocks) as u32).max(1);
        let sectors = geometry.sectors_per_page();
        Self {
            threshold: threshold.max(if mqsim { MQSIM_RESERVE } else { needs.keep + 1 }),
            hard_threshold: ((config.gc.hard_threshold * blocks) as u32).max(1),
            // The pages of a victim need somewhere to go, even when a frontier has just opened a
            // block.
            reserve: if mqsim { MQSIM_RESERVE } else { needs.reserve },
            floor: needs.floor,
            keep: needs.keep,
            concurrent: if mqsim { MQSIM_RESERVE } else { 1 },
            dynamic_wear: config.wear.dynamic_leveling,
            static_wear: (config.wear.static_leveling && !config.compat.no_static_wear_leveling)
                .then_some(config.wear.static_threshold),
            eager_frontiers: config.compat.eager_frontiers,
            free_mapping_writes: config.compat.free_mapping_writes,
            analytic_start: config.compat.analytic_start,
            full_mask: if sectors >= 64 { u64::MAX } else { (1 << sectors) - 1 },
        }
    }
}
