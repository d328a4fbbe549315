//! `ssdtune validate`: agreement with a battery of results recorded with MQSim.
//!
//! The rules are those of [`ssdtune_mqsim::agreement`]; here are the arguments and the printing.

mod show;

use crate::context::{Context, Level};
use crate::interrupt::Deferred;
use crate::outcome::{Failure, Outcome};
use crate::progress::Progress;
use anyhow::anyhow;
use rayon::prelude::*;
use serde::Serialize;
use ssdtune_mqsim::agreement::{Battery, Case, CaseResult, Status, Summary, run_case};
use std::path::PathBuf;
use std::sync::atomic::Ordering;

/// Arguments of `ssdtune validate`.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The folder of the battery: cases.json and the files it names.
    #[arg(value_name = "DIR")]
    directory: PathBuf,

    /// Only these groups or cases.
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

/// Runs the battery, prints the agreement, and fails unless everything that was run agrees.
pub(crate) fn run(args: &Args, context: &Context) -> Outcome {
    let battery = Battery::open(&args.directory).map_err(Failure::input)?;
    let cases = select(&battery, &args.only)?;
    let deferred = Deferred::new();
    let progress = Progress::new(cases.len(), context.level() > Level::Quiet);
    let pool = rayon::ThreadPoolBuilder::new()
        .num_threads(context.threads())
        .build()
        .map_err(|error| Failure::Work(error.into()))?;
    let results: Vec<CaseResult> = pool.install(|| {
        cases
            .par_iter()
            .enumerate()
            .map(|(index, case)| {
                let tell = |done: f64, requests: u64| progress.cell(index, done, requests);
                let result = run_case(&battery, case, deferred.flag(), &tell);
                tell(1.0, 0);
                result
            })
            .collect()
    });
    progress.finish();
    let summary = Summary::of(&results);
    let pass = summary.pass;
    let invalid = results.iter().filter(|result| result.status == Status::Invalid).count();
    if context.json() {
        context.document(&Document { schema: ssdtune_sim::SCHEMA, summary, cases: results })?;
    } else {
        show::show(&summary, &results, context)?;
    }
    if deferred.flag().load(Ordering::Relaxed) {
        return Err(Failure::Interrupted);
    }
    match (invalid, pass) {
        (0, true) => Ok(()),
        (0, false) => Err(Failure::Reported(1)),
        (count, _) => Err(Failure::input(anyhow!(
            "{count} cases have faulty files; their entries say where and what"
        ))),
    }
}

fn select<'a>(battery: &'a Battery, only: &[String]) -> Outcome<Vec<&'a Case>> {
    for name in only {
        if !battery.cases.iter().any(|case| case.is_called(name)) {
            let mut groups: Vec<&str> = battery.cases.iter().map(|c| c.group.as_str()).collect();
            groups.sort_unstable();
            groups.dedup();
            return Err(Failure::usage(anyhow!(
                "--only {name}: no such group or case; the groups are {}",
                groups.join(", ")
            )));
        }
    }
    let wanted = |case: &&Case| only.is_empty() || only.iter().any(|name| case.is_called(name));
    Ok(battery.cases.iter().filter(wanted).collect())
}
