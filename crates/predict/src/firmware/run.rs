//! One workload over the firmware, in groups of 1,000 requests: rehearsed, prepared, measured.
//!
//! The drive's past is defined, not stored, and computed where it is first looked at: a cost of the
//! simulator that no firmware has. So the workload is rehearsed once to learn which blocks
//! collection takes, and the drive that is measured has these blocks, and the entries of all pages
//! that requests name, stored beforehand. All requests are made before the first group. A measured
//! group is one call of `measured_group`, and nothing else runs in it.
//!
//! Time is the CPU time of the thread, so that other programs cost only the cache lines they take.

use super::counters::Counters;
use super::drive::{Counts, Drive, Size};
use super::workloads::{GROUP_REQUESTS, Workload};
use cpu_time::ThreadTime;
use serde::{Deserialize, Serialize};
use ssdtune_ftl::{BlockRef, FtlError};
use ssdtune_model::Sectors;
use ssdtune_trace::Request;
use ssdtune_trace::workload::ModelError;
use std::collections::{BTreeMap, BTreeSet};
use std::hint::black_box;

/// What to run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Task {
    /// The workload.
    pub workload: Workload,
    /// Groups that are measured.
    pub groups: u32,
    /// Groups before them that are not.
    pub warm_up: u32,
    /// The drive.
    pub size: Size,
    /// What decides requests and where data lie.
    pub seed: u64,
}

/// Blocks that collection takes and that hold data at the start, as (plane, block).
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Plan {
    /// In ascending order.
    pub blocks: Vec<(u32, u32)>,
}

/// A group as one pass over the workload saw it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Group {
    /// Its number, from 0.
    pub number: u32,
    /// What the firmware did.
    pub counts: Counts,
    /// Its time.
    pub ns: u64,
    /// Events that hardware counted, by their names in Table 5.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub events: BTreeMap<String, u64>,
}

/// Why a workload cannot be run.
#[derive(Debug, thiserror::Error)]
pub enum RunError {
    /// The drive.
    #[error("the drive of the firmware runs: {0}")]
    Ftl(#[from] FtlError),
    /// The bundled model.
    #[error(transparent)]
    Model(#[from] ModelError),
    /// No room.
    #[error("{workload}, group {group}: the drive has no room left")]
    Full {
        /// The workload.
        workload: &'static str,
        /// The group.
        group: u32,
    },
    /// A counter that was opened does not answer.
    #[error("a performance counter failed: {0}")]
    Counter(#[from] std::io::Error),
}

/// A workload made ready.
pub struct Stage {
    task: Task,
    requests: Vec<Request>,
    plan: Plan,
}

impl Stage {
    /// Makes the requests; rehearses the workload unless a plan says what a rehearsal found.
    ///
    /// # Errors
    /// The drive is impossible, or too small for the workload.
    pub fn new(task: Task, plan: Option<Plan>) -> Result<Self, RunError> {
        let mut requests = task.workload.requests(task.warm_up + task.groups, task.seed)?;
        let mut drive = Drive::new(task.size, task.seed)?;
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
                let blocks: BTreeSet<BlockRef> = drive.take_victims().into_iter().collect();
                Plan { blocks: blocks.iter().map(|at| (at.plane, at.block)).collect() }
            }
        };
        Ok(Self { task, requests, plan })
    }

    /// What the rehearsal found.
    pub fn plan(&self) -> &Plan {
        &self.plan
    }

    /// A drive ready for [`Stage::pass`].
    ///
    /// # Errors
    /// The drive is impossible.
    pub fn drive(&self) -> Result<Drive, RunError> {
        let mut drive = Drive::new(self.task.size, self.task.seed)?;
        let block = |&(plane, block): &(u32, u32)| BlockRef { plane, block };
        let blocks: Vec<BlockRef> = self.plan.blocks.iter().map(block).collect();
        drive.store(&blocks, &self.requests);
        Ok(drive)
    }

    /// Serves the workload from its beginning on a drive of [`Stage::drive`].
    ///
    /// # Errors
    /// A counter fails, or the drive is full.
    pub fn pass(
        &self,
        mut drive: Drive,
        mut counters: Option<&mut Counters>,
    ) -> Result<Vec<Group>, RunError> {
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
            groups.push(Group { number: number as u32, counts, ns, events });
        }
        Ok(groups)
    }
}

impl Task {
    fn full(&self, number: usize) -> RunError {
        RunError::Full { workload: self.workload.label, group: number as u32 }
    }
}

fn serve(
    drive: &mut Drive,
    requests: &[Request],
    task: &Task,
    number: usize,
) -> Result<(), RunError> {
    match requests.iter().all(|request| drive.serve(request)) {
        true => Ok(()),
        false => Err(task.full(number)),
    }
}

/// Pattern that finds [`measured_group`] among a program's functions.
pub(super) const MEASURED: &str = "*firmware::run::measured_group*";
/// Pattern that finds [`group_done`].
pub(super) const DONE: &str = "*firmware::run::group_done*";

/// What is measured. Valgrind collects while it is inside, so it must stay a function.
#[inline(never)]
fn measured_group(drive: &mut Drive, requests: &[Request]) -> bool {
    requests.iter().all(|request| drive.serve(request))
}

/// Valgrind writes a group's events down when this is entered.
#[inline(never)]
fn group_done(number: u32) {
    black_box(number);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn task(label: &str) -> Task {
        let workload = Workload::of(label).unwrap();
        Task { workload, groups: 6, warm_up: 1, size: Size::Small, seed: 5 }
    }

    #[test]
    fn every_pass_does_the_same_work() {
        for label in ["RW", "TC", "SR"] {
            let stage = Stage::new(task(label), None).unwrap();
            let counts = |stage: &Stage| -> Vec<Counts> {
                let groups = stage.pass(stage.drive().unwrap(), None).unwrap();
                assert!(groups.iter().all(|group| group.ns > 0 && group.counts.requests == 1_000));
                groups.iter().map(|group| group.counts).collect()
            };
            let first = counts(&stage);
            assert_eq!(first.len(), 6);
            assert_eq!(counts(&stage), first, "{label}");
            // A plan from elsewhere stands for the rehearsal.
            let again = Stage::new(task(label), Some(stage.plan().clone())).unwrap();
            assert_eq!(counts(&again), first, "{label}");
            assert_eq!(stage.plan().blocks.is_empty(), label == "SR");
        }
    }
}
