//! AutoDB: imports, and stores with a log that was made up.

use ssdtune_tune::memory::{AutoDb, OnConflict, RecordKind};
use std::path::Path;

/// A file for `ssdtune db import`: what was read is written again as it was, in whatever order.
pub(crate) fn import(bytes: &[u8]) {
    let directory = tempfile::tempdir().expect("room for a small AutoDB");
    let open = |name: &str| AutoDb::open(directory.path().join(name)).expect("a new AutoDB");
    let db = open("first");
    let Ok(imported) = db.import(&mut &bytes[..], OnConflict::Refuse) else {
        assert!(db.generation().0 == 0, "a refused import stores nothing");
        return;
    };
    let health = db.verify().expect("readable");
    assert!(health.damaged.is_empty());
    assert_eq!(health.records.values().sum::<u64>(), imported.added);
    let text = export(&db);
    let again = open("second");
    let second = again.import(&mut &text[..], OnConflict::Refuse).expect("an export is imported");
    assert_eq!(second, imported);
    assert!(export(&again) == text, "another export after an import");
}

fn export(db: &AutoDb) -> Vec<u8> {
    let mut text = Vec::new();
    let (_, damaged) = db.export(&RecordKind::ALL, &mut text).expect("an export");
    assert!(damaged.is_empty());
    text
}

/// A store's log, as it is and with right checksums: what can be saved of it can be imported, and
/// opening it as it is gives sound records or an error.
///
/// With forged checksums it is not opened: the storage engine trusts what has passed them, and a
/// tree that was made to lead back into itself keeps it busy for ever.
pub(crate) fn log(bytes: &[u8]) {
    read(bytes, |path| {
        let Ok(db) = AutoDb::open_existing(path) else { return };
        db.verify().expect("what was opened can be read");
    });
    if let Some(signed) = signed(bytes) {
        read(&signed, |_| {});
    }
}

/// Saves what can be saved of a store with this log, and gives its path to `open`.
fn read(log: &[u8], open: impl FnOnce(&Path)) {
    let directory = tempfile::tempdir().expect("room for a small AutoDB");
    let path = directory.path().join("db");
    std::fs::create_dir_all(path.join("store/blobs")).expect("room for a folder");
    std::fs::write(path.join("lock"), "").expect("room for a small file");
    std::fs::write(path.join("store/db"), log).expect("room for a small file");
    saves(&path, &directory.path().join("saved"));
    open(&path);
}

/// What is saved of an AutoDB is a legal import.
fn saves(path: &Path, new: &Path) {
    let mut text = Vec::new();
    let saved = AutoDb::salvage(path, &RecordKind::ALL, &mut text).expect("files can be read");
    if saved.records > 0 {
        let db = AutoDb::open(new).expect("a new AutoDB");
        let imported = db.import(&mut &text[..], OnConflict::Refuse).expect("an export");
        assert_eq!(imported.added, saved.records);
    }
}

/// A copy in which the checksums of the first segment's header and of its messages are right:
/// with wrong ones no input gets past them.
fn signed(log: &[u8]) -> Option<Vec<u8>> {
    let mut log = log.to_vec();
    let (header, mut rest) = log.split_at_mut_checked(20)?;
    let sum = !crc32fast::hash(&header[4..]);
    header[..4].copy_from_slice(&sum.to_le_bytes());
    while rest.len() >= 8 {
        let mut at = 5;
        let length = number(rest, &mut at)? as usize;
        number(rest, &mut at)?;
        number(rest, &mut at)?;
        let (message, next) = rest.split_at_mut_checked(at.checked_add(length)?)?;
        let mut hasher = crc32fast::Hasher::new();
        hasher.update(&message[at..]);
        hasher.update(&message[4..at]);
        message[..4].copy_from_slice(&(!hasher.finalize()).to_le_bytes());
        rest = next;
    }
    Some(log)
}

/// A number of one or more bytes, as the log has them.
fn number(bytes: &[u8], at: &mut usize) -> Option<u64> {
    let first = *bytes.get(*at)?;
    let more = match first {
        0..=240 => 0,
        241..=248 => 1,
        249 => 2,
        _ => usize::from(first) - 247,
    };
    let rest = bytes.get(*at + 1..*at + 1 + more)?;
    *at += 1 + more;
    Some(match (first, rest) {
        (0..=240, _) => first.into(),
        (241..=248, rest) => 240 + 256 * u64::from(first - 241) + u64::from(rest[0]),
        (249, rest) => 2288 + 256 * u64::from(rest[0]) + u64::from(rest[1]),
        (_, rest) => rest.iter().rev().fold(0, |number, byte| number << 8 | u64::from(*byte)),
    })
}
