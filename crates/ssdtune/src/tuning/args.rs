//! Arguments that every tuning command takes, and what they ask for.

use super::workloads::{Named, split};
use crate::context::Context;
use crate::device::{self, Overrides};
use crate::outcome::{Failure, Outcome};
use crate::preparation::PreparationArgs;
use anyhow::anyhow;
use ssdtune_experiment::{Age, Preparation, Start};
use ssdtune_model::ledger::Ledger;
use ssdtune_model::source::read_text;
use ssdtune_model::{CheckedConfig, Sectors};
use ssdtune_trace::workload::SeedSet;
use ssdtune_tune::evaluate::{Evaluator, External, InProcess};
use ssdtune_tune::limits::Limits;
use ssdtune_tune::memory::AutoDb;
use ssdtune_tune::space::Space;
use ssdtune_tune::workload::{Workload, published_workloads};
use ssdtune_tune::{Task, Weights};
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Arguments that every tuning command takes.
#[derive(Debug, clap::Args)]
#[command(mut_arg("start", |start| start.default_value("footprint")))]
pub(crate) struct TuneArgs {
    /// The workload to serve: a bundled model (`ssdtune trace models`), a model file (.toml), a
    /// trace file, or NAME=FILE+FILE for a category of several traces.
    #[arg(long, value_name = "WORKLOAD")]
    pub(crate) target: String,

    /// The workloads not to hurt, separated by commas, named likewise; `none` for none. Default:
    /// the rest of AutoBlox's seven.
    #[arg(long, value_name = "A,B,C")]
    pub(crate) others: Vec<String>,

    /// The drive to beat: a preset, a TOML file, or an MQSim ssdconfig.xml.
    #[arg(long, value_name = "DEVICE", default_value = "intel-750")]
    pub(crate) device: String,

    #[command(flatten)]
    pub(crate) overrides: Overrides,

    /// Requests of each trace.
    #[arg(long, value_name = "N", default_value_t = 100_000)]
    #[arg(value_parser = clap::value_parser!(u32).range(100..))]
    pub(crate) requests: u32,

    /// Seed of the traces that models generate. Default: --seed, which sets this and --search-seed.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(..=i64::MAX as u64))]
    pub(crate) trace_seed: Option<u64>,

    /// Seed of everything that is drawn while configurations are proposed. Default: --seed.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(..=i64::MAX as u64))]
    pub(crate) search_seed: Option<u64>,

    /// What may change: `autoblox` (the paper's candidates), `what-if` (wide bounds), or a space
    /// file.
    #[arg(long, value_name = "NAME|FILE.toml")]
    pub(crate) space: Option<String>,

    /// What the result must keep to (TOML: capacity, interface, flash type, power, DRAM, prices,
    /// inequalities). What it does not say is taken from the baseline.
    #[arg(long, value_name = "FILE.toml")]
    pub(crate) constraints: Option<PathBuf>,

    /// Average power on the target not to be exceeded, in watt.
    #[arg(long, value_name = "W")]
    pub(crate) power_budget: Option<f64>,

    /// Raw flash capacity to have, within a tenth, as in 512GiB.
    #[arg(long, value_name = "SIZE")]
    pub(crate) capacity: Option<String>,

    /// DRAM for cache and mapping table not to be exceeded, as in 1GiB.
    #[arg(long, value_name = "SIZE")]
    pub(crate) dram_budget: Option<String>,

    /// A condition more, as in "bus.channels * bus.chips_per_channel <= 80"; may be given often.
    #[arg(long, value_name = "INEQUALITY")]
    pub(crate) require: Vec<String>,

    /// Weight of throughput against latency (formula 1).
    #[arg(long, value_name = "A", default_value_t = 0.5, value_parser = share)]
    pub(crate) alpha: f64,

    /// Weight of the other workloads against the target (formula 2).
    #[arg(long, value_name = "B", default_value_t = 0.1, value_parser = share)]
    pub(crate) beta: f64,

    /// Requests outstanding in a workload's closed loop, as in websearch=256; may be given often.
    /// Default: what AutoBlox's artifact says, or 16.
    #[arg(long, value_name = "WORKLOAD=N")]
    pub(crate) depth: Vec<String>,

