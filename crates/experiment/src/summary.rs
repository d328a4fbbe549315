//! The results of runs as text for people: one run in full, or many runs as the rows of a table.
//!
//! Latencies are in microseconds, bandwidths in megabytes (10^6 bytes) per second, capacities in
//! GiB. A report holds more than what is shown here; its JSON form has everything.

use ssdtune_report::{Table, Text};
use ssdtune_sim::{OpMetrics, Report, Slowdown, TenantMetrics, WriteAmplification};
use std::collections::BTreeMap;

/// A run in full: what was completed, latencies, what the drive did, and the shares of its tenants
/// if there are several. `slowdown` adds what sharing the drive costs each tenant.
pub fn summary(workload: &str, report: &Report, slowdown: Option<&Slowdown>) -> Text {
    let partial = if report.partial { "  (partial)" } else { "" };
    let mut text = Text::new();
    text.line(format_args!("{workload} on {}{partial}", report.device));
    text.line(format_args!(
        "{} of {} requests completed in {:.6} s of simulated time",
        report.requests.completed, report.requests.arrived, report.time.seconds
    ));
    text.line("").table(latencies(report)).line("");
    drive(report, &mut text);
    if report.tenants.len() > 1 {
        text.line("").table(shares(report, slowdown));
    }
    text
}

/// How evenly tenants bear what sharing a drive costs them, in one line.
pub fn fairness(slowdown: &Slowdown) -> String {
    format!(
        "fairness        {} least over greatest slowdown, Jain's index {}",
        ratio(slowdown.min_over_max),
        ratio(slowdown.jain_index)
    )
}

/// A run among many, as a row of [`comparison`].
#[derive(Clone, Copy, Debug)]
pub struct ComparedRun<'a> {
    /// The number by which the run is known.
    pub number: usize,
    /// The name of its workload.
    pub workload: &'a str,
    /// The parameters in which its drive differs from the drives of the other runs.
    pub settings: &'a BTreeMap<String, String>,
    /// Its results.
    pub report: &'a Report,
}

