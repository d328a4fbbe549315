//! The program as it was started, and what results say about the program that made them.

use crate::outcome::Failure;
use ssdtune_tune::evaluate::Evaluator;
use std::ffi::OsString;
use std::fmt;
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, OnceLock};

/// How a process becomes this command.
#[derive(Clone, Debug)]
pub struct Invocation {
    /// The words of the command line, the name of the program first.
    pub words: Vec<OsString>,
    /// How this command is started from elsewhere: a program, and the arguments that stand before
    /// those of the command. Empty: by the program of this process.
    pub child: Vec<String>,
    /// Who opens the engine that `--engine` names; `None` where nobody can.
    pub engines: Option<Arc<dyn Engines>>,
}

/// Opens engines: what measures drives in other processes, on this machine or on others.
pub trait Engines: fmt::Debug + Send + Sync {
    /// Opens the engine of this name, at an address if it needs one. Once `stop` is set, nobody
    /// waits for it any more.
    ///
    /// # Errors
    /// There is no such engine, or it does not answer.
    fn open(
        &self,
        name: &str,
        address: Option<&str>,
        stop: &'static AtomicBool,
    ) -> Result<Engine, Failure>;
}

/// An open engine.
pub struct Engine {
    /// How many measurements it works on at once.
    pub workers: usize,
    /// Makes an evaluator that has the engine measure what another would measure here.
    pub handing: Box<Handing>,
}

type Handing = dyn FnOnce(Box<dyn Evaluator>) -> Result<Box<dyn Evaluator>, Failure>;

static INVOCATION: OnceLock<Invocation> = OnceLock::new();

/// Takes the command line, which holds for the whole process.
pub(crate) fn begin(invocation: Invocation) -> &'static Invocation {
    INVOCATION.get_or_init(|| invocation)
}

/// Whether the process is this command, and not another program that uses the crate.
pub(crate) fn is_running() -> bool {
    INVOCATION.get().is_some()
}

/// Whether a failure is to be told in JSON, where the command line cannot be read.
pub(crate) fn asks_for_json() -> bool {
    words().iter().any(|word| word == "--json")
}

/// Who opens engines, if anybody can.
pub(crate) fn engines() -> Option<&'static dyn Engines> {
    INVOCATION.get()?.engines.as_deref()
}

/// How children of this program are started.
pub(crate) fn child() -> Vec<String> {
    INVOCATION.get().map(|own| own.child.clone()).unwrap_or_default()
}

fn words() -> &'static [OsString] {
    INVOCATION.get().map_or(&[], |own| &own.words)
}

/// The program and the version of its simulator's results.
pub(crate) fn simulator() -> String {
    let (name, version) = (env!("CARGO_PKG_NAME"), env!("CARGO_PKG_VERSION"));
    format!("{name} {version}, results {}", ssdtune_tune::memory::RESULTS_EPOCH)
}

/// The command line as it was given, without the path of the program.
pub(crate) fn command_line() -> String {
    let arguments = words().iter().skip(1);
    let words: Vec<String> = arguments.map(|word| word.to_string_lossy().into_owned()).collect();
    format!("ssdtune {}", words.join(" "))
}