    #[command(flatten)]
    pub(crate) preparation: PreparationArgs,

    /// Now --start and --age.
    #[arg(long, value_name = "STATE", hide = true, value_parser = former_state)]
    #[arg(conflicts_with_all = ["start", "age"])]
    pub(crate) initial_state: Option<Former>,

    /// Measure with another simulator: a program that takes MQSim's two files, as in "sim
    /// {config.xml} {workload.xml}", or `mqsim:PATH` for MQSim itself.
    #[arg(long, value_name = "COMMAND")]
    pub(crate) evaluator: Option<String>,

    /// Longest time of one run of --evaluator, in seconds.
    #[arg(long, value_name = "S", default_value_t = 600, requires = "evaluator")]
    pub(crate) timeout: u64,

    /// How often a failed run of --evaluator is tried again.
    #[arg(long, value_name = "N", default_value_t = 1, requires = "evaluator")]
    pub(crate) retries: u32,

    /// AutoDB to remember in; it is made if absent.
    #[arg(long, value_name = "DIR", env = "SSDTUNE_DB", default_value = "ssdtune.autodb")]
    pub(crate) db: PathBuf,

    /// Remember nothing beyond this run.
    #[arg(long, conflicts_with = "db")]
    pub(crate) no_db: bool,
}

fn share(text: &str) -> Result<f64, String> {
    let share = text.parse().ok().filter(|share| (0.0..=1.0).contains(share));
    share.ok_or_else(|| "write a number between 0 and 1".to_owned())
}

/// What the former flag `--initial-state` named.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Former(Start, Vec<Age>);

fn former_state(text: &str) -> Result<Former, String> {
    let wrong = "write --start footprint, --start empty, --start steady:SHARE, or \
                 --start sequential:SHARE --age random:N";
    let state = || match text.split_once(':') {
        None if ["footprint", "empty"].contains(&text) => Some(Former(text.parse().ok()?, vec![])),
        Some(("steady", _)) => Some(Former(text.parse().ok()?, vec![])),
        Some(("filled", rest)) => {
            let (share, times) = rest.split_once(':').unwrap_or((rest, "0"));
            let start = format!("sequential:{share}").parse().ok()?;
            Some(Former(start, vec![format!("random:{times}").parse().ok()?]))
        }
        _ => None,
    };
    state().ok_or_else(|| wrong.to_owned())
}

/// How far a search may go where the arguments do not say.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Bounds {
    /// As drives on the market.
    Market,
    /// Beyond them.
    Wide,
}

impl Bounds {
    const fn space(self) -> &'static str {
        match self {
            Self::Market => "autoblox",
            Self::Wide => "what-if",
        }
    }
}

/// What a tuning command works on, as the arguments say it. It does not change once it is loaded.
pub(crate) struct TuningJob {
    pub(crate) task: Task,
    /// Workloads of other seeds, which no decision may see: the target, then the others. `None`
    /// where a workload is a trace file, which has no other seeds.
    pub(crate) held_out: Option<Vec<Workload>>,
    pub(crate) evaluator: Box<dyn Evaluator>,
    pub(crate) db: Option<AutoDb>,
}

impl TuningJob {
    /// The same question about the held-out workloads; `None` where there are none.
    pub(crate) fn on_held_out(self) -> Option<Self> {
        let mut workloads = self.held_out?;
        let target = workloads.remove(0);
        let task = Task { target, others: workloads, ..self.task };
        Some(Self { task, held_out: None, ..self })
    }
}

impl TuneArgs {
    /// The seed of what is drawn while configurations are proposed.
    pub(crate) fn search_seed(&self, context: &Context) -> u64 {
        self.search_seed.or(context.seed()).unwrap_or(0)
    }

    /// The weights that --alpha and --beta state.
    pub(crate) fn weights(&self) -> Weights {
        Weights { alpha: self.alpha, beta: self.beta }
    }

