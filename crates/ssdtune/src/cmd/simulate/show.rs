//! Results for people: one cell in full, several as a table.

use super::CellResult;
use crate::context::Context;
use crate::firmware::FirmwareReport;
use crate::outcome::Outcome;
use crate::table;
use ssdtune_report::Table;
use ssdtune_sim::{OpMetrics, Report, Slowdown, TenantMetrics};

/// Prints the results and warns of what must be known about them.
pub(crate) fn show(cells: &[CellResult], context: &Context) -> Outcome {
    let measured: Vec<(&CellResult, &Report)> =
        cells.iter().filter_map(|cell| cell.report.as_ref().map(|report| (cell, report))).collect();
    match measured.as_slice() {
        [] => {}
        [(cell, report)] if cells.len() == 1 => one(cell, report, context)?,
        several => table_of(several, context)?,
    }
    for (cell, report) in measured {
        for warning in &report.warnings {
            match cells.len() {
                1 => context.warn(warning),
                _ => context.warn(format_args!("cell {}: {warning}", cell.cell)),
            }
        }
    }
    Ok(())
}

fn one(cell: &CellResult, report: &Report, context: &Context) -> Outcome {
    let partial = if report.partial { "  (partial)" } else { "" };
    context.line(format_args!("{} on {}{partial}", cell.workload, report.device))?;
    context.line(format_args!(
        "{} of {} requests completed in {:.6} s of simulated time",
        report.requests.completed, report.requests.arrived, report.time.seconds
    ))?;
    context.line("")?;
    context.line(latencies(report))?;
    context.line("")?;
    drive(report, context)?;
    if report.tenants.len() > 1 {
        context.line("")?;
        context.line(shares(report, cell.slowdown.as_ref()))?;
    }
    if let (Some(first), Some(last)) = (cell.decisions.first(), cell.decisions.last()) {
        context.line(format_args!(
            "allocator       {} at {:.1} ms; {} after {} looks",
            first.strategy,
            first.at_ns as f64 / 1e6,
            last.strategy,
            cell.decisions.len()
        ))?;
    }
    if let Some(slowdown) = &cell.slowdown {
        context.line(format_args!(
            "fairness        {} least over greatest slowdown, Jain's index {}",
            figure(slowdown.min_over_max),
            figure(slowdown.jain_index)
        ))?;
    }
    if let Some(firmware) = &cell.firmware {
        firmware_time(firmware, context)?;
    }
    if !report.never_fired.is_empty() {
        context.line(format_args!("never used      {}", report.never_fired.join(", ")))?;
    }
    Ok(())
}

fn firmware_time(firmware: &FirmwareReport, context: &Context) -> Outcome {
    context.line(format_args!(
        "firmware        {} us a request, {} of firmware and flash time ({})",
        us(firmware.mean_ns),
        firmware.share.map_or("-".to_owned(), percent),
        firmware.target
    ))?;
    let Some(latency) = &firmware.device_latency_ns else { return Ok(()) };
    context.line(format_args!(
        "  with it       mean {} us, p50 {}, p99 {}, p99.9 {}, max {}",
        us(latency.mean),
        us(latency.p50 as f64),
        us(latency.p99 as f64),
        us(latency.p999 as f64),
        us(latency.max as f64)
    ))
}

fn latencies(report: &Report) -> Table {
    let headings =
        ["", "requests", "IOPS", "MB/s", "mean us", "p50", "p95", "p99", "p99.9", "p99.99", "max"];
    let mut table = table::new(&headings);
    let mut rows = |name: &str, metrics: &TenantMetrics| {
        let parts = [("all", &metrics.all), ("read", &metrics.read), ("write", &metrics.write)];
        for (direction, op) in parts.into_iter().filter(|(_, op)| op.requests > 0) {
            table.add_row(row(&format!("{name}{direction}"), op));
        }
    };
    rows("", &report.total);
    if report.tenants.len() > 1 {
        for (index, tenant) in report.tenants.iter().enumerate() {
            rows(&format!("tenant {index} "), &tenant.metrics);
        }
    }
    table.align_right(1..);
    table
}

/// What each tenant has of the drive, and what sharing costs it.
fn shares(report: &Report, slowdown: Option<&Slowdown>) -> Table {
    let mut headings = vec![
        "tenant",
        "write amp.",
        "moved",
        "erased",
        "mapping hits",
        "cache reads",
        "cache writes",
        "energy",
    ];
    if slowdown.is_some() {
        headings.extend(["slowdown", "reads", "writes", "p99"]);
    }
    let mut table = table::new(&headings);
    let rate = |rate: Option<f64>| rate.map_or(String::new(), percent);
    for (index, tenant) in report.tenants.iter().enumerate() {
        let mut row = vec![
            index.to_string(),
            format!("{:.3}", tenant.write_amplification.total),
            tenant.collection.moved_pages.to_string(),
            tenant.collection.blocks_erased.to_string(),
            rate(tenant.mapping.hit_rate),
            rate(tenant.data_cache.read_hit_rate),
            rate(tenant.data_cache.write_hit_rate),
            rate(tenant.energy.share),
        ];
        if let Some(own) = slowdown.and_then(|slowdown| slowdown.tenants.get(index)) {
            let figures = [own.slowdown, own.read_slowdown, own.write_slowdown, own.p99_slowdown];
            row.extend(figures.map(figure));
        }
        table.add_row(row);
    }
    table.align_right(..);
    table
}

