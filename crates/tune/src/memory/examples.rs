//! Training examples from stored evaluations, for a learner that predicts how a drive will do on a
//! workload before it is evaluated.
//!
//! A [`TrainingExample`] pairs two stored evaluations: one of a drive, and one of the baseline,
//! both by the same evaluator, on the same requests, at the same depth. The drive differs from the
//! baseline only on axes of the space. Its target is the speedup over the baseline, which has no
//! unit and does not depend on the level of the workload. An evaluation without such a partner, or
//! whose answer is that the drive is unfit, gives no example.
//!
//! Cost: about 20 us for each stored evaluation, and 200 us for each drive.

use super::db::{AutoDb, DbError, Generation, RecordKind};
use super::evaluation::{EvaluationRecord, EvaluationSubject, StoredAnswer};
use super::key::{RESULTS_EPOCH, configuration_digest};
use crate::digest::Digest;
use crate::grade::Speedup;
use crate::measurement::Measurement;
use crate::space::{Space, number};
use crate::workload::Characteristics;
use ssdtune_model::DeviceConfig;
use ssdtune_model::catalogue::{self, Value};
use ssdtune_model::document::Document;
use std::collections::BTreeMap;
use std::collections::btree_map::Entry;

/// How a drive did on a workload, in the form that learners take.
#[derive(Clone, Debug, PartialEq)]
pub struct TrainingExample {
    /// The drive and the workload as numbers, by [`features`].
    pub features: Vec<f64>,
    /// The request stream, so that examples of one trace can be held out together.
    pub trace: Digest,
    /// The drive's speedup over the baseline on this stream.
    pub speedup: Speedup,
}

/// A drive and a workload as numbers: first the value of each axis (one column for each choice of a
/// category), then the characteristics of the workload.
pub fn features(
    space: &Space,
    config: &DeviceConfig,
    characteristics: &Characteristics,
    depth: u32,
) -> Vec<f64> {
    let mut features = Vec::new();
    for axis in space.axes() {
        match axis.parameter().map(|row| row.get(config)) {
            Some(Value::Name(_)) | None => {
                let rank = axis.rank_in(config);
                let is_chosen = |own| f64::from(u8::from(rank == Some(own)));
                features.extend((0..axis.count() as u16).map(is_chosen));
            }
            Some(value) => features.push(number(value)),
        }
    }
    features.extend(characteristics.columns(depth));
    features
}

/// Which stored evaluations become examples.
#[derive(Clone, Copy, Debug)]
pub struct ExampleQuery<'a> {
    /// The drive that speedups are relative to.
    pub base: &'a DeviceConfig,
    /// The axes on which drives may differ from the baseline.
    pub space: &'a Space,
    /// The identity of the evaluator.
    pub evaluator: &'a str,
    /// Records of a later generation are left out.
    pub generation: Generation,
    /// The greatest number of examples. Of more, evenly spaced ones are taken.
    pub count_max: usize,
}

/// A stored evaluation that was answered by a measurement.
struct Evaluated {
    subject: EvaluationSubject,
    /// Without the facts about its runs.
    measured: Measurement,
}

impl Evaluated {
    /// What a drive and the baseline must have in common to be compared.
    fn question(&self) -> (Digest, u64, u32) {
        let EvaluationSubject { trace, characteristics, depth, .. } = &self.subject;
        (*trace, characteristics.requests, *depth)
    }
}

/// The training examples in AutoDB, in the order of the evaluations' keys.
///
/// # Errors
/// Reading AutoDB fails.
pub fn training_examples(
    db: &AutoDb,
    query: &ExampleQuery,
) -> Result<Vec<TrainingExample>, DbError> {
    let mut evaluated = measured(db, query)?;
    let base = configuration_digest(query.base);
    let baselines: BTreeMap<_, Measurement> = (evaluated.iter())
        .filter(|one| one.subject.configuration == base)
        .map(|one| (one.question(), one.measured.clone()))
        .collect();
    evaluated
        .retain(|one| one.subject.configuration != base && baselines.contains_key(&one.question()));
    let drives = comparable_drives(db, query, &evaluated)?;
    evaluated.retain(|one| drives[&one.subject.configuration].is_some());
    let step = evaluated.len().div_ceil(query.count_max.max(1)).max(1);
    let example = |one: &Evaluated| {
        let EvaluationSubject { configuration, trace, characteristics, depth, .. } = &one.subject;
        let drive = drives[configuration].as_ref()?;
        let features = features(query.space, drive, characteristics, *depth);
        let speedup = one.measured.over(&baselines[&one.question()]);
        Some(TrainingExample { features, trace: *trace, speedup })
    };
    Ok(evaluated.iter().step_by(step).filter_map(example).collect())
}

/// Every measurement by the evaluator, old enough and of this results epoch.
fn measured(db: &AutoDb, query: &ExampleQuery) -> Result<Vec<Evaluated>, DbError> {
    let mut evaluated = Vec::new();
    for found in db.scan::<EvaluationRecord>(RecordKind::Evaluation) {
        let (_, stored) = found?;
        let EvaluationRecord { answer, subject } = stored.value;
        let (StoredAnswer::Measured(measured), Some(subject)) = (answer, subject) else { continue };
        let is_known = stored.generation <= query.generation && stored.epoch == RESULTS_EPOCH;
        if is_known && subject.evaluator == query.evaluator {
            let by_mqsim = measured.by_mqsim;
            let measured = Measurement { by_mqsim, ..Measurement::of(measured.figures) };
            evaluated.push(Evaluated { subject, measured });
        }
    }
    Ok(evaluated)
}

/// The stored drive of each evaluation; `None` where it is not stored, cannot be read by this
/// version, or differs from the baseline on a parameter that is no axis.
fn comparable_drives(
    db: &AutoDb,
    query: &ExampleQuery,
    evaluated: &[Evaluated],
) -> Result<BTreeMap<Digest, Option<DeviceConfig>>, DbError> {
    let mut drives = BTreeMap::new();
    for Evaluated { subject, .. } in evaluated {
        if let Entry::Vacant(place) = drives.entry(subject.configuration) {
            let drive = stored_drive(db, subject.configuration)?;
            let is_comparable =
                |drive: &DeviceConfig| differs_on_axes_only(query.space, drive, query.base);
            place.insert(drive.filter(is_comparable));
        }
    }
    Ok(drives)
}

/// Whether two drives are equal on every parameter that is no axis. Names are not compared.
fn differs_on_axes_only(space: &Space, a: &DeviceConfig, b: &DeviceConfig) -> bool {
    let is_fixed = |key: &str| !space.axes().iter().any(|axis| axis.sets(key));
    let mut fixed = catalogue::parameters().filter(|row| is_fixed(row.key));
    fixed.all(|row| row.get(a) == row.get(b))
}

fn stored_drive(db: &AutoDb, digest: Digest) -> Result<Option<DeviceConfig>, DbError> {
    let text = db.get::<String>(RecordKind::Configuration, digest.as_bytes())?;
    Ok(text.and_then(|text| Some(Document::parse(&text.value).ok()?.config().clone())))
}
