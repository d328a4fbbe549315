//! Long work, without Python's lock and with Ctrl-C.

use crate::failure::failed;
use pyo3::prelude::*;
use rayon::{ThreadPool, ThreadPoolBuilder};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::Duration;

/// Time between two looks at signals. Python tells of a signal only when it is asked.
const LOOK: Duration = Duration::from_millis(20);

/// Does work in a pool of threads of its own, while this thread looks for signals and calls `tick`.
/// If one of these fails, the work is asked to stop and the result is dropped.
///
/// The pool is of its own because that of the process would not survive a fork, by which Python's
/// process pools begin.
pub(crate) fn watched<T: Send>(
    py: Python<'_>,
    threads: usize,
    tick: impl FnMut(Python<'_>) -> PyResult<()>,
    work: impl FnOnce(&AtomicBool) -> T + Send,
) -> PyResult<T> {
    stoppable(py, threads, &AtomicBool::new(false), tick, work)
}

/// As [`watched`], with a flag of the caller's that asks the work to stop.
pub(crate) fn stoppable<T: Send>(
    py: Python<'_>,
    threads: usize,
    stop: &AtomicBool,
    mut tick: impl FnMut(Python<'_>) -> PyResult<()>,
    work: impl FnOnce(&AtomicBool) -> T + Send,
) -> PyResult<T> {
    let pool = pool(threads)?;
    let (done, mut ended) = channel();
    std::thread::scope(|scope| {
        let pool = &pool;
        let worker = scope.spawn(move || {
            let result = pool.install(|| work(stop));
            // Whoever has gone does not wait.
            let _ = done.send(());
            result
        });
        let mut failure = None;
        loop {
            let ended = &mut ended;
            if py.detach(move || ended.recv_timeout(LOOK)) != Err(RecvTimeoutError::Timeout) {
                break;
            }
            if failure.is_none() {
                failure = py.check_signals().and_then(|()| tick(py)).err();
                stop.store(failure.is_some(), Ordering::Relaxed);
            }
        }
        let result = py.detach(move || worker.join());
        let result = result.unwrap_or_else(|panic| std::panic::resume_unwind(panic));
        failure.map_or(Ok(result), Err)
    })
}

/// A pool of threads.
pub(crate) fn pool(threads: usize) -> PyResult<ThreadPool> {
    ThreadPoolBuilder::new().num_threads(threads).build().map_err(failed)
}

/// As many threads as are asked for; by default one for each processor.
pub(crate) fn threads(asked: Option<usize>) -> usize {
    let processors = std::thread::available_parallelism().map_or(1, usize::from);
    asked.unwrap_or(processors).max(1)
}
