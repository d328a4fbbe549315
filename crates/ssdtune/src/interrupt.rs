//! Ctrl-C (and a termination signal): at once where nothing would be lost, deferred where a command
//! asks.
//!
//! Work that has results to keep takes a [`Deferred`]: from then on the first signal sets a flag
//! that the work polls (libraries take it as a plain `&AtomicBool`), and a second one ends the
//! process anyway.

use crate::outcome::Failure;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

static INTERRUPTED: AtomicBool = AtomicBool::new(false);
static LISTENERS: AtomicUsize = AtomicUsize::new(0);

/// Takes the signals over for the rest of the process.
pub(crate) fn install() {
    let handler = || {
        let again = INTERRUPTED.swap(true, Ordering::SeqCst);
        if again || LISTENERS.load(Ordering::SeqCst) == 0 {
            std::process::exit(Failure::Interrupted.code().into());
        }
    };
    if let Err(error) = ctrlc::set_handler(handler) {
        // The default action still ends the process; only the exit code and the saving differ.
        anstream::eprintln!("warning: Ctrl-C will end the run without saving: {error}");
    }
}

/// A promise to poll: while one lives, the first signal does not end the process.
#[derive(Debug)]
pub(crate) struct Deferred(());

impl Deferred {
    /// From now on the caller polls.
    pub(crate) fn new() -> Self {
        LISTENERS.fetch_add(1, Ordering::SeqCst);
        Self(())
    }

    /// The flag that a signal sets, for libraries to poll.
    pub(crate) fn flag(&self) -> &'static AtomicBool {
        &INTERRUPTED
    }
}

impl Drop for Deferred {
    fn drop(&mut self) {
        LISTENERS.fetch_sub(1, Ordering::SeqCst);
    }
}
