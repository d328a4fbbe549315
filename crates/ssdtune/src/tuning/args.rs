//! Arguments that every tuning command takes, and the task that they describe.

use crate::autodb::DbArg;
use crate::context::Context;
use crate::device::{self, Overrides};
use crate::global::{real, whole};
use crate::interrupt::INTERRUPTED;
use crate::outcome::{Failure, Outcome};
use crate::preparation::PreparationArgs;
use crate::program::{self, Engine};
use crate::read_args::StrictArg;
use anyhow::anyhow;
use clap::builder::Resettable;
use ssdtune_experiment::{AddressFit, Age, Preparation, Start, former_initial_state};
use ssdtune_model::Bytes;
use ssdtune_tune::evaluate::{Evaluator, External, GradedBy};
use ssdtune_tune::limits::{Inequality, PriceLimit, StatedLimits};
use ssdtune_tune::search::Settings;
use ssdtune_tune::workload::parse_depth;
use ssdtune_tune::{DefaultSpace, JobOptions, LatencyFigure, TuningJob, Weights};
use std::path::PathBuf;
use std::time::Duration;

/// What `--start` is here.
const START_HELP: &str = "What drives hold at the start: `empty`, `footprint` (what is touched), \
    `sequential[:SHARE]`, `steady[:SHARE]` (as endless random overwrites leave that share). \
    Default: `footprint`; in a space of flash parts, without windows and --evaluator, `steady:0.9`";

/// Arguments that every tuning command takes.
#[derive(Debug, clap::Args)]
#[command(mut_arg("start", |start| start.default_value(Resettable::Reset).help(START_HELP)))]
pub(crate) struct TuneArgs {
    /// The workload to serve better: a bundled model (`ssdtune trace models`), a model file
    /// (.toml), a trace file, or NAME=FILE+FILE for a category of several traces.
    #[arg(long, value_name = "WORKLOAD")]
    target: String,

    /// The workloads not to hurt, named as --target is, with commas between them; `none` for none.
    /// Default: the other ones of AutoBlox's seven.
    #[arg(long, value_name = "A,B,C")]
    pub(crate) others: Vec<String>,

    /// The drive to beat: a preset, a TOML file, or an MQSim ssdconfig.xml. Default in a space of
    /// flash parts (`market`): intel-750-400gb, which was sold; else intel-750, the paper's.
    #[arg(long, value_name = "DEVICE")]
    device: Option<String>,

    #[command(flatten)]
    overrides: Overrides,

    /// The first requests of each trace, and as many of each model. Default: 100,000; but a trace
    /// file of more than 200,000 is passed over whole, and drives are measured on windows from all
    /// over it, with intervals (docs/sampling.md).
    #[arg(long, value_name = "N", value_parser = whole::<u32>(100..))]
    requests: Option<u32>,

    /// Seed of the traces that models generate. Default: --seed, which sets this and --search-seed.
    #[arg(long, value_name = "N", value_parser = whole::<u64>(..=i64::MAX as u64))]
    trace_seed: Option<u64>,

    /// Seed of all random choices of configurations. Default: --seed.
    #[arg(long, value_name = "N", value_parser = whole::<u64>(..=i64::MAX as u64))]
    search_seed: Option<u64>,

    /// What may change: `market` (flash parts, buses, links and memories that can be bought),
    /// `autoblox` (the paper's candidates), `what-if` (wide bounds), or a space file. Default:
    /// `market`, of whatif `what-if`.
    #[arg(long, value_name = "NAME|FILE.toml")]
    space: Option<String>,

    /// Further flash parts to choose from, in the form of configs/parts/market.toml. May be given
    /// more than once.
    #[arg(long, value_name = "FILE.toml")]
    parts: Vec<PathBuf>,

    /// What the result must keep to (TOML: capacity, interface, flash type, power, DRAM, prices,
    /// inequalities). What the file does not say is taken from the baseline.
    #[arg(long, value_name = "FILE.toml")]
    constraints: Option<PathBuf>,

    /// Largest average power on the target, in watt.
    #[arg(long, value_name = "W", value_parser = real(1e-9..=1e9))]
    power_budget: Option<f64>,

    /// Raw flash capacity to have, within a tenth, as in 512GiB or 1TB. A baseline of another
    /// capacity gets as many more or fewer blocks as that takes.
    #[arg(long, value_name = "SIZE")]
    capacity: Option<Bytes>,

    /// Capacity that the host must see, within a tenth: spare area then costs flash instead of
    /// taking from the host. Default in the space `market`: the baseline's.
    #[arg(long, value_name = "SIZE", conflicts_with = "capacity")]
    usable_capacity: Option<Bytes>,

    /// Highest price of the parts, as in 120, or as a factor of the baseline's, as in 1.2x. The
    /// prices are those of configs/prices/market.toml, unless a constraints file has others.
    /// Default in the space `market`: 1.1x.
    #[arg(long, value_name = "PRICE|FACTORx")]
    max_price: Option<PriceLimit>,

    /// Largest DRAM for cache and mapping table together, as in 1GiB.
    #[arg(long, value_name = "SIZE")]
    dram_budget: Option<Bytes>,

