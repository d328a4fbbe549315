//! The real FTL against a slow, obviously correct one: the same random operations for a million
//! steps, over every victim policy, allocation, and a spread of geometries, tenants, mapping caches
//! and MQSim switches.
//!
//! Every step compares what it touched. Every few hundred steps everything is compared, and
//! [`Ftl::check`] walks the drive. A failing run is shrunk and printed with the number that repeats
//! it: `FTL_REFERENCE_CASE=17 cargo test -p ssdtune-ftl reference_model`.
//! `FTL_REFERENCE_STEPS` and `FTL_REFERENCE_CASES` set the length and the number of runs.
//!
//! [`Ftl::check`]: ssdtune_ftl::Ftl::check

mod cached_mapping;
mod cases;
mod drive;
mod driver;
mod shrink;

use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64Mcg;

/// A number from the environment.
fn number(name: &str) -> Option<u64> {
    std::env::var(name).ok().map(|text| text.parse().expect("a number"))
}

/// The random words that are the operations of a run.
fn words(seed: u64, steps: u64) -> Vec<u64> {
    let mut rng = Pcg64Mcg::seed_from_u64(seed);
    (0..steps).map(|_| rng.random()).collect()
}

const CASES: u64 = 100;
const STEPS: u64 = 10_000;
/// How many times as long a drive runs that has not collected.
const QUIET: u64 = 4;
/// Steps between two comparisons of the whole drive.
const CHECK_EVERY: usize = 250;

#[test]
fn the_real_ftl_agrees_with_the_reference_for_a_million_steps() {
    let steps = number("FTL_REFERENCE_STEPS").unwrap_or(STEPS);
    let cases = match number("FTL_REFERENCE_CASE") {
        Some(only) => only..only + 1,
        None => 0..number("FTL_REFERENCE_CASES").unwrap_or(CASES),
    };
    let count = cases.end - cases.start;
    let (mut activity, mut slc) = ([0; 4], [0; 3]);
    let mut quiet = Vec::new();
    for number in cases {
        let case = cases::case(number);
        let run = |steps| shrink::run_or_explain(&case, number, &words(number, steps), CHECK_EVERY);
        let short = run(steps);
        // A drive that is hardly written to goes on, by more of the same words, until it collects.
        let run = if short.activity[0] == 0 { run(QUIET * steps) } else { short };
        (0..4).for_each(|i| activity[i] += run.activity[i]);
        (0..3).for_each(|i| slc[i] += run.slc[i]);
        if run.activity[0] == 0 {
            quiet.push(number);
        }
    }
    // A run that never collects proves little.
    println!(
        "collections, wear collections, moved pages, switches: {activity:?}; without any: {quiet:?}"
    );
    println!("pages in SLC mode, blocks folded in idle time, and for space: {slc:?}");
    if count > 1 && steps >= STEPS {
        assert!(activity[0] > 1_000 && activity[1] > 10 && activity[2] > 10_000, "{activity:?}");
        assert!(activity[3] > 100, "{activity:?}");
        assert!(slc[0] > 1_000 && slc[1] > 100 && slc[2] > 10, "{slc:?}");
        // None of the first hundred; drives that are hardly written to are drawn now and then.
        assert!(quiet.len() as u64 <= count / 200, "cases {quiet:?} never collected");
    }
}

/// A read that waits for room to be allocated outlives a switch of its tenant to other channels.
#[test]
fn a_held_read_follows_its_tenant() {
    const CASE: u64 = 275;
    shrink::run_or_explain(&cases::case(CASE), CASE, &words(CASE, STEPS), CHECK_EVERY);
}

#[test]
fn four_blocks_are_a_drive_when_no_translation_pages_need_a_frontier() {
    let run = shrink::run_or_explain(&cases::least(), 0, &words(4, 20_000), 10);
    assert!(run.activity[0] > 100, "{:?}", run.activity);
}
