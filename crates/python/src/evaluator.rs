//! Measuring by way of Python: evaluators that users write, and drives measured elsewhere.

use crate::device::Device;
use crate::failure::{failed, wrong, wrong_data};
use crate::parse::{parsed, preparation};
use crate::points::{DrawnWindows, Points};
use crate::trace::Trace;
use crate::watch::watched;
use pyo3::exceptions::PyKeyboardInterrupt;
use pyo3::prelude::*;
use ssdtune_experiment::Preparation;
use ssdtune_tune::evaluate::{
    EvaluationError, Evaluator, ExternalError, GradedBy, InProcess, Job, Measurement,
};
use ssdtune_tune::memory::Digest;
use ssdtune_tune::workload::Windows;
use ssdtune_tune::{Figures, Trace as TuneTrace};
use std::collections::BTreeMap;
use std::ops::Deref;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};

/// A flag that asks work to stop.
#[pyclass(module = "ssdtune._ssdtune", frozen)]
pub(crate) struct Flag(Stop);

#[pymethods]
impl Flag {
    /// Whether the work is to stop.
    fn is_set(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}

/// Asks everything to stop.
#[derive(Clone)]
pub(crate) enum Stop {
    /// One piece of work of this process.
    Own(Arc<AtomicBool>),
    /// All of the command, by a signal.
    Program(&'static AtomicBool),
}

impl Default for Stop {
    fn default() -> Self {
        Self::Own(Arc::default())
    }
}

impl Deref for Stop {
    type Target = AtomicBool;

    fn deref(&self) -> &AtomicBool {
        match self {
            Self::Own(flag) => flag,
            Self::Program(flag) => flag,
        }
    }
}

/// What a function of Python says of a drive on a trace.
#[derive(FromPyObject)]
enum Answer {
    /// A measurement as JSON, from [`measure`].
    Document(String),
    /// Latency in nanoseconds and throughput in bytes per second.
    Figures(f64, f64),
}

/// Measures by a function of Python, which is given a drive, a trace, the depth of the closed loop
/// and a [`Flag`].
pub(crate) struct ByPython {
    function: Py<PyAny>,
    /// Who says what is measured. The function works for it where it is the simulator in this
    /// process.
    says: Says,
    stop: Stop,
    /// Traces that Python has been given, by the digest of the whole and their length.
    traces: Mutex<BTreeMap<(Digest, usize), Py<Trace>>>,
    /// Windows of long traces that Python has been given, by the digest of what was kept of the
    /// trace.
    points: Mutex<BTreeMap<Digest, Py<Points>>>,
    raised: Arc<Mutex<Option<PyErr>>>,
}

enum Says {
    Own { identity: String },
    Simulator(Box<dyn Evaluator>),
}

/// What is needed besides the function.
#[derive(Clone, Default)]
pub(crate) struct Shared {
    pub(crate) stop: Stop,
    /// The exception of Python that ended the work.
    pub(crate) raised: Arc<Mutex<Option<PyErr>>>,
}

impl Shared {
    /// Keeps an exception, if it is the first.
    pub(crate) fn raise(&self, error: PyErr) {
        locked(&self.raised).get_or_insert(error);
    }
}

impl ByPython {
    /// An evaluator that a user has written.
    pub(crate) fn own(function: Py<PyAny>, identity: String, shared: &Shared) -> Self {
        Self::new(function, Says::Own { identity }, shared)
    }

    /// The simulator, somewhere else.
    pub(crate) fn simulator(function: Py<PyAny>, own: Box<dyn Evaluator>, shared: &Shared) -> Self {
        Self::new(function, Says::Simulator(own), shared)
    }

    fn new(function: Py<PyAny>, says: Says, shared: &Shared) -> Self {
        let Shared { stop, raised } = shared.clone();
        let (traces, points) = (Mutex::default(), Mutex::default());
        Self { function, says, stop, traces, points, raised }
    }

    fn trace(&self, py: Python<'_>, trace: &TuneTrace) -> PyResult<Py<Trace>> {
        let key = (trace.digest(), trace.requests().len());
        let mut traces = locked(&self.traces);
        if let Some(known) = traces.get(&key) {
            return Ok(known.clone_ref(py));
        }
        let made = Py::new(py, Trace::of(trace.name.clone(), trace.requests().to_vec()))?;
        traces.insert(key, made.clone_ref(py));
        Ok(made)
    }

    fn points(&self, py: Python<'_>, windows: &Windows) -> PyResult<Py<Points>> {
        let key = windows.points_digest();
        let mut points = locked(&self.points);
        if let Some(known) = points.get(&key) {
            return Ok(known.clone_ref(py));
        }
        let made = Py::new(py, Points::of(windows))?;
        points.insert(key, made.clone_ref(py));
        Ok(made)
    }

