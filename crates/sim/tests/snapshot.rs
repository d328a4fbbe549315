//! A drive that is restored from a snapshot goes on as the drive that was never stopped, from any
//! moment on.

use crate::drives::{self, Mix, small};
use ssdtune_model::config::{
    Allocation, BusOrder, CacheMode, CommandTimes, Compat, GcPolicy, GcUnit, HostInterface,
    PlacementMemory, PlacementPolicy,
};
use ssdtune_model::{DeviceConfig, Nanos, Place, Sectors, TenantId};
use ssdtune_sim::{
    Border, Completion, Footprint, InitialContent, InitialState, Places, Simulator, SnapshotError,
    Tenant,
};
use ssdtune_trace::Request;

/// Drives from this number on have a placement policy that learns from every write.
const UNPLACED: u64 = 30;

fn case(number: u64) -> (DeviceConfig, Vec<Tenant>) {
    let mut config = small();
    config.run.seed = number;
    config.gc.threshold = 0.2;
    config.gc.policy = GcPolicy::UNPLACED[number as usize % GcPolicy::UNPLACED.len()];
    config.mapping.ideal = number.is_multiple_of(3);
    config.mapping.allocation = Allocation::ALL[number as usize / 2 % Allocation::ALL.len()];
    config.cache.mode = if number % 4 == 1 { CacheMode::Off } else { CacheMode::ReadWrite };
    if number % 5 == 4 {
        config.compat = Compat::MQSIM;
        config.flash.blocks_per_plane = 64;
        config.mapping.ideal = true;
    }
    if number % 3 == 1 {
        config.controller.read_time = Nanos(5_000);
        config.controller.write_time = Nanos(8_000);
        config.controller.core_rate = 100_000;
        config.controller.core_times = CommandTimes::Exponential;
        config.controller.pipeline_time = Nanos(6_000);
        config.controller.bandwidth_mbs = 100;
        config.host.request_time = Nanos(4_000);
        if number % 5 != 4 {
            // Tenants of odd drives have a part of the channels.
            config.gc.unit = if number % 2 == 1 { GcUnit::Die } else { GcUnit::Drive };
        }
        config.cache.read_ahead.0 = 3 * 4096 * u64::from(number % 5 != 4);
        config.cache.write_buffer.0 = 16 * 4096 * (number / 2 % 2);
        if number % 4 == 3 && number % 5 != 4 {
            // MLC: two pages a word line.
            config.flash.one_shot = true;
        }
        if number.is_multiple_of(2) && number % 5 != 4 {
            config.slc_cache.static_blocks = 2;
            config.slc_cache.dynamic_above = 0.5;
            config.slc_cache.fold_after = Nanos(100_000);
        }
        config.flash.independent_plane_reads = number % 6 != 4 && number % 5 != 4;
        config.bus.order = BusOrder::ALL[number as usize % BusOrder::ALL.len()];
    }
    if number >= UNPLACED {
        config.placement.policy = PlacementPolicy::Lifespan;
        if number % 2 == 1 {
            config.placement.memory = PlacementMemory::Small;
            config.gc.policy = GcPolicy::RemainingLife;
        }
        config.flash.blocks_per_plane = 192;
    }
    let mut tenants = vec![Tenant::sole(&config)];
    if number % 6 == 5 {
        config.host.interface = HostInterface::Sata;
    } else if number % 2 == 1 {
        let places = Places { channels: vec![1], ..Places::all(&config.flash_geometry()) };
        tenants.push(Tenant { places, writer: true, ..Tenant::sole(&config) });
    }
    (config, tenants)
}

