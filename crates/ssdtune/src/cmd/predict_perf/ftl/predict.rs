//! `predict-perf ftl predict`: the target's times, predicted from a profile of the host.

use crate::context::Context;
use crate::outcome::{Failure, Outcome};
use serde::Serialize;
use ssdtune_predict::firmware::{FirmwareModel, PredictedGroup, Profile};
use ssdtune_report::Text;
use std::path::PathBuf;

/// Arguments of `predict-perf ftl predict`.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// A model made by `predict-perf ftl fit`.
    #[arg(long, value_name = "FILE")]
    model: PathBuf,

    /// Profile of the machine that was the model's host: events and times. Several taken at
    /// different times are put together.
    #[arg(long, value_name = "FILE", required = true, num_args = 1..)]
    host: Vec<PathBuf>,
}

/// What `--json` prints.
#[derive(Serialize)]
struct Document {
    target: String,
    learner: String,
    groups: Vec<PredictedGroup>,
}

/// Predicts and prints.
pub(super) fn run(args: &Args, context: &Context) -> Outcome {
    let model = FirmwareModel::read(&args.model).map_err(Failure::input)?;
    let host = Profile::read_all(&args.host).map_err(Failure::input)?;
    let learned_on = &model.provenance.host.machine;
    if &host.source.machine != learned_on {
        context.warn(format_args!(
            "the profile is of {}, the model knows {learned_on} alone: its times say little here",
            host.source.machine
        ));
    }
    let groups = model.predict(&host).map_err(Failure::input)?;
    let target = model.provenance.target_label();
    let mut text = Text::from(format!("target: {target}, by the learner `{}`", model.learner));
    text.table(PredictedGroup::table(&groups));
    context.show(&Document { target, learner: model.learner, groups }, text)
}
