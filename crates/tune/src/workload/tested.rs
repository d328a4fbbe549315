//! Where the workloads of a task leave the range in which a calibrated drive was tested.

use super::Workload;
use ssdtune_experiment::Load;
use ssdtune_model::{Calibrated, DeviceConfig};
use ssdtune_sim::Replay;

/// What a calibrated drive was not tested at and the target asks for, a few words each, and at the
/// end the other workloads that leave its range. `used` is the drive as it is measured: with the
/// requests of each trace at their own times, and in its closed loop.
pub fn outside_tested_range(
    drive: &Calibrated,
    used: &DeviceConfig,
    target: &Workload,
    others: &[Workload],
) -> Vec<String> {
    let mut said = of_workload(drive, used, target);
    let is_new = |other: &&Workload| {
        let all = of_workload(drive, used, other);
        all.iter().any(|one| !said.contains(one))
    };
    let names: Vec<&str> = others.iter().filter(is_new).map(|other| other.name.as_str()).collect();
    if !names.is_empty() {
        said.push(format!("more in the workloads {}", names.join(", ")));
    }
    said
}

fn of_workload(drive: &Calibrated, used: &DeviceConfig, workload: &Workload) -> Vec<String> {
    let mut said: Vec<String> = Vec::new();
    for trace in &workload.traces {
        for replay in [Replay::Open, Replay::Closed(workload.depth)] {
            let outside = Load::of_requests(trace.requests(), replay).outside(drive, used);
            said.extend(outside.into_iter().filter(|one| !said.contains(one)).collect::<Vec<_>>());
        }
    }
    said
}
