//! `ssdtune ablate`: one search for each value of α or β (AutoBlox, section 4.6).

use crate::context::{Context, Level};
use crate::global::real;
use crate::interrupt::Deferred;
use crate::outcome::{Failure, Outcome};
use crate::tuning::{self, BudgetArgs, HarmArg, TuneArgs};
use anyhow::anyhow;
use ssdtune_tune::DefaultSpace;
use ssdtune_tune::recommend::{self, AblationRow, ablate, ablation_text};

/// Arguments of `ssdtune ablate`.
#[derive(Debug, clap::Args)]
#[command(mut_arg("budget", |budget| budget.default_value("40")))]
pub(crate) struct Args {
    /// The weight to vary: `alpha` (throughput against latency) or `beta` (others against the
    /// target).
    #[arg(value_enum)]
    weight: Weight,

    #[command(flatten)]
    tune: TuneArgs,

    #[command(flatten)]
    harm: HarmArg,

    /// Values of the weight, one search for each.
    #[arg(long, value_name = "A,B,C", value_delimiter = ',')]
    #[arg(default_values_t = [0.01, 0.1, 0.3, 0.5, 0.7, 0.9, 0.99], value_parser = real(0.0..=1.0))]
    values: Vec<f64>,

    #[command(flatten)]
    budget: BudgetArgs,
}

#[derive(Clone, Copy, Debug, clap::ValueEnum)]
enum Weight {
    Alpha,
    Beta,
}

/// Searches for each value and prints.
pub(crate) fn run(args: &Args, context: &Context) -> Outcome {
    let weight = match args.weight {
        Weight::Alpha => recommend::Weight::Alpha,
        Weight::Beta => recommend::Weight::Beta,
    };
    let (tune, harm) = (&args.tune, Some(args.harm.max_harm));
    let job = tune.load(DefaultSpace::Market, tune.weights(), harm, context)?;
    if matches!(args.weight, Weight::Beta) && job.task.others.is_empty() {
        return Err(Failure::usage(anyhow!("beta is the weight of --others, and there are none")));
    }
    let settings = args.budget.settings(&args.tune, context);
    let deferred = Deferred::new();
    let evaluator = job.evaluator(deferred.flag(), &|_| {});
    let quiet = context.level() == Level::Quiet;
    let tell = |row: &AblationRow| {
        if !quiet {
            anstream::eprintln!("{}: grade {:.4}", row.value, row.grade);
        }
    };
    let rows = context
        .pool()?
        .install(|| {
            let held_out = job.held_out.as_deref();
            ablate(&job.task, weight, &args.values, &settings, &evaluator, held_out, &tell)
        })
        .map_err(|error| tuning::failure_of_result(error, context))?;
    context.show(&rows, ablation_text(weight, &rows))
}
