//! The program `ssdtune`. What it does is in the library of this crate, so that `python -m ssdtune`
//! is the same command.

use ssdtune::Invocation;
use std::process::ExitCode;

fn main() -> ExitCode {
    let words = std::env::args_os().collect();
    let invocation = Invocation { words, child: Vec::new(), engines: None };
    ExitCode::from(ssdtune::run(invocation))
}
