//! Ctrl-C and termination signals. They end the process at once, unless a command has results to
//! keep.
//!
//! Such a command holds a [`Deferred`]. While it lives, the first signal only sets a flag, which
//! the command and the libraries poll; a second signal ends the process.

use crate::outcome::Failure;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

static INTERRUPTED: AtomicBool = AtomicBool::new(false);
static LISTENERS: AtomicUsize = AtomicUsize::new(0);

/// Handles the signals from now on.
pub(crate) fn install() {
    let handler = || {
        let again = INTERRUPTED.swap(true, Ordering::SeqCst);
        if again || LISTENERS.load(Ordering::SeqCst) == 0 {
            std::process::exit(Failure::Interrupted.code().into());
        }
    };
    if let Err(error) = ctrlc::set_handler(handler) {
        // The default action still ends the process, with another exit code and without saving.
        anstream::eprintln!("warning: Ctrl-C will end the run without saving: {error}");
    }
}

/// A promise to poll the flag. While one lives, the first signal does not end the process.
#[derive(Debug)]
pub(crate) struct Deferred(());

impl Deferred {
    /// Promises that the caller polls the flag from now on.
    pub(crate) fn new() -> Self {
        LISTENERS.fetch_add(1, Ordering::SeqCst);
        Self(())
    }

    /// The flag that a signal sets.
    pub(crate) fn flag(&self) -> &'static AtomicBool {
        &INTERRUPTED
    }
}

impl Drop for Deferred {
    fn drop(&mut self) {
        LISTENERS.fetch_sub(1, Ordering::SeqCst);
    }
}