/// A table with a row for each run. The settings of the first run decide which columns there are;
/// the workload has a column if the runs do not all have the same.
pub fn comparison(runs: &[ComparedRun<'_>]) -> Table {
    let several_workloads = runs.iter().any(|run| run.workload != runs[0].workload);
    let keys: Vec<&str> = match runs.first() {
        Some(first) => first.settings.keys().map(String::as_str).collect(),
        None => Vec::new(),
    };
    let mut headings = vec!["cell"];
    headings.extend(several_workloads.then_some("workload"));
    headings.extend(&keys);
    let first_figure = headings.len();
    headings.extend(["requests", "IOPS", "MB/s", "mean us", "p99 us", "max us"]);
    headings.extend(["write amp.", "W", ""]);
    let mut table = Table::new(headings);
    for run in runs {
        let (report, all) = (run.report, &run.report.total.all);
        let mut row = vec![run.number.to_string()];
        row.extend(several_workloads.then(|| run.workload.to_owned()));
        row.extend(keys.iter().map(|key| run.settings.get(*key).cloned().unwrap_or_default()));
        row.extend(rates(all));
        let latency = all.device_latency_ns.as_ref();
        row.extend([
            latency.map(|latency| micros(latency.mean)).unwrap_or_default(),
            latency.map(|latency| micros(latency.p99 as f64)).unwrap_or_default(),
            latency.map(|latency| micros(latency.max as f64)).unwrap_or_default(),
            amplification(&report.write_amplification),
            format!("{:.3}", report.energy.average_power_w),
            if report.partial { "partial".to_owned() } else { String::new() },
        ]);
        table.add_row(row);
    }
    table.align_right(first_figure..);
    table
}

/// Rates and latencies of reads, writes and both; of each tenant too, if there are several.
fn latencies(report: &Report) -> Table {
    let mut table = Table::new([
        "", "requests", "IOPS", "MB/s", "mean us", "p50", "p95", "p99", "p99.9", "p99.99", "max",
    ]);
    let mut add = |name: &str, metrics: &TenantMetrics| {
        let parts = [("all", &metrics.all), ("read", &metrics.read), ("write", &metrics.write)];
        for (direction, op) in parts.into_iter().filter(|(_, op)| op.requests > 0) {
            let mut row = vec![format!("{name}{direction}")];
            row.extend(rates(op));
            if let Some(latency) = &op.device_latency_ns {
                row.push(micros(latency.mean));
                let percentiles =
                    [latency.p50, latency.p95, latency.p99, latency.p999, latency.p9999];
                row.extend(percentiles.map(|ns| micros(ns as f64)));
                row.push(micros(latency.max as f64));
            }
            table.add_row(row);
        }
    };
    add("", &report.total);
    if report.tenants.len() > 1 {
        for (index, tenant) in report.tenants.iter().enumerate() {
            add(&format!("tenant {index} "), &tenant.metrics);
        }
    }
    table.align_right(1..);
    table
}

/// A number of requests a second; one below ten is no whole number.
fn per_second(rate: f64) -> String {
    let decimals = if rate < 9.95 { 2 } else { 0 };
    format!("{rate:.decimals$}")
}

/// The cells for requests, IOPS and MB/s.
fn rates(op: &OpMetrics) -> [String; 3] {
    let megabytes = op.bandwidth_bytes_per_s / 1e6;
    // The bandwidth of slow traces is small and not nothing.
    let decimals = if megabytes > 0.0 && megabytes < 0.95 { 3 } else { 1 };
    let bandwidth = format!("{megabytes:.decimals$}");
    [op.requests.to_string(), per_second(op.iops), bandwidth]
}

/// Write amplification; a hyphen where the host has written no page.
fn amplification(own: &WriteAmplification) -> String {
    match own.host + own.merge > 0.0 {
        true => format!("{:.3}", own.total),
        false => "-".to_owned(),
    }
}

/// What each tenant has of the drive, and what sharing costs it.
fn shares(report: &Report, slowdown: Option<&Slowdown>) -> Table {
    let mut headings = vec!["tenant", "write amp.", "moved", "erased", "mapping hits"];
    headings.extend(["cache reads", "cache writes", "energy"]);
    if slowdown.is_some() {
        headings.extend(["slowdown", "reads", "writes", "p99"]);
    }
    let mut table = Table::new(headings);
    let rate = |rate: Option<f64>| rate.map(percent).unwrap_or_default();
    for (index, tenant) in report.tenants.iter().enumerate() {
        let mut row = vec![
            index.to_string(),
            amplification(&tenant.write_amplification),
            tenant.collection.moved_pages.to_string(),
            tenant.collection.blocks_erased.to_string(),
            rate(tenant.mapping.hit_rate),
            rate(tenant.data_cache.read_hit_rate),
            rate(tenant.data_cache.write_hit_rate),
            rate(tenant.energy.share),
        ];
        if let Some(tenant) = slowdown.and_then(|slowdown| slowdown.tenants.get(index)) {
            let reads_and_writes = [tenant.read_slowdown, tenant.write_slowdown];
            row.push(ratio(tenant.slowdown));
            row.extend(reads_and_writes.map(ratio));
            row.push(ratio(tenant.p99_slowdown));
        }
        table.add_row(row);
    }
    table.align_right(..);
    table
}

/// What the drive did, a line for each part of it.
fn drive(report: &Report, text: &mut Text) {
    let writes = &report.write_amplification;
    text.line(format_args!(
        "write amp.      {} (host {:.3}, merge {:.3}, gc {:.3}, wear {:.3}, mapping {:.3})",
        amplification(writes),
        writes.host,
        writes.merge,
        writes.gc,
        writes.wear,
        writes.mapping
    ));
    let gc = &report.collection;
    text.line(format_args!(
        "collection      {} blocks for space, {} for wear; {} pages moved, {} blocks erased",
        gc.executions, gc.wear_executions, gc.moved_pages, gc.blocks_erased
    ));
    if let Some(cache) = &report.slc_cache {
        text.line(format_args!(
            "SLC cache       {} pages written, {} folded; {} blocks in idle time, {} for space",
            cache.written_pages, cache.folded_pages, cache.idle_folds, cache.pressed_folds
        ));
    }
    endurance(report, text);
    let rate = |rate: Option<f64>| rate.map_or("none asked".to_owned(), percent);
    text.line(format_args!(
        "hits            mapping {}, cache reads {}, cache writes {}",
        if report.mapping.ideal { "ideal".to_owned() } else { rate(report.mapping.hit_rate) },
        rate(report.data_cache.read_hit_rate),
        rate(report.data_cache.write_hit_rate)
    ));
    let busy = &report.utilisation;
    text.line(format_args!(
        "busy            channels {}, dies {}, link {} down {} up, DRAM {}",
        percent(busy.channels.mean),
        percent(busy.dies.mean),
        percent(busy.link_down),
        percent(busy.link_up),
        percent(busy.dram)
    ));
    let energy = &report.energy;
    text.line(format_args!(
        "energy          {:.3} J: flash {:.3}, DRAM {:.3}, controller {:.3}; \
         {:.3} W on average, {:.3} at most",
        energy.total_j,
        energy.flash.sum(),
        energy.dram.sum(),
        energy.controller.sum(),
        energy.average_power_w,
        energy.peak_power_w
    ));
    let gib = |bytes: u64| bytes as f64 / f64::from(1 << 30);
    text.line(format_args!(
        "capacity        {:.2} GiB raw, {:.2} visible, {:.2} hold data, {:.2} free",
        gib(report.capacity.raw_bytes),
        gib(report.capacity.visible_bytes),
        gib(report.capacity.mapped_bytes),
        gib(report.capacity.free_bytes)
    ));
}

/// How long the flash lasts at the rate of the run, if the run programs any flash.
fn endurance(report: &Report, text: &mut Text) {
    let endurance = &report.endurance;
    let (Some(days), Some(tbw), Some(now), Some(rated)) = (
        endurance.days,
        endurance.terabytes_written,
        endurance.drive_writes_per_day,
        endurance.drive_writes_per_day_rated,
    ) else {
        return;
    };
    text.line(format_args!(
        "endurance       {:.2} % of {} cycles used; at this rate {days:.0} days, {tbw:.0} TB \
         written, {now:.2} drive writes a day ({rated:.2} for five years)",
        endurance.used_share_mean * 100.0,
        endurance.rated_cycles
    ));
}

fn ratio(value: Option<f64>) -> String {
    value.map_or("-".to_owned(), |value| format!("{value:.3}"))
}

/// Nanoseconds as microseconds.
fn micros(ns: f64) -> String {
    format!("{:.1}", ns / 1e3)
}

fn percent(share: f64) -> String {
    format!("{:.1} %", share * 100.0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Experiment, RequestSource, RunOptions};
    use ssdtune_model::{Nanos, Sectors, presets};
    use ssdtune_sim::Replay;
    use ssdtune_trace::{Op, Request, TenantId};
    use std::sync::atomic::AtomicBool;

    /// A thousand writes of 16 KiB and no read.
    fn report() -> Report {
        let write = |n: u64| Request {
            at: Nanos(20_000 * n),
            lba: Sectors(32 * n),
            sectors: 32,
            tenant: TenantId(0),
            op: Op::Write,
        };
        let source =
            RequestSource::of_requests("writes", (0..1_000).map(write).collect::<Vec<_>>());
        let drive = presets::load("samsung-850-pro").unwrap().check().unwrap();
        let stop = AtomicBool::new(false);
        let options = RunOptions { stop: &stop, progress: &|_, _| {}, exact_percentiles: false };
        Experiment::new(&drive, source, Replay::Open).run(&options, &mut []).unwrap()
    }

    #[test]
    fn a_run_is_told_in_full_and_without_what_it_has_not() {
        let text = summary("writes", &report(), None).to_string();
        assert!(text.starts_with("writes on samsung-850-pro\n1000 of 1000 requests"), "{text}");
        let begins = |word: &str| text.lines().any(|line| line.trim_start().starts_with(word));
        for word in ["all", "write", "collection", "endurance", "hits", "busy", "energy"] {
            assert!(begins(word), "{word} is missing in {text}");
        }
        assert!(!begins("read") && !begins("tenant"), "{text}");
    }

    #[test]
    fn runs_are_told_apart_by_what_differs() {
        let report = report();
        let settings = |depth: &str| BTreeMap::from([("depth".to_owned(), depth.to_owned())]);
        let (small, large) = (settings("8"), settings("16"));
        let run = |number, workload, settings| ComparedRun {
            number,
            workload,
            settings,
            report: &report,
        };
        let one = comparison(&[run(0, "a", &small), run(1, "a", &large)]).to_string();
        assert!(
            one.contains("depth") && one.contains(" 16 ") && !one.contains("workload"),
            "{one}"
        );
        let two = comparison(&[run(0, "a", &small), run(1, "b", &small)]).to_string();
        assert!(two.contains("workload"), "{two}");
        assert_eq!(comparison(&[]).to_string().lines().count(), 1);
    }
}
