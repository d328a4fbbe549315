//! Drives.

use crate::failure::{raised, wrong, wrong_data};
use pyo3::exceptions::PyKeyError;
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyDict, PyFloat, PyType};
use ssdtune::failure::of_drive;
use ssdtune_experiment::{CELLS_MAX, grid};
use ssdtune_model::catalogue::{self, Value};
use ssdtune_model::document::{self, Document};
use ssdtune_model::{Calibrated, CheckedConfig, DeviceConfig, Faults};
use ssdtune_tune::memory::configuration_digest;
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::path::PathBuf;
use std::sync::Arc;

/// A drive: a preset, a TOML file or MQSim's ``ssdconfig.xml``, with parameters changed by name.
///
/// ``Device(name, /, **overrides)``. Names of parameters have dots, so they are given in a
/// dictionary; sizes and times are numbers (bytes, nanoseconds) or texts with a unit. All that is
/// wrong is told at once. A device never changes: ``replace`` makes another one.
///
/// >>> import ssdtune as st
/// >>> device = st.Device("intel-750", **{"bus.channels": 16, "cache.capacity_bytes": "64MiB"})
/// >>> device["bus.channels"], device["cache.capacity_bytes"]
/// (16, 67108864)
/// >>> st.Device("intel-750", **{"bus.chanels": 16, "gc.policy": "gredy"})
/// Traceback (most recent call last):
/// ssdtune.UsageError: bus.chanels: no such key; did you mean bus.channels?
/// gc.policy = gredy: must be one of greedy, rga, ...; did you mean greedy?
#[pyclass(module = "ssdtune", frozen)]
#[derive(Clone, Debug)]
pub(crate) struct Device {
    pub(crate) config: CheckedConfig,
    pub(crate) calibrated: Option<Arc<Calibrated>>,
    pub(crate) settings: Vec<(String, String)>,
    notes: Vec<String>,
}

impl Device {
    pub(crate) fn of(config: CheckedConfig) -> Self {
        Self { config, calibrated: None, settings: Vec::new(), notes: Vec::new() }
    }

    /// The drive with its own seed replaced, if one is given.
    pub(crate) fn seeded(&self, seed: Option<u64>) -> PyResult<CheckedConfig> {
        let Some(seed) = seed else { return Ok(self.config.clone()) };
        changed(&self.config, &[("run.seed".to_owned(), seed.to_string())])
    }
}

/// The text of a value, as the command line has it.
fn text(value: &Bound<'_, PyAny>) -> PyResult<String> {
    if let Ok(flag) = value.cast::<PyBool>() {
        return Ok(flag.is_true().to_string());
    }
    if let Ok(real) = value.cast::<PyFloat>() {
        return Ok(format!("{:?}", real.value()));
    }
    Ok(value.str()?.to_string())
}

fn pairs(overrides: Option<&Bound<'_, PyDict>>) -> PyResult<Vec<(String, String)>> {
    let items = overrides.into_iter().flatten();
    items.map(|(key, value)| Ok((key.extract()?, text(&value)?))).collect()
}

/// A configuration with values set. Every fault is told.
fn changed(config: &DeviceConfig, pairs: &[(String, String)]) -> PyResult<CheckedConfig> {
    let (mut config, mut faults) = (config.clone(), Faults::default());
    for (key, value) in pairs {
        if let Err(wrong) = catalogue::set(&mut config, key, value) {
            faults.0.extend(wrong.0);
        }
    }
    if !faults.0.is_empty() {
        return Err(wrong(faults));
    }
    config.check().map_err(wrong)
}

