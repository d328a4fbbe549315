//! Windows of long traces, for those who measure them elsewhere.

use crate::failure::{failed, wrong_data};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyType};
use ssdtune_experiment::livepoints::LivePoints;
use ssdtune_tune::Trace as TuneTrace;
use ssdtune_tune::workload::Windows;
use std::path::Path;
use std::sync::Arc;

/// Windows from all over a trace, each with what a drive needs to begin there. A drive is measured
/// on some of them, which are named with each question.
#[pyclass(module = "ssdtune._ssdtune", frozen, weakref)]
pub(crate) struct Points(Arc<LivePoints>);

/// Windows that were drawn, each with its place and its chance.
pub(crate) type DrawnWindows = Vec<(usize, f64)>;

impl Points {
    /// Those of the windows.
    pub(crate) fn of(windows: &Windows) -> Self {
        Self(Arc::clone(windows.points()))
    }

    /// The trace that is measured on these windows of it.
    pub(crate) fn drawn(&self, drawn: &[(usize, f64)]) -> PyResult<TuneTrace> {
        let count = self.0.windows.len();
        if drawn.iter().any(|(window, _)| *window >= count) {
            return Err(wrong_data(anyhow::anyhow!("{}: it has {count} windows", self.name())));
        }
        let windows = Windows::drawn_before(Arc::clone(&self.0), drawn);
        Ok(TuneTrace::of_windows(self.name(), windows))
    }
}

#[pymethods]
impl Points {
    /// The name of the trace.
    #[getter]
    fn name(&self) -> &str {
        &self.0.about.trace
    }

    /// 64 hexadecimal digits of the trace and of how it was sampled.
    #[getter]
    fn digest(&self) -> String {
        Windows::new(Arc::clone(&self.0), 0).points_digest().to_string()
    }

    fn __reduce__<'py>(
        slf: &Bound<'py, Self>,
    ) -> PyResult<(Bound<'py, PyAny>, (Bound<'py, PyBytes>,))> {
        let mut bytes = Vec::new();
        slf.get().0.write_to(&mut bytes).map_err(failed)?;
        Ok((slf.get_type().getattr("_restore")?, (PyBytes::new(slf.py(), &bytes),)))
    }

    #[classmethod]
    fn _restore(_: &Bound<'_, PyType>, mut bytes: &[u8]) -> PyResult<Self> {
        let points = LivePoints::read_from(&mut bytes, Path::new("windows of a trace"));
        Ok(Self(Arc::new(points.map_err(wrong_data)?)))
    }
}
