//! Searches and grades: options as Python states them, and jobs made of them.

use crate::device::Device;
use crate::failure::{failed, raised, wrong, wrong_data, wrong_text};
use crate::parse::{fit, parsed, preparation};
use crate::trace::Trace;
use pyo3::prelude::*;
use ssdtune::failure::{of_job, of_memory};
use ssdtune_experiment::Preparation;
use ssdtune_model::{Bytes, presets};
use ssdtune_trace::ReadOptions;
use ssdtune_tune::evaluate::{Evaluator, External, GradedBy};
use ssdtune_tune::limits::{Inequality, StatedLimits};
use ssdtune_tune::recommend::Pick;
use ssdtune_tune::search::{Algorithm, BeginOptions, OrderUse, Settings};
use ssdtune_tune::workload::HeldTrace;
use ssdtune_tune::{Aim, AutoDb, DefaultSpace, JobOptions, TuningJob, Weights};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

/// A workload by its name, or a trace in memory.
#[derive(FromPyObject)]
pub(crate) enum Named<'py> {
    Trace(PyRef<'py, Trace>),
    Name(PathBuf),
}

impl Named<'_> {
    /// The name of the workload; a trace is held under it, as the file of its name would be.
    fn name(&self, held: &mut Vec<HeldTrace>) -> String {
        let trace = match self {
            Self::Name(name) => return name.to_string_lossy().into_owned(),
            Self::Trace(trace) => trace,
        };
        let stem = Path::new(&trace.name).file_stem();
        let workload = stem.map_or(trace.name.clone(), |stem| stem.to_string_lossy().into_owned());
        held.push(HeldTrace {
            workload: workload.clone(),
            name: trace.name.clone(),
            requests: Arc::clone(&trace.requests),
            warnings: trace.warnings.clone(),
        });
        workload
    }
}

/// The flags of all tuning commands, and their values.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub(crate) struct TuneFlags<'py> {
    target: Named<'py>,
    others: Vec<Named<'py>>,
    device: Option<PyRef<'py, Device>>,
    requests: Option<u32>,
    seed: Option<u64>,
    trace_seed: Option<u64>,
    search_seed: Option<u64>,
    space: Option<String>,
    parts: Vec<PathBuf>,
    constraints: Option<PathBuf>,
    power_budget: Option<f64>,
    capacity: Option<String>,
    usable_capacity: Option<String>,
    max_price: Option<String>,
    dram_budget: Option<String>,
    require: Vec<String>,
    alpha: f64,
    beta: f64,
    grade_latency: String,
    robust: bool,
    depth: Vec<(String, u32)>,
    strict: bool,
    fit_addresses: Option<String>,
    start: Option<String>,
    age: Vec<String>,
    erases: Option<u32>,
    timeout: u64,
    retries: u32,
    db: PathBuf,
    no_db: bool,
    max_harm: Option<f64>,
}

