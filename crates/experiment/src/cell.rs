//! A cell: one simulation of a sweep, what it gave, and the document and the text that tell of all
//! cells.
//!
//! The command and other front ends run the same cells and make the same documents of them. Field
//! names are part of result documents.
//!
//! Observers from other crates follow a cell too. What they saw stands in its result, in types that
//! the caller names: `D` for decisions of an allocator, `F` for the time of a firmware.

use crate::error::ExperimentError;
use crate::experiment::{Experiment, RunOptions};
use crate::preparation::PreparationInWords;
use crate::recorder::{Recorder, RecorderOptions};
use crate::serve::Observer;
use crate::summary::{ComparedRun, comparison, fairness, summary};
use crate::tested::Load;
use serde::{Deserialize, Serialize};
use ssdtune_model::catalogue::{self, Parameter};
use ssdtune_model::{Calibrated, DeviceConfig};
use ssdtune_report::{Text, in_full};
use ssdtune_sim::{Report, Slowdown};
use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::Ordering;

/// Requests that are taken of a workload model unless said otherwise.
pub const MODEL_REQUESTS: u64 = 1_000_000;
/// The most cells of a sweep.
pub const CELLS_MAX: usize = 100_000;

/// One simulation of a sweep.
#[derive(Clone, Debug)]
pub struct Cell {
    /// What is run.
    pub experiment: Experiment,
    /// What is known of the real drive, if it was calibrated to one.
    pub calibrated: Option<Arc<Calibrated>>,
    /// The parameters that the sweep has set.
    pub settings: Vec<(String, String)>,
}

/// How a cell is run, and what is recorded of it.
#[derive(Clone)]
pub struct CellOptions<'a> {
    /// How the experiment is run.
    pub run: RunOptions<'a>,
    /// The files that are written.
    pub record: RecorderOptions,
    /// Also runs each tenant alone, on all threads of the current pool.
    pub slowdown: bool,
}

/// What one simulation gave.
#[derive(Debug, Serialize, Deserialize)]
pub struct CellResult<D = (), F = ()> {
    /// Its number, from 0.
    pub cell: usize,
    /// The name of the drive.
    pub device: String,
    /// The name of the workload.
    pub workload: String,
    /// The parameters that the sweep has set.
    pub settings: BTreeMap<String, String>,
    /// Every parameter of the drive and its value, in the unit of the catalogue.
    #[serde(default)]
    pub parameters: Parameters,
    /// What the drive held and had been through.
    pub preparation: PreparationInWords,
    /// What a calibrated drive was not tested at and the run has asked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub outside_tested_range: Option<Vec<String>>,
    /// The log of requests.
    pub log: Option<PathBuf>,
    /// The time series.
    pub series: Option<PathBuf>,
    /// Why there is no report, in full.
    pub error: Option<String>,
    /// The report. There is none of a cell that failed or was interrupted before it began.
    pub report: Option<Report>,
    /// What an allocator of channels saw and did.
    #[serde(default = "Vec::new", skip_serializing_if = "Vec::is_empty")]
    pub decisions: Vec<D>,
    /// What sharing costs the tenants, if that was asked for.
    pub slowdown: Option<Slowdown>,
    /// The time of the firmware, if that was asked for.
    pub firmware: Option<F>,
    /// The failure of which `error` is the text.
    #[serde(skip)]
    pub failure: Option<ExperimentError>,
}

/// Keys of the catalogue, and values.
pub type Parameters = BTreeMap<String, serde_json::Value>;

/// Every parameter of a drive.
pub(crate) fn parameters(device: &DeviceConfig) -> Parameters {
    let value = |row: &Parameter| serde_json::json!(row.get(device));
    catalogue::parameters().map(|row| (row.key.to_owned(), value(row))).collect()
}

impl Cell {
    /// Runs it as the cell of this number. `observers` follow the run after the recorder. The
    /// fields of the result that tell of them are the caller's to fill.
    pub fn run<D, F>(
        &self,
        number: usize,
        how: &CellOptions<'_>,
        observers: &mut [&mut dyn Observer],
    ) -> CellResult<D, F> {
        let mut result = self.blank(number, &how.record);
        if how.run.stop.load(Ordering::Relaxed) {
            return result;
        }
        match self.measured(how, observers) {
            Ok((Observed { report, outside }, alone)) => {
                result.outside_tested_range = outside;
                let whole = !report.partial && alone.iter().all(|alone| !alone.partial);
                result.slowdown = (how.slowdown && whole).then(|| Slowdown::of(&report, &alone));
                result.report = Some(report);
            }
            Err(error) => {
                result.error = Some(in_full(&error));
                result.failure = Some(error);
            }
        }
        result
    }

