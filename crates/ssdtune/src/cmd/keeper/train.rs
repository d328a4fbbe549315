//! `keeper train`: networks from labels, and how their training goes (Table III, Fig. 4).

use super::labels_failure;
use crate::context::Context;
use crate::global::whole;
use crate::outcome::{Failure, Outcome};
use crate::outputs::{self, OutFile};
use crate::program::command_line;
use clap::builder::PossibleValuesParser;
use ssdtune_keeper::train::{RECIPES, TrainError, TrainingRecipe, TrainingSchedule, train};
use ssdtune_keeper::{Labels, training_text};
use std::path::PathBuf;

/// Arguments of `keeper train`.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Labels of `keeper label`: of one drive, or of several drives with as many channels.
    #[arg(required = true)]
    labels: Vec<PathBuf>,

    /// How to train: a row of Table III (sgd, sgd-momentum, adam-relu, adam-logistic); `ranker` or
    /// `parts`, which predict latencies of strategies or of their parts instead of the best
    /// strategy; or `all` to compare them, of which the last one is written.
    #[arg(long, value_name = "NAME", default_value = "parts", value_parser = recipes())]
    recipe: String,

    /// How often the training goes through all mixes.
    #[arg(long, value_name = "N", default_value_t = TrainingSchedule::default().epochs as u32)]
    #[arg(value_parser = whole::<u32>(1..=100_000))]
    epochs: u32,

    /// Number of mixes in each step of the training; with `parts`, examples of parts.
    #[arg(long, value_name = "N", default_value_t = TrainingSchedule::default().batch as u32)]
    #[arg(value_parser = whole::<u32>(1..=100_000))]
    batch: u32,

    /// File to write the network to.
    #[arg(long, value_name = "FILE")]
    out: Option<OutFile>,
}

/// The names that `--recipe` knows.
fn recipes() -> PossibleValuesParser {
    RECIPES.iter().map(|recipe| recipe.name).chain(["all"]).collect::<Vec<_>>().into()
}

/// Trains a network by each recipe, writes it and prints how it went.
pub(super) fn run(args: &Args, context: &Context) -> Outcome {
    let labels = args.labels.iter().map(|path| Labels::read(path).map_err(labels_failure));
    let labels = labels.collect::<Outcome<Vec<_>>>()?;
    let (epochs, batch) = (args.epochs as usize, args.batch as usize);
    let schedule = TrainingSchedule { epochs, batch, seed: context.seed().unwrap_or(0) };
    let is_wanted = |recipe: &TrainingRecipe| ["all", recipe.name].contains(&args.recipe.as_str());
    let (mut reports, mut last) = (Vec::new(), None);
    for recipe in RECIPES.into_iter().filter(is_wanted) {
        let (policy, report) = train(&labels, recipe, schedule, command_line()).map_err(failure)?;
        last = Some(policy);
        reports.push(report);
    }
    if let (Some(path), Some(policy)) = (&args.out, last) {
        outputs::write(path, serde_json::to_string(&policy)? + "\n")?;
    }
    context.show(&reports, training_text(&reports))
}

fn failure(error: TrainError) -> Failure {
    match error {
        TrainError::Network(_) | TrainError::Switches(_) => Failure::Work(error.into()),
        other => Failure::input(other),
    }
}
