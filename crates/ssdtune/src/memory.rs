//! What happens where memory ends: a sentence and exit code 1, wherever in the work it is, instead
//! of a signal.

use crate::failure_document::FailureDocument;
use crate::outcome::{Failure, tell_unwritten};
use crate::program;
use anyhow::anyhow;
use clap::{ArgMatches, Command};
use ssdtune_output::EndingAllocator;
use ssdtune_trace::memory_has_ended;
use std::cell::Cell;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, OnceLock};

/// Memory that is kept for the sentence.
const RESERVE_BYTES: usize = 1 << 20;

#[global_allocator]
static ALLOCATOR: EndingAllocator = EndingAllocator::new(end);
static RESERVE: Mutex<Vec<u8>> = Mutex::new(Vec::new());
static REMEDY: OnceLock<&str> = OnceLock::new();

/// Keeps memory for the sentence, and finds out what it will recommend for this subcommand.
pub(crate) fn prepare(command: &Command, matches: &ArgMatches) {
    if let Ok(mut reserve) = RESERVE.lock() {
        reserve.reserve_exact(RESERVE_BYTES);
    }
    let (mut command, mut matches) = (command, matches);
    while let Some((name, below)) = matches.subcommand() {
        (command, matches) = (command.find_subcommand(name).unwrap_or(command), below);
    }
    let has = |flag: &str| command.get_arguments().any(|arg| arg.get_long() == Some(flag));
    let _ = REMEDY.set(match () {
        () if has("requests") => "--requests N takes fewer",
        () if has("windows") && !has("trace") => "--windows N takes fewer",
        () => "`ssdtune trace convert --count N` makes a shorter trace",
    });
}

/// Ends the process where `bytes` more cannot be had. Returns, which aborts it, in a program that
/// is not the command, where ending takes more memory than there is, or if another thread does not
/// come to an end with it.
#[cold]
fn end(bytes: usize) {
    thread_local!(static IS_ENDING: Cell<bool> = const { Cell::new(false) });
    static ENDING: AtomicBool = AtomicBool::new(false);
    if !program::is_running() || IS_ENDING.replace(true) {
        return;
    }
    if ENDING.swap(true, Ordering::SeqCst) {
        return std::thread::sleep(std::time::Duration::from_secs(2));
    }
    if let Ok(mut reserve) = RESERVE.try_lock() {
        *reserve = Vec::new();
    }
    let remedy = REMEDY.get().unwrap_or(&"take fewer");
    let failure = Failure::Work(anyhow!(memory_has_ended(bytes as u64, remedy)));
    if program::asks_for_json() {
        // Whoever has gone does not read it.
        let _ = serde_json::to_writer_pretty(std::io::stdout(), &FailureDocument::of(&failure));
    }
    anstream::eprintln!("error: {}", failure.message());
    tell_unwritten(&ssdtune_output::remove_unfinished());
    std::process::exit(failure.code().into());
}
