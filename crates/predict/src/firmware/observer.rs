//! Firmware time added to the latencies of a simulation, by an observer of the run.
//!
//! The simulator's FTL takes no time. For each group of about 1,000 completed requests a model of
//! firmware time is told what the drive did meanwhile (requests, pages, collection) and predicts
//! the time of the group, which is divided evenly among its requests. The time is added afterwards:
//! queues do not grow by it. Collection counts for the group in which its commands ended.
//!
//! Cost: about 50 ns for each request.

use super::drive::WorkCounts;
use super::fit::FirmwareModel;
use super::workloads::GROUP_REQUESTS;
use hdrhistogram::Histogram;
use serde::Serialize;
use ssdtune_experiment::{Observer, ObserverError};
use ssdtune_sim::{Completion, FlashCommands, Look, Report, Simulator};
use ssdtune_trace::Op;

/// The time of firmware and flash in one run.
#[derive(Clone, Debug, Serialize)]
pub struct FirmwareReport {
    /// Whose time it is, in words; stand-ins for a board are named as such.
    pub target: String,
    /// How many groups of requests the model predicted.
    pub groups: u64,
    /// Firmware time of all requests, in seconds.
    pub seconds: f64,
    /// Firmware time of one request in the mean, in nanoseconds.
    pub mean_ns: f64,
    /// Flash time in seconds: how long a die worked in the mean, with all dies in parallel.
    pub flash_seconds: f64,
    /// The share of firmware in firmware and flash time, 0 to 1; `None` if both are 0.
    pub share: Option<f64>,
    /// Device latencies of reads and writes with firmware time added; `None` if there were none.
    pub device_latency_ns: Option<LatencyWithFirmware>,
}

impl FirmwareReport {
    /// Lines for people: the time of a request and its share, then latencies with it.
    pub fn lines(&self) -> Vec<String> {
        let us = |ns: f64| format!("{:.1}", ns / 1e3);
        let mut lines = vec![format!(
            "firmware        {} us a request, {} of firmware and flash time ({})",
            us(self.mean_ns),
            self.share.map_or("-".to_owned(), |share| format!("{:.1} %", share * 100.0)),
            self.target
        )];
        lines.extend(self.device_latency_ns.as_ref().map(|latency| {
            format!(
                "  with it       mean {} us, p50 {}, p99 {}, p99.9 {}, max {}",
                us(latency.mean),
                us(latency.p50 as f64),
                us(latency.p99 as f64),
                us(latency.p999 as f64),
                us(latency.max as f64)
            )
        }));
        lines
    }
}

/// Device latencies with firmware time added, in nanoseconds. Percentiles are within 0.1 %.
#[derive(Clone, Debug, Serialize)]
pub struct LatencyWithFirmware {
    /// Mean.
    pub mean: f64,
    /// Median.
    pub p50: u64,
    /// 99th percentile.
    pub p99: u64,
    /// 99.9th percentile.
    pub p999: u64,
    /// The longest latency.
    pub max: u64,
}

/// The longest latency that is told apart, in nanoseconds: more than three days.
const LATENCY_MAX_NS: u64 = 1 << 48;

/// Adds firmware time to the latencies of a run.
pub struct FirmwareObserver<'a> {
    model: &'a FirmwareModel,
    page_sectors: u64,
    /// Completed requests of the group that is not full yet.
    waiting: Vec<Completion>,
    /// Flash commands until the end of the last group.
    before: FlashCommands,
    groups: u64,
    /// Firmware time so far, in nanoseconds.
    ns: f64,
    requests: u64,
    latency_sum_ns: f64,
    latencies: Histogram<u64>,
    report: Option<FirmwareReport>,
}

impl<'a> FirmwareObserver<'a> {
    /// An observer of a run that has not begun.
    pub fn new(model: &'a FirmwareModel) -> Self {
        Self {
            model,
            page_sectors: 1,
            waiting: Vec::new(),
            before: FlashCommands::default(),
            groups: 0,
            ns: 0.0,
            requests: 0,
            latency_sum_ns: 0.0,
            latencies: Histogram::new_with_bounds(1, LATENCY_MAX_NS, 3).expect("legal bounds"),
            report: None,
        }
    }

