//! What a used drive puts off beyond the end of a run is charged to the run.
//!
//! A run of some thousand requests can end before a drive has to collect what they invalidated, and
//! while what they wrote is still in its data cache. A larger cache or a lower threshold would then
//! look like speed. So the drive settles after the run ([`ssdtune_sim::Simulator::settle`]), and
//! the work that this takes counts:
//!
//! - in the closed loop, as time in which the mean die had to work longer;
//! - in the open loop, dies could have done it while they had nothing else to do. A request would
//!   then have met it as often as it kept its die busy, and have waited for half a program each
//!   time. Work beyond the dies' idle time would have made the run longer, and by Little's law each
//!   request in the drive as well, by the same factor. Of a percentile, the slowest requests count:
//!   if as many meet a program as are slower than the percentile, it grows by a whole program, and
//!   by that share of one if fewer do.

use crate::grade::LatencyFigure;
use crate::measurement::RunFacts;
use ssdtune_model::{DeviceConfig, Nanos};
use ssdtune_sim::Work;

/// The throughput if the drive had done all its work within the run of `seconds`.
pub(super) fn throughput(bps: f64, seconds: f64, work: Work) -> f64 {
    bps * seconds / (seconds + work.left.as_secs_f64())
}

/// The latency if the drive had done all its work within the run of `seconds`; a page is programmed
/// in `program_ns`.
pub(super) fn latency_ns(
    (figure, latency_ns): (LatencyFigure, f64),
    seconds: f64,
    work: Work,
    program_ns: f64,
) -> f64 {
    let (done, left) = (work.done.as_secs_f64(), work.left.as_secs_f64());
    if left == 0.0 {
        return latency_ns;
    }
    let met = (left / seconds).min(1.0);
    let longer = ((done + left) / seconds).max(1.0);
    let waits = figure.beyond().map_or(met / 2.0, |beyond| (met / beyond).min(1.0));
    (latency_ns + waits * program_ns) * longer
}

/// A response time of an open-loop run of a drive, charged as the latency that is graded; `None`
/// where it was not counted.
pub(crate) fn charged_ns(
    figure: LatencyFigure,
    run: &RunFacts,
    config: &DeviceConfig,
) -> Option<f64> {
    let nanos = |seconds: f64| Nanos((seconds * 1e9).round() as u64);
    let work = Work { done: nanos(run.busy.dies * run.seconds), left: nanos(run.left_seconds) };
    Some(latency_ns((figure, figure.of(run)?), run.seconds, work, program_ns(config)))
}

/// The time that a drive takes to program a page, in the mean over its page types.
pub(super) fn program_ns(config: &DeviceConfig) -> f64 {
    config.flash.technology.mean_ns(&config.flash.program_latency)
}

#[cfg(test)]
mod tests {
    use super::*;

    const MEAN: (LatencyFigure, f64) = (LatencyFigure::Mean, 100.0);

    fn work(done: u64, left: u64) -> Work {
        Work { done: Nanos(done * 1_000_000_000), left: Nanos(left * 1_000_000_000) }
    }

    #[test]
    fn the_closed_loop_takes_as_much_longer_as_dies_have_left() {
        assert_eq!(throughput(8.0, 1.0, work(1, 3)), 2.0);
        assert_eq!(throughput(8.0, 1.0, work(1, 0)), 8.0);
    }

    #[test]
    fn idle_dies_do_it_in_the_open_loop() {
        // Two seconds of eight: each fourth request waits for half of 400 ns.
        assert_eq!(latency_ns(MEAN, 8.0, work(6, 2), 400.0), 150.0);
        assert_eq!(latency_ns(MEAN, 8.0, work(8, 0), 400.0), 100.0);
    }

    #[test]
    fn what_exceeds_their_idle_time_makes_the_run_longer() {
        assert_eq!(latency_ns(MEAN, 8.0, work(8, 8), 400.0), 600.0);
    }

    #[test]
    fn the_slowest_requests_wait_for_a_whole_program() {
        let tail = |figure, left| latency_ns((figure, 100.0), 1000.0, work(1, left), 400.0);
        // One second in a thousand: a tenth of the requests beyond p99, all of those beyond p99.9.
        assert_eq!(tail(LatencyFigure::P99, 1), 140.0);
        assert_eq!(tail(LatencyFigure::P999, 1), 500.0);
        assert_eq!(tail(LatencyFigure::P99, 500), 500.0);
    }
}
