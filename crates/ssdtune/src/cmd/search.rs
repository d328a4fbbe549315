//! `ssdtune search`: find a drive that serves a workload better, prove it, remember it.

mod show;

use crate::context::{Context, Level};
use crate::interrupt::Deferred;
use crate::outcome::{Failure, Outcome};
use crate::tuning::{self, Bar, Bounds, TuneArgs, TuningJob};
use anyhow::{Context as _, anyhow};
use ssdtune_tune::evaluate::CachedEvaluator;
use ssdtune_tune::memory::{AutoDb, Beginning};
use ssdtune_tune::recommend::{self, Options, Recommendation};
use ssdtune_tune::search::{
    self, Algorithm, BeginError, BeginOptions, OrderUse, PriorKnowledge, Progress, Settings, Trial,
};
use std::path::PathBuf;
use std::sync::Mutex;

/// Arguments of `ssdtune search`.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    #[command(flatten)]
    tune: TuneArgs,

    /// Who proposes: `bayes` (screening, then batches by expected improvement), `autoblox` (the
    /// paper's), or `random`.
    #[arg(long, value_name = "NAME", default_value = "bayes", value_parser = algorithm)]
    algorithm: Algorithm,

    /// Evaluations of the target that may be spent; a run on a prefix counts as its part of one.
    #[arg(long, value_name = "EVALS", default_value_t = 60.0, value_parser = positive)]
    budget: f64,

    /// Proposals judged together. It decides the result; the number of threads does not.
    #[arg(long, value_name = "N", default_value_t = 4, value_parser = clap::value_parser!(u32).range(1..=64))]
    batch: u32,

    /// Top configurations that a root is drawn from.
    #[arg(long, value_name = "N", default_value_t = 3, value_parser = clap::value_parser!(u32).range(1..=100))]
    top: u32,

    /// Parameters that differ between a proposal and the nearest learned configuration at most
    /// (autoblox).
    #[arg(long, value_name = "N", default_value_t = 5)]
    manhattan: u32,

    /// Steps of one descent at most (autoblox).
    #[arg(long, value_name = "N", default_value_t = 10, value_parser = clap::value_parser!(u32).range(1..))]
    descent: u32,

    /// Iterations for one new configuration at most (autoblox).
    #[arg(long, value_name = "N", default_value_t = 5, value_parser = clap::value_parser!(u32).range(1..))]
    iterations: u32,

    /// Standard deviations added to a predicted grade before the best is taken (autoblox).
    #[arg(long, value_name = "N", default_value_t = 8.0)]
    exploration: f64,

    /// Relative change of the top set that counts as none.
    #[arg(long, value_name = "SHARE", default_value_t = 0.01)]
    convergence: f64,

    /// Evaluations without such a change after which the search has converged.
    #[arg(long, value_name = "EVALS", default_value_t = 15)]
    patience: u32,

    /// Requests of the prefix that candidates are raced on (bayes); 0 races nothing.
    #[arg(long, value_name = "N", default_value_t = 10_000)]
    prefix: u32,

    /// Go on with the search that these very options began: what it measured is not run again, and
    /// its answer is the one it would have had without the interruption.
    #[arg(long, conflicts_with = "no_db")]
    resume: bool,

    /// Discard proposals that are predicted to be hopeless before they are simulated. Learned from
    /// what AutoDB knows of such drives when the search begins; where that is too little, nothing
    /// is discarded. Of autoblox nothing ever is: it proposes in order to learn.
    #[arg(long, conflicts_with = "no_db")]
    screen: bool,

    /// Let every parameter play from the start, whatever pruning has found (autoblox).
    #[arg(long)]
    ignore_pruning: bool,

    /// Let the parameters that pruning has kept play from the start, all together (autoblox).
    #[arg(long, conflicts_with = "ignore_pruning")]
    ignore_order: bool,

    /// Directory for the result: recommended.toml, recommended.xml, result.json, report.html,
    /// report.md.
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
}

fn algorithm(text: &str) -> Result<Algorithm, String> {
    let found = Algorithm::ALL.into_iter().find(|own| own.name() == text);
    found.ok_or_else(|| "write bayes, autoblox or random".to_owned())
}

fn positive(text: &str) -> Result<f64, String> {
    let number = text.parse().ok().filter(|number| (1.0..=1e6).contains(number));
    number.ok_or_else(|| "write a number from 1 to 1000000".to_owned())
}

impl Args {
    fn settings(&self, context: &Context) -> Settings {
        let prefix = f64::from(self.prefix) / f64::from(self.tune.requests);
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
            prefix: if prefix > 0.0 { prefix.min(1.0) } else { 1.0 },
            discard_hopeless: self.screen,
        }
    }
}

