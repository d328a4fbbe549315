//! `ssdtune search`: find a drive that serves a workload better, prove it, remember it.

use crate::autodb;
use crate::context::{Context, Level};
use crate::global::{real, whole};
use crate::interrupt::Deferred;
use crate::outcome::{Failure, Outcome};
use crate::outputs::OutPlace;
use crate::tuning::{self, Bar, HarmArg, TuneArgs};
use anyhow::anyhow;
use ssdtune_tune::memory::{AutoDb, Beginning};
use ssdtune_tune::recommend::{self, Pick, Recommendation};
use ssdtune_tune::search::{
    self, Algorithm, BeginOptions, Begun, OrderUse, PriorKnowledge, Settings,
};
use ssdtune_tune::{Aim, DefaultSpace, Stage, TuningJob, evaluate::EvaluationCounts};
use std::path::Path;

/// Arguments of `ssdtune search`.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    #[command(flatten)]
    tune: TuneArgs,

    #[command(flatten)]
    harm: HarmArg,

    /// Who proposes drives: `bayes` (sensitivity runs, then batches by expected improvement),
    /// `autoblox` (the paper's algorithm), or `random`.
    #[arg(long, value_name = "NAME", default_value = "bayes")]
    algorithm: Algorithm,

    /// The most evaluations of the target that proposals may cost. A run on a prefix counts as its
    /// share of one. Not in it, and counted apart: the baseline, the other workloads, and the
    /// evidence, which is measured after the search. A search can be given more with --resume.
    #[arg(long, value_name = "EVALS", default_value_t = 60.0, value_parser = real(1.0..=1e6))]
    budget: f64,

    /// Proposals judged together. This number decides the result; the number of threads does not.
    #[arg(long, value_name = "N", default_value_t = 4, value_parser = whole::<u32>(1..=64))]
    batch: u32,

    /// The best N configurations make the top set, from which roots are drawn.
    #[arg(long, value_name = "N", default_value_t = 3, value_parser = whole::<u32>(1..=100))]
    top: u32,

    /// Largest number of parameters in which a proposal may differ from the nearest learned
    /// configuration (autoblox).
    #[arg(long, value_name = "N", default_value_t = 5)]
    manhattan: u32,

    /// Largest number of steps of one descent (autoblox).
    #[arg(long, value_name = "N", default_value_t = 10, value_parser = whole::<u32>(1..))]
    descent: u32,

    /// Largest number of iterations for one new configuration (autoblox).
    #[arg(long, value_name = "N", default_value_t = 5, value_parser = whole::<u32>(1..))]
    iterations: u32,

    /// Standard deviations added to a predicted grade before the best is taken (autoblox).
    #[arg(long, value_name = "N", default_value_t = 8.0)]
    exploration: f64,

    /// Largest relative change of the top set that counts as no change.
    #[arg(long, value_name = "SHARE", default_value_t = 0.01, value_parser = real(0.0..=1.0))]
    convergence: f64,

    /// Evaluations without a change of the top set after which the search has converged.
    #[arg(long, value_name = "EVALS", default_value_t = 15, value_parser = whole::<u32>(1..))]
    patience: u32,

    /// Requests of the prefix that candidates are raced on (bayes); 0: no races. Default: a tenth.
    #[arg(long, value_name = "N")]
    prefix: Option<u32>,

    /// Go on with the search that these same options began, finished or not; --budget, --patience
    /// and --convergence may be others. What it measured is not run again, and the answer is the
    /// one that these options have without an interruption. Where no search began with these
    /// options, one begins.
    #[arg(long, conflicts_with = "no_db")]
    resume: bool,

    /// Vary all parameters from the start, whatever pruning has found (autoblox).
    #[arg(long)]
    ignore_pruning: bool,

    /// Vary all parameters that pruning has kept from the start, together (autoblox).
    #[arg(long, conflicts_with = "ignore_pruning")]
    ignore_order: bool,

    /// What drives are to be good at, in place of the grade: some of latency, p99, p99.9,
    /// throughput, price, power, endurance. What is not named may get worse. The result is drives
    /// of which none is better in all (bayes).
    #[arg(long, value_name = "A,B,C", value_delimiter = ',')]
    aim: Vec<Aim>,

    /// Which of these is recommended: `knee`, `price=120` or `price=1.2x` (the best grade for
    /// that), or `latency=2x` (the cheapest that is so fast).
    #[arg(long, value_name = "WHICH", default_value = "knee", requires = "aim")]
    pick: Pick,

    /// Directory for the result: recommended.toml, recommended.xml, result.json, report.html,
    /// report.md; with --aim also front-01.toml and so on.
    #[arg(long, value_name = "DIR")]
    out: Option<OutPlace>,
}

