//! Rows of mapping, placement, garbage collection and wear levelling.

use super::Candidates::{Fixed, Ints, Reals, Steps};
use super::{Candidates, Group, Section, Since, Unit, Value, only, row};
use crate::config::{
    Allocation, DeviceConfig, GcPolicy, GcUnit, IntervalStart, MovedPages, PlacementMemory,
    PlacementPolicy, PlaneOrder, Sharing, TableScale, UpdateUnit,
};

const MIB: u64 = 1 << 20;

fn needs_cmt(config: &DeviceConfig) -> Option<&'static str> {
    config.mapping.ideal.then_some("mapping.ideal holds the whole table in DRAM")
}

fn needs_superblocks_over_all(config: &DeviceConfig) -> Option<&'static str> {
    (config.gc.unit != GcUnit::Drive).then_some("gc.unit is not drive")
}

/// Mapping and placement.
pub(super) const MAPPING: Section = Section {
    name: "mapping",
    title: "The mapping table and where written pages go",
    rows: &[
        only!("mapping.granularity", "page", "PAGE_LEVEL")
            .mqsim(Group::Device, &["Address_Mapping"])
            .says("What one mapping entry covers."),
        row!("mapping.ideal", mapping.ideal)
            .mqsim(Group::Device, &["Ideal_Mapping_Table"])
            .says("Hold the whole mapping table in DRAM, at no cost."),
        row!("mapping.cmt_capacity_bytes", mapping.cmt_capacity)
            .ints(1_024, 1 << 40)
            .continuous()
            .unit(Unit::Bytes)
            .candidates(
                Steps { from: 64 * MIB, to: 512 * MIB, by: 64 * MIB },
                Steps { from: 64 * MIB, to: 2_048 * MIB, by: 64 * MIB },
            )
            .mqsim(Group::Device, &["CMT_Capacity"])
            .unless(needs_cmt)
            .says("DRAM for the cached mapping table."),
        row!("mapping.cmt_sharing", mapping.cmt_sharing)
            .names(Sharing::NAMES)
            .mqsim(Group::Device, &["CMT_Sharing_Mode"])
            .unless(needs_cmt)
            .says("Whether tenants share the cached mapping table or have equal parts of it."),
        row!("mapping.plane_order", mapping.plane_order)
            .names(PlaneOrder::NAMES)
            .all()
            .mqsim(Group::Device, &["Plane_Allocation_Scheme"])
            .says(
                "Levels (channel, way, die, plane) that consecutive logical pages walk through, \
                 fastest first.",
            ),
        row!("mapping.allocation", mapping.allocation)
            .names(Allocation::NAMES)
            .candidates(Fixed, super::Candidates::All)
            .says(
                "Who chooses the plane of a written page: its number, the load, or one of both \
                 per tenant.",
            ),
        row!("mapping.unit_bytes", mapping.unit_bytes)
            .multiples(512, 0, 32_768)
            .unit(Unit::Bytes)
            .since(Since::RealDrives)
            .says(
                "Bytes that one mapping entry covers; 0 stands for a page. Small writes of smaller \
                 units fill pages together, and large reads touch several places. Needs \
                 superblocks (gc.unit) and a data cache for writes.",
            ),
        row!("mapping.stripe_dies", mapping.stripe_dies)
            .ints(1, 65_536)
            .unless(needs_superblocks_over_all)
            .since(Since::RealDrives)
            .says(
                "Dies over which neighbouring units (mapping.unit_bytes) of a superblock are dealt \
                 before a page of one of them is full: a long read then takes as many dies at \
                 once. 1 fills one die after the other.",
            ),
        row!("mapping.overprovisioning", mapping.overprovisioning)
            .reals(0.0, 0.95)
            .candidates(
                Reals(&[0.1, 0.15, 0.2, 0.25, 0.3]),
                Reals(&[0.05, 0.07, 0.1, 0.15, 0.2, 0.25, 0.3, 0.4]),
            )
            .mqsim(Group::Device, &["Overprovisioning_Ratio"])
            .says("Share of the raw capacity that the host does not see."),
    ],
};

fn needs_haml(config: &DeviceConfig) -> Option<&'static str> {
    (config.placement.policy != PlacementPolicy::Haml).then_some("placement.policy is not haml")
}

fn needs_interval(config: &DeviceConfig) -> Option<&'static str> {
    let ignored = (!config.placement.interval).then_some("placement.interval is false");
    needs_haml(config).or(ignored)
}

fn needs_lifespan(config: &DeviceConfig) -> Option<&'static str> {
    (config.placement.policy != PlacementPolicy::Lifespan)
        .then_some("placement.policy is not lifespan")
}

