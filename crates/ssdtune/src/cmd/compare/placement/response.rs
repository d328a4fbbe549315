//! Response time of a slice, by the timed simulator: the drive is filled, ages by the first half of the writes, and
//! serves the first requests of the second half, reads as well, at their own times.
//!
//! Reads of pages that the load never writes are left out: a drive sized by the writes does not hold them. The
//! reference that knows the future is not timed, since the order of writes in time is not the one it knows.

use super::drive::Variation;
use super::load::Load;
use serde::Serialize;
use ssdtune_model::{CheckedConfig, DeviceConfig, Nanos, Sectors};
use ssdtune_sim::{Filling, Observe, OpMetrics, Outcome, Simulator, Stream, Tenant};
use ssdtune_trace::{Op, Request, TenantId};
use std::sync::atomic::{AtomicBool, Ordering};

/// What requests of a slice waited.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Response {
    pub(crate) requests: u64,
    pub(crate) mean_ns: f64,
    pub(crate) read_mean_ns: Option<f64>,
    pub(crate) write_mean_ns: Option<f64>,
    pub(crate) p99_ns: u64,
    pub(crate) write_amplification: f64,
}

/// Simulates; `None` if stopped, or nothing was completed.
pub(crate) fn measure(
    load: &Load,
    drive: &DeviceConfig,
    variation: &Variation,
    stop: &AtomicBool,
) -> anyhow::Result<Option<Response>> {
    let config = variation.apply(drive, load).check().map_err(anyhow::Error::new)?;
    let mut simulator = Simulator::new(&config, &[Tenant::sole(&config)], Observe::default())?;
    let filling = Filling { occupancy: 1.0, overwrites: 0, seed: 0 };
    let fill: Box<dyn Iterator<Item = Request>> = Box::new(simulator.filling(0, filling));
    simulator.warm_up(fill)?;
    simulator.warm_up(first_half(load, &config))?;
    let start = load.writes[load.half()].at_ns;
    let slice = load.slice.iter().map(|request| Request {
        at: request.at.saturating_sub(Nanos(start)),
        tenant: TenantId(0),
        ..*request
    });
    let outcome = simulator.run(vec![Stream::open(slice)], |_| !stop.load(Ordering::Relaxed));
    if outcome != Outcome::Completed {
        return Ok(None);
    }
    let report = simulator.report();
    let mean = |metrics: &OpMetrics| metrics.total_latency_ns.as_ref().map(|l| l.mean);
    let all = &report.total.all;
    let Some(latency) = &all.total_latency_ns else { return Ok(None) };
    Ok(Some(Response {
        requests: all.requests,
        mean_ns: latency.mean,
        read_mean_ns: mean(&report.total.read),
        write_mean_ns: mean(&report.total.write),
        p99_ns: latency.p99,
        write_amplification: report.write_amplification.total,
    }))
}

fn first_half<'a>(
    load: &'a Load,
    config: &CheckedConfig,
) -> impl Iterator<Item = Request> + use<'a> {
    let page = u64::from(config.geometry().sectors_per_page());
    load.writes[..load.half()].iter().map(move |write| Request {
        at: Nanos(write.at_ns),
        lba: Sectors(u64::from(write.page) * page),
        sectors: write.count * page as u32,
        tenant: TenantId(write.application),
        op: Op::Write,
    })
}
