//! Writes a small report to `target/report-example.html`: a table, a chart of lines and one of
//! bars. Run it with `cargo run -p ssdtune-report --example page`, and open the file.

use ssdtune_report::{Axis, BarChart, Chart, Page, Series, Table};

/// Requests each second, and the mean latency in microseconds of a queue that serves 100,000.
fn waiting(load: f64) -> (f64, f64) {
    let service_us = 10.0;
    let busy = load / 100_000.0;
    (load, service_us * (1.0 + busy / (2.0 * (1.0 - busy))))
}

fn main() -> std::io::Result<()> {
    let loads = [1e4, 3e4, 5e4, 7e4, 9e4, 95e3];
    let points = loads.map(waiting);

    let mut table = Table::new(["requests each second", "mean latency"]);
    table.align_right(..);
    for (load, latency) in points {
        table.add_row([format!("{load:.0}"), format!("{latency:.1} us")]);
    }
    // On a terminal a table is only its text.
    println!("{table}");

    let mut curve = Chart::new(
        "Latency of one server with constant service times",
        Axis::new("requests").in_unit("1/s"),
        Axis::new("mean latency").in_unit("us"),
    );
    curve.add(Series::line(points).named("M/D/1")).add(Series::dots(points).coloured(0));

    // One group of bars for each load, one bar for each of two series.
    let axis = Axis::new("latency").in_unit("us");
    let mut bars = BarChart::new("Service and waiting", axis, ["service", "waiting"]);
    for (load, latency) in points {
        bars.add(format!("{:.0} % busy", load / 1e3), [10.0, latency - 10.0]);
    }

    let mut page = Page::new("A queue");
    page.paragraph("What one server makes of more and more requests.");
    page.heading("Figures").table(&table).chart(&curve.to_svg()).chart(&bars.to_svg());
    std::fs::create_dir_all("target")?;
    std::fs::write("target/report-example.html", page.to_html())
}