fn has_own_moves(config: &DeviceConfig) -> Option<&'static str> {
    match config.placement.policy {
        PlacementPolicy::Sepbit => {
            Some("placement.policy is sepbit, which places moved pages by itself")
        }
        PlacementPolicy::Midas => {
            Some("placement.policy is midas, which places moved pages by itself")
        }
        PlacementPolicy::Lifespan => {
            Some("placement.policy is lifespan, which places moved pages by itself")
        }
        _ => None,
    }
}

/// The write frontiers.
pub(super) const PLACEMENT: Section = Section {
    name: "placement",
    title: "Which write frontier of its plane a page goes to",
    rows: &[
        row!("placement.policy", placement.policy)
            .names(PlacementPolicy::NAMES)
            .since(Since::Placement)
            .says("What pages of a block have in common."),
        row!("placement.moved", placement.moved)
            .names(MovedPages::NAMES)
            .unless(has_own_moves)
            .since(Since::Placement)
            .says("Which write frontiers take the pages that collection moves."),
        row!("placement.memory", placement.memory)
            .names(PlacementMemory::NAMES)
            .unless(needs_lifespan)
            .since(Since::RealDrives)
            .says("How much lifespan remembers to learn from, besides 8 B a logical page."),
        row!("placement.clusters", placement.clusters)
            .ints(2, 16)
            .unless(needs_haml)
            .since(Since::Placement)
            .says("Hotness queues of HAML-SSD: clusters, and write frontiers of each plane."),
        row!("placement.slices", placement.slices)
            .ints(1, 1 << 24)
            .unless(needs_haml)
            .since(Since::Placement)
            .says("Equal parts of the logical pages that HAML-SSD counts updates of."),
        row!("placement.period_ns", placement.period)
            .ints(1_000, 10_000_000_000_000_000)
            .continuous()
            .unit(Unit::Nanos)
            .unless(needs_haml)
            .since(Since::Placement)
            .says("Time between two trainings of HAML-SSD."),
        row!("placement.iterations", placement.iterations)
            .ints(1, 1_000)
            .unless(needs_haml)
            .since(Since::Placement)
            .says("Iterations of k-means in a training."),
        row!("placement.scale", placement.scale)
            .names(TableScale::NAMES)
            .unless(needs_haml)
            .since(Since::Placement)
            .says("How HAML-SSD scales updates and intervals before it clusters them."),
        row!("placement.interval", placement.interval)
            .unless(needs_haml)
            .since(Since::Placement)
            .says("Cluster by update interval as well as by update frequency."),
        row!("placement.count", placement.count)
            .names(UpdateUnit::NAMES)
            .unless(needs_haml)
            .since(Since::RealDrives)
            .says("What counts as an update of a slice: a page, or a request."),
        row!("placement.interval_since", placement.interval_since)
            .names(IntervalStart::NAMES)
            .unless(needs_interval)
            .since(Since::RealDrives)
            .says(
                "Which update an interval begins with: the slice's last one, the drive's last one \
                 (Algorithm 1 as printed), or the same page's last one (8 B a page).",
            ),
        row!("placement.wear_rules", placement.wear_rules)
            .unless(needs_haml)
            .since(Since::Placement)
            .says(
                "Hot data take the least erased free block, cold data the most erased, and both \
                 are exchanged after each training.",
            ),
    ],
};

fn needs_superblocks(config: &DeviceConfig) -> Option<&'static str> {
    (config.gc.unit == GcUnit::Block).then_some("gc.unit is block")
}

fn needs_preemption(config: &DeviceConfig) -> Option<&'static str> {
    (!config.gc.preemptible).then_some("gc.preemptible is false")
}

fn needs_soft_zone(config: &DeviceConfig) -> Option<&'static str> {
    (config.gc.hard_threshold >= config.gc.threshold)
        .then_some("gc.hard_threshold is not below gc.threshold, so collection is never soft")
}

fn needs_d_choices(config: &DeviceConfig) -> Option<&'static str> {
    let draws = matches!(config.gc.policy, GcPolicy::Rga | GcPolicy::RemainingLife);
    (!draws).then_some("gc.policy is neither d-choices nor remaining-life")
}

fn needs_window(config: &DeviceConfig) -> Option<&'static str> {
    (config.gc.policy != GcPolicy::WindowedGreedy).then_some("gc.policy is not windowed-greedy")
}

/// Those that go with any placement policy.
const GC_POLICIES: Candidates = Candidates::Names(&[
    "greedy",
    "d-choices",
    "random",
    "random+",
    "random++",
    "fifo",
    "cost-benefit",
    "windowed-greedy",
]);

