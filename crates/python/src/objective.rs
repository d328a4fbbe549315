//! Grades: of drives, and of points that an optimiser of Python proposes.
//!
//! An objective borrows its job, so it lives on a thread of its own, which Python asks.

use crate::device::Device;
use crate::evaluator::Shared;
use crate::failure::{failed, raised, wrong_text};
use crate::search::{Measuring, axes, job, tuning_error};
use crate::tuning::{TuneFlags, pretty};
use crate::watch::{pool, stoppable, threads};
use pyo3::prelude::*;
use ssdtune::failure::Failure;
use ssdtune_model::Calibrated;
use ssdtune_tune::search::{GradeAnswer, Objective};
use ssdtune_tune::workload::outside_tested_range;
use ssdtune_tune::{DefaultSpace, TuneError, TuningJob};
use std::sync::atomic::Ordering;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// Time between two looks at signals while an objective works.
const LOOK: Duration = Duration::from_millis(20);

/// Grades drives as `ssdtune grade` does: the document, and the text. The names are how the drives
/// were given.
#[pyfunction]
pub(crate) fn run_grade(
    py: Python<'_>,
    flags: TuneFlags<'_>,
    drives: Vec<(String, PyRef<'_, Device>)>,
    held_out: bool,
    measuring: Option<Measuring>,
    workers: Option<usize>,
) -> PyResult<(String, String)> {
    let (shared, workers) = (Shared::default(), threads(workers));
    let mut job = job(py, &flags, DefaultSpace::Market, measuring, workers, &shared)?;
    if held_out {
        job = job.on_held_out().ok_or_else(|| {
            let text = "held_out: a target file needs 200 requests, and others must be models";
            wrong_text(text.to_owned())
        })?;
    }
    let names: Vec<String> = drives.iter().map(|(name, _)| name.clone()).collect();
    let configs: Vec<_> = drives.iter().map(|(_, drive)| drive.config.clone()).collect();
    let real: Vec<Option<Arc<Calibrated>>> =
        drives.iter().map(|(_, drive)| drive.calibrated.clone()).collect();
    drop(drives);
    let answers = stoppable(
        py,
        workers,
        &shared.stop,
        |_| Ok(()),
        |stop| {
            let evaluator = job.evaluator(stop, &|_| {});
            Objective::new(&job.task, &evaluator)?.answer_drives(&names, &configs)
        },
    )?;
    let mut answers = answers.map_err(|error| tuning_error(error, &shared))?;
    let (target, others) = (&job.task.target, &job.task.others);
    for ((answer, config), real) in answers.iter_mut().zip(&configs).zip(real) {
        answer.outside_tested_range =
            real.map(|real| outside_tested_range(&real, config, target, others));
    }
    Ok((pretty(&answers)?, GradeAnswer::text(&answers, &job.task).to_string()))
}

/// A question to an objective: a point as JSON, and whether it may be moved into the limits.
type Question = (String, bool, Sender<Result<(String, Option<String>), TuneError>>);

/// An objective, on its thread.
#[pyclass(module = "ssdtune._ssdtune", frozen)]
pub(crate) struct RawObjective {
    questions: Mutex<Option<Sender<Question>>>,
    shared: Shared,
    axes: Py<PyAny>,
}

#[pymethods]
impl RawObjective {
    /// Loads the job and measures the baseline.
    #[new]
    fn new(
        py: Python<'_>,
        flags: TuneFlags<'_>,
        measuring: Option<Measuring>,
        workers: Option<usize>,
    ) -> PyResult<Self> {
        let (shared, workers) = (Shared::default(), threads(workers));
        let job = job(py, &flags, DefaultSpace::Market, measuring, workers, &shared)?;
        let axes = axes(py, &job)?.into_pyobject(py)?.into_any().unbind();
        let pool = pool(workers)?;
        let (questions, asked) = channel::<Question>();
        let (ready, begun) = channel();
        let own = shared.clone();
        std::thread::spawn(move || pool.install(|| serve(&job, &own, asked, &ready)));
        let objective = Self { questions: Mutex::new(Some(questions)), shared, axes };
        objective.wait(py, begun)?;
        Ok(objective)
    }

    /// The axes of the space.
    #[getter]
    fn axes(&self, py: Python<'_>) -> Py<PyAny> {
        self.axes.clone_ref(py)
    }

    /// Ends the thread. Nothing can be asked afterwards.
    fn close(&self) {
        if let Ok(mut questions) = self.questions.lock() {
            *questions = None;
        }
    }

    /// The answer to a point, as JSON, and why it is no point.
    fn ask(
        &self,
        py: Python<'_>,
        point: String,
        repair: bool,
    ) -> PyResult<(String, Option<String>)> {
        let (sender, answer) = channel();
        let sent = match self.questions.lock().ok().as_deref() {
            Some(Some(questions)) => questions.send((point, repair, sender)).is_ok(),
            _ => false,
        };
        if !sent {
            return Err(failed(anyhow::anyhow!(
                "the objective is closed or was interrupted: make a new one"
            )));
        }
        self.wait(py, answer)
    }
}

impl RawObjective {
    /// Waits for an answer, with an eye on signals.
    fn wait<T: Send>(
        &self,
        py: Python<'_>,
        mut answer: Receiver<Result<T, TuneError>>,
    ) -> PyResult<T> {
        loop {
            let waiting = &mut answer;
            match py.detach(move || waiting.recv_timeout(LOOK)) {
                Ok(answer) => return answer.map_err(|error| tuning_error(error, &self.shared)),
                Err(RecvTimeoutError::Disconnected) => return Err(raised(Failure::Interrupted)),
                Err(RecvTimeoutError::Timeout) => {}
            }
            if let Err(error) = py.check_signals() {
                self.shared.stop.store(true, Ordering::Relaxed);
                return Err(error);
            }
        }
    }
}

/// Answers until nobody asks, or until the work is interrupted.
fn serve(
    job: &TuningJob,
    shared: &Shared,
    asked: Receiver<Question>,
    ready: &Sender<Result<(), TuneError>>,
) {
    let evaluator = job.evaluator(&shared.stop, &|_| {});
    let objective = match Objective::new(&job.task, &evaluator) {
        Ok(objective) => objective,
        Err(error) => return drop(ready.send(Err(error))),
    };
    // Whoever has gone asks nothing either.
    let _ = ready.send(Ok(()));
    for ((point, repair, answer), number) in asked.into_iter().zip(1..) {
        let told = objective
            .answer_line(number, &point, repair)
            .map(|(told, wrong)| (serde_json::to_string(&told).unwrap_or_default(), wrong));
        let _ = answer.send(told);
    }
}
