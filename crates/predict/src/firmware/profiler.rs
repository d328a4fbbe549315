//! Takes a profile: runs the firmware over workloads in child processes and keeps events and times.
//!
//! Times and events are taken in different passes. Performance counters need one pass for each set
//! of events; callgrind and emulators run a process of their own. Every pass does the same work,
//! which is checked group by group.
//!
//! Cost: seconds for each workload and time; a hundred to two hundred times as long under
//! callgrind, which makes two passes.

use super::callgrind::{CallgrindOutput, Simulated};
use super::cortex_a53;
use super::counters::{self, CounterError, Counters};
use super::events::{EventSource, of_callgrind};
use super::launch::{ChildOutput, LaunchError, Launcher, is_installed};
use super::profile::{
    ProfileError, ProfileFile, ProfileSetup, ProfileSource, ProfiledGroup, TimeSource, machine,
};
use super::run::{MeasuredGroup, WorkloadRun};
use super::workloads::Workload;
use ssdtune_learn::Version;
use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::sync::atomic::{AtomicBool, Ordering};

/// Which source of events is wanted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EventChoice {
    /// Performance counters where the machine has them, else callgrind.
    Auto,
    /// Linux performance counters.
    PerformanceCounters,
    /// Valgrind's callgrind with cache and branch simulation.
    Callgrind,
    /// None: times only, as a target needs.
    None,
}

impl FromStr for EventChoice {
    type Err = String;

    fn from_str(name: &str) -> Result<Self, String> {
        match name {
            "auto" => Ok(Self::Auto),
            "perf" => Ok(Self::PerformanceCounters),
            "callgrind" => Ok(Self::Callgrind),
            "none" => Ok(Self::None),
            _ => Err("write auto, perf, callgrind or none".to_owned()),
        }
    }
}

/// How a profile is taken.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProfilerOptions {
    /// Where events come from.
    pub events: EventChoice,
    /// A command that runs the firmware, such as an emulator: a stand-in for a target.
    pub under: Option<String>,
    /// Whether times are computed by the timing model of a Cortex-A53: a stand-in for a target that
    /// proves little.
    pub cortex_a53: bool,
    /// How many times are taken of each group.
    pub repeats: u32,
    /// What decides the work of every group.
    pub setup: ProfileSetup,
    /// The program that measures, with its version.
    pub program: String,
    /// How children are started: a program, and the arguments that stand before those of the
    /// command. Empty: by the program of this process.
    pub child: Vec<String>,
}

