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

#[test]
fn what_does_not_go_together_is_refused_with_what_to_do() {
    let cases: [(&[&str], &str); 4] = [
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
