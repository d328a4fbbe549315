//! `python -m ssdtune`: the command itself.

use pyo3::prelude::*;
use ssdtune::Invocation;
use std::ffi::OsString;

/// Runs the command with these words, of which the first is the name of the program, and returns
/// its exit code. `child` is how Python starts the command: a program and its first arguments.
#[pyfunction]
pub(crate) fn run_command(py: Python<'_>, words: Vec<OsString>, child: Vec<String>) -> u8 {
    py.detach(|| ssdtune::run(Invocation { words, child }))
}
