//! `ssdtune config diff`: what differs between two drives, and what it means.

use crate::context::Context;
use crate::device::{self, Overrides};
use crate::outcome::Outcome;
use serde::Serialize;
use ssdtune_model::catalogue::{self, Value};

/// Arguments of `ssdtune config diff`.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The first drive: a preset, a TOML file or an MQSim XML file.
    #[arg(value_name = "DEVICE")]
    first: String,

    /// The second; overrides apply to it.
    #[arg(value_name = "DEVICE")]
    second: String,

    #[command(flatten)]
    overrides: Overrides,
}

/// One difference.
#[derive(Serialize)]
struct Change {
    key: &'static str,
    first: Value,
    second: Value,
    unit: &'static str,
    meaning: &'static str,
    no_effect: Option<&'static str>,
}

/// Prints the differences; none is no failure.
pub(crate) fn run(args: &Args, context: &Context) -> Outcome {
    let plain = Overrides { set: Vec::new() };
    let first = device::load(&args.first, &plain, context)?.config;
    let second = device::load(&args.second, &args.overrides, context)?.config;
    let rows = catalogue::parameters().filter(|row| row.get(&first) != row.get(&second));
    let changes: Vec<Change> = rows
        .map(|row| Change {
            key: row.key,
            first: row.get(&first),
            second: row.get(&second),
            unit: row.unit.sign(),
            meaning: row.meaning,
            // A setting that acts in neither drive is a difference on paper only.
            no_effect: row.inert(&first).and(row.inert(&second)),
        })
        .collect();
    if context.json() {
        return context.document(&changes);
    }
    if changes.is_empty() {
        return context.line("no difference");
    }
    let mut table = crate::table::new(&["key", &args.first, &args.second, "unit", "meaning"]);
    for change in changes {
        let meaning = match change.no_effect {
            Some(reason) => format!("(no effect: {reason})"),
            None => change.meaning.to_owned(),
        };
        let (first, second) = (change.first.to_string(), change.second.to_string());
        table.add_row([change.key.to_owned(), first, second, change.unit.to_owned(), meaning]);
    }
    context.line(table)
}
