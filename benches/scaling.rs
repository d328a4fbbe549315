//! How the cost of a request grows with the length of a run and the size of a drive.
//!
//! The cost is nanoseconds of processor time for each request, and bytes of FTL state. Requests are
//! random, of 4 KiB, 70 % of them reads, over 64 GiB. The trace is generated during the run, so it
//! takes no memory. `ratio` in the tables is relative to the first line.
//!
//! `cargo bench -p ssdtune-benches --bench scaling` takes some minutes.

#[path = "shared/cases.rs"]
#[allow(dead_code, reason = "shared with the other benchmarks")]
mod cases;
#[path = "../crates/trace/benches/shared/cpu_time.rs"]
mod cpu_time;

use cpu_time::CpuTime;
use criterion::measurement::Measurement;
use ssdtune_model::Nanos;
use ssdtune_sim::{Observe, Outcome, Simulator, Stream, Tenant};

/// Number of 4 KiB pages that are used, 64 GiB. Of a smaller drive three quarters are used.
const PAGES: u64 = 1 << 24;

/// Nanoseconds of processor time for each request, and bytes of FTL state at the end.
fn run(gigabytes: u32, requests: usize) -> (f64, u64) {
    let config = cases::plain(gigabytes);
    let tenant = [Tenant::sole(&config)];
    let config = config.check().expect("a sound drive");
    let start = CpuTime.start();
    let mut drive = Simulator::new(&config, &tenant, Observe::default()).expect("a sound drive");
    let pages = PAGES.min(u64::from(gigabytes) * (1 << 18) * 3 / 4);
    let stream = Stream::open(cases::random(requests, pages, 179, Nanos(20_000)));
    assert_eq!(drive.run(vec![stream], |_| true), Outcome::Completed);
    let time = CpuTime.end(start).as_nanos() as f64;
    (time / requests as f64, drive.report().simulation.ftl_memory_bytes)
}

/// Prints one line for each point, a drive's size in GiB and a number of requests.
fn table(title: &str, points: &[(u32, usize)]) {
    println!("{title}");
    println!("{:>10} {:>12} {:>10} {:>8} {:>10}", "drive", "requests", "ns each", "ratio", "FTL");
    let mut first = None;
    for &(gigabytes, requests) in points {
        let (each, bytes) = run(gigabytes, requests);
        let base = *first.get_or_insert(each);
        println!(
            "{:>7} GB {:>12} {:>10.0} {:>8.2} {:>7} MB",
            gigabytes,
            requests,
            each,
            each / base,
            bytes >> 20
        );
    }
}

fn main() {
    let trial = std::env::args().any(|arg| arg == "--test");
    let scale = if trial { 1000 } else { 1 };
    let long = [1_000_000, 3_000_000, 10_000_000, 30_000_000, 100_000_000];
    table("longer runs", &long.map(|requests| (128, requests / scale)));
    let large = [64, 256, 1024, 4096, 16_384];
    table("larger drives", &large.map(|gigabytes| (gigabytes, 3_000_000 / scale)));
}
