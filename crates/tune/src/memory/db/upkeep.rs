//! Looking after an AutoDB: verifying every record, and leaving out what nobody needs.

use super::{AutoDb, DbError, RecordKind, envelope, kind, schema, store};
use crate::memory::beginning;
use crate::memory::key::RESULTS_EPOCH;
use serde::Serialize;
use std::collections::BTreeMap;

/// A record that cannot be read.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Damage {
    /// Its kind, or the number that stands for none.
    pub kind: String,
    /// Its key.
    pub key: String,
    /// What is wrong with it.
    pub reason: String,
}

/// What [`AutoDb::verify`] found.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Health {
    /// Sound records of each kind.
    pub records: BTreeMap<RecordKind, u64>,
    /// Bytes of their values.
    pub bytes: BTreeMap<RecordKind, u64>,
    /// Sound evaluations from another results epoch.
    pub outdated: u64,
    /// Sound records that this program does not use any more, and why not.
    pub stale: Vec<Stale>,
    /// Records that cannot be read.
    pub damaged: Vec<Damage>,
}

/// Sound records of one kind that this program does not use any more.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Stale {
    /// Their kind.
    pub kind: RecordKind,
    /// How many there are.
    pub records: u64,
    /// Why they are not used, and what to do.
    pub reason: &'static str,
}

const OF_OTHER_EPOCH: &str = "simulated by a version whose results differ, so no search finds them; \
                              `ssdtune db gc` removes them";
const OF_OTHER_IDENTITY: &str = "noted by a version that told searches apart otherwise, so --resume \
                                 does not find them; begin these searches anew: evaluations that \
                                 are stored are not run again";

/// Why a sound record is not used any more, if it is not.
fn staleness(kind: RecordKind, record: &envelope::Opened) -> Option<&'static str> {
    match kind {
        kind if is_result(kind) => (record.epoch != RESULTS_EPOCH).then_some(OF_OTHER_EPOCH),
        RecordKind::Run => beginning::is_stale(record.json).then_some(OF_OTHER_IDENTITY),
        _ => None,
    }
}

/// What [`AutoDb::gc`] leaves out.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Upkeep {
    /// Keep evaluations and prunings of another results epoch, which no search finds any more.
    pub keep_outdated: bool,
    /// Leave out damaged records too; without it they stop the work.
    pub drop_damaged: bool,
}

/// What [`AutoDb::gc`] did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Collected {
    /// Records kept.
    pub kept: u64,
    /// Records of another results epoch that are gone.
    pub outdated: u64,
    /// Damaged records that are gone.
    pub damaged: u64,
    /// Bytes of the store before.
    pub bytes_before: u64,
    /// Bytes of the store after.
    pub bytes_after: u64,
}

/// Records copied into a new store at once.
const COPIED_AT_ONCE: u64 = 4096;

/// Whether results decide the record: what the simulator answered, or what was concluded from it.
fn is_result(kind: RecordKind) -> bool {
    matches!(kind, RecordKind::Evaluation | RecordKind::Pruning)
}

impl AutoDb {
    /// Reads and checks every record.
    ///
    /// # Errors
    /// Reading fails. Damaged records are no error: they are counted.
    pub fn verify(&self) -> Result<Health, DbError> {
        let mut health = Health::default();
        let mut stale: BTreeMap<(RecordKind, &'static str), u64> = BTreeMap::new();
        for found in self.store.range::<&[u8], _>(&[1u8][..]..) {
            let (storage, bytes) = found.map_err(self.failed("read"))?;
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

    /// Writes the store anew without what is not needed, and gives the space back.
    ///
    /// # Errors
    /// A record is damaged and not to be dropped, or reading or writing fails; the AutoDB is then
    /// as before.
    pub fn gc(&mut self, upkeep: Upkeep) -> Result<Collected, DbError> {
        let next = store::next_place(&self.path);
        store::remove(&self.path, &next)?;
        let copy = store::open(&self.path, &next)?;
        let done = self.copy_into(&copy, upkeep);
        drop(copy);
        let mut collected = match done {
            Ok(collected) => collected,
            Err(error) => {
                store::remove(&self.path, &next)?;
                return Err(error);
            }
        };
        collected.bytes_before = self.store.size_on_disk().map_err(self.failed("read"))?;
        store::swap(&self.path)?;
        self.store = store::open(&self.path, &store::place(&self.path))?;
        collected.bytes_after = self.store.size_on_disk().map_err(self.failed("read"))?;
        Ok(collected)
    }

    fn copy_into(&self, copy: &sled::Db, upkeep: Upkeep) -> Result<Collected, DbError> {
        let mut collected = Collected::default();
        schema::migrate(&self.path, copy)?;
        let mut batch = sled::Batch::default();
        schema::note_generation(&mut batch, self.generation());
        for found in self.store.range::<&[u8], _>(&[1u8][..]..) {
            let (storage, bytes) = found.map_err(self.failed("read"))?;
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
            batch.insert(storage, bytes);
            collected.kept += 1;
            if collected.kept % COPIED_AT_ONCE == 0 {
                copy.apply_batch(std::mem::take(&mut batch)).map_err(self.failed("written"))?;
            }
        }
        copy.apply_batch(batch).map_err(self.failed("written"))?;
        copy.flush().map_err(self.failed("written"))?;
        Ok(collected)
    }
}

/// A stored record, or what is wrong with it.
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
