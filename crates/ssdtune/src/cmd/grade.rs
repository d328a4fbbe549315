//! `ssdtune grade`: what drives are worth on a target and others, without searching. With
//! `--points` it answers an optimiser from elsewhere, a line for a line.

use crate::context::Context;
use crate::interrupt::Deferred;
use crate::outcome::{Failure, Outcome};
use crate::table;
use crate::tuning::{self, Bounds, TuneArgs};
use anyhow::anyhow;
use serde::Serialize;
use ssdtune_model::CheckedConfig;
use ssdtune_tune::Task;
use ssdtune_tune::evaluate::CachedEvaluator;
use ssdtune_tune::search::{Graded, Objective};
use std::collections::BTreeMap;
use std::io::BufRead as _;

/// Arguments of `ssdtune grade`.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "With --points each line of standard input is a JSON object of axes and values, as in \
{\"bus.channels\": 16, \"suspension.support\": \"program\"}; what it leaves out stays as in the baseline. Each is \
answered by one line: a JSON object with the grade, or with the reason why there is none."
)]
pub(crate) struct Args {
    #[command(flatten)]
    tune: TuneArgs,

    /// Drives to grade: presets, TOML files, or MQSim's ssdconfig.xml. They need not keep to the
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

    /// Grade on the models' held-out seeds, which no search sees, instead of the ones that searches
    /// use.
    #[arg(long)]
    held_out: bool,

    /// Print the axes and their values, as JSON, and grade nothing.
    #[arg(long, conflicts_with_all = ["drives", "points"])]
    axes: bool,
}

/// One drive's line.
#[derive(Serialize)]
struct Line {
    drive: String,
    #[serde(flatten)]
    graded: Option<Graded>,
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<String>,
    /// Values that the repair has changed.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    repaired: BTreeMap<&'static str, String>,
    /// Requests simulated by this process so far.
    requests: u64,
}

/// Grades and prints.
pub(crate) fn run(args: &Args, context: &Context) -> Outcome {
    let mut job = args.tune.load(Bounds::Market, args.tune.weights(), context)?;
    if args.held_out {
        job = job.on_held_out().ok_or_else(|| {
            Failure::usage(anyhow!("--held-out: a trace file has no other seeds; use models alone"))
        })?;
    }
    if args.axes {
        return axes(&job.task, context);
    }
    let drives: Vec<(String, CheckedConfig)> = (args.drives.iter())
        .map(|name| {
            let loaded = ssdtune_mqsim::load(name, &[]).map_err(crate::device::failure)?;
            Ok((name.clone(), loaded.config.check().map_err(Failure::usage)?))
        })
        .collect::<Outcome<_>>()?;
    let deferred = Deferred::new();
    let evaluator =
        CachedEvaluator::new(&*job.evaluator, job.db.as_ref(), deferred.flag(), &|_| {});
    let pool = tuning::pool(context)?;
    let objective =
        pool.install(|| Objective::new(&job.task, &evaluator)).map_err(tuning::failure)?;
    let grade = |drives: &[CheckedConfig]| pool.install(|| objective.grade(drives));
    if args.points {
        for (number, line) in std::io::stdin().lock().lines().enumerate() {
            let line = line?;
            if line.trim().is_empty() {
                continue;
            }
            let mut answer = Line {
                drive: format!("point {}", number + 1),
                graded: None,
                reason: None,
                repaired: BTreeMap::new(),
                requests: 0,
            };
            match drive_of(&line, number + 1, &objective, &job.task, args.repair)? {
                Ok((config, repaired)) => {
                    answer.repaired = repaired;
                    let mut graded = grade(&[config]).map_err(tuning::failure)?;
                    match graded.remove(0) {
                        Ok(own) => answer.graded = Some(own),
                        Err(reason) => answer.reason = Some(reason),
                    }
                }
                Err(reason) => answer.reason = Some(reason),
            }
            answer.requests = evaluator.counts().requests;
            context.line(serde_json::to_string(&answer)?)?;
            // The optimiser waits for it.
            context.flush()?;
        }
        return Ok(());
    }
    let configs: Vec<CheckedConfig> = drives.iter().map(|(_, config)| config.clone()).collect();
    let graded = grade(&configs).map_err(tuning::failure)?;
    let requests = evaluator.counts().requests;
    let lines = drives.into_iter().zip(graded).map(|((drive, _), own)| {
        let (graded, reason) = match own {
            Ok(own) => (Some(own), None),
            Err(reason) => (None, Some(reason)),
        };
        Line { drive, graded, reason, repaired: BTreeMap::new(), requests }
    });
    let lines: Vec<Line> = lines.collect();
    match context.json() {
        true => context.document(&lines),
        false => show(&lines, &job.task, context),
    }
}

