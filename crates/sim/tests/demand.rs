//! Tenants get other channels while the drive runs: nothing is lost, and what is not switched does
//! not change.

use crate::drives::{self, Mix};
use ssdtune_model::config::{Allocation, CacheMode};
use ssdtune_model::{DeviceConfig, Nanos, Sectors};
use ssdtune_sim::{
    Border, Completion, Demand, Footprint, InitialContent, InitialState, Look, Outcome, Places,
    Simulator, Stream, Tenant,
};
use ssdtune_trace::{Op, Request, TenantId};

const MIX: Mix = Mix {
    requests: 4_000,
    seed: 5,
    gap_ns: 300_000.0,
    reads: 45,
    trims: 3,
    flushes: 1,
    sectors: 6_000,
    align: 1,
    pages_max: 20,
};

fn config(variant: u32) -> DeviceConfig {
    let mut config = drives::small();
    config.flash.blocks_per_plane = 48;
    config.mapping.allocation =
        if variant & 4 == 0 { Allocation::Hybrid } else { Allocation::Static };
    config.cache.mode = if variant & 1 == 0 { CacheMode::Off } else { CacheMode::ReadWrite };
    config.mapping.ideal = variant & 2 == 0;
    config
}

fn drive(config: &DeviceConfig) -> Simulator {
    drives::new(config, &vec![Tenant::sole(config); 3])
}

fn streams() -> Vec<Stream<'static>> {
    (0..3)
        .map(|tenant| {
            let mix = Mix { reads: 10 + 40 * u32::from(tenant), ..MIX };
            Stream {
                tenant: Some(TenantId(tenant)),
                ..Stream::open(mix.requests(tenant).into_iter())
            }
        })
        .collect()
}

fn places(config: &DeviceConfig, channels: &[u32]) -> Places {
    Places { channels: channels.to_vec(), ..Places::all(&config.flash_geometry()) }
}

/// Runs the drive, and does something at the end of each interval.
fn run(
    mut drive: Simulator,
    mut act: impl FnMut(&mut Simulator, u32),
) -> (Simulator, Vec<Completion>) {
    let mut interval = 0;
    let outcome = drive.run_in_intervals(streams(), Nanos::from_ms(20), |drive, look| {
        if matches!(look, Look::IntervalEnd(_)) {
            act(drive, interval);
            interval += 1;
        }
        true
    });
    assert_eq!(outcome, Outcome::Completed);
    let completions = drive.take_completions();
    drive.check();
    (drive, completions)
}

#[test]
fn a_drive_that_switches_all_the_time_loses_nothing() {
    for variant in 0..8 {
        let config = config(variant);
        let (drive, completions) = run(drive(&config), |drive, interval| {
            let channels: &[u32] = match interval % 3 {
                0 => &[0],
                1 => &[1],
                _ => &[0, 1],
            };
            let tenant = TenantId((interval / 3 % 3) as u16);
            // The last two static drives have closed borders alone.
            let is_open = interval % 5 == 0 && variant < 6;
            let border = if is_open { Border::Open } else { Border::Closed };
            let own = places(&config, channels);
            drive.bind(tenant, &own, interval % 2 == 0, border).expect("channels");
            drive.check();
        });
        assert_eq!(completions.len(), 3 * MIX.requests, "variant {variant}");
        assert_eq!(drive.in_flight(), 0);
        let report = drive.report();
        assert!(report.collection.moved_pages > 0, "variant {variant}: collection met a switch");
        // The sequence of each tenant's requests is complete.
        for tenant in 0..3 {
            let mut numbers: Vec<u64> = completions
                .iter()
                .filter(|c| c.tenant == TenantId(tenant))
                .map(|c| c.number)
                .collect();
            numbers.sort_unstable();
            assert_eq!(numbers, (0..MIX.requests as u64).collect::<Vec<_>>());
        }
    }
}

#[test]
fn binding_to_where_a_tenant_is_changes_nothing() {
    for variant in 0..4 {
        let mut config = config(variant);
        config.mapping.allocation = Allocation::Static;
        let (left, alone) = run(drive(&config), |_, _| {});
        let (bound, again) = run(drive(&config), |drive, interval| {
            let all = Places::all(&config.flash_geometry());
            let tenant = TenantId((interval % 3) as u16);
            drive.bind(tenant, &all, true, Border::Open).expect("channels");
        });
        assert_eq!(alone, again, "variant {variant}");
        let json = |drive: &Simulator| serde_json::to_string(&drive.report()).expect("a report");
        assert_eq!(json(&left), json(&bound), "variant {variant}");
    }
}

