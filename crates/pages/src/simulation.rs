//! What drives did with workloads: one simulation in full, several beside each other.

use crate::Shown;
use crate::fields;
use crate::parameters;
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
/// Cells in a row of a heat map, at most.
const COLUMNS: usize = 16;
/// Mean latencies up to this many times as long are told as equal: 0.1 % is not worth a rank.
const EQUAL: f64 = 1.001;
/// Points of a line over time, at most; of more intervals, neighbours are told as one.
const POINTS_MAX: usize = 1_000;

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
    if let Some(more) = done.len().checked_sub(DRAWN_MAX).filter(|more| *more > 0) {
        page.paragraph(&format!("Charts show the first {DRAWN_MAX}; in tables alone: {more}."));
    }
    page.heading("Latency").chart(&percentiles(drawn).to_svg()).table(&percentile_table(&done));
    if drawn.iter().any(|cell| writes(cell)) {
        page.heading("Pages programmed for each page of the host, by cause");
        page.chart(&causes(drawn).to_svg());
    }
    for cell in drawn.iter().filter(|cell| cell.series.is_some()) {
        time_series(page, cell);
    }
    if let [cell] = done[..] {
        single(page, cell);
    } else {
        page.heading("Energy").chart(&energy(drawn).to_svg());
    }
    let drives: Vec<_> = done.iter().map(|cell| (cell.name.as_str(), cell.value)).collect();
    parameters::add_differences(page, &drives);
}

/// What a cell of a document is called.
pub(crate) fn name(cell: &Value) -> String {
    let settings = read::fields(cell, "settings").into_iter();
    let settings = settings.map(|(key, value)| format!("{key}={}", read::cell(value)));
    let words = ["device", "workload"].map(|of| text(cell, of).unwrap_or("?").to_owned());
    words.into_iter().chain(settings).collect::<Vec<_>>().join(", ")
}

fn cells<'a>(shown: &'a Shown, all: &[Shown]) -> Vec<Cell<'a>> {
    let named = |cell: &'a Value| {
        let name = match all {
            [_] => name(cell),
            _ => format!("{}, {}", shown.name, name(cell)),
        };
        let file = text(cell, "series");
        let series = shown.series.iter().find(|(name, _)| Some(name.as_str()) == file);
        let series = series.map(|(_, text)| text.as_str());
        Cell { name, value: cell, report: read::at(cell, "report"), series }
    };
    each(&shown.document, "cells").iter().map(named).collect()
}

fn latency(cell: &Cell<'_>, figure: &str) -> Option<f64> {
    number(cell.report, &format!("total.all.device_latency_ns.{figure}"))
}

/// Whether the host has written a page of flash.
fn writes(cell: &Cell<'_>) -> bool {
    let of = |cause| number(cell.report, &format!("write_amplification.{cause}")).unwrap_or(0.0);
    of("host") + of("merge") > 0.0
}

/// Write amplification, where the host has written.
fn amplification(cell: &Cell<'_>, words: impl Fn(f64) -> String) -> String {
    let total = number(cell.report, "write_amplification.total");
    said(total.filter(|_| writes(cell)), words)
}

