//! Firmware time added to simulated latencies (`simulate --ftl-time`).
//!
//! The simulator's FTL takes no time. For each group of about 1,000 completed requests a model of
//! firmware time is told what the drive did meanwhile (requests, pages, collection) and gives the
//! group's time, which is shared among its requests. It is added afterwards: queues do not grow by
//! it. Collection counts for the group in which its commands ended.

use hdrhistogram::Histogram;
use serde::Serialize;
use ssdtune_experiment::{Observer, ObserverError};
use ssdtune_predict::firmware::drive::Counts;
use ssdtune_predict::firmware::fit::FirmwareModel;
use ssdtune_predict::firmware::workloads::GROUP_REQUESTS;
use ssdtune_sim::{Completion, FlashCommands, Look, Report, Simulator};
use ssdtune_trace::Op;

/// Firmware and flash of one run.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct FirmwareReport {
    /// Whose time it is; stand-ins for a board are named as such.
    pub(crate) target: String,
    /// Groups predicted.
    pub(crate) groups: u64,
    /// Firmware time of all requests.
    pub(crate) seconds: f64,
    /// Of one request.
    pub(crate) mean_ns: f64,
    /// Time that a die worked on average: flash time, with all dies side by side.
    pub(crate) flash_seconds: f64,
    /// Firmware's part of both.
    pub(crate) share: Option<f64>,
    /// Device latencies of reads and writes with their part of it; `null` without any.
    pub(crate) device_latency_ns: Option<Latency>,
}

/// Latencies with firmware time; percentiles within 0.1 %.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Latency {
    pub(crate) mean: f64,
    pub(crate) p50: u64,
    pub(crate) p99: u64,
    pub(crate) p999: u64,
    pub(crate) max: u64,
}

/// Longer latencies, of more than three days, count as this.
const LATENCY_MAX_NS: u64 = 1 << 48;

/// The firmware time of one run, as it comes.
pub(crate) struct FirmwareTime<'a> {
    model: &'a FirmwareModel,
    page_sectors: u64,
    waiting: Vec<Completion>,
    before: FlashCommands,
    groups: u64,
    ns: f64,
    requests: u64,
    latency_sum_ns: f64,
    latencies: Histogram<u64>,
    report: Option<FirmwareReport>,
}

impl<'a> FirmwareTime<'a> {
    /// The firmware time of a run that has not begun.
    pub(crate) fn new(model: &'a FirmwareModel) -> Result<Self, hdrhistogram::CreationError> {
        Ok(Self {
            model,
            page_sectors: 1,
            waiting: Vec::new(),
            before: FlashCommands::default(),
            groups: 0,
            ns: 0.0,
            requests: 0,
            latency_sum_ns: 0.0,
            latencies: Histogram::new_with_bounds(1, LATENCY_MAX_NS, 3)?,
            report: None,
        })
    }

    /// What it came to, once the run has ended.
    pub(crate) fn into_report(self) -> Option<FirmwareReport> {
        self.report
    }

    fn close(&mut self, drive: &Simulator) {
        let flash = drive.flash();
        let mut counts = Counts {
            requests: self.waiting.len() as u64,
            victims: flash.blocks_erased - self.before.blocks_erased,
            pages_moved: flash.pages_programmed_moved - self.before.pages_programmed_moved,
            ..Counts::default()
        };
        for one in &self.waiting {
            let first = one.lba.0 / self.page_sectors;
            let end = (one.lba.0 + u64::from(one.sectors)).div_ceil(self.page_sectors);
            match one.op {
                Op::Read => counts.pages_read += end - first,
                Op::Write => counts.pages_written += end - first,
                Op::Trim => counts.pages_trimmed += end - first,
                Op::Flush => {}
            }
        }
        let ns = self.model.of_counts(&counts);
        let each = ns / self.waiting.len() as f64;
        for one in self.waiting.drain(..).filter(|one| matches!(one.op, Op::Read | Op::Write)) {
            let latency = (one.completed - one.enqueued).0 as f64 + each;
            self.latency_sum_ns += latency;
            self.latencies.saturating_record(latency.round() as u64);
        }
        self.groups += 1;
        self.ns += ns;
        self.requests += counts.requests;
        self.before = flash;
    }

    fn report(&self, report: &Report) -> FirmwareReport {
        let seconds = self.ns / 1e9;
        let flash_seconds = report.utilisation.dies.mean * report.time.seconds;
        let count = self.latencies.len();
        let at = |share: f64| self.latencies.value_at_quantile(share);
        FirmwareReport {
            target: self.model.provenance.target_label(),
            groups: self.groups,
            seconds,
            mean_ns: self.ns / self.requests.max(1) as f64,
            flash_seconds,
            share: (seconds + flash_seconds > 0.0).then(|| seconds / (seconds + flash_seconds)),
            device_latency_ns: (count > 0).then(|| Latency {
                mean: self.latency_sum_ns / count as f64,
                p50: at(0.5),
                p99: at(0.99),
                p999: at(0.999),
                max: self.latencies.max(),
            }),
        }
    }
}

impl Observer for FirmwareTime<'_> {
    fn wants_completions(&self) -> bool {
        true
    }

    fn begin(&mut self, drive: &mut Simulator) -> Result<(), ObserverError> {
        self.page_sectors = u64::from(drive.config().geometry().sectors_per_page());
        self.before = drive.flash();
        Ok(())
    }

    fn look(
        &mut self,
        drive: &mut Simulator,
        completions: &[Completion],
        _: Look,
    ) -> Result<(), ObserverError> {
        self.waiting.extend_from_slice(completions);
        if self.waiting.len() >= GROUP_REQUESTS {
            self.close(drive);
        }
        Ok(())
    }

    fn end(&mut self, drive: &Simulator, report: &Report) -> Result<(), ObserverError> {
        if !self.waiting.is_empty() {
            self.close(drive);
        }
        self.report = Some(self.report(report));
        Ok(())
    }
}
