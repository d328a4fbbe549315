//! Learning-based pruning (AutoBlox, section 3.3): which parameters matter for a workload, and in
//! which order to tune them.
//!
//! **Coarse stage.** Every numeric parameter is swept from its baseline value to 16 times that.
//! Values that make a drive too large to be held in memory are left out (`coarse`).
//! Other parameters stay, and limits are ignored. A parameter that never changes the performance is
//! insensitive. Insensitive parameters are then changed in pairs, because two may hide each other's
//! effect.
//!
//! **Fine stage.** Random configurations within the limits are measured. Ridge regression of the
//! performance on their encoded values gives each parameter a coefficient. Parameters below a
//! threshold are dropped, and the others are tuned in the order of absolute coefficients.
//!
//! A parameter whose mechanism no run used (such as garbage collection) is *not exercised*: nothing
//! is known about it, so it does not count as insensitive. A parameter that the catalogue calls
//! without effect in this drive is reported as such and not run.
//!
//! Cost: four evaluations for each parameter, one for each pair, and one for each random
//! configuration, all on the target.

mod coarse;
mod fine;
mod text;

pub use text::text;

use crate::error::TuneError;
use crate::evaluate::{CachedEvaluator, WorkloadMeasurement};
use crate::memory::{AutoDb, DbError, RecordKind};
use crate::space::{OrderedParameter, TuningOrder};
use crate::task::Task;
use crate::workload::Workload;
use serde::{Deserialize, Serialize};
use ssdtune_model::CheckedConfig;

/// Settings of a pruning. Field names are part of the format of AutoDB.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PruneSettings {
    /// A parameter that changes the performance (a logarithm) by less than this is insensitive.
    pub flat: f64,
    /// Whether insensitive parameters are changed in pairs too.
    pub pairs: bool,
    /// The number of random configurations for the regression.
    pub samples: usize,
    /// The penalty of the Ridge regression, 0 or more.
    pub penalty: f64,
    /// Parameters whose absolute coefficient is below this are dropped.
    pub threshold: f64,
    /// The seed of the random configurations.
    pub seed: u64,
}

impl Default for PruneSettings {
    /// The paper's threshold of 0.001, and the artifact's penalty of 1. Changes of performance
    /// below half a percent count as none.
    fn default() -> Self {
        Self { flat: 0.005, pairs: true, samples: 100, penalty: 1.0, threshold: 0.001, seed: 0 }
    }
}

/// What the coarse stage found out about a parameter. Names of variants are part of the format of
/// AutoDB.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Finding {
    /// The parameter changes the performance.
    Sensitive,
    /// The parameter does not change the performance.
    Insensitive,
    /// The parameter changes the performance only together with another one, whose key is given.
    SensitiveWith(String),
    /// Nothing is known about the parameter, because no run used its mechanism, which is given.
    NotExercised(String),
    /// The parameter has no effect in this drive. The text says why.
    NoEffect(String),
    /// The parameter cannot be swept. The text says why.
    NotSwept(String),
}

/// One row of the coarse table. Field names are part of the format of AutoDB.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Sweep {
    /// The key of the parameter in the catalogue.
    pub key: String,
    /// The values of the sweep, the baseline's first.
    pub values: Vec<f64>,
    /// The performance (formula 1) at each value; 0 is the baseline. `None` where there is no such
    /// drive or it cannot serve the target.
    pub performances: Vec<Option<f64>>,
    /// The conclusion from these performances.
    pub finding: Finding,
}

/// One row of the fine table. Field names are part of the format of AutoDB.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Coefficient {
    /// The key of the parameter in the catalogue.
    pub key: String,
    /// The coefficient of the parameter; for a category, that of the name whose coefficient is
    /// greatest in absolute value.
    pub coefficient: f64,
    /// Whether the parameter is to be tuned.
    pub kept: bool,
}

/// The result of a pruning: a record of [`RecordKind::Pruning`]. Field names are part of the format
/// of AutoDB.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Pruning {
    /// The name of the target workload.
    pub target: String,
    /// The name of the baseline.
    pub baseline: String,
    /// The name of the space.
    pub space: String,
    /// The settings of the pruning.
    pub settings: PruneSettings,
    /// The table of the coarse stage, in the order of the catalogue.
    pub coarse: Vec<Sweep>,
    /// The number of pairs of insensitive parameters that were changed together.
    pub pairs_tried: usize,
    /// The table of the fine stage, greatest absolute coefficient first.
    pub fine: Vec<Coefficient>,
    /// The number of samples of the regression, the baseline included.
    pub samples: usize,
    /// The share of the variance that the regression explains, up to 1.
    pub r_squared: f64,
    /// The parameters to tune, in order.
    pub order: TuningOrder,
}

impl Pruning {
    fn key(target: &str, baseline: &str, space: &str) -> Vec<u8> {
        format!("{target}/{baseline}/{space}").into_bytes()
    }

