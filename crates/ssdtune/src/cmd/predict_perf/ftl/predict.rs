//! `predict-perf ftl predict`: the target's times of a host's profile, by a model.

use crate::context::Context;
use crate::outcome::{Failure, Outcome};
use crate::table;
use serde::Serialize;
use ssdtune_predict::firmware::fit::{FirmwareModel, percentile_99};
use ssdtune_predict::firmware::profile::Profile;
use ssdtune_predict::firmware::records::known;
use std::path::PathBuf;

/// Arguments of `predict-perf ftl predict`.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The model, of `predict-perf ftl fit`.
    #[arg(long, value_name = "FILE")]
    model: PathBuf,

    /// Profile of the machine that the model's host was: events and times. Several are put
    /// together.
    #[arg(long, value_name = "FILE", required = true, num_args = 1..)]
    host: Vec<PathBuf>,
}

#[derive(Serialize)]
struct Document {
    target: String,
    learner: String,
    groups: Vec<Predicted>,
}

#[derive(Serialize)]
struct Predicted {
    id: String,
    workload: String,
    predicted_ns: f64,
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
    let mut groups = Vec::with_capacity(host.rows.len());
    for row in &host.rows {
        let record = known(row, model.provenance.statistic).map_err(Failure::input)?;
        let predicted_ns = model.profiled.predict(&record).map_err(Failure::input)?;
        groups.push(Predicted { id: record.id, workload: record.workload, predicted_ns });
    }
    let target = model.provenance.target_label();
    if context.json() {
        return context.document(&Document { target, learner: model.learner, groups });
    }
    context.line(format_args!("target: {target}, by the learner `{}`", model.learner))?;
    let mut table = table::new(&["workload", "groups", "mean", "p99"]);
    for part in groups.chunk_by(|a, b| a.workload == b.workload) {
        let times: Vec<f64> = part.iter().map(|group| group.predicted_ns / 1e3).collect();
        let mean = times.iter().sum::<f64>() / times.len() as f64;
        let p99 = percentile_99(&times);
        let (name, count) = (part[0].workload.clone(), times.len().to_string());
        table.add_row([name, count, format!("{mean:.0} us"), format!("{p99:.0} us")]);
    }
    context.line(table)
}
