//! What drives did with workloads: one simulation in full, several beside each other.

use crate::Shown;
use crate::read::{self, NOTHING, each, number, percent, said, text, time};
use serde_json::Value;
use ssdtune_report::{Axis, Bar, BarChart, Chart, HeatMap, Page, Series, Table};

/// The percentiles of a report, and how many nines they have.
const PERCENTILES: [(&str, &str, f64); 6] = [
    ("p50", "50 %", 0.301),
    ("p90", "90 %", 1.0),
    ("p95", "95 %", 1.301),
    ("p99", "99 %", 2.0),
    ("p999", "99.9 %", 3.0),
    ("p9999", "99.99 %", 4.0),
];
/// Why pages were programmed.
const CAUSES: [(&str, &str); 5] = [
    ("host", "host"),
    ("merge", "host, read first"),
    ("gc", "collection"),
    ("wear", "wear levelling"),
    ("mapping", "mapping"),
];
/// Cells that are drawn beside each other; further ones are in the table.
const DRAWN_MAX: usize = 8;
/// Dies in a row of their heat map, and half of what a row may have: where a drive has more than
/// one channel, a row has as many dies as there are channels, up to twice this, so that a column
/// is a channel.
const COLUMNS: usize = 8;

/// A cell, and what to call it.
struct Cell<'a> {
    name: String,
    value: &'a Value,
    report: &'a Value,
    series: Option<&'a str>,
}

pub(crate) fn title(document: &Value) -> String {
    match each(document, "cells") {
        [cell] => {
            let [drive, load] = ["device", "workload"].map(|of| text(cell, of).unwrap_or("?"));
            format!("{drive} under {load}")
        }
        cells => format!("{} simulations", cells.len()),
    }
}

pub(crate) fn body(page: &mut Page, documents: &[Shown]) {
    let cells: Vec<Cell<'_>> = documents.iter().flat_map(|one| cells(one, documents)).collect();
    let done: Vec<&Cell<'_>> = cells.iter().filter(|cell| cell.report.is_object()).collect();
    page.lead(&headline(&done, cells.len()));
    if done.len() > 1 {
        page.paragraph("Each ran once, so the differences have no interval; other seeds make one.");
    }
    page.table(&overview(&cells));
    for cell in &done {
        for warning in each(cell.report, "warnings") {
            page.note(&format!("{}: {}.", cell.name, read::cell(warning).trim_end_matches('.')));
        }
    }
    if done.is_empty() {
        return;
    }
    let drawn = &done[..done.len().min(DRAWN_MAX)];
    page.heading("Latency").chart(&percentiles(drawn).to_svg()).table(&percentile_table(&done));
    page.heading("Pages programmed for each page of the host, by cause");
    page.chart(&causes(drawn).to_svg());
    for cell in drawn.iter().filter(|cell| cell.series.is_some()) {
        time_series(page, cell);
    }
    if let [cell] = done[..] {
        single(page, cell);
    } else {
        page.heading("Energy").chart(&energy(drawn).to_svg());
    }
}

fn cells<'a>(shown: &'a Shown, all: &[Shown]) -> Vec<Cell<'a>> {
    let named = |cell: &'a Value| {
        let [drive, load] = ["device", "workload"].map(|of| text(cell, of).unwrap_or("?"));
        let settings: Vec<String> = read::fields(cell, "settings")
            .into_iter()
            .map(|(key, value)| format!("{key}={}", read::cell(value)))
            .collect();
        let mut words = vec![drive.to_owned(), load.to_owned()];
        words.extend(settings);
        if all.len() > 1 {
            words.insert(0, shown.name.clone());
        }
        let file = text(cell, "series");
        let series = shown.series.iter().find(|(name, _)| Some(name.as_str()) == file);
        let series = series.map(|(_, text)| text.as_str());
        Cell { name: words.join(", "), value: cell, report: read::at(cell, "report"), series }
    };
    each(&shown.document, "cells").iter().map(named).collect()
}

fn latency(cell: &Cell<'_>, figure: &str) -> Option<f64> {
    number(cell.report, &format!("total.all.device_latency_ns.{figure}"))
}

