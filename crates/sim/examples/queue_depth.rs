//! Random reads of a used drive at growing queue depth. Throughput rises until the drive has no
//! more to give; from then on only the latency rises.
//!
//! Run it with `cargo run --release -p ssdtune-sim --example queue_depth`. It takes a second and
//! needs no input.

use ssdtune_model::config::CacheMode;
use ssdtune_model::{CheckedConfig, DeviceConfig, Nanos, Sectors};
use ssdtune_sim::{
    Footprint, InitialContent, InitialState, Observe, Outcome, Simulator, Stream, Tenant,
};
use ssdtune_trace::{Op, Request, TenantId};
use std::error::Error;

/// Reads of 4 KiB at random addresses, the same in every run. A closed loop ignores their times.
fn reads(count: usize, space: Sectors) -> impl Iterator<Item = Request> {
    let pages = space.0 / 8;
    let mut state = 1_u64;
    (0..count).map(move |_| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        let lba = Sectors((state >> 24) % pages * 8);
        Request { at: Nanos::ZERO, lba, sectors: 8, tenant: TenantId(0), op: Op::Read }
    })
}

/// A drive on which random writes have gone on for a long time.
fn used_drive(config: &CheckedConfig) -> Result<Simulator, Box<dyn Error>> {
    let tenants = [Tenant::sole(config)];
    let mut drive = Simulator::new(config, &tenants, Observe::default())?;
    let content = InitialContent {
        state: InitialState::Steady,
        occupancy: vec![1.0],
        ..InitialContent::default()
    };
    drive.set_initial_content(&content, &Footprint::default())?;
    Ok(drive)
}

fn main() -> Result<(), Box<dyn Error>> {
    let mut config = DeviceConfig::default();
    // Without the data cache, every read goes to flash.
    config.cache.mode = CacheMode::Off;
    let config = config.check()?;
    println!("{:>5} {:>10} {:>10} {:>10} {:>6}", "depth", "IOPS", "mean us", "p99 us", "dies");
    for depth in [1, 4, 16, 64, 256] {
        let mut drive = used_drive(&config)?;
        let space = drive.address_space(TenantId(0)).sectors_floor();
        let stream = Stream::closed(reads(20_000, space), depth);
        let outcome = drive.run(vec![stream], |_| true);
        assert_eq!(outcome, Outcome::Completed);

        let report = drive.report();
        let latency = report.total.read.device_latency_ns.ok_or("no read was completed")?;
        println!(
            "{depth:>5} {:>10.0} {:>10.1} {:>10.1} {:>5.0}%",
            report.total.read.iops,
            latency.mean / 1e3,
            latency.p99 as f64 / 1e3,
            100.0 * report.utilisation.dies.mean
        );
    }
    Ok(())
}
