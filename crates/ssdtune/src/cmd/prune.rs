//! `ssdtune prune`: which parameters matter for a workload, and in which order to tune them.

use crate::autodb;
use crate::context::{Context, Level};
use crate::global::{real, whole};
use crate::interrupt::Deferred;
use crate::outcome::Outcome;
use crate::progress;
use crate::tuning::{self, TuneArgs};
use ssdtune_tune::DefaultSpace;
use ssdtune_tune::prune::{self, PruneSettings, Step};

/// Arguments of `ssdtune prune`.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    #[command(flatten)]
    tune: TuneArgs,

    /// A parameter that changes performance (latency and throughput together) by less than this
    /// share is insensitive.
    #[arg(long, value_name = "SHARE", default_value_t = 0.005, value_parser = real(0.0..=1.0))]
    flat: f64,

    /// Do not try insensitive parameters in pairs.
    #[arg(long)]
    no_pairs: bool,

    /// Configurations drawn for the regression.
    #[arg(long, value_name = "N", default_value_t = 100, value_parser = whole::<u32>(3..))]
    samples: u32,

    /// Parameters whose coefficient is below this are dropped.
    #[arg(long, value_name = "C", default_value_t = 0.001, value_parser = real(0.0..=1e6))]
    threshold: f64,
}

/// Prunes, stores what was found, and prints it.
pub(crate) fn run(args: &Args, context: &Context) -> Outcome {
    let job = args.tune.load(DefaultSpace::Market, args.tune.weights(), None, context)?;
    let settings = PruneSettings {
        flat: args.flat,
        pairs: !args.no_pairs,
        samples: args.samples as usize,
        threshold: args.threshold,
        seed: args.tune.search_seed(context),
        ..PruneSettings::default()
    };
    let deferred = Deferred::new();
    // Drives of many sizes follow each other: what one leaves is of no use to the next.
    ssdtune_output::give_back_freed_memory();
    let evaluator = job.evaluator(deferred.flag(), &|_| ssdtune_output::give_back_freed_memory());
    let bar = progress::bar(0, "", context.level() > Level::Quiet);
    let note = context.notes();
    let tell = |Step { stage, done, drives }: Step<'_>| {
        bar.set_length(drives as u64);
        bar.set_position(done as u64);
        bar.set_message(stage.to_owned());
        if done == 0 && bar.is_hidden() {
            note(&format!("{stage}; drives: {drives}"));
        }
    };
    let pruned = || prune::prune(&job.task, &settings, &evaluator, &tell);
    let pruned = context.pool()?.install(pruned);
    bar.finish_and_clear();
    let pruning = pruned.map_err(tuning::failure)?;
    if let Some(db) = &job.db {
        pruning.store(db).map_err(autodb::failure)?;
    }
    context.show(&pruning, prune::text(&pruning))
}
