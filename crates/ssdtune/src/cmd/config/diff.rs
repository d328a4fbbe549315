//! `ssdtune config diff`: the parameters in which two drives differ, and what they mean.

use crate::context::Context;
use crate::device::{self, Overrides};
use crate::outcome::Outcome;
use ssdtune_model::catalogue::differences;
use ssdtune_report::{Table, Text};

/// Arguments of `ssdtune config diff`.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The first drive: a preset, a TOML file or an MQSim XML file.
    #[arg(value_name = "DEVICE")]
    first: String,

    /// The second drive. --set changes this one.
    #[arg(value_name = "DEVICE")]
    second: String,

    #[command(flatten)]
    overrides: Overrides,
}

/// Prints the differences. That there are none is no failure.
pub(crate) fn run(args: &Args, context: &Context) -> Outcome {
    let plain = Overrides { set: Vec::new() };
    let first = device::load(&args.first, &plain, context)?.config;
    let second = device::load(&args.second, &args.overrides, context)?.config;
    let found = differences(&first, &second);
    if found.is_empty() {
        return context.show(&found, Text::from("no difference".to_owned()));
    }
    let mut table = Table::new(["key", &args.first, &args.second, "unit", "meaning"]);
    for one in &found {
        let meaning = match one.no_effect {
            Some(reason) => format!("(no effect: {reason})"),
            None => one.meaning.to_owned(),
        };
        let (first, second) = (one.first.to_string(), one.second.to_string());
        table.add_row([one.key.to_owned(), first, second, one.unit.to_owned(), meaning]);
    }
    context.show(&found, table)
}
