//! Parts of pages, and flushes: what single requests must cost, one at a time.

use crate::drives::{self, run};
use ssdtune_model::config::CacheMode;
use ssdtune_model::{DeviceConfig, Nanos, Sectors};
use ssdtune_sim::Completion;
use ssdtune_trace::{Op, Request, TenantId};

fn drive(cache: CacheMode) -> DeviceConfig {
    let mut config = drives::small();
    config.cache.mode = cache;
    config.mapping.ideal = true;
    config
}

fn request(at_us: u64, op: Op, lba: u64, sectors: u32) -> Request {
    Request { at: Nanos(at_us * 1_000), lba: Sectors(lba), sectors, tenant: TenantId(0), op }
}

fn latency(done: &Completion) -> Nanos {
    done.completed - done.arrived
}

/// A page has eight sectors. Only what an earlier write has left in the page is read and merged.
#[test]
fn a_write_of_a_part_reads_what_it_does_not_cover() {
    let config = drive(CacheMode::Off);
    let halves = [request(0, Op::Write, 0, 4), request(10_000, Op::Write, 4, 4)];
    let whole = [halves[0], request(10_000, Op::Write, 0, 8)];
    let same = [halves[0], request(10_000, Op::Write, 0, 4)];
    let pages_read = |requests: &[Request]| run(&config, requests).report.flash.pages_read;
    let turned = [request(0, Op::Write, 4, 4), request(10_000, Op::Write, 0, 4)];
    assert_eq!(pages_read(&halves), 1, "the first half is kept");
    assert_eq!(pages_read(&turned), 1, "the second half is kept");
    assert_eq!(pages_read(&whole), 0, "nothing is left of the first write");
    assert_eq!(pages_read(&same), 0, "the other half was never written");
}

/// The cache tells the host at once that a page is written; a flush waits until flash has it, and
/// a flush behind it waits for no less.
#[test]
fn a_flush_waits_for_what_the_cache_holds() {
    let config = drive(CacheMode::Write);
    let program = config.flash.program_latency[0];
    let requests =
        [request(0, Op::Write, 0, 8), request(10, Op::Flush, 0, 0), request(11, Op::Flush, 0, 0)];
    let ran = run(&config, &requests);
    let [write, first, second] = ran.completions.as_slice() else { panic!("three completions") };
    assert!(latency(write) < program, "the cache answers");
    assert!(first.completed - write.arrived >= program, "flash had it later than that");
    assert!(second.completed >= first.completed);
    let alone = run(&config, &[request(0, Op::Flush, 0, 0)]);
    assert!(latency(&alone.completions[0]) < program, "there is nothing to wait for");
}
