//! `ssdtune trace models`: the bundled workload models.

use crate::context::Context;
use crate::models::load_model;
use crate::outcome::{Failure, Outcome};
use ssdtune_report::Table;
use ssdtune_trace::workload::{ModelOverview, bundled, names};

/// Arguments of `ssdtune trace models`.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Print the text of this model, as a start for your own.
    #[arg(value_name = "MODEL")]
    model: Option<String>,
}

/// Lists the models, or prints one.
pub(crate) fn run(args: &Args, context: &Context) -> Outcome {
    if let Some(name) = &args.model {
        let model = load_model(name)?;
        if context.json() {
            return context.document(&model);
        }
        return context.raw(model.to_toml(&model.origin_comment()).as_bytes());
    }
    let models = names().map(bundled).collect::<Result<Vec<_>, _>>().map_err(Failure::input)?;
    let rows: Vec<ModelOverview> = models.into_iter().map(ModelOverview::from).collect();
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
