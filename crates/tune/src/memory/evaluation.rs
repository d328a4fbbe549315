//! An evaluation as AutoDB stores it: the answer, and what was asked.
//!
//! The key of an evaluation is a hash and tells nothing, so each record says what it is of. Field
//! names are part of the format of AutoDB.

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
    /// What was evaluated. Records of versions before AutoDB learned from them do not say it.
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

/// What an evaluation was of.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct EvaluationSubject {
    /// The drive: the key of a record of
    /// [`RecordKind::Configuration`](super::RecordKind::Configuration).
    pub configuration: Digest,
    /// The identity of the evaluator.
    pub evaluator: String,
    /// The whole request stream. Only its first [`Characteristics::requests`] were replayed.
    pub trace: Digest,
    /// Requests outstanding in the closed loop.
    pub depth: u32,
    /// What the replayed requests are like.
    #[serde(rename = "traits")]
    pub characteristics: Characteristics,
}
