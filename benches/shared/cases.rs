//! The cases of the speed benchmarks: the speed list of the recorded MQSim battery, and more.

use ssdtune_model::config::{CacheMode, DeviceConfig};
use ssdtune_model::{Bytes, CheckedConfig, Nanos, Sectors, presets, testing};
use ssdtune_mqsim::scenario::Source;
use ssdtune_mqsim::{read_device, read_workload};
use ssdtune_sim::{Observe, Outcome, Replay, Report, Simulator, Stream, Tenant};
use ssdtune_trace::{Format, Op, ReadOptions, Request, TenantId};
use std::path::Path;

/// A drive and the requests it gets.
pub struct Case {
    /// Name in tables and of the benchmark.
    pub name: String,
    /// The drive.
    pub config: CheckedConfig,
    /// The one tenant, who has the whole drive.
    pub tenant: Tenant,
    /// The requests in order.
    pub requests: Vec<Request>,
    /// When they are issued.
    pub replay: Replay,
    /// The number of pages, from the first, that hold data when the run begins.
    pub filled_pages: u64,
    /// Requests that MQSim served in a second of processor time, recorded on another machine.
    pub mqsim_requests_per_s: Option<f64>,
}

impl Case {
    /// The drive as it is before the run.
    pub fn drive(&self) -> Simulator {
        let tenants = std::slice::from_ref(&self.tenant);
        let mut drive =
            Simulator::new(&self.config, tenants, Observe::default()).expect("a sound case");
        drive.warm_up(fill(self.filled_pages)).expect("room");
        drive
    }

    /// Runs the requests on a drive that [`Self::drive`] made.
    pub fn run_on(&self, mut drive: Simulator) -> Report {
        let requests = Box::new(self.requests.iter().copied());
        let stream = Stream { requests, tenant: Some(TenantId(0)), replay: self.replay };
        assert_eq!(drive.run(vec![stream], |_| true), Outcome::Completed, "{}", self.name);
        drive.report()
    }
}

/// The cases of the battery's speed list, with the first `requests_max` requests of each. None if
/// the recorded battery is not there.
pub fn recorded(requests_max: usize) -> Vec<Case> {
    let Some(list) = testing::shared("reference/mqsim/speed/speed.json") else { return Vec::new() };
    let folder = list.parent().and_then(Path::parent).expect("the list is in a sub-folder");
    let text = std::fs::read_to_string(&list).expect("the list can be read");
    let list: Vec<serde_json::Value> = serde_json::from_str(&text).expect("the list is JSON");
    list.iter().filter_map(|entry| recorded_case(folder, entry, requests_max)).collect()
}

/// One case of the speed list; none if the entry has no trace.
fn recorded_case(folder: &Path, entry: &serde_json::Value, requests_max: usize) -> Option<Case> {
    let trace = folder.join(entry["trace"].as_str()?);
    let read = |key: &str| {
        let path = folder.join(entry[key].as_str().expect("a path"));
        std::fs::read_to_string(path).expect("a file of the battery")
    };
    let config = read_device(&read("ssd")).expect("a drive of the battery").value;
    let scenarios = read_workload(&read("workload")).expect("a workload").value;
    let flow = &scenarios[0].flows[0];
    assert!(matches!(flow.source, Source::Trace(_)), "the speed list replays traces");
    let packed = trace.with_extension("trace.xz");
    let path = if trace.exists() { trace } else { packed };
    let options =
        ReadOptions { format: Some(Format::Mqsim), rebase: false, ..ReadOptions::default() };
    let mut reader = ssdtune_trace::open(path, &options).expect("a trace of the battery");
    let mut requests = reader.read_all().expect("a sound trace");
    requests.truncate(requests_max);
    Some(Case {
        name: entry["id"].as_str().expect("a name").to_owned(),
        tenant: Tenant { cache: flow.cache_mode, ..Tenant::sole(&config) },
        config: config.check().expect("a sound drive"),
        requests,
        replay: Replay::Open,
        filled_pages: 0,
        mqsim_requests_per_s: entry["mqsim"]["mqsim-2019"]["requests_per_user_cpu_s"].as_f64(),
    })
}

