//! `ssdtune config show`: a drive as TOML or JSON, or the list of presets.

use crate::context::Context;
use crate::device::{self, Overrides};
use crate::outcome::{Failure, Outcome};
use serde_json::{Map, Value};
use ssdtune_model::ledger::Ledger;
use ssdtune_model::source::Loaded;
use ssdtune_model::{catalogue, presets};
use ssdtune_report::Table;

/// Arguments of `ssdtune config show`.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// A preset, a TOML file or an MQSim XML file. Without it, the presets are listed.
    #[arg(value_name = "DEVICE")]
    device: Option<String>,

    /// Print every key, also those that the file leaves at their defaults.
    #[arg(long)]
    full: bool,

    #[command(flatten)]
    overrides: Overrides,
}

/// Prints the drive or the list.
pub(crate) fn run(args: &Args, context: &Context) -> Outcome {
    let Some(name) = &args.device else { return list(context) };
    let loaded = device::load(name, &args.overrides, context)?;
    if context.json() {
        return context.document(&as_json(&loaded));
    }
    let edits = args.overrides.pairs(context);
    context.raw(device::as_toml(&loaded, args.full, &edits)?.as_bytes())
}

fn as_json(loaded: &Loaded) -> Value {
    let mut sections = Map::new();
    sections.insert("name".to_owned(), loaded.config.name.clone().into());
    for section in catalogue::SECTIONS {
        let rows = section.rows.iter().map(|row| {
            let value = serde_json::to_value(row.get(&loaded.config)).unwrap_or_default();
            (row.path().1.to_owned(), value)
        });
        sections.insert(section.name.to_owned(), rows.collect::<Map<_, _>>().into());
    }
    sections.into()
}

fn list(context: &Context) -> Outcome {
    let names: Vec<&str> = presets::names().collect();
    let mut table = Table::new(["preset", "link", "flash", "raw", "visible", "about"]);
    for name in &names {
        let config = presets::load(name).map_err(Failure::usage)?;
        let ledger = Ledger::of(&config);
        let about = presets::text(name).and_then(|text| text.lines().next()).unwrap_or_default();
        table.add_row([
            (*name).to_owned(),
            config.host.interface.to_string(),
            config.flash.technology.to_string(),
            ledger.raw_bytes.to_string(),
            ledger.visible_bytes.to_string(),
            about.trim_start_matches("# ").to_owned(),
        ]);
    }
    context.show(&names, table)
}
