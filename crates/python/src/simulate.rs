//! Simulations: cells planned, run on threads, and told as documents and tables.

use crate::columns::{Column, Numbers};
use crate::device::Device;
use crate::failure::{failed, raised, wrong, wrong_data, wrong_text};
use crate::parse::{fit, parsed, preparation};
use crate::trace::Trace;
use crate::watch::{threads, watched};
use crate::workload::Workload;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyType};
use rayon::prelude::*;
use ssdtune::failure::{of_output, of_run};
use ssdtune_experiment::{
    CELLS_MAX, Cell, CellOptions, CellResult, CellsDocument, ChannelList, Experiment, FlowSet,
    KeepCompletions, KeepSeries, MODEL_REQUESTS, Observer, Origin, Preparation, RecorderOptions,
    RequestSource, RunOptions, SeriesRow, Start, unsupported,
};
use ssdtune_model::{Nanos, given};
use ssdtune_output::OutputPlan;
use ssdtune_sim::{Completion, Replay};
use ssdtune_trace::workload::Seed;
use ssdtune_trace::{Devices, ReadOptions};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

/// Where the requests of one tenant come from.
#[derive(FromPyObject)]
pub(crate) enum Requests<'py> {
    Trace(PyRef<'py, Trace>),
    Workload(PyRef<'py, Workload>),
    Path(PathBuf),
}

/// What a drive serves: one source on the whole drive, or tenants that share it.
#[derive(FromPyObject)]
pub(crate) enum Served<'py> {
    One(Requests<'py>),
    Tenants(Vec<Requests<'py>>),
}

/// The flags of `ssdtune simulate` and their values.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub(crate) struct Options {
    start: Option<String>,
    age: Vec<String>,
    erases: Option<u32>,
    replay: String,
    requests: Option<u64>,
    time_scale: Option<f64>,
    fit_addresses: Option<String>,
    channels: Vec<String>,
    slowdown: bool,
    seed: Option<u64>,
    log: Recorded,
    series: Recorded,
    interval: String,
    save: Option<PathBuf>,
    restore: Option<PathBuf>,
    exact: bool,
    force: bool,
}

/// A table that is not made, kept in memory, or written into a file.
#[derive(FromPyObject)]
enum Recorded {
    Kept(bool),
    File(PathBuf),
}

impl Recorded {
    fn file(&self) -> Option<PathBuf> {
        match self {
            Self::File(path) => Some(path.clone()),
            Self::Kept(_) => None,
        }
    }

    fn is_kept(&self) -> bool {
        matches!(self, Self::Kept(true))
    }
}

impl Options {
    fn preparation(&self) -> PyResult<Preparation> {
        let Some(path) = &self.restore else {
            return preparation(self.start.as_deref(), &self.age, self.erases);
        };
        if self.start.is_some() || !self.age.is_empty() || self.save.is_some() {
            let text = "restore brings the drive as it was kept: leave start, age and save away";
            return Err(wrong_text(text.to_owned()));
        }
        let kept = Preparation::of(Start::Restored(path.clone()), 0);
        let kept = Preparation { erases: self.erases.unwrap_or(0), ..kept };
        kept.check().map_err(wrong)?;
        Ok(kept)
    }

    fn source(&self, requests: &Requests<'_>) -> PyResult<RequestSource> {
        let source = match requests {
            Requests::Trace(trace) => trace.source(),
            Requests::Workload(workload) => {
                let seed = Seed { index: self.seed.unwrap_or(0), ..Seed::default() };
                RequestSource::of_model(workload.model.clone(), seed, MODEL_REQUESTS)
            }
            Requests::Path(path) => {
                let read = ReadOptions { devices: Devices::Merged, ..ReadOptions::default() };
                RequestSource::new(Origin::File(path.clone()), read)
            }
        };
        let limit = self.requests.or(source.limit);
        Ok(RequestSource {
            limit,
            time_scale: self.time_scale,
            fit: fit(self.fit_addresses.as_deref())?,
            ..source
        })
    }

    fn flows(&self, served: &Served<'_>, device: &Device) -> PyResult<FlowSet> {
        let replay: Replay = parsed("replay", &self.replay)?;
        match served {
            Served::One(own @ Requests::Workload(_)) => {
                FlowSet::of_model(self.source(own)?, replay).map_err(wrong)
            }
            Served::One(own) => Ok(FlowSet::single(self.source(own)?, replay)),
            Served::Tenants(all) => {
                let sources = all.iter().map(|own| self.source(own)).collect::<PyResult<_>>()?;
                let lists = self.channels.iter().map(|list| parsed("channels", list));
                let lists: Vec<ChannelList> = lists.collect::<PyResult<_>>()?;
                FlowSet::shared(sources, replay, &lists, &device.config).map_err(wrong)
            }
        }
    }

    fn interval(&self) -> PyResult<Nanos> {
        given::milliseconds(&self.interval)
            .map_err(|error| wrong_text(format!("interval = {}: {error}", self.interval)))
    }

    /// The files of each cell, entered in a plan that refuses what must not be written.
    fn records(&self, cells: &[Cell]) -> PyResult<Vec<RecorderOptions>> {
        let interval = self.interval()?;
        let series = self.series.file().map(|path| (path, interval));
        let record = RecorderOptions { log: self.log.file(), series };
        let records: Vec<RecorderOptions> = match cells.len() {
            1 => vec![record],
            count => (0..count).map(|index| record.numbered(index)).collect(),
        };
        let mut plan = if self.force { OutputPlan::replacing() } else { OutputPlan::new() };
        let refused = |conflict| raised(of_output(conflict));
        for flow in cells.iter().flat_map(|cell| &cell.experiment.flows) {
            if let Origin::File(path) = &flow.source.origin {
                plan.reads("trace", path).map_err(refused)?;
            }
        }
        let mut write = |name: &str, path: &Path| plan.writes(name, path).map_err(refused);
        self.save.iter().try_for_each(|path| write("save", path))?;
        for RecorderOptions { log, series } in &records {
            log.iter().try_for_each(|path| write("log", path))?;
            series.iter().try_for_each(|(path, _)| write("series", path))?;
        }
        Ok(records)
    }

    /// Every set of flows on every drive.
    fn cells(&self, devices: &[PyRef<'_, Device>], served: &[Served<'_>]) -> PyResult<Vec<Cell>> {
        if served.len().saturating_mul(devices.len()) > CELLS_MAX {
            return Err(wrong_text(format!("more than {CELLS_MAX} cells: sweep less")));
        }
        let preparation = self.preparation()?;
        let mut cells = Vec::with_capacity(served.len() * devices.len());
        for served in served {
            let Some(first) = devices.first() else { break };
            let mut set = self.flows(served, first)?;
            if devices.len() > 1 {
                set.keep_short_traces().map_err(wrong_data)?;
            }
            for device in devices {
                let config = device.seeded(self.seed)?;
                if let Some(reason) = unsupported(&config, set.tenant_count()) {
                    return Err(wrong_text(reason.to_owned()));
                }
                let experiment = set.experiment(&config, &preparation);
                if self.slowdown || devices.len() > 1 || !experiment.reads_once() {
                    set.keep_pipes().map_err(wrong_data)?;
                }
                let experiment = set.experiment(&config, &preparation);
                let experiment = Experiment { save: self.save.clone(), ..experiment };
                let (calibrated, settings) = (device.calibrated.clone(), device.settings.clone());
                cells.push(Cell { experiment, calibrated, settings });
            }
            if self.slowdown && set.tenant_count() < 2 {
                let text = "slowdown compares tenants that share a drive: give a list of traces";
                return Err(wrong_text(text.to_owned()));
            }
        }
        if self.save.is_some() && cells.len() > 1 {
            let text = format!("save keeps one drive, and there are {} cells", cells.len());
            return Err(wrong_text(text));
        }
        Ok(cells)
    }
}

/// What a run gave: the result, the tables that are kept, and the failure if there is no report.
type Ran = (RawResult, Option<Table>, Option<Table>, Option<PyErr>);
type Table = Vec<Column>;

/// Runs every source on every drive, on as many threads as are asked for. `tick` is called now and
/// then with the cells done and the requests completed so far.
#[pyfunction]
pub(crate) fn run_cells(
    py: Python<'_>,
    devices: Vec<PyRef<'_, Device>>,
    served: Vec<Served<'_>>,
    options: Options,
    asked: Option<usize>,
    tick: Option<Bound<'_, PyAny>>,
) -> PyResult<Vec<Ran>> {
    let cells = options.cells(&devices, &served)?;
    let records = options.records(&cells)?;
    let interval = options.interval()?;
    let (done, requests) = (AtomicU64::new(0), AtomicU64::new(0));
    let tell = |_: Python<'_>| {
        let counts = (done.load(Ordering::Relaxed), requests.load(Ordering::Relaxed));
        tick.as_ref().map_or(Ok(()), |tick| tick.call1(counts).map(drop))
    };
    let (exact, slowdown) = (options.exact, options.slowdown);
    let (keep_log, keep_series) = (options.log.is_kept(), options.series.is_kept());
    let (done, requests) = (&done, &requests);
    let ran = watched(py, threads(asked), tell, |stop| {
        let run = |(number, cell): (usize, &Cell)| {
            let progress = |_: f64, more: u64| _ = requests.fetch_add(more, Ordering::Relaxed);
            let run = RunOptions { stop, progress: &progress, exact_percentiles: exact };
            let how = CellOptions { run, record: records[number].clone(), slowdown };
            let mut log = keep_log.then(KeepCompletions::default);
            let mut series = keep_series.then(|| KeepSeries::new(interval));
            let mut observers: Vec<&mut dyn Observer> = Vec::new();
            observers.extend(log.as_mut().map(|own| own as &mut dyn Observer));
            observers.extend(series.as_mut().map(|own| own as &mut dyn Observer));
            let result = cell.run(number, &how, &mut observers);
            done.fetch_add(1, Ordering::Relaxed);
            let log = log.map(|own| log_columns(&own.0));
            (result, log, series.map(|own| series_columns(&own.rows)))
        };
        cells.par_iter().enumerate().map(run).collect::<Vec<_>>()
    })?;
    Ok(ran.into_iter().map(|(result, log, series)| told(result, log, series)).collect())
}

