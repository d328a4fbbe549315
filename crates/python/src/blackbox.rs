//! Black-box models: predictions of points and of windows of traces, many at once.

use crate::columns::{Column, Numbers};
use crate::failure::{failed, wrong, wrong_data, wrong_text};
use crate::trace::Trace;
use crate::watch::{threads, watched};
use pyo3::prelude::*;
use ssdtune_experiment::Position;
use ssdtune_predict::blackbox::windows::Window;
use ssdtune_predict::blackbox::{AnyModel, BatchLine, Point};
use std::path::{Path, PathBuf};
use std::sync::atomic::Ordering;

/// A model of either kind, as Rust has it. ``ssdtune.BlackBoxModel`` shows it.
#[pyclass(module = "ssdtune._ssdtune", frozen)]
pub(crate) struct RawModel {
    model: AnyModel,
    path: PathBuf,
}

#[pymethods]
impl RawModel {
    #[new]
    fn new(path: PathBuf) -> PyResult<Self> {
        let model = AnyModel::read(&path).map_err(wrong_data)?;
        Ok(Self { model, path })
    }

    /// The document of ``ssdtune predict-perf predict --point --json``.
    fn point(&self, name: &str, rate: Option<f64>) -> PyResult<String> {
        if rate.is_some_and(|rate| !(1e-3..=1e9).contains(&rate)) {
            return Err(wrong_text("rate: write requests in a second, 0.001 to 1e9".to_owned()));
        }
        let point = point(name)?;
        match &self.model {
            AnyModel::Grid(model) => {
                let workload = model.characteristics(&point, rate).map_err(wrong)?;
                serde_json::to_string(&model.predict(&workload))
            }
            AnyModel::Few(model) => {
                serde_json::to_string(&model.predict(&point, rate).map_err(wrong)?)
            }
        }
        .map_err(failed)
    }

    /// The columns that are predicted of points, without intervals.
    fn points(&self, py: Python<'_>, names: Vec<String>) -> PyResult<Vec<Column>> {
        let points = names.iter().map(|name| point(name)).collect::<PyResult<Vec<Point>>>()?;
        let batch = watched(py, threads(None), |_| Ok(()), |_| self.model.batch(&points))?;
        let lines = batch.map_err(wrong)?;
        let column = |name, of: fn(&BatchLine) -> f64| {
            Column::new(name, Numbers::F64(lines.iter().map(of).collect()))
        };
        Ok(vec![
            column("latency_ns", |line| line.latency_ns),
            column("iops", |line| line.iops),
            column("bandwidth_bps", |line| line.bandwidth_bps),
        ])
    }

    /// The document of ``ssdtune predict-perf predict --trace --json``.
    fn windows(
        &self,
        py: Python<'_>,
        trace: PyRef<'_, Trace>,
        depth: Option<u32>,
        window: usize,
    ) -> PyResult<String> {
        let AnyModel::Grid(model) = &self.model else {
            let path = self.path.display();
            let text = format!("{path}: a model of few points predicts points, and no traces");
            return Err(wrong_text(text));
        };
        model.check_depth(depth).map_err(wrong)?;
        if window < 10 {
            return Err(wrong_text(format!("window = {window}: at least 10 requests")));
        }
        let (source, position) = (trace.source(), Position::default());
        let name = Path::new(&trace.name).file_name().unwrap_or_default().to_string_lossy();
        let predicted = watched(
            py,
            1,
            |_| Ok(()),
            |stop| {
                let mut found = Vec::new();
                let mut take = |window: Window| {
                    if !stop.load(Ordering::Relaxed) {
                        let seen = model.see(&window, depth);
                        found.extend(seen.map(|one| model.predict_window(&one)));
                    }
                };
                let mut requests = source.stream(&position)?;
                Window::cut(&name, requests.as_mut(), window, &mut take).map(|_| found)
            },
        )?;
        let found = predicted.map_err(wrong_data)?;
        if found.is_empty() {
            return Err(wrong_data(anyhow::anyhow!("{name}: there is no window to predict")));
        }
        serde_json::to_string(&found).map_err(failed)
    }
}

fn point(name: &str) -> PyResult<Point> {
    name.parse().map_err(|error| wrong_text(format!("{name}: {error}")))
}
