//! One workload on the firmware, in groups of 1,000 requests: rehearsed, prepared, measured.
//!
//! What the drive holds at the start is computed when it is first looked at, a cost of the
//! simulator that no firmware has. So the workload is rehearsed once to learn which blocks
//! collection takes. The drive that is measured has these blocks, and the page-table entries of all
//! pages that requests name, in memory beforehand. All requests are made before the first group. A
//! measured group is one call of `measured_group`, and nothing else runs in it.
//!
//! Time is the CPU time of the thread in nanoseconds, so other programs add only the cache lines
//! that they take.

use super::counters::Counters;
use super::drive::{DriveSize, FirmwareDrive, WorkCounts};
use super::workloads::{GROUP_REQUESTS, Workload};
use cpu_time::ThreadTime;
use serde::{Deserialize, Serialize};
use ssdtune_ftl::FtlError;
use ssdtune_model::Sectors;
use ssdtune_model::{BlockAddr, BlockId, PlaneId};
use ssdtune_trace::Request;
use ssdtune_trace::workload::ModelError;
use std::collections::{BTreeMap, BTreeSet};
use std::hint::black_box;

/// A workload to run, and on what.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WorkloadRun {
    /// The workload.
    pub workload: Workload,
    /// How many groups are measured.
    pub groups: u32,
    /// How many groups are served before those that are measured.
    pub warm_up: u32,
    /// The drive.
    pub size: DriveSize,
    /// Decides the requests and where data lie.
    pub seed: u64,
}

/// What a rehearsal found: the blocks that collection takes.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RehearsalPlan {
    /// Plane and number of each block, in ascending order.
    pub blocks: Vec<(PlaneId, BlockId)>,
}

/// What one pass over the workload measured of a group.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct MeasuredGroup {
    /// Number of the group, from 0.
    pub number: u32,
    /// What the firmware did.
    pub counts: WorkCounts,
    /// CPU time of the group, in nanoseconds.
    pub ns: u64,
    /// Events that performance counters counted, by their names in Table 5.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub events: BTreeMap<String, u64>,
}

