//! No parameter gains by putting collection, or the write-back of mappings, off beyond the end of a
//! short run: what a change does to a drive in a long run, it does in a short one too.

use super::*;
use crate::grade::{Figures, Weights};
use ssdtune_model::config::{GcPolicy, GcUnit};
use ssdtune_model::{Bytes, DeviceConfig, presets};
use ssdtune_trace::workload::{Seed, bundled};

/// Requests of a run that is over before free space is used up, and of one that goes on.
const SHORT: usize = 2_000;
const LONG: usize = 200_000;

type Change = (&'static str, fn(&mut DeviceConfig));

const CHANGES: [Change; 10] = [
    ("threshold 0.02", |drive| drive.gc.threshold = 0.02),
    ("threshold 0.05", |drive| drive.gc.threshold = 0.05),
    ("threshold 0.15", |drive| drive.gc.threshold = 0.15),
    ("threshold 0.2", |drive| drive.gc.threshold = 0.2),
    ("hard threshold 0.05", |drive| drive.gc.hard_threshold = 0.05),
    ("hard threshold 0.1", |drive| drive.gc.hard_threshold = 0.1),
    ("no pre-emption", |drive| drive.gc.preemptible = false),
    ("random victims", |drive| drive.gc.policy = GcPolicy::Random),
    ("copyback", |drive| drive.gc.copyback = true),
    ("larger data cache", |drive| drive.cache.capacity = Bytes(64 << 20)),
];

/// What else firmware of the space of drives that can be bought may do, or a buyer take.
const FIRMWARE: [Change; 9] = [
    ("superblocks of a die, paced", |drive| superblocks(drive, GcUnit::Die)),
    ("superblocks of the drive, paced", |drive| superblocks(drive, GcUnit::Drive)),
    ("the best of 8", |drive| (drive.gc.policy, drive.gc.choices) = (GcPolicy::Rga, 8)),
    ("windowed greedy", |drive| drive.gc.policy = GcPolicy::WindowedGreedy),
    ("cost-benefit", |drive| drive.gc.policy = GcPolicy::CostBenefit),
    ("fifo", |drive| drive.gc.policy = GcPolicy::Fifo),
    ("the whole mapping table in DRAM", |drive| drive.mapping.ideal = true),
    ("more spare area", |drive| drive.mapping.overprovisioning += 0.05),
    ("less spare area", |drive| drive.mapping.overprovisioning -= 0.05),
];

/// Other sizes of a mapping cache that misses.
const MAPPING_CACHES: [Change; 4] = [
    ("an eighth of the mapping cache", |drive| drive.mapping.cmt_capacity = Bytes(32 << 10)),
    ("a mapping cache twice as large", |drive| drive.mapping.cmt_capacity = Bytes(512 << 10)),
    ("four times as large", |drive| drive.mapping.cmt_capacity = Bytes(1 << 20)),
    ("the whole mapping table in DRAM", |drive| drive.mapping.ideal = true),
];

/// Superblocks as drives that are sold have them: small writes share pages, and collection keeps
/// pace with the host's writes.
fn superblocks(drive: &mut DeviceConfig, unit: GcUnit) {
    drive.gc.unit = unit;
    drive.gc.paced = true;
    drive.mapping.unit_bytes = 4096;
}

/// An Intel 750 with eight dies and little cache, 2 GiB in all.
fn small() -> DeviceConfig {
    let mut drive = presets::load("intel-750").unwrap();
    drive.bus.channels = 4;
    drive.bus.chips_per_channel = 1;
    drive.flash.dies_per_chip = 2;
    drive.flash.blocks_per_plane = 128;
    drive.cache.capacity = Bytes(4 << 20);
    drive
}

/// One whose mapping cache holds an eighth of the table of 2 MiB.
fn with_a_small_mapping_cache() -> DeviceConfig {
    let mut drive = small();
    drive.mapping.cmt_capacity = Bytes(256 << 10);
    drive
}

/// What a drive in steady state does with so many requests: the figures that are compared, and what
/// they would be if nothing was charged.
fn measured(drive: &DeviceConfig, trace: &Trace) -> [Figures; 2] {
    let evaluator = InProcess::new(Preparation::of(Start::steady(0.9), 0)).unwrap();
    let config = drive.clone().check().unwrap();
    let job = Job { config: &config, trace, depth: 16 };
    let measured = evaluator.measure(&job, &AtomicBool::new(false)).unwrap();
    let (open, closed) = (measured.open.unwrap(), measured.closed.unwrap());
    assert!(open.collections > 0 && closed.left_seconds > 0.0);
    let free_of_charge =
        Figures { latency_ns: open.latency_ns_mean, throughput_bps: closed.bandwidth_bps };
    [measured.figures, free_of_charge]
}

/// Asserts that no change of a drive gains more in a short run than in a long one, and gives the
/// names of those that would if nothing was charged.
fn flattered(original: fn() -> DeviceConfig, changes: &[Change]) -> Vec<&'static str> {
    let model = bundled("database").unwrap();
    let mut long = Trace::of_model(&model, Seed::default(), LONG).unwrap();
    // The model is made for larger drives.
    let pages = original().check().unwrap().geometry().planes() * 128 * 512 * 6 / 10;
    let folded = long.requests().iter().map(|request| {
        let mut folded = *request;
        folded.lba.0 %= pages * 8 - u64::from(folded.sectors);
        folded
    });
    long = Trace::new("database", folded.collect());
    let short = long.prefix(SHORT);
    let grade = |drive: [Figures; 2], base: [Figures; 2], which: usize| {
        Weights::default().performance(&drive[which].over(&base[which]))
    };
    let (base, base_long) = (measured(&original(), &short), measured(&original(), &long));
    let mut flattered = Vec::new();
    for (name, change) in changes {
        let mut drive = original();
        change(&mut drive);
        let (brief, whole) = (measured(&drive, &short), measured(&drive, &long));
        let in_the_end = grade(whole, base_long, 0);
        let charged = grade(brief, base, 0);
        let free = grade(brief, base, 1);
        eprintln!("{name}: {charged:.3}, uncharged {free:.3}, in the long run {in_the_end:.3}");
        // A change that loses in the long run loses in the short one; no other gains more there.
        let most = if in_the_end < -0.05 { in_the_end / 2.0 } else { in_the_end + 0.1 };
        assert!(charged <= most, "{name} gains {charged} in a short run, {in_the_end} in a long");
        if free > most {
            flattered.push(*name);
        }
    }
    flattered
}

#[test]
fn no_parameter_gains_by_deferring_collection() {
    let flattered = flattered(small, &CHANGES);
    // Without the charge, a short run says that victims may as well be drawn at random.
    assert!(flattered.contains(&"random victims"), "{flattered:?}");
}

#[test]
fn no_firmware_gains_by_deferring_collection() {
    flattered(small, &FIRMWARE);
}

#[test]
fn no_mapping_cache_gains_by_deferring_write_backs() {
    flattered(with_a_small_mapping_cache, &MAPPING_CACHES);
}
