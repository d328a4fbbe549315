//! The pictures of `compare placement`: one SVG file for a figure of the paper, without anything outside of it.

use super::show::{CellResult, LoadResult};
use anyhow::Context as _;
use std::fmt::{self, Write as _};
use std::path::Path;

/// Draws what was measured into a directory: `amplification` (Fig. 10), `erases` (Table VI) and `response` (Fig. 11)
/// relative to the first policy, `invalid` (Fig. 3), `intervals` (Fig. 4), and `clusters-LOAD` (Fig. 7).
pub(crate) fn write_all(directory: &Path, loads: &[LoadResult]) -> anyhow::Result<()> {
    std::fs::create_dir_all(directory)
        .with_context(|| format!("cannot create {}", directory.display()))?;
    let save = |name: &str, picture: Result<String, fmt::Error>| {
        let path = directory.join(format!("{name}.svg"));
        std::fs::write(&path, picture?).with_context(|| format!("cannot write {}", path.display()))
    };
    let loads: Vec<&LoadResult> = loads.iter().filter(|load| !load.cells.is_empty()).collect();
    let amplification = |cell: &CellResult| Some(cell.measured.as_ref()?.write_amplification);
    let erases = |cell: &CellResult| Some(cell.measured.as_ref()?.erases as f64);
    let response = |cell: &CellResult| Some(cell.response.as_ref()?.mean_ns);
    save("amplification", bars("Write amplification", &loads, &amplification, false))?;
    save("erases", bars("Erases, relative to the first policy", &loads, &erases, true))?;
    if loads.iter().flat_map(|load| &load.cells).any(|cell| cell.response.is_some()) {
        let title = "Mean response time, relative to the first policy";
        save("response", bars(title, &loads, &response, true))?;
    }
    save("invalid", shares("Full blocks by their share of invalid pages", &loads, &invalid))?;
    save("intervals", shares("Slices by their interval, in shares of T", &loads, &intervals))?;
    for load in loads {
        save(&format!("clusters-{}", load.title()), scatter(load))?;
    }
    Ok(())
}

/// Colours that stay apart for everybody.
const COLOURS: [&str; 8] =
    ["#9a9a9a", "#56b4e9", "#e69f00", "#009e73", "#d55e00", "#0072b2", "#000000", "#cc79a7"];

fn colour(index: usize) -> &'static str {
    COLOURS[index % COLOURS.len()]
}