/// A xorshift generator of random numbers, equal on every machine.
pub struct Draw(u64);

impl Draw {
    /// A generator from a seed.
    pub fn new(seed: u64) -> Self {
        Self(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1)
    }

    /// A number from 0 to below `limit`.
    pub fn below(&mut self, limit: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % limit
    }
}

/// Requests of 4 KiB to random pages, one every `gap`. Of 256 requests, `reads_of_256` are reads.
pub fn random(
    count: usize,
    pages: u64,
    reads_of_256: u64,
    gap: Nanos,
) -> impl Iterator<Item = Request> {
    let mut draw = Draw::new(7);
    (0..count as u64).map(move |index| Request {
        at: Nanos(index * gap.0),
        lba: Sectors(draw.below(pages) * 8),
        sectors: 8,
        tenant: TenantId(0),
        op: if draw.below(256) < reads_of_256 { Op::Read } else { Op::Write },
    })
}

/// Writes of 4 KiB to every page once, in order.
pub fn fill(pages: u64) -> impl Iterator<Item = Request> {
    (0..pages).map(|page| Request {
        at: Nanos::ZERO,
        lba: Sectors(page * 8),
        sectors: 8,
        tenant: TenantId(0),
        op: Op::Write,
    })
}

/// The preset with MQSim's default drive, but with pages of 4 KiB, of this size in GiB.
pub fn plain(gigabytes: u32) -> DeviceConfig {
    let mut config = presets::load("mqsim-default").expect("a preset");
    config.compat = ssdtune_model::config::Compat::default();
    config.cache.mode = CacheMode::Off;
    config.mapping.ideal = true;
    config.run.preconditioned = false;
    config.flash.page_bytes = 4096;
    config.flash.pages_per_block = 256;
    // 8 channels, 4 chips, 2 dies, 2 planes: 128 planes of 1 MiB blocks.
    config.bus.channels = 8;
    config.bus.chips_per_channel = 4;
    config.flash.dies_per_chip = 2;
    config.flash.planes_per_die = 2;
    config.flash.blocks_per_plane = gigabytes * 1024 / 128;
    config
}

/// A case that keeps `depth` requests outstanding.
fn closed(
    name: &str,
    config: DeviceConfig,
    filled_pages: u64,
    requests: impl Iterator<Item = Request>,
    depth: u32,
) -> Case {
    Case {
        name: name.to_owned(),
        tenant: Tenant::sole(&config),
        config: config.check().expect("a sound drive"),
        requests: requests.collect(),
        replay: Replay::Closed(depth),
        filled_pages,
        mqsim_requests_per_s: None,
    }
}

/// Three cases that the speed list lacks: a mapping table half cached, much garbage collection, and
/// a wide drive with a long queue.
pub fn others(requests: usize) -> Vec<Case> {
    let mut mapping = plain(16);
    mapping.mapping.ideal = false;
    // The table cache holds half of the mappings of the 1 GiB that is used.
    let pages = 1 << 18;
    mapping.mapping.cmt_capacity = Bytes(pages / 2 * 7);

    let mut small = plain(1);
    small.mapping.overprovisioning = 0.15;
    small.flash.pages_per_block = 64;
    small.flash.blocks_per_plane = 32;
    let visible = 200_000;

    let mut wide = plain(64);
    wide.bus.channels = 32;
    wide.host.queue_depth = 1024;
    wide.host.queue_fetch_size = 256;
    wide.flash.blocks_per_plane = 128;
    let read = 1 << 20;

    let at_once = |pages, reads_of_256| random(requests, pages, reads_of_256, Nanos::ZERO);
    vec![
        closed("mapping_half", mapping, pages, at_once(pages, 179), 32),
        closed("gc_reads", small, visible, at_once(visible, 128), 32),
        closed("wide_qd256", wide, read, at_once(read, 230), 256),
    ]
}
