//! The extension module `ssdtune._ssdtune`: drives, traces and simulations for Python.
//!
//! What is computed is in the libraries that the command uses too. Here are the types that Python
//! sees, and what goes between the two languages: texts and numbers in, arrays and documents out,
//! errors as exceptions. The part in Python (`python/ssdtune`) holds what needs no Rust: signatures
//! with their defaults, tables of NumPy arrays, work handed to executors.
//!
//! Whatever may take long works without Python's lock (the GIL) on threads of its own, and can be
//! interrupted.

mod blackbox;
mod columns;
mod command;
mod command_line;
mod device;
mod evaluator;
mod failure;
mod objective;
mod parse;
mod points;
mod search;
mod simulate;
mod trace;
mod tuning;
mod watch;
mod workload;

use pyo3::prelude::*;

/// The part of ssdtune that is written in Rust. Use the package `ssdtune`.
#[pymodule]
mod _ssdtune {
    #[pymodule_export]
    use crate::blackbox::RawModel;
    #[pymodule_export]
    use crate::columns::Column;
    #[pymodule_export]
    use crate::command::run_command;
    #[pymodule_export]
    use crate::command_line::command_line;
    #[pymodule_export]
    use crate::device::Device;
    #[pymodule_export]
    use crate::device::presets;
    #[pymodule_export]
    use crate::evaluator::{Flag, measure};
    #[pymodule_export]
    use crate::objective::{RawObjective, run_grade};
    #[pymodule_export]
    use crate::points::Points;
    #[pymodule_export]
    use crate::search::{RawRecommendation, run_search, write_files};
    #[pymodule_export]
    use crate::simulate::{RawResult, document, run_cells, table};
    #[pymodule_export]
    use crate::trace::Trace;
    #[pymodule_export]
    use crate::workload::{Workload, workloads};
    use pyo3::prelude::*;

    #[pymodule_init]
    fn init(module: &Bound<'_, PyModule>) -> PyResult<()> {
        module.add("__version__", env!("CARGO_PKG_VERSION"))
    }
}
