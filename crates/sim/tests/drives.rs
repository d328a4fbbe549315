//! Small drives and streams of requests for the tests of this directory.

use rand::seq::IndexedRandom;
use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64Mcg;
use ssdtune_model::{DeviceConfig, Nanos, Place, Sectors};
use ssdtune_sim::{Completion, Look, Observe, Outcome, Report, Simulator, Stream, Tenant};
use ssdtune_trace::{Op, Request, TenantId};

/// 2 channels x 2 chips x 1 die x 2 planes x 24 blocks x 16 pages of 4 KiB: 12 MiB, a third of them
/// spare.
pub fn small() -> DeviceConfig {
    let mut config = DeviceConfig::default();
    [config.bus.channels, config.bus.chips_per_channel] = [2, 2];
    [config.flash.dies_per_chip, config.flash.planes_per_die] = [1, 2];
    [config.flash.blocks_per_plane, config.flash.pages_per_block] = [24, 16];
    config.flash.page_bytes = 4096;
    config.mapping.overprovisioning = 0.34;
    config.mapping.cmt_capacity = ssdtune_model::Bytes(2048);
    config.cache.capacity = ssdtune_model::Bytes(64 * 4096);
    config.host.queue_depth = 64;
    config.host.queue_fetch_size = 16;
    config
}

/// How a stream of requests is drawn.
#[derive(Clone, Debug)]
pub struct Mix {
    pub requests: usize,
    pub seed: u64,
    /// Mean time between arrivals, which are exponential.
    pub gap_ns: f64,
    /// Reads out of 100 requests.
    pub reads: u32,
    /// Trims out of 100 requests.
    pub trims: u32,
    /// Flushes out of 100 requests. All that remain are writes.
    pub flushes: u32,
    /// Addresses are below this.
    pub sectors: u64,
    /// Lengths are multiples of this, in sectors; 1 draws misaligned requests.
    pub align: u32,
    /// The largest multiple.
    pub pages_max: u32,
}

impl Mix {
    pub fn requests(&self, tenant: u16) -> Vec<Request> {
        let rng = &mut Pcg64Mcg::seed_from_u64(self.seed ^ (u64::from(tenant) << 32));
        let mut at = 0.0;
        (0..self.requests)
            .map(|_| {
                at += -self.gap_ns * (1.0 - rng.random::<f64>()).ln();
                let draw = rng.random_range(0..100);
                let op = if draw < self.reads {
                    Op::Read
                } else if draw < self.reads + self.trims {
                    Op::Trim
                } else if draw < self.reads + self.trims + self.flushes {
                    Op::Flush
                } else {
                    Op::Write
                };
                let units = (self.sectors / u64::from(self.align)).max(1);
                let lba = rng.random_range(0..units) * u64::from(self.align);
                let length = rng.random_range(1..=self.pages_max) * self.align;
                Request {
                    at: Nanos(at as u64),
                    lba: Sectors(lba),
                    sectors: if op == Op::Flush { 0 } else { length },
                    tenant: TenantId(tenant),
                    op,
                }
            })
            .collect()
    }
}

/// Writes every page of a range once, in order, one in each `gap_ns`.
pub fn fill(sectors: u64, page_sectors: u32, gap_ns: u64) -> Vec<Request> {
    (0..sectors / u64::from(page_sectors))
        .map(|page| Request {
            at: Nanos(page * gap_ns),
            lba: Sectors(page * u64::from(page_sectors)),
            sectors: page_sectors,
            tenant: TenantId(0),
            op: Op::Write,
        })
        .collect()
}

/// Everything that was observed of a run.
pub struct Ran {
    pub outcome: Outcome,
    pub report: Report,
    pub completions: Vec<Completion>,
}

pub const WATCH: Observe = Observe { exact_percentiles: true, completions: true };

/// Runs one stream of the only tenant at its own times.
pub fn run(config: &DeviceConfig, requests: &[Request]) -> Ran {
    run_tenants(config, &[Tenant::sole(config)], &[requests.to_vec()])
}

/// Runs one stream for each tenant.
pub fn run_tenants(config: &DeviceConfig, tenants: &[Tenant], streams: &[Vec<Request>]) -> Ran {
    run_on(new(config, tenants), streams)
}

/// An empty drive.
pub fn new(config: &DeviceConfig, tenants: &[Tenant]) -> Simulator {
    Simulator::new(&config.check().expect("legal"), tenants, WATCH).expect("a legal drive")
}

/// Runs streams on a drive, one for each tenant, and checks the drive afterwards.
pub fn run_on(simulator: Simulator, streams: &[Vec<Request>]) -> Ran {
    run_in_intervals(simulator, streams, Nanos::MAX, |_, _| ())
}

/// As [`run_on`]. `act` is called at the end of each interval, with its number.
pub fn run_in_intervals(
    mut simulator: Simulator,
    streams: &[Vec<Request>],
    interval: Nanos,
    mut act: impl FnMut(&mut Simulator, u32),
) -> Ran {
    let streams = (streams.iter().enumerate())
        .map(|(tenant, requests)| Stream {
            tenant: Some(TenantId::at(tenant)),
            ..Stream::open(requests.iter().copied())
        })
        .collect();
    let mut number = 0;
    let outcome = simulator.run_in_intervals(streams, interval, |drive, look| {
        if matches!(look, Look::IntervalEnd(_)) {
            act(drive, number);
            number += 1;
        }
        true
    });
    simulator.check();
    let completions = simulator.take_completions();
    Ran { outcome, report: simulator.report(), completions }
}

/// Draws one of a list.
pub fn pick<T: Copy>(rng: &mut Pcg64Mcg, list: &[T]) -> T {
    *list.choose(rng).expect("a list with something in it")
}
