//! Drives at their limits: full, with next to no spare blocks, under nothing but overwrites, or
//! mostly trims. A run is either completed or ends with the clear result that it is out of space.
//! No page is lost: what the drive maps is what was written and not trimmed since.

use crate::drives::{self, Mix};
use ssdtune_model::config::{CacheMode, GcPolicy};
use ssdtune_model::{DeviceConfig, TenantId};
use ssdtune_sim::{Outcome, Simulator, Stream, Tenant};
use ssdtune_trace::{Op, Request};
use std::collections::BTreeSet;

const PAGE_SECTORS: u64 = 8;

fn drive(policy: GcPolicy, ideal: bool) -> DeviceConfig {
    let mut config = drives::small();
    config.gc.policy = policy;
    config.mapping.ideal = ideal;
    config.cache.mode = CacheMode::Off;
    config
}

/// Pages that hold data after the requests, by a plain set: the reference.
fn held(requests: &[Request]) -> u64 {
    let mut pages = BTreeSet::new();
    for request in requests {
        let (first, end) = (request.lba.0, request.lba.0 + u64::from(request.sectors));
        match request.op {
            Op::Write => pages.extend(first / PAGE_SECTORS..end.div_ceil(PAGE_SECTORS)),
            Op::Trim => {
                for page in first.div_ceil(PAGE_SECTORS)..end / PAGE_SECTORS {
                    pages.remove(&page);
                }
            }
            Op::Read | Op::Flush => {}
        }
    }
    pages.len() as u64
}

/// Runs requests, one after the other as far as the order of writes and trims matters, and checks
/// the end.
fn run(config: &DeviceConfig, requests: &[Request], what: &str) -> Outcome {
    let ran = drives::run_tenants(config, &[Tenant::sole(config)], &[requests.to_vec()]);
    if ran.outcome == Outcome::Completed {
        assert_eq!(ran.report.requests.completed, requests.len() as u64, "{what}");
        let page = u64::from(config.flash.page_bytes);
        assert_eq!(ran.report.capacity.mapped_bytes / page, held(requests), "{what}");
    }
    ran.outcome
}

fn mix(config: &DeviceConfig, reads: u32, trims: u32, seed: u64) -> Mix {
    Mix {
        requests: 6_000,
        seed,
        // Slow enough that no trim overtakes a write of its page.
        gap_ns: 3_000_000.0,
        reads,
        trims,
        flushes: 0,
        // The longest request ends with the drive.
        sectors: visible(config) - 3 * PAGE_SECTORS,
        align: 8,
        pages_max: 4,
    }
}

fn visible(config: &DeviceConfig) -> u64 {
    let drive = drives::new(config, &[Tenant::sole(config)]);
    drive.address_space(TenantId(0)).0 / 512 / PAGE_SECTORS * PAGE_SECTORS
}

#[test]
fn mostly_trims() {
    for &policy in GcPolicy::UNPLACED {
        for ideal in [true, false] {
            let config = drive(policy, ideal);
            let requests = mix(&config, 5, 60, 1).requests(0);
            assert_eq!(run(&config, &requests, "trims"), Outcome::Completed, "{policy} {ideal}");
        }
    }
}

#[test]
fn a_full_drive_under_overwrites() {
    for &policy in GcPolicy::UNPLACED {
        for ideal in [true, false] {
            let config = drive(policy, ideal);
            let sectors = visible(&config);
            let mut requests = drives::fill(sectors, 8, 3_000_000);
            let start = requests.last().expect("pages").at;
            let overwrites = mix(&config, 0, 0, 2).requests(0);
            requests.extend(overwrites.iter().map(|r| Request { at: start + r.at, ..*r }));
            assert_eq!(run(&config, &requests, "full"), Outcome::Completed, "{policy} {ideal}");
        }
    }
}

/// From one spare block in each plane on. A few are too few, and then the run says so; six are
/// enough for any policy.
#[test]
fn next_to_no_spare_blocks() {
    let (mut refused, mut out_of_space, mut completed) = (0, 0, 0);
    for &policy in GcPolicy::UNPLACED {
        for spare in 1..=6u32 {
            let mut config = drive(policy, true);
            let blocks = config.flash.blocks_per_plane;
            config.mapping.overprovisioning = f64::from(spare) / f64::from(blocks) + 1e-9;
            config.gc.threshold = 2.0 / f64::from(blocks);
            let tenants = [Tenant::sole(&config)];
            let drive = config
                .check()
                .is_ok_and(|checked| Simulator::new(&checked, &tenants, drives::WATCH).is_ok());
            if !drive && spare < 6 {
                refused += 1;
                continue;
            }
            let mut requests = drives::fill(visible(&config), 8, 3_000_000);
            let start = requests.last().expect("pages").at;
            let overwrites = mix(&config, 0, 0, 3).requests(0);
            requests.extend(overwrites.iter().map(|r| Request { at: start + r.at, ..*r }));
            match run(&config, &requests, "spare") {
                Outcome::Completed => completed += 1,
                Outcome::OutOfSpace { .. } if spare < 6 => out_of_space += 1,
                other => panic!("{policy}, {spare} spare blocks: {other:?}"),
            }
        }
    }
    println!("{refused} refused, {out_of_space} out of space, {completed} completed");
    assert!(completed >= 3 * GcPolicy::UNPLACED.len());
}

/// A tenant may have one closed loop after another, or two at the same time.
#[test]
fn every_closed_loop_of_a_tenant_is_served() {
    let config = drive(GcPolicy::Greedy, true);
    let requests = Mix { requests: 300, ..mix(&config, 50, 0, 4) }.requests(0);
    let mut drive = drives::new(&config, &[Tenant::sole(&config)]);
    let stream = || Stream::closed(requests.iter().copied(), 4);
    for (streams, completed) in [(1, 300), (1, 600), (2, 1200)] {
        let outcome = drive.run((0..streams).map(|_| stream()).collect(), |_| true);
        assert_eq!((outcome, drive.completed()), (Outcome::Completed, completed));
    }
}

/// Streams of earlier runs count, since their numbers are not given out again.
#[test]
#[should_panic(expected = "a drive takes 64 streams in its life")]
fn more_streams_than_there_are_numbers_are_refused() {
    let config = drive(GcPolicy::Greedy, true);
    let mut drive = drives::new(&config, &[Tenant::sole(&config)]);
    let requests = Mix { requests: 1, ..mix(&config, 50, 0, 4) }.requests(0);
    for run in 1..=Simulator::STREAMS_MAX + 1 {
        let stream = Stream::closed(requests.iter().copied(), 1);
        assert_eq!(drive.run(vec![stream], |_| true), Outcome::Completed);
        assert_eq!(drive.completed(), run as u64);
    }
}
