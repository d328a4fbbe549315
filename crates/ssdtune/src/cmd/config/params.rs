//! `ssdtune config params`: the parameter catalogue, for people, programs and the documentation.

use crate::context::Context;
use crate::outcome::{Failure, Outcome};
use ssdtune_model::catalogue::{self, Description};
use ssdtune_report::{Table, Text};

/// Arguments of `ssdtune config params`.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Only these: keys (gc.threshold), sections (gc) or MQSim tags. Default: all.
    #[arg(value_name = "KEY")]
    keys: Vec<String>,

    /// Print the page docs/parameters.md.
    #[arg(long, conflicts_with_all = ["keys", "json"])]
    markdown: bool,
}

/// Prints the parameters: up to three named ones in full, otherwise a table.
pub(crate) fn run(args: &Args, context: &Context) -> Outcome {
    if args.markdown {
        return context.raw(catalogue::markdown().as_bytes());
    }
    let rows = catalogue::select(&args.keys).map_err(Failure::usage)?;
    let descriptions: Vec<Description> = rows.iter().map(|row| row.describe()).collect();
    if !args.keys.is_empty() && rows.len() <= 3 {
        let mut text = Text::new();
        rows.iter().for_each(|row| {
            text.line(row);
        });
        return context.show(&descriptions, text);
    }
    let mut table = Table::new(["key", "kind", "unit", "default", "legal", "meaning"]);
    for row in &descriptions {
        table.add_row([
            row.key.to_owned(),
            row.kind.to_string(),
            row.unit.to_owned(),
            row.default.to_string(),
            row.legal.clone(),
            row.meaning.to_owned(),
        ]);
    }
    context.show(&descriptions, table)
}
