//! `ssdtune whatif`: the cheapest change that makes a workload so many times faster.

use crate::context::{Context, Level};
use crate::interrupt::Deferred;
use crate::outcome::{Failure, Outcome};
use crate::table;
use crate::tuning::{self, Bar, Bounds, TuneArgs};
use anyhow::anyhow;
use ssdtune_tune::evaluate::CachedEvaluator;
use ssdtune_tune::search::{Progress, Trial};
use ssdtune_tune::whatif::{self, Goal, WhatIfAnswer};
use std::sync::Mutex;

/// Arguments of `ssdtune whatif`.
#[derive(Debug, clap::Args)]
#[command(group(clap::ArgGroup::new("goal").required(true).args(["latency", "throughput"])))]
pub(crate) struct Args {
    #[command(flatten)]
    tune: TuneArgs,

    /// So many times shorter latency, as in 3x.
    #[arg(long, value_name = "FACTOR", value_parser = factor)]
    latency: Option<f64>,

    /// So many times the throughput, as in 3x.
    #[arg(long, value_name = "FACTOR", value_parser = factor)]
    throughput: Option<f64>,

    /// Evaluations of the target that may be spent on the search.
    #[arg(long, value_name = "EVALS", default_value_t = 60)]
    #[arg(value_parser = clap::value_parser!(u32).range(1..))]
    budget: u32,

    /// Requests of the prefix that candidates are raced on; 0 races nothing.
    #[arg(long, value_name = "N", default_value_t = 10_000)]
    prefix: u32,
}

fn factor(text: &str) -> Result<f64, String> {
    let number = text.strip_suffix('x').unwrap_or(text).parse();
    let legal = number.ok().filter(|factor| (1.0..=1e6).contains(factor));
    legal.ok_or_else(|| "write a factor of 1 or more, as in 3x".to_owned())
}

/// Searches and prints.
pub(crate) fn run(mut args: Args, context: &Context) -> Outcome {
    let goal = match (args.latency, args.throughput) {
        (Some(factor), _) => Goal::Latency(factor),
        (None, Some(factor)) => Goal::Throughput(factor),
        (None, None) => return Err(Failure::usage(anyhow!("say --latency or --throughput"))),
    };
    if args.tune.others.is_empty() {
        // The question is about the target alone.
        args.tune.others.push("none".to_owned());
    }
    let job = args.tune.load(Bounds::Wide, goal.weights(), context)?;
    let settings = tuning::settings(context, &args.tune, args.budget, args.prefix);
    let deferred = Deferred::new();
    let evaluator =
        CachedEvaluator::new(&*job.evaluator, job.db.as_ref(), deferred.flag(), &|_| {});
    let bar = Mutex::new(Bar::new(settings.budget, context.level() > Level::Quiet));
    let with_bar = |act: &dyn Fn(&Bar)| act(&bar.lock().unwrap_or_else(|held| held.into_inner()));
    let outcome = tuning::pool(context)?.install(|| {
        let mut tell = |_: &Trial, progress: &Progress| with_bar(&|bar| bar.trial(progress));
        whatif::run(&job.task, &settings, goal, &evaluator, &mut tell)
    });
    with_bar(&Bar::finish);
    let answer = outcome.map_err(tuning::failure)?;
    match context.json() {
        true => context.document(&answer)?,
        false => show(&answer, &job.task.target.name, context)?,
    }
    // A goal that cannot be met is a finding, not a failure of the work; scripts tell it by the
    // code.
    if answer.met { Ok(()) } else { Err(Failure::Reported(1)) }
}

fn show(answer: &WhatIfAnswer, target: &str, context: &Context) -> Outcome {
    let what = match answer.goal {
        Goal::Latency(_) => "shorter latency",
        Goal::Throughput(_) => "the throughput",
    };
    let reached = answer.goal.of(&answer.speedup);
    let wanted = answer.goal.wanted();
    match answer.met {
        true => context.line(format_args!(
            "{target}: {reached:.2}x {what} can be had (wanted {wanted}x) by these changes"
        ))?,
        false => context.line(format_args!(
            "{target}: {wanted}x {what} was not reached; {reached:.2}x is the nearest, by these changes"
        ))?,
    }
    let mut table = table::new(&["parameter", "baseline", "changed"]);
    for own in &answer.parameters {
        let unit = |value: &str| format!("{value} {}", own.unit).trim_end().to_owned();
        table.add_row([own.key.to_owned(), unit(&own.baseline), unit(&own.recommended)]);
    }
    context.line(table)?;
    match answer.priced {
        true => context.line(format_args!(
            "price {:.2}, baseline {:.2}",
            answer.cost, answer.baseline_cost
        )),
        false => context.line(format_args!(
            "distance from the baseline {:.2} (axes wholly crossed); give prices in --constraints for a cost",
            answer.cost
        )),
    }
}