fn requests(number: u64, tenants: usize, sectors: u64) -> Vec<Request> {
    let mix = Mix {
        requests: 1_500,
        seed: number,
        gap_ns: 60_000.0,
        reads: 40,
        trims: 3,
        flushes: 1,
        sectors,
        align: 1,
        pages_max: 12,
    };
    // Two in three requests begin where the one before them has ended.
    let follow = |mut requests: Vec<Request>| {
        for index in 1..requests.len() {
            let before = requests[index - 1];
            let end = before.lba.0 + u64::from(before.sectors);
            if index % 3 > 0 && requests[index].sectors > 0 && end < sectors {
                requests[index].lba = Sectors(end);
            }
        }
        requests
    };
    let mut all: Vec<Request> =
        (0..tenants as u16).flat_map(|tenant| follow(mix.requests(tenant))).collect();
    all.sort_by_key(|request| request.at);
    all
}

fn finish(drive: &mut Simulator, rest: &[Request]) -> (Vec<Completion>, String) {
    rest.iter().for_each(|request| drive.push(*request));
    drive.run_to_end();
    drive.check();
    let report = serde_json::to_string(&drive.report()).expect("a report is JSON");
    (drive.take_completions(), report)
}

/// A drive that has served a share of its requests, and the rest of them.
fn half_way(number: u64, share: f64) -> (DeviceConfig, Vec<Tenant>, Simulator, Vec<Request>) {
    let (config, tenants) = case(number);
    let mut drive = drives::new(&config, &tenants);
    if number.is_multiple_of(2) && number % 5 != 4 {
        let past = InitialContent {
            state: InitialState::Steady,
            occupancy: vec![0.8],
            erases: 2,
            seed: number,
        };
        drive.set_initial_content(&past, &Footprint::default()).expect("room");
    }
    if number % 3 == 1 && config.gc.unit != GcUnit::Drive {
        let places = Places { channels: vec![0], ..tenants[0].places.clone() };
        drive.bind(TenantId(0), &places, true, Border::Open).expect("a channel");
    }
    let size = |tenant| drive.address_space(TenantId::at(tenant)).0 / 512;
    let space = (0..tenants.len()).map(size).min();
    let mut all = requests(number, tenants.len(), space.expect("a tenant") - 200);
    let rest = all.split_off((all.len() as f64 * share) as usize);
    let now = all.last().map_or(Nanos::ZERO, |request| request.at);
    all.iter().for_each(|request| drive.push(*request));
    drive.run_until(now);
    (config, tenants, drive, rest)
}

#[test]
fn a_restored_run_is_the_run_that_was_not_stopped() {
    for number in 0..UNPLACED + 4 {
        let share = (number as f64 * 0.37).fract();
        let (config, tenants, mut drive, rest) = half_way(number, share);
        let bytes = drive.snapshot().expect("a snapshot");
        let again = drive.snapshot().expect("a snapshot");
        assert!(bytes == again, "case {number}: taking a snapshot changes nothing");
        let checked = config.check().expect("legal");
        let mut restored =
            Simulator::restore(&checked, &tenants, drives::WATCH, &bytes).expect("sound");
        restored.check();
        let (expected, found) = (finish(&mut drive, &rest), finish(&mut restored, &rest));
        assert!(expected.0 == found.0, "case {number}: completions differ");
        let memory = |report: &str| {
            let mut report: serde_json::Value = serde_json::from_str(report).expect("JSON");
            // What vectors hold in reserve does not belong to the drive.
            report["simulation"]["ftl_memory_bytes"] = 0.into();
            report.to_string()
        };
        assert!(memory(&expected.1) == memory(&found.1), "case {number}: reports differ");
    }
}

