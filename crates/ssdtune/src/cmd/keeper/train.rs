//! `keeper train`: networks from labels, and how they come to be (Table III, Fig. 4).

use super::{SCORE_HEADINGS, read_labels, score_cells};
use crate::context::Context;
use crate::outcome::{Failure, Outcome};
use crate::program::command_line;
use crate::table;
use anyhow::Context as _;
use serde::Serialize;
use ssdtune_keeper::Score;
use ssdtune_keeper::evaluation::{score, score_network};
use ssdtune_keeper::train::{
    RECIPES, TrainError, TrainedPolicy, TrainingRecipe, TrainingSchedule, divide, train,
};
use ssdtune_learn::mlp::Curves;
use std::path::PathBuf;
use std::time::Instant;

/// Arguments of `keeper train`.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Labels of `keeper label`.
    labels: PathBuf,

    /// How to train: a row of Table III (sgd, sgd-momentum, adam-relu, adam-logistic); `ranker` or
    /// `parts`, which predict latencies of strategies or of their parts instead of the best
    /// strategy; or `all` to compare them, of which the last one is written.
    #[arg(long, value_name = "NAME", default_value = "parts")]
    recipe: String,

    /// How many times every mix is seen.
    #[arg(long, value_name = "N", default_value_t = TrainingSchedule::default().epochs as u32)]
    #[arg(value_parser = clap::value_parser!(u32).range(1..=100_000))]
    epochs: u32,

    /// Mixes in each step; with `parts`, examples of parts.
    #[arg(long, value_name = "N", default_value_t = TrainingSchedule::default().batch as u32)]
    #[arg(value_parser = clap::value_parser!(u32).range(1..=100_000))]
    batch: u32,

    /// File for the network.
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
}

/// One training.
#[derive(Serialize)]
struct Line {
    recipe: &'static str,
    mixes: usize,
    epoch: usize,
    seconds: f64,
    loss: f64,
    /// The network alone, never abstaining, on the plain mixes: the paper's measure.
    network: Score,
    /// The policy as it is written, on all mixes.
    score: Score,
    curves: Curves,
}

/// Trains, writes, prints.
pub(super) fn run(args: &Args, context: &Context) -> Outcome {
    let labels = read_labels(&args.labels)?;
    let recipes: Vec<TrainingRecipe> = (RECIPES.iter().copied())
        .filter(|recipe| args.recipe == "all" || args.recipe == recipe.name)
        .collect();
    if recipes.is_empty() {
        let names: Vec<&str> = RECIPES.iter().map(|recipe| recipe.name).collect();
        let (given, legal) = (&args.recipe, names.join(", "));
        return Err(Failure::usage(anyhow::anyhow!("--recipe {given}: one of {legal}, all")));
    }
    let seed = context.seed().unwrap_or(0);
    let (epochs, batch) = (args.epochs as usize, args.batch as usize);
    let schedule = TrainingSchedule { epochs, batch, seed };
    let [mixes, test] = divide(&labels, seed).map_err(Failure::input)?;
    let mut lines = Vec::new();
    for recipe in recipes {
        let start = Instant::now();
        let TrainedPolicy { policy, curves, epoch } =
            train(&labels, &mixes, recipe, schedule, command_line()).map_err(failure)?;
        let seconds = start.elapsed().as_secs_f64();
        if let Some(path) = &args.out {
            let text = serde_json::to_string(&policy)? + "\n";
            std::fs::write(path, text)
                .with_context(|| format!("cannot write {}", path.display()))?;
        }
        lines.push(Line {
            recipe: recipe.name,
            mixes: mixes.len(),
            epoch,
            seconds,
            loss: curves.train_loss.get(epoch).copied().unwrap_or(f64::NAN),
            network: score_network(&policy, &test),
            score: score(&policy, &test),
            curves,
        });
    }
    if context.json() {
        return context.document(&lines);
    }
    context.line(format_args!("{} mixes to train, {} to test", mixes.len(), test.len()))?;
    context.line(table_of(&lines))
}

fn failure(error: TrainError) -> Failure {
    match error {
        TrainError::TooFew { .. } => Failure::input(error),
        TrainError::Network(_) => Failure::Work(error.into()),
    }
}

fn table_of(lines: &[Line]) -> ssdtune_report::Table {
    let headings: Vec<&str> =
        ["recipe", "loss"].into_iter().chain(SCORE_HEADINGS).chain(["epoch", "seconds"]).collect();
    let mut table = table::new(&headings);
    for line in lines {
        let network = format!("{}, plain mixes", line.recipe);
        for (name, score) in [(network, &line.network), ("abstaining, all".into(), &line.score)] {
            let how = [line.epoch.to_string(), format!("{:.1}", line.seconds)];
            let loss = format!("{:.3}", line.loss);
            table.add_row([name, loss].into_iter().chain(score_cells(score)).chain(how));
        }
    }
    table
}
