//! Runs a case on a list of words. When it fails, looks for a shorter list that still fails.

use super::driver::{Case, Driver};
use std::cell::Cell;
use std::panic::{AssertUnwindSafe, catch_unwind, set_hook, take_hook};
use std::sync::Once;

thread_local! {
    static QUIET: Cell<bool> = const { Cell::new(false) };
    /// The place of the last panic, told by the hook.
    static LAST: Cell<Option<String>> = const { Cell::new(None) };
}

/// A run that ended well.
pub struct Run {
    /// What [`Driver::activity`] says at the end.
    pub activity: [u64; 4],
    /// What [`Driver::slc_activity`] says at the end.
    pub slc: [u64; 3],
}

/// A run that broke something: after how many words, and the message.
struct Failure {
    words: usize,
    message: String,
}

/// Keeps panics quiet while a shrinker runs.
fn hush() {
    static HOOK: Once = Once::new();
    HOOK.call_once(|| {
        let usual = take_hook();
        set_hook(Box::new(move |info| {
            if QUIET.get() {
                LAST.set(info.location().map(|at| format!("{at}")));
            } else {
                usual(info);
            }
        }));
    });
}

fn run(case: &Case, words: &[u64], check_every: usize) -> Result<Run, Failure> {
    let done = Cell::new(0);
    QUIET.set(true);
    let result = catch_unwind(AssertUnwindSafe(|| {
        let mut driver = Driver::new(case);
        for (index, &word) in words.iter().enumerate() {
            done.set(index + 1);
            driver.step(word);
            if index % check_every == 0 {
                driver.check();
            }
        }
        driver.drain();
        Run { activity: driver.activity(), slc: driver.slc_activity() }
    }));
    QUIET.set(false);
    result.map_err(|cause| {
        let text = cause.downcast_ref::<String>().map(String::as_str);
        let text = text.or_else(|| cause.downcast_ref::<&str>().copied()).unwrap_or("a panic");
        let at = LAST.take().unwrap_or_default();
        Failure { words: done.get(), message: format!("{at}: {text}") }
    })
}

/// Runs that a shrinker takes at most.
const RUNS_MAX: usize = 200;

/// Leaves out ever smaller parts of the list, as long as what is left still fails.
fn shrink(case: &Case, words: &[u64], first: Failure) -> (Vec<u64>, Failure) {
    let mut words = words[..first.words].to_vec();
    let mut failure = first;
    let mut part = words.len() / 2;
    let mut runs = 0;
    while part > 0 && runs < RUNS_MAX {
        let mut start = 0;
        while start < words.len() && runs < RUNS_MAX {
            let end = (start + part).min(words.len());
            let shorter: Vec<u64> = words[..start].iter().chain(&words[end..]).copied().collect();
            runs += 1;
            match run(case, &shorter, 20) {
                Err(again) => {
                    words = shorter[..again.words.min(shorter.len())].to_vec();
                    failure = again;
                }
                Ok(_) => start = end,
            }
        }
        part /= 2;
    }
    (words, failure)
}

/// Runs a case. A failure is shrunk and reported with what repeats it.
///
/// # Panics
/// The case fails.
pub fn run_or_explain(case: &Case, number: u64, words: &[u64], check_every: usize) -> Run {
    hush();
    match run(case, words, check_every) {
        Ok(run) => run,
        Err(failure) => {
            let (first, message) = (failure.words, failure.message.clone());
            let (words, shortest) = shrink(case, words, failure);
            panic!(
                "case {number} failed after {first} steps: {message}\n\
                 shrunk to {} steps: {}\nwords: {words:?}\ncase: {case:#?}\n\
                 run it alone with FTL_REFERENCE_CASE={number}",
                words.len(),
                shortest.message,
            );
        }
    }
}