    fn blank<D, F>(&self, number: usize, record: &RecorderOptions) -> CellResult<D, F> {
        CellResult {
            cell: number,
            device: self.experiment.device.name.clone(),
            workload: self.experiment.workload(),
            settings: self.settings.iter().cloned().collect(),
            parameters: parameters(&self.experiment.device),
            preparation: self.experiment.preparation.in_words(),
            outside_tested_range: None,
            log: record.log.clone(),
            series: record.series.clone().map(|(path, _)| path),
            error: None,
            report: None,
            decisions: Vec::new(),
            slowdown: None,
            firmware: None,
            failure: None,
        }
    }

    /// What was observed, and the reports of each tenant alone.
    fn measured(
        &self,
        how: &CellOptions<'_>,
        observers: &mut [&mut dyn Observer],
    ) -> Result<(Observed, Vec<Report>), ExperimentError> {
        let mut alone = Ok(Vec::new());
        let shared = rayon::in_place_scope(|scope| {
            if how.slowdown {
                scope.spawn(|_| alone = self.experiment.run_each_alone(&how.run));
            }
            self.observed(how, observers)
        });
        Ok((shared?, alone?))
    }

    fn observed(
        &self,
        how: &CellOptions<'_>,
        observers: &mut [&mut dyn Observer],
    ) -> Result<Observed, ExperimentError> {
        let created = Recorder::create(&how.record);
        let mut recorder = created.map_err(|error| ExperimentError::Observer(Box::new(error)))?;
        let mut load = self.calibrated.as_ref().map(|_| Load::default());
        let mut all: Vec<&mut dyn Observer> = vec![&mut recorder];
        all.extend(load.as_mut().map(|own| own as &mut dyn Observer));
        all.extend(observers.iter_mut().map(|own| &mut **own as &mut dyn Observer));
        let report = self.experiment.run(&how.run, &mut all)?;
        let replays = self.experiment.flows.iter().map(|flow| flow.replay);
        let outside = load.zip(self.calibrated.as_ref()).map(|(load, real)| {
            load.of_run(replays, &report).outside(real, &self.experiment.device)
        });
        Ok(Observed { report, outside })
    }
}

/// What a run gave.
struct Observed {
    report: Report,
    /// What of it is outside of the range in which the drive was tested.
    outside: Option<Vec<String>>,
}

/// What all cells gave, as one document.
#[derive(Debug, Serialize)]
pub struct CellsDocument<'a, E = (), D = (), F = ()> {
    schema: u32,
    partial: bool,
    /// Why the whole fails, if it does.
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<E>,
    cells: Vec<&'a CellResult<D, F>>,
}

impl<'a, E, D, F> CellsDocument<'a, E, D, F> {
    /// The document of these cells; `error` says why the whole fails.
    pub fn new(cells: impl IntoIterator<Item = &'a CellResult<D, F>>, error: Option<E>) -> Self {
        let cells: Vec<_> = cells.into_iter().collect();
        let unfinished =
            |cell: &&CellResult<D, F>| cell.report.as_ref().is_none_or(|report| report.partial);
        let partial = cells.iter().any(unfinished);
        Self { schema: ssdtune_sim::SCHEMA, partial, error, cells }
    }
}

impl<D, F> CellResult<D, F> {
    /// Everything for people, if there is a report. `decisions` and `firmware` are lines that tell
    /// what observers saw.
    pub fn in_full(
        &self,
        decisions: impl IntoIterator<Item = String>,
        firmware: impl IntoIterator<Item = String>,
    ) -> Option<Text> {
        let report = self.report.as_ref()?;
        let mut text = summary(&self.workload, report, self.slowdown.as_ref());
        text.line(self.preparation.line(Some(report)));
        decisions.into_iter().for_each(|line| _ = text.line(line));
        if let Some(slowdown) = &self.slowdown {
            text.line(fairness(slowdown));
        }
        firmware.into_iter().for_each(|line| _ = text.line(line));
        if !report.never_fired.is_empty() {
            text.line(format_args!("never used      {}", report.never_fired.join(", ")));
        }
        Some(text)
    }