fn headline(done: &[&Cell<'_>], all: usize) -> String {
    let power = |cell: &Cell<'_>| {
        said(number(cell.report, "energy.average_power_w"), |watts| format!("{watts:.2} W"))
    };
    match done {
        [] => format!("None of {all} simulations came to its end."),
        [cell] => format!(
            "{} requests took {} on average and 99 % of them at most {}, at {} requests/s and {}. \
             Each page of the host cost {} pages of flash; average power {}.",
            said(number(cell.report, "requests.completed"), read::count),
            said(latency(cell, "mean"), time),
            said(latency(cell, "p99"), time),
            said(number(cell.report, "total.all.iops"), read::rate),
            said(number(cell.report, "total.all.bandwidth_bytes_per_s"), read::bandwidth),
            said(number(cell.report, "write_amplification.total"), |of| format!("{of:.2}")),
            power(cell)
        ),
        many => {
            let known = many.iter().filter_map(|cell| Some((cell, latency(cell, "mean")?)));
            let mut known: Vec<_> = known.collect();
            known.sort_by(|a, b| a.1.total_cmp(&b.1));
            match (known.first(), known.last()) {
                (Some((best, least)), Some((_, most))) => format!(
                    "Of {all} simulations, {} has the least mean latency: {} at {}. The slowest \
                     takes {:.2} times as long.",
                    best.name,
                    time(*least),
                    power(best),
                    most / least
                ),
                _ => format!("{all} simulations."),
            }
        }
    }
}