fn python(py: Python<'_>, value: Value) -> PyResult<Bound<'_, PyAny>> {
    match value {
        Value::Int(value) => Ok(value.into_pyobject(py)?.into_any()),
        Value::Real(value) => Ok(value.into_pyobject(py)?.into_any()),
        Value::Bool(value) => Ok(value.into_pyobject(py)?.to_owned().into_any()),
        Value::Name(value) => Ok(value.into_pyobject(py)?.into_any()),
    }
}

#[pymethods]
impl Device {
    #[new]
    #[pyo3(signature = (name, /, **overrides))]
    fn new(name: PathBuf, overrides: Option<&Bound<'_, PyDict>>) -> PyResult<Self> {
        let loaded = ssdtune_mqsim::load(&name.to_string_lossy(), &pairs(overrides)?);
        let loaded = loaded.map_err(|error| raised(of_drive(error)))?;
        let config = loaded.config.check().map_err(wrong_data)?;
        let calibrated = loaded.calibrated.map(Arc::new);
        Ok(Self { calibrated, notes: loaded.notes, ..Self::of(config) })
    }

    /// The drive of the text of a TOML file.
    ///
    /// >>> import ssdtune as st
    /// >>> st.Device.from_toml('base = "intel-750"\n[bus]\nchannels = 16')["bus.channels"]
    /// 16
    #[classmethod]
    fn from_toml(_: &Bound<'_, PyType>, text: &str) -> PyResult<Self> {
        let document = Document::parse(text).map_err(wrong_data)?;
        let config = document.config().clone();
        let of_file = |provenance| Arc::new(Calibrated { provenance, config: config.clone() });
        let calibrated = document.provenance().cloned().map(of_file);
        Ok(Self { calibrated, ..Self::of(config.check().map_err(wrong_data)?) })
    }

    /// The drive with other values of some parameters.
    ///
    /// >>> import ssdtune as st
    /// >>> st.Device("z-ssd").replace(**{"gc.threshold": 0.1})["gc.threshold"]
    /// 0.1
    #[pyo3(signature = (**overrides))]
    fn replace(&self, overrides: Option<&Bound<'_, PyDict>>) -> PyResult<Self> {
        let config = changed(&self.config, &pairs(overrides)?)?;
        Ok(Self { config, ..self.clone() })
    }

    /// The drives of a sweep: every combination of the values of some parameters. The first one
    /// varies slowest. Each drive says in ``settings`` where it stands in the sweep.
    ///
    /// >>> import ssdtune as st
    /// >>> axes = {"bus.channels": [4, 8], "gc.policy": "greedy,fifo"}
    /// >>> drives = st.Device("z-ssd").sweep(**axes)
    /// >>> drives[1].settings
    /// {'bus.channels': '4', 'gc.policy': 'fifo'}
    #[pyo3(signature = (**axes))]
    fn sweep(&self, axes: Option<&Bound<'_, PyDict>>) -> PyResult<Vec<Self>> {
        let mut texts: Vec<(String, String)> = Vec::new();
        for (key, values) in axes.into_iter().flatten() {
            let values = match values.extract::<String>() {
                Ok(values) => values,
                Err(_) => {
                    let each = values.try_iter()?.map(|value| text(&value?));
                    each.collect::<PyResult<Vec<_>>>()?.join(",")
                }
            };
            texts.push((key.extract()?, values));
        }
        let axes = texts.iter().map(|(key, values)| (key.as_str(), values.as_str()));
        let points = grid(&self.config, axes, CELLS_MAX).map_err(wrong)?;
        let drive = |point: ssdtune_experiment::GridPoint| Self {
            config: point.device,
            settings: point.settings,
            ..self.clone()
        };
        Ok(points.into_iter().map(drive).collect())
    }

    /// The name of the drive.
    #[getter]
    fn name(&self) -> &str {
        &self.config.name
    }

    /// What reading the file has left out or assumed, a sentence each.
    #[getter]
    fn notes(&self) -> Vec<String> {
        self.notes.clone()
    }

    /// What a sweep has set, as texts by the names of the parameters.
    #[getter]
    fn settings<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let settings = PyDict::new(py);
        self.settings.iter().try_for_each(|(key, value)| settings.set_item(key, value))?;
        Ok(settings)
    }

    /// 64 hexadecimal digits that tell drives apart. Their names are not part of it.
    #[getter]
    fn digest(&self) -> String {
        configuration_digest(&self.config).to_string()
    }

    /// The drive as the text of a TOML file, in which every parameter is stated.
    fn to_toml(&self) -> String {
        document::write(&self.config)
    }

    /// The names of all parameters.
    fn keys(&self) -> Vec<&'static str> {
        catalogue::parameters().map(|row| row.key).collect()
    }

    fn __getitem__<'py>(&self, py: Python<'py>, key: &str) -> PyResult<Bound<'py, PyAny>> {
        let Some(row) = catalogue::find(key) else {
            let near = catalogue::nearest(key).map(|near| format!("; did you mean {near}?"));
            let text = format!("{key}: no such parameter{}", near.unwrap_or_default());
            return Err(PyKeyError::new_err(text));
        };
        python(py, row.get(&self.config))
    }

    fn __contains__(&self, key: &str) -> bool {
        catalogue::find(key).is_some()
    }

    fn __eq__(&self, other: &Self) -> bool {
        self.config == other.config
    }

    fn __hash__(&self) -> u64 {
        let mut hasher = DefaultHasher::new();
        (&self.config.name, document::canonical(&self.config)).hash(&mut hasher);
        hasher.finish()
    }

    fn __repr__(&self) -> String {
        let digest = self.digest();
        format!("<ssdtune.Device {}, digest {}>", self.config.name, &digest[..12])
    }

    fn __reduce__<'py>(slf: &Bound<'py, Self>) -> PyResult<(Bound<'py, PyAny>, State)> {
        let own = slf.get();
        let calibrated = own.calibrated.as_ref().map(|real| {
            format!("{}\n{}", document::write(&real.config), real.provenance.to_toml())
        });
        let state = (own.to_toml(), calibrated, own.settings.clone(), own.notes.clone());
        Ok((slf.get_type().getattr("_restore")?, state))
    }

    #[classmethod]
    fn _restore(
        class: &Bound<'_, PyType>,
        toml: &str,
        calibrated: Option<&str>,
        settings: Vec<(String, String)>,
        notes: Vec<String>,
    ) -> PyResult<Self> {
        let calibrated = calibrated.map(|text| Self::from_toml(class, text)).transpose()?;
        let calibrated = calibrated.and_then(|file| file.calibrated);
        Ok(Self { calibrated, settings, notes, ..Self::from_toml(class, toml)? })
    }
}

/// What a pickled drive consists of.
type State = (String, Option<String>, Vec<(String, String)>, Vec<String>);

/// The names of the presets.
///
/// >>> import ssdtune as st
/// >>> "intel-750" in st.presets()
/// True
#[pyfunction]
pub(crate) fn presets() -> Vec<&'static str> {
    ssdtune_model::presets::names().collect()
}
