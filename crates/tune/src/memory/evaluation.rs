//! An evaluation as AutoDB stores it: the answer, and what was evaluated.
//!
//! The key of an evaluation is a hash, from which nothing can be read. So each record says what was
//! evaluated. Field names are part of the format of AutoDB.

use crate::digest::Digest;
use crate::measurement::Measurement;
use crate::workload::Characteristics;
use serde::{Deserialize, Serialize};

/// The value of a record of [`RecordKind::Evaluation`](super::RecordKind::Evaluation).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct EvaluationRecord {
    /// The measurement, or why there is none.
    #[serde(flatten)]
    pub answer: StoredAnswer,
    /// What was evaluated. Records of early versions do not say it.
    #[serde(rename = "asked", default, skip_serializing_if = "Option::is_none")]
    pub subject: Option<EvaluationSubject>,
}

/// The answer of an evaluator.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum StoredAnswer {
    /// What the drive did.
    Measured(Box<Measurement>),
    /// Why the drive cannot serve the workload.
    Unfit(String),
}

/// What was evaluated: a drive, a trace, a depth, and by which evaluator.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct EvaluationSubject {
    /// The drive: the key of a record of
    /// [`RecordKind::Configuration`](super::RecordKind::Configuration).
    pub configuration: Digest,
    /// The identity of the evaluator.
    pub evaluator: String,
    /// The digest of the whole request stream. Only its first [`Characteristics::requests`] were
    /// replayed.
    pub trace: Digest,
    /// Requests outstanding in the closed loop.
    pub depth: u32,
    /// What the replayed requests are like.
    #[serde(rename = "traits")]
    pub characteristics: Characteristics,
}
