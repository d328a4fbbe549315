//! Errors as the exceptions of `ssdtune._errors`, told apart as the exit codes of the command do.

use pyo3::exceptions::PyKeyboardInterrupt;
use pyo3::prelude::*;
use ssdtune::failure::{Failure, places};

/// The exception of a failure.
pub(crate) fn raised(failure: Failure) -> PyErr {
    Python::attach(|py| exception(py, &failure).unwrap_or_else(|error| error))
}

/// The exception of an argument that is wrong.
pub(crate) fn wrong(error: impl Into<anyhow::Error>) -> PyErr {
    raised(Failure::usage(error))
}

/// The exception of an argument that a text says is wrong.
pub(crate) fn wrong_text(text: String) -> PyErr {
    wrong(anyhow::Error::msg(text))
}

/// The exception of a wrong file, or of wrong data.
pub(crate) fn wrong_data(error: impl Into<anyhow::Error>) -> PyErr {
    raised(Failure::input(error))
}

/// The exception of work that failed.
pub(crate) fn failed(error: impl Into<anyhow::Error>) -> PyErr {
    raised(Failure::Work(error.into()))
}

/// The failure that an exception is for the command.
pub(crate) fn told(py: Python<'_>, error: &PyErr) -> Failure {
    let said = anyhow::Error::msg(error.value(py).to_string());
    let class = error.get_type(py).name().map(|name| name.to_string()).unwrap_or_default();
    match class.as_str() {
        "UsageError" => Failure::Usage(said),
        "DataError" => Failure::Input(said),
        "KeyboardInterrupt" => Failure::Interrupted,
        _ => Failure::Work(said),
    }
}

fn exception(py: Python<'_>, failure: &Failure) -> PyResult<PyErr> {
    let class = match failure {
        Failure::Usage(_) => "UsageError",
        Failure::Input(_) => "DataError",
        Failure::Interrupted => return Ok(PyKeyboardInterrupt::new_err(())),
        Failure::Work(_) | Failure::Reported(_) | Failure::BrokenPipe => "WorkError",
    };
    let places = failure.error().map(places).unwrap_or_default();
    let faults: Vec<_> =
        places.into_iter().map(|place| (place.message, place.file, place.line)).collect();
    let class = py.import("ssdtune._errors")?.getattr(class)?;
    Ok(PyErr::from_value(class.call1((failure.message(), faults))?))
}
