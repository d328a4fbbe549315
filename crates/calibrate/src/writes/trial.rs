//! What a drive does in runs: which of them are replayed together, and on which drive.
//!
//! Runs that begin with a state of their own need nothing of those before them, so that each such
//! part of a source is a task of its own. A part whose runs have hosts of several rates is replayed
//! once for each, since the host belongs to the drive that is simulated.

use super::age::{self, Aged, Replay, Timed};
use super::limits::Limits;
use super::{Told, Work};
use crate::calibration::CalibrateError;
use crate::fit::FitError;
use crate::replay::ReplayError;
use crate::run::Run;
use rayon::prelude::*;
use ssdtune_model::{DeviceConfig, Nanos};
use std::ops::Range;

/// How much longer a write takes with time than without.
const TIME_COST: f64 = 40.0;

/// A drive that is tried.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Trial<'a> {
    /// The hidden share of the flash.
    pub(super) spare: f64,
    /// How many times the base's the time of a program is.
    pub(super) programs: f64,
    /// What limits the writes besides.
    pub(super) limits: Limits<'a>,
}

impl Trial<'_> {
    /// The base with the time of each program multiplied, and what it takes from the host.
    pub(super) fn drive(&self, base: &DeviceConfig) -> DeviceConfig {
        let mut drive = base.clone();
        for latency in &mut drive.flash.program_latency {
            *latency = Nanos((latency.0 as f64 * self.programs).round() as u64);
        }
        if let Some(bandwidth) = self.limits.bandwidth() {
            drive.controller.write_bandwidth_mbs = (bandwidth / 1e6).round() as u32;
        }
        drive
    }
}

/// The runs that are asked about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Which {
    All,
    /// Those that tell the spare capacity.
    Telling,
    /// Those that tell the spare capacity, sampled ones served with time from their beginning to
    /// their end: when their throughput falls tells it where write amplification is not known.
    Falling,
    /// Those that are fitted and whose throughput is known.
    Timed,
    /// Those that are fitted and were sampled: their beginnings.
    Beginning,
}

impl Which {
    /// What is served with time.
    fn timed(self) -> Option<Timed> {
        match self {
            Self::Telling => None,
            Self::Timed => Some(Timed::End),
            Self::Beginning => Some(Timed::Beginning),
            Self::All | Self::Falling => Some(Timed::All),
        }
    }
}

/// Runs of a source that are replayed one after the other.
struct Task {
    /// The source.
    chain: usize,
    /// Its runs.
    runs: Range<usize>,
    /// Writes of the simulated requests' size that their host sends in a second; 0: no limit.
    host: u64,
    /// Which of the runs are asked about.
    asked: Vec<bool>,
}

