//! Several tenants on a drive: their shares make up the whole, each bears what it causes, and a
//! tenant that shares with nobody is not slowed down.

use crate::drives::{self, Mix, Ran};
use serde_json::Value;
use ssdtune_model::config::{CacheMode, SuspensionSupport};
use ssdtune_model::{DeviceConfig, Nanos, Sectors, TenantId};
use ssdtune_sim::{Places, Slowdown, Tenant};
use ssdtune_trace::{Op, Request};

const MIX: Mix = Mix {
    requests: 3_000,
    seed: 21,
    gap_ns: 250_000.0,
    reads: 40,
    trims: 3,
    flushes: 1,
    sectors: 8_000,
    align: 1,
    pages_max: 20,
};

fn config() -> DeviceConfig {
    let mut config = drives::small();
    config.flash.blocks_per_plane = 48;
    config.cache.mode = CacheMode::ReadWrite;
    config.mapping.cmt_capacity = ssdtune_model::Bytes(1024);
    config.suspension.support = SuspensionSupport::ProgramErase;
    config.wear.static_threshold = 2;
    config
}

/// Three tenants, of which the last one keeps to one channel.
fn three(config: &DeviceConfig) -> Vec<Tenant> {
    let sole = Tenant::sole(config);
    let bound = Places { channels: vec![1], ..sole.places.clone() };
    vec![sole.clone(), sole.clone(), Tenant { places: bound, ..sole }]
}

fn streams(tenants: u16) -> Vec<Vec<Request>> {
    (0..tenants)
        .map(|tenant| Mix { reads: 20 + 30 * u32::from(tenant), ..MIX }.requests(tenant))
        .collect()
}

/// Every whole number inside a JSON value, with its path.
fn counters(value: &Value, path: &str, into: &mut Vec<(String, u64)>) {
    match value {
        Value::Object(fields) => {
            for (key, value) in fields {
                counters(value, &format!("{path}/{key}"), into);
            }
        }
        other => into.extend(other.as_u64().map(|number| (path.to_owned(), number))),
    }
}

fn share_of_all(ran: &Ran) -> (Value, Vec<Value>) {
    let json = |value: &dyn Fn() -> serde_json::Result<Value>| value().expect("a report is JSON");
    let report = json(&|| serde_json::to_value(&ran.report));
    let tenants = report["tenants"].as_array().expect("tenants").clone();
    (report, tenants)
}

#[test]
fn the_shares_of_all_tenants_make_up_the_whole() {
    for variant in 0..4 {
        let mut config = config();
        match variant {
            1 => config.gc.copyback = true,
            2 => config.compat = ssdtune_model::config::Compat::MQSIM,
            3 => {
                config.ageing.retry_probability = 0.2;
                [config.flash.cache_read, config.flash.cache_program] = [true, true];
                config.cache.mode = CacheMode::Off;
            }
            _ => {}
        }
        let ran = drives::run_tenants(&config, &three(&config), &streams(3));
        let (report, tenants) = share_of_all(&ran);
        for part in ["requests", "flash", "collection", "mapping", "data_cache", "unwritten_reads"]
        {
            let mut all = Vec::new();
            counters(&report[part], "", &mut all);
            all.retain(|(path, _)| path != "/erase_histogram");
            assert!(all.len() >= 2, "{part}");
            for (path, whole) in all {
                let parts = tenants.iter().map(|t| t[part].pointer(&path).and_then(Value::as_u64));
                let sum: u64 = parts.map(|part| part.expect("the same fields")).sum();
                assert_eq!(sum, whole, "{part}{path} in variant {variant}");
            }
        }
        let shares: f64 = ran.report.tenants.iter().filter_map(|tenant| tenant.energy.share).sum();
        assert!((shares - 1.0).abs() < 1e-12);
        let energy = &ran.report.energy;
        let idle = energy.flash.idle_j + energy.dram.background_j + energy.controller.idle_j;
        let work: f64 = ran.report.tenants.iter().map(|tenant| tenant.energy.work_j).sum();
        assert!(((energy.total_j - idle) / work - 1.0).abs() < 1e-9);
        let flash = &ran.report.flash;
        let cached = flash.cache_reads.min(flash.cache_programs).min(flash.read_retries);
        assert_eq!(cached > 0, variant == 3);
        assert!(ran.report.collection.moved_pages > 0 && ran.report.mapping.page_reads > 0);
    }
}

