//! `keeper map`: which strategy a network chooses, by intensity and write share (Fig. 6).

use super::read_policy;
use crate::context::Context;
use crate::outcome::Outcome;
use crate::table;
use anyhow::Context as _;
use serde::Serialize;
use ssdtune_keeper::LEVELS;
use ssdtune_keeper::features::Seen;
use ssdtune_keeper::mix::{Mix, MixTenant};
use ssdtune_model::Nanos;
use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::path::PathBuf;

/// Arguments of `keeper map`.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The network.
    #[arg(long, value_name = "FILE")]
    model: PathBuf,

    /// How many tenants: half of them write, half read, shares equal among each.
    #[arg(long, value_name = "N", default_value_t = 4, value_parser = clap::value_parser!(u8).range(2..=4))]
    tenants: u8,

    /// Also draw it as an SVG file.
    #[arg(long, value_name = "FILE")]
    plot: Option<PathBuf>,
}

#[derive(Serialize)]
struct Place {
    level: u8,
    write_share: f64,
    strategy: String,
}

/// Asks the network everywhere and prints.
pub(super) fn run(args: &Args, context: &Context) -> Outcome {
    let policy = read_policy(&args.model)?;
    let writers = usize::from(args.tenants / 2);
    let readers = usize::from(args.tenants) - writers;
    let mut scratch = policy.scratch();
    let mut places = Vec::new();
    for tenth in (1..=9).rev() {
        let write_share = f64::from(tenth) / 10.0;
        let tenant = |writes: bool, share: f64, count: usize| {
            vec![MixTenant::plain(writes, share / count as f64); count]
        };
        let tenants =
            [tenant(true, write_share, writers), tenant(false, 1.0 - write_share, readers)]
                .concat();
        for level in 1..=LEVELS {
            let mix = Mix { level, tenants: tenants.clone() };
            let collect = Nanos(policy.collect_ns);
            let seen = Seen::of_mix(&mix, policy.intensity.requests_per_s_max, collect);
            let strategy = policy.choose(&seen, &mut scratch).strategy.to_string();
            places.push(Place { level: level - 1, write_share, strategy });
        }
    }
    if let Some(path) = &args.plot {
        std::fs::write(path, picture(&places))
            .with_context(|| format!("cannot write {}", path.display()))?;
    }
    if context.json() {
        return context.document(&places);
    }
    let headings: Vec<String> = (0..LEVELS).map(|level| level.to_string()).collect();
    let mut all = vec!["writers' share"];
    all.extend(headings.iter().map(String::as_str));
    let mut table = table::new(&all);
    for row in places.chunks(usize::from(LEVELS)) {
        let mut cells = vec![format!("{:.0} %", 100.0 * row[0].write_share)];
        cells.extend(row.iter().map(|place| place.strategy.clone()));
        table.add_row(cells);
    }
    context.line(table)
}

/// Colours that stay apart for everybody.
const COLOURS: [&str; 8] =
    ["#dddddd", "#56b4e9", "#e69f00", "#009e73", "#d55e00", "#0072b2", "#cc79a7", "#f0e442"];
const CELL: (f64, f64) = (44.0, 28.0);
const CORNER: (f64, f64) = (60.0, 40.0);

/// Levels to the right, the writers' share upwards, a colour for each strategy.
fn picture(places: &[Place]) -> String {
    let columns = usize::from(LEVELS);
    let rows = places.len() / columns;
    let width = CORNER.0 + CELL.0 * columns as f64 + 20.0;
    let bottom = CORNER.1 + CELL.1 * rows as f64;
    let mut out = String::new();
    // Writing to a String cannot fail.
    let _ = writeln!(
        out,
        r##"<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {}" font-family="sans-serif" font-size="11" text-anchor="middle">
<rect width="100%" height="100%" fill="#fff"/>
<text x="{}" y="24" font-size="13">Strategy by intensity level and share of the writers</text>
<text x="{}" y="{}">intensity level</text>"##,
        bottom + 50.0,
        width / 2.0,
        width / 2.0,
        bottom + 38.0
    );
    let names: BTreeSet<&str> = places.iter().map(|place| place.strategy.as_str()).collect();
    let is_divided = |name: &&&str| **name != "Shared";
    let divided: Vec<&str> = names.iter().filter(is_divided).copied().collect();
    for (number, place) in places.iter().enumerate() {
        let (row, column) = (number / columns, number % columns);
        let (x, y) = (CORNER.0 + CELL.0 * column as f64, CORNER.1 + CELL.1 * row as f64);
        let (name, middle) = (&place.strategy, x + CELL.0 / 2.0);
        let colour = divided.iter().position(|divided| divided == name);
        let fill = COLOURS[colour.map_or(0, |number| 1 + number % (COLOURS.len() - 1))];
        let _ = writeln!(
            out,
            r##"<rect x="{x}" y="{y}" width="{}" height="{}" fill="{fill}" stroke="#fff"/><text x="{middle}" y="{}">{name}</text>"##,
            CELL.0,
            CELL.1,
            y + 18.0
        );
        if row == 0 {
            let level = place.level;
            let _ = writeln!(out, r#"<text x="{middle}" y="{}">{level}</text>"#, bottom + 18.0);
        }
        if column == 0 {
            let share = format!("{:.0} %", 100.0 * place.write_share);
            let _ = writeln!(out, r#"<text x="{}" y="{}">{share}</text>"#, x - 24.0, y + 18.0);
        }
    }
    out + "</svg>\n"
}
