//! What an AutoDB holds, in numbers and as text: how much of each kind, or each record of one kind.

use super::db::{AutoDb, DbError, Generation, RecordKind, SCHEMA, Stale, key_text};
use super::recommendation::StoredRecommendation;
use serde::Serialize;
use ssdtune_report::{Table, Text};

/// How much an AutoDB holds of each kind. Field names are part of the result document.
#[derive(Clone, Debug, Serialize)]
pub struct DbOverview {
    /// The directory.
    pub path: String,
    /// The schema of its records.
    pub schema: u32,
    /// The generation of the newest record.
    pub generation: Generation,
    /// The kinds of which there are records.
    pub kinds: Vec<KindOverview>,
    /// What this program does not use any more, and why.
    pub stale: Vec<Stale>,
    /// The number of records that cannot be read.
    pub damaged: usize,
}

/// The records of one kind. Field names are part of the result document.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct KindOverview {
    /// The kind.
    pub kind: RecordKind,
    /// The number of sound records.
    pub records: u64,
    /// The size of their values in bytes.
    pub bytes: u64,
}

/// One record. Field names are part of the result document.
#[derive(Clone, Debug, Serialize)]
pub struct RecordOverview {
    /// The key, as text.
    pub key: String,
    /// When it was written.
    pub generation: Generation,
    /// The results epoch of the program that wrote it.
    pub epoch: u32,
    /// The size of the value in bytes.
    pub bytes: usize,
    /// What a recommendation says of itself; `None` for records of other kinds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub about: Option<String>,
}

impl AutoDb {
    /// How much it holds of each kind. Every record is verified.
    ///
    /// # Errors
    /// Reading fails.
    pub fn overview(&self) -> Result<DbOverview, DbError> {
        let health = self.verify()?;
        let bytes = |kind| health.bytes.get(&kind).copied().unwrap_or(0);
        let kinds = health.records.iter();
        Ok(DbOverview {
            path: self.path().display().to_string(),
            schema: SCHEMA,
            generation: self.generation(),
            kinds: kinds
                .map(|(&kind, &records)| KindOverview { kind, records, bytes: bytes(kind) })
                .collect(),
            stale: health.stale,
            damaged: health.damaged.len(),
        })
    }

    /// Every record of a kind, in the order of the keys.
    ///
    /// # Errors
    /// A record is damaged, or reading fails.
    pub fn records(&self, kind: RecordKind) -> Result<Vec<RecordOverview>, DbError> {
        let row = |record: Result<super::RawRecord, DbError>| {
            let record = record?;
            let recommendation: Option<StoredRecommendation> = match kind {
                RecordKind::Search => serde_json::from_str(&record.json).ok(),
                _ => None,
            };
            Ok(RecordOverview {
                key: key_text(&record.key),
                generation: record.generation,
                epoch: record.epoch,
                bytes: record.json.len(),
                about: recommendation.map(|stored| stored.in_words()),
            })
        };
        self.entries(kind).map(row).collect()
    }
}

impl DbOverview {
    /// As text for terminals: where it is and a row for each kind. What is stale is not in it.
    pub fn text(&self) -> Text {
        let Self { path, generation, schema, .. } = self;
        let mut text = Text::new();
        text.line(format_args!("{path}: generation {generation}, schema {schema}"));
        let mut table = Table::new(["kind", "records", "bytes"]);
        for KindOverview { kind, records, bytes } in &self.kinds {
            table.add_row([kind.to_string(), records.to_string(), bytes.to_string()]);
        }
        text.table(table);
        text
    }
}

impl RecordOverview {
    /// Records as a table for terminals. What they say of themselves has a column if any does.
    pub fn table(records: &[Self]) -> Table {
        let says = records.iter().any(|record| record.about.is_some());
        let columns = ["key", "generation", "epoch", "bytes"];
        let mut table = Table::new(columns.into_iter().chain(says.then_some("about")));
        for Self { key, generation, epoch, bytes, about } in records {
            let numbers = [generation.to_string(), epoch.to_string(), bytes.to_string()];
            table.add_row(std::iter::once(key.clone()).chain(numbers).chain(about.clone()));
        }
        table
    }
}
