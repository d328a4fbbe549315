//! `keeper eval`: a network on mixes that it has not seen, and what it costs.

use super::{SCORE_HEADINGS, read_labels, read_policy, score_cells};
use crate::context::Context;
use crate::outcome::{Failure, Outcome};
use crate::table;
use serde::Serialize;
use ssdtune_keeper::eval::{Score, of_choices, score};
use ssdtune_keeper::features::Seen;
use ssdtune_keeper::labels::Row;
use ssdtune_keeper::policy::Policy;
use ssdtune_keeper::strategy::Strategy;
use ssdtune_keeper::train::divide;
use std::hint::black_box;
use std::path::PathBuf;
use std::time::Instant;

/// Arguments of `keeper eval`.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The network.
    #[arg(long, value_name = "FILE")]
    model: PathBuf,

    /// Labels of `keeper label`. Judged are the mixes that `keeper train` sets aside for testing with the model's
    /// seed.
    labels: PathBuf,

    /// Judge all the mixes: for labels the model was not trained on.
    #[arg(long)]
    all: bool,
}

#[derive(Serialize)]
struct Document {
    model: Score,
    /// The model on those of the mixes that come one by one, and on those that come in bursts.
    plain: Option<Score>,
    bursty: Option<Score>,
    /// Leaving everything shared, or isolated.
    shared: Score,
    isolated: Score,
    cost: Cost,
}

/// What the network costs (section IV-D).
#[derive(Serialize)]
struct Cost {
    parameters: usize,
    bytes: usize,
    paper_bytes: usize,
    multiplications: usize,
    predict_ns: f64,
}

/// Judges and prints.
pub(super) fn run(args: &Args, context: &Context) -> Outcome {
    let policy = read_policy(&args.model)?;
    let labels = read_labels(&args.labels)?;
    if labels.source.device_digest != policy.device_digest {
        let (trained, labelled) = (&policy.device, &labels.source.device);
        context.note(format_args!(
            "the model is of the drive {trained} and the labels are of {labelled}, not configured alike"
        ));
    }
    if labels.source.channels != policy.channels {
        return Err(Failure::usage(anyhow::anyhow!(
            "the model is for {} channels, the labels for {}",
            policy.channels,
            labels.source.channels
        )));
    }
    let rows: Vec<&Row> = match args.all {
        true => labels.rows.iter().collect(),
        false => {
            let [_, test] = divide(&labels, policy.seed).map_err(Failure::input)?;
            test
        }
    };
    let fixed = |strategy: Strategy| of_choices(&rows, &vec![strategy; rows.len()]);
    let of_kind = |is_bursty: bool| {
        let is_so = |row: &&Row| row.mix.is_bursty() == is_bursty;
        let some: Vec<&Row> = rows.iter().copied().filter(is_so).collect();
        (!some.is_empty() && some.len() < rows.len()).then(|| score(&policy, &some))
    };
    let document = Document {
        model: score(&policy, &rows),
        plain: of_kind(false),
        bursty: of_kind(true),
        shared: fixed(Strategy::Shared),
        isolated: fixed(Strategy::Isolated),
        cost: cost(&policy, &rows),
    };
    if context.json() {
        return context.document(&document);
    }
    show(&document, context)
}

fn cost(policy: &Policy, rows: &[&Row]) -> Cost {
    let seen: Vec<Seen> = rows.iter().map(|row| Seen::new(&row.seen, policy.intensity)).collect();
    let mut scratch = policy.scratch();
    let mut fastest = f64::INFINITY;
    // The least of many short rounds: others use the machine too.
    for round in (0..2000).flat_map(|_| seen.chunks(16)).take(20_000) {
        let start = Instant::now();
        for seen in round {
            black_box(policy.choose(black_box(seen), &mut scratch));
        }
        fastest = fastest.min(start.elapsed().as_nanos() as f64 / round.len() as f64);
    }
    Cost {
        parameters: policy.network.parameters(),
        bytes: policy.bytes(),
        paper_bytes: policy.paper_bytes(),
        multiplications: policy.multiplications(),
        predict_ns: fastest,
    }
}

fn show(document: &Document, context: &Context) -> Outcome {
    context.line(format_args!("{} mixes", document.model.mixes))?;
    let headings: Vec<&str> = std::iter::once("").chain(SCORE_HEADINGS).collect();
    let mut table = table::new(&headings);
    let rows = [
        ("model", Some(&document.model)),
        ("of it plain", document.plain.as_ref()),
        ("in bursts", document.bursty.as_ref()),
        ("Shared", Some(&document.shared)),
        ("Isolated", Some(&document.isolated)),
    ];
    for (name, score) in rows.into_iter().filter_map(|(name, score)| Some((name, score?))) {
        table.add_row(std::iter::once(name.to_owned()).chain(score_cells(score)));
    }
    context.line(table)?;
    let cost = &document.cost;
    context.line(format_args!(
        "the network: {} weights and biases, {} bytes in single precision ({} by the paper's count of 16 for a \
         neuron), {} multiplications, {:.0} ns a prediction",
        cost.parameters, cost.bytes, cost.paper_bytes, cost.multiplications, cost.predict_ns
    ))
}
