//! `ssdtune config params`: the parameter catalogue, for people, programs and the documentation.

use crate::context::Context;
use crate::outcome::{Failure, Outcome};
use crate::table;
use serde::Serialize;
use ssdtune_model::catalogue::{self, Effect, Kind, Parameter, SECTIONS, Value};
use ssdtune_model::{Fault, Problem};

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

/// One parameter in JSON.
#[derive(Serialize)]
struct Row {
    key: &'static str,
    mqsim_tags: Vec<&'static str>,
    kind: Kind,
    unit: &'static str,
    default: Value,
    legal: String,
    commodity: Vec<Value>,
    what_if: Vec<Value>,
    meaning: &'static str,
    no_effect: Option<&'static str>,
}

/// Prints the rows asked for.
pub(crate) fn run(args: &Args, context: &Context) -> Outcome {
    if args.markdown {
        return context.raw(catalogue::markdown().as_bytes());
    }
    let rows = select(&args.keys)?;
    if context.json() {
        return context.document(&rows.iter().map(|row| describe(row)).collect::<Vec<_>>());
    }
    // A few rows are read in full; the whole catalogue as a table.
    if !args.keys.is_empty() && rows.len() <= 3 {
        return rows.iter().try_for_each(|row| explain(row, context));
    }
    let mut table = table::new(&["key", "kind", "unit", "default", "legal", "meaning"]);
    for row in rows {
        table.add_row([
            row.key.to_owned(),
            row.kind.to_string(),
            row.unit.sign().to_owned(),
            row.default_value().to_string(),
            row.legal.to_string(),
            row.meaning.to_owned(),
        ]);
    }
    context.line(table)
}

fn select(keys: &[String]) -> Outcome<Vec<&'static Parameter>> {
    if keys.is_empty() {
        return Ok(catalogue::parameters().collect());
    }
    let mut rows = Vec::new();
    for key in keys {
        if let Some(section) = SECTIONS.iter().find(|section| section.name == key) {
            rows.extend(section.rows);
        } else if let Some(row) = catalogue::find(key) {
            rows.push(row);
        } else {
            let nearest = catalogue::nearest(key).map(str::to_owned);
            return Err(Failure::usage(Fault::new(key, Problem::UnknownKey { nearest })));
        }
    }
    Ok(rows)
}

fn describe(row: &Parameter) -> Row {
    Row {
        key: row.key,
        mqsim_tags: row.aliases().collect(),
        kind: row.kind,
        unit: row.unit.sign(),
        default: row.default_value(),
        legal: row.legal.to_string(),
        commodity: row.commodity.values(&row.legal),
        what_if: row.what_if.values(&row.legal),
        meaning: row.meaning,
        no_effect: match row.effect {
            Effect::Yes => None,
            Effect::Never(reason) => Some(reason),
            Effect::Unless(_) => {
                Some("under some other settings; `ssdtune config check` says when")
            }
        },
    }
}

fn explain(row: &Parameter, context: &Context) -> Outcome {
    let described = describe(row);
    let unit = row.unit.sign();
    context.line(format_args!("{}: {}", row.key, row.meaning))?;
    context.line(format_args!("  kind       {}", row.kind))?;
    context.line(format_args!("  default    {} {unit}", row.default_value()))?;
    context.line(format_args!("  legal      {} {unit}", row.legal))?;
    context.line(format_args!("  commodity  {}", row.commodity))?;
    context.line(format_args!("  what-if    {}", row.what_if))?;
    if !described.mqsim_tags.is_empty() {
        context.line(format_args!("  MQSim      {}", described.mqsim_tags.join(", ")))?;
    }
    match described.no_effect {
        Some(reason) => context.line(format_args!("  no effect  {reason}")),
        None => Ok(()),
    }
}
