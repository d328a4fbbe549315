//! `ssdtune validate`: how far results agree with a battery of results recorded with MQSim.
//!
//! [`ssdtune_mqsim::agreement`] has the rules.

use crate::context::{Context, Level};
use crate::interrupt::Deferred;
use crate::outcome::{Failure, Outcome};
use crate::progress::Progress;
use anyhow::anyhow;
use rayon::prelude::*;
use serde::Serialize;
use ssdtune_mqsim::agreement::{Battery, Case, CaseResult, Status, Summary, run_case, text};
use std::path::PathBuf;
use std::sync::atomic::Ordering;

/// Cases that differ and are listed without `-v`.
const LISTED: usize = 30;

/// Arguments of `ssdtune validate`.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The folder of the battery: cases.json and the files it names.
    #[arg(value_name = "DIR")]
    directory: PathBuf,

    /// Run these groups or cases only.
    #[arg(long, value_name = "GROUP|ID", value_delimiter = ',')]
    only: Vec<String>,
}

/// What `--json` prints.
#[derive(Serialize)]
struct Document {
    schema: u32,
    summary: Summary,
    cases: Vec<CaseResult>,
}

/// Runs the battery and prints the agreement. It fails unless everything that was run agrees.
pub(crate) fn run(args: &Args, context: &Context) -> Outcome {
    let battery = Battery::open(&args.directory).map_err(Failure::input)?;
    let cases = battery.select(&args.only).map_err(Failure::usage)?;
    let deferred = Deferred::new();
    let progress = Progress::new(cases.len(), context.level() > Level::Quiet);
    let one = |(index, case): (usize, &&Case)| {
        let tell = |done: f64, requests: u64| progress.cell(index, done, requests);
        let result = run_case(&battery, case, deferred.flag(), &tell);
        tell(1.0, 0);
        result
    };
    let results = context
        .pool()?
        .install(|| cases.par_iter().enumerate().map(one).collect::<Vec<CaseResult>>());
    progress.finish();
    let invalid = results.iter().filter(|result| result.status == Status::Invalid).count();
    let document =
        Document { schema: ssdtune_sim::SCHEMA, summary: Summary::of(&results), cases: results };
    let listed = if context.level() > Level::Normal { usize::MAX } else { LISTED };
    context.show(&document, text(&document.summary, &document.cases, listed))?;
    if deferred.flag().load(Ordering::Relaxed) {
        return Err(Failure::Interrupted);
    }
    match (invalid, document.summary.pass) {
        (0, true) => Ok(()),
        (0, false) => Err(Failure::Reported(1)),
        (count, _) => Err(Failure::input(anyhow!(
            "{count} cases have faulty files; their entries say where and what"
        ))),
    }
}