fn told(mut result: CellResult, log: Option<Table>, series: Option<Table>) -> Ran {
    let error = result.failure.take().map(|failure| raised(of_run(failure)));
    (RawResult(result), log, series, error)
}

/// The columns of the log of requests, named as in its file.
fn log_columns(all: &[Completion]) -> Table {
    let long = |name, of: fn(&Completion) -> u64| {
        Column::new(name, Numbers::U64(all.iter().map(of).collect()))
    };
    let tenants = all.iter().map(|one| one.tenant.0).collect();
    let ops = all.iter().map(|one| one.op as u8).collect();
    let sectors = all.iter().map(|one| one.sectors).collect();
    vec![
        Column::new("tenant", Numbers::U16(tenants)),
        long("number", |one| one.number),
        Column::new("op", Numbers::U8(ops)),
        long("lba", |one| one.lba.0),
        Column::new("sectors", Numbers::U32(sectors)),
        long("arrival_ns", |one| one.arrived.0),
        long("enqueue_ns", |one| one.enqueued.0),
        long("completion_ns", |one| one.completed.0),
        long("device_latency_ns", |one| (one.completed - one.enqueued).0),
        long("total_latency_ns", |one| (one.completed - one.arrived).0),
    ]
}

/// The columns of the time series, named as in its file. What an interval does not have is NaN.
fn series_columns(all: &[SeriesRow]) -> Table {
    let long = |name, of: fn(&SeriesRow) -> u64| {
        Column::new(name, Numbers::U64(all.iter().map(of).collect()))
    };
    let real = |name, of: fn(&SeriesRow) -> Option<f64>| {
        let numbers = all.iter().map(|row| of(row).unwrap_or(f64::NAN)).collect();
        Column::new(name, Numbers::F64(numbers))
    };
    vec![
        long("start_ns", |row| row.start.0),
        long("end_ns", |row| row.end.0),
        long("reads", |row| row.reads),
        long("writes", |row| row.writes),
        long("read_bytes", |row| row.read_bytes),
        long("write_bytes", |row| row.write_bytes),
        real("iops", |row| Some(row.iops)),
        real("bandwidth_bytes_per_s", |row| Some(row.bandwidth_bytes_per_s)),
        real("device_latency_mean_ns", |row| row.device_latency_mean_ns),
        real("device_latency_p99_ns", |row| row.device_latency_p99_ns.map(|ns| ns as f64)),
        real("device_latency_max_ns", |row| row.device_latency_max_ns.map(|ns| ns as f64)),
        long("in_flight", |row| row.in_flight),
        long("pages_read", |row| row.pages_read),
        long("pages_programmed_host", |row| row.pages_programmed_host),
        long("pages_programmed_moved", |row| row.pages_programmed_moved),
        long("pages_programmed_mapping", |row| row.pages_programmed_mapping),
        long("blocks_erased", |row| row.blocks_erased),
        real("power_w", |row| row.power_w),
    ]
}

