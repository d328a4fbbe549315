//! AutoDB: what AutoBlox remembers (section 3.4 of the paper), so that nothing is simulated twice.
//!
//! A record is a JSON value under a [`RecordKind`] and a key, kept by sled 0.34 behind this module.
//! It carries the [`Generation`] it was written in, a number that grows with every record. A search
//! notes the generation at its start and takes prior knowledge from records up to that one only, so
//! that its decisions do not depend on what is stored meanwhile. A record also carries the results
//! epoch, and a checksum that every read verifies.
//!
//! [`AutoDb::put`] returns when the record is on disk: kill -9 loses nothing that was acknowledged.
//! A batch is stored whole or not at all. One process has an AutoDB open at a time, and its lock
//! ends with the process.
//!
//! ```
//! use ssdtune_tune::memory::{AutoDb, RecordKind};
//!
//! let directory = tempfile::tempdir()?;
//! let db = AutoDb::open(directory.path().join("autodb"))?;
//! let generation = db.put(RecordKind::Workload, b"websearch", &["trace", "model"])?;
//! let stored = db.get::<Vec<String>>(RecordKind::Workload, b"websearch")?;
//! let stored = stored.ok_or("stored just now")?;
//! assert_eq!((stored.generation, stored.value.len()), (generation, 2));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! Cost: some microseconds for a look-up, and one fsync for a write, whatever the number of records
//! in its batch. JSON has no NaN and no infinity: a value that holds one is refused with an error.

mod acknowledged;
mod census;
mod engine;
mod envelope;
mod errors;
mod export;
mod export_source;
mod find;
mod kind;
mod lock;
mod log;
mod opening;
mod salvage;
mod schema;
mod store;
#[cfg(test)]
mod tests;
mod upkeep;

pub use errors::DbError;
pub use export::{Imported, OnConflict};
pub use export_source::{ExportSource, Exported};
pub use find::FindError;
pub use kind::{RecordKind, key_text};
pub use salvage::Salvaged;
pub use schema::SCHEMA;
pub use upkeep::{Collected, Damage, Health, Stale, Upkeep};

use super::key::RESULTS_EPOCH;
use acknowledged::Acknowledged;
use engine::{Engine, Pairs};
use envelope::Opened;
use lock::Lock;
use schema::Counter;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::marker::PhantomData;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Longest key in bytes.
const KEY_BYTES_MAX: usize = 512;

/// When a record was written: the number of changes before it, plus 1. 0 is before the first one.
/// Writing a record is a change, and so is a batch that only removes.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
#[serde(transparent)]
pub struct Generation(pub u64);

impl fmt::Display for Generation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// A stored value, and when and by which program it was written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Record<T> {
    /// When the record was written.
    pub generation: Generation,
    /// The [`RESULTS_EPOCH`] of the program that wrote the record.
    pub epoch: u32,
    /// The value.
    pub value: T,
}

/// A record whose value is still JSON.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RawRecord {
    /// The key within its kind.
    pub key: Vec<u8>,
    /// When the record was written.
    pub generation: Generation,
    /// The [`RESULTS_EPOCH`] of the program that wrote the record.
    pub epoch: u32,
    /// The value, exactly as it was written.
    pub json: String,
}

/// An open AutoDB. No other process can open it meanwhile.
#[derive(Debug)]
pub struct AutoDb {
    store: Engine,
    path: PathBuf,
    /// The generation of the newest change, and all records. A thread that writes holds the mutex.
    counter: Mutex<Counter>,
    acknowledged: Mutex<Acknowledged>,
    // The last field is dropped last: the store is closed before another process can open it.
    _lock: Lock,
}

impl AutoDb {
    /// Opens the AutoDB in a directory, or makes an empty one if there is none.
    ///
    /// # Errors
    /// Another process has it open, the directory holds something else, its schema is newer than
    /// this program, its files are damaged, or the file system refuses. Damaged files are left as
    /// they are, for [`AutoDb::salvage`].
    pub fn open(path: impl AsRef<Path>) -> Result<Self, DbError> {
        let path = path.as_ref();
        store::create(path)?;
        Self::open_existing(path)
    }

    /// Opens the AutoDB in a directory.
    ///
    /// # Errors
    /// There is none, or one of the errors of [`AutoDb::open`].
    pub fn open_existing(path: impl AsRef<Path>) -> Result<Self, DbError> {
        let path = path.as_ref().to_path_buf();
        store::recognise(&path)?;
        let lock = Lock::take(&path)?;
        store::finish_swap(&path)?;
        store::remove_half_notes(&path)?;
        let acknowledged = Acknowledged::open(&path)?;
        opening::look(&path, &acknowledged)?;
        let store = Engine::open(&path, &store::place(&path))?;
        schema::migrate(&path, &store)?;
        let counter = Mutex::new(opening::count(&path, &store, &acknowledged)?);
        let acknowledged = Mutex::new(acknowledged);
        Ok(Self { store, path, counter, acknowledged, _lock: lock })
    }