impl Args {
    fn settings(&self, context: &Context) -> Settings {
        Settings {
            algorithm: self.algorithm,
            seed: self.tune.search_seed(context),
            budget: self.budget,
            batch: self.batch as usize,
            top: self.top as usize,
            manhattan_max: self.manhattan,
            descent_max: self.descent as usize,
            step_max: self.iterations as usize,
            exploration: self.exploration,
            convergence: self.convergence,
            patience: self.patience as usize,
            prefix: self.tune.prefix_share(self.prefix),
            aims: self.aim.clone(),
        }
    }
}

/// Searches and prints.
pub(crate) fn run(args: &Args, context: &Context) -> Outcome {
    let settings = args.settings(context);
    settings.check().map_err(|wrong| Failure::usage(anyhow!("{wrong}")))?;
    let names = recommend::file_names(&settings);
    let enter = |directory: &Path| context.will_write_into("--out", directory, &names);
    args.out.as_deref().filter(|_| !args.resume).map_or(Ok(()), enter)?;
    let (tune, harm) = (&args.tune, Some(args.harm.max_harm));
    let job = tune.load(DefaultSpace::of_search(&args.aim), tune.weights(), harm, context)?;
    if let Some(directory) = args.out.as_deref().filter(|_| args.resume) {
        // A search that goes on replaces the result that it has left there.
        let question = recommend::question(&job.task, &settings, &*job.evaluator);
        let paths = names.iter().map(|name| directory.join(name));
        match recommend::is_result(directory, &question) {
            true => context.will_replace("--out", paths),
            false => enter(directory),
        }?;
    }
    let begin = |db| begin(&job, db, &settings, args, context);
    let (beginning, prior) = job.db.as_ref().map(begin).transpose()?.unzip();
    let result = find(&job, &prior.unwrap_or_default(), &settings, args.pick, context)?;
    if let (Some(db), Some(beginning)) = (&job.db, &beginning) {
        result.store(db, beginning).map_err(autodb::failure)?;
    }
    if let Some(directory) = &args.out {
        write(directory, &result, context)?;
    }
    context.show(&result, recommend::text(&result))?;
    if !context.json() {
        result.notes.iter().for_each(|note| context.note(format_args!("note: {note}")));
    }
    if result.is_what_was_asked() { Ok(()) } else { Err(Failure::Reported(1)) }
}

/// Takes prior knowledge out of AutoDB, and tells what it is.
fn begin(
    job: &TuningJob,
    db: &AutoDb,
    settings: &Settings,
    args: &Args,
    context: &Context,
) -> Outcome<(Beginning, PriorKnowledge)> {
    let order = OrderUse::stated(args.ignore_pruning, args.ignore_order);
    let options = BeginOptions { resume: args.resume, order };
    let begun = search::begin(db, &job.task, settings, &job.evaluator.identity(), options);
    let begun = begun.map_err(tuning::failure_of_beginning)?;
    let Begun { beginning, prior, resumed } = begun;
    if args.resume && !resumed {
        context.note(format_args!(
            "--resume: no search of this version began in {} with these options, so this one \
             begins; what is stored is not run again",
            db.path().display()
        ));
    }
    if context.level() >= Level::Verbose {
        context.note(prior.told(beginning.category.as_deref()));
    }
    Ok((beginning, prior))
}

/// Searches, and measures the evidence for what was found.
fn find(
    job: &TuningJob,
    prior: &PriorKnowledge,
    settings: &Settings,
    pick: Pick,
    context: &Context,
) -> Outcome<Recommendation> {
    let deferred = Deferred::new();
    let bar = Bar::new(settings.budget, context);
    let count = |counts: EvaluationCounts| bar.answered(counts.answered);
    let evaluator = job.evaluator(deferred.flag(), &count);
    let outcome = context.pool()?.install(|| {
        let mut tell = |stage: Stage| match stage {
            Stage::Trial(progress, run) => bar.trial(progress, run),
            Stage::After(what, most, answered) => bar.after(what, most, answered),
        };
        job.recommend(prior, settings, pick, &evaluator, &mut tell)
    });
    bar.finish();
    let mut result = outcome.map_err(|error| tuning::failure_of_result(error, context))?;
    result.effort.seconds = bar.seconds();
    Ok(result)
}

/// Writes the files of --out. A drive that MQSim has no words for has no XML, and the XML of an
/// earlier search does not stay beside it.
fn write(directory: &Path, result: &Recommendation, context: &Context) -> Outcome {
    let absent = if result.mqsim_xml.is_some() { "" } else { " is not written" };
    for note in &result.mqsim_notes {
        context.note(format_args!("recommended.xml{absent}: {note}"));
    }
    let (written, left_out): (Vec<_>, Vec<_>) =
        result.files()?.into_iter().partition(|(_, text)| text.is_some());
    let texts = written.into_iter().filter_map(|(name, text)| Some((name, text?)));
    ssdtune_output::write_into(directory, texts)?;
    for (name, _) in left_out {
        if ssdtune_output::remove(&directory.join(&name))? {
            context.note(format_args!("{name} of an earlier search is removed"));
        }
    }
    Ok(())
}