#[test]
fn written_data_stay_readable_where_they_are_and_new_data_go_to_the_new_channels() {
    let mut config = config(0);
    config.mapping.allocation = Allocation::Static;
    let mut drive = drive(&config);
    let past = InitialContent {
        state: InitialState::Sequential,
        occupancy: vec![0.2],
        erases: 0,
        seed: 1,
    };
    drive.set_initial_content(&past, &Footprint::default()).expect("room");
    drive.bind(TenantId(1), &places(&config, &[1]), false, Border::Closed).expect("channels");
    let request = |at, page: u64, op| Request {
        at: Nanos(at),
        lba: Sectors(page * 8),
        sectors: 8,
        tenant: TenantId(1),
        op,
    };
    // Pages that the drive held at the start are read where they are, on both channels. When they
    // have been rewritten, they all lie on channel 1.
    for page in 0..64 {
        drive.push(request(page * 1_000_000, page, Op::Read));
    }
    drive.run_to_end();
    let busy = |drive: &Simulator| -> Vec<f64> {
        let report = drive.report();
        report.utilisation.channels.each.iter().map(|share| share * report.time.seconds).collect()
    };
    let read = busy(&drive);
    assert!(read[0] > 0.3 * read[1] && read[1] > 0.3 * read[0], "{read:?}");
    assert_eq!(drive.report().unwritten_reads.pages, 0);
    let start = drive.now().0;
    for page in 0..64 {
        drive.push(request(start + page * 1_000_000, page, Op::Write));
    }
    drive.run_to_end();
    let written = busy(&drive);
    assert!((written[0] - read[0]).abs() < 1e-9, "nothing was written to channel 0");
    assert!(written[1] > 1.5 * read[1], "{read:?} {written:?}");
    let start = drive.now().0;
    for page in 0..64 {
        drive.push(request(start + page * 1_000_000, page, Op::Read));
    }
    drive.run_to_end();
    assert!((busy(&drive)[0] - read[0]).abs() < 1e-9, "and nothing is left there to read");
    assert_eq!(drive.report().unwritten_reads.pages, 0);
    drive.check();
}

/// Time that each channel was busy, in seconds, while a tenant bound to channel 1 wrote 64 pages:
/// each `gap` after the one before, or with one request.
fn busy_writing(border: Border, gap: Option<Nanos>) -> Vec<f64> {
    let mut config = config(0);
    config.mapping.allocation = Allocation::Static;
    let mut drive = drive(&config);
    drive.bind(TenantId(1), &places(&config, &[1]), false, border).expect("channels");
    let write = |at, page: u64, pages: u32| Request {
        at,
        lba: Sectors(page * 8),
        sectors: pages * 8,
        tenant: TenantId(1),
        op: Op::Write,
    };
    match gap {
        Some(gap) => (0..64).for_each(|page| drive.push(write(Nanos(page * gap.0), page, 1))),
        None => drive.push(write(Nanos(0), 0, 64)),
    }
    drive.run_to_end();
    drive.check();
    let report = drive.report();
    report.utilisation.channels.each.iter().map(|share| share * report.time.seconds).collect()
}

#[test]
fn writes_leave_their_channels_over_an_open_border_if_they_would_wait_there() {
    let slowly = Some(Nanos::from_ms(10));
    let alone = busy_writing(Border::Closed, slowly);
    assert_eq!(alone[0], 0.0, "{alone:?}");
    assert_eq!(busy_writing(Border::Open, slowly), alone, "nothing waits");
    for at_once in [Some(Nanos(0)), None] {
        assert_eq!(busy_writing(Border::Closed, at_once)[0], 0.0);
        let spread = busy_writing(Border::Open, at_once);
        assert!(spread[0] > 0.8 * spread[1] && spread[1] >= spread[0], "{at_once:?} {spread:?}");
    }
}

#[test]
fn demand_is_what_the_requests_ask_for() {
    let config = config(0);
    let (drive, _) = run(drive(&config), |_, _| {});
    let demands: Vec<Demand> = drive.demands().collect();
    for (tenant, demand) in demands.iter().enumerate() {
        let mix = Mix { reads: 10 + 40 * tenant as u32, ..MIX };
        let mut expected = Demand::default();
        for request in mix.requests(tenant as u16) {
            let end = request.lba.0 + u64::from(request.sectors.max(1));
            expected.count(request.op, (end - 1) / 8 - request.lba.0 / 8 + 1);
        }
        assert_eq!(*demand, expected);
        let none = demand.since(demand);
        assert_eq!(none, Demand::default());
    }
    assert_eq!(drives::new(&config, &[Tenant::sole(&config)]).demands().count(), 0);
}
