//! Several processes on one AutoDB: each gets its turn or is told who has it, and no record is
//! lost or written over.

use crate::long::long_or;
use ssdtune_tune::memory::{AutoDb, DbError, RecordKind};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

const AUTODB: &str = "SSDTUNE_TEST_SHARED_AUTODB";
const NUMBER: &str = "SSDTUNE_TEST_PROCESS";

/// What each process stores in one turn.
const IN_A_TURN: u64 = 5;

/// One of the processes. In an ordinary run this test does nothing.
#[test]
fn visitor() {
    let Ok(path) = std::env::var(AUTODB) else { return };
    let number: u64 = std::env::var(NUMBER).expect("a number").parse().expect("a number");
    let mut refused = 0;
    for turn in 0..turns() {
        let db = loop {
            match AutoDb::open(&path) {
                Ok(db) => break db,
                Err(DbError::InUse { .. }) => refused += 1,
                Err(other) => panic!("process {number}: {other}"),
            }
            std::thread::sleep(Duration::from_millis(1 + number));
        };
        for record in 0..IN_A_TURN {
            // Every process also writes one key that all of them write.
            db.put(RecordKind::Run, &key(number, turn * IN_A_TURN + record), &record).expect("put");
            db.put(RecordKind::Model, b"shared", &(number, turn, record)).expect("put");
        }
    }
    println!("process {number} was refused {refused} times");
}

fn turns() -> u64 {
    long_or(6, 60)
}

fn key(process: u64, record: u64) -> [u8; 16] {
    ((u128::from(process) << 64) | u128::from(record)).to_be_bytes()
}

fn start(path: &Path, number: u64) -> std::process::Child {
    Command::new(std::env::current_exe().expect("a running test has a path"))
        .args(["processes::visitor", "--exact", "--nocapture", "--test-threads=1"])
        .env(AUTODB, path)
        .env(NUMBER, number.to_string())
        .stdout(Stdio::null())
        .spawn()
        .expect("the test can run itself")
}

#[test]
fn processes_take_turns_and_lose_nothing() {
    const PROCESSES: u64 = 3;
    let directory = tempfile::tempdir().expect("a directory");
    let path = directory.path().join("db");
    let began = Instant::now();
    let children: Vec<_> = (0..PROCESSES).map(|number| start(&path, number)).collect();
    for mut child in children {
        assert!(child.wait().expect("it ends").success());
    }
    let db = AutoDb::open_existing(&path).expect("it opens");
    for process in 0..PROCESSES {
        for record in 0..turns() * IN_A_TURN {
            let found = db.get::<u64>(RecordKind::Run, &key(process, record)).expect("sound");
            assert_eq!(found.expect("not lost").value, record % IN_A_TURN);
        }
    }
    // Each put was a change of its own, so the generations say that none was written over.
    assert_eq!(db.generation().0, 2 * PROCESSES * turns() * IN_A_TURN);
    let (_, turn, record) = db
        .get::<(u64, u64, u64)>(RecordKind::Model, b"shared")
        .expect("sound")
        .expect("stored")
        .value;
    assert_eq!((turn, record), (turns() - 1, IN_A_TURN - 1));
    println!("{PROCESSES} processes, {} turns each, {:?}", turns(), began.elapsed());
}
