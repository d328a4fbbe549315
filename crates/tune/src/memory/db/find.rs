//! Finding a record by the text of its key, or by the beginning of that text.

use super::{AutoDb, DbError, RawRecord, RecordKind, key_text};

/// Why a record cannot be found by the text of its key.
#[derive(Debug, thiserror::Error)]
pub enum FindError {
    /// The AutoDB cannot be read.
    #[error(transparent)]
    Db(#[from] DbError),
    /// More than one key begins with the text.
    #[error("{kind} {wanted}: the keys {first} and {second} both begin so: say more of it")]
    Ambiguous {
        /// The kind of the records.
        kind: RecordKind,
        /// The text.
        wanted: String,
        /// The first such key.
        first: String,
        /// The second such key.
        second: String,
    },
    /// No key begins with the text.
    #[error("no {kind} has a key that begins with {wanted}: `ssdtune db list {kind}` lists them")]
    None {
        /// The kind of the records.
        kind: RecordKind,
        /// The text.
        wanted: String,
    },
}

impl AutoDb {
    /// The record whose key is `wanted` in the form of [`key_text`], or otherwise the only record
    /// whose key begins with `wanted`.
    ///
    /// # Errors
    /// There is no such record, there are several, or reading fails.
    pub fn find(&self, kind: RecordKind, wanted: &str) -> Result<RawRecord, FindError> {
        if let Some(record) = self.entry(kind, wanted.as_bytes())? {
            return Ok(record);
        }
        let mut found: Option<RawRecord> = None;
        for record in self.entries(kind) {
            let record = record?;
            let text = key_text(&record.key);
            if text == wanted {
                return Ok(record);
            }
            if !text.starts_with(wanted) {
                continue;
            }
            if let Some(first) = &found {
                let (first, second) = (key_text(&first.key), text);
                let wanted = wanted.to_owned();
                return Err(FindError::Ambiguous { kind, wanted, first, second });
            }
            found = Some(record);
        }
        found.ok_or_else(|| FindError::None { kind, wanted: wanted.to_owned() })
    }
}
