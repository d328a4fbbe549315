//! Learning-based pruning (AutoBlox, section 3.3): which parameters matter for a workload, in which
//! order.
//!
//! **Coarse.** Every numeric parameter goes from its baseline to 16 times that, the others staying,
//! limits ignored; what never moves the performance is insensitive. Insensitive ones are then moved
//! in pairs, in case two hide each other. **Fine.** Configurations drawn within the limits are
//! measured, and Ridge regression of the performance on their encoded values gives each parameter a
//! coefficient: below 0.001 it is dropped, the rest are tuned in the order of absolute values.
//!
//! A parameter whose mechanism the runs never used (no garbage collected, no mapping missed) is
//! *not exercised*: nothing is known about it, which is not the same as insensitive. One that the
//! catalogue calls without effect in this drive is reported so, and not run.
//!
//! Cost: five runs for each parameter, one for each pair, and the drawn samples, all on the target.

mod coarse;
mod fine;
mod text;

pub use text::text;

use crate::error::TuneError;
use crate::evaluate::{CachedEvaluator, WorkloadMeasurement};
use crate::memory::{AutoDb, DbError, RecordKind};
use crate::space::{OrderedParameter, TuningOrder};
use crate::task::Task;
use serde::{Deserialize, Serialize};
use ssdtune_model::CheckedConfig;

/// How to prune.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PruneSettings {
    /// A parameter that moves the performance (a logarithm) by less is insensitive.
    pub flat: f64,
    /// Whether insensitive parameters are moved in pairs.
    pub pairs: bool,
    /// Configurations drawn for the regression.
    pub samples: usize,
    /// Penalty of the regression.
    pub penalty: f64,
    /// Coefficients below this are dropped.
    pub threshold: f64,
    /// Seed of the draws.
    pub seed: u64,
}

impl Default for PruneSettings {
    /// The paper's threshold of 0.001; the artifact's penalty of 1; a performance within half a
    /// percent is flat.
    fn default() -> Self {
        Self { flat: 0.005, pairs: true, samples: 100, penalty: 1.0, threshold: 0.001, seed: 0 }
    }
}

/// What is known of a parameter after the sweep.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Finding {
    /// It moves the performance.
    Sensitive,
    /// It does not.
    Insensitive,
    /// It does not alone, but together with this one.
    SensitiveWith(String),
    /// The runs never used this mechanism, so nothing is known.
    NotExercised(String),
    /// It has no effect in this drive, for this reason.
    NoEffect(String),
    /// It cannot be swept, for this reason.
    NotSwept(String),
}

/// One row of the coarse table.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Sweep {
    /// The parameter.
    pub key: String,
    /// Its values, the baseline's first.
    pub values: Vec<f64>,
    /// Formula 1 at each; `None` where the drive is impossible or cannot serve.
    pub performances: Vec<Option<f64>>,
    /// What it means.
    pub finding: Finding,
}

/// One row of the fine table.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Coefficient {
    /// The parameter.
    pub key: String,
    /// Its coefficient; of a category, the one of its names that is greatest.
    pub coefficient: f64,
    /// Whether it stays.
    pub kept: bool,
}

/// What pruning found: a record of [`RecordKind::Pruning`].
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Pruning {
    /// The workload.
    pub target: String,
    /// The baseline.
    pub baseline: String,
    /// The space.
    pub space: String,
    /// How it was done.
    pub settings: PruneSettings,
    /// The coarse table.
    pub coarse: Vec<Sweep>,
    /// Pairs of insensitive parameters that were moved together.
    pub pairs_tried: usize,
    /// The fine table, greatest first.
    pub fine: Vec<Coefficient>,
    /// Samples that the regression had.
    pub samples: usize,
    /// Share of the variance it explains.
    pub r_squared: f64,
    /// The parameters to tune, in order.
    pub order: TuningOrder,
}

impl Pruning {
    fn key(target: &str, baseline: &str, space: &str) -> Vec<u8> {
        format!("{target}/{baseline}/{space}").into_bytes()
    }

    /// What was found for a task, if anything was.
    ///
    /// # Errors
    /// AutoDB fails.
    pub fn load(db: &AutoDb, task: &Task) -> Result<Option<Self>, DbError> {
        let key = Self::key(&task.target.name, &task.base.name, &task.space.name);
        Ok(db.get::<Self>(RecordKind::Pruning, &key)?.map(|stored| stored.value))
    }

    /// Stores it, in the place of what was known.
    ///
    /// # Errors
    /// AutoDB fails.
    pub fn store(&self, db: &AutoDb) -> Result<(), DbError> {
        let key = Self::key(&self.target, &self.baseline, &self.space);
        db.put(RecordKind::Pruning, &key, self).map(|_| ())
    }
}

/// Prunes the parameters of a task for its target. `tell` is told what comes next.
///
/// # Errors
/// Measuring fails, the caller asked to stop, or the baseline cannot serve the target.
pub fn prune(
    task: &Task,
    settings: &PruneSettings,
    evaluator: &CachedEvaluator,
    tell: &mut dyn FnMut(&'static str),
) -> Result<Pruning, TuneError> {
    let meter = TargetMeter::new(task, evaluator)?;
    tell("coarse: sweeping every numeric parameter");
    let mut coarse = coarse::sweep(&meter, settings)?;
    let mut pairs_tried = 0;
    if settings.pairs {
        tell("coarse: moving insensitive parameters in pairs");
        pairs_tried = coarse::pairs(&meter, settings, &mut coarse)?;
    }
    tell("fine: measuring drawn configurations");
    let fine = fine::regress(&meter, settings, &coarse)?;
    let order = fine
        .table
        .iter()
        .filter(|row| row.kept)
        .map(|row| OrderedParameter { key: row.key.clone(), coefficient: row.coefficient });
    Ok(Pruning {
        target: task.target.name.clone(),
        baseline: task.base.name.clone(),
        space: task.space.name.clone(),
        settings: settings.clone(),
        order: TuningOrder(order.collect()),
        coarse,
        pairs_tried,
        fine: fine.table,
        samples: fine.samples,
        r_squared: fine.r_squared,
    })
}

/// The target and its baseline.
struct TargetMeter<'a> {
    task: &'a Task,
    evaluator: &'a CachedEvaluator<'a>,
    baseline: WorkloadMeasurement,
}

impl<'a> TargetMeter<'a> {
    fn new(task: &'a Task, evaluator: &'a CachedEvaluator<'a>) -> Result<Self, TuneError> {
        let baseline = task.baseline_on(&[&task.target], evaluator)?.remove(0);
        Ok(Self { task, evaluator, baseline })
    }

    /// Measurements of drives on the target.
    fn measure(
        &self,
        configs: &[CheckedConfig],
    ) -> Result<Vec<Option<WorkloadMeasurement>>, TuneError> {
        let questions: Vec<_> = configs.iter().map(|config| (config, &self.task.target)).collect();
        Ok(self.evaluator.measure_workloads(&questions)?.into_iter().map(Result::ok).collect())
    }

    fn performance(&self, measured: &WorkloadMeasurement) -> f64 {
        self.task.weights.performance(&measured.speedup_over(&self.baseline))
    }
}

#[cfg(test)]
mod tests;