/// A share of blocks or slices, and what it is a share of.
type Part = (&'static str, f64);

fn invalid(cell: &CellResult) -> Option<Vec<Part>> {
    let keys = ["0-20 %", "20-40 %", "40-60 %", "60-80 %", "80-100 %"];
    let fifths = cell.measured.as_ref()?.invalid_fifths;
    let all: u64 = fifths.iter().sum();
    Some(keys.into_iter().zip(fifths.map(|blocks| blocks as f64 / all.max(1) as f64)).collect())
}

/// Only what was trained has intervals. Slices without an update count as the longest.
fn intervals(cell: &CellResult) -> Option<Vec<Part>> {
    let bins = &cell.measured.as_ref()?.learned.as_ref()?.interval_32nds;
    let keys = [
        ("1/32", 0, 1),
        ("2/32", 1, 2),
        ("4/32", 2, 4),
        ("8/32", 4, 8),
        ("16/32", 8, 16),
        ("T", 16, 32),
    ];
    let all: u64 = bins.iter().sum();
    let part = |&(key, from, to): &(&'static str, usize, usize)| {
        (key, bins[from..to].iter().sum::<u64>() as f64 / all.max(1) as f64)
    };
    Some(keys.iter().map(part).collect())
}

const HEIGHT: f64 = 300.0;
const TOP: f64 = 60.0;
const LEFT: f64 = 50.0;
/// Width of a bar.
const BAR: f64 = 12.0;
/// Between two loads.
const GAP: f64 = 18.0;
/// Below the axis, for the names of loads.
const NAMES: f64 = 150.0;

/// A picture with an axis from zero to `most`.
struct Frame {
    out: String,
    most: f64,
}

impl Frame {
    /// `legend` names the colours in their order.
    fn new(title: &str, width: f64, most: f64, legend: &[&str]) -> Result<Self, fmt::Error> {
        // Names are some seven points a letter.
        let names: f64 = legend.iter().map(|name| 30.0 + 7.0 * name.len() as f64).sum();
        let width = (LEFT + width + 20.0).max(LEFT + names).max(LEFT + 8.0 * title.len() as f64);
        let mut out = String::new();
        writeln!(
            out,
            r##"<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:.0} {:.0}" width="{width:.0}" font-family="sans-serif" font-size="11">
<rect width="100%" height="100%" fill="#fff"/>
<text x="{LEFT}" y="16" font-size="13">{}</text>"##,
            HEIGHT + NAMES,
            escape(title)
        )?;
        let mut x = LEFT;
        for (index, name) in legend.iter().enumerate() {
            writeln!(
                out,
                r#"<rect x="{x:.0}" y="26" width="10" height="10" fill="{}"/><text x="{:.0}" y="35">{}</text>"#,
                colour(index),
                x + 14.0,
                escape(name)
            )?;
            x += 30.0 + 7.0 * name.len() as f64;
        }
        let step = if most > 2.0 { 1.0 } else { 0.25 };
        let mut frame = Self { out, most };
        for line in 0..=(most / step) as u32 {
            let value = f64::from(line) * step;
            let y = frame.y(value);
            writeln!(
                frame.out,
                r##"<path d="M{LEFT} {y:.1}H{width:.0}" stroke="#ddd"/><text x="{}" y="{:.1}" text-anchor="end">{value}</text>"##,
                LEFT - 4.0,
                y + 4.0
            )?;
        }
        Ok(frame)
    }

    fn y(&self, value: f64) -> f64 {
        HEIGHT - value / self.most * (HEIGHT - TOP)
    }

    /// A bar from one value to another.
    fn bar(&mut self, x: f64, from: f64, to: f64, index: usize, said: &str) -> fmt::Result {
        let (top, bottom) = (self.y(to), self.y(from));
        writeln!(
            self.out,
            r#"<rect x="{x:.1}" y="{top:.1}" width="{:.1}" height="{:.1}" fill="{}"><title>{}</title></rect>"#,
            BAR - 1.0,
            bottom - top,
            colour(index),
            escape(said)
        )
    }

    fn name(&mut self, x: f64, name: &str) -> fmt::Result {
        let y = HEIGHT + 14.0;
        writeln!(
            self.out,
            r#"<text transform="translate({x:.1} {y:.1}) rotate(40)">{}</text>"#,
            escape(name)
        )
    }

    fn end(self) -> String {
        self.out + "</svg>\n"
    }
}

/// A group of bars for each load, a bar for each policy.
fn bars(
    title: &str,
    loads: &[&LoadResult],
    value: &dyn Fn(&CellResult) -> Option<f64>,
    relative: bool,
) -> Result<String, fmt::Error> {
    let scaled = |load: &LoadResult, cell: &CellResult| {
        let unit = if relative { value(load.cells.first()?)? } else { 1.0 };
        value(cell).map(|value| value / unit).filter(|value| value.is_finite())
    };
    let all = loads.iter().flat_map(|load| load.cells.iter().filter_map(|cell| scaled(load, cell)));
    let most = all.fold(1.0, f64::max);
    let labels: Vec<&str> = policies(loads);
    let group = BAR * labels.len() as f64 + GAP;
    let mut frame = Frame::new(title, group * loads.len() as f64, most, &labels)?;
    for (index, load) in loads.iter().enumerate() {
        let x = LEFT + 8.0 + group * index as f64;
        for (place, cell) in load.cells.iter().enumerate() {
            if let Some(value) = scaled(load, cell) {
                let said = format!("{}: {value:.3}", cell.policy());
                frame.bar(x + BAR * place as f64, 0.0, value, place, &said)?;
            }
        }
        frame.name(x + BAR * labels.len() as f64 / 2.0, load.title())?;
    }
    Ok(frame.end())
}

/// A bar for each policy of each load, divided into parts.
fn shares(
    title: &str,
    loads: &[&LoadResult],
    parts: &dyn Fn(&CellResult) -> Option<Vec<Part>>,
) -> Result<String, fmt::Error> {
    let bars: Vec<(String, Vec<Part>)> = loads
        .iter()
        .flat_map(|load| load.cells.iter().map(move |cell| (load, cell)))
        .filter_map(|(load, cell)| {
            Some((format!("{}, {}", load.title(), cell.policy()), parts(cell)?))
        })
        .collect();
    let keys: Vec<&str> =
        bars.first().map_or(Vec::new(), |(_, parts)| parts.iter().map(|&(key, _)| key).collect());
    let mut frame = Frame::new(title, (BAR + 4.0) * bars.len() as f64, 1.0, &keys)?;
    for (index, (name, parts)) in bars.iter().enumerate() {
        let x = LEFT + 8.0 + (BAR + 4.0) * index as f64;
        let mut from = 0.0;
        for (place, &(key, share)) in parts.iter().enumerate() {
            frame.bar(x, from, from + share, place, &format!("{name}, {key}: {share:.3}"))?;
            from += share;
        }
        frame.name(x, name)?;
    }
    Ok(frame.end())
}

/// The slices of a load's last training: updates to the right, interval upwards, both in shares of their largest.
fn scatter(load: &LoadResult) -> Result<String, fmt::Error> {
    let trained = load.cells.iter().find_map(|cell| cell.measured.as_ref()?.training.as_ref());
    let clusters = trained.map_or(0, |training| training.centroids.len());
    let names: Vec<String> = (0..clusters).map(|cluster| format!("cluster {cluster}")).collect();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    let title = format!("{}: interval over updates of a slice", load.title());
    let mut frame = Frame::new(&title, 2.0 * HEIGHT, 1.0, &names)?;
    let Some(training) = trained else { return Ok(frame.end()) };
    let tables = &training.tables;
    let most_updates = f64::from(tables.updates.iter().copied().max().unwrap_or(0).max(1));
    let longest = tables.interval_ns.iter().copied().max().unwrap_or(0).max(1) as f64;
    let rows = tables.updates.iter().zip(&tables.interval_ns).zip(&training.clusters);
    for ((&updates, &interval), &cluster) in rows {
        let x = LEFT + f64::from(updates) / most_updates * 2.0 * HEIGHT;
        let y = frame.y(interval as f64 / longest);
        let fill = colour(cluster.into());
        writeln!(
            frame.out,
            r#"<circle cx="{x:.1}" cy="{y:.1}" r="2" fill="{fill}" fill-opacity="0.6"/>"#
        )?;
    }
    Ok(frame.end())
}

/// Policies in the order of the first load.
fn policies<'a>(loads: &[&'a LoadResult]) -> Vec<&'a str> {
    loads.first().map_or(Vec::new(), |load| load.cells.iter().map(CellResult::policy).collect())
}

fn escape(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}
