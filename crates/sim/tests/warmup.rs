//! A drive that was aged without time is the drive that served the same requests in time, one after
//! the other.

use crate::drives::{self, Mix, small};
use ssdtune_model::config::{CacheMode, GcPolicy};
use ssdtune_model::{DeviceConfig, Nanos, TenantId};
use ssdtune_sim::{Completion, Filling, Report, Simulator, Tenant};
use ssdtune_trace::Request;

fn drive(config: &DeviceConfig) -> Simulator {
    let tenants = [Tenant::sole(config)];
    Simulator::new(&config.check().expect("legal"), &tenants, drives::WATCH).expect("a drive")
}

/// Serves requests from a time on, and returns what became of them.
fn serve(drive: &mut Simulator, from: Nanos, requests: &[Request]) -> (Vec<Completion>, Report) {
    drive.run_until(from);
    drive.take_completions();
    for request in requests {
        drive.push(Request { at: from + request.at, ..*request });
    }
    drive.run_to_end();
    drive.check();
    let completions = drive.take_completions();
    (completions.iter().map(|c| Completion { number: 0, ..*c }).collect(), drive.report())
}

#[test]
fn ageing_without_time_is_serving_one_request_after_the_other() {
    let policies =
        [GcPolicy::Greedy, GcPolicy::Fifo, GcPolicy::Rga, GcPolicy::CostBenefit, GcPolicy::Random];
    for (seed, policy) in policies.into_iter().enumerate() {
        for ideal in [true, false] {
            let mut config = small();
            config.cache.mode = CacheMode::Off;
            config.mapping.ideal = ideal;
            config.gc.policy = policy;
            config.gc.threshold = 0.2;
            config.wear.static_threshold = 4;
            // Nothing overlaps: a collection has long ended when the next request comes.
            let past = Mix {
                requests: 6_000,
                seed: seed as u64,
                gap_ns: 0.0,
                reads: 20,
                trims: 3,
                flushes: 0,
                sectors: 13_000,
                align: 8,
                pages_max: 1,
            };
            let mut history = past.requests(0);
            for (index, request) in history.iter_mut().enumerate() {
                request.at = Nanos(index as u64 * 1_000_000_000);
            }
            let future =
                Mix { requests: 1_500, gap_ns: 200_000.0, align: 1, pages_max: 20, ..past };
            let future = future.requests(0);
            let now = Nanos(10_000_000_000_000);

            let mut served = drive(&config);
            let (_, report) = serve(&mut served, Nanos(0), &history);
            assert!(report.collection.executions > 50, "{policy:?}: nothing to compare");
            let (by_time, with_time) = serve(&mut served, now, &future);

            let mut aged = drive(&config);
            aged.warm_up(history.iter().copied()).expect("room");
            let (by_age, without) = serve(&mut aged, now, &future);

            let in_time = with_time.collection.executions - report.collection.executions;
            // Random victims free so little that writes are held back and victims are drawn at
            // other moments.
            if ideal && policy != GcPolicy::Random {
                // Not `assert_eq`: a list of 1,500 completions is no message.
                assert!(by_time == by_age, "{policy:?}: completions differ");
                let histogram = |report: &Report| report.collection.erase_histogram.clone();
                assert_eq!(histogram(&with_time), histogram(&without));
                assert_eq!(with_time.capacity, without.capacity);
                assert_eq!(in_time, without.collection.executions);
            } else {
                // A write-back of mappings is still under way when the page is placed, so the
                // places differ.
                assert_eq!(with_time.capacity.mapped_bytes, without.capacity.mapped_bytes);
                let ratio = in_time as f64 / without.collection.executions as f64;
                assert!((0.9..1.1).contains(&ratio), "{policy:?}: {ratio}");
            }
        }
    }
}

#[test]
fn a_filled_drive_has_no_unwritten_page_and_collects_at_once() {
    let mut config = small();
    config.cache.mode = CacheMode::Off;
    let mut drive = drive(&config);
    let filling = Filling { occupancy: 1.0, overwrites: 5, seed: 1 };
    let requests = drive.filling(TenantId(0), filling);
    drive.warm_up(requests).expect("room");
    let sectors = drive.address_space(TenantId(0)).sectors_floor().0 / 8 * 8;
    let mix = Mix {
        requests: 2_000,
        seed: 9,
        gap_ns: 300_000.0,
        reads: 50,
        trims: 0,
        flushes: 0,
        sectors,
        align: 8,
        pages_max: 1,
    };
    let (_, report) = serve(&mut drive, Nanos(0), &mix.requests(0));
    assert_eq!(report.unwritten_reads.pages, 0);
    assert_eq!(report.simulation.warm_up_pages, sectors / 8 * 6);
    assert!(report.write_amplification.gc > 0.3, "{:?}", report.write_amplification);
}
