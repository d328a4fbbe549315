//! Searches: a job, who measures for it, and its recommendation as documents.

use crate::evaluator::{ByPython, How, Shared, how};
use crate::failure::{failed, raised};
use crate::tuning::{SearchFlags, TuneFlags, pretty};
use crate::watch::{stoppable, threads};
use pyo3::prelude::*;
use pyo3::types::PyDict;
use ssdtune::failure::{of_beginning, of_memory, of_tuning};
use ssdtune_tune::evaluate::Evaluator;
use ssdtune_tune::recommend::{self, Recommendation};
use ssdtune_tune::search::{self, Begun, KnownTrial, PriorKnowledge, Proposer, Settings};
use ssdtune_tune::{DefaultSpace, Stage, TuneError, TuningJob};
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Mutex;
use std::time::Instant;

/// Who measures, if not the simulator in this process.
#[derive(FromPyObject)]
pub(crate) enum Measuring {
    /// A command line, as `--evaluator` has it.
    Program(String),
    /// A function of Python and its identity.
    Own(Py<PyAny>, String),
    /// A function of Python that makes, from the words for how to measure, a function that hands
    /// the measuring to others.
    Elsewhere((Py<PyAny>,)),
}

/// A job with the one who measures for it.
pub(crate) fn job(
    py: Python<'_>,
    flags: &TuneFlags<'_>,
    default: DefaultSpace,
    measuring: Option<Measuring>,
    workers: usize,
    shared: &Shared,
) -> PyResult<TuningJob> {
    let (evaluator, elsewhere): (Option<Box<dyn Evaluator>>, _) = match measuring {
        None => (None, None),
        Some(Measuring::Program(command)) => (Some(flags.program(&command)?), None),
        Some(Measuring::Own(function, identity)) => {
            (Some(Box::new(ByPython::own(function, identity, shared))), None)
        }
        Some(Measuring::Elsewhere((make,))) => (None, Some(make)),
    };
    let mut job = flags.job(default, evaluator)?;
    if job.task.is_sampled() {
        let draw = |stop: &_| job.draw_windows(stop);
        // What the baseline takes for every window is measured here.
        let here = if elsewhere.is_some() { threads(None) } else { workers };
        let drawn = stoppable(py, here, &shared.stop, |_| Ok(()), draw)?;
        drawn.map_err(|error| tuning_error(error, shared))?;
    }
    let Some(make) = elsewhere else { return Ok(job) };
    let words: How = how(&*job.evaluator);
    let function = make.call1(py, (words,))?;
    let evaluator = Box::new(ByPython::simulator(function, job.evaluator, shared));
    Ok(TuningJob { evaluator, ..job })
}

/// The exception of work that has ended: that of Python, if one was the reason.
pub(crate) fn tuning_error(error: TuneError, shared: &Shared) -> PyErr {
    let own = shared.raised.lock().ok().and_then(|mut raised| raised.take());
    own.unwrap_or_else(|| raised(of_tuning(error)))
}

/// Proposes by a function of Python, which is given all trials as JSON and the number of points
/// that are wanted, and returns points as JSON.
struct ProposerOfPython<'a> {
    function: Py<PyAny>,
    shared: &'a Shared,
}

impl Proposer for ProposerOfPython<'_> {
    fn propose(
        &mut self,
        known: &[KnownTrial<'_>],
        count: usize,
    ) -> Result<Vec<BTreeMap<String, String>>, TuneError> {
        let propose = |py: Python<'_>| {
            let known = serde_json::to_string(known).map_err(failed)?;
            let points: String = self.function.call1(py, (known, count))?.extract(py)?;
            serde_json::from_str(&points).map_err(failed)
        };
        Python::attach(propose).map_err(|error| {
            let said = error.to_string();
            self.shared.raise(error);
            TuneError::Proposal(said)
        })
    }
}

/// How far a search is: evaluations spent and allowed, the number that it makes greater, and all of
/// it in words.
type Told = (f64, f64, Option<f64>, String);

/// What a search has found, as documents.
#[pyclass(module = "ssdtune._ssdtune", frozen)]
pub(crate) struct RawRecommendation {
    /// The document of ``ssdtune search --json``.
    #[pyo3(get)]
    json: String,
    /// What the command prints.
    #[pyo3(get)]
    text: String,
    /// What is noted beside the result, a sentence each.
    #[pyo3(get)]
    notes: Vec<String>,
    /// The texts of the files of ``--out`` by their names.
    #[pyo3(get)]
    files: BTreeMap<String, String>,
}

