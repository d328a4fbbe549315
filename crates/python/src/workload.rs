//! Workload models.

use crate::failure::{raised, wrong, wrong_data, wrong_text};
use crate::trace::Trace;
use crate::watch::watched;
use pyo3::prelude::*;
use pyo3::types::PyType;
use ssdtune::failure::of_model;
use ssdtune_trace::Request;
use ssdtune_trace::workload::{self, Generator, Model, Seed, SeedSet};
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::Ordering;

/// A model that generates requests without end. ``ssdtune.workload(name)`` loads one.
///
/// >>> import ssdtune as st
/// >>> model = st.workload("database")
/// >>> model.name, model.tenants
/// ('database', 1)
#[pyclass(module = "ssdtune", frozen)]
#[derive(Clone, Debug)]
pub(crate) struct Workload {
    pub(crate) model: Arc<Model>,
}

#[pymethods]
impl Workload {
    /// Loads a bundled model by its name, or a model file by its path.
    #[new]
    fn new(name: PathBuf) -> PyResult<Self> {
        let model = workload::load(&name.to_string_lossy());
        Ok(Self { model: Arc::new(model.map_err(|error| raised(of_model(error)))?) })
    }

    /// The name in results.
    #[getter]
    fn name(&self) -> &str {
        &self.model.name
    }

    /// How many tenants send requests.
    #[getter]
    fn tenants(&self) -> usize {
        self.model.tenants.len()
    }

    /// The model as the text of a TOML file.
    fn to_toml(&self) -> String {
        self.model.to_toml("")
    }

    /// The first requests as a trace. Equal seeds give equal requests; the sets of seeds
    /// ``training``, ``validation`` and ``held-out`` have none in common.
    #[pyo3(signature = (requests, *, seed = 0, seed_set = "training"))]
    fn generate(
        &self,
        py: Python<'_>,
        requests: usize,
        seed: u64,
        seed_set: &str,
    ) -> PyResult<Trace> {
        let set: SeedSet = seed_set.parse().map_err(wrong_text)?;
        let generator = Generator::new(&self.model, Seed { set, index: seed });
        let generator = generator.map_err(wrong)?;
        let all = watched(
            py,
            1,
            |_| Ok(()),
            |stop| {
                let goes_on = |_: &Request| !stop.load(Ordering::Relaxed);
                generator.take(requests).take_while(goes_on).collect()
            },
        )?;
        Ok(Trace::of(self.model.name.clone(), all))
    }

    fn __eq__(&self, other: &Self) -> bool {
        self.to_toml() == other.to_toml()
    }

    fn __hash__(&self) -> u64 {
        let mut hasher = DefaultHasher::new();
        self.to_toml().hash(&mut hasher);
        hasher.finish()
    }

    fn __repr__(&self) -> String {
        format!("<ssdtune.Workload {}>", self.model.name)
    }

    fn __reduce__<'py>(slf: &Bound<'py, Self>) -> PyResult<(Bound<'py, PyAny>, (String, String))> {
        let own = slf.get();
        Ok((slf.get_type().getattr("_restore")?, (own.model.name.clone(), own.to_toml())))
    }

    #[classmethod]
    fn _restore(_: &Bound<'_, PyType>, name: &str, toml: &str) -> PyResult<Self> {
        let model = workload::parse(toml, name).map_err(wrong_data)?;
        Ok(Self { model: Arc::new(model) })
    }
}

/// The names of the bundled models.
///
/// >>> import ssdtune as st
/// >>> "websearch" in st.workloads()
/// True
#[pyfunction]
pub(crate) fn workloads() -> Vec<&'static str> {
    workload::names().collect()
}
