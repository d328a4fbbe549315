//! What every subcommand is given: the global flags, settled, and the two output streams.
//!
//! Results go to standard output (text, or one JSON document with `--json`), everything about the
//! run to standard error, so that a pipe carries only results. Nothing prints with `println!`,
//! which panics when the reader has gone.

use crate::global::{Color, Global};
use crate::outcome::Outcome;
use anstream::{AutoStream, ColorChoice};
use serde::Serialize;
use std::cell::RefCell;
use std::fmt::Display;
use std::io::{BufWriter, Stdout, Write};

/// The global flags and the output streams of one run.
pub(crate) struct Context {
    json: bool,
    threads: Option<usize>,
    seed: Option<u64>,
    level: Level,
    out: RefCell<BufWriter<AutoStream<Stdout>>>,
}

/// How much to say on standard error.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Level {
    /// Failures only.
    Quiet,
    /// Warnings and progress.
    Normal,
    /// `-v`: also what was decided on the way.
    Verbose,
    /// `-vv`: also where the time went.
    Debug,
}

impl Context {
    /// Settles the flags; the choice of colour holds for standard error too.
    pub(crate) fn new(global: &Global) -> Self {
        let choice = match global.color {
            Color::Auto => ColorChoice::Auto,
            Color::Always => ColorChoice::Always,
            Color::Never => ColorChoice::Never,
        };
        choice.write_global();
        let level = match (global.quiet, global.verbose) {
            (true, _) => Level::Quiet,
            (false, 0) => Level::Normal,
            (false, 1) => Level::Verbose,
            (false, _) => Level::Debug,
        };
        Self {
            json: global.json,
            threads: global.threads.map(std::num::NonZeroUsize::get),
            seed: global.seed,
            level,
            out: RefCell::new(BufWriter::new(AutoStream::new(std::io::stdout(), choice))),
        }
    }

    /// Whether results are wanted as JSON.
    pub(crate) const fn json(&self) -> bool {
        self.json
    }

    /// How many threads to work with.
    pub(crate) fn threads(&self) -> usize {
        let all = || std::thread::available_parallelism().map_or(1, usize::from);
        self.threads.unwrap_or_else(all)
    }

    /// The seed given on the command line.
    pub(crate) const fn seed(&self) -> Option<u64> {
        self.seed
    }

    /// How much to say on standard error.
    pub(crate) const fn level(&self) -> Level {
        self.level
    }

    /// Prints a line of the result.
    pub(crate) fn line(&self, text: impl Display) -> Outcome {
        Ok(writeln!(self.out.borrow_mut(), "{text}")?)
    }

    /// Prints the result as it is, bytes included.
    pub(crate) fn raw(&self, bytes: &[u8]) -> Outcome {
        Ok(self.out.borrow_mut().write_all(bytes)?)
    }

    /// Prints the whole result as one JSON document.
    pub(crate) fn document(&self, value: &impl Serialize) -> Outcome {
        let mut out = self.out.borrow_mut();
        serde_json::to_writer_pretty(&mut *out, value)?;
        Ok(writeln!(out)?)
    }

    /// Says something about the run on standard error.
    pub(crate) fn note(&self, text: impl Display) {
        if self.level > Level::Quiet {
            anstream::eprintln!("{text}");
        }
    }

    /// Warns on standard error.
    pub(crate) fn warn(&self, text: impl Display) {
        if self.level > Level::Quiet {
            let yellow = anstyle::AnsiColor::Yellow.on_default().bold();
            anstream::eprintln!("{yellow}warning:{yellow:#} {text}");
        }
    }

    /// Hands everything printed so far to the reader.
    pub(crate) fn flush(&self) -> Outcome {
        Ok(self.out.borrow_mut().flush()?)
    }
}