/// Searches as `ssdtune search` does. `tick` is told how far the search is.
#[pyfunction]
pub(crate) fn run_search(
    py: Python<'_>,
    flags: TuneFlags<'_>,
    own: SearchFlags,
    measuring: Option<Measuring>,
    workers: Option<usize>,
    tick: Option<Bound<'_, PyAny>>,
    proposing: Option<Py<PyAny>>,
) -> PyResult<RawRecommendation> {
    let (settings, pick) = (own.settings(&flags, proposing.is_some())?, own.pick()?);
    let default = DefaultSpace::of_search(&settings.aims);
    let (shared, workers) = (Shared::default(), threads(workers));
    let job = job(py, &flags, default, measuring, workers, &shared)?;
    // What an algorithm of Python would do again is not known, so its search is not kept.
    let begun = if proposing.is_some() { None } else { begun(&job, &settings, &own)? };
    let (beginning, prior) = match begun {
        Some(Begun { beginning, prior, .. }) => (Some(beginning), prior),
        None => (None, PriorKnowledge::default()),
    };
    let told: Mutex<Option<Told>> = Mutex::default();
    let tell = |_: Python<'_>| {
        let latest = told.lock().ok().and_then(|mut told| told.take());
        let Some((tick, latest)) = tick.as_ref().zip(latest) else { return Ok(()) };
        tick.call1(latest).map(drop)
    };
    let start = Instant::now();
    let found = stoppable(py, workers, &shared.stop, tell, |stop| {
        let evaluator = job.evaluator(stop, &|_| {});
        let mut note = |stage: Stage<'_>| {
            let now = match stage {
                Stage::Trial(at, _) => (at.spent, at.budget, at.reached(), at.to_string()),
                Stage::After(what, most, _) => {
                    let text = format!("{what}: at most {most} evaluations, apart from the budget");
                    (settings.budget, settings.budget, None, text)
                }
            };
            if let Ok(mut told) = told.lock() {
                *told = Some(now);
            }
        };
        let Some(function) = proposing else {
            return job.recommend(&prior, &settings, pick, &evaluator, &mut note);
        };
        let mut proposer = ProposerOfPython { function, shared: &shared };
        job.recommend_proposed(&mut proposer, &settings, pick, &evaluator, &mut note)
    })?;
    let mut result = found.map_err(|error| tuning_error(error, &shared))?;
    result.effort.seconds = start.elapsed().as_secs_f64();
    if let (Some(db), Some(beginning)) = (&job.db, &beginning) {
        result.store(db, beginning).map_err(|error| raised(of_memory(error)))?;
    }
    raw(&result)
}

/// Writes texts into files of a directory, each as a whole.
#[pyfunction]
pub(crate) fn write_files(directory: PathBuf, files: BTreeMap<String, String>) -> PyResult<()> {
    ssdtune_output::write_into(&directory, files).map_err(failed)
}

fn begun(job: &TuningJob, settings: &Settings, own: &SearchFlags) -> PyResult<Option<Begun>> {
    let Some(db) = &job.db else { return Ok(None) };
    let identity = job.evaluator.identity();
    let begun = search::begin(db, &job.task, settings, &identity, own.begin());
    begun.map(Some).map_err(|error| raised(of_beginning(error)))
}

fn raw(result: &Recommendation) -> PyResult<RawRecommendation> {
    let files = result.files().map_err(failed)?;
    let files = files.into_iter().filter_map(|(name, text)| Some((name, text?))).collect();
    let text = recommend::text(result).to_string();
    let (json, notes) = (pretty(result)?, result.notes.clone());
    Ok(RawRecommendation { json, text, notes, files })
}

/// What an optimiser needs to know of the axes of a space: key, whether values have an order, unit,
/// values, and the baseline's value.
pub(crate) fn axes<'py>(py: Python<'py>, job: &TuningJob) -> PyResult<Vec<Bound<'py, PyAny>>> {
    let axes = search::AxisDescription::of_task(&job.task);
    let text = serde_json::to_string(&axes).map_err(failed)?;
    py.import("json")?.call_method("loads", (text,), None::<&Bound<'_, PyDict>>)?.extract()
}
