//! What AutoDB's evaluations teach: how drives did against a baseline on workloads whose characteristics are
//! known, so that drives that were never evaluated can be judged beforehand.
//!
//! The key of an evaluation is a hash and tells nothing, so each is stored with what was [`Asked`]. A
//! [`Lesson`] is the evaluation of a drive that differs from the baseline on axes of the space only, against
//! the evaluation of that baseline by the same evaluator on the very same requests: a speedup has no unit and
//! no workload's level in it. Evaluations without such a baseline teach nothing, neither do answers that a
//! drive is unfit.
//!
//! Reading costs some 20 us for each evaluation, and 200 us for each drive.

use crate::db::{AutoDb, DbError, Generation, Kind};
use crate::grade::{Figures, Speedup};
use crate::key::{Digest, RESULTS_EPOCH, configuration_digest};
use crate::measure::{Stored, StoredAnswer};
use crate::space::{Space, number};
use serde::{Deserialize, Serialize};
use ssdtune_model::catalogue::{self, Value};
use ssdtune_model::document::Document;
use ssdtune_model::{DeviceConfig, SECTOR_BYTES};
use ssdtune_trace::Request;
use ssdtune_trace::features::blackbox::{Extended, extended};
use std::collections::BTreeMap;
use std::collections::btree_map::Entry;

/// What an evaluation was of.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Asked {
    /// The drive, a record of [`Kind::Configuration`].
    pub configuration: Digest,
    /// Who evaluated.
    pub evaluator: String,
    /// The stream whose beginning was replayed.
    pub trace: Digest,
    /// Requests outstanding in the closed loop.
    pub depth: u32,
    /// What the requests are like.
    pub traits: Traits,
}

/// What requests are like.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Traits {
    /// How many.
    pub requests: u64,
    /// How many arrive in a second; 0 where all come at once.
    pub rate_iops: f64,
    /// Bytes they touch.
    pub footprint_bytes: f64,
    /// Eq. 4 of Li and Huang; its depth is 0.
    pub pattern: Extended,
}

impl Traits {
    /// Of requests that touch so many sectors.
    pub fn of(requests: &[Request], footprint_sectors: u64) -> Self {
        let seconds = match requests {
            [first, .., last] => last.at.0.saturating_sub(first.at.0) as f64 / 1e9,
            _ => 0.0,
        };
        let rate = (requests.len().saturating_sub(1)) as f64 / seconds;
        Self {
            requests: requests.len() as u64,
            rate_iops: if seconds > 0.0 { rate } else { 0.0 },
            footprint_bytes: (footprint_sectors * SECTOR_BYTES) as f64,
            pattern: extended(requests, 0.0),
        }
    }

    /// As columns, what has a wide range in octaves.
    fn columns(&self, depth: u32) -> [f64; 11] {
        let octaves = |value: f64| value.max(1.0).log2();
        let own = &self.pattern;
        [
            octaves(self.requests as f64),
            octaves(f64::from(depth)),
            octaves(self.rate_iops),
            octaves(self.footprint_bytes),
            own.rw_ratio,
            octaves(own.wr_size),
            octaves(own.rd_size),
            own.wr_rand,
            own.rd_rand,
            octaves(own.wr_stride),
            octaves(own.rd_stride),
        ]
    }
}

/// A drive and a workload as a learner sees them, and how the drive did.
#[derive(Clone, Debug, PartialEq)]
pub struct Lesson {
    /// [`row`] of the two.
    pub row: Vec<f64>,
    /// The stream that the requests are from.
    pub trace: Digest,
    /// Against the baseline on the same requests.
    pub speedup: Speedup,
}

/// A drive and a workload as numbers: the values of the axes (a column for each name of a category), then the
/// workload.
pub fn row(space: &Space, config: &DeviceConfig, traits: &Traits, depth: u32) -> Vec<f64> {
    let mut row = Vec::new();
    for axis in space.axes() {
        match axis.row().get(config) {
            own @ Value::Name(_) => {
                row.extend(axis.values().iter().map(|value| f64::from(u8::from(*value == own))));
            }
            own => row.push(number(own)),
        }
    }
    row.extend(traits.columns(depth));
    row
}

/// Whether two drives are the same but for axes of the space (and their names).
fn is_akin(space: &Space, a: &DeviceConfig, b: &DeviceConfig) -> bool {
    let mut fixed = catalogue::parameters().filter(|row| space.axis(row.key).is_none());
    fixed.all(|row| row.get(a) == row.get(b))
}

/// Which evaluations teach.
#[derive(Clone, Copy, Debug)]
pub struct Syllabus<'a> {
    /// What drives are compared with.
    pub base: &'a DeviceConfig,
    /// Where they may differ from it.
    pub space: &'a Space,
    /// Who evaluated.
    pub evaluator: &'a str,
    /// Only what was stored then or before.
    pub generation: Generation,
    /// At most so many lessons; of more, evenly many are taken.
    pub most: usize,
}

/// An evaluation whose drive is the baseline's kin.
struct Evaluated {
    asked: Asked,
    figures: Figures,
}

/// What AutoDB has to teach, in the order of the evaluations' keys.
///
/// # Errors
/// AutoDB fails.
pub fn lessons(db: &AutoDb, syllabus: &Syllabus) -> Result<Vec<Lesson>, DbError> {
    let Syllabus { base, space, evaluator, generation, most } = *syllabus;
    let mut evaluated = Vec::new();
    for found in db.scan::<Stored>(Kind::Evaluation) {
        let (_, stored) = found?;
        let Stored { answer: StoredAnswer::Measured(measured), asked: Some(asked) } = stored.value
        else {
            continue;
        };
        let known = stored.generation <= generation && stored.epoch == RESULTS_EPOCH;
        if known && asked.evaluator == evaluator {
            evaluated.push(Evaluated { asked, figures: measured.figures });
        }
    }
    let question = |asked: &Asked| (asked.trace, asked.traits.requests, asked.depth);
    let own = configuration_digest(base);
    let baselines: BTreeMap<_, Figures> = (evaluated.iter())
        .filter(|one| one.asked.configuration == own)
        .map(|one| (question(&one.asked), one.figures))
        .collect();
    evaluated.retain(|one| {
        one.asked.configuration != own && baselines.contains_key(&question(&one.asked))
    });
    let mut drives: BTreeMap<Digest, Option<DeviceConfig>> = BTreeMap::new();
    for Evaluated { asked, .. } in &evaluated {
        if let Entry::Vacant(place) = drives.entry(asked.configuration) {
            let drive = drive(db, asked.configuration)?;
            place.insert(drive.filter(|one| is_akin(space, one, base)));
        }
    }
    evaluated.retain(|one| drives[&one.asked.configuration].is_some());
    let step = evaluated.len().div_ceil(most.max(1)).max(1);
    let lesson = |Evaluated { asked, figures }: &Evaluated| {
        let drive = drives[&asked.configuration].as_ref()?;
        let row = row(space, drive, &asked.traits, asked.depth);
        let speedup = figures.over(&baselines[&question(asked)]);
        Some(Lesson { row, trace: asked.trace, speedup })
    };
    Ok(evaluated.iter().step_by(step).filter_map(lesson).collect())
}

/// A stored drive; `None` where it is not stored or is no drive for this version.
fn drive(db: &AutoDb, digest: Digest) -> Result<Option<DeviceConfig>, DbError> {
    let text = db.get::<String>(Kind::Configuration, digest.as_bytes())?;
    Ok(text.and_then(|text| Some(Document::parse(&text.value).ok()?.config().clone())))
}
