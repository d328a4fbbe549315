//! MQSim's workload and result files.

use ssdtune_model::config::Priority;
use ssdtune_model::scenario::{Flow, Scenario, Source, TimeUnit, TraceSource};
use ssdtune_model::{DeviceConfig, mqsim};

/// A `workload.xml` of one flow that replays a trace file on the whole drive.
pub fn workload_xml(config: &DeviceConfig, file: &str) -> String {
    let all = |count: u32| (0..count).collect::<Vec<u32>>();
    let flow = Flow {
        priority: Priority::High,
        cache_mode: config.cache.mode,
        channels: all(config.bus.channels),
        chips: all(config.bus.chips_per_channel),
        dies: all(config.flash.dies_per_chip),
        planes: all(config.flash.planes_per_die),
        initial_occupancy_percent: 0,
        source: Source::Trace(TraceSource {
            file: file.to_owned(),
            percent_executed: 100,
            relay_count: 1,
            time_unit: TimeUnit::Nanosecond,
            best_queue_size: None,
            device_throughput: None,
        }),
    };
    mqsim::write_workload(&[Scenario { flows: vec![flow] }])
}

/// What a result must be read with.
#[derive(Clone, Copy, Debug)]
pub struct Scene {
    /// Mean bytes of a request.
    pub mean_bytes: f64,
    /// Requests between submission and completion while the drive is kept full.
    pub outstanding: u32,
}

/// Latency in nanoseconds and throughput in bytes a second out of a result file of MQSim.
///
/// MQSim divides its rates by whole seconds (infinity for a run below one), so they are not used. The
/// response time is sound, and of a drive that is kept full it gives the rate by Little's law:
/// outstanding requests over response time. Of a drive that is not kept full that number means nothing.
///
/// # Errors
/// The file has no response time.
pub fn result_figures(xml: &str, scene: Scene) -> Result<(Option<f64>, Option<f64>), String> {
    let tag = "<Device_Response_Time>";
    let text = xml.find(tag).and_then(|at| xml[at + tag.len()..].split('<').next());
    let us: f64 = text
        .and_then(|text| text.trim().parse().ok())
        .filter(|us: &f64| us.is_finite() && *us > 0.0)
        .ok_or_else(|| "the result file has no Device_Response_Time above 0".to_owned())?;
    let rate = f64::from(scene.outstanding) / (us * 1e-6);
    Ok((Some(us * 1e3), Some(rate * scene.mean_bytes)))
}