/// Garbage collection.
pub(super) const GC: Section = Section {
    name: "gc",
    title: "Garbage collection",
    rows: &[
        row!("gc.policy", gc.policy)
            .names(GcPolicy::NAMES)
            .candidates(GC_POLICIES, GC_POLICIES)
            .mqsim(Group::Device, &["GC_Block_Selection_Policy"])
            .absent(Value::Name("d-choices"))
            .says("Which block is collected."),
        row!("gc.threshold", gc.threshold)
            .between(0.0, 1.0)
            .candidates(
                Reals(&[0.1, 0.15, 0.2, 0.25, 0.3]),
                Reals(&[0.02, 0.05, 0.1, 0.15, 0.2, 0.25, 0.3]),
            )
            .mqsim(Group::Device, &["GC_Exec_Threshold"])
            .says("A plane collects when fewer than this share of its blocks are free."),
        row!("gc.hard_threshold", gc.hard_threshold)
            .between(0.0, 1.0)
            .candidates(Reals(&[0.1, 0.15, 0.2, 0.25, 0.3]), Reals(&[0.005, 0.01, 0.02, 0.05, 0.1]))
            .mqsim(Group::Device, &["GC_Hard_Threshold"])
            .unless(needs_preemption)
            .says(
                "Below this share of free blocks collection goes before the host even when it is \
                 pre-emptible.",
            ),
        row!("gc.preemptible", gc.preemptible)
            .all()
            .mqsim(Group::Device, &["Preemptible_GC_Enabled"])
            .absent(Value::Bool(true))
            .unless(needs_soft_zone)
            .says("Let the host go before collection until the hard threshold is reached."),
        row!("gc.copyback", gc.copyback)
            .all()
            .mqsim(Group::Device, &["Use_Copyback_for_GC"])
            .says("Move pages inside their plane without a trip over the channel."),
        row!("gc.choices", gc.choices)
            .ints(0, 1 << 20)
            .candidates(Fixed, Ints(&[2, 4, 8, 16, 32]))
            .unless(needs_d_choices)
            .says(
                "Blocks that the policies d-choices and remaining-life draw; 0 takes the binary \
                 logarithm of the blocks per plane for d-choices, and 64 for remaining-life.",
            ),
        row!("gc.window", gc.window)
            .ints(0, 1 << 20)
            .candidates(Fixed, Ints(&[8, 16, 32, 64, 128]))
            .unless(needs_window)
            .says(
                "Oldest blocks the windowed greedy policy looks at; 0 takes an eighth of the \
                 blocks per plane.",
            ),
        row!("gc.unit", gc.unit).names(GcUnit::NAMES).since(Since::RealDrives).says(
            "What is filled, collected and erased as one. Pages of a superblock are written die by \
             die, all planes of a die in one command, and collection works in steps.",
        ),
        row!("gc.paced", gc.paced).unless(needs_superblocks).since(Since::RealDrives).says(
            "Collection of superblocks advances with the writes of the host, faster as free \
             superblocks become fewer, instead of as fast as it can.",
        ),
        row!("gc.single_plane_reads", gc.single_plane_reads)
            .unless(needs_superblocks)
            .since(Since::RealDrives)
            .says(
                "Collection of superblocks reads one plane of a die at a time, instead of all \
                 planes in one command.",
            ),
    ],
};

fn needs_static_leveling(config: &DeviceConfig) -> Option<&'static str> {
    (!config.wear.static_leveling).then_some("wear.static_leveling is false")
}

/// Wear levelling.
pub(super) const WEAR: Section = Section {
    name: "wear",
    title: "Wear levelling",
    rows: &[
        row!("wear.dynamic_leveling", wear.dynamic_leveling)
            .all()
            .mqsim(Group::Device, &["Dynamic_Wearleveling_Enabled"])
            .says("Take the least-erased free block as the next to write."),
        row!("wear.static_leveling", wear.static_leveling)
            .all()
            .mqsim(Group::Device, &["Static_Wearleveling_Enabled"])
            .says("Move cold blocks when erase counts have drifted apart."),
        row!("wear.static_threshold", wear.static_threshold)
            .ints(1, 1_000_000_000)
            .candidates(Steps { from: 50, to: 100, by: 10 }, Steps { from: 10, to: 200, by: 10 })
            .unit(Unit::Other("erases"))
            .mqsim(Group::Device, &["Static_Wearleveling_Threshold"])
            .unless(needs_static_leveling)
            .says("How far erase counts may drift apart before cold blocks are moved."),
    ],
};