    /// Loads everything. `bounds` are those of what the arguments do not limit.
    pub(crate) fn load(
        &self,
        bounds: Bounds,
        weights: Weights,
        context: &Context,
    ) -> Outcome<TuningJob> {
        let base = self.base()?;
        let space = self.space.as_deref().unwrap_or(bounds.space());
        let space = load_space(space)?.around(&base);
        let limits = self.limits(&base, bounds)?;
        let (mut workloads, held_out) = self.workloads(smallest_space(&base, &limits), context)?;
        let target = workloads.remove(0);
        let task = Task { base, space, limits, target, others: workloads, weights };
        let db = match self.no_db {
            true => None,
            false => Some(AutoDb::open(&self.db).map_err(|error| Failure::Work(error.into()))?),
        };
        let evaluator = self.evaluator(context)?;
        Ok(TuningJob { task, held_out, evaluator, db })
    }

    /// The workloads, the target first, and those of held-out seeds if all of them have such seeds.
    fn workloads(
        &self,
        smallest: Sectors,
        context: &Context,
    ) -> Outcome<(Vec<Workload>, Option<Vec<Workload>>)> {
        let target = Named::parse(&self.target)?;
        let others = self.others(&target)?;
        let depths = self.depths()?;
        let all: Vec<&Named> = std::iter::once(&target).chain(&others).collect();
        if let Some(name) = depths.iter().find(|(name, _)| all.iter().all(|own| own.name != *name))
        {
            return Err(Failure::usage(anyhow!("--depth {}: no such workload here", name.0)));
        }
        let seed = self.trace_seed.or(context.seed()).unwrap_or(0);
        let load = |set: SeedSet| {
            let one = |own: &&Named| {
                let depth = depths.iter().find(|(name, _)| *name == own.name).map(|(_, n)| *n);
                own.load(set, seed, self.requests as usize, smallest, depth)
            };
            all.iter().map(one).collect::<Outcome<Vec<Workload>>>()
        };
        let training = load(SeedSet::Training)?;
        let held_out = match all.iter().all(|own| own.can_hold_out()) {
            true => Some(load(SeedSet::HeldOut)?),
            false => None,
        };
        Ok((training, held_out))
    }

    /// The baseline. The seed of the command line is the search's; a drive keeps its own.
    fn base(&self) -> Outcome<CheckedConfig> {
        let pairs: Vec<(String, String)> =
            (self.overrides.set.iter()).map(|set| (set.key.clone(), set.value.clone())).collect();
        let loaded = ssdtune_mqsim::load(&self.device, &pairs).map_err(device::failure)?;
        loaded.config.check().map_err(Failure::usage)
    }

    fn evaluator(&self, context: &Context) -> Outcome<Box<dyn Evaluator>> {
        let Some(command) = &self.evaluator else {
            let in_process = InProcess::new(self.preparation(context)?).map_err(Failure::usage)?;
            return Ok(Box::new(in_process));
        };
        let mut external = External::parse(command).map_err(Failure::usage)?;
        external.timeout = Duration::from_secs(self.timeout);
        external.retries = self.retries;
        Ok(Box::new(external))
    }

    /// What drives are prepared like; each has its own seed.
    fn preparation(&self, context: &Context) -> Outcome<Preparation> {
        let Some(Former(start, ages)) = &self.initial_state else {
            return self.preparation.preparation(0);
        };
        let ages_in_words: String = ages.iter().map(|age| format!(" --age {age}")).collect();
        context.note(format_args!(
            "--initial-state is now --start and --age: write --start {start}{ages_in_words}"
        ));
        Ok(Preparation { ages: ages.clone(), ..Preparation::of(start.clone(), 0) })
    }