/// Why a profile cannot be taken.
#[derive(Debug, thiserror::Error)]
pub enum ProfilerError {
    /// The options contradict each other.
    #[error("{0}")]
    Options(&'static str),
    /// There are no performance counters.
    #[error(transparent)]
    Counters(#[from] CounterError),
    /// Callgrind is wanted and not there.
    #[error("valgrind is not installed: install it, or take --events none for times only")]
    NoValgrind,
    /// A child process failed.
    #[error(transparent)]
    Launch(#[from] LaunchError),
    /// The profile cannot be read or written.
    #[error(transparent)]
    File(#[from] ProfileError),
    /// A group did other work in one pass than in another.
    #[error("group {0} did other work in a pass under valgrind: report this as a fault")]
    OtherWork(String),
    /// The program cannot be run again, or has no folder for its files.
    #[error("{what}: {source}")]
    Io {
        /// What was tried.
        what: String,
        /// What the system says.
        source: io::Error,
    },
    /// The caller stopped it. What was measured is in the file.
    #[error("interrupted")]
    Interrupted,
}

/// The source of events that is taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Events {
    Counters,
    Callgrind,
    None,
}

/// Takes profiles.
#[derive(Debug)]
pub struct Profiler {
    options: ProfilerOptions,
    events: Events,
    /// Why there are no performance counters.
    no_counters: Option<CounterError>,
    launcher: Launcher,
    _scratch: Scratch,
}

/// A folder that is removed in the end.
#[derive(Debug)]
struct Scratch(PathBuf);

impl Drop for Scratch {
    fn drop(&mut self) {
        // What is left there is of no use to anybody.
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

impl Profiler {
    /// Prepares to take profiles, and finds out where events can come from. Children run a
    /// program that must know the command `predict-perf ftl run`.
    ///
    /// # Errors
    /// The options contradict each other, or the source of events is not there.
    pub fn new(options: ProfilerOptions) -> Result<Self, ProfilerError> {
        let (events, no_counters) = settle(&options)?;
        let folder = std::env::temp_dir().join(format!("ssdtune-ftl-{}", std::process::id()));
        let io = |what: String| move |source| ProfilerError::Io { what, source };
        std::fs::create_dir_all(&folder).map_err(io(folder.display().to_string()))?;
        let scratch = Scratch(folder.clone());
        let mut program = options.child.clone();
        if program.is_empty() {
            let own = std::env::current_exe().map_err(io("where this program is".to_owned()))?;
            program.push(own.display().to_string());
        }
        let command = options.under.iter().flat_map(|line| line.split_whitespace());
        let under = command.map(str::to_owned).collect();
        let launcher = Launcher { program, under, scratch: folder };
        Ok(Self { options, events, no_counters, launcher, _scratch: scratch })
    }

    /// Why events come from callgrind where the caller would have taken performance counters.
    pub fn no_counters(&self) -> Option<String> {
        self.no_counters.as_ref().map(CounterError::reason)
    }

    /// Profiles workloads into a file, or continues a file that was begun with the same options.
    /// `tell` is told the place of each workload that is done among all, and its number of groups.
    ///
    /// # Errors
    /// A child fails, the file cannot be written or was begun otherwise, or the caller stopped it.
    pub fn run(
        &self,
        workloads: &[Workload],
        out: &Path,
        stop: &AtomicBool,
        tell: &mut dyn FnMut(usize, usize),
    ) -> Result<(), ProfilerError> {
        let mut file = self.resume(out)?;
        for (place, &workload) in workloads.iter().enumerate() {
            if stop.load(Ordering::Relaxed) {
                return Err(ProfilerError::Interrupted);
            }
            if file.as_ref().is_some_and(|file| file.knows(workload.label)) {
                continue;
            }
            let (groups, source) = self.workload(workload)?;
            let file = match &mut file {
                Some(file) => file,
                None => file.insert(ProfileFile::open(out, &source)?),
            };
            file.append(&groups)?;
            tell(place, groups.len());
        }
        Ok(())
    }

    /// Opens a file that was begun.
    fn resume(&self, out: &Path) -> Result<Option<ProfileFile>, ProfilerError> {
        let Some(ProfileSource { events: found, .. }) = ProfileFile::begun(out)? else {
            return Ok(None);
        };
        // What a source of events says of itself is known only after it was used.
        let events = match (&found, self.events) {
            (EventSource::PerformanceCounters { .. }, Events::Counters)
            | (EventSource::Callgrind { .. }, Events::Callgrind) => found,
            _ => EventSource::None,
        };
        Ok(Some(ProfileFile::open(out, &self.source(events))?))
    }

    /// What the profile says of itself.
    fn source(&self, events: EventSource) -> ProfileSource {
        let ProfilerOptions { under, cortex_a53, repeats, setup, program, .. } = &self.options;
        let time = match (under, cortex_a53) {
            (Some(under), _) => TimeSource::StandInMeasured { under: under.clone() },
            (None, true) => TimeSource::StandInModelled { model: cortex_a53::NAME.to_owned() },
            (None, false) => TimeSource::Measured,
        };
        ProfileSource {
            firmware_profile: Version,
            program: program.clone(),
            machine: machine(),
            setup: setup.clone(),
            time,
            repeats: if *cortex_a53 { 1 } else { *repeats },
            events,
        }
    }

    /// Measures the groups of a workload.
    fn workload(
        &self,
        workload: Workload,
    ) -> Result<(Vec<ProfiledGroup>, ProfileSource), ProfilerError> {
        let ProfileSetup { size, scale, groups_max, warm_up, seed, .. } = self.options.setup;
        let groups = workload.groups(scale, groups_max);
        let run = WorkloadRun { workload, groups, warm_up, size, seed };
        if self.options.cortex_a53 {
            return self.modelled(&run);
        }
        let with_counters = self.events == Events::Counters;
        let measured = self.launcher.times(&run, self.options.repeats, with_counters)?;
        let mut groups =
            join_passes(&run, &measured, if with_counters { counters::SETS } else { 0 });
        let events = match self.events {
            Events::Counters => EventSource::PerformanceCounters { missing: measured.missing },
            Events::Callgrind => {
                let passes = [Simulated::HostCaches, Simulated::HostTlbs];
                let (again, output) = self.callgrind(&run, passes)?;
                for ((group, again), counted) in groups.iter_mut().zip(again).zip(output.groups) {
                    if group.counts != again.counts {
                        return Err(ProfilerError::OtherWork(group.id.clone()));
                    }
                    group.events = of_callgrind(&counted);
                    group.callgrind = counted;
                }
                EventSource::Callgrind { described: output.described }
            }
            Events::None => EventSource::None,
        };
        Ok((groups, self.source(events)))
    }

    /// The groups of a workload, and what callgrind counted of them in two passes: with caches and
    /// with TLBs.
    fn callgrind(
        &self,
        run: &WorkloadRun,
        [caches, tlbs]: [Simulated; 2],
    ) -> Result<(Vec<MeasuredGroup>, CallgrindOutput), ProfilerError> {
        let (groups, mut output) = self.launcher.callgrind(run, caches)?;
        let (again, tlbs) = self.launcher.callgrind(run, tlbs)?;
        let other = groups.iter().zip(&again).find(|(group, again)| group.counts != again.counts);
        if let Some((group, _)) = other {
            return Err(ProfilerError::OtherWork(id(run, group)));
        }
        output.add_tlbs(tlbs);
        Ok((groups, output))
    }

    /// The groups of a workload with times computed from the events of callgrind with the target's
    /// caches.
    fn modelled(
        &self,
        run: &WorkloadRun,
    ) -> Result<(Vec<ProfiledGroup>, ProfileSource), ProfilerError> {
        let passes = [Simulated::CortexA53Caches, Simulated::CortexA53Tlbs];
        let (groups, output) = self.callgrind(run, passes)?;
        let profiled = |(group, counted): (MeasuredGroup, BTreeMap<String, u64>)| ProfiledGroup {
            id: id(run, &group),
            counts: group.counts,
            ns: vec![cortex_a53::time_ns(&counted).round() as u64],
            events: of_callgrind(&counted),
            callgrind: counted,
        };
        let groups = groups.into_iter().zip(output.groups).map(profiled).collect();
        let events = EventSource::Callgrind { described: output.described };
        Ok((groups, self.source(events)))
    }
}

/// The source of events to take, and why it is not performance counters if the caller left the
/// choice. What is missing is said before anything is measured.
fn settle(options: &ProfilerOptions) -> Result<(Events, Option<CounterError>), ProfilerError> {
    use EventChoice as Choice;
    let wanted = options.events;
    if options.cortex_a53 && matches!(wanted, Choice::PerformanceCounters | Choice::None) {
        return Err(ProfilerError::Options(
            "--cortex-a53 computes times from callgrind's events: leave --events away",
        ));
    }
    if let Some(command) = &options.under {
        if command.trim().is_empty() {
            return Err(ProfilerError::Options("--under wants a command, as in qemu-x86_64"));
        }
        return match wanted {
            Choice::Auto | Choice::None => Ok((Events::None, None)),
            Choice::PerformanceCounters | Choice::Callgrind => {
                Err(ProfilerError::Options("--under takes times only: leave --events away"))
            }
        };
    }
    let callgrind = |reason| match is_installed("valgrind") {
        true => Ok((Events::Callgrind, reason)),
        false => Err(ProfilerError::NoValgrind),
    };
    match wanted {
        Choice::Auto if options.cortex_a53 => callgrind(None),
        Choice::Auto => match Counters::open(0) {
            Ok(_) => Ok((Events::Counters, None)),
            Err(error) => callgrind(Some(error)),
        },
        Choice::PerformanceCounters => {
            Counters::open(0)?;
            Ok((Events::Counters, None))
        }
        Choice::Callgrind => callgrind(None),
        Choice::None => Ok((Events::None, None)),
    }
}

/// Label of the workload and number of the group, as in `RW/12`.
fn id(run: &WorkloadRun, group: &MeasuredGroup) -> String {
    format!("{}/{}", run.workload.label, group.number)
}

/// The groups of all passes, joined. The first `counting` passes counted events and took no time.
fn join_passes(run: &WorkloadRun, measured: &ChildOutput, counting: usize) -> Vec<ProfiledGroup> {
    let Some(first) = measured.passes.first() else { return Vec::new() };
    let (counted, timed) = measured.passes.split_at(counting.min(measured.passes.len()));
    let profiled = |(place, group): (usize, &MeasuredGroup)| {
        let time = |pass: &Vec<MeasuredGroup>| pass.get(place).map(|group| group.ns);
        let mut events = BTreeMap::new();
        for pass in counted {
            events.extend(pass.get(place).map(|group| group.events.clone()).unwrap_or_default());
        }
        ProfiledGroup {
            id: id(run, group),
            counts: group.counts,
            ns: timed.iter().filter_map(time).collect(),
            events,
            callgrind: BTreeMap::new(),
        }
    };
    first.iter().enumerate().map(profiled).collect()
}

#[cfg(test)]
mod tests {
    use super::super::drive::{DriveSize, WorkCounts};
    use super::*;

    fn options(events: EventChoice, under: Option<&str>, cortex_a53: bool) -> ProfilerOptions {
        let setup = ProfileSetup {
            size: DriveSize::Small,
            group_requests: 1_000,
            scale: 10,
            groups_max: 4,
            warm_up: 1,
            seed: 0,
        };
        let (under, program) = (under.map(str::to_owned), "test".to_owned());
        ProfilerOptions { events, under, cortex_a53, repeats: 2, setup, program, child: Vec::new() }
    }

    #[test]
    fn options_that_contradict_each_other_are_refused() {
        let wrong = |events, under, cortex_a53| {
            let settled = settle(&options(events, under, cortex_a53));
            matches!(settled, Err(ProfilerError::Options(_)))
        };
        assert!(wrong(EventChoice::None, None, true));
        assert!(wrong(EventChoice::PerformanceCounters, None, true));
        assert!(wrong(EventChoice::Auto, Some(" "), false));
        assert!(wrong(EventChoice::Callgrind, Some("qemu"), false));
        let emulated = settle(&options(EventChoice::Auto, Some("qemu"), false)).unwrap();
        assert!(matches!(emulated, (Events::None, None)));
    }

    #[test]
    fn passes_are_joined_group_by_group() {
        let group = |number, ns, event: Option<(&str, u64)>| MeasuredGroup {
            number,
            counts: WorkCounts { requests: 1_000, ..WorkCounts::default() },
            ns,
            events: event.map(|(name, count)| (name.to_owned(), count)).into_iter().collect(),
        };
        let counted = |name, count| vec![group(0, 1, Some((name, count))), group(1, 1, None)];
        let timed = |ns| vec![group(0, ns, None), group(1, ns + 1, None)];
        let passes = vec![counted("INSTR", 5), counted("BR_INSTS", 6), timed(20), timed(30)];
        let workload = Workload::of("RW").unwrap();
        let run = WorkloadRun { workload, groups: 2, warm_up: 0, size: DriveSize::Small, seed: 0 };
        let joined = join_passes(&run, &ChildOutput { passes, missing: Vec::new() }, 2);
        assert_eq!((joined[0].id.as_str(), joined[1].id.as_str()), ("RW/0", "RW/1"));
        assert_eq!((&joined[0].ns, &joined[1].ns), (&vec![20, 30], &vec![21, 31]));
        assert_eq!((joined[0].events["INSTR"], joined[0].events["BR_INSTS"]), (5, 6));
        assert!(joined[1].events.is_empty());
    }
}
