//! What chips and caches of this decade do, switched on by a user: the figure that each of them is
//! for moves, and what does not go together is refused with what to do.

use crate::support::{document, ssdtune};
use predicates::prelude::*;
use serde_json::Value;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

/// A small drive of MLC: 8 dies of 2 planes on 4 channels. Its DRAM is faster than the preset's,
/// which moves 100 MB/s.
const SMALL: [&str; 8] = [
    "cache.dram_data_rate_mts=1600",
    "cache.dram_burst_bytes=8",
    "bus.channels=4",
    "bus.chips_per_channel=2",
    "flash.dies_per_chip=1",
    "flash.blocks_per_plane=128",
    "flash.pages_per_block=64",
    "mapping.ideal=true",
];

/// Requests of a page of 8 KiB, a microsecond apart: `op` is 0 for a write, 1 for a read.
fn trace(directory: &Path, op: u32, pages: impl Iterator<Item = u64>) -> PathBuf {
    let mut text = String::new();
    for (number, page) in pages.enumerate() {
        writeln!(text, "{} 0 {} 16 {op}", number * 1_000, page * 16).unwrap();
    }
    let path = directory.join("a.trace");
    std::fs::write(&path, text).unwrap();
    path
}

/// The report's figures of reads or writes.
fn figures(trace: &Path, replay: &str, op: &str, set: &[&str]) -> Value {
    let mut command = ssdtune();
    command.args(["simulate", "--device", "mqsim-default", "--replay", replay]);
    for set in SMALL.iter().chain(set) {
        command.args(["--set", set]);
    }
    let document = document(command.arg("--trace").arg(trace));
    document["cells"][0]["report"]["total"][op].clone()
}

fn number(figures: &Value, key: &str, which: &str) -> f64 {
    let value = if which.is_empty() { &figures[key] } else { &figures[key][which] };
    value.as_f64().unwrap_or_else(|| panic!("no {key} {which} in {figures}"))
}

#[test]
fn planes_that_read_for_themselves_serve_more_random_reads() {
    let directory = tempfile::tempdir().unwrap();
    let pages = (0..3_000u64).map(|i| i.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 50 & 0xfff);
    let trace = trace(directory.path(), 1, pages);
    let iops = |set: &[&str]| {
        let set = [set, &["bus.rate_mts=1200", "cache.mode=off"]].concat();
        number(&figures(&trace, "closed:64", "read", &set), "iops", "")
    };
    let gain = iops(&["flash.independent_plane_reads=true"]) / iops(&[]);
    assert!(gain > 1.3, "{gain}");
}

#[test]
fn word_lines_write_faster_and_a_burst_ends_in_the_buffer() {
    let directory = tempfile::tempdir().unwrap();
    let trace = trace(directory.path(), 0, 0..4_000);
    // As many pages wait for the dies in both, so that commands to two planes form.
    let rate = |set: &[&str]| {
        let set = [set, &["cache.write_buffer_bytes=1MiB"]].concat();
        number(&figures(&trace, "closed:64", "write", &set), "bandwidth_bytes_per_s", "")
    };
    // Two pages of MLC at once.
    let gain = rate(&["flash.one_shot=true"]) / rate(&[]);
    assert!((1.5..2.1).contains(&gain), "{gain}");

    let burst = self::trace(directory.path(), 0, 0..100);
    let slowest = |bytes: &str| {
        let set = format!("cache.write_buffer_bytes={bytes}");
        number(&figures(&burst, "open", "write", &[&set]), "total_latency_ns", "max")
    };
    let (fits, waits) = (slowest("1MiB"), slowest("64KiB"));
    assert!(fits < 400_000.0 && waits > 1_000_000.0, "{fits} ns, {waits} ns");
}

#[test]
fn one_reader_in_order_is_read_ahead_of() {
    let directory = tempfile::tempdir().unwrap();
    let trace = trace(directory.path(), 1, 0..3_000);
    let mean = |set: &[&str]| {
        number(&figures(&trace, "closed:1", "read", set), "total_latency_ns", "mean")
    };
    let gain = mean(&[]) / mean(&["cache.read_ahead_bytes=128KiB"]);
    assert!(gain > 4.0, "{gain}");
}

