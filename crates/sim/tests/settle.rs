//! What a drive has left undone at the end of a run is done, and counted, when it settles.

use crate::drives::{self, Mix, small};
use ssdtune_model::config::CacheMode;
use ssdtune_model::{Bytes, DeviceConfig, Nanos};
use ssdtune_sim::{
    Footprint, InitialContent, InitialState, Outcome, Simulator, Stream, Tenant, Work,
};
use ssdtune_trace::Request;

/// Serves requests, one after the other, and lets the drive settle.
fn settled(drive: &mut Simulator, requests: &[Request]) -> Work {
    let stream = Stream::closed(requests.iter().copied(), 8);
    assert_eq!(drive.run(vec![stream], |_| true), Outcome::Completed);
    let work = drive.settle().expect("free blocks");
    assert_eq!(work.done + work.left, drive.busy().dies, "work is lost");
    let nothing = Work { done: work.done + work.left, left: Nanos::ZERO };
    assert_eq!(drive.settle(), Some(nothing));
    work
}

fn drive(config: &DeviceConfig) -> Simulator {
    drives::new(config, &[Tenant::sole(config)])
}

#[test]
fn pages_that_stay_in_the_data_cache_cost_their_programs() {
    let mut config = small();
    config.mapping.ideal = true;
    config.cache.mode = CacheMode::Write;
    config.cache.capacity = Bytes(1024 * 4096);
    let once = drives::fill(8 * 64, 8, 100);
    // Pages that are written again stay in the cache.
    let twice = [once.clone(), once].concat();
    let mut drive = drive(&config);
    let work = settled(&mut drive, &twice);
    assert_eq!(drive.flash().pages_programmed_host, 128);
    // Of 64 pages on four dies, at most two planes of each together.
    assert!(work.left >= Nanos(8 * config.flash.program_latency[0].0), "{work:?}");
}

#[test]
fn collection_that_waits_for_the_end_is_done_then() {
    let mut config = small();
    config.mapping.ideal = true;
    config.cache.mode = CacheMode::Off;
    config.gc.threshold = 0.25;
    config.gc.hard_threshold = 0.05;
    config.gc.preemptible = true;
    let mut drive = drive(&config);
    let (state, occupancy) = (InitialState::Steady, vec![0.8]);
    let past = InitialContent { state, occupancy, ..InitialContent::default() };
    drive.set_initial_content(&past, &Footprint::default()).expect("room");
    let free = drive.report().capacity.free_bytes;
    let block = 16 * 4096;
    let writes = drives::fill(8 * 256, 8, 100);
    let work = settled(&mut drive, &writes);
    assert!(work.left > Nanos::ZERO, "{work:?}");
    let after = drive.report().capacity.free_bytes;
    // Eight planes may each be in the middle of a block.
    assert!(after + 8 * block >= free, "{free} free bytes came down to {after}");
}

#[test]
fn reads_leave_nothing_undone() {
    let (requests, seed, sectors) = (400, 3, 8 * 1024);
    let (gap_ns, reads, trims, flushes) = (20_000.0, 100, 0, 0);
    let mix =
        Mix { requests, seed, gap_ns, reads, trims, flushes, sectors, align: 8, pages_max: 1 };
    let config = small();
    let mut drive = drive(&config);
    let (state, occupancy) = (InitialState::Sequential, vec![1.0]);
    let past = InitialContent { state, occupancy, ..InitialContent::default() };
    drive.set_initial_content(&past, &Footprint::default()).expect("room");
    assert_eq!(settled(&mut drive, &mix.requests(0)).left, Nanos::ZERO);
}
