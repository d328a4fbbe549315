//! How pages are separated by their expected lifetime: which write frontier of its plane a page
//! goes to.

use super::{IntervalStart, MovedPages, PlacementMemory, PlacementPolicy, TableScale, UpdateUnit};
use crate::units::{Bytes, Nanos};

/// Most frontiers of host data that a plane may have.
pub const MAX_FRONTIERS: u32 = 16;

/// Regions of DAC, each with a frontier.
pub const DAC_REGIONS: u32 = 6;
/// Clusters of WARCIP, each with a frontier.
pub const WARCIP_CLUSTERS: u32 = 6;
/// Groups of MiDAS that moved pages pass, behind the hot group and the first group.
pub const MIDAS_GROUPS: u32 = 6;
/// Frontiers of lifespan for host data, and as many for moved pages: eight by life or age, and one
/// for what has no history.
pub const LIFESPAN_FRONTIERS: u32 = 9;

/// Fewer regions than this, of 4 B, do `hotis` and `asa-ftl` count updates of: 2^n pages each.
const REGIONS_MAX: u64 = 1 << 18;
/// Bytes of the tables that `lifespan` learns with, whatever the size of the drive: all of them,
/// and the small ones.
const LIFESPAN_TABLES_BYTES: [u64; 2] = [185 << 10, 145 << 10];
/// Bytes of what `haml` knows of a slice: its counters, and its part of the last training.
pub const HAML_SLICE_BYTES: u64 = 37;

/// Which write frontier (open block) of its plane a page goes to.
#[derive(Clone, Debug, PartialEq)]
pub struct Placement {
    /// The policy that chooses the frontier.
    pub policy: PlacementPolicy,
    /// Where pages go that collection moves.
    pub moved: MovedPages,
    /// How much lifespan remembers, besides 8 B a logical page.
    pub memory: PlacementMemory,
    /// Clusters of HAML-SSD, each with a frontier of its own.
    pub clusters: u32,
    /// Equal parts of the logical pages whose updates HAML-SSD counts.
    pub slices: u32,
    /// Time between two trainings of HAML-SSD.
    pub period: Nanos,
    /// Iterations of k-means in one training of HAML-SSD.
    pub iterations: u32,
    /// How HAML-SSD scales update counts and intervals before it clusters them.
    pub scale: TableScale,
    /// Whether HAML-SSD clusters by update interval as well as by update frequency.
    pub interval: bool,
    /// What HAML-SSD counts as an update of a slice.
    pub count: UpdateUnit,
    /// Since when HAML-SSD counts the interval that an update ends.
    pub interval_since: IntervalStart,
    /// Whether HAML-SSD chooses free blocks by wear, and exchanges hot and cold data.
    pub wear_rules: bool,
}

/// Write frontiers that a tenant has in each plane, besides the one for translation pages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Frontiers {
    /// Frontiers for host data. If `moved` is 0, pages moved by collection go to them too.
    pub host: u32,
    /// Frontiers for pages moved by collection alone.
    pub moved: u32,
}

impl Placement {
    /// Whether the policy looks at the shapes of requests.
    pub const fn looks_at_shapes(&self) -> bool {
        let counts_requests = matches!(self.count, UpdateUnit::Requests);
        match self.policy {
            PlacementPolicy::Lifespan => true,
            PlacementPolicy::Haml => counts_requests,
            _ => false,
        }
    }

    /// The frontiers that the policy needs.
    pub const fn frontiers(&self) -> Frontiers {
        let host = match self.policy {
            PlacementPolicy::None => 1,
            PlacementPolicy::AutoStream => MAX_FRONTIERS,
            PlacementPolicy::Hotis | PlacementPolicy::Sepbit | PlacementPolicy::Midas => 2,
            PlacementPolicy::AsaFtl => 3,
            PlacementPolicy::Haml => self.clusters,
            PlacementPolicy::Dac => DAC_REGIONS,
            PlacementPolicy::Warcip => WARCIP_CLUSTERS,
            PlacementPolicy::Lifespan => LIFESPAN_FRONTIERS,
        };
        let moved = match (self.moved, self.policy) {
            (_, PlacementPolicy::Sepbit) => 4,
            (_, PlacementPolicy::Midas) => MIDAS_GROUPS,
            (_, PlacementPolicy::Lifespan) => LIFESPAN_FRONTIERS,
            (MovedPages::WithHost, _) => 0,
            (MovedPages::Together, _)
            | (MovedPages::Policy, PlacementPolicy::None | PlacementPolicy::AutoStream) => 1,
            (MovedPages::ByQueue | MovedPages::Policy, _) => host,
        };
        Frontiers { host, moved }
    }

    /// Memory that the policy needs in the drive's controller, for a number of logical pages and of
    /// blocks.
    pub fn memory_needed(&self, pages: u64, blocks: u64) -> Bytes {
        Bytes(match self.policy {
            PlacementPolicy::None | PlacementPolicy::AutoStream => 0,
            PlacementPolicy::Hotis | PlacementPolicy::AsaFtl => {
                let mut regions = pages;
                while regions >= REGIONS_MAX {
                    regions /= 2;
                }
                4 * regions
            }
            PlacementPolicy::Haml => {
                let slices = u64::from(self.slices).min(pages);
                let since_page = matches!(self.interval_since, IntervalStart::Page);
                HAML_SLICE_BYTES * slices + if since_page { 8 * pages + 4 * slices } else { 0 }
            }
            PlacementPolicy::Sepbit => 4 * (pages + blocks),
            PlacementPolicy::Dac => 5 * pages,
            PlacementPolicy::Warcip | PlacementPolicy::Midas => 4 * pages,
            PlacementPolicy::Lifespan => {
                let [full, small] = LIFESPAN_TABLES_BYTES;
                let is_full = matches!(self.memory, PlacementMemory::Full);
                8 * pages + 4 * blocks + if is_full { full } else { small }
            }
        })
    }

    /// The number of blocks of each plane that the policy needs with one tenant: those that stand
    /// open, and those that are free so that collection never gets stuck (the proof is in the FTL's
    /// `placement/reserve.rs`). More must be spare. `translation` says whether there are pages of
    /// translations. 0 without a policy, which works on any legal drive.
    pub const fn blocks_needed(&self, translation: bool) -> u32 {
        if matches!(self.policy, PlacementPolicy::None) {
            return 0;
        }
        let Frontiers { host, moved } = self.frontiers();
        let translation = translation as u32;
        let lenient = moved == 1 || matches!(self.policy, PlacementPolicy::Lifespan);
        let targets = if moved == 0 { host } else { moved };
        let reserve = if lenient { 1 } else { targets + translation };
        host + moved + translation + reserve
    }
}

impl Default for Placement {
    fn default() -> Self {
        Self {
            policy: PlacementPolicy::None,
            moved: MovedPages::Policy,
            memory: PlacementMemory::Full,
            clusters: 6,
            slices: 2_560,
            // Six hours, as in the paper.
            period: Nanos(21_600_000_000_000),
            iterations: 10,
            scale: TableScale::Linear,
            interval: true,
            count: UpdateUnit::Pages,
            interval_since: IntervalStart::Slice,
            wear_rules: true,
        }
    }
}
