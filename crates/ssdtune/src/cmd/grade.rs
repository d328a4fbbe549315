//! `ssdtune grade`: what drives are worth on a target and others, without a search. With `--points`
//! it answers another optimiser, one line for each line.

use crate::context::Context;
use crate::device::{self, Overrides};
use crate::interrupt::Deferred;
use crate::outcome::{Failure, Outcome};
use crate::tuning::{self, TuneArgs};
use anyhow::anyhow;
use ssdtune_tune::DefaultSpace;
use ssdtune_tune::search::{AxisDescription, GradeAnswer, Objective, first_and_more};
use ssdtune_tune::workload::outside_tested_range;
use std::io::BufRead as _;

/// Arguments of `ssdtune grade`.
#[derive(Debug, clap::Args)]
#[command(after_help = "With --points each line of standard input is a JSON object of axes and \
    values, as in {\"bus.channels\": 16, \"suspension.support\": \"program\"}. Axes that it leaves \
    out stay as in the baseline. Each line is answered by one line: a JSON object with the grade, \
    or with the reason why there is none. A line that is no point is answered so, too; then the \
    exit code at the end is 3.")]
pub(crate) struct Args {
    #[command(flatten)]
    tune: TuneArgs,

    /// Drives to grade: presets, TOML files, or MQSim's ssdconfig.xml. They need not be in the
    /// space.
    #[arg(value_name = "DRIVE", required_unless_present_any = ["points", "axes"])]
    drives: Vec<String>,

    /// Grade points of the space, read from standard input as JSON lines.
    #[arg(long, conflicts_with = "drives")]
    points: bool,

    /// Move a point that breaks the limits to the nearest one that keeps them, instead of refusing
    /// it.
    #[arg(long, requires = "points", conflicts_with = "drives")]
    repair: bool,

    /// Grade with seeds of the models that no search sees, instead of those that searches use.
    #[arg(long)]
    held_out: bool,

    /// Print the axes and their values as JSON, and grade nothing.
    #[arg(long, conflicts_with_all = ["drives", "points"])]
    axes: bool,
}

/// Grades and prints.
pub(crate) fn run(args: &Args, context: &Context) -> Outcome {
    if args.points && args.tune.reads_standard_input() {
        return Err(Failure::usage(anyhow!(
            "--points are read from standard input, and so is the workload -: write it into a file"
        )));
    }
    let as_they_are = Overrides { set: Vec::new() };
    let load = |name: &String| device::load_own_seed(name, &as_they_are, context);
    let loaded = args.drives.iter().map(load).collect::<Outcome<Vec<_>>>()?;
    let (drives, real): (Vec<_>, Vec<_>) = loaded.into_iter().unzip();
    let mut job = args.tune.load(DefaultSpace::Market, args.tune.weights(), None, context)?;
    if args.held_out {
        job = job.on_held_out().ok_or_else(|| {
            Failure::usage(anyhow!(
                "--held-out: a target file needs 200 requests, and others must be models"
            ))
        })?;
    }
    if args.axes {
        return context.document(&AxisDescription::of_task(&job.task));
    }
    let deferred = Deferred::new();
    let evaluator = job.evaluator(deferred.flag(), &|_| {});
    let pool = context.pool()?;
    let objective =
        pool.install(|| Objective::new(&job.task, &evaluator)).map_err(tuning::failure)?;
    if !args.points {
        let answers = pool.install(|| objective.answer_drives(&args.drives, &drives));
        let mut answers = answers.map_err(tuning::failure)?;
        for ((answer, drive), real) in answers.iter_mut().zip(&drives).zip(real) {
            let Some(real) = real.calibrated else { continue };
            let outside = outside_tested_range(&real, drive, &job.task.target, &job.task.others);
            device::note_outside(&real, &outside, context);
            answer.outside_tested_range = Some(outside);
        }
        return context.show(&answers, GradeAnswer::text(&answers, &job.task));
    }
    let mut wrong = Vec::new();
    for (number, line) in (1..).zip(std::io::stdin().lock().split(b'\n')) {
        let line = line?;
        let line = String::from_utf8_lossy(&line);
        if line.trim().is_empty() {
            continue;
        }
        let answer = pool.install(|| objective.answer_line(number, &line, args.repair));
        let (answer, reason) = answer.map_err(tuning::failure)?;
        wrong.extend(reason.map(|reason| format!("standard input, line {number}: {reason}")));
        context.line(serde_json::to_string(&answer)?)?;
        // The optimiser waits for the answer.
        context.flush()?;
    }
    first_and_more(&wrong).map_or(Ok(()), |wrong| Err(Failure::input(anyhow!(wrong))))
}
