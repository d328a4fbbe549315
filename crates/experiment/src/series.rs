//! What a drive does over time: a row for each interval of simulated time.

use crate::serve::{Observer, ObserverError};
use crate::tally::Tally;
use ssdtune_model::Nanos;
use ssdtune_sim::{Completion, FlashCommands, Look, Report, Simulator};
use ssdtune_trace::Op;

/// Columns of the time series. `in_flight` is at the end of the interval; everything else is of the
/// interval.
pub const SERIES_COLUMNS: &str = "start_ns,end_ns,reads,writes,read_bytes,write_bytes,iops,\
     bandwidth_bytes_per_s,device_latency_mean_ns,device_latency_p99_ns,device_latency_max_ns,\
     in_flight,pages_read,pages_programmed_host,pages_programmed_moved,pages_programmed_mapping,\
     blocks_erased,power_w";

/// An interval, in the order of [`SERIES_COLUMNS`].
#[derive(Clone, Debug, PartialEq)]
pub struct SeriesRow {
    /// When it began.
    pub start: Nanos,
    /// When it ended.
    pub end: Nanos,
    /// Reads completed.
    pub reads: u64,
    /// Writes completed.
    pub writes: u64,
    /// Bytes read.
    pub read_bytes: u64,
    /// Bytes written.
    pub write_bytes: u64,
    /// Reads and writes completed in a second.
    pub iops: f64,
    /// Bytes read and written in a second.
    pub bandwidth_bytes_per_s: f64,
    /// Mean time from the submission queue to the completion; `None` without requests.
    pub device_latency_mean_ns: Option<f64>,
    /// Its 99th percentile.
    pub device_latency_p99_ns: Option<u64>,
    /// The longest.
    pub device_latency_max_ns: Option<u64>,
    /// Requests in the drive at the end.
    pub in_flight: u64,
    /// Flash pages read, for whatever reason.
    pub pages_read: u64,
    /// Pages programmed for the host.
    pub pages_programmed_host: u64,
    /// Pages programmed by garbage collection and wear levelling.
    pub pages_programmed_moved: u64,
    /// Pages programmed with mapping entries.
    pub pages_programmed_mapping: u64,
    /// Blocks erased.
    pub blocks_erased: u64,
    /// Mean power; `None` before the first arrival, since nothing is consumed then.
    pub power_w: Option<f64>,
}

/// What the running interval has seen.
pub(crate) struct Intervals {
    start: Nanos,
    tally: Tally,
    /// The drive's own latencies of reads and writes, from the submission queue to the completion.
    device_latencies_ns: Vec<u64>,
    /// The drive's counts at the start of the interval.
    flash: FlashCommands,
    /// Energy in joule until the start of the interval, and the seconds over which that was
    /// consumed.
    energy: (f64, f64),
}

impl Intervals {
    pub(crate) fn new() -> Self {
        Self {
            start: Nanos::ZERO,
            tally: Tally::default(),
            device_latencies_ns: Vec::new(),
            flash: FlashCommands::default(),
            energy: (0.0, 0.0),
        }
    }

    pub(crate) fn add(&mut self, one: &Completion) {
        if matches!(one.op, Op::Read | Op::Write) {
            self.tally.add(one);
            self.device_latencies_ns.push((one.completed - one.enqueued).0);
        }
    }

    /// The interval that ends now; the next one begins.
    pub(crate) fn close(&mut self, drive: &Simulator, end: Nanos) -> SeriesRow {
        let seconds = (end - self.start).as_secs_f64();
        let latencies = &mut self.device_latencies_ns;
        let count = latencies.len();
        latencies.sort_unstable();
        let sum: u128 = latencies.iter().map(|&ns| u128::from(ns)).sum();
        let p99 = (count * 99).div_ceil(100).checked_sub(1);
        let (flash, before) = (drive.flash(), self.flash);
        let energy = drive.energy();
        let (joule, time) = (energy.total_j - self.energy.0, energy.seconds - self.energy.1);
        let sums = self.tally.total();
        let row = SeriesRow {
            start: self.start,
            end,
            reads: sums.read.requests,
            writes: sums.write.requests,
            read_bytes: sums.read.bytes,
            write_bytes: sums.write.bytes,
            iops: count as f64 / seconds,
            bandwidth_bytes_per_s: sums.all().bytes as f64 / seconds,
            device_latency_mean_ns: (count > 0).then(|| sum as f64 / count as f64),
            device_latency_p99_ns: p99.map(|place| latencies[place]),
            device_latency_max_ns: latencies.last().copied(),
            in_flight: drive.in_flight(),
            pages_read: flash.pages_read - before.pages_read,
            pages_programmed_host: flash.pages_programmed_host - before.pages_programmed_host,
            pages_programmed_moved: flash.pages_programmed_moved - before.pages_programmed_moved,
            pages_programmed_mapping: flash.pages_programmed_mapping
                - before.pages_programmed_mapping,
            blocks_erased: flash.blocks_erased - before.blocks_erased,
            power_w: (time > 0.0).then(|| joule / time),
        };
        latencies.clear();
        self.tally = Tally::default();
        (self.start, self.flash) = (end, flash);
        self.energy = (energy.total_j, energy.seconds);
        row
    }