/// Searches and prints.
pub(crate) fn run(args: &Args, context: &Context) -> Outcome {
    let job = args.tune.load(Bounds::Market, args.tune.weights(), context)?;
    let settings = args.settings(context);
    let (beginning, prior) = match &job.db {
        Some(db) => {
            let (beginning, prior) = begin(&job, db, &settings, args, context)?;
            (Some(beginning), prior)
        }
        None => (None, PriorKnowledge::default()),
    };
    let result = find(&job, &prior, &settings, context)?;
    if let (Some(db), Some(beginning)) = (&job.db, &beginning) {
        result.store(db, beginning).map_err(|error| Failure::Work(error.into()))?;
    }
    if let Some(directory) = &args.out {
        write(directory, &result)
            .with_context(|| format!("writing the result into {}", directory.display()))?;
    }
    let report = result.effort.discard_report.as_ref();
    if let Some(reason) = report.and_then(|report| report.idle.as_deref()) {
        context.note(format_args!("--screen discarded nothing: {reason}"));
    }
    match context.json() {
        true => context.document(&result),
        false => show::show(&result, context),
    }
}

/// Takes prior knowledge out of AutoDB, and says what it was.
fn begin(
    job: &TuningJob,
    db: &AutoDb,
    settings: &Settings,
    args: &Args,
    context: &Context,
) -> Outcome<(Beginning, PriorKnowledge)> {
    let order = match (args.ignore_pruning, args.ignore_order) {
        (true, _) => OrderUse::Ignore,
        (false, true) => OrderUse::KeptTogether,
        (false, false) => OrderUse::Follow,
    };
    let options = BeginOptions { resume: args.resume, order };
    let began = search::begin(db, &job.task, settings, &job.evaluator.identity(), options);
    let (beginning, prior) = began.map_err(|error| match error {
        BeginError::NothingToResume { .. } => Failure::usage(error),
        other => Failure::Work(other.into()),
    })?;
    if context.level() >= Level::Verbose {
        let category = beginning.category.as_deref().unwrap_or("none");
        context.note(format_args!(
            "category {category}, {} configurations known, {} parameters in tuning order",
            prior.seeds.len(),
            prior.order.0.len()
        ));
    }
    Ok((beginning, prior))
}

/// Searches, and measures the evidence for what was found.
fn find(
    job: &TuningJob,
    prior: &PriorKnowledge,
    settings: &Settings,
    context: &Context,
) -> Outcome<Recommendation> {
    let deferred = Deferred::new();
    let evaluator =
        CachedEvaluator::new(&*job.evaluator, job.db.as_ref(), deferred.flag(), &|_| {});
    let pool = tuning::pool(context)?;
    // The pool's closure crosses threads and the bar does not, so it goes behind a lock. Trials are
    // told from the thread that judges.
    let bar = Mutex::new(Bar::new(settings.budget, context.level() > Level::Quiet));
    let with_bar = |act: &dyn Fn(&Bar)| act(&bar.lock().unwrap_or_else(|held| held.into_inner()));
    let outcome = pool.install(|| {
        let mut tell = |_: &Trial, progress: &Progress| with_bar(&|bar| bar.trial(progress));
        let found = search::run(&job.task, prior, settings, &evaluator, &mut tell)?;
        with_bar(&|bar| bar.say("measuring the evidence"));
        let options = Options {
            held_out: job.held_out.clone(),
            name: format!("{}-for-{}", job.task.base.name, job.task.target.name),
        };
        recommend::recommend(&job.task, settings, &found, &evaluator, &options)
    });
    with_bar(&Bar::finish);
    let mut result = outcome.map_err(tuning::failure)?;
    result.effort.seconds = bar.lock().unwrap_or_else(|held| held.into_inner()).seconds();
    Ok(result)
}

fn write(directory: &std::path::Path, result: &Recommendation) -> anyhow::Result<()> {
    std::fs::create_dir_all(directory)?;
    let json = serde_json::to_string_pretty(result)?;
    let mut files = vec![
        ("recommended.toml", result.toml.clone()),
        ("result.json", json + "\n"),
        ("report.html", recommend::html_page(result)),
        ("report.md", recommend::markdown(result)),
    ];
    match &result.mqsim_xml {
        Some(xml) => files.push(("recommended.xml", xml.clone())),
        None => return Err(anyhow!("the recommended drive has no form in MQSim's XML")),
    }
    for (name, text) in files {
        std::fs::write(directory.join(name), text)?;
    }
    Ok(())
}