fn headline(done: &[&Cell<'_>], all: usize) -> String {
    let power = |cell: &Cell<'_>| {
        said(number(cell.report, "energy.average_power_w"), |watts| format!("{watts:.2} W"))
    };
    match done {
        [] => format!("None of {all} simulations came to its end."),
        [cell] => format!(
            "{} requests took {} on average and 99 % of them at most {}, at {} requests/s and {}. \
             Each page of the host cost {} pages of flash; average power {}, over {} until the \
             drive was at rest.",
            said(number(cell.report, "requests.completed"), read::count),
            said(latency(cell, "mean"), time),
            said(latency(cell, "p99"), time),
            said(number(cell.report, "total.all.iops"), read::rate),
            said(number(cell.report, "total.all.bandwidth_bytes_per_s"), read::bandwidth),
            amplification(cell, |own| format!("{own:.2}")),
            power(cell),
            said(number(cell.report, "energy.seconds"), |seconds| format!("{seconds:.3} s"))
        ),
        many => {
            let known = many.iter().filter_map(|cell| Some((cell, latency(cell, "mean")?)));
            let mut known: Vec<_> = known.collect();
            known.sort_by(|a, b| a.1.total_cmp(&b.1));
            match (known.first(), known.last()) {
                (Some((best, least)), Some((_, most))) => {
                    let equal = known.iter().filter(|one| one.1 <= least * EQUAL).count();
                    let first = match equal {
                        1 => format!("{} has the least mean latency", best.name),
                        _ => format!(
                            "{equal} are equal within 0.1 % and have the least mean latency, {} \
                             among them",
                            best.name
                        ),
                    };
                    format!(
                        "Of {all} simulations, {first}: {} at {}. The slowest takes {:.2} times \
                         as long.",
                        time(*least),
                        power(best),
                        most / least
                    )
                }
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
            amplification(cell, |own| format!("{own:.3}")),
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
        Axis::new("share of the requests")
            .worded(PERCENTILES.map(|(_, name, nines)| (nines, name))),
        Axis::new("latency").in_unit("us").logarithmic(),
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
    if !channels.is_empty() {
        page.chart(&busy_channels(channels).to_svg()).chart(&busy_dies(channels, dies).to_svg());
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
                let name = fields::name(field, std::iter::once(value));
                table.add_row([name, fields::value(field, value)]);
            }
        }
        table.align_right(1..);
        page.heading(what).table(&table);
    }
}

fn share(value: &Value) -> f64 {
    value.as_f64().unwrap_or(0.0)
}

fn busy_channels(each: &[Value]) -> HeatMap {
    let wide = each.len().min(COLUMNS);
    let columns = (0..wide).map(|column| column.to_string());
    let title = "Share of the time that each channel works";
    let mut map = HeatMap::new(title, "channel, counted along the rows", columns);
    for (row, shares) in each.chunks(wide.max(1)).enumerate() {
        map.add_row((row * wide).to_string(), shares.iter().map(share));
    }
    map
}

/// The dies of a channel stand one after the other in a report: they are a row, or several.
fn busy_dies(channels: &[Value], dies: &[Value]) -> HeatMap {
    let own = (dies.len() / channels.len().max(1)).max(1);
    let wide = own.min(COLUMNS);
    let columns = (0..wide).map(|column| column.to_string());
    let title = "Share of the time that each die works";
    let mut map = HeatMap::new(title, "die of the channel, counted along its rows", columns);
    for (channel, shares) in dies.chunks(own).enumerate() {
        for (row, shares) in shares.chunks(wide).enumerate() {
            let heading = if row == 0 { format!("channel {channel}") } else { String::new() };
            map.add_row(heading, shares.iter().map(share));
        }
    }
    map
}

/// Intervals of a file of time series.
struct Intervals<'a> {
    names: Vec<&'a str>,
    rows: Vec<Vec<&'a str>>,
    /// Intervals told as one.
    together: usize,
}

impl<'a> Intervals<'a> {
    fn read(text: &'a str) -> Option<Self> {
        let (heading, rows) = text.split_once('\n')?;
        let names = heading.trim().split(',').collect();
        let rows: Vec<Vec<&str>> = rows.lines().map(|row| row.split(',').collect()).collect();
        let together = rows.len().div_ceil(POINTS_MAX).max(1);
        Some(Self { names, rows, together })
    }

    fn value(&self, row: &[&str], name: &str) -> Option<f64> {
        let column = self.names.iter().position(|own| *own == name)?;
        row.get(column)?.parse().ok()
    }

    /// A point for each interval, or for several that are told as one: what `told` makes of their
    /// values, over the seconds at which they end.
    fn points(&self, name: &str, told: impl Fn(&[f64]) -> Option<f64>) -> Vec<(f64, f64)> {
        let point = |rows: &[Vec<&str>]| {
            let values = rows.iter().filter_map(|row| self.value(row, name)).collect::<Vec<f64>>();
            Some((self.value(rows.last()?, "end_ns")? / 1e9, told(&values)?))
        };
        self.rows.chunks(self.together).filter_map(point).collect()
    }
}

fn most(values: &[f64]) -> Option<f64> {
    values.iter().copied().reduce(f64::max)
}

fn mean(values: &[f64]) -> Option<f64> {
    (!values.is_empty()).then(|| values.iter().sum::<f64>() / values.len() as f64)
}

