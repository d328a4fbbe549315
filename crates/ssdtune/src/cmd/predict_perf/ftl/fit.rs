//! `predict-perf ftl fit`: models of a target's firmware time, judged on workloads they have not
//! seen.

use super::super::simulator;
use crate::context::Context;
use crate::outcome::{Failure, Outcome};
use crate::{table, tuning};
use anyhow::Context as _;
use serde::Serialize;
use ssdtune_learn::Version;
use ssdtune_learn::mlp::{MlpError, can_train};
use ssdtune_predict::firmware::fit::{
    Errors, FirmwareModel, FitOptions, Fitted, Judgement, Networks, Provenance, Share, fit,
};
use ssdtune_predict::firmware::profile::{Profile, Statistic};
use ssdtune_predict::firmware::records::join;
use ssdtune_predict::firmware::regress::EPOCHS;
use std::path::PathBuf;

/// Arguments of `predict-perf ftl fit`.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Profile of this machine: events and times. Several taken at different times are put
    /// together.
    #[arg(long, value_name = "FILE", required = true, num_args = 1..)]
    host: Vec<PathBuf>,

    /// Profile of the target, or of a stand-in for it: times of the same groups. Likewise.
    #[arg(long, value_name = "FILE", required = true, num_args = 1..)]
    target: Vec<PathBuf>,

    /// Which of a group's repeated times counts.
    #[arg(long, value_enum, value_name = "WHICH", default_value = "median")]
    time: TimeArg,

    /// Networks of the paper's Table 2: none, of the paper's shape, or also of the shapes that a
    /// search finds. Needs the program ssdtune-train.
    #[arg(long, value_enum, value_name = "HOW", default_value = "none")]
    networks: NetworksArg,

    /// Passes over the groups that a network takes; Table 2's for its 55,333 groups.
    #[arg(long, value_name = "N", default_value_t = EPOCHS as u32, value_parser = clap::value_parser!(u32).range(1..=100_000))]
    epochs: u32,

    /// File for the model.
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
}

/// Which of a group's repeated times counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
enum TimeArg {
    /// The median.
    Median,
    /// The least: on a machine that is shared, since others only ever add time.
    Least,
}

/// How networks are dealt with.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
enum NetworksArg {
    /// Train none.
    None,
    /// Six layers of 128 neurons.
    PaperShape,
    /// That, and the best of all 48 points of Table 2, searched on a tenth of the groups.
    Search,
}

#[derive(Serialize)]
struct Document<'a> {
    target: String,
    provenance: &'a Provenance,
    #[serde(flatten)]
    fitted: &'a Fitted,
}

/// Fits, writes, prints.
pub(super) fn run(args: &Args, context: &Context) -> Outcome {
    if args.networks != NetworksArg::None && !can_train() {
        return Err(Failure::usage(MlpError::NoTrainer));
    }
    if let Some(path) = &args.out {
        super::has_folder(path)?;
    }
    let host = Profile::read_all(&args.host).map_err(Failure::input)?;
    let target = Profile::read_all(&args.target).map_err(Failure::input)?;
    let statistic = match args.time {
        TimeArg::Median => Statistic::Median,
        TimeArg::Least => Statistic::Least,
    };
    let records = join(&host, &target, statistic).map_err(Failure::input)?;
    let networks = match args.networks {
        NetworksArg::None => Networks::None,
        NetworksArg::PaperShape => Networks::PaperShape,
        NetworksArg::Search => Networks::Search,
    };
    let options =
        FitOptions { networks, epochs: args.epochs as usize, seed: context.seed().unwrap_or(0) };
    let outcome = tuning::pool(context)?.install(|| fit(&records, options));
    let (fitted, profiled, counts) = outcome.map_err(|error| Failure::Work(error.into()))?;
    let groups = records.rows.len();
    let provenance = Provenance {
        host: host.source,
        target: target.source,
        groups,
        statistic,
        program: simulator(),
    };
    if let Some(path) = &args.out {
        let errors = |name: &str| {
            let found = fitted.judgements.iter().find(|one| one.learner == name);
            found.map(|one| one.plain.clone()).context("a learner that was not judged")
        };
        let model = FirmwareModel {
            firmware_time_model: Version,
            provenance: provenance.clone(),
            learner: fitted.best.clone(),
            profiled,
            counts,
            profiled_errors: errors(&fitted.best)?,
            counts_errors: errors("counts")?,
        };
        std::fs::write(path, model.to_json())
            .with_context(|| format!("cannot write {}", path.display()))?;
    }
    match context.json() {
        true => context.document(&Document {
            target: provenance.target_label(),
            provenance: &provenance,
            fitted: &fitted,
        }),
        false => show(&provenance, &fitted, context),
    }
}