    /// Asks the function: of an evaluator that a user has written on a trace, of the simulator on a
    /// trace or on windows of it, which are named then.
    fn ask(&self, py: Python<'_>, job: &Job<'_>) -> PyResult<Answer> {
        let device = Device::of(job.config.clone());
        let flag = Flag(self.stop.clone());
        let windows = job.trace.windows().filter(|_| matches!(self.says, Says::Simulator(_)));
        let answer = if let Some(windows) = windows {
            let each = windows.drawn().iter().map(|drawn| (drawn.window, drawn.chance));
            let drawn: DrawnWindows = each.collect();
            self.function.call1(py, (device, self.points(py, windows)?, job.depth, flag, drawn))
        } else {
            self.function.call1(py, (device, self.trace(py, job.trace)?, job.depth, flag))
        };
        answer?.extract(py)
    }

    fn failure(&self, py: Python<'_>, error: PyErr) -> EvaluationError {
        let is_unfit = |error: &PyErr| {
            let class = py.import("ssdtune._errors")?.getattr("Unfit")?;
            PyResult::Ok(error.is_instance(py, &class))
        };
        if is_unfit(&error).unwrap_or(false) {
            return EvaluationError::Unfit(error.value(py).to_string());
        }
        if error.is_instance_of::<PyKeyboardInterrupt>(py) {
            return EvaluationError::Interrupted;
        }
        let said = error.to_string();
        locked(&self.raised).get_or_insert(error);
        EvaluationError::Broken(ExternalError::Other(said))
    }
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(|held| held.into_inner())
}

impl Evaluator for ByPython {
    fn identity(&self) -> String {
        match &self.says {
            Says::Own { identity } => format!("python: {identity}"),
            Says::Simulator(own) => own.identity(),
        }
    }

    fn preparation(&self) -> Preparation {
        match &self.says {
            Says::Own { .. } => Preparation::default(),
            Says::Simulator(own) => own.preparation(),
        }
    }

    fn graded_by(&self) -> GradedBy {
        match &self.says {
            Says::Own { .. } => GradedBy::default(),
            Says::Simulator(own) => own.graded_by(),
        }
    }

    fn measure(&self, job: &Job, _: &AtomicBool) -> Result<Measurement, EvaluationError> {
        let broken = |error: serde_json::Error| ExternalError::Other(error.to_string()).into();
        Python::attach(|py| match self.ask(py, job) {
            Ok(Answer::Document(text)) => serde_json::from_str(&text).map_err(broken),
            Ok(Answer::Figures(latency_ns, throughput_bps)) => {
                let legal = |figure: f64| figure.is_finite() && figure > 0.0;
                if !legal(latency_ns) || !legal(throughput_bps) {
                    let text = format!(
                        "latency {latency_ns} ns, throughput {throughput_bps} B/s: both must be \
                         above 0"
                    );
                    return Err(EvaluationError::Unfit(text));
                }
                Ok(Measurement::of(Figures { latency_ns, throughput_bps }))
            }
            Err(error) => Err(self.failure(py, error)),
        })
    }
}

/// How the simulator measures: the words for what drives hold and have been through, and what is
/// graded.
pub(crate) type How = (String, Vec<String>, u32, String, bool);

/// The words for how an evaluator measures, by which [`measure`] does the same.
pub(crate) fn how(evaluator: &dyn Evaluator) -> How {
    let words = evaluator.preparation().in_words();
    let GradedBy { latency, both_rules } = evaluator.graded_by();
    (words.start, words.age, words.erases, latency.to_string(), both_rules)
}

/// What a drive is measured on: a trace, or what was kept of one.
#[derive(FromPyObject)]
pub(crate) enum MeasuredOn<'py> {
    Trace(PyRef<'py, Trace>),
    Points(PyRef<'py, Points>),
}

/// Measures a drive as a search does, on a trace or on windows of one: what a worker of an executor
/// is asked. Returns the measurement as JSON, or raises ``Unfit``.
#[pyfunction]
pub(crate) fn measure(
    py: Python<'_>,
    device: PyRef<'_, Device>,
    on: MeasuredOn<'_>,
    depth: u32,
    how: How,
    drawn: DrawnWindows,
) -> PyResult<String> {
    let (start, age, erases, latency, both_rules) = how;
    let evaluator =
        InProcess::new(preparation(Some(&start), &age, Some(erases))?).map_err(wrong)?;
    let latency = parsed("grade_latency", &latency)?;
    let evaluator = evaluator.graded_by(GradedBy { latency, both_rules });
    let trace = match on {
        MeasuredOn::Trace(trace) => TuneTrace::new(trace.name.clone(), trace.requests.to_vec()),
        MeasuredOn::Points(points) => points.drawn(&drawn)?,
    };
    let config = device.config.clone();
    let measured = watched(
        py,
        1,
        |_| Ok(()),
        |stop| evaluator.measure(&Job { config: &config, trace: &trace, depth }, stop),
    )?;
    match measured {
        Ok(measured) => serde_json::to_string(&measured).map_err(failed),
        Err(EvaluationError::Unfit(reason)) => Err(unfit(py, reason)),
        Err(EvaluationError::Interrupted) => Err(PyKeyboardInterrupt::new_err(())),
        Err(EvaluationError::Broken(error)) => Err(wrong_data(error)),
    }
}

/// The exception for a drive that cannot serve a workload.
fn unfit(py: Python<'_>, reason: String) -> PyErr {
    let made = || py.import("ssdtune._errors")?.getattr("Unfit")?.call1((reason,));
    made().map_or_else(|error| error, PyErr::from_value)
}