/// What one simulation gave, as Rust has it. ``ssdtune.Result`` shows it.
#[pyclass(module = "ssdtune._ssdtune", frozen)]
pub(crate) struct RawResult(CellResult);

#[pymethods]
impl RawResult {
    /// The cell as one line of JSON.
    fn dump(&self) -> PyResult<String> {
        serde_json::to_string(&self.0).map_err(failed)
    }

    /// The result that ``dump`` has put into JSON, with another number.
    #[classmethod]
    fn load(_: &Bound<'_, PyType>, text: &str, number: usize) -> PyResult<Self> {
        let result: CellResult = serde_json::from_str(text).map_err(wrong_data)?;
        Ok(Self(CellResult { cell: number, ..result }))
    }

    /// What the command prints of this result.
    fn text(&self) -> String {
        self.0.in_full([], []).map(|text| text.to_string()).unwrap_or_default()
    }
}

/// All results as the document of ``ssdtune simulate --json``.
#[pyfunction]
pub(crate) fn document<'py>(
    py: Python<'py>,
    results: Vec<PyRef<'_, RawResult>>,
) -> PyResult<Bound<'py, PyBytes>> {
    let document = CellsDocument::<()>::new(results.iter().map(|own| &own.0), None);
    let mut text = serde_json::to_vec_pretty(&document).map_err(failed)?;
    text.push(b'\n');
    Ok(PyBytes::new(py, &text))
}

/// All results as the table that the command prints of several cells.
#[pyfunction]
pub(crate) fn table(results: Vec<PyRef<'_, RawResult>>) -> String {
    CellResult::table(results.iter().map(|own| &own.0)).to_string()
}
