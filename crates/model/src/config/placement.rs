//! How pages are separated by their expected lifetime: which write frontier of its plane a page
//! goes to.

use super::{MovedPages, PlacementMemory, PlacementPolicy, TableScale};
use crate::units::Nanos;

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
        matches!(self.policy, PlacementPolicy::Lifespan)
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
            wear_rules: true,
        }
    }
}
