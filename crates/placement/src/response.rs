//! Response times of some requests, by the timed simulator: the drive is filled, ages by the first
//! half of the writes, and serves the requests of [`Load::timed`] at their own times. The drive as
//! it was before then serves them once more, [`SATURATING`] always under way: what it can do.
//!
//! Reads of pages that the load never writes are left out: a drive sized by the writes does not
//! hold them. The reference that knows the future is not timed, since the order of writes in time
//! is not the one it knows.

use crate::candidate::Candidate;
use crate::error::PlacementError;
use crate::load::{Load, WriteRequest};
use serde::Serialize;
use ssdtune_experiment::{
    Age, Blank, FallibleRequests, Preparation, Served, SourceError, Start, Upcoming, serve,
};
use ssdtune_model::{DeviceConfig, Nanos, Sectors};
use ssdtune_sim::{Observe, OpMetrics, Simulator, Stream, Tenant};
use ssdtune_trace::{Op, Request, TenantId};
use std::sync::atomic::{AtomicBool, Ordering};

/// So many requests are always under way where a drive is to be kept busy: a queue of NVMe drives
/// in the tests that makers publish.
const SATURATING: u32 = 32;

/// How long the timed requests took, from their arrival to their completion.
#[derive(Clone, Debug, Serialize)]
pub struct ResponseTimes {
    /// Requests completed.
    pub requests: u64,
    /// Mean of all, in nanoseconds.
    pub mean_ns: f64,
    /// Mean of the reads, in nanoseconds.
    pub read_mean_ns: Option<f64>,
    /// Mean of the writes, in nanoseconds.
    pub write_mean_ns: Option<f64>,
    /// Half of all took no longer, in nanoseconds.
    pub p50_ns: u64,
    /// 99 % took no longer, in nanoseconds.
    pub p99_ns: u64,
    /// 99.9 % took no longer, in nanoseconds.
    pub p999_ns: u64,
    /// Requests completed in a second, from the first arrival to the last completion.
    pub requests_per_s: f64,
    /// Requests completed in a second if 32 are always under way, whatever their own times.
    pub saturated_requests_per_s: f64,
    /// Energy of the drive in that time for each byte that the host read or wrote, in nanojoules.
    pub nanojoules_per_byte: f64,
    /// Bytes that the host can write like this until blocks reach their rated cycles, in units of
    /// 10^12.
    pub terabytes_written: Option<f64>,
    /// Pages programmed for each page that the timed requests wrote.
    pub write_amplification: f64,
}

/// Simulates the timed requests; `None` if stopped, or if no request was completed.
pub(crate) fn response_times(
    load: &Load,
    drive: &DeviceConfig,
    candidate: &Candidate,
    stop: &AtomicBool,
) -> Result<Option<ResponseTimes>, PlacementError> {
    let config = candidate.apply(drive, load).check()?;
    let tenants = [Tenant::sole(&config)];
    // Every page is written once, then the first half of the load.
    let preparation = Preparation {
        ages: vec![Age::Random { times: 0 }, Age::Trace { times: 1 }],
        ..Preparation::of(Start::sequential(1.0), 0)
    };
    let blank = Blank::new(&config, &tenants, Observe::default());
    let mut drive = blank.prepare(&preparation, &FirstHalf(load), stop)?;
    // A preparation that was cut short leaves another drive.
    if stop.load(Ordering::Relaxed) {
        return Ok(None);
    }
    let start = load.writes[load.half()].at_ns;
    let timed = || {
        load.timed.iter().map(|request| Request {
            at: request.at.saturating_sub(Nanos(start)),
            tenant: TenantId(0),
            ..*request
        })
    };
    let report = |drive: &mut Simulator, stream: Stream<'_>| {
        let served = serve(drive, vec![stream], None, stop, |_, _, _| true);
        (served == Served::Completed).then(|| drive.report())
    };
    let mut busy = drive.clone();
    let Some(report_busy) = report(&mut busy, Stream::closed(timed(), SATURATING)) else {
        return Ok(None);
    };
    let Some(report) = report(&mut drive, Stream::open(timed())) else { return Ok(None) };
    let mean = |metrics: &OpMetrics| metrics.total_latency_ns.as_ref().map(|l| l.mean);
    let all = &report.total.all;
    let Some(latency) = &all.total_latency_ns else { return Ok(None) };
    Ok(Some(ResponseTimes {
        requests: all.requests,
        mean_ns: latency.mean,
        read_mean_ns: mean(&report.total.read),
        write_mean_ns: mean(&report.total.write),
        p50_ns: latency.p50,
        p99_ns: latency.p99,
        p999_ns: latency.p999,
        requests_per_s: all.requests as f64 / report.time.seconds,
        saturated_requests_per_s: report_busy.total.all.requests as f64 / report_busy.time.seconds,
        nanojoules_per_byte: 1e9 * report.energy.total_j / all.bytes.max(1) as f64,
        terabytes_written: report.endurance.terabytes_written,
        write_amplification: report.write_amplification.total,
    }))
}