fn overview(cells: &[Cell<'_>]) -> Table {
    let names = [
        "simulation",
        "outcome",
        "mean",
        "p50",
        "p99",
        "p99.9",
        "requests/s",
        "bandwidth",
        "write amplification",
        "power",
    ];
    let mut table = Table::new(names);
    for cell in cells {
        let of = |path: &str, words: fn(f64) -> String| said(number(cell.report, path), words);
        let outcome = text(cell.report, "outcome").or_else(|| text(cell.value, "error"));
        table.add_row([
            cell.name.clone(),
            outcome.unwrap_or(NOTHING).to_owned(),
            said(latency(cell, "mean"), time),
            said(latency(cell, "p50"), time),
            said(latency(cell, "p99"), time),
            said(latency(cell, "p999"), time),
            of("total.all.iops", read::rate),
            of("total.all.bandwidth_bytes_per_s", read::bandwidth),
            of("write_amplification.total", read::plain),
            of("energy.average_power_w", |watts| format!("{watts:.2} W")),
        ]);
    }
    table.align_right(2..);
    table
}

/// Lines over the share of requests that are faster, drawn by how many nines it has.
fn percentiles(cells: &[&Cell<'_>]) -> Chart {
    let mut chart = Chart::new(
        "Latency that a share of the requests stays below",
        Axis::new("nines of the share: 1 is 90 %, 2 is 99 %, 3 is 99.9 %"),
        Axis::new("latency").in_unit("us"),
    );
    let line = |cell: &Cell<'_>, kind: &str| -> Vec<(f64, f64)> {
        let place = |(name, _, nines): &(&str, &str, f64)| {
            let path = format!("total.{kind}.device_latency_ns.{name}");
            Some((*nines, number(cell.report, &path)? / 1e3))
        };
        PERCENTILES.iter().filter_map(place).collect()
    };
    if let [cell] = cells {
        for (kind, name) in [("read", "reads"), ("write", "writes")] {
            let points = line(cell, kind);
            chart.add(Series::line(points.iter().copied()).named(name));
        }
        return chart;
    }
    for cell in cells {
        chart.add(Series::line(line(cell, "all")).named(&cell.name));
    }
    chart
}

fn percentile_table(cells: &[&Cell<'_>]) -> Table {
    let names = PERCENTILES.map(|(_, name, _)| name);
    let mut table = Table::new(["requests", "mean"].into_iter().chain(names).chain(["most"]));
    for cell in cells {
        for (kind, name) in [("read", "reads"), ("write", "writes"), ("all", "all")] {
            let path = format!("total.{kind}.device_latency_ns");
            let of = |figure: &str| said(number(cell.report, &format!("{path}.{figure}")), time);
            let name = match cells.len() {
                1 => name.to_owned(),
                _ => format!("{}, {name}", cell.name),
            };
            let figures = PERCENTILES.iter().map(|(figure, ..)| of(figure));
            table.add_row([name, of("mean")].into_iter().chain(figures).chain([of("max")]));
        }
    }
    table.align_right(1..);
    table
}

fn causes(cells: &[&Cell<'_>]) -> BarChart {
    let axis = Axis::new("pages programmed over pages of the host");
    let names = CAUSES.map(|(_, name)| name);
    let mut chart = BarChart::new("Write amplification", axis, names).stacked();
    for cell in cells {
        let part = |(cause, _): &(&str, &str)| {
            Bar::new(number(cell.report, &format!("write_amplification.{cause}")))
        };
        chart.add(&cell.name, CAUSES.iter().map(part));
    }
    chart
}

fn energy(cells: &[&Cell<'_>]) -> BarChart {
    let parts = [
        ("flash.read_j", "flash reads"),
        ("flash.program_j", "flash programs"),
        ("flash.erase_j", "erases"),
        ("flash.transfer_j", "channels"),
        ("flash.idle_j", "dies at rest"),
        ("dram.background_j", "DRAM at rest"),
        ("controller.idle_j", "controller at rest"),
        ("controller.requests_j", "controller's work"),
    ];
    let names = parts.map(|(_, name)| name);
    let mut chart = BarChart::new("Energy", Axis::new("energy").in_unit("J"), names).stacked();
    for cell in cells {
        let part =
            |(path, _): &(&str, &str)| Bar::new(number(cell.report, &format!("energy.{path}")));
        chart.add(&cell.name, parts.iter().map(part));
    }
    chart
}

/// What only one simulation has room for.
fn single(page: &mut Page, cell: &Cell<'_>) {
    page.heading("How busy the flash was");
    let channels = read::each(cell.report, "utilisation.channels.each");
    let dies = read::each(cell.report, "utilisation.dies.each");
    for (what, each, wide) in [
        ("channel", channels, channels.len().clamp(1, 2 * COLUMNS)),
        ("die", dies, if channels.len() > 1 { channels.len().min(2 * COLUMNS) } else { COLUMNS }),
    ] {
        if !each.is_empty() {
            page.chart(&busy(what, each, wide).to_svg());
        }
    }
    let mut table = Table::new(["part", "busy, mean", "least", "most"]);
    for part in ["channels", "dies"] {
        let of = |figure: &str| {
            said(number(cell.report, &format!("utilisation.{part}.{figure}")), percent)
        };
        table.add_row([part.to_owned(), of("mean"), of("min"), of("max")]);
    }
    for (part, name) in
        [("link_down", "link, to the drive"), ("link_up", "link, to the host"), ("dram", "DRAM")]
    {
        let own = said(number(cell.report, &format!("utilisation.{part}")), percent);
        table.add_row([name.to_owned(), own, NOTHING.to_owned(), NOTHING.to_owned()]);
    }
    table.align_right(1..);
    page.table(&table);
    page.heading("Energy").chart(&energy(&[cell]).to_svg());
    for (name, what) in [
        ("collection", "Collection"),
        ("endurance", "Endurance"),
        ("capacity", "Capacity"),
        ("mapping", "Mapping table"),
        ("data_cache", "Data cache"),
    ] {
        let mut table = Table::new(["", ""]);
        for (field, value) in read::fields(cell.report, name) {
            if !value.is_array() {
                table.add_row([field.replace('_', " "), read::cell(value)]);
            }
        }
        table.align_right(1..);
        page.heading(what).table(&table);
    }
}

fn busy(what: &str, each: &[Value], wide: usize) -> HeatMap {
    let columns = (0..wide).map(|column| column.to_string());
    let mut map = HeatMap::new(
        format!("Share of the time that each {what} works"),
        format!("{what}, counted along the rows"),
        columns,
    );
    for (row, values) in each.chunks(wide).enumerate() {
        let values = values.iter().map(|value| value.as_f64().unwrap_or(0.0));
        map.add_row((row * wide).to_string(), values);
    }
    map
}

/// Latency and rate over time, with the intervals in which something was collected.
fn time_series(page: &mut Page, cell: &Cell<'_>) {
    let Some((heading, rows)) = cell.series.and_then(|text| text.split_once('\n')) else { return };
    let names: Vec<&str> = heading.trim().split(',').collect();
    let column = |name: &str| names.iter().position(|own| *own == name);
    let rows: Vec<Vec<&str>> = rows.lines().map(|row| row.split(',').collect()).collect();
    let of = |row: &[&str], name: &str| -> Option<f64> { row.get(column(name)?)?.parse().ok() };
    let points = |name: &str, scale: f64| -> Vec<(f64, f64)> {
        let point = |row: &Vec<&str>| Some((of(row, "end_ns")? / 1e9, of(row, name)? * scale));
        rows.iter().filter_map(point).collect()
    };
    page.heading(&format!("Over time: {}", cell.name));
    let seconds = || Axis::new("simulated time").in_unit("s");
    let mut latency =
        Chart::new("Latency over time", seconds(), Axis::new("latency").in_unit("us"));
    let mean = points("device_latency_mean_ns", 1e-3);
    let collected: Vec<(f64, f64)> = rows
        .iter()
        .filter(|row| of(row, "pages_programmed_moved").is_some_and(|pages| pages > 0.0))
        .filter_map(|row| {
            Some((of(row, "end_ns")? / 1e9, of(row, "device_latency_mean_ns")? * 1e-3))
        })
        .collect();
    latency.add(Series::line(mean).named("mean"));
    latency.add(Series::line(points("device_latency_p99_ns", 1e-3)).named("p99"));
    latency.add(Series::rings(collected).named("collection at work"));
    let mut rate =
        Chart::new("Requests over time", seconds(), Axis::new("requests").in_unit("1/s"));
    rate.add(Series::line(points("iops", 1.0)));
    page.chart(&latency.to_svg()).chart(&rate.to_svg());
}