    /// The directory of the AutoDB.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The generation of the newest record.
    pub fn generation(&self) -> Generation {
        self.counter().generation
    }

    /// Stores a value, waits until it is on disk, and returns its generation. If the equal value is
    /// stored already, byte for byte and from the same epoch, nothing is written and the record
    /// keeps its generation.
    ///
    /// # Errors
    /// The key is empty or too long, the value is not JSON, or writing fails.
    pub fn put<T: Serialize + ?Sized>(
        &self,
        kind: RecordKind,
        key: &[u8],
        value: &T,
    ) -> Result<Generation, DbError> {
        let mut batch = Batch::default();
        batch.put(kind, key, value)?;
        self.commit(&batch)
    }

    /// Stores all of many values, or none, with one wait for the disk. Returns the greatest
    /// generation among them.
    ///
    /// # Errors
    /// A key is empty or too long, a value is not JSON, or writing fails.
    pub fn put_all<'a, T: Serialize + 'a, K: AsRef<[u8]>>(
        &self,
        kind: RecordKind,
        records: impl IntoIterator<Item = (K, &'a T)>,
    ) -> Result<Generation, DbError> {
        let mut batch = Batch::default();
        for (key, value) in records {
            batch.put(kind, key.as_ref(), value)?;
        }
        self.commit(&batch)
    }

    /// Stores the whole batch or nothing of it. Returns the greatest generation among its records,
    /// or that of the AutoDB if the batch stores none.
    ///
    /// # Errors
    /// Writing fails.
    pub fn commit(&self, batch: &Batch) -> Result<Generation, DbError> {
        let mut last = None;
        let reached = {
            let mut counter = self.counter();
            let mut next = *counter;
            let mut changes = sled::Batch::default();
            for (key, value) in &batch.records {
                let stored = self.store.get(key)?;
                let stored = stored.as_deref();
                let generation = match value {
                    Some(json) => match unchanged(key, stored, json) {
                        Some(generation) => generation,
                        None => {
                            next.generation.0 += 1;
                            let (generation, epoch) = (next.generation, batch.epoch);
                            let sealed = envelope::seal(key, Opened { generation, epoch, json });
                            next.census.replace(stored, Some(&sealed));
                            changes.insert(key.as_slice(), sealed);
                            generation
                        }
                    },
                    None => {
                        next.census.replace(stored, None);
                        changes.remove(key.as_slice());
                        continue;
                    }
                };
                last = last.max(Some(generation));
            }
            if next.census != counter.census && next.generation == counter.generation {
                // Without a generation of its own, a removal that is lost would not be missed.
                next.generation.0 += 1;
            }
            if next != *counter {
                next.note(&mut changes);
            }
            self.store.apply(changes)?;
            *counter = next;
            next.generation
        };
        self.acknowledge(reached)?;
        Ok(last.unwrap_or(reached))
    }

    /// Reads the value under a key. `None` where there is no record.
    ///
    /// # Errors
    /// The record is damaged, is not a `T`, or reading fails.
    pub fn get<T: DeserializeOwned>(
        &self,
        kind: RecordKind,
        key: &[u8],
    ) -> Result<Option<Record<T>>, DbError> {
        let storage = storage_key(kind, key);
        let Some(bytes) = self.store.get(&storage)? else {
            return Ok(None);
        };
        decode(kind, key, open_sealed(kind, &storage, &bytes)?).map(Some)
    }

    /// Reads the record under a key without reading its JSON. `None` where there is no record.
    ///
    /// # Errors
    /// The record is damaged, or reading fails.
    pub fn entry(&self, kind: RecordKind, key: &[u8]) -> Result<Option<RawRecord>, DbError> {
        let storage = storage_key(kind, key);
        let found = self.store.get(&storage)?;
        found.map(|bytes| entry_of(kind, &storage, &bytes)).transpose()
    }

    /// Whether there is a record under a key. The record itself is not verified.
    ///
    /// # Errors
    /// Reading fails.
    pub fn contains(&self, kind: RecordKind, key: &[u8]) -> Result<bool, DbError> {
        self.store.contains(&storage_key(kind, key))
    }

    /// Every value of a kind with its key, in the order of the keys.
    pub fn scan<T: DeserializeOwned>(&self, kind: RecordKind) -> Scan<'_, T> {
        self.scan_prefix(kind, &[])
    }

    /// Every value of a kind whose key begins with `prefix`, in the order of the keys.
    pub fn scan_prefix<T: DeserializeOwned>(&self, kind: RecordKind, prefix: &[u8]) -> Scan<'_, T> {
        let records = self.store.prefixed(&storage_key(kind, prefix));
        Scan { kind, records, value: PhantomData }
    }

    /// Every record of a kind with its value as JSON, in the order of the keys.
    pub fn entries(
        &self,
        kind: RecordKind,
    ) -> impl Iterator<Item = Result<RawRecord, DbError>> + use<'_> {
        self.store.prefixed(&[kind as u8]).map(move |found| {
            let (storage, bytes) = found?;
            entry_of(kind, &storage, &bytes)
        })
    }

    fn counter(&self) -> MutexGuard<'_, Counter> {
        // It is replaced as a whole, so a panic of another thread cannot leave it wrong.
        self.counter.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits until all records up to a generation are on disk. Writers wait together: one flush of
    /// the engine serves all of them.
    fn acknowledge(&self, generation: Generation) -> Result<(), DbError> {
        self.store.flush()?;
        let mut acknowledged = self.acknowledged.lock().unwrap_or_else(PoisonError::into_inner);
        acknowledged.advance(&self.path, generation)
    }
}