    /// The report; `None` if the run has not ended.
    pub fn into_report(self) -> Option<FirmwareReport> {
        self.report
    }

    /// Ends a group: predicts its time and adds it to the latencies of its requests.
    fn close(&mut self, drive: &Simulator) {
        let flash = drive.flash();
        let mut counts = WorkCounts {
            requests: self.waiting.len() as u64,
            victims: flash.blocks_erased - self.before.blocks_erased,
            pages_moved: flash.pages_programmed_moved - self.before.pages_programmed_moved,
            ..WorkCounts::default()
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
            device_latency_ns: (count > 0).then(|| LatencyWithFirmware {
                mean: self.latency_sum_ns / count as f64,
                p50: at(0.5),
                p99: at(0.99),
                p999: at(0.999),
                max: self.latencies.max(),
            }),
        }
    }
}

impl Observer for FirmwareObserver<'_> {
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

#[cfg(test)]
mod tests {
    use super::super::profile::tests::source;
    use super::*;
    use serde_json::json;
    use ssdtune_experiment::{Experiment, RequestSource, RunOptions};
    use ssdtune_model::{DeviceConfig, Nanos, Sectors};
    use ssdtune_sim::Replay;
    use ssdtune_trace::{Request, TenantId};
    use std::sync::atomic::AtomicBool;

    /// A model that gives every request 1 us and every page written 2 us.
    fn model() -> FirmwareModel {
        let (source, inputs) = (source(), ["requests", "pages_written"]);
        let linear = json!({ "linear": { "intercept": 0.0, "coefficients": [1e3, 2e3] } });
        let predictor = json!({ "inputs": inputs, "form": linear });
        let errors = json!({
            "average_percent": 0.0, "average_percent_max": 0.0, "p99_percent": 0.0,
            "p99_percent_max": 0.0, "group_percent": 0.0, "off_seconds": 0.0,
            "off_group_seconds": 0.0, "seconds": 0.0, "workloads": [],
        });
        let provenance = json!({
            "host": source, "target": source, "groups": 1, "statistic": "median", "program": "",
        });
        let model = json!({
            "firmware_time_model": 1, "provenance": provenance, "learner": "costs",
            "profiled": predictor, "counts": predictor,
            "profiled_errors": errors, "counts_errors": errors,
        });
        serde_json::from_value(model).unwrap()
    }

    #[test]
    fn every_request_gets_its_part_of_the_firmwares_time() {
        let mut config = DeviceConfig::default();
        (config.flash.blocks_per_plane, config.flash.pages_per_block) = (64, 32);
        let config = config.check().unwrap();
        // Writes of one page each.
        let sectors = config.geometry().sectors_per_page();
        let request = |n: u64| Request {
            at: Nanos(50_000 * n),
            lba: Sectors(n * u64::from(sectors)),
            sectors,
            tenant: TenantId(0),
            op: Op::Write,
        };
        let writes: Vec<Request> = (0..2_500).map(request).collect();
        let source = RequestSource::of_requests("writes", writes);
        let (model, stop) = (model(), AtomicBool::new(false));
        let mut observer = FirmwareObserver::new(&model);
        let options = RunOptions { stop: &stop, progress: &|_, _| {}, exact_percentiles: false };
        let experiment = Experiment::new(&config, source, Replay::Open);
        let report = experiment.run(&options, &mut [&mut observer]).unwrap();
        let firmware = observer.into_report().unwrap();
        assert!((firmware.mean_ns - 3e3).abs() < 1e-9, "{}", firmware.mean_ns);
        assert!((firmware.seconds - 7.5e-3).abs() < 1e-12, "{}", firmware.seconds);
        assert!(firmware.groups >= 1 && firmware.target == "measured on a machine");
        let with = firmware.device_latency_ns.unwrap().mean;
        let without = report.total.write.device_latency_ns.unwrap().mean;
        assert!((with - without - 3e3).abs() < 1e-3, "{with} with, {without} without");
    }
}
