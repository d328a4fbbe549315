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

impl Engines for Opener {
    fn open(
        &self,
        name: &str,
        address: Option<&str>,
        stop: &'static AtomicBool,
    ) -> Result<Engine, Failure> {
        let opened: Result<(Py<PyAny>, usize), Failure> = Python::attach(|py| {
            let opened = self.0.call1(py, (name, address)).and_then(|own| own.extract(py));
            opened.map_err(|error| told(py, &error))
        });
        let (make, workers) = opened?;
        let shared = Shared { stop: Stop::Program(stop), ..Shared::default() };
        let handing = Box::new(move |own: Box<dyn Evaluator>| {
            let made = Python::attach(|py| {
                make.call1(py, (how(&*own),)).map_err(|error| told(py, &error))
            });
            let evaluator: Box<dyn Evaluator> = Box::new(ByPython::simulator(made?, own, &shared));
            Ok(evaluator)
        });
        Ok(Engine { workers, handing })
    }
}