/// The generation of the stored record, if writing `json` in this epoch would not change it. A
/// damaged record is overwritten.
fn unchanged(key: &[u8], stored: Option<&[u8]>, json: &[u8]) -> Option<Generation> {
    let found = envelope::open(key, stored?).ok()?;
    (found.json == json && found.epoch == RESULTS_EPOCH).then_some(found.generation)
}

/// Records to be stored together.
#[derive(Clone, Debug)]
pub struct Batch {
    /// The JSON to store under each storage key; `None` removes the record.
    records: std::collections::BTreeMap<Vec<u8>, Option<Vec<u8>>>,
    epoch: u32,
}

impl Default for Batch {
    fn default() -> Self {
        Self { records: std::collections::BTreeMap::new(), epoch: RESULTS_EPOCH }
    }
}

impl Batch {
    /// Adds a value to store. It replaces what the batch held for this key.
    ///
    /// # Errors
    /// The key is empty or too long, or the value is not JSON.
    pub fn put<T: Serialize + ?Sized>(
        &mut self,
        kind: RecordKind,
        key: &[u8],
        value: &T,
    ) -> Result<(), DbError> {
        check_key(kind, key)?;
        let json = serde_json::to_vec(value).map_err(|source| {
            let key = key_text(key);
            DbError::Value { kind, key, source }
        })?;
        self.records.insert(storage_key(kind, key), Some(json));
        Ok(())
    }

    /// Adds the removal of the record under a key, if there is one.
    pub fn remove(&mut self, kind: RecordKind, key: &[u8]) {
        self.records.insert(storage_key(kind, key), None);
    }

    /// The number of keys that the batch stores or removes.
    pub fn len(&self) -> usize {
        self.records.len()
    }

    /// Whether the batch stores and removes nothing.
    pub fn is_empty(&self) -> bool {
        self.records.is_empty()
    }
}

/// An iterator over keys and values of one kind, in the order of the keys.
pub struct Scan<'a, T> {
    kind: RecordKind,
    records: Pairs<'a>,
    value: PhantomData<T>,
}

impl<T: DeserializeOwned> Iterator for Scan<'_, T> {
    type Item = Result<(Vec<u8>, Record<T>), DbError>;

    fn next(&mut self) -> Option<Self::Item> {
        Some(self.records.next()?.and_then(|(storage, bytes)| {
            let key = storage[1..].to_vec();
            let stored = decode(self.kind, &key, open_sealed(self.kind, &storage, &bytes)?)?;
            Ok((key, stored))
        }))
    }
}

/// The key in the storage engine: one byte for the kind, then the record's key. The byte 0 is kept
/// for the schema.
fn storage_key(kind: RecordKind, key: &[u8]) -> Vec<u8> {
    let mut storage = Vec::with_capacity(1 + key.len());
    storage.push(kind as u8);
    storage.extend_from_slice(key);
    storage
}

fn check_key(kind: RecordKind, key: &[u8]) -> Result<(), DbError> {
    match key.len() {
        1..=KEY_BYTES_MAX => Ok(()),
        bytes => Err(DbError::Key { kind, bytes, max: KEY_BYTES_MAX }),
    }
}

fn open_sealed<'a>(
    kind: RecordKind,
    storage: &[u8],
    bytes: &'a [u8],
) -> Result<Opened<'a>, DbError> {
    envelope::open(storage, bytes).map_err(|reason| {
        let (kind, key) = (kind.to_string(), key_text(&storage[1..]));
        DbError::Damaged { kind, key, reason }
    })
}

fn entry_of(kind: RecordKind, storage: &[u8], bytes: &[u8]) -> Result<RawRecord, DbError> {
    let Opened { generation, epoch, json } = open_sealed(kind, storage, bytes)?;
    let json = String::from_utf8(json.to_vec()).map_err(|_| DbError::Damaged {
        kind: kind.to_string(),
        key: key_text(&storage[1..]),
        reason: "not text".to_owned(),
    })?;
    Ok(RawRecord { key: storage[1..].to_vec(), generation, epoch, json })
}

fn decode<T: DeserializeOwned>(
    kind: RecordKind,
    key: &[u8],
    record: Opened,
) -> Result<Record<T>, DbError> {
    let Opened { generation, epoch, json } = record;
    let value = serde_json::from_slice(json).map_err(|source| {
        let key = key_text(key);
        DbError::Form { kind, key, source }
    })?;
    Ok(Record { generation, epoch, value })
}