/// The drive of a line, and what repairing it has changed; or why it is refused.
type Proposed = Result<(CheckedConfig, BTreeMap<&'static str, String>), String>;

fn drive_of(
    line: &str,
    number: usize,
    objective: &Objective,
    task: &Task,
    repair: bool,
) -> Outcome<Proposed> {
    let wrong = |reason: String| Failure::input(anyhow!("standard input, line {number}: {reason}"));
    let values: BTreeMap<String, serde_json::Value> = serde_json::from_str(line)
        .map_err(|error| wrong(format!("no JSON object of axes and values ({error})")))?;
    let text = |value: serde_json::Value| match value {
        serde_json::Value::String(text) => text,
        other => other.to_string(),
    };
    let values = values.into_iter().map(|(key, value)| (key, text(value))).collect();
    let point = objective.point(&values).map_err(wrong)?;
    let found = match objective.drive(&point) {
        Err(_) if repair => match objective.repair(&point) {
            Some(found) => found,
            None => return Ok(Err("no drive near it keeps the limits".to_owned())),
        },
        Err(reason) => return Ok(Err(reason)),
        Ok(found) => found,
    };
    let axes = task.space.axes().iter().zip(found.point.0.iter().zip(&point.0));
    let changed = axes.filter(|(_, (own, asked))| own != asked);
    let repaired = changed
        .map(|(axis, (own, _))| (axis.key(), axis.values()[usize::from(*own)].to_string()))
        .collect();
    Ok(Ok((found.config, repaired)))
}

/// One axis of the space.
#[derive(Serialize)]
struct Axis {
    key: &'static str,
    ordered: bool,
    unit: &'static str,
    values: Vec<ssdtune_model::catalogue::Value>,
    baseline: ssdtune_model::catalogue::Value,
}

fn axes(task: &Task, context: &Context) -> Outcome {
    let one = |axis: &ssdtune_tune::space::Axis| Axis {
        key: axis.key(),
        ordered: axis.is_numeric(),
        unit: axis.parameter().unit.sign(),
        values: axis.values().to_vec(),
        baseline: axis.parameter().get(&task.base),
    };
    context.document(&task.space.axes().iter().map(one).collect::<Vec<_>>())
}

fn show(lines: &[Line], task: &Task, context: &Context) -> Outcome {
    let mut headings = vec!["drive", "grade", task.target.name.as_str()];
    headings.extend(task.others.iter().map(|other| other.name.as_str()));
    let mut table = table::new(&headings);
    for line in lines {
        let mut row = vec![line.drive.clone()];
        match &line.graded {
            Some(own) => {
                row.push(format!("{:.4}", own.grade));
                let all = std::iter::once(&own.target).chain(&own.others);
                row.extend(all.map(|own| format!("{:.2}/{:.2}", own.latency, own.throughput)));
            }
            None => row.push(line.reason.clone().unwrap_or_default()),
        }
        table.add_row(row);
    }
    table.align_right(1..);
    context.line(format_args!("latency/throughput speedups over {}", task.base.name))?;
    context.line(table)
}
