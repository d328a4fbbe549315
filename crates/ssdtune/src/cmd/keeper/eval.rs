//! `keeper eval`: how good a network is on mixes that it has not seen, and what it costs.

use super::{SCORE_HEADINGS, read_labels, score_cells};
use crate::context::Context;
use crate::keeper::read_policy;
use crate::outcome::{Failure, Outcome};
use crate::table;
use serde::Serialize;
use ssdtune_keeper::evaluation::{DecisionCost, decision_cost};
use ssdtune_keeper::train::divide;
use ssdtune_keeper::{Evaluation, LabelledMix, evaluate};
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
    let policy = read_policy(&args.model)?;
    let labels = read_labels(&args.labels)?;
    if labels.source.device_digest != policy.device_digest {
        let (trained, labelled) = (&policy.device, &labels.source.device);
        context.note(format_args!(
            "the network was trained for the drive {trained}, the labels are of {labelled}, and \
             the two are not configured alike"
        ));
    }
    if labels.source.channels != policy.channels {
        return Err(Failure::usage(anyhow::anyhow!(
            "the network is for drives of {} channels, the labels are of one with {}",
            policy.channels,
            labels.source.channels
        )));
    }
    let mixes: Vec<&LabelledMix> = match args.all {
        true => labels.mixes.iter().collect(),
        false => {
            let [_, test] = divide(&labels, policy.seed).map_err(Failure::input)?;
            test
        }
    };
    let evaluation = evaluate(&policy, &mixes);
    let document = Document { evaluation, cost: decision_cost(&policy, &mixes) };
    if context.json() {
        return context.document(&document);
    }
    show(&document, context)
}

fn show(document: &Document, context: &Context) -> Outcome {
    let Document { evaluation, cost } = document;
    context.line(format_args!("{} mixes", evaluation.model.mixes))?;
    let headings: Vec<&str> = std::iter::once("").chain(SCORE_HEADINGS).collect();
    let mut table = table::new(&headings);
    let rows = [
        ("model", Some(&evaluation.model)),
        ("on plain mixes", evaluation.plain.as_ref()),
        ("on mixes in bursts", evaluation.bursty.as_ref()),
        ("Shared", Some(&evaluation.shared)),
        ("Isolated", Some(&evaluation.isolated)),
    ];
    for (name, score) in rows.into_iter().filter_map(|(name, score)| Some((name, score?))) {
        table.add_row(std::iter::once(name.to_owned()).chain(score_cells(score)));
    }
    context.line(table)?;
    context.line(format_args!(
        "the network: {} weights and biases, {} bytes in single precision ({} by the paper's count \
         of 16 for a neuron), {} multiplications, {:.0} ns a prediction",
        cost.parameters, cost.bytes, cost.paper_bytes, cost.multiplications, cost.predict_ns
    ))
}
