//! Ctrl-C and termination signals (SIGINT, SIGTERM, and SIGHUP unless the process was started with
//! it ignored). They end the process at once, unless a command has results to keep.
//!
//! Such a command holds a [`Deferred`]. While it lives, the first signal only sets a flag, which
//! the command and the libraries poll; a second signal ends the process. A command that has not
//! ended by itself [`GRACE`] after the first signal is ended then, whatever is under way: reading a
//! long trace, filling a large drive, waiting for threads or for a slow disk. What is lost is the
//! unfinished: a report of the part simulated so far, an evaluation, a training. What is finished
//! was kept before: AutoDB and files of lines (labels, profiles, grids) lose at most their last,
//! incomplete record, which the next run makes again.

use crate::outcome::{self, Failure};
use std::sync::Once;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;
use std::time::Duration;

/// Time to keep results after the first signal. Flags are polled every few milliseconds; giving
/// back the memory of a large drive may take as long again, and then a second is over.
const GRACE: Duration = Duration::from_millis(500);

/// Set by the first signal, for all to poll while somebody holds a [`Deferred`].
pub(crate) static INTERRUPTED: AtomicBool = AtomicBool::new(false);
static LISTENERS: AtomicUsize = AtomicUsize::new(0);

/// Handles the signals from now on.
pub(crate) fn install() {
    static INSTALLED: Once = Once::new();
    INSTALLED.call_once(handle);
}

fn handle() {
    let handler = || {
        let again = INTERRUPTED.swap(true, Ordering::SeqCst);
        if again || LISTENERS.load(Ordering::SeqCst) == 0 {
            end();
        }
        let watch = || {
            thread::sleep(GRACE);
            end();
        };
        // A process that may have no more threads can hardly keep results.
        if thread::Builder::new().spawn(watch).is_err() {
            end();
        }
    };
    let is_kept = hangup::ignore();
    if let Err(error) = ctrlc::set_handler(handler) {
        // The default action still ends the process, with another exit code and without saving.
        anstream::eprintln!("warning: Ctrl-C will end the run without saving: {error}");
    }
    if is_kept {
        hangup::ignore();
    }
}

/// SIGHUP, which a terminal sends that is closed. Who starts the process under `nohup` has it
/// ignored, and it stays ignored.
#[cfg(unix)]
mod hangup {
    use nix::sys::signal::{SigHandler, Signal, signal};

    /// Ignores it. Returns whether it was ignored before.
    pub(super) fn ignore() -> bool {
        // SAFETY: an ignored signal runs no code.
        let before = unsafe { signal(Signal::SIGHUP, SigHandler::SigIgn) };
        matches!(before, Ok(SigHandler::SigIgn))
    }
}

#[cfg(not(unix))]
mod hangup {
    pub(super) fn ignore() -> bool {
        false
    }
}

/// Ends the process. This drops nothing, so files that are not finished are removed by their names.
fn end() {
    outcome::tell_unwritten(&ssdtune_output::remove_unfinished());
    std::process::exit(Failure::Interrupted.code().into());
}

/// A promise to poll the flag. While one lives, the first signal does not end the process at once.
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