impl TuneFlags<'_> {
    /// The seed of all random choices of configurations.
    fn search_seed(&self) -> u64 {
        self.search_seed.or(self.seed).unwrap_or(0)
    }

    fn options(&self, default: DefaultSpace) -> PyResult<JobOptions> {
        for (name, share) in [("alpha", self.alpha), ("beta", self.beta)] {
            if !(0.0..=1.0).contains(&share) {
                return Err(wrong_text(format!("{name} = {share}: a share from 0 to 1")));
            }
        }
        let mut held = Vec::new();
        let target = self.target.name(&mut held);
        let others = self.others.iter().map(|other| other.name(&mut held)).collect();
        let mut names: Vec<&str> = held.iter().map(|held| held.workload.as_str()).collect();
        names.sort_unstable();
        if let Some(twice) = names.windows(2).find(|pair| pair[0] == pair[1]) {
            return Err(wrong_text(format!("two traces are called {}: name them", twice[0])));
        }
        let latency = parsed("grade_latency", &self.grade_latency)?;
        Ok(JobOptions {
            others,
            held,
            requests: self.requests,
            trace_seed: self.trace_seed.or(self.seed).unwrap_or(0),
            space: self.space.clone(),
            default,
            parts: self.parts.clone(),
            constraints: self.constraints.clone(),
            stated: self.stated()?,
            weights: Weights { alpha: self.alpha, beta: self.beta },
            graded_by: GradedBy { latency, both_rules: self.robust },
            depths: self.depth.clone(),
            read: ReadOptions { strict: self.strict, ..ReadOptions::default() },
            fit: fit(self.fit_addresses.as_deref())?,
            preparation: self.preparation()?,
            max_harm: self.max_harm,
            ..JobOptions::of_target(target)
        })
    }

    fn stated(&self) -> PyResult<StatedLimits> {
        let size = |name: &str, text: &Option<String>| {
            text.as_deref().map(|text| parsed::<Bytes>(name, text)).transpose()
        };
        let require = self.require.iter().map(|text| {
            Inequality::parse(text)
                .map_err(|error| wrong_text(format!("require = {text}: {error}")))
        });
        let price = self.max_price.as_deref().map(|text| parsed("max_price", text));
        Ok(StatedLimits {
            capacity: size("capacity", &self.capacity)?,
            usable_capacity: size("usable_capacity", &self.usable_capacity)?,
            dram_budget: size("dram_budget", &self.dram_budget)?,
            power_budget_watts: self.power_budget,
            max_price: price.transpose()?,
            require: require.collect::<PyResult<_>>()?,
        })
    }

    fn preparation(&self) -> PyResult<Option<Preparation>> {
        if self.start.is_none() && self.age.is_empty() && self.erases.is_none() {
            return Ok(None);
        }
        preparation(self.start.as_deref(), &self.age, self.erases).map(Some)
    }

    /// The job, with its memory open. `evaluator` measures in place of the simulator.
    pub(crate) fn job(
        &self,
        default: DefaultSpace,
        evaluator: Option<Box<dyn Evaluator>>,
    ) -> PyResult<TuningJob> {
        let options = self.options(default)?;
        let (base, real) = match &self.device {
            Some(device) => (device.config.clone(), device.calibrated.as_deref()),
            None => {
                let preset = presets::load(default.baseline(self.space.as_deref()));
                (preset.map_err(wrong)?.check().map_err(wrong_data)?, None)
            }
        };
        let job = options.load(base, real, evaluator);
        let job = job.map_err(|error| raised(of_job(error)))?;
        let open = || AutoDb::open(&self.db).map_err(|error| raised(of_memory(error)));
        let db = if self.no_db { None } else { Some(open()?) };
        Ok(TuningJob { db, ..job })
    }

    /// The program of a command line, as an evaluator.
    pub(crate) fn program(&self, command: &str) -> PyResult<Box<dyn Evaluator>> {
        let mut external = External::parse(command).map_err(wrong)?;
        external.timeout = Duration::from_secs(self.timeout);
        external.retries = self.retries;
        Ok(Box::new(external))
    }
}

/// The flags of `ssdtune search` beside those of all tuning commands.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub(crate) struct SearchFlags {
    algorithm: String,
    budget: f64,
    batch: usize,
    top: usize,
    manhattan: u32,
    descent: usize,
    iterations: usize,
    exploration: f64,
    convergence: f64,
    patience: usize,
    prefix: Option<u32>,
    resume: bool,
    ignore_pruning: bool,
    ignore_order: bool,
    aim: Vec<String>,
    pick: String,
}

impl SearchFlags {
    pub(crate) fn aims(&self) -> PyResult<Vec<Aim>> {
        self.aim.iter().map(|text| parsed("aim", text)).collect()
    }

    pub(crate) fn pick(&self) -> PyResult<Pick> {
        parsed("pick", &self.pick)
    }

    /// The settings; `is_own` says that Python has the algorithm.
    pub(crate) fn settings(&self, tune: &TuneFlags<'_>, is_own: bool) -> PyResult<Settings> {
        let parse = || parsed("algorithm", &self.algorithm);
        let algorithm = if is_own { Algorithm::Own } else { parse()? };
        let aims = self.aims()?;
        let options = tune.options(DefaultSpace::of_search(&aims))?;
        let settings = Settings {
            algorithm,
            seed: tune.search_seed(),
            budget: self.budget,
            batch: self.batch,
            top: self.top,
            manhattan_max: self.manhattan,
            descent_max: self.descent,
            step_max: self.iterations,
            exploration: self.exploration,
            convergence: self.convergence,
            patience: self.patience,
            // Nobody races what Python proposes.
            prefix: if is_own { 1.0 } else { options.prefix_share(self.prefix) },
            aims,
        };
        settings.check().map_err(wrong_text)?;
        for (name, number) in [("batch", self.batch), ("top", self.top)] {
            if number == 0 {
                return Err(wrong_text(format!("{name} = 0: 1 at least")));
            }
        }
        Ok(settings)
    }

    pub(crate) fn begin(&self) -> BeginOptions {
        let order = OrderUse::stated(self.ignore_pruning, self.ignore_order);
        BeginOptions { resume: self.resume, order }
    }
}

/// A document as the command prints it with `--json`.
pub(crate) fn pretty(document: &impl serde::Serialize) -> PyResult<String> {
    Ok(serde_json::to_string_pretty(document).map_err(failed)? + "\n")
}