    /// Cells as the rows of a table; those without a report are left out.
    pub fn table<'a>(cells: impl IntoIterator<Item = &'a Self>) -> Text
    where
        Self: 'a,
    {
        let cells: Vec<&Self> = cells.into_iter().collect();
        let runs: Vec<ComparedRun> = cells.iter().filter_map(|cell| cell.compared()).collect();
        if runs.is_empty() {
            return Text::new();
        }
        let mut text: Text = comparison(&runs).into();
        // A pair's scenarios may differ in what they start with; all other cells start alike.
        let starts: BTreeSet<&str> =
            cells.iter().map(|cell| cell.preparation.start.as_str()).collect();
        if let [cell, ..] = cells[..]
            && starts.len() == 1
        {
            text.line(cell.preparation.line(None));
        }
        text
    }

    fn compared(&self) -> Option<ComparedRun<'_>> {
        let Self { cell: number, workload, settings, report, .. } = self;
        Some(ComparedRun { number: *number, workload, settings, report: report.as_ref()? })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::RequestSource;
    use ssdtune_model::{Nanos, Sectors, TenantId, presets};
    use ssdtune_sim::Replay;
    use ssdtune_trace::{Op, Request};
    use std::sync::atomic::AtomicBool;

    fn cell(lba: u64) -> Cell {
        let request = |n: u64| Request {
            at: Nanos(10_000 * n),
            lba: Sectors(lba + 8 * n),
            sectors: 8,
            tenant: TenantId(0),
            op: Op::Write,
        };
        let device = presets::load("samsung-850-pro").unwrap().check().unwrap();
        let source = RequestSource::of_requests("ten", (0..10).map(request).collect::<Vec<_>>());
        let experiment = Experiment::new(&device, source, Replay::Open);
        let settings = vec![("gc.threshold".to_owned(), "0.05".to_owned())];
        Cell { experiment, calibrated: None, settings }
    }

    fn run(cell: &Cell, stop: bool) -> CellResult {
        let stop = AtomicBool::new(stop);
        let run = RunOptions { stop: &stop, progress: &|_, _| {}, exact_percentiles: false };
        let how = CellOptions { run, record: RecorderOptions::default(), slowdown: false };
        cell.run(3, &how, &mut [])
    }

    fn document(results: &[&CellResult]) -> serde_json::Value {
        let document = CellsDocument::<()>::new(results.iter().copied(), None);
        serde_json::to_value(document).unwrap()
    }

    #[test]
    fn a_result_that_was_put_into_json_makes_the_same_document() {
        let result = run(&cell(0), false);
        assert_eq!((result.cell, result.workload.as_str()), (3, "ten"));
        let text = serde_json::to_string(&result).unwrap();
        let copy: CellResult = serde_json::from_str(&text).unwrap();
        assert_eq!(document(&[&copy]), document(&[&result]));
        assert_eq!(
            copy.in_full([], []).unwrap().to_string(),
            result.in_full([], []).unwrap().to_string()
        );
        let lines = ["decided".to_owned(), "took".to_owned()].map(|line| [line]);
        let [decided, took] = lines;
        let told = result.in_full(decided, took).unwrap().to_string();
        assert!(told.find("decided") < told.find("took"), "{told}");
    }

    #[test]
    fn a_cell_that_fails_or_does_not_begin_has_no_report() {
        let failed = run(&cell(1 << 40), false);
        assert!(failed.failure.is_some() && failed.report.is_none());
        assert!(failed.error.as_deref().is_some_and(|text| text.contains("the drive ends at")));
        let idle = run(&cell(0), true);
        assert!(idle.report.is_none() && idle.error.is_none());
        let whole = run(&cell(0), false);
        assert_eq!(document(&[&whole])["partial"], false);
        assert_eq!(document(&[&whole, &idle])["partial"], true);
        assert!(idle.in_full([], []).is_none());
        assert!(CellResult::table([&whole, &failed]).to_string().contains("start"));
    }
}