/// Ageing without time leaves what does not know how long commands take.
#[test]
fn a_drive_at_rest_goes_on_with_other_times_as_if_it_had_always_had_them() {
    for number in 0..12 {
        let (config, tenants) = case(number);
        let mut other = config.clone();
        let has_controller = config.controller.read_time > Nanos::ZERO;
        other.controller.write_time = Nanos(if has_controller { 0 } else { 9_000 });
        other.flash.read_latency = config.flash.read_latency.map(|time| Nanos(time.0 * 3));
        other.flash.program_latency = config.flash.program_latency.map(|time| Nanos(time.0 / 2));
        other.suspension.suspend_program = Nanos(70_000);
        assert!(Simulator::differ_in_times_alone(&config, &other));
        let aged = |config: &DeviceConfig| {
            let mut drive = drives::new(config, &tenants);
            let space = drive.address_space(TenantId(0)).0 / 512;
            let writes = requests(number + 100, tenants.len(), space - 200);
            drive.warm_up(writes.into_iter()).expect("room");
            drive
        };
        let (bytes, mut alike) = (aged(&config).snapshot().expect("a snapshot"), aged(&other));
        let checked = other.check().expect("legal");
        let restore = Simulator::restore_with_times;
        let mut found = restore(&checked, &tenants, drives::WATCH, &bytes).expect("at rest");
        found.check();
        let rest = requests(number, tenants.len(), alike.address_space(TenantId(0)).0 / 512 - 200);
        let (expected, found) = (finish(&mut alike, &rest), finish(&mut found, &rest));
        assert!(expected.0 == found.0, "case {number}: completions differ");
    }
}

#[test]
fn only_times_may_change_and_only_at_rest() {
    let (mut config, tenants, drive, _) = half_way(1, 0.5);
    let bytes = drive.snapshot().expect("a snapshot");
    let restore = |config: &DeviceConfig| {
        let checked = config.check().expect("legal");
        Simulator::restore_with_times(&checked, &tenants, drives::WATCH, &bytes).err()
    };
    assert!(matches!(restore(&config), Some(SnapshotError::Busy)));
    let before = config.clone();
    config.gc.threshold = 0.3;
    assert!(!Simulator::differ_in_times_alone(&before, &config));
    assert!(matches!(restore(&config), Some(SnapshotError::OtherDrive { .. })));
}

#[test]
fn damaged_and_foreign_snapshots_are_told_apart() {
    let (config, tenants, drive, _) = half_way(1, 0.5);
    let bytes = drive.snapshot().expect("a snapshot");
    let restore = |config: &DeviceConfig, tenants: &[Tenant], bytes: &[u8]| {
        let checked = config.check().expect("legal");
        Simulator::restore(&checked, tenants, drives::WATCH, bytes).err()
    };
    assert!(restore(&config, &tenants, &bytes).is_none());
    for length in [0, 5, 23] {
        let cut = restore(&config, &tenants, &bytes[..length]);
        assert!(matches!(cut, Some(SnapshotError::Unknown)), "{length}: {cut:?}");
    }
    for cut in [24, bytes.len() / 2, bytes.len() - 1] {
        let cut = restore(&config, &tenants, &bytes[..cut]);
        assert!(matches!(cut, Some(SnapshotError::Damaged { .. })), "{cut:?}");
    }
    for at in (HEADER..bytes.len()).step_by(bytes.len() / 50) {
        let mut changed = bytes.clone();
        changed[at] ^= 1;
        let error = restore(&config, &tenants, &changed);
        assert!(matches!(error, Some(SnapshotError::Damaged { .. })), "{at}: {error:?}");
    }
    let mut newer = bytes.clone();
    newer[8] += 1;
    let error = restore(&config, &tenants, &newer);
    let newest = u32::from(newer[8]);
    assert!(
        matches!(error, Some(SnapshotError::Version { found }) if found == newest),
        "{error:?}"
    );
    let mut other = config.clone();
    other.gc.threshold = 0.3;
    let error = restore(&other, &tenants, &bytes);
    let text = error.map(|error| error.to_string()).unwrap_or_default();
    assert!(text.contains("threshold"), "{text}");
    let error = restore(&config, &tenants[..1], &bytes);
    assert!(matches!(error, Some(SnapshotError::OtherDrive { .. })), "{error:?}");
}

/// Length of the header: magic, version, length, checksum.
const HEADER: usize = 24;
