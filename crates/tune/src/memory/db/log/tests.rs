//! Tests of the log reader: which bytes of a log matter.

use super::*;
use crate::long::long_or;
use crate::memory::db::census::Census;
use crate::memory::db::schema::Counter;
use crate::memory::db::storage_key;
use crate::memory::{AutoDb, Batch, Generation, RecordKind};

/// The log of a store that was opened three times, with records written again and removed.
fn log() -> (Vec<u8>, Generation) {
    let directory = tempfile::tempdir().expect("a directory");
    let path = directory.path().join("db");
    let mut generation = Generation(0);
    for session in 0..3u32 {
        let db = AutoDb::open(&path).expect("it opens");
        for number in 0..40u32 {
            let kind = RecordKind::ALL[number as usize % 8];
            db.put(kind, &number.to_be_bytes(), &vec![session; number as usize]).expect("put");
        }
        let mut batch = Batch::default();
        batch.remove(RecordKind::Evaluation, &(8 * session).to_be_bytes());
        generation = db.commit(&batch).expect("commit");
    }
    (std::fs::read(path.join("store/db")).expect("a log"), generation)
}

fn replay(log: &[u8]) -> Option<Contents> {
    intact_of(log, 0, &|_| Body::Gone).ok()
}

/// Whether an AutoDB with these contents is taken for whole.
fn is_whole(contents: &Contents, generation: Generation) -> bool {
    let records: Census = contents.range(vec![1]..).map(|(_, bytes)| bytes.as_slice()).collect();
    let counter = contents.get(Counter::KEY).and_then(|bytes| Counter::read(bytes));
    counter == Some((generation, Some(records)))
}

/// What a byte of a sound log belongs to.
fn part(log: &[u8], at: usize) -> &'static str {
    let segment = at / SEGMENT * SEGMENT;
    let bytes = &log[segment..log.len().min(segment + SEGMENT)];
    let mut from = SEGMENT_HEADER;
    if at - segment < from {
        return "headers of segments";
    }
    while let Some(message) = message(bytes, from) {
        if (from..from + message.length).contains(&(at - segment)) {
            return match message.kind {
                NODE | NODE_FILE => "whole pages",
                LINK | LINK_FILE => "changes of pages",
                CAP | 1 => "filling",
                _ => "batches, and where the tree begins",
            };
        }
        from += message.length;
    }
    "behind the last message"
}

/// Changes bits of a log, one at a time. With `SSDTUNE_LONG=1` there is one in every byte.
#[test]
fn a_changed_bit_is_noticed_or_changes_nothing() {
    let (mut log, generation) = log();
    let contents = replay(&log).expect("a whole tree");
    assert!(is_whole(&contents, generation));
    let end = log.iter().rposition(|&byte| byte != 0).expect("a log") + 200;
    log.truncate(end);
    let parts: Vec<_> = (0..log.len()).map(|at| part(&log, at)).step_by(long_or(61, 1)).collect();
    let mut counts: BTreeMap<&str, [usize; 2]> = BTreeMap::new();
    for (at, part) in (0..log.len()).step_by(long_or(61, 1)).zip(parts) {
        let bit = 1 << (at * 5 % 8);
        log[at] ^= bit;
        let found = replay(&log).filter(|contents| is_whole(contents, generation));
        log[at] ^= bit;
        if let Some(found) = &found {
            assert!(*found == contents, "byte {at}, {part}: other records pass for the whole");
        }
        counts.entry(part).or_default()[usize::from(found.is_none())] += 1;
    }
    for (part, [unused, noticed]) in &counts {
        println!("{part}: {noticed} bytes noticed, {unused} not in use");
    }
    assert!(counts.values().all(|[unused, noticed]| unused + noticed > 0));
    assert!(counts["changes of pages"][1] > 0 && counts["whole pages"][1] > 0, "{counts:?}");
}