/// Latency and rate over time, with the intervals in which something was collected.
fn time_series(page: &mut Page, cell: &Cell<'_>) {
    let Some(all) = cell.series.and_then(Intervals::read) else { return };
    page.heading(&format!("Over time: {}", cell.name));
    if all.together > 1 {
        page.paragraph(&format!(
            "A point stands for {} intervals: the mean of their mean latencies and rates, the \
             greatest of their p99.",
            all.together
        ));
    }
    let micros = |value: f64| value / 1e3;
    let rates = all.points("iops", mean);
    let seconds = || {
        let ends = rates.iter().map(|point| point.0);
        Axis::new("simulated time").in_unit("s").over(ends)
    };
    let micros_axis = Axis::new("latency").in_unit("us").logarithmic();
    let mut latency = Chart::new("Latency over time", seconds(), micros_axis);
    let means = all.points("device_latency_mean_ns", |values| mean(values).map(micros));
    // Where nothing ended there is no latency, but there may be collection: its marks stand at the
    // least of all means.
    let foot = means.iter().map(|point| point.1).filter(|mean| *mean > 0.0).reduce(f64::min);
    let collected = all.points("pages_programmed_moved", |pages| {
        foot.filter(|_| most(pages).is_some_and(|most| most > 0.0))
    });
    let tails = all.points("device_latency_p99_ns", |values| most(values).map(micros));
    latency.add(Series::line(means).named("mean")).add(Series::line(tails).named("p99"));
    latency.add(Series::rings(collected).named("collection at work"));
    let mut rate =
        Chart::new("Requests over time", seconds(), Axis::new("requests").in_unit("1/s"));
    rate.add(Series::line(rates.iter().copied()));
    page.chart(&latency.to_svg()).chart(&rate.to_svg());
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn drives_that_are_equal_are_not_ranked() {
        let report = |mean: f64| json!({"total": {"all": {"device_latency_ns": {"mean": mean}}}});
        let told = |means: &[f64]| {
            let reports: Vec<Value> = means.iter().map(|mean| report(*mean)).collect();
            let cells = reports.iter().map(|report| Cell {
                name: "a".to_owned(),
                value: &Value::Null,
                report,
                series: None,
            });
            let cells: Vec<Cell<'_>> = cells.collect();
            headline(&cells.iter().collect::<Vec<_>>(), means.len())
        };
        let equal = told(&[1_000.0, 1_000.4, 2_000.0]);
        assert!(equal.starts_with("Of 3 simulations, 2 are equal within 0.1 % and"), "{equal}");
        assert!(equal.ends_with("takes 2.00 times as long."), "{equal}");
        let first = told(&[1_000.0, 1_010.0]);
        assert!(first.starts_with("Of 2 simulations, a has the least mean latency"), "{first}");
    }

    #[test]
    fn a_row_of_dies_is_a_channel() {
        let dies: Vec<Value> = (0..6).map(|die| json!(f64::from(die) / 10.0)).collect();
        let svg = busy_dies(&[json!(0.1), json!(0.2)], &dies).to_svg();
        for text in ["channel 0", "channel 1", "50.0 %"] {
            assert!(svg.as_str().contains(text), "{text} is not in {svg}");
        }
        assert!(!svg.as_str().contains("channel 2"));
        let wide: Vec<Value> = (0..20).map(|_| json!(0.5)).collect();
        let svg = busy_dies(&[json!(0.1)], &wide).to_svg();
        assert_eq!(svg.as_str().matches(">\n50.0 %\n<").count(), 20, "two rows hold all");
    }

    #[test]
    fn collection_is_marked_where_no_request_ended_and_many_intervals_are_told_as_one() {
        let heading = "end_ns,iops,device_latency_mean_ns,device_latency_p99_ns,\
                       pages_programmed_moved\n";
        let few = format!("{heading}1000000000,5,1000,2000,0\n2000000000,0,,,7\n");
        let all = Intervals::read(&few).expect("a heading");
        assert_eq!(all.points("device_latency_mean_ns", mean), [(1.0, 1000.0)]);
        assert_eq!(all.points("pages_programmed_moved", most), [(1.0, 0.0), (2.0, 7.0)]);
        let many: String = (1..=2001).map(|end| format!("{end}000000000,{end},1,1,0\n")).collect();
        let many = format!("{heading}{many}");
        let all = Intervals::read(&many).expect("a heading");
        assert_eq!(all.together, 3);
        let points = all.points("iops", mean);
        assert_eq!((points.len(), points[0], points[666]), (667, (3.0, 2.0), (2001.0, 2000.0)));
    }
}
