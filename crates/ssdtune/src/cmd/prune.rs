//! `ssdtune prune`: which parameters matter for a workload, and in which order to tune them.

use crate::context::{Context, Level};
use crate::interrupt::Deferred;
use crate::outcome::{Failure, Outcome};
use crate::table;
use crate::tuning::{self, Bounds, TuneArgs};
use ssdtune_tune::evaluate::CachedEvaluator;
use ssdtune_tune::prune::{self, Finding, PruneSettings, Pruning};

/// Arguments of `ssdtune prune`.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    #[command(flatten)]
    tune: TuneArgs,

    /// A parameter that moves latency and throughput together by less than this share is
    /// insensitive.
    #[arg(long, value_name = "SHARE", default_value_t = 0.005)]
    flat: f64,

    /// Leave out the check of insensitive parameters in pairs.
    #[arg(long)]
    no_pairs: bool,

    /// Configurations drawn for the regression.
    #[arg(long, value_name = "N", default_value_t = 100, value_parser = clap::value_parser!(u32).range(3..))]
    samples: u32,

    /// Coefficients below this are dropped.
    #[arg(long, value_name = "C", default_value_t = 0.001)]
    threshold: f64,
}

/// Prunes, prints both tables, stores them.
pub(crate) fn run(args: &Args, context: &Context) -> Outcome {
    let job = args.tune.load(Bounds::Market, args.tune.weights(), context)?;
    let settings = PruneSettings {
        flat: args.flat,
        pairs: !args.no_pairs,
        samples: args.samples as usize,
        threshold: args.threshold,
        seed: args.tune.search_seed(context),
        ..PruneSettings::default()
    };
    let deferred = Deferred::new();
    let evaluator =
        CachedEvaluator::new(&*job.evaluator, job.db.as_ref(), deferred.flag(), &|_| {});
    let wanted = context.level() > Level::Quiet;
    let pruning = tuning::pool(context)?.install(|| {
        let mut tell = |what: &'static str| {
            if wanted {
                anstream::eprintln!("{what}");
            }
        };
        prune::prune(&job.task, &settings, &evaluator, &mut tell)
    });
    let pruning = pruning.map_err(tuning::failure)?;
    if let Some(db) = &job.db {
        pruning.store(db).map_err(|error| Failure::Work(error.into()))?;
    }
    match context.json() {
        true => context.document(&pruning),
        false => show(&pruning, context),
    }
}

fn show(pruning: &Pruning, context: &Context) -> Outcome {
    context.line(format_args!(
        "{} on {}: performance (formula 1) from the baseline to 16x, limits ignored",
        pruning.target, pruning.baseline
    ))?;
    let mut coarse = table::new(&["parameter", "2x", "4x", "8x", "16x", "finding"]);
    for sweep in &pruning.coarse {
        let mut row = vec![sweep.key.clone()];
        row.extend((1..5).map(|place| match sweep.performances.get(place) {
            Some(Some(own)) => format!("{own:+.3}"),
            Some(None) => "x".to_owned(),
            None => String::new(),
        }));
        row.push(finding(&sweep.finding));
        coarse.add_row(row);
    }
    coarse.align_right(1..=4);
    context.line(coarse)?;
    context.line(format_args!("{} pairs of insensitive parameters tried", pruning.pairs_tried))?;
    context.line(format_args!(
        "\nRidge coefficients over {} configurations within the limits (R² {:.2})",
        pruning.samples, pruning.r_squared
    ))?;
    let mut fine = table::new(&["order", "parameter", "coefficient"]);
    for (place, row) in pruning.fine.iter().enumerate() {
        let place = if row.kept { (place + 1).to_string() } else { "dropped".to_owned() };
        fine.add_row([place, row.key.clone(), format!("{:+.4}", row.coefficient)]);
    }
    fine.align_right(2..=2);
    context.line(fine)
}

fn finding(finding: &Finding) -> String {
    match finding {
        Finding::Sensitive => "sensitive".to_owned(),
        Finding::Insensitive => "insensitive".to_owned(),
        Finding::SensitiveWith(other) => format!("sensitive together with {other}"),
        Finding::NotExercised(mechanism) => format!("not exercised: no {mechanism}"),
        Finding::NoEffect(reason) => format!("no effect: {reason}"),
        Finding::NotSwept(reason) => format!("not swept: {reason}"),
    }
}