/// Whatever is damaged, what is saved was there before.
#[test]
fn zeros_anywhere_lose_little_and_add_nothing() {
    let (log, _) = log();
    let saved = |log: &[u8]| saved_of(log, &|_| Body::Gone);
    let ever: std::collections::BTreeSet<_> = saved(&log).into_iter().collect();
    let contents = replay(&log).expect("a whole tree");
    assert!(contents.iter().all(|(key, value)| ever.contains(&(key.clone(), value.clone()))));
    // Where the message that removes a record is lost, the record may come back.
    let removed =
        (0..3u32).map(|session| storage_key(RecordKind::Evaluation, &(8 * session).to_be_bytes()));
    let once: std::collections::BTreeSet<Vec<u8>> =
        contents.keys().cloned().chain(removed).collect();
    for from in (0..log.len()).step_by(long_or(4_999, 997)) {
        let mut log = log.clone();
        let to = log.len().min(from + 64);
        log[from..to].fill(0);
        // A key whose page is lost may come without its beginning. Its seal does not fit it then.
        let left = saved(&log);
        let sound = left
            .iter()
            .filter(|(key, bytes)| crate::memory::db::envelope::open(key, bytes).is_ok());
        let keys: std::collections::BTreeSet<_> = sound.clone().map(|(key, _)| key).collect();
        assert!(keys.len() + 4 >= contents.len(), "zeros from {from}: {} keys", keys.len());
        for (key, _) in sound {
            assert!(once.contains(key), "zeros from {from}: {key:?} was never stored");
        }
    }
}

/// The header of the segment at a place that says up to where all was on disk.
fn header(place: i64, stable: i64) -> [u8; SEGMENT_HEADER] {
    let mut bytes = [0; SEGMENT_HEADER];
    bytes[4..12].copy_from_slice(&(place ^ i64::MAX).to_le_bytes());
    bytes[12..].copy_from_slice(&(stable ^ i64::MAX).to_le_bytes());
    let sum = !crc32fast::hash(&bytes[4..]);
    bytes[..4].copy_from_slice(&sum.to_le_bytes());
    bytes
}

/// A header may call stable what lies before the end of its own segment, and no more.
#[test]
fn a_segment_that_was_stable_before_it_was_written_is_made_up() {
    const SIZE: i64 = SEGMENT as i64;
    let (mut log, _) = log();
    log.resize(log.len().next_multiple_of(SEGMENT) + 2 * SEGMENT, 0);
    let place = log.len() - SEGMENT;
    let mut found = |stable: i64| {
        log[place..place + SEGMENT_HEADER].copy_from_slice(&header(place as i64, stable));
        intact_of(&log, 0, &|_| Body::Gone).err()
    };
    assert_ne!(found(place as i64 + SIZE), Some(Senseless::MadeUp));
    assert_eq!(found(place as i64 + SIZE + 1), Some(Senseless::MadeUp));
}

/// A sound store is saved whole.
#[test]
fn what_is_saved_of_a_sound_store_is_all_that_it_holds() {
    let directory = tempfile::tempdir().expect("a directory");
    let path = directory.path().join("db");
    let db = AutoDb::open(&path).expect("it opens");
    for number in 0..20u32 {
        db.put(RecordKind::Evaluation, &number.to_be_bytes(), &vec![7; 50]).expect("put");
    }
    drop(db);
    let store = path.join("store");
    let whole = intact(&store).expect("a log").expect("a whole tree");
    let last: Contents = saved(&store).expect("a log").into_iter().collect();
    assert!(whole.len() > 20 && last == whole, "{} of {}", last.len(), whole.len());
}

/// What was removed with its page does not come back from a log that is whole.
#[test]
fn a_page_that_was_given_back_is_gone() {
    let page = |page: u64, kind: u8| Message { kind, segment: 0, page, body: &[], length: 0 };
    let mut pages = Pages::default();
    for number in [1, 2] {
        pages.pages.insert(number, Page::Index { first: 0 });
    }
    assert_eq!(pages.apply_body(&page(1, FREE), &[]), Some(()));
    assert_eq!(pages.pages.keys().collect::<Vec<_>>(), [&2]);
}