impl Work<'_> {
    /// What a drive does in the runs of each source that are asked about. Others are left as they
    /// were not replayed.
    pub(super) fn predicted(
        &self,
        trial: &Trial<'_>,
        units: u64,
        which: Which,
    ) -> Result<Vec<Vec<Aged>>, CalibrateError> {
        let tasks = self.tasks(trial, which);
        let one = |task: &Task| self.done(trial, units, which, task);
        let done: Result<Vec<Vec<Aged>>, CalibrateError> =
            tasks.par_iter().with_max_len(1).map(one).collect();
        let of = |chain: &super::Chain| vec![Aged::default(); chain.runs.len()];
        let mut all: Vec<Vec<Aged>> = self.chains.iter().map(of).collect();
        for (task, done) in tasks.iter().zip(done?) {
            for ((at, aged), asked) in task.runs.clone().zip(done).zip(&task.asked) {
                if *asked {
                    all[task.chain][at] = aged;
                }
            }
        }
        Ok(all)
    }

    /// The outcome of a task: from the journal, or by replaying it.
    fn done(
        &self,
        trial: &Trial<'_>,
        units: u64,
        which: Which,
        task: &Task,
    ) -> Result<Vec<Aged>, CalibrateError> {
        let Trial { spare, programs, limits } = trial;
        let Task { chain, runs, host, asked } = task;
        let name = format!(
            "{which:?}: {units} units, spare {spare}, programs {programs}, {:?} B/s, {host} \
             writes/s, source {chain}, runs {runs:?} {asked:?}",
            limits.bandwidth()
        );
        let known = self.journal.text(&name).and_then(|text| serde_json::from_str(&text).ok());
        let aged = match known {
            Some(aged) => aged,
            None => {
                let aged = self.replayed(trial, units, which, task)?;
                let text = serde_json::to_string(&aged).unwrap_or_default();
                self.journal.add_text(name, text).map_err(FitError::from)?;
                aged
            }
        };
        self.tell(self.cost(task, units, which));
        Ok(aged)
    }

    fn replayed(
        &self,
        trial: &Trial<'_>,
        units: u64,
        which: Which,
        task: &Task,
    ) -> Result<Vec<Aged>, CalibrateError> {
        let timed = self.timed(which);
        let pages = timed.and(self.sizes.timed).map_or(1, |(_, pages)| pages);
        let mut drive = age::small(&trial.drive(self.base), trial.spare, units, pages);
        if task.host > 0 {
            (drive.host.core_rate, drive.host.cores) = (task.host, 1);
        }
        let fewer = if timed.is_some() { age::thin(&mut drive, units) } else { 1 };
        let drive = drive.check()?;
        let (visible, starts, seed, stop) = (self.visible, self.starts, self.seed, self.stop);
        let replay = Replay { visible, starts, timed, fewer, seed, stop };
        let runs = &self.chains[task.chain].runs[task.runs.clone()];
        let aged = replay.age(&drive, runs, task.runs.start as u64, |at| task.asked[at]);
        aged.map_err(|error| match error {
            ReplayError::Interrupted => FitError::Interrupted.into(),
            error => error.into(),
        })
    }

    /// What is served with time, unless the sizes leave times out.
    fn timed(&self, which: Which) -> Option<Timed> {
        which.timed().filter(|_| self.sizes.timed.is_some())
    }

    /// The parts of each source that are replayed by themselves.
    fn tasks(&self, trial: &Trial<'_>, which: Which) -> Vec<Task> {
        let is_timed = self.timed(which).is_some();
        let host = |run: &Run| if is_timed { simulated_rate(&trial.limits, run) } else { 0 };
        let mut tasks = Vec::new();
        for (nth, chain) in self.chains.iter().enumerate() {
            let asked = self.asked(nth, trial, which);
            let mut from = 0;
            while from < chain.runs.len() {
                let next = |at: &usize| self.starts.anew(&chain.runs[*at]);
                let end = (from + 1..chain.runs.len()).find(next).unwrap_or(chain.runs.len());
                let own = (from..end).filter(|at| asked[*at]);
                let mut hosts: Vec<u64> = own.map(|at| host(&chain.runs[at])).collect();
                hosts.sort_unstable();
                hosts.dedup();
                for rate in hosts {
                    let is_own = |at: usize| asked[at] && host(&chain.runs[at]) == rate;
                    let last = (from..end).rfind(|at| is_own(*at)).unwrap_or(from);
                    let runs = from..last + 1;
                    let asked = runs.clone().map(is_own).collect();
                    tasks.push(Task { chain: nth, runs, host: rate, asked });
                }
                from = end;
            }
        }
        tasks
    }

    /// Which runs of a source are asked about.
    fn asked(&self, chain: usize, trial: &Trial<'_>, which: Which) -> Vec<bool> {
        let own = &self.chains[chain];
        let by_time = |(at, told)| matches!(told, Told::Passes(_)).then_some(at);
        let places: Vec<usize> = match which {
            Which::All => (0..own.runs.len()).collect(),
            Which::Telling => own.telling().map(|(at, _)| at).collect(),
            Which::Falling => own.telling().filter_map(by_time).collect(),
            Which::Timed => own.timed(&trial.limits).map(|(at, _)| at).collect(),
            Which::Beginning => own.sampled().map(|(at, ..)| at).collect(),
        };
        (0..own.runs.len()).map(|at| places.contains(&at)).collect()
    }

    /// What [`Work::predicted`] costs, in writes without time.
    pub(super) fn cost_of(&self, trial: &Trial<'_>, units: u64, which: Which) -> f64 {
        self.tasks(trial, which).iter().map(|task| self.cost(task, units, which)).sum()
    }

    fn cost(&self, task: &Task, units: u64, which: Which) -> f64 {
        let runs = &self.chains[task.chain].runs[task.runs.clone()];
        let timed = self.timed(which);
        let one = |(run, asked): (&Run, &bool)| {
            let all = run.host_bytes() / self.visible as f64;
            let with_time = match timed.filter(|_| *asked) {
                None => 0.0,
                Some(Timed::All) if !run.samples.is_empty() => all,
                Some(Timed::All | Timed::End) => run.span_bytes as f64 / self.visible as f64,
                Some(Timed::Beginning) => 0.05,
            };
            units as f64 * (all + TIME_COST * with_time)
        };
        runs.iter().zip(&task.asked).map(one).sum()
    }
}

/// The rate of a run's host in simulated requests, of which a long write is several.
fn simulated_rate(limits: &Limits<'_>, run: &Run) -> u64 {
    let parts = u64::from(run.block_bytes).div_ceil(age::REQUEST_BYTES_MAX).max(1);
    limits.rate(run).map_or(0, |rate| (rate * parts as f64).round().max(1.0) as u64)
}
