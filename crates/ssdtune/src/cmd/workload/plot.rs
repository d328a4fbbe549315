//! `ssdtune workload plot`: the windows in two dimensions (Fig. 2 of AutoBlox), as one SVG file without anything
//! outside of it.

use super::failure;
use crate::autodb::DbArg;
use crate::context::Context;
use crate::outcome::{Failure, Outcome};
use anyhow::Context as _;
use ssdtune_tune::cluster::{Categories, Point};
use std::fmt::Write as _;
use std::path::PathBuf;

/// Arguments of `ssdtune workload plot`.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Where to; standard output without it.
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,

    /// The two components to draw, counted from 1.
    #[arg(long, value_name = "X,Y", value_delimiter = ',', num_args = 2, default_values_t = [1, 2],
          value_parser = clap::value_parser!(u8).range(1..=5))]
    components: Vec<u8>,

    #[command(flatten)]
    db: DbArg,
}

const WIDTH: f64 = 860.0;
const HEIGHT: f64 = 560.0;
const MARGIN: f64 = 50.0;
/// Right of the points, for the names.
const LEGEND: f64 = 190.0;

/// Draws.
pub(crate) fn run(args: &Args, context: &Context) -> Outcome {
    let categories = {
        let db = args.db.open_existing()?;
        Categories::load(&db).map_err(failure)?
    };
    let axes = [0, 1].map(|i| args.components.get(i).map_or(i, |&n| usize::from(n) - 1));
    let picture = svg(&categories, axes);
    match &args.output {
        None => context.raw(picture.as_bytes()),
        Some(path) => std::fs::write(path, picture)
            .with_context(|| format!("cannot write {}", path.display()))
            .map_err(Failure::from),
    }
}

/// Colours that stay apart for everybody, by category; then round again with another shape.
const COLOURS: [&str; 8] =
    ["#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#7f3c8d", "#000000"];

struct Frame {
    low: [f64; 2],
    high: [f64; 2],
}

impl Frame {
    fn around(points: impl Iterator<Item = [f64; 2]>) -> Self {
        let mut frame = Self { low: [f64::INFINITY; 2], high: [f64::NEG_INFINITY; 2] };
        for point in points {
            for (axis, value) in point.into_iter().enumerate() {
                frame.low[axis] = frame.low[axis].min(value);
                frame.high[axis] = frame.high[axis].max(value);
            }
        }
        for axis in 0..2 {
            // A line of points still needs an area.
            let pad = ((frame.high[axis] - frame.low[axis]) * 0.04).max(0.5);
            (frame.low[axis], frame.high[axis]) = (frame.low[axis] - pad, frame.high[axis] + pad);
        }
        frame
    }

    fn place(&self, [x, y]: [f64; 2]) -> (f64, f64) {
        let share =
            |value: f64, axis: usize| (value - self.low[axis]) / (self.high[axis] - self.low[axis]);
        let wide = WIDTH - MARGIN - LEGEND;
        let high = HEIGHT - 2.0 * MARGIN;
        (MARGIN + wide * share(x, 0), HEIGHT - MARGIN - high * share(y, 1))
    }
}

fn svg(categories: &Categories, axes: [usize; 2]) -> String {
    let flat = |point: &Point| [point[axes[0]], point[axes[1]]];
    let all = categories.members().flat_map(|member| member.points.iter().map(flat));
    let centres = categories.list();
    let frame = Frame::around(all.chain(centres.iter().map(|one| flat(&one.centre))));
    let mut out = String::new();
    // Writing to a String cannot fail.
    let _ = writeln!(
        out,
        r##"<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" font-family="sans-serif" font-size="12">
<title>Windows of 3,000 requests, by category</title>
<rect width="{WIDTH}" height="{HEIGHT}" fill="#fff"/>
<rect x="{MARGIN}" y="{MARGIN}" width="{}" height="{}" fill="none" stroke="#999"/>"##,
        WIDTH - MARGIN - LEGEND,
        HEIGHT - 2.0 * MARGIN
    );
    ticks(&mut out, &frame, categories, axes);
    for member in categories.members() {
        let (colour, hollow) = style(member.category);
        let fill = if hollow || member.outlier_of.is_some() { "none" } else { colour };
        let _ = writeln!(
            out,
            r#"<g fill="{fill}" stroke="{colour}" fill-opacity="0.5"><title>{}</title>"#,
            escape(&member.name)
        );
        for point in &member.points {
            let (x, y) = frame.place(flat(point));
            let _ = writeln!(out, r#"<circle cx="{x:.1}" cy="{y:.1}" r="3"/>"#);
        }
        out.push_str("</g>\n");
    }
    for (row, category) in centres.iter().enumerate() {
        let (colour, hollow) = style(category.number);
        let (x, y) = frame.place(flat(&category.centre));
        let _ = writeln!(
            out,
            r##"<path d="M{:.1} {y:.1}h12m-6-6v12" stroke="#000" stroke-width="2"/>"##,
            x - 6.0
        );
        let (left, down) = (WIDTH - LEGEND + 20.0, MARGIN + 10.0 + 20.0 * row as f64);
        let fill = if hollow { "none" } else { colour };
        let _ = writeln!(
            out,
            r#"<circle cx="{left}" cy="{down}" r="5" fill="{fill}" stroke="{colour}"/><text x="{}" y="{}">{} ({})</text>"#,
            left + 12.0,
            down + 4.0,
            escape(&category.name),
            category.windows
        );
    }
    out.push_str("</svg>\n");
    out
}

fn style(category: u32) -> (&'static str, bool) {
    let number = category as usize;
    (COLOURS[number % COLOURS.len()], (number / COLOURS.len()) % 2 == 1)
}

/// Numbers at the ends of both axes, and what the axes are.
fn ticks(out: &mut String, frame: &Frame, categories: &Categories, axes: [usize; 2]) {
    let shares = categories.basis().explained_variance_ratio();
    let label = |axis: usize| {
        let share = 100.0 * shares.get(axis).copied().unwrap_or(0.0);
        format!("principal component {} ({share:.1} % of the variance)", axis + 1)
    };
    let (middle, bottom) = ((MARGIN + WIDTH - LEGEND) / 2.0, HEIGHT - MARGIN);
    let (x, y) = (label(axes[0]), label(axes[1]));
    let _ = writeln!(
        out,
        r#"<text x="{middle}" y="{}" text-anchor="middle">{x}</text>
<text transform="translate(18 {}) rotate(-90)" text-anchor="middle">{y}</text>
<text x="{MARGIN}" y="{}">{:.1}</text><text x="{}" y="{}" text-anchor="end">{:.1}</text>
<text x="{}" y="{bottom}" text-anchor="end">{:.1}</text><text x="{}" y="{}" text-anchor="end">{:.1}</text>"#,
        bottom + 36.0,
        HEIGHT / 2.0,
        bottom + 16.0,
        frame.low[0],
        WIDTH - LEGEND,
        bottom + 16.0,
        frame.high[0],
        MARGIN - 4.0,
        frame.low[1],
        MARGIN - 4.0,
        MARGIN + 10.0,
        frame.high[1],
    );
}

fn escape(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}