#[test]
fn the_only_tenant_has_caused_everything() {
    let config = config();
    let ran = drives::run_tenants(&config, &[Tenant::sole(&config)], &streams(1));
    let (report, tenants) = (&ran.report, &ran.report.tenants);
    assert_eq!(tenants[0].flash, report.flash);
    assert_eq!(tenants[0].write_amplification, report.write_amplification);
    assert_eq!(tenants[0].mapping, report.mapping);
    assert_eq!(tenants[0].data_cache, report.data_cache);
    assert_eq!(tenants[0].requests, report.requests);
    assert_eq!(tenants[0].collection.executions, report.collection.executions);
    assert_eq!(tenants[0].energy.share, Some(1.0));
}

#[test]
fn each_tenant_bears_what_it_causes() {
    let config = config();
    let sole = Tenant::sole(&config);
    let bound = |channel| Tenant {
        places: Places { channels: vec![channel], ..sole.places.clone() },
        ..sole.clone()
    };
    // One writes again and again, the other only reads what is not there.
    let writes = Mix { reads: 0, trims: 0, ..MIX }.requests(0);
    let reads = Mix { reads: 100, ..MIX }.requests(1);
    let ran = drives::run_tenants(&config, &[bound(0), bound(1)], &[writes, reads]);
    let [writer, reader] = &ran.report.tenants[..] else { panic!("two tenants") };
    assert!(writer.collection.moved_pages > 0 && writer.write_amplification.gc > 0.0);
    assert_eq!(reader.flash.pages_programmed_host + reader.flash.pages_programmed_moved, 0);
    assert_eq!(reader.collection.executions, 0);
    assert_eq!(reader.unwritten_reads.pages, ran.report.unwritten_reads.pages);
    assert!(writer.energy.share > Some(0.9));
}

fn alone(config: &DeviceConfig, tenants: &[Tenant], streams: &[Vec<Request>]) -> Slowdown {
    let shared = drives::run_tenants(config, tenants, streams).report;
    let alone: Vec<_> = (0..streams.len())
        .map(|tenant| {
            let mut only = vec![Vec::new(); streams.len()];
            only[tenant] = streams[tenant].clone();
            drives::run_tenants(config, tenants, &only).report
        })
        .collect();
    Slowdown::of(&shared, &alone)
}

#[test]
fn tenants_slow_each_other_down_unless_they_share_nothing() {
    let mut config = drives::small();
    config.cache.mode = CacheMode::Off;
    config.mapping.ideal = true;
    let sole = Tenant::sole(&config);
    let both = [sole.clone(), sole.clone()];
    let gap_ns = 400_000.0;
    let light = Mix { requests: 400, gap_ns: 10.0 * gap_ns, align: 8, pages_max: 1, ..MIX };
    let heavy = Mix { requests: 4_000, gap_ns, ..light.clone() };
    let together = alone(&config, &both, &[light.requests(0), heavy.requests(1)]);
    let slowdown =
        |slowdown: &Slowdown, tenant: usize| slowdown.tenants[tenant].slowdown.expect("latencies");
    assert!(slowdown(&together, 0) > 1.05, "{together:?}");
    assert!(slowdown(&together, 0) > slowdown(&together, 1), "the light one suffers more");
    assert!(together.min_over_max < Some(1.0) && together.jain_index < Some(1.0));
    // A tenant beside one that does nothing.
    let beside_nobody = alone(&config, &both, &[light.requests(0), Vec::new()]);
    assert_eq!(beside_nobody.tenants[0].slowdown, Some(1.0));
    assert_eq!(beside_nobody.tenants[1].slowdown, None);
    assert_eq!(beside_nobody.min_over_max, None);
}

/// A request of a tenant that the drive does not have is served as one of the last tenant.
#[test]
fn an_unknown_tenant_is_the_last_one() {
    let config = drives::small();
    let mut drive = drives::new(&config, &[Tenant::sole(&config), Tenant::sole(&config)]);
    let (at, lba) = (Nanos::ZERO, Sectors(0));
    drive.push(Request { at, lba, sectors: 8, tenant: TenantId(9), op: Op::Write });
    drive.run_to_end();
    assert_eq!(drive.take_completions()[0].tenant, TenantId(1));
}
