//! `keeper map`: which strategy a network chooses, by intensity and write share (Fig. 6).

use crate::context::Context;
use crate::keeper::read_policy;
use crate::outcome::Outcome;
use crate::table;
use anyhow::Context as _;
use ssdtune_keeper::evaluation::{MapPoint, choice_map};
use ssdtune_keeper::features::LEVELS;
use std::fmt::Write as _;
use std::path::PathBuf;

/// Arguments of `keeper map`.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The network.
    #[arg(long, value_name = "FILE")]
    model: PathBuf,

    /// How many tenants: half of them write, half read, shares equal among each.
    #[arg(long, value_name = "N", default_value_t = 4)]
    #[arg(value_parser = clap::value_parser!(u8).range(2..=4))]
    tenants: u8,

    /// Also draw it as an SVG file.
    #[arg(long, value_name = "FILE")]
    plot: Option<PathBuf>,
}

/// Asks the network everywhere and prints.
pub(super) fn run(args: &Args, context: &Context) -> Outcome {
    let policy = read_policy(&args.model)?;
    let points = choice_map(&policy, args.tenants.into());
    if let Some(path) = &args.plot {
        std::fs::write(path, picture(&points))
            .with_context(|| format!("cannot write {}", path.display()))?;
    }
    if context.json() {
        return context.document(&points);
    }
    let headings: Vec<String> = (0..LEVELS).map(|level| level.to_string()).collect();
    let mut all = vec!["writers' share"];
    all.extend(headings.iter().map(String::as_str));
    let mut table = table::new(&all);
    for row in points.chunks(usize::from(LEVELS)) {
        let mut cells = vec![format!("{:.0} %", 100.0 * row[0].write_share)];
        cells.extend(row.iter().map(|point| point.strategy.to_string()));
        table.add_row(cells);
    }
    context.line(table)
}

/// Colours that people with any colour vision can tell apart; the first is for `Shared`.
const COLOURS: [&str; 8] =
    ["#dddddd", "#56b4e9", "#e69f00", "#009e73", "#d55e00", "#0072b2", "#cc79a7", "#f0e442"];
/// Width and height of a cell, in the units of the picture.
const CELL: (f64, f64) = (44.0, 28.0);
/// Where the first cell begins.
const CORNER: (f64, f64) = (60.0, 40.0);

/// The map as an SVG file: levels to the right, the writers' share upwards, a colour for each
/// strategy.
fn picture(points: &[MapPoint]) -> String {
    let columns = usize::from(LEVELS);
    let rows = points.len() / columns;
    let width = CORNER.0 + CELL.0 * columns as f64 + 20.0;
    let bottom = CORNER.1 + CELL.1 * rows as f64;
    let names: Vec<String> = points.iter().map(|point| point.strategy.to_string()).collect();
    let mut divided: Vec<&str> = names.iter().map(String::as_str).collect();
    divided.sort_unstable();
    divided.dedup();
    divided.retain(|name| *name != "Shared");
    let mut out = frame(width, bottom);
    for (number, (point, name)) in points.iter().zip(&names).enumerate() {
        let (row, column) = (number / columns, number % columns);
        let (x, y) = (CORNER.0 + CELL.0 * column as f64, CORNER.1 + CELL.1 * row as f64);
        let middle = x + CELL.0 / 2.0;
        let colour = divided.iter().position(|divided| divided == name);
        let fill = COLOURS[colour.map_or(0, |number| 1 + number % (COLOURS.len() - 1))];
        // Writing to a String cannot fail.
        let _ = write!(
            out,
            r##"<rect x="{x}" y="{y}" width="{}" height="{}" fill="{fill}" stroke="#fff"/>"##,
            CELL.0, CELL.1
        );
        let _ = writeln!(out, r#"<text x="{middle}" y="{}">{name}</text>"#, y + 18.0);
        if row == 0 {
            let level = point.level;
            let _ = writeln!(out, r#"<text x="{middle}" y="{}">{level}</text>"#, bottom + 18.0);
        }
        if column == 0 {
            let share = format!("{:.0} %", 100.0 * point.write_share);
            let _ = writeln!(out, r#"<text x="{}" y="{}">{share}</text>"#, x - 24.0, y + 18.0);
        }
    }
    out + "</svg>\n"
}

/// The beginning of the picture: its size, background, title and the name of the lower axis.
fn frame(width: f64, bottom: f64) -> String {
    let (height, middle, axis) = (bottom + 50.0, width / 2.0, bottom + 38.0);
    let mut out =
        format!(r#"<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" "#);
    out += "font-family=\"sans-serif\" font-size=\"11\" text-anchor=\"middle\">\n";
    out += "<rect width=\"100%\" height=\"100%\" fill=\"#fff\"/>\n";
    let title = "Strategy by intensity level and share of the writers";
    let _ = writeln!(out, r#"<text x="{middle}" y="24" font-size="13">{title}</text>"#);
    let _ = writeln!(out, r#"<text x="{middle}" y="{axis}">intensity level</text>"#);
    out
}