    /// The interval at the end of a run, if it is not empty.
    pub(crate) fn last(&mut self, drive: &Simulator) -> Option<SeriesRow> {
        (drive.now() > self.start).then(|| self.close(drive, drive.now()))
    }
}

/// Keeps the time series of a run.
pub struct KeepSeries {
    length: Nanos,
    intervals: Intervals,
    /// The intervals that have ended.
    pub rows: Vec<SeriesRow>,
}

impl KeepSeries {
    /// A series of intervals of this simulated time.
    pub fn new(length: Nanos) -> Self {
        Self { length, intervals: Intervals::new(), rows: Vec::new() }
    }
}

impl Observer for KeepSeries {
    fn wants_completions(&self) -> bool {
        true
    }

    fn interval(&self) -> Option<Nanos> {
        Some(self.length)
    }

    fn look(
        &mut self,
        drive: &mut Simulator,
        completions: &[Completion],
        look: Look,
    ) -> Result<(), ObserverError> {
        completions.iter().for_each(|one| self.intervals.add(one));
        if let Look::IntervalEnd(end) = look {
            self.rows.push(self.intervals.close(drive, end));
        }
        Ok(())
    }

    fn end(&mut self, drive: &Simulator, _: &Report) -> Result<(), ObserverError> {
        self.rows.extend(self.intervals.last(drive));
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::recorder::{Recorder, RecorderOptions};
    use crate::{Experiment, RequestSource, RunOptions};
    use ssdtune_model::{Sectors, TenantId, presets};
    use ssdtune_sim::Replay;
    use ssdtune_trace::Request;
    use std::sync::atomic::AtomicBool;

    #[test]
    fn the_rows_that_are_kept_are_those_of_the_file() {
        let request = |n: u64| Request {
            at: Nanos(10_000 * n),
            lba: Sectors(8 * (n * 7_919 % 100_000)),
            sectors: 8,
            tenant: TenantId(0),
            op: if n.is_multiple_of(3) { Op::Write } else { Op::Read },
        };
        // The silence before the last request is of intervals in which nothing happens.
        let mut requests: Vec<Request> = (0..200).map(request).collect();
        requests[199].at = Nanos(9_500_000);
        let device = presets::load("samsung-850-pro").unwrap().check().unwrap();
        let source = RequestSource::of_requests("mixed", requests);
        let experiment = Experiment::new(&device, source, Replay::Open);
        let directory = tempfile::tempdir().unwrap();
        let (path, interval) = (directory.path().join("series.csv"), Nanos(1_000_000));
        let options = RecorderOptions { log: None, series: Some((path.clone(), interval)) };
        let mut recorder = Recorder::create(&options).unwrap();
        let mut kept = KeepSeries::new(interval);
        let stop = AtomicBool::new(false);
        let run = RunOptions { stop: &stop, progress: &|_, _| {}, exact_percentiles: false };
        experiment.run(&run, &mut [&mut recorder, &mut kept]).unwrap();

        let text = std::fs::read_to_string(path).unwrap();
        let lines: Vec<Vec<&str>> = text.lines().map(|line| line.split(',').collect()).collect();
        assert_eq!(lines[0].join(","), SERIES_COLUMNS);
        assert_eq!(lines.len(), kept.rows.len() + 1);
        assert!(kept.rows.iter().any(|row| row.device_latency_mean_ns.is_none()));
        for (line, row) in lines[1..].iter().zip(&kept.rows) {
            let whole = |column: usize| line[column].parse::<u64>().ok();
            assert_eq!((whole(0), whole(1)), (Some(row.start.0), Some(row.end.0)));
            assert_eq!((whole(2), whole(3)), (Some(row.reads), Some(row.writes)));
            assert_eq!(
                (whole(9), whole(10)),
                (row.device_latency_p99_ns, row.device_latency_max_ns)
            );
            assert_eq!((whole(12), whole(16)), (Some(row.pages_read), Some(row.blocks_erased)));
            assert_eq!(line[17].is_empty(), row.power_w.is_none());
        }
        assert_eq!(kept.rows.iter().map(|row| row.reads + row.writes).sum::<u64>(), 200);
    }
}
