//! What an optimiser from elsewhere is answered, a line for a point, and graded drives as text.

use super::objective::{Graded, Objective};
use crate::error::TuneError;
use crate::interval::SpeedupInterval;
use crate::task::Task;
use serde::Serialize;
use ssdtune_model::CheckedConfig;
use ssdtune_report::{Table, Text};
use std::collections::BTreeMap;

/// What is known of a drive or a point. Field names are part of the result document.
#[derive(Clone, Debug, Serialize)]
pub struct GradeAnswer {
    /// What it was given by.
    pub drive: String,
    /// The grade, if there is one.
    #[serde(flatten)]
    pub graded: Option<Graded>,
    /// Why there is none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// Values that the repair has changed.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub repaired: BTreeMap<String, String>,
    /// Requests simulated by this process so far.
    pub requests: u64,
    /// What a calibrated drive was not tested at and the workloads ask for; `None` where it was not
    /// calibrated. The caller sets it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub outside_tested_range: Option<Vec<String>>,
    /// Limits that a search would keep and this drive breaks. Points that break one have a reason
    /// instead.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub broken_limits: Vec<String>,
}

impl GradeAnswer {
    fn new(drive: String, graded: Result<Graded, String>, requests: u64) -> Self {
        let (graded, reason) = match graded {
            Ok(graded) => (Some(graded), None),
            Err(reason) => (None, Some(reason)),
        };
        let (repaired, broken_limits) = (BTreeMap::new(), Vec::new());
        let outside_tested_range = None;
        Self { drive, graded, reason, repaired, requests, outside_tested_range, broken_limits }
    }

    /// Answers as text for terminals: a row for each drive, with its grade and its speedups on each
    /// workload of the task, or with the reason why it has no grade.
    pub fn text(answers: &[Self], task: &Task) -> Text {
        let names = task.workloads().map(|workload| workload.name.as_str());
        let mut table = Table::new(["drive", "grade"].into_iter().chain(names));
        for Self { drive, graded, reason, .. } in answers {
            let mut row = vec![drive.clone()];
            row.extend(reason.clone());
            if let Some(graded) = graded {
                row.push(format!("{:.4}", graded.grade));
                let all = std::iter::once(&graded.target).chain(&graded.others);
                let interval = |nth: usize| graded.intervals.get(nth).and_then(Option::as_ref);
                row.extend(all.zip(0..).map(|(speedup, nth)| speedup.both_shown(interval(nth))));
            }
            table.add_row(row);
        }
        table.align_right(1..);
        let mut text = Text::new();
        text.line(format_args!("latency/throughput speedups over {}", task.base.name));
        text.table(table);
        text.line(task.weights.in_words(!task.others.is_empty()));
        let intervals = answers.iter().filter_map(|answer| answer.graded.as_ref());
        let mut notes: Vec<String> = intervals
            .flat_map(|graded| graded.intervals.iter().flatten().filter_map(SpeedupInterval::note))
            .collect();
        notes.dedup();
        notes.into_iter().for_each(|note| _ = text.line(note));
        for Self { drive, broken_limits, .. } in answers {
            for limit in broken_limits {
                text.line(format_args!("{drive} breaks a limit of searches: {limit}"));
            }
        }
        text
    }
}

impl Objective<'_> {
    /// Grades drives by their names.
    ///
    /// # Errors
    /// Those of [`Objective::grade`].
    pub fn answer_drives(
        &self,
        names: &[String],
        drives: &[CheckedConfig],
    ) -> Result<Vec<GradeAnswer>, TuneError> {
        let graded = names.iter().cloned().zip(self.grade(drives)?);
        let requests = self.requests_simulated();
        let answer = |((name, graded), drive): ((String, _), &CheckedConfig)| {
            let broken_limits = self.broken_limits(drive);
            GradeAnswer { broken_limits, ..GradeAnswer::new(name, graded, requests) }
        };
        Ok(graded.zip(drives).map(answer).collect())
    }

    /// Grades the point of a line, a JSON object of axes and values, and calls it by the number of
    /// the line. With `repair`, a point that breaks the limits is moved to the nearest one that
    /// keeps them. The second value says why the line is no point; `None` for a point, whether it
    /// has a grade or not.
    ///
    /// # Errors
    /// Those of [`Objective::grade`].
    pub fn answer_line(
        &self,
        number: u64,
        line: &str,
        repair: bool,
    ) -> Result<(GradeAnswer, Option<String>), TuneError> {
        let point = values(line).and_then(|values| self.point(&values));
        let wrong = point.as_ref().err().cloned();
        let proposed = point.and_then(|point| self.propose(&point, repair));
        let (graded, repaired) = match proposed {
            Ok(proposed) => (self.grade(&[proposed.config])?.remove(0), proposed.repaired),
            Err(reason) => (Err(reason), BTreeMap::new()),
        };
        let answer = GradeAnswer::new(format!("point {number}"), graded, self.requests_simulated());
        Ok((GradeAnswer { repaired, ..answer }, wrong))
    }
}

/// The first of the reasons why lines are no points, and how many more there are; `None` if there
/// are none.
pub fn first_and_more(wrong: &[String]) -> Option<String> {
    let first = wrong.first()?;
    Some(match wrong.len() - 1 {
        0 => first.clone(),
        1 => format!("{first} (and one more line)"),
        more => format!("{first} (and {more} more lines)"),
    })
}

/// The axes and values of a line, as text.
fn values(line: &str) -> Result<BTreeMap<String, String>, String> {
    let values: BTreeMap<String, serde_json::Value> = serde_json::from_str(line)
        .map_err(|error| format!("no JSON object of axes and values ({error})"))?;
    let text = |value: serde_json::Value| match value {
        serde_json::Value::String(text) => text,
        other => other.to_string(),
    };
    Ok(values.into_iter().map(|(key, value)| (key, text(value))).collect())
}
