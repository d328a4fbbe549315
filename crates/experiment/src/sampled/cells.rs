//! Sampled runs of several drives or traces, as a document and as text.

use super::{Estimated, SampledError, SampledReport};
use crate::cell::{Parameters, parameters};
use crate::experiment::Experiment;
use crate::fit::AddressFit;
use crate::livepoints::{LivePoints, SampleOptions};
use crate::preparation::PreparationInWords;
use crate::source::Origin;
use serde::Serialize;
use ssdtune_report::{Table, Text};
use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

/// The version of the document. It grows when a field changes its meaning or goes.
const SCHEMA: u32 = 1;

/// What is run, and how well its mean is to be known.
#[derive(Clone, Debug)]
pub struct SampledCells {
    /// The experiments, each with the parameters that a sweep has set.
    pub cells: Vec<(Experiment, BTreeMap<String, String>)>,
    /// How traces are sampled.
    pub options: SampleOptions,
    /// The half-width of the interval of the mean latency at which enough windows have been served,
    /// as a share of it; `None`: all windows are.
    pub precision: Option<f64>,
}

/// The sampled run of one drive on one trace.
#[derive(Clone, Debug, Serialize)]
pub struct SampledCell {
    /// Its number, from 0.
    pub cell: usize,
    /// The drive.
    pub device: String,
    /// The trace.
    pub workload: String,
    /// The parameters that a sweep has set.
    pub settings: BTreeMap<String, String>,
    /// Every parameter of the drive and its value, in the unit of the catalogue.
    pub parameters: Parameters,
    /// What the drive holds and has been through.
    pub preparation: PreparationInWords,
    /// When requests are submitted.
    pub replay: String,
    /// What its windows say.
    pub report: SampledReport,
}

/// What `simulate --sample --json` prints.
#[derive(Clone, Debug, Serialize)]
pub struct SampledDocument {
    /// The version of this document.
    pub schema: u32,
    /// The runs, in their order.
    pub cells: Vec<SampledCell>,
}

/// Live-points of traces, those made last kept for further drives with pages of that size.
#[derive(Clone, Debug)]
pub struct SampledTraces {
    options: SampleOptions,
    kept: Option<(PointsOf, Arc<LivePoints>)>,
}

/// What live-points are of: a trace, pages of some size, and where the drive ends if addresses are
/// folded there.
#[derive(Clone, Debug, PartialEq, Eq)]
struct PointsOf {
    workload: String,
    page_bytes: u32,
    end: Option<u64>,
}

impl SampledTraces {
    /// No traces yet; they will be sampled in this way.
    pub fn new(options: SampleOptions) -> Self {
        Self { options, kept: None }
    }

    /// The live-points of an experiment's trace: those of its file if it is one of live-points, or
    /// those of a pass. `told` is called for every 65,536 requests that were passed.
    ///
    /// # Errors
    /// As of [`Experiment::sample`], or the file of live-points cannot be read.
    pub fn points(
        &mut self,
        experiment: &Experiment,
        stop: &AtomicBool,
        told: &dyn Fn(u64),
    ) -> Result<Arc<LivePoints>, SampledError> {
        let geometry = experiment.device.geometry();
        // Folding addresses depends on where the drive ends.
        let folded = experiment
            .flows
            .iter()
            .any(|flow| matches!(flow.source.fit, Some(AddressFit::Wrap | AddressFit::InDrive)));
        let own = PointsOf {
            workload: experiment.workload(),
            page_bytes: geometry.page_bytes,
            end: folded.then(|| geometry.pages()),
        };
        if let Some((_, points)) = self.kept.as_ref().filter(|(of, _)| *of == own) {
            return Ok(Arc::clone(points));
        }
        // Two traces need not be in memory at once.
        self.kept = None;
        let points = Arc::new(match experiment.flows.first().map(|flow| &flow.source.origin) {
            Some(Origin::File(path)) if LivePoints::is_file(path) => LivePoints::read(path)?,
            _ => experiment.sample(&self.options, stop, told)?,
        });
        self.kept = Some((own, Arc::clone(&points)));
        Ok(points)
    }
}

impl SampledCells {
    /// Samples each trace once for all drives with pages of one size, and serves its windows on
    /// every drive. `told` is called with the number of a cell and how many more of its requests
    /// were passed or served.
    ///
    /// # Errors
    /// As of [`Experiment::sample`] and [`Experiment::run_sampled`]: of the first cell that fails.
    pub fn run(
        &self,
        stop: &AtomicBool,
        told: &(dyn Fn(usize, u64) + Sync),
    ) -> Result<SampledDocument, SampledError> {
        let mut traces = SampledTraces::new(self.options);
        let mut cells = Vec::new();
        for (cell, (experiment, settings)) in self.cells.iter().enumerate() {
            let points = traces.points(experiment, stop, &|more| told(cell, more))?;
            let tell = |more: u64| told(cell, more);
            let report = experiment.run_sampled(&points, self.precision, stop, &tell)?;
            cells.push(SampledCell {
                cell,
                device: experiment.device.name.clone(),
                workload: experiment.workload(),
                settings: settings.clone(),
                parameters: parameters(&experiment.device),
                preparation: experiment.preparation.in_words(),
                replay: experiment.flows[0].replay.to_string(),
                report,
            });
        }
        Ok(SampledDocument { schema: SCHEMA, cells })
    }
}

impl SampledDocument {
    /// One run in full, or a table of several.
    pub fn text(&self) -> Text {
        if let [cell] = &self.cells[..] {
            let mut text = cell.report.text(&cell.workload, &cell.device, &cell.replay);
            text.line(cell.preparation.line(None));
            return text;
        }
        let keys: Vec<&String> =
            self.cells.first().map_or(Vec::new(), |cell| cell.settings.keys().collect());
        let mut names = vec!["cell".to_owned(), "workload".to_owned()];
        names.extend(keys.iter().map(|key| (*key).clone()));
        names.extend(["mean us", "p99 us", "MB/s", "windows"].map(str::to_owned));
        let mut table = Table::new(names);
        table.align_right(2 + keys.len()..);
        for cell in &self.cells {
            let all = cell.report.latency_ns.first();
            let p99 = all.and_then(|all| all.percentiles.iter().find(|own| own.0 == "p99"));
            let shown = |own: Option<Estimated>, factor: f64| {
                own.map_or(String::new(), |own| own.scaled(factor))
            };
            let mut row = vec![cell.cell.to_string(), cell.workload.clone()];
            row.extend(keys.iter().map(|key| cell.settings[*key].clone()));
            row.push(shown(all.map(|all| all.mean), 1e-3));
            row.push(shown(p99.map(|own| own.1), 1e-3));
            row.push(shown(Some(cell.report.bandwidth_bytes_per_s), 1e-6));
            row.push(cell.report.run.windows.to_string());
            table.add_row(row);
        }
        let mut text: Text = table.into();
        let reasons = self.cells.iter().filter_map(|cell| Some((cell, cell.report.no_interval?)));
        for (cell, reason) in reasons {
            text.line(format_args!("cell {}: {}", cell.cell, reason.in_words()));
        }
        text
    }
}
