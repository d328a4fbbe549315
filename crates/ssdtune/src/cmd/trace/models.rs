//! `ssdtune trace models`: the bundled workload models.

use crate::context::Context;
use crate::models::load_model;
use crate::outcome::{Failure, Outcome};
use serde::Serialize;
use ssdtune_report::Table;
use ssdtune_trace::workload::{Model, bundled, names};

/// Arguments of `ssdtune trace models`.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Print the text of this model, as a start for your own.
    #[arg(value_name = "MODEL")]
    model: Option<String>,
}

/// A bundled model in the list.
#[derive(Serialize)]
struct ListedModel {
    name: String,
    aliases: Vec<String>,
    variants: Vec<String>,
    requests: u64,
    description: String,
    source: String,
    guesses: Vec<String>,
}

/// Lists the models, or prints one.
pub(crate) fn run(args: &Args, context: &Context) -> Outcome {
    if let Some(name) = &args.model {
        let model = load_model(name)?;
        if context.json() {
            return context.document(&model);
        }
        let guesses: Vec<String> = model.guesses.iter().map(|guess| format!("- {guess}")).collect();
        let comment = format!("Fitted to: {}\n\nGuesses:\n{}", model.source, guesses.join("\n"));
        return context.raw(model.to_toml(&comment).as_bytes());
    }
    let models = names().map(bundled).collect::<Result<Vec<_>, _>>().map_err(Failure::input)?;
    let rows: Vec<ListedModel> = models.into_iter().map(row).collect();
    let mut table = Table::new(["name", "also", "requests", "description"]);
    for row in &rows {
        table.add_row([
            row.name.clone(),
            row.aliases.join(", "),
            row.requests.to_string(),
            row.description.clone(),
        ]);
    }
    context.show(&rows, table)
}

fn row(model: Model) -> ListedModel {
    ListedModel {
        name: model.name,
        aliases: model.aliases,
        variants: model.variants.into_iter().map(|variant| variant.name).collect(),
        requests: model.requests,
        description: model.description,
        source: model.source,
        guesses: model.guesses,
    }
}