    /// One more condition, as in "bus.channels * bus.chips_per_channel <= 80". May be given more
    /// than once.
    #[arg(long, value_name = "INEQUALITY", value_parser = Inequality::parse)]
    require: Vec<Inequality>,

    /// Weight of throughput in a grade: (1 - A) ln(latency speedup) + A ln(throughput speedup). A
    /// grade of 0 is the baseline, 0.69 is twice as fast.
    #[arg(long, value_name = "A", default_value_t = 0.5, value_parser = real(0.0..=1.0))]
    alpha: f64,

    /// The latency that is graded: `mean`, or `p99` and `p99.9`, which 99 and 99.9 % of requests do
    /// not exceed. The last two are taken of whole traces, without windows.
    #[arg(long, value_name = "WHICH", default_value = "mean", conflicts_with = "evaluator")]
    grade_latency: LatencyFigure,

    /// Count each speedup as the lesser of two: by the rules of the drive's configuration, and by
    /// those of MQSim. Takes twice the time, and whole traces.
    #[arg(long, conflicts_with = "evaluator")]
    robust: bool,

    /// Weight of the other workloads in a grade: (1 - B) times that of the target and B times
    /// their mean.
    #[arg(long, value_name = "B", default_value_t = 0.1, value_parser = real(0.0..=1.0))]
    beta: f64,

    /// Requests outstanding in a workload's closed loop, as in websearch=256. May be given more
    /// than once. Default: what AutoBlox's artifact says, or 16.
    #[arg(long, value_name = "WORKLOAD=N", value_parser = parse_depth)]
    depth: Vec<(String, u32)>,

    #[command(flatten)]
    strict: StrictArg,

    /// What to do with addresses beyond the end of the smallest drive that the limits allow.
    /// Without it they are an error.
    #[arg(long, value_name = "wrap|compact")]
    fit_addresses: Option<AddressFit>,

    #[command(flatten)]
    preparation: PreparationArgs,

    /// Now --start and --age.
    #[arg(long, value_name = "STATE", hide = true, value_parser = former_initial_state)]
    #[arg(conflicts_with_all = ["start", "age"])]
    initial_state: Option<(Start, Vec<Age>)>,

    /// Measure with another simulator: a program that takes MQSim's two files, as in "sim
    /// {config.xml} {workload.xml}", or `mqsim:PATH` for MQSim itself.
    #[arg(long, value_name = "COMMAND")]
    evaluator: Option<String>,

    /// Longest time of one run of --evaluator, in seconds.
    #[arg(long, value_name = "S", default_value_t = 600, requires = "evaluator")]
    #[arg(value_parser = whole::<u64>(..))]
    timeout: u64,

    /// How often a failed run of --evaluator is tried again.
    #[arg(long, value_name = "N", default_value_t = 1, requires = "evaluator")]
    retries: u32,

    /// Have other processes and machines measure: `ray`, `dask` or `processes`. The result is the
    /// same. Only for `python -m ssdtune` (docs/cluster.md); without it this process measures.
    #[arg(long, value_name = "NAME", conflicts_with = "evaluator")]
    engine: Option<String>,

    /// Where the engine is: `auto` or HOST:PORT for `ray`, HOST:PORT for `dask`, how many for
    /// `processes`. Default: an engine of this machine alone.
    #[arg(long, value_name = "WHERE", requires = "engine")]
    address: Option<String>,

    #[command(flatten)]
    db: DbArg,

    /// Remember nothing beyond this run.
    #[arg(long, conflicts_with = "db")]
    no_db: bool,
}

/// What other workloads may lose, for all commands that recommend a drive.
#[derive(Debug, clap::Args)]
pub(crate) struct HarmArg {
    /// Largest share of its latency and of its throughput that each other workload may lose: 0.02
    /// is 2 %. Drives that take more on the traces of the search are no result, and the result is
    /// judged once more on validation traces, from which no proposal learns: other seeds of a
    /// model, the second half of a trace file. With 1 the others count in the grade only.
    #[arg(long, value_name = "SHARE", default_value_t = 0.02, value_parser = real(0.0..=1.0))]
    pub(crate) max_harm: f64,
}

/// What a search of `whatif` and `ablate` may spend.
#[derive(Debug, clap::Args)]
pub(crate) struct BudgetArgs {
    /// The most evaluations of the target that the proposals of one search may cost. A run on a
    /// prefix counts as its share of one; the baseline, and what is measured after the search, do
    /// not count.
    #[arg(long, value_name = "EVALS", default_value_t = 60, value_parser = whole::<u32>(1..))]
    budget: u32,

    /// Requests of the prefix that candidates are raced on; 0: no races. Default: a tenth.
    #[arg(long, value_name = "N")]
    prefix: Option<u32>,
}

impl BudgetArgs {
    /// The settings of a search; all others have their defaults.
    pub(crate) fn settings(&self, tune: &TuneArgs, context: &Context) -> Settings {
        Settings {
            seed: tune.search_seed(context),
            budget: self.budget.into(),
            prefix: tune.prefix_share(self.prefix),
            ..Settings::default()
        }
    }
}

