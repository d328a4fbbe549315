//! The program `ssdtune`. What it does is in the library of this crate, so that `python -m ssdtune`
//! is the same command.

use ssdtune::Invocation;
use std::process::ExitCode;

fn main() -> ExitCode {
    let invocation = Invocation { words: std::env::args_os().collect(), child: Vec::new() };
    ExitCode::from(ssdtune::run(invocation))
}
