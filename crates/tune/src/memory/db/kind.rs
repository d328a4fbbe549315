//! The kinds of records, and keys as text.

use serde::{Deserialize, Serialize};
use std::fmt;
use std::str::FromStr;

/// What a record is about. The discriminants are part of the format of AutoDB and never change.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[repr(u8)]
pub enum RecordKind {
    /// The evaluation of one configuration on one workload. The key is an
    /// [`EvaluationKey`](crate::memory::EvaluationKey).
    Evaluation = 1,
    /// A workload that was learned: its source and its category. The key is its name.
    Workload = 2,
    /// A category of workloads. The key is its number.
    Cluster = 3,
    /// A fitted model. The key is its name.
    Model = 4,
    /// Which parameters matter for a workload, and in which order to tune them.
    Pruning = 5,
    /// One of the best configurations that a search found for a category, a
    /// [`StoredRecommendation`](crate::memory::StoredRecommendation).
    Search = 6,
    /// The note of a search's beginning, a [`Beginning`](crate::memory::Beginning).
    Run = 7,
    /// The canonical text of a drive that was evaluated. The key is its
    /// [`configuration_digest`](crate::memory::configuration_digest).
    Configuration = 8,
}

impl RecordKind {
    /// Every kind, in the order of the discriminants.
    pub const ALL: [Self; 8] = [
        Self::Evaluation,
        Self::Workload,
        Self::Cluster,
        Self::Model,
        Self::Pruning,
        Self::Search,
        Self::Run,
        Self::Configuration,
    ];

    /// The name of the kind in exports and on the command line.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Evaluation => "evaluation",
            Self::Workload => "workload",
            Self::Cluster => "cluster",
            Self::Model => "model",
            Self::Pruning => "pruning",
            Self::Search => "search",
            Self::Run => "run",
            Self::Configuration => "configuration",
        }
    }

    /// The kind of the record under a storage key.
    pub(super) fn of_key(storage: &[u8]) -> Option<Self> {
        storage.first().and_then(|&code| Self::of_code(code))
    }

    pub(super) fn of_code(code: u8) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| *kind as u8 == code)
    }
}

impl fmt::Display for RecordKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

impl FromStr for RecordKind {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let names = Self::ALL.map(Self::name).join(", ");
        let found = Self::ALL.into_iter().find(|kind| kind.name() == text);
        found.ok_or_else(|| format!("no such kind of record; there are {names}"))
    }
}

/// A key in readable form: as it is if it is printable ASCII, otherwise in hexadecimal digits.
pub fn key_text(key: &[u8]) -> String {
    let plain = |byte: &u8| byte.is_ascii_graphic() || *byte == b' ';
    match std::str::from_utf8(key) {
        Ok(text) if !key.is_empty() && key.iter().all(plain) => text.to_owned(),
        _ => hex(key),
    }
}

pub(super) fn hex(bytes: &[u8]) -> String {
    use std::fmt::Write as _;
    bytes.iter().fold(String::with_capacity(2 * bytes.len()), |mut text, byte| {
        // Writing to a String cannot fail.
        let _ = write!(text, "{byte:02x}");
        text
    })
}

pub(super) fn unhex(text: &str) -> Option<Vec<u8>> {
    let digits = text.as_bytes();
    let digit = |byte: u8| char::from(byte).to_digit(16);
    if !digits.len().is_multiple_of(2) {
        return None;
    }
    digits
        .chunks_exact(2)
        .map(|pair| Some((digit(pair[0])? << 4 | digit(pair[1])?) as u8))
        .collect()
}
