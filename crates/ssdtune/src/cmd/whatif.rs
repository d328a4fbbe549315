//! `ssdtune whatif`: the nearest change that reaches a goal, beyond what the market has.

use crate::context::Context;
use crate::interrupt::Deferred;
use crate::outcome::{Failure, Outcome};
use crate::tuning::{self, Bar, BudgetArgs, HarmArg, TuneArgs};
use ssdtune_tune::DefaultSpace;
use ssdtune_tune::search::{Progress, Trial};
use ssdtune_tune::whatif::{self, Goal};

/// Arguments of `ssdtune whatif`.
#[derive(Debug, clap::Args)]
#[command(group(clap::ArgGroup::new("goal").required(true).args(["latency", "throughput"])))]
pub(crate) struct Args {
    #[command(flatten)]
    tune: TuneArgs,

    #[command(flatten)]
    harm: HarmArg,

    /// How many times shorter the latency is to be, as in 3x.
    #[arg(long, value_name = "FACTOR", value_parser = Goal::parse_factor)]
    latency: Option<f64>,

    /// How many times higher the throughput is to be, as in 3x.
    #[arg(long, value_name = "FACTOR", value_parser = Goal::parse_factor)]
    throughput: Option<f64>,

    #[command(flatten)]
    budget: BudgetArgs,
}

/// Searches and prints.
pub(crate) fn run(mut args: Args, context: &Context) -> Outcome {
    let goal = match (args.latency, args.throughput) {
        (Some(factor), _) => Goal::Latency(factor),
        (None, factor) => Goal::Throughput(factor.expect("the command line has one of both")),
    };
    if args.tune.others.is_empty() {
        // The question is about the target alone.
        args.tune.others.push("none".to_owned());
    }
    let (tune, harm) = (&args.tune, Some(args.harm.max_harm));
    let job = tune.load(DefaultSpace::WhatIf, goal.weights(), harm, context)?;
    let settings = args.budget.settings(&args.tune, context);
    let deferred = Deferred::new();
    let evaluator = job.evaluator(deferred.flag(), &|_| {});
    let bar = Bar::new(settings.budget, context);
    let outcome = context.pool()?.install(|| {
        let mut tell = |_: &Trial, progress: &Progress| bar.trial(progress, evaluator.counts().run);
        whatif::run(&job.task, &settings, goal, &evaluator, job.held_out.as_deref(), &mut tell)
    });
    bar.finish();
    let answer = outcome.map_err(|error| tuning::failure_of_result(error, context))?;
    context.show(&answer, whatif::text(&answer, &job.task.target.name))?;
    // That a goal cannot be met is a result and no failure of the work. Scripts see it by the code.
    if answer.met { Ok(()) } else { Err(Failure::Reported(1)) }
}
