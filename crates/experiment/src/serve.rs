//! Serving streams of requests on a prepared drive, with somebody watching.

use ssdtune_model::Nanos;
use ssdtune_sim::{Completion, Look, Outcome, Report, Simulator, Stream};
use std::error::Error;
use std::sync::atomic::{AtomicBool, Ordering};

/// How serving ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Served {
    /// Every request was completed.
    Completed,
    /// The one who watched has seen enough.
    GivenUp,
    /// The stop flag was set.
    Interrupted,
    /// Host writes wait for free blocks that no collection can make.
    OutOfSpace {
        /// Requests that were never completed.
        unserved: u64,
    },
}

/// Serves streams to their ends on a drive.
///
/// `watch` sees the drive every few thousand events, at the end of every `interval` of simulated
/// time (if one is given) and once more when all is over, each time with the completions since the
/// last time (none unless the drive was told to keep them). Serving ends early when it answers
/// `false` or `stop` is set.
pub fn serve(
    drive: &mut Simulator,
    streams: Vec<Stream<'_>>,
    interval: Option<Nanos>,
    stop: &AtomicBool,
    mut watch: impl FnMut(&mut Simulator, &[Completion], Look) -> bool,
) -> Served {
    let mut look = |drive: &mut Simulator, look: Look| {
        let completions = drive.take_completions();
        watch(drive, &completions, look) && !stop.load(Ordering::Relaxed)
    };
    let outcome = match interval {
        Some(interval) => drive.run_in_intervals(streams, interval, &mut look),
        None => drive.run(streams, |drive| look(drive, Look::Between)),
    };
    look(drive, Look::Between);
    match outcome {
        Outcome::Completed => Served::Completed,
        Outcome::Interrupted if stop.load(Ordering::Relaxed) => Served::Interrupted,
        Outcome::Interrupted => Served::GivenUp,
        Outcome::OutOfSpace { unserved, .. } => Served::OutOfSpace { unserved },
    }
}

/// What an observer may fail with.
pub type ObserverError = Box<dyn Error + Send + Sync>;

/// Somebody who follows a run: records it, adds something to it, or changes the drive between two
/// events.
pub trait Observer {
    /// Whether the simulator is to keep completions for it. They cost 56 bytes each until the next
    /// look.
    fn wants_completions(&self) -> bool {
        false
    }

    /// Called once, before the first request.
    ///
    /// # Errors
    /// The observer cannot follow this drive; the run does not begin.
    fn begin(&mut self, _drive: &mut Simulator) -> Result<(), ObserverError> {
        Ok(())
    }

    /// The simulated time between two looks at exact times, if it needs any; asked after
    /// [`Observer::begin`]. The first observer that names one decides for all.
    fn interval(&self) -> Option<Nanos> {
        None
    }

    /// Called every few thousand events, at the end of every interval, and when all is over, with
    /// the completions since the last call.
    ///
    /// # Errors
    /// The run cannot go on.
    fn look(
        &mut self,
        drive: &mut Simulator,
        completions: &[Completion],
        look: Look,
    ) -> Result<(), ObserverError>;

    /// Called once after the last look of a run that did not fail, interrupted ones included.
    ///
    /// # Errors
    /// What was observed cannot be kept.
    fn end(&mut self, _drive: &Simulator, _report: &Report) -> Result<(), ObserverError> {
        Ok(())
    }
}

/// Keeps every completion of a run: 56 bytes each.
#[derive(Clone, Debug, Default)]
pub struct KeepCompletions(pub Vec<Completion>);

impl Observer for KeepCompletions {
    fn wants_completions(&self) -> bool {
        true
    }

    fn look(
        &mut self,
        _: &mut Simulator,
        completions: &[Completion],
        _: Look,
    ) -> Result<(), ObserverError> {
        self.0.extend_from_slice(completions);
        Ok(())
    }
}
