//! Kills processes (`kill -9`) while they write an AutoDB: no acknowledged record may be lost, and
//! no batch may be stored in part.
//!
//! An ordinary run kills ten writers. With `SSDTUNE_LONG=1` it kills a hundred.

use crate::long::long_or;
use serde::{Deserialize, Serialize};
use ssdtune_tune::memory::{AutoDb, Batch, RecordKind};
use std::io::{BufRead, BufReader, Write};
use std::ops::RangeInclusive;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

const AUTODB: &str = "SSDTUNE_TEST_AUTODB";
const ROUND: &str = "SSDTUNE_TEST_ROUND";
/// The number of records in a batch.
const BATCH: u64 = 7;

#[derive(Debug, PartialEq, Serialize, Deserialize)]
struct Record {
    number: u64,
    values: Vec<f64>,
}

fn record(number: u64) -> Record {
    // From one to some hundred numbers, so that kills hit writes of many sizes.
    let values = (0..=number % 97 * number % 5).map(|i| (number + i) as f64 / 3.0).collect();
    Record { number, values }
}

fn key(round: u64, number: u64) -> [u8; 16] {
    ((u128::from(round) << 64) | u128::from(number)).to_be_bytes()
}

/// The process that is killed. In an ordinary run this test does nothing. As a child process it
/// writes from two threads until it dies, some records alone and some in batches, and prints the
/// number of each record once it is acknowledged.
#[test]
fn writer() {
    let Ok(path) = std::env::var(AUTODB) else { return };
    let round: u64 = std::env::var(ROUND).expect("a round").parse().expect("a number");
    let db = AutoDb::open(path).expect("the AutoDB opens");
    let next = AtomicU64::new(0);
    let write = || {
        loop {
            let first = next.fetch_add(BATCH, Ordering::Relaxed);
            let numbers = first..first + BATCH;
            if first.is_multiple_of(2) {
                let mut batch = Batch::default();
                for number in numbers.clone() {
                    batch.put(RecordKind::Run, &key(round, number), &record(number)).expect("JSON");
                }
                db.commit(&batch).expect("written");
                acknowledge(numbers);
            } else {
                for number in numbers {
                    db.put(RecordKind::Evaluation, &key(round, number), &record(number))
                        .expect("written");
                    acknowledge(number..number + 1);
                }
            }
        }
    };
    std::thread::scope(|scope| {
        scope.spawn(write);
        write();
    });
}

fn acknowledge(numbers: std::ops::Range<u64>) {
    let lines: String = numbers.map(|number| format!("stored {number}\n")).collect();
    // One write, so that the parent reads whole lines.
    std::io::stdout().write_all(lines.as_bytes()).expect("the parent listens");
}

/// A child process that is killed when the test ends.
struct Victim(Child);

impl Drop for Victim {
    fn drop(&mut self) {
        // Errors do not matter: the process may be dead already.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn start(path: &Path, round: u64) -> Victim {
    let this = std::env::current_exe().expect("a running test has a path");
    let child = Command::new(this)
        .args(["kill::writer", "--exact", "--nocapture", "--test-threads=1"])
        .env(AUTODB, path)
        .env(ROUND, round.to_string())
        .stdout(Stdio::piped())
        .stderr(Stdio::inherit())
        .spawn();
    Victim(child.expect("the test can run itself"))
}

#[test]
fn kills_lose_no_acknowledged_record() {
    let rounds = long_or(10, 100);
    let directory = tempfile::tempdir().expect("a directory");
    let path = directory.path().join("db");
    let mut acknowledged: Vec<Vec<u64>> = Vec::new();
    for round in 0..rounds {
        let mut victim = start(&path, round);
        let mut lines = BufReader::new(victim.0.stdout.take().expect("piped")).lines();
        // Some writers die while they open the AutoDB. Most die after a number of acknowledged
        // records, which a busy machine cannot make too small, and after a delay that is no
        // multiple of a flush.
        let mut numbers = Vec::new();
        if !round.is_multiple_of(10) {
            let written = lines.by_ref().map(|line| line.expect("text")).filter_map(number_of);
            numbers.extend(written.take((round * 37 % 61) as usize));
        }
        std::thread::sleep(Duration::from_micros(1_000 + round * 7_919 % 10_000));
        victim.0.kill().expect("it still runs");
        victim.0.wait().expect("it has died");
        numbers.extend(lines.map_while(Result::ok).filter_map(number_of));
        acknowledged.push(numbers);
        // Sometimes check all rounds: a later recovery might lose records of earlier ones.
        let first = if round + 1 == rounds || round.is_multiple_of(20) { 0 } else { round };
        verify(&path, first..=round, &acknowledged);
    }
    let total: usize = acknowledged.iter().map(Vec::len).sum();
    println!("{total} acknowledged records in {rounds} rounds");
    assert!(total as u64 > rounds * 20, "{total} records: the writers hardly wrote");
}

fn number_of(line: String) -> Option<u64> {
    line.strip_prefix("stored ")?.parse().ok()
}

/// Checks every record of these rounds, and the batches of the last one.
fn verify(path: &Path, rounds: RangeInclusive<u64>, acknowledged: &[Vec<u64>]) {
    let last = *rounds.end();
    let db = AutoDb::open(path).expect("the AutoDB opens after a kill");
    let health = db.verify().expect("readable");
    assert!(health.damaged.is_empty(), "round {last}: {:?}", health.damaged);
    for round in rounds {
        for &number in &acknowledged[round as usize] {
            let batch = number / BATCH * BATCH;
            let kind =
                if batch.is_multiple_of(2) { RecordKind::Run } else { RecordKind::Evaluation };
            let found = db.get::<Record>(kind, &key(round, number)).expect("sound");
            let stored = found.unwrap_or_else(|| panic!("round {round}: record {number} is lost"));
            assert_eq!(stored.value, record(number));
            assert!(stored.generation <= db.generation());
        }
    }
    // A batch is stored whole or not at all.
    let mut batches = std::collections::BTreeMap::<u64, u64>::new();
    for entry in db.scan_prefix::<Record>(RecordKind::Run, &last.to_be_bytes()) {
        *batches.entry(entry.expect("sound").1.value.number / BATCH).or_default() += 1;
    }
    assert!(batches.values().all(|&count| count == BATCH), "round {last}: {batches:?}");
}

#[test]
fn an_autodb_survives_death_while_it_is_made() {
    let directory = tempfile::tempdir().expect("a directory");
    for round in 0..long_or(8, 40) {
        let path = directory.path().join(round.to_string());
        let mut victim = start(&path, round);
        std::thread::sleep(Duration::from_micros(2_000 + round * 1_009));
        victim.0.kill().expect("it still runs");
        victim.0.wait().expect("it has died");
        let db = AutoDb::open(&path).expect("the AutoDB opens after a kill");
        assert!(db.verify().expect("readable").damaged.is_empty());
        db.put(RecordKind::Run, b"after", &1).expect("it can be written");
    }
}
