//! `keeper eval`: how good a network is on mixes that it has not seen, and what it costs.

use super::labels_failure;
use crate::context::Context;
use crate::outcome::{Failure, InFile, Outcome};
use serde::Serialize;
use ssdtune_keeper::evaluation::{DecisionCost, decision_cost};
use ssdtune_keeper::train::divide;
use ssdtune_keeper::{Evaluation, LabelledMix, Labels, Policy, evaluate};
use std::path::PathBuf;

/// Arguments of `keeper eval`.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The network.
    #[arg(long, value_name = "FILE")]
    model: PathBuf,

    /// Labels of `keeper label`. The mixes judged are those that `keeper train` sets aside for
    /// testing with the model's seed.
    labels: PathBuf,

    /// Judge all mixes. This is for labels that the network was not trained on.
    #[arg(long)]
    all: bool,
}

#[derive(Serialize)]
struct Document {
    #[serde(flatten)]
    evaluation: Evaluation,
    cost: DecisionCost,
}

/// Judges the network and prints.
pub(super) fn run(args: &Args, context: &Context) -> Outcome {
    let policy = Policy::read(&args.model).map_err(Failure::input)?;
    let labels = Labels::read(&args.labels).map_err(labels_failure)?;
    if policy.drives == 1 && !policy.is_for_labels(&labels.source) {
        let (trained, labelled) = (&policy.device, &labels.source.device);
        context.note(format_args!(
            "the network was trained for the drive {trained}, the labels are of {labelled}, and \
             the two are not configured alike"
        ));
    }
    let mixes: Vec<&LabelledMix> = match args.all {
        true => labels.mixes.iter().collect(),
        false => divide(&labels, policy.seed).map_err(Failure::input)?[1].clone(),
    };
    if mixes.is_empty() {
        return Err(InFile::failure(&args.labels, None, "it holds no mix to judge the network by"));
    }
    let evaluation = evaluate(&policy, &labels.source, &mixes).map_err(Failure::input)?;
    let cost = decision_cost(&policy, &mixes);
    let text = evaluation.text(&cost);
    context.show(&Document { evaluation, cost }, text)
}