fn show(provenance: &Provenance, fitted: &Fitted, context: &Context) -> Outcome {
    context.line(format_args!("target: {}", provenance.target_label()))?;
    context
        .line(format_args!("host:   {}", provenance.host.time.label(&provenance.host.machine)))?;
    context.line(format_args!(
        "{} groups; the target takes {:.2} to {:.2} times as long as the host, correlation {:.3}",
        fitted.records, fitted.ratio.0, fitted.ratio.1, fitted.host_correlation
    ))?;
    context.line(format_args!(
        "one run is off its median by {:.1} % on the target and {:.1} % on the host; {:.1} % remain in the \
         target's medians",
        100.0 * fitted.target_noise,
        100.0 * fitted.host_noise,
        100.0 * fitted.target_floor
    ))?;
    if let Some([by_average, by_tail]) = &fitted.shapes {
        context.line(format_args!(
            "networks: {by_average:?} by the average, {by_tail:?} by the 99th percentile"
        ))?;
    }
    overview(&fitted.judgements, context)?;
    let chosen = ["static", "linear", "dnn", "rate dnn", fitted.best.as_str(), "counts"];
    let mut shown: Vec<&Judgement> = Vec::new();
    for name in chosen {
        let found = fitted.judgements.iter().find(|one| one.learner == name);
        if let Some(one) =
            found.filter(|one| !shown.iter().any(|other| other.learner == one.learner))
        {
            shown.push(one);
        }
    }
    by_workload("average, error in %", &shown, |one| one.average_percent, context)?;
    by_workload("99th percentile, error in %", &shown, |one| one.p99_percent, context)?;
    shares(&fitted.shares, context)?;
    let mut table = table::new(&["event", "correlation here", "the paper's"]);
    for row in &fitted.correlations {
        let here = row.here.map_or_else(|| "-".to_owned(), |value| format!("{value:.3}"));
        table.add_row([row.event.clone(), here, format!("{:.3}", row.paper)]);
    }
    context.line(table)?;
    context.line(format_args!("best on unseen workloads: {}", fitted.best))
}

fn overview(judgements: &[Judgement], context: &Context) -> Outcome {
    let mut table = table::new(&[
        "model",
        "average",
        "worst",
        "p99",
        "worst",
        "groups",
        "off",
        "of",
        "+NAND average",
        "+NAND p99",
        "+NAND off",
        "of",
    ]);
    let off = |errors: &Errors| {
        [format!("{:.4} s", errors.off_seconds), format!("{:.3} s", errors.seconds)]
    };
    for one in judgements {
        let (plain, nand) = (&one.plain, &one.with_nand);
        let mut row = vec![one.learner.clone()];
        row.extend(
            [
                plain.average_percent,
                plain.average_percent_max,
                plain.p99_percent,
                plain.p99_percent_max,
                plain.group_percent,
            ]
            .map(|value| format!("{value:.1} %")),
        );
        row.extend(off(plain));
        row.extend([nand.average_percent, nand.p99_percent].map(|value| format!("{value:.2} %")));
        row.extend(off(nand));
        table.add_row(row);
    }
    context.line(table)
}

/// Fig. 1.
fn shares(all: &[Share], context: &Context) -> Outcome {
    context.line("firmware's share of firmware and flash time, the host's pages alone, in %")?;
    let mut table = table::new(&["workload", "NAND", "Z-NAND"]);
    let count = all.len().max(1) as f64;
    let mean = |of: fn(&Share) -> f64| all.iter().map(of).sum::<f64>() / count;
    let row = |name: &str, nand: f64, z_nand: f64| {
        [name.to_owned(), format!("{:.1}", 100.0 * nand), format!("{:.1}", 100.0 * z_nand)]
    };
    for one in all {
        table.add_row(row(&one.workload, one.nand, one.z_nand));
    }
    table.add_row(row("mean", mean(|one| one.nand), mean(|one| one.z_nand)));
    context.line(table)
}

fn by_workload(
    title: &str,
    judgements: &[&Judgement],
    of: fn(&ssdtune_predict::firmware::fit::WorkloadError) -> f64,
    context: &Context,
) -> Outcome {
    let mut heads = vec!["workload", "groups", "measured mean", "measured p99"];
    heads.extend(judgements.iter().map(|one| one.learner.as_str()));
    let mut table = table::new(&heads);
    let Some(first) = judgements.first() else { return Ok(()) };
    for (place, known) in first.plain.workloads.iter().enumerate() {
        let mut row = vec![
            known.workload.clone(),
            known.groups.to_string(),
            format!("{:.0} us", known.mean_ns / 1e3),
            format!("{:.0} us", known.p99_ns / 1e3),
        ];
        let errors = judgements.iter().filter_map(|one| one.plain.workloads.get(place));
        row.extend(errors.map(|one| format!("{:.1}", of(one))));
        table.add_row(row);
    }
    context.line(title)?;
    context.line(table)
}
