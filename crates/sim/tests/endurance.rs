//! Endurance against closed forms: a drive that programs nothing but the pages of the host lasts
//! for its raw capacity times the rated cycles.

use crate::drives;
use ssdtune_model::config::CacheMode;
use ssdtune_model::{Nanos, Sectors};
use ssdtune_sim::{
    Endurance, Footprint, InitialContent, InitialState, Observe, Simulator, Stream, Tenant,
};
use ssdtune_trace::{Op, Request, TenantId};

const CYCLES: u32 = 3_000;
const ERASED: u32 = 750;
const GAP_NS: u64 = 2_000_000;

/// The endurance after requests of one page in the order of addresses, two milliseconds apart.
fn after(requests: u64, op: Op, erases: u32) -> Endurance {
    let mut config = drives::small();
    config.flash.pe_cycles_limit = CYCLES;
    config.cache.mode = CacheMode::Off;
    config.mapping.ideal = true;
    let config = config.check().expect("a sound drive");
    let mut drive =
        Simulator::new(&config, &[Tenant::sole(&config)], Observe::default()).expect("a drive");
    let content =
        InitialContent { state: InitialState::Sequential, occupancy: vec![0.1], erases, seed: 1 };
    drive.set_initial_content(&content, &Footprint::default()).expect("room");
    let request = |n: u64| Request {
        at: Nanos(n * GAP_NS),
        lba: Sectors(n * 8),
        sectors: 8,
        tenant: TenantId(0),
        op,
    };
    drive.run(vec![Stream::open((0..requests).map(request))], |_| true);
    let report = drive.report();
    assert_eq!(
        report.flash.blocks_erased, 0,
        "the closed form is of a drive that collects nothing"
    );
    report.endurance
}

fn close(a: Option<f64>, b: f64) {
    let a = a.expect("a run that writes has a rate of wear");
    assert!((a / b - 1.0).abs() < 0.01, "{a} is not {b}");
}

#[test]
fn a_drive_without_amplification_lasts_for_its_raw_capacity_times_its_cycles() {
    let config = drives::small();
    let page = f64::from(config.flash.page_bytes);
    let raw_bytes = config.geometry().pages() as f64 * page;
    let writes = 400;
    let endurance = after(writes, Op::Write, ERASED);
    let terabytes = raw_bytes * f64::from(CYCLES) / 1e12;
    close(endurance.terabytes_written, terabytes);
    let days = terabytes * 1e12 / page * (GAP_NS as f64 / 1e9) / 86_400.0;
    close(endurance.days, days);
    let visible = raw_bytes * (1.0 - config.mapping.overprovisioning);
    close(endurance.drive_writes_per_day, terabytes * 1e12 / visible / days);
    close(endurance.drive_writes_per_day_rated, terabytes * 1e12 / visible / (5.0 * 365.0));
}

#[test]
fn what_is_used_up_counts_erases_before_the_run() {
    let endurance = after(10, Op::Write, ERASED);
    assert!((endurance.used_share_mean - 0.25).abs() < 1e-12, "{}", endurance.used_share_mean);
    assert_eq!(endurance.used_share_worst, 0.25);
    assert_eq!(after(10, Op::Write, 0).used_share_worst, 0.0);
}

#[test]
fn a_run_that_programs_nothing_has_no_rate_of_wear() {
    let endurance = after(10, Op::Read, ERASED);
    assert_eq!((endurance.days, endurance.terabytes_written), (None, None));
    assert_eq!(endurance.drive_writes_per_day_rated, None);
}