/// The first half of a load as requests, each from its own application.
struct FirstHalf<'a>(&'a Load);

impl Upcoming for FirstHalf<'_> {
    fn open<'a>(&'a self, drive: &Simulator) -> Result<FallibleRequests<'a>, SourceError> {
        let page_sectors = drive.config().geometry().sectors_per_page();
        let request = move |write: &WriteRequest| Request {
            at: Nanos(write.at_ns),
            lba: Sectors(u64::from(write.page) * u64::from(page_sectors)),
            sectors: write.count * page_sectors,
            tenant: TenantId(write.application),
            op: Op::Write,
        };
        Ok(Box::new(self.0.writes[..self.0.half()].iter().map(request).map(Ok)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::candidate::Candidates;
    use crate::drive::{DriveRule, Sizing};
    use crate::load::HostRequest;

    /// 4,800 pages written once in order, then again; the timed requests read and write in turns.
    fn load() -> Load {
        let write = |n: u64| WriteRequest {
            at_ns: n * 1_000_000,
            page: (n % 4_800) as u32,
            count: 1,
            application: 0,
            host: HostRequest::default(),
        };
        let timed = |n: u64| Request {
            at: Nanos((4_800 + n) * 1_000_000),
            lba: Sectors(16 * (n * 7 % 4_800)),
            sectors: 16,
            tenant: TenantId(3),
            op: if n.is_multiple_of(2) { Op::Read } else { Op::Write },
        };
        Load {
            name: "twice".to_owned(),
            synthetic: true,
            writes: (0..9_600).map(write).collect(),
            buffered: None,
            footprint_pages: 4_800,
            duration_ns: 9_600_000_000,
            applications: 1,
            timed: (0..200).map(timed).collect(),
            warnings: Vec::new(),
        }
    }

    fn measure(stop: bool) -> Option<ResponseTimes> {
        let load = load();
        let sizing = Sizing { planes_min: 4, ..Sizing::default() };
        let drive = DriveRule::Sized(sizing).drive(&load).unwrap();
        let candidate = Candidates::default().list().unwrap().remove(0);
        response_times(&load, &drive, &candidate, &AtomicBool::new(stop)).unwrap()
    }

    #[test]
    fn every_timed_request_is_served_by_a_drive_that_holds_the_data() {
        let times = measure(false).expect("not stopped");
        assert_eq!(times.requests, 200);
        let (read, write) = (times.read_mean_ns.unwrap(), times.write_mean_ns.unwrap());
        assert!((times.mean_ns - (read + write) / 2.0).abs() < 1.0, "{times:?}");
        // A millisecond apart, requests wait for no other: a read takes the flash's time at least.
        let flash = DriveRule::TableIii.drive(&load()).unwrap().flash;
        assert!(read > flash.read_latency[0].0 as f64, "{times:?}");
        assert!(times.p99_ns as f64 >= read.max(write), "{times:?}");
        assert!(times.write_amplification >= 1.0);
        // At their own times a thousand come in a second.
        assert!((900.0..1_100.0).contains(&times.requests_per_s), "{times:?}");
        assert!(times.saturated_requests_per_s > 2.0 * times.requests_per_s, "{times:?}");
    }

    #[test]
    fn a_stopped_run_has_no_times() {
        assert!(measure(true).is_none());
    }
}