/// Why a workload cannot be run.
#[derive(Debug, thiserror::Error)]
pub enum RunError {
    /// The FTL refuses the drive.
    #[error("the drive of the firmware runs: {0}")]
    Ftl(#[from] FtlError),
    /// The bundled workload model is faulty.
    #[error(transparent)]
    Model(#[from] ModelError),
    /// The drive has no room for a group.
    #[error("{workload}, group {group}: the drive has no room left")]
    Full {
        /// The workload.
        workload: &'static str,
        /// Number of the group.
        group: u32,
    },
    /// A counter that was opened does not answer.
    #[error("a performance counter failed: {0}")]
    Counter(#[from] std::io::Error),
}

/// A workload with its requests and the findings of its rehearsal.
pub struct RehearsedRun {
    task: WorkloadRun,
    requests: Vec<Request>,
    plan: RehearsalPlan,
}

impl RehearsedRun {
    /// Makes the requests. Rehearses the workload unless a plan says what a rehearsal found.
    ///
    /// # Errors
    /// The FTL refuses the drive, or the drive is too small for the workload.
    pub fn new(task: WorkloadRun, plan: Option<RehearsalPlan>) -> Result<Self, RunError> {
        let mut requests = task.workload.requests(task.warm_up + task.groups, task.seed)?;
        let mut drive = FirmwareDrive::new(task.size, task.seed)?;
        let sectors = drive.sectors();
        for request in &mut requests {
            let room = sectors - u64::from(request.sectors).min(sectors);
            request.lba = Sectors(request.lba.0 % room.max(1));
        }
        let plan = match plan {
            Some(plan) => plan,
            None => {
                drive.remember_victims();
                for (number, group) in requests.chunks(GROUP_REQUESTS).enumerate() {
                    serve(&mut drive, group, &task, number)?;
                }
                let blocks: BTreeSet<BlockAddr> = drive.take_victims().into_iter().collect();
                RehearsalPlan { blocks: blocks.iter().map(|at| (at.plane, at.block)).collect() }
            }
        };
        Ok(Self { task, requests, plan })
    }

    /// What the rehearsal found.
    pub fn plan(&self) -> &RehearsalPlan {
        &self.plan
    }

    /// A drive ready for [`RehearsedRun::pass`].
    ///
    /// # Errors
    /// The FTL refuses the drive.
    pub fn drive(&self) -> Result<FirmwareDrive, RunError> {
        let mut drive = FirmwareDrive::new(self.task.size, self.task.seed)?;
        let block = |&(plane, block): &(PlaneId, BlockId)| BlockAddr { plane, block };
        let blocks: Vec<BlockAddr> = self.plan.blocks.iter().map(block).collect();
        drive.store(&blocks, &self.requests);
        Ok(drive)
    }

    /// Serves the workload from its beginning on a drive from [`RehearsedRun::drive`], and measures
    /// each group.
    ///
    /// # Errors
    /// A counter fails, or the drive is full.
    pub fn pass(
        &self,
        mut drive: FirmwareDrive,
        mut counters: Option<&mut Counters>,
    ) -> Result<Vec<MeasuredGroup>, RunError> {
        let mut groups = Vec::with_capacity(self.task.groups as usize);
        for (number, requests) in self.requests.chunks(GROUP_REQUESTS).enumerate() {
            let Some(number) = number.checked_sub(self.task.warm_up as usize) else {
                serve(&mut drive, requests, &self.task, number)?;
                drive.take_counts();
                continue;
            };
            if let Some(counters) = &mut counters {
                counters.start()?;
            }
            let start = ThreadTime::now();
            let served = measured_group(&mut drive, requests);
            let ns = start.elapsed().as_nanos() as u64;
            let events = match &mut counters {
                Some(counters) => counters.stop()?,
                None => BTreeMap::new(),
            };
            group_done(number as u32);
            if !served {
                return Err(self.task.full(number));
            }
            let counts = drive.take_counts();
            groups.push(MeasuredGroup { number: number as u32, counts, ns, events });
        }
        Ok(groups)
    }
}

impl WorkloadRun {
    fn full(&self, number: usize) -> RunError {
        RunError::Full { workload: self.workload.label, group: number as u32 }
    }
}

/// Serves a group without measuring it.
fn serve(
    drive: &mut FirmwareDrive,
    requests: &[Request],
    task: &WorkloadRun,
    number: usize,
) -> Result<(), RunError> {
    match requests.iter().all(|request| drive.serve(request)) {
        true => Ok(()),
        false => Err(task.full(number)),
    }
}

/// Pattern by which valgrind finds [`measured_group`] among the functions of a program.
pub(super) const MEASURED: &str = "*firmware::run::measured_group*";
/// Pattern by which valgrind finds [`group_done`].
pub(super) const DONE: &str = "*firmware::run::group_done*";

/// Serves a group: the work that is measured. Valgrind counts events while this function runs, so
/// it must not be inlined.
#[inline(never)]
fn measured_group(drive: &mut FirmwareDrive, requests: &[Request]) -> bool {
    requests.iter().all(|request| drive.serve(request))
}

/// Marks the end of a group: valgrind writes its events down when this function is entered.
#[inline(never)]
fn group_done(number: u32) {
    black_box(number);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn task(label: &str) -> WorkloadRun {
        let workload = Workload::of(label).unwrap();
        WorkloadRun { workload, groups: 6, warm_up: 1, size: DriveSize::Small, seed: 5 }
    }

    #[test]
    fn every_pass_does_the_same_work() {
        for label in ["RW", "TC", "SR"] {
            let stage = RehearsedRun::new(task(label), None).unwrap();
            let counts = |stage: &RehearsedRun| -> Vec<WorkCounts> {
                let groups = stage.pass(stage.drive().unwrap(), None).unwrap();
                assert!(groups.iter().all(|group| group.ns > 0 && group.counts.requests == 1_000));
                groups.iter().map(|group| group.counts).collect()
            };
            let first = counts(&stage);
            assert_eq!(first.len(), 6);
            assert_eq!(counts(&stage), first, "{label}");
            // A plan that is given replaces the rehearsal.
            let again = RehearsedRun::new(task(label), Some(stage.plan().clone())).unwrap();
            assert_eq!(counts(&again), first, "{label}");
            assert_eq!(stage.plan().blocks.is_empty(), label == "SR");
        }
    }
}