fn figure(value: Option<f64>) -> String {
    value.map_or("-".to_owned(), |value| format!("{value:.3}"))
}

fn row(name: &str, op: &OpMetrics) -> Vec<String> {
    let mut row = vec![
        name.to_owned(),
        op.requests.to_string(),
        format!("{:.0}", op.iops),
        format!("{:.1}", op.bandwidth_bytes_per_s / 1e6),
    ];
    if let Some(latency) = &op.device_latency_ns {
        row.push(us(latency.mean));
        let percentiles =
            [latency.p50, latency.p95, latency.p99, latency.p999, latency.p9999, latency.max];
        row.extend(percentiles.map(|ns| us(ns as f64)));
    }
    row
}

fn us(ns: f64) -> String {
    format!("{:.1}", ns / 1e3)
}

fn percent(share: f64) -> String {
    format!("{:.1} %", share * 100.0)
}

fn drive(report: &Report, context: &Context) -> Outcome {
    let wa = &report.write_amplification;
    context.line(format_args!(
        "write amp.      {:.3} (host {:.3}, merge {:.3}, gc {:.3}, wear {:.3}, mapping {:.3})",
        wa.total, wa.host, wa.merge, wa.gc, wa.wear, wa.mapping
    ))?;
    let gc = &report.collection;
    context.line(format_args!(
        "collection      {} blocks for space, {} for wear; {} pages moved, {} blocks erased",
        gc.executions, gc.wear_executions, gc.moved_pages, gc.blocks_erased
    ))?;
    endurance(report, context)?;
    let rate = |rate: Option<f64>| rate.map_or("none asked".to_owned(), percent);
    context.line(format_args!(
        "hits            mapping {}, cache reads {}, cache writes {}",
        if report.mapping.ideal { "ideal".to_owned() } else { rate(report.mapping.hit_rate) },
        rate(report.data_cache.read_hit_rate),
        rate(report.data_cache.write_hit_rate)
    ))?;
    let busy = &report.utilisation;
    context.line(format_args!(
        "busy            channels {}, dies {}, link {} down {} up, DRAM {}",
        percent(busy.channels.mean),
        percent(busy.dies.mean),
        percent(busy.link_down),
        percent(busy.link_up),
        percent(busy.dram)
    ))?;
    let energy = &report.energy;
    context.line(format_args!(
        "energy          {:.3} J: flash {:.3}, DRAM {:.3}, controller {:.3}; {:.3} W on average, {:.3} at most",
        energy.total_j,
        energy.flash.sum(),
        energy.dram.sum(),
        energy.controller.sum(),
        energy.average_power_w,
        energy.peak_power_w
    ))?;
    let gib = |bytes: u64| bytes as f64 / f64::from(1 << 30);
    context.line(format_args!(
        "capacity        {:.2} GiB raw, {:.2} visible, {:.2} hold data, {:.2} free",
        gib(report.capacity.raw_bytes),
        gib(report.capacity.visible_bytes),
        gib(report.capacity.mapped_bytes),
        gib(report.capacity.free_bytes)
    ))
}

/// How long the flash lasts at the rate of the run, if it programs anything.
fn endurance(report: &Report, context: &Context) -> Outcome {
    let endurance = &report.endurance;
    let (Some(days), Some(tbw), Some(now), Some(rated)) = (
        endurance.days,
        endurance.terabytes_written,
        endurance.drive_writes_per_day,
        endurance.drive_writes_per_day_rated,
    ) else {
        return Ok(());
    };
    context.line(format_args!(
        "endurance       {:.2} % of {} cycles used; at this rate {days:.0} days, {tbw:.0} TB written, \
         {now:.2} drive writes a day ({rated:.2} for five years)",
        endurance.used_share_mean * 100.0,
        endurance.rated_cycles
    ))
}

fn table_of(cells: &[(&CellResult, &Report)], context: &Context) -> Outcome {
    let several_workloads = cells.iter().any(|(cell, _)| cell.workload != cells[0].0.workload);
    let keys: Vec<&String> =
        cells.first().map(|(cell, _)| cell.settings.keys().collect()).unwrap_or_default();
    let mut headings = vec!["cell"];
    if several_workloads {
        headings.push("workload");
    }
    headings.extend(keys.iter().map(|key| key.as_str()));
    let figures = headings.len();
    headings.extend([
        "requests",
        "IOPS",
        "MB/s",
        "mean us",
        "p99 us",
        "max us",
        "write amp.",
        "W",
        "",
    ]);
    let mut table = table::new(&headings);
    for (cell, report) in cells {
        let all = &report.total.all;
        let mut row = vec![cell.cell.to_string()];
        if several_workloads {
            row.push(cell.workload.clone());
        }
        row.extend(keys.iter().map(|key| cell.settings.get(*key).cloned().unwrap_or_default()));
        row.extend([
            all.requests.to_string(),
            format!("{:.0}", all.iops),
            format!("{:.1}", all.bandwidth_bytes_per_s / 1e6),
        ]);
        let latency = all.device_latency_ns.as_ref();
        row.extend([
            latency.map(|l| us(l.mean)).unwrap_or_default(),
            latency.map(|l| us(l.p99 as f64)).unwrap_or_default(),
            latency.map(|l| us(l.max as f64)).unwrap_or_default(),
            format!("{:.3}", report.write_amplification.total),
            format!("{:.3}", report.energy.average_power_w),
            if report.partial { "partial".to_owned() } else { String::new() },
        ]);
        table.add_row(row);
    }
    table.align_right(figures..);
    context.line(table)
}
