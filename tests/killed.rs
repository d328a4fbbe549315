//! `ssdtune search` killed (`kill -9`) at random moments, several times each: resumed to the end,
//! it gives the answer of a search that nobody killed.
//!
//! An ordinary run kills four searches. With `SSDTUNE_LONG=1` it kills a hundred.

use crate::support::binary;
use serde_json::Value;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Instant;

/// Kills of one search before it is left to end.
const KILLS_OF_ONE: u64 = 5;

fn start(db: &Path, resume: bool) -> Child {
    let small = [
        ["--target", "websearch"],
        ["--others", "database"],
        ["--requests", "600"],
        ["--budget", "6"],
        ["--prefix", "150"],
    ];
    let mut command = Command::new(binary());
    command.args(["search", "-q", "--json"]).args(small.as_flattened()).arg("--db").arg(db);
    command.args(resume.then_some("--resume"));
    command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("it starts")
}

/// The answer without what depends on the clock and on evaluations that were stored before.
fn answer(child: Child) -> Value {
    let output = child.wait_with_output().expect("it ends");
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{:?}: {said}", output.status);
    let mut document: Value = serde_json::from_slice(&output.stdout).expect("a document");
    let fields = document.as_object_mut().expect("an object");
    fields.remove("effort");
    fields.remove("curve");
    document
}

#[test]
fn a_search_that_is_killed_again_and_again_gives_the_same_answer() {
    let wanted =
        if std::env::var_os("SSDTUNE_LONG").is_some_and(|value| value == "1") { 100 } else { 4 };
    let directory = tempfile::tempdir().expect("a directory");
    let began = Instant::now();
    let whole = answer(start(&directory.path().join("whole"), false));
    let takes = began.elapsed();
    let (mut kills, mut searches) = (0, 0);
    while kills < wanted {
        let db = directory.path().join(searches.to_string());
        let mut child = start(&db, false);
        for kill in 0..KILLS_OF_ONE.min(wanted - kills) {
            // Parts of the time that a whole search takes, in no order.
            let part = (searches * KILLS_OF_ONE + kill) * 37 % 64;
            std::thread::sleep(takes.mul_f64(part as f64 / 100.0));
            // It may have ended; then this kill did not count.
            let ended = child.try_wait().expect("a child").is_some();
            if ended {
                break;
            }
            child.kill().expect("it still runs");
            child.wait().expect("it has died");
            kills += 1;
            child = start(&db, true);
        }
        assert_eq!(answer(child), whole, "after {kills} kills");
        searches += 1;
    }
    println!("{kills} kills of {searches} searches of {takes:?}");
}