    /// Reads the stored result for a task's target, baseline and space; `None` where there is none.
    ///
    /// # Errors
    /// Reading AutoDB fails.
    pub fn load(db: &AutoDb, task: &Task) -> Result<Option<Self>, DbError> {
        let key = Self::key(&task.target.name, &task.base.name, &task.space.name);
        Ok(db.get::<Self>(RecordKind::Pruning, &key)?.map(|stored| stored.value))
    }

    /// Stores the result. It replaces an earlier one for this target, baseline and space.
    ///
    /// # Errors
    /// Writing AutoDB fails.
    pub fn store(&self, db: &AutoDb) -> Result<(), DbError> {
        let key = Self::key(&self.target, &self.baseline, &self.space);
        db.put(RecordKind::Pruning, &key, self).map(|_| ())
    }
}

/// How far a stage is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Step<'a> {
    /// What is being done.
    pub stage: &'a str,
    /// Drives of the stage that were measured; 0 where it begins.
    pub done: usize,
    /// All drives of the stage.
    pub drives: usize,
}

/// Prunes the parameters of a task for its target. Calls `tell` where a stage begins, and as its
/// drives are measured.
///
/// # Errors
/// Measuring fails, the caller asked to stop, or the baseline cannot serve the target.
pub fn prune(
    task: &Task,
    settings: &PruneSettings,
    evaluator: &CachedEvaluator,
    tell: &dyn Fn(Step<'_>),
) -> Result<Pruning, TuneError> {
    let meter = TargetMeter::new(task, evaluator, tell)?;
    let mut coarse = coarse::sweep(&meter, settings)?;
    let mut pairs_tried = 0;
    if settings.pairs {
        pairs_tried = coarse::pairs(&meter, settings, &mut coarse)?;
    }
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

/// Measures drives on the target and compares them with the baseline.
struct TargetMeter<'a> {
    task: &'a Task,
    evaluator: &'a CachedEvaluator<'a>,
    target: Workload,
    baseline: WorkloadMeasurement,
    tell: &'a dyn Fn(Step<'_>),
}

/// Drives that are measured between two steps.
const TOLD_EACH: usize = 50;

/// The share of a long trace's windows that drives are measured on: effects are those of one drive
/// beside another on the same windows, and there are some hundred of them.
const WINDOWS_SHARE: f64 = 1.0 / 3.0;

impl<'a> TargetMeter<'a> {
    fn new(
        task: &'a Task,
        evaluator: &'a CachedEvaluator<'a>,
        tell: &'a dyn Fn(Step<'_>),
    ) -> Result<Self, TuneError> {
        let target = task.target.with_fewer_windows(WINDOWS_SHARE);
        let baseline = task.baseline_on(&[&target], evaluator)?.remove(0);
        Ok(Self { task, evaluator, target, baseline, tell })
    }

    /// Measures drives on the target; `None` for a drive that cannot serve it.
    ///
    /// A drive of more pages than the baseline is measured by itself, its open loop before its
    /// closed one: one takes up to 0.3 GB where it collects, and several at a time too much.
    fn measure(
        &self,
        stage: &str,
        configs: &[CheckedConfig],
    ) -> Result<Vec<Option<WorkloadMeasurement>>, TuneError> {
        let most = self.task.base.geometry().pages();
        let is_large = |place: &usize| configs[*place].geometry().pages() > most;
        let (large, small): (Vec<usize>, Vec<usize>) = (0..configs.len()).partition(is_large);
        let mut measured = vec![None; configs.len()];
        let drives = configs.len();
        let mut done = 0;
        (self.tell)(Step { stage, done, drives });
        for some in small.chunks(TOLD_EACH).chain(large.chunks(1)) {
            let question = |&place: &usize| (&configs[place], &self.target);
            let questions: Vec<_> = some.iter().map(question).collect();
            let ask = || self.evaluator.measure_workloads(&questions);
            let answers = if is_large(&some[0]) { on_one_thread(ask)? } else { ask()? };
            for (&place, answer) in some.iter().zip(answers) {
                measured[place] = answer.ok();
            }
            done += some.len();
            (self.tell)(Step { stage, done, drives });
        }
        Ok(measured)
    }

    /// The performance (formula 1) of a measured drive; 0 is the baseline.
    fn performance(&self, measured: &WorkloadMeasurement) -> f64 {
        self.task.weights.performance(&measured.speedup_over(&self.baseline))
    }
}

/// Does the work on a thread of its own, or on all where there is no further one.
fn on_one_thread<R: Send>(work: impl FnOnce() -> R + Send) -> R {
    match rayon::ThreadPoolBuilder::new().num_threads(1).build() {
        Ok(pool) => pool.install(work),
        Err(_) => work(),
    }
}

#[cfg(test)]
mod tests;
