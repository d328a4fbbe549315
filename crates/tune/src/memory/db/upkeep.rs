//! Upkeep of an AutoDB: verifying every record, and removing records that are not used any more.

use super::census::Census;
use super::engine::Engine;
use super::schema::Counter;
use super::{AutoDb, DbError, RecordKind, envelope, kind, schema, store};
use crate::memory::identity;
use crate::memory::key::RESULTS_EPOCH;
use serde::Serialize;
use std::collections::BTreeMap;

/// A record that cannot be read.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Damage {
    /// The kind of the record, or the number in its place if there is no such kind.
    pub kind: String,
    /// The key of the record.
    pub key: String,
    /// What is wrong with the record.
    pub reason: String,
}

/// What [`AutoDb::verify`] found.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Health {
    /// The number of sound records of each kind.
    pub records: BTreeMap<RecordKind, u64>,
    /// The total size of their values in bytes, for each kind.
    pub bytes: BTreeMap<RecordKind, u64>,
    /// The number of sound evaluations and prunings from another results epoch.
    pub outdated: u64,
    /// Sound records that this program does not use any more, and why not.
    pub stale: Vec<Stale>,
    /// Records that cannot be read.
    pub damaged: Vec<Damage>,
}

/// Sound records of one kind that this program does not use any more.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Stale {
    /// The kind of the records.
    pub kind: RecordKind,
    /// The number of such records.
    pub records: u64,
    /// Why they are not used any more, and what to do.
    pub reason: &'static str,
}

const OF_OTHER_EPOCH: &str = "simulated by a version whose results differ, so no search finds \
                              them; `ssdtune db gc` removes them";
const OF_OTHER_IDENTITY: &str = "noted by a version that told searches apart otherwise, so \
                                 --resume does not find them; begin these searches anew: \
                                 evaluations that are stored are not run again";

/// Why a sound record is not used any more; `None` for a record that is.
fn staleness(kind: RecordKind, record: &envelope::Opened) -> Option<&'static str> {
    match kind {
        kind if is_result(kind) => (record.epoch != RESULTS_EPOCH).then_some(OF_OTHER_EPOCH),
        RecordKind::Run => identity::is_stale(record.json).then_some(OF_OTHER_IDENTITY),
        _ => None,
    }
}

/// What [`AutoDb::gc`] removes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Upkeep {
    /// Whether evaluations and prunings of another results epoch are kept, although no search finds
    /// them any more.
    pub keep_outdated: bool,
    /// Whether damaged records are removed. Otherwise the first one ends the work with an error.
    pub drop_damaged: bool,
}

/// What [`AutoDb::gc`] did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Collected {
    /// The number of records kept.
    pub kept: u64,
    /// The number of records of another results epoch that were removed.
    pub outdated: u64,
    /// The number of damaged records that were removed.
    pub damaged: u64,
    /// The size of the store before, in bytes.
    pub bytes_before: u64,
    /// The size of the store afterwards, in bytes.
    pub bytes_after: u64,
}

/// Records copied into the new store in one batch.
const COPIED_AT_ONCE: u64 = 4096;

/// Whether a record of this kind holds what a simulator answered or what was concluded from it, so
/// that it depends on the results epoch.
fn is_result(kind: RecordKind) -> bool {
    matches!(kind, RecordKind::Evaluation | RecordKind::Pruning)
}

impl AutoDb {
    /// Reads and checks every record.
    ///
    /// # Errors
    /// Reading fails. A damaged record is no error: it is listed in the result.
    pub fn verify(&self) -> Result<Health, DbError> {
        let mut health = Health::default();
        let mut stale: BTreeMap<(RecordKind, &'static str), u64> = BTreeMap::new();
        for found in self.store.records() {
            let (storage, bytes) = found?;
            match judge(&storage, &bytes) {
                Ok((kind, record)) => {
                    *health.records.entry(kind).or_default() += 1;
                    *health.bytes.entry(kind).or_default() += record.json.len() as u64;
                    if is_result(kind) && record.epoch != RESULTS_EPOCH {
                        health.outdated += 1;
                    }
                    if let Some(reason) = staleness(kind, &record) {
                        *stale.entry((kind, reason)).or_insert(0) += 1;
                    }
                }
                Err(damage) => health.damaged.push(damage),
            }
        }
        let row = |((kind, reason), records)| Stale { kind, records, reason };
        health.stale = stale.into_iter().map(row).collect();
        Ok(health)
    }

    /// Writes a new store without the records that are not needed, and puts it in the place of the
    /// old one.
    ///
    /// # Errors
    /// A record is damaged and is not to be removed, or reading or writing fails. The AutoDB is
    /// then as it was before.
    pub fn gc(&mut self, upkeep: Upkeep) -> Result<Collected, DbError> {
        let next = store::next_place(&self.path);
        store::remove(&self.path, &next)?;
        let copy = Engine::open(&self.path, &next)?;
        let done = self.copy_into(&copy, upkeep);
        drop(copy);
        let (mut collected, census) = match done {
            Ok(done) => done,
            Err(error) => {
                store::remove(&self.path, &next)?;
                return Err(error);
            }
        };
        collected.bytes_before = self.store.bytes()?;
        store::swap(&self.path)?;
        self.store = Engine::open(&self.path, &store::place(&self.path))?;
        self.counter().census = census;
        collected.bytes_after = self.store.bytes()?;
        Ok(collected)
    }

    fn copy_into(&self, copy: &Engine, upkeep: Upkeep) -> Result<(Collected, Census), DbError> {
        let mut collected = Collected::default();
        schema::migrate(&self.path, copy)?;
        let mut batch = sled::Batch::default();
        let mut census = Census::default();
        for found in self.store.records() {
            let (storage, bytes) = found?;
            match judge(&storage, &bytes) {
                Ok((kind, record))
                    if is_result(kind)
                        && record.epoch != RESULTS_EPOCH
                        && !upkeep.keep_outdated =>
                {
                    collected.outdated += 1;
                    continue;
                }
                Ok(_) => {}
                Err(_) if upkeep.drop_damaged => {
                    collected.damaged += 1;
                    continue;
                }
                Err(Damage { kind, key, reason }) => {
                    return Err(DbError::Damaged { kind, key, reason });
                }
            }
            census.replace(None, Some(&bytes));
            batch.insert(storage, bytes);
            collected.kept += 1;
            if collected.kept % COPIED_AT_ONCE == 0 {
                copy.apply(std::mem::take(&mut batch))?;
            }
        }
        Counter { generation: self.generation(), census }.note(&mut batch);
        copy.apply(batch)?;
        copy.flush()?;
        Ok((collected, census))
    }
}

/// Checks a stored record: its kind and content, or what is wrong with it.
fn judge<'a>(
    storage: &[u8],
    bytes: &'a [u8],
) -> Result<(RecordKind, envelope::Opened<'a>), Damage> {
    let (code, key) = storage.split_first().map_or((0, &[][..]), |(code, key)| (*code, key));
    let found = RecordKind::of_code(code);
    let damage = |reason: String| Damage {
        kind: found.map_or_else(|| format!("kind {code}"), |kind| kind.to_string()),
        key: kind::key_text(key),
        reason,
    };
    let record = envelope::open(storage, bytes).map_err(&damage)?;
    let is_json = std::str::from_utf8(record.json)
        .is_ok_and(|json| serde_json::from_str::<&serde_json::value::RawValue>(json).is_ok());
    match found {
        Some(kind) if is_json => Ok((kind, record)),
        Some(_) => Err(damage("its value is not JSON".to_owned())),
        None => Err(damage("no such kind of record in this schema".to_owned())),
    }
}
