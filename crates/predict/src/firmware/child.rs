//! The child's side of a profile: runs one workload in this process and tells what it measures.
//!
//! The parent's side, with the order of messages, is [`super::launch`].

use super::counters::{self, CounterError, Counters};
use super::launch::{ChildMessage, read_plan};
use super::run::{RehearsedRun, RunError, WorkloadRun};
use std::io;
use std::path::{Path, PathBuf};

/// A workload run in this process.
#[derive(Clone, Debug)]
pub struct ChildRun {
    /// The workload and its drive.
    pub run: WorkloadRun,
    /// File for the findings of the rehearsal. If the file exists, it replaces the rehearsal.
    pub plan: Option<PathBuf>,
    /// How many passes take times.
    pub repeats: u32,
    /// Whether further passes before them count events with performance counters.
    pub counters: bool,
    /// Whether the run waits before the drive of the last pass is made.
    pub wait: bool,
}

/// Why a child cannot go on.
#[derive(Debug, thiserror::Error)]
pub enum ChildError {
    /// The workload cannot be run.
    #[error(transparent)]
    Run(#[from] RunError),
    /// There are no performance counters.
    #[error(transparent)]
    Counters(#[from] CounterError),
    /// The findings of the rehearsal cannot be read or written.
    #[error("{}: {source}", path.display())]
    Plan {
        /// The file.
        path: PathBuf,
        /// What the system says.
        source: io::Error,
    },
    /// The parent does not listen.
    #[error(transparent)]
    Parent(#[from] io::Error),
}

impl ChildRun {
    /// Runs the workload. Messages for the parent go to `say`; `wait` returns when the parent lets
    /// the run go on.
    ///
    /// # Errors
    /// The workload cannot be run, a file cannot be read or written, or a message cannot be sent.
    pub fn serve(
        &self,
        say: &mut dyn FnMut(&ChildMessage) -> io::Result<()>,
        wait: &mut dyn FnMut() -> io::Result<()>,
    ) -> Result<(), ChildError> {
        let rehearsed = self.rehearsed()?;
        let sets = if self.counters { counters::SETS } else { 0 };
        for set in 0..sets {
            let mut counters = Counters::open(set)?;
            let missing = counters.missing().iter().map(|&event| event.to_owned()).collect();
            say(&ChildMessage::Missing(missing))?;
            say(&ChildMessage::Pass(rehearsed.pass(rehearsed.drive()?, Some(&mut counters))?))?;
        }
        for pass in 1..=self.repeats {
            // The run waits before the drive is made: what that leaves in the caches is part of
            // what the groups meet.
            if self.wait && pass == self.repeats {
                say(&ChildMessage::Ready)?;
                wait()?;
            }
            say(&ChildMessage::Pass(rehearsed.pass(rehearsed.drive()?, None)?))?;
        }
        Ok(())
    }

    /// The workload, rehearsed or with the findings of an earlier rehearsal.
    fn rehearsed(&self) -> Result<RehearsedRun, ChildError> {
        let fault = |path: &Path| {
            let path = path.to_path_buf();
            move |source| ChildError::Plan { path, source }
        };
        let Some(path) = &self.plan else { return Ok(RehearsedRun::new(self.run, None)?) };
        let known = read_plan(path).map_err(fault(path))?;
        let is_new = known.is_none();
        let rehearsed = RehearsedRun::new(self.run, known)?;
        if is_new {
            let text = serde_json::to_string(rehearsed.plan()).expect("a plan is plain data");
            std::fs::write(path, text).map_err(fault(path))?;
        }
        Ok(rehearsed)
    }
}

#[cfg(test)]
mod tests {
    use super::super::drive::DriveSize;
    use super::super::run::MeasuredGroup;
    use super::super::workloads::Workload;
    use super::*;

    fn passes(child: &ChildRun, waited: &mut u32) -> Vec<Vec<MeasuredGroup>> {
        let mut passes = Vec::new();
        let mut say = |message: &ChildMessage| {
            if let ChildMessage::Pass(groups) = message {
                passes.push(groups.clone());
            }
            Ok(())
        };
        let mut wait = || {
            *waited += 1;
            Ok(())
        };
        child.serve(&mut say, &mut wait).unwrap();
        passes
    }

    #[test]
    fn every_pass_is_told_and_a_rehearsal_is_kept() {
        let folder = tempfile::tempdir().unwrap();
        let plan = folder.path().join("plan.json");
        let workload = Workload::of("RW").unwrap();
        let run = WorkloadRun { workload, groups: 4, warm_up: 0, size: DriveSize::Small, seed: 2 };
        let kept = Some(plan.clone());
        let child = ChildRun { run, plan: kept, repeats: 2, counters: false, wait: false };
        let mut waited = 0;
        let first = passes(&child, &mut waited);
        assert_eq!((first.len(), first[0].len(), waited), (2, 4, 0));
        assert!(plan.exists());
        let again = passes(&ChildRun { repeats: 1, wait: true, ..child }, &mut waited);
        assert_eq!(waited, 1);
        for (before, after) in first[0].iter().zip(&again[0]) {
            assert_eq!(before.counts, after.counts);
        }
    }
}