impl TuneArgs {
    /// The seed of all random choices of configurations.
    pub(crate) fn search_seed(&self, context: &Context) -> u64 {
        self.search_seed.or(context.seed()).unwrap_or(0)
    }

    /// Whether a workload comes from standard input.
    pub(crate) fn reads_standard_input(&self) -> bool {
        let mut names = self.others.iter().chain([&self.target]);
        names.any(|name| name.split(['=', '+', ',']).any(|part| part.trim() == "-"))
    }

    /// The weights that --alpha and --beta state.
    pub(crate) fn weights(&self) -> Weights {
        Weights { alpha: self.alpha, beta: self.beta }
    }

    /// The share of a trace that a prefix is: a tenth if nothing is said, all of it for 0 requests.
    pub(crate) fn prefix_share(&self, requests: Option<u32>) -> f64 {
        let options = JobOptions::of_target("");
        JobOptions { requests: self.requests, ..options }.prefix_share(requests)
    }

    /// Loads everything. `default` is the space where none is named; others may lose `max_harm`.
    pub(crate) fn load(
        &self,
        default: DefaultSpace,
        weights: Weights,
        max_harm: Option<f64>,
        context: &Context,
    ) -> Outcome<TuningJob> {
        // Before traces are read, which may take long.
        let engine = self.engine()?;
        // The seed of the command line is the search's.
        let device = self.device.as_deref().unwrap_or(default.baseline(self.space.as_deref()));
        let (base, file) = device::load_own_seed(device, &self.overrides, context)?;
        let options = JobOptions { default, weights, max_harm, ..self.options(context)? };
        let real = file.calibrated.as_ref();
        let job = options.load(base, real, self.external()?).map_err(super::failure_of_job)?;
        job.note.iter().for_each(|note| context.note(note));
        job.warnings.iter().for_each(|warning| context.warn(warning));
        if let (Some(real), Some(outside)) = (real, &job.outside) {
            device::note_outside(real, outside, context);
        }
        let db = if self.no_db { None } else { Some(self.db.open(context)?) };
        let job = super::drawn(TuningJob { db, ..job }, context)?;
        let Some(engine) = engine else { return Ok(job) };
        context.wait_on(engine.workers);
        Ok(TuningJob { evaluator: (engine.handing)(job.evaluator)?, ..job })
    }

    /// The engine that measures, if one is named.
    fn engine(&self) -> Outcome<Option<Engine>> {
        let Some(name) = &self.engine else { return Ok(None) };
        let engines = program::engines().ok_or_else(|| {
            Failure::usage(anyhow!("--engine {name}: only `python -m ssdtune` has engines"))
        })?;
        engines.open(name, self.address.as_deref(), &INTERRUPTED).map(Some)
    }

    /// What the flags state of the job, but for what commands differ in.
    fn options(&self, context: &Context) -> Outcome<JobOptions> {
        Ok(JobOptions {
            others: self.others.clone(),
            requests: self.requests,
            trace_seed: self.trace_seed.or(context.seed()).unwrap_or(0),
            space: self.space.clone(),
            parts: self.parts.clone(),
            constraints: self.constraints.clone(),
            stated: StatedLimits {
                capacity: self.capacity,
                usable_capacity: self.usable_capacity,
                dram_budget: self.dram_budget,
                power_budget_watts: self.power_budget,
                max_price: self.max_price,
                require: self.require.clone(),
            },
            graded_by: GradedBy { latency: self.grade_latency, both_rules: self.robust },
            depths: self.depth.clone(),
            read: self.strict.options(context),
            fit: self.fit_addresses,
            preparation: self.preparation(context)?,
            ..JobOptions::of_target(self.target.clone())
        })
    }

    /// The program that measures, if one is named.
    fn external(&self) -> Outcome<Option<Box<dyn Evaluator>>> {
        let Some(command) = &self.evaluator else { return Ok(None) };
        let mut external = External::parse(command).map_err(Failure::usage)?;
        external.timeout = Duration::from_secs(self.timeout);
        external.retries = self.retries;
        Ok(Some(Box::new(external)))
    }

    /// What drives hold and have been through, if anything is said of it. Each drive has its own
    /// seed.
    fn preparation(&self, context: &Context) -> Outcome<Option<Preparation>> {
        if let Some((start, ages)) = &self.initial_state {
            let ages_in_words: String = ages.iter().map(|age| format!(" --age {age}")).collect();
            context.note(format_args!(
                "--initial-state is now --start and --age: write --start {start}{ages_in_words}"
            ));
            let preparation = Preparation::of(start.clone(), 0);
            return Ok(Some(Preparation { ages: ages.clone(), ..preparation }));
        }
        let PreparationArgs { start, age, erases } = &self.preparation;
        if *start == Some(Start::Empty) {
            context.warn("reads of what was never written cost no flash read: they flatter drives");
        }
        let is_stated = start.is_some() || !age.is_empty() || erases.is_some();
        is_stated.then(|| self.preparation.preparation(0)).transpose()
    }
}