/// A drive of TLC with eight blocks of each of 16 planes for SLC mode: 8 x 16 x 21 pages of 8 KiB.
const SLC_CACHE: [&str; 8] = [
    "flash.technology=tlc",
    "flash.page_program_latency_csb_ns=750us",
    "cache.mode=off",
    "mapping.overprovisioning=0.3",
    "slc_cache.static_blocks=8",
    "slc_cache.page_program_latency_ns=150us",
    "slc_cache.fold_after_ns=20ms",
    "bus.rate_mts=1200",
];

#[test]
fn writes_fall_from_the_slc_cache_at_its_end_and_it_is_folded_later() {
    let directory = tempfile::tempdir().unwrap();
    let room = 8 * 16 * 21;
    let report = |pages: u64, set: &[&str]| {
        let trace = trace(directory.path(), 0, 0..pages);
        let mut command = ssdtune();
        command.args(["simulate", "--device", "mqsim-default", "--replay", "closed:16"]);
        for set in SMALL.iter().chain(set) {
            command.args(["--set", set]);
        }
        let document = document(command.arg("--trace").arg(trace));
        document["cells"][0]["report"].clone()
    };
    let mean = |report: &Value| number(&report["total"]["write"], "total_latency_ns", "mean");
    let within = report(room, &SLC_CACHE);
    let beyond = report(2 * room, &SLC_CACHE);
    let without = report(room, &SLC_CACHE[..4]);
    // The second half goes directly, as all of it does without the cache.
    let direct = 2.0 * mean(&beyond) - mean(&within);
    assert!(mean(&without) > 3.0 * mean(&within), "{} {}", mean(&without), mean(&within));
    assert!((direct / mean(&without) - 1.0).abs() < 0.1, "{direct} {}", mean(&without));
    // What was written fast was written twice in the end.
    assert_eq!(number(&within["write_amplification"], "total", ""), 2.0);
    assert_eq!(number(&beyond["write_amplification"], "total", ""), 1.5);
    assert_eq!(within["slc_cache"]["folded_pages"], room);
    assert_eq!(within["slc_cache"]["idle_folds"], 8 * 16);
    assert_eq!(without.get("slc_cache"), None);
    assert_eq!(without["energy"]["flash"]["program_by_page_type_j"].get("slc"), None);
}

#[test]
fn the_summary_says_what_the_slc_cache_did() {
    let directory = tempfile::tempdir().unwrap();
    let trace = trace(directory.path(), 0, 0..336);
    let mut command = ssdtune();
    command.args(["simulate", "--device", "mqsim-default", "--replay", "closed:16"]);
    for set in SMALL.iter().chain(&SLC_CACHE) {
        command.args(["--set", set]);
    }
    let says = "SLC cache       336 pages written, 336 folded; 16 blocks in idle time, 0 for space";
    command.arg("--trace").arg(trace).assert().success().stdout(predicate::str::contains(says));
}

#[test]
fn what_does_not_go_together_is_refused_with_what_to_do() {
    let cases: [(&[&str], &str); 6] = [
        (
            &["flash.independent_plane_reads=true", "flash.cache_read=true"],
            "flash.cache_read uses the registers of all planes of a die at once: switch it off",
        ),
        (
            &["flash.one_shot=true", "flash.pages_per_block=255"],
            "make flash.pages_per_block (255) a multiple of that",
        ),
        (&["cache.write_buffer_bytes=1GiB"], "more than the data cache (cache.capacity_bytes:"),
        (
            &["cache.read_ahead_bytes=64MiB"],
            "8 streams need a data cache of twice that each (cache.capacity_bytes: 1073741824)",
        ),
        (
            &["slc_cache.static_blocks=16", "placement.policy=hotis"],
            "set placement.policy to none and placement.moved to policy",
        ),
        (&["slc_cache.static_blocks=2000"], "raise mapping.overprovisioning or keep fewer"),
    ];
    for (set, says) in cases {
        let mut command = ssdtune();
        command.args(["config", "check", "mqsim-default"]);
        set.iter().for_each(|set| {
            command.args(["--set", set]);
        });
        command.assert().failure().stderr(predicate::str::contains(says));
    }
}
