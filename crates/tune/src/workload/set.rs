//! The workloads of a task by their names: a target, the others, and the same ones with other
//! requests, on which a result is judged.

use super::named::{HeldTrace, LoadOptions, NamedError, NamedWorkload, Sampling};
use super::{Workload, published_workloads};
use ssdtune_experiment::AddressFit;
use ssdtune_model::Sectors;
use ssdtune_trace::ReadOptions;
use ssdtune_trace::workload::{Seed, SeedSet};

/// The workloads of a task.
#[derive(Clone, Debug)]
pub struct WorkloadSet {
    /// The workload to serve better.
    pub target: Workload,
    /// The workloads not to hurt.
    pub others: Vec<Workload>,
    /// The others with requests that no proposal learns from; empty if that is not wanted.
    pub validation: Vec<Workload>,
    /// The target and the others with held-out seeds; of a target that is a trace file the requests
    /// that follow those of the search, or the windows that the search does not see. `None` if
    /// there are no further requests of one of them.
    pub held_out: Option<Vec<Workload>>,
}

/// How [`WorkloadSet::load`] reads or generates requests.
#[derive(Clone, Debug)]
pub struct SetOptions {
    /// Which stream of each set of seeds models generate.
    pub seed: u64,
    /// The greatest number of requests in each trace.
    pub requests: usize,
    /// The number of sectors of the smallest drive.
    pub space: Sectors,
    /// What to do with addresses beyond these; `None` makes them an error.
    pub fit: Option<AddressFit>,
    /// Requests outstanding in closed loops, by the names of workloads; the published depth for all
    /// others.
    pub depths: Vec<(String, u32)>,
    /// How trace files are read.
    pub read: ReadOptions,
    /// Whether the others are loaded for validation too.
    pub validate: bool,
    /// How traces that are too long to be run whole are sampled; `None`: their first requests are
    /// taken.
    pub sampled: Option<Sampling>,
    /// Traces in memory, which go before files and models of the same name.
    pub held: Vec<HeldTrace>,
}

/// Reads the depth of a workload's closed loop, as in `websearch=256`.
///
/// # Errors
/// A text that says what would be legal.
pub fn parse_depth(text: &str) -> Result<(String, u32), String> {
    let parsed = text.split_once('=').and_then(|(name, depth)| {
        let depth = depth.parse().ok().filter(|depth| (1..=65_536).contains(depth))?;
        Some((name.to_owned(), depth))
    });
    parsed.ok_or_else(|| "write WORKLOAD=N with N from 1 to 65536".to_owned())
}

impl WorkloadSet {
    /// Reads or generates the workloads with these names ([`NamedWorkload::parse`]). Names in
    /// `others` may be lists with commas; each workload is taken once, and the target not again.
    /// `none` stands for no others, and no name for the published ones.
    ///
    /// # Errors
    /// A name stands for nothing, a trace cannot be read, a model is not valid, or a depth is for a
    /// workload that is not named.
    pub fn load(target: &str, others: &[String], options: &SetOptions) -> Result<Self, NamedError> {
        let named = |name: &str| -> Result<NamedWorkload, NamedError> {
            match options.held.iter().find(|held| held.workload == name) {
                Some(held) => Ok(NamedWorkload::of_held(held.clone())),
                None => Ok(NamedWorkload::parse(name)?.read_as(options.read.clone())),
            }
        };
        let target = named(target)?;
        let others = named_others(others, &target, named)?;
        let all: Vec<&NamedWorkload> = std::iter::once(&target).chain(&others).collect();
        let known = |name: &str| all.iter().any(|own| own.name == name);
        if let Some((name, _)) = options.depths.iter().find(|(name, _)| !known(name)) {
            return Err(NamedError::NoDepth { name: name.clone() });
        }
        let seed = |set| Seed { set, index: options.seed };
        let load = |own: &NamedWorkload, set| own.load(&options.of(own, seed(set)));
        let is_judged = others.iter().all(NamedWorkload::can_hold_out);
        let training = options.of(&target, seed(SeedSet::Training));
        let (learned, judged) = match is_judged {
            true => target.load_and_hold_out(&training, seed(SeedSet::HeldOut))?,
            false => (target.load(&training)?, None),
        };
        let mut loaded =
            Self { target: learned, others: Vec::new(), validation: Vec::new(), held_out: None };
        for other in &others {
            let training = options.of(other, seed(SeedSet::Training));
            if options.validate {
                let (learned, judged) = other.load_twice(&training, seed(SeedSet::Validation))?;
                loaded.others.push(learned);
                loaded.validation.push(judged);
            } else {
                loaded.others.push(other.load(&training)?);
            }
        }
        if let Some(judged) = judged {
            let rest = others.iter().map(|own| load(own, SeedSet::HeldOut));
            loaded.held_out =
                Some(std::iter::once(Ok(judged)).chain(rest).collect::<Result<_, NamedError>>()?);
        }
        Ok(loaded)
    }

