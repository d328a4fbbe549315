//! `python -m ssdtune`: the command itself, and engines for it that Python opens.

use crate::evaluator::{ByPython, Shared, Stop, how};
use crate::failure::told;
use pyo3::prelude::*;
use ssdtune::failure::Failure;
use ssdtune::{Engine, Engines, Invocation};
use ssdtune_tune::evaluate::Evaluator;
use std::ffi::OsString;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

/// Runs the command with these words, of which the first is the name of the program, and returns
/// its exit code. `child` is how Python starts the command: a program and its first arguments.
/// `open` opens an engine by its name and its address, and returns what `search` has as
/// `measuring`, and the number of workers.
#[pyfunction]
pub(crate) fn run_command(
    py: Python<'_>,
    words: Vec<OsString>,
    child: Vec<String>,
    open: Py<PyAny>,
) -> u8 {
    let engines: Option<Arc<dyn Engines>> = Some(Arc::new(Opener(open)));
    py.detach(|| ssdtune::run(Invocation { words, child, engines }))
}

/// Opens engines by a function of Python.
#[derive(Debug)]
struct Opener(Py<PyAny>);

/// An engine: a function that makes, from the words for how to measure, a function that measures.
struct Opened {
    make: Py<PyAny>,
    workers: usize,
    shared: Shared,
}

impl Engines for Opener {
    fn open(
        &self,
        name: &str,
        address: Option<&str>,
        stop: &'static AtomicBool,
    ) -> Result<Box<dyn Engine>, Failure> {
        let opened = Python::attach(|py| {
            let opened = self.0.call1(py, (name, address)).and_then(|own| own.extract(py));
            opened.map_err(|error| told(py, &error))
        });
        let (make, workers) = opened?;
        let shared = Shared { stop: Stop::Program(stop), ..Shared::default() };
        Ok(Box::new(Opened { make, workers, shared }))
    }
}

impl Engine for Opened {
    fn workers(&self) -> usize {
        self.workers
    }

    fn evaluator(&self, own: Box<dyn Evaluator>) -> Result<Box<dyn Evaluator>, Failure> {
        let words = how(&*own);
        let function =
            Python::attach(|py| self.make.call1(py, (words,)).map_err(|error| told(py, &error)))?;
        Ok(Box::new(ByPython::simulator(function, own, &self.shared)))
    }
}