    fn limits(&self, base: &CheckedConfig, bounds: Bounds) -> Outcome<Limits> {
        let mut limits = match &self.constraints {
            Some(path) => {
                let text = read_text(path).map_err(device::failure)?;
                let name = path.display().to_string();
                Limits::parse(&text).map_err(|faults| Failure::input(faults.in_file(&name)))?
            }
            None => Limits::default(),
        };
        let bytes = |option: &str, text: &str| {
            let parsed = ssdtune_model::catalogue::Unit::Bytes.parse_int(text);
            parsed.filter(|bytes| *bytes > 0).map(ssdtune_model::Bytes).ok_or_else(|| {
                Failure::usage(anyhow!("{option} {text}: write a size such as 512GiB"))
            })
        };
        if let Some(text) = &self.capacity {
            limits.constraints.capacity = Some(bytes("--capacity", text)?);
            limits.constraints.capacity_tolerance = 0.1;
        }
        if let Some(text) = &self.dram_budget {
            limits.constraints.dram_budget = Some(bytes("--dram-budget", text)?);
        }
        if let Some(watts) = self.power_budget {
            if !(watts.is_finite() && watts > 0.0) {
                return Err(Failure::usage(anyhow!("--power-budget {watts}: write watts above 0")));
            }
            limits.constraints.power_budget_watts = Some(watts);
        }
        match bounds {
            Bounds::Market => limits.complete_from(base),
            Bounds::Wide => limits.complete_widely_from(base),
        }
        for text in &self.require {
            let own = ssdtune_tune::limits::Inequality::parse(text)
                .map_err(|reason| Failure::usage(anyhow!("--require {text}: {reason}")))?;
            limits.inequalities.push(own);
        }
        Ok(limits)
    }

    fn others(&self, target: &Named) -> Outcome<Vec<Named>> {
        let names = split(&self.others);
        if names == ["none"] {
            return Ok(Vec::new());
        }
        let names: Vec<String> = match names.is_empty() {
            true => published_workloads().iter().map(|one| one.name.clone()).collect(),
            false => names,
        };
        let mut others: Vec<Named> = Vec::new();
        for name in &names {
            let other = Named::parse(name)?;
            let known = |own: &Named| own.name == other.name;
            // The default list may hold the target; a list that was written out should not.
            if !known(target) && !others.iter().any(known) {
                others.push(other);
            }
        }
        Ok(others)
    }

    fn depths(&self) -> Outcome<Vec<(String, u32)>> {
        let one = |text: &String| {
            let parsed = text.split_once('=').and_then(|(name, depth)| {
                let depth = depth.parse().ok().filter(|depth| (1..=65_536).contains(depth))?;
                Some((name.to_owned(), depth))
            });
            parsed.ok_or_else(|| {
                Failure::usage(anyhow!("--depth {text}: write WORKLOAD=N with N from 1 to 65536"))
            })
        };
        self.depth.iter().map(one).collect()
    }
}

/// A built-in space or a file.
pub(crate) fn load_space(name: &str) -> Outcome<Space> {
    match name {
        "autoblox" => Ok(Space::autoblox()),
        "what-if" => Ok(Space::what_if()),
        path if path.ends_with(".toml") => {
            let text = read_text(Path::new(path)).map_err(device::failure)?;
            Space::parse(&text).map_err(|faults| Failure::input(faults.in_file(path)))
        }
        _ => {
            Err(Failure::usage(anyhow!("--space {name}: write autoblox, what-if, or a .toml file")))
        }
    }
}

/// Sectors that the smallest drive within the limits shows the host, so that a trace means the same
/// on all.
fn smallest_space(base: &CheckedConfig, limits: &Limits) -> Sectors {
    /// The most over-provisioning of any space.
    const HIDDEN: f64 = 0.4;
    let raw = limits.constraints.capacity.unwrap_or(Ledger::of(base).raw_bytes);
    let least = raw.0 as f64 * (1.0 - limits.constraints.capacity_tolerance) * (1.0 - HIDDEN);
    Sectors((least / 512.0) as u64)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Every form of the former flag, and what to write instead.
    #[test]
    fn the_former_flag_means_what_it_meant() {
        let sequential =
            |share, times| Former(Start::sequential(share), vec![Age::Random { times }]);
        for (text, now) in [
            ("footprint", Former(Start::Footprint, vec![])),
            ("empty", Former(Start::Empty, vec![])),
            ("steady:0.7", Former(Start::steady(0.7), vec![])),
            ("filled:0.5", sequential(0.5, 0)),
            ("filled:0.5:2", sequential(0.5, 2)),
        ] {
            assert_eq!(former_state(text), Ok(now), "{text}");
        }
        for wrong in ["", "full", "steady", "steady:2", "filled", "filled:x", "filled:0.5:101"] {
            assert!(former_state(wrong).is_err(), "{wrong}");
        }
    }
}