    /// What is to be said of the files that were read.
    pub fn warnings(&self) -> impl Iterator<Item = &String> {
        let learned = std::iter::once(&self.target).chain(&self.others);
        learned.flat_map(|own| &own.traces).flat_map(|trace| &trace.warnings)
    }
}

impl SetOptions {
    fn of(&self, own: &NamedWorkload, seed: Seed) -> LoadOptions {
        let &Self { requests, space, fit, sampled, .. } = self;
        let depth = self.depths.iter().find(|(name, _)| *name == own.name).map(|(_, depth)| *depth);
        LoadOptions { seed, requests, space, fit, depth, sampled }
    }
}

/// The other workloads, each once. The published ones may hold the target.
fn named_others(
    lists: &[String],
    target: &NamedWorkload,
    named: impl Fn(&str) -> Result<NamedWorkload, NamedError>,
) -> Result<Vec<NamedWorkload>, NamedError> {
    let parts = lists.iter().flat_map(|list| list.split(','));
    let mut names: Vec<&str> = parts.map(str::trim).filter(|name| !name.is_empty()).collect();
    if names == ["none"] {
        return Ok(Vec::new());
    }
    if names.is_empty() {
        names = published_workloads().iter().map(|one| one.name.as_str()).collect();
    }
    let mut others: Vec<NamedWorkload> = Vec::new();
    for name in names {
        let other = named(name)?;
        if other.name != target.name && others.iter().all(|own| own.name != other.name) {
            others.push(other);
        }
    }
    Ok(others)
}

#[cfg(test)]
mod tests {
    use super::*;
    use ssdtune_trace::Devices;

    fn options() -> SetOptions {
        SetOptions {
            seed: 0,
            requests: 9,
            space: Sectors(1 << 40),
            fit: None,
            depths: Vec::new(),
            read: ReadOptions::default(),
            validate: true,
            sampled: None,
            held: Vec::new(),
        }
    }

    fn load(
        target: &str,
        others: &[&str],
        depths: &[(&str, u32)],
    ) -> Result<WorkloadSet, NamedError> {
        let others: Vec<String> = others.iter().map(|name| (*name).to_owned()).collect();
        let depths = depths.iter().map(|(name, depth)| ((*name).to_owned(), *depth)).collect();
        let options = SetOptions { depths, ..options() };
        WorkloadSet::load(target, &others, &options)
    }

    #[test]
    fn each_other_workload_is_taken_once_and_never_the_target() {
        let names = |others: &[&str]| -> Vec<String> {
            let set = load("kvstore", others, &[]).unwrap();
            assert_eq!(set.validation.len(), set.others.len());
            assert_eq!(set.held_out.map_or(0, |all| all.len()), 1 + set.others.len());
            set.others.into_iter().map(|own| own.name).collect()
        };
        assert_eq!(names(&["websearch, recomm", "kvstore,websearch"]), ["websearch", "recomm"]);
        assert_eq!(names(&["none"]), [""; 0]);
        assert_eq!(names(&[]).len(), published_workloads().len() - 1);
    }

    #[test]
    fn a_depth_for_a_workload_that_is_not_there_is_refused() {
        let set = load("kvstore", &["websearch"], &[("websearch", 3)]).unwrap();
        assert_eq!(set.others[0].depth, 3);
        let wrong = load("kvstore", &["none"], &[("websearch", 3)]).unwrap_err().to_string();
        assert_eq!(wrong, "--depth websearch: no such workload here");
    }

    #[test]
    fn a_trace_in_memory_is_treated_as_the_file_of_its_name() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("own.csv");
        let row = |n: u64| format!("{},0,W,{},8\n", 1_000 * n, 8 * n);
        let rows: String = (0..300).map(row).collect();
        std::fs::write(&path, format!("time_ns,tenant,op,lba,sectors\n{rows}")).unwrap();
        let read = ReadOptions { devices: Devices::Merged, ..ReadOptions::default() };
        let (all, warnings) = ssdtune_experiment::read_first(&path, &read, 1_000).unwrap();
        let name = path.display().to_string();
        let held = HeldTrace {
            workload: "own".into(),
            name: name.clone(),
            requests: all.into(),
            warnings,
        };
        let load = |target: &str, requests: usize, held: Vec<HeldTrace>| {
            let options = SetOptions { requests, held, ..options() };
            let set = WorkloadSet::load(target, &["none".to_owned()], &options).unwrap();
            let loaded = std::iter::once(set.target).chain(set.held_out.into_iter().flatten());
            let told = |own: Workload| {
                let trace = &own.traces[0];
                (own.name.clone(), own.depth, trace.name.clone(), trace.requests().to_vec())
            };
            loaded.map(told).collect::<Vec<_>>()
        };
        for requests in [100, 1_000] {
            let from_file = load(&name, requests, Vec::new());
            assert_eq!(from_file, load("own", requests, vec![held.clone()]));
            assert_eq!((from_file.len(), from_file[0].3.len()), (2, requests.min(150)));
        }
    }
}
