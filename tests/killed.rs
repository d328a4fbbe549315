//! Long commands killed (`kill -9`) at many moments, several times each: gone on with to the end,
//! they give the answer, or the file, of a run that nobody killed.
//!
//! An ordinary run kills each command four times. With `SSDTUNE_LONG=1` it does so a hundred times.

use crate::support::binary;
use serde_json::Value;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// Kills of one run before it is left to end.
const KILLS_OF_ONE: u64 = 5;

/// Kills of a command in all.
fn kills_wanted() -> u64 {
    if std::env::var_os("SSDTUNE_LONG").is_some_and(|value| value == "1") { 100 } else { 4 }
}

/// Starts runs, kills each several times and goes on with it, and gives the last child to `end`.
/// `start` is told the number of the run and whether it goes on. A run takes `takes` when nobody
/// kills it.
fn kill(takes: Duration, start: impl Fn(u64, bool) -> Child, mut end: impl FnMut(u64, Child)) {
    let (mut kills, mut runs) = (0, 0);
    while kills < kills_wanted() {
        let mut child = start(runs, false);
        for kill in 0..KILLS_OF_ONE.min(kills_wanted() - kills) {
            // Parts of the time that a whole run takes, in no order.
            let part = (runs * KILLS_OF_ONE + kill) * 37 % 64;
            std::thread::sleep(takes.mul_f64(part as f64 / 100.0));
            // It may have ended; then this kill did not count.
            if child.try_wait().expect("a child").is_some() {
                break;
            }
            child.kill().expect("it still runs");
            child.wait().expect("it has died");
            kills += 1;
            child = start(runs, true);
        }
        end(runs, child);
        runs += 1;
    }
    println!("{kills} kills of {runs} runs of {takes:?}");
}

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
    let directory = tempfile::tempdir().expect("a directory");
    let db = |number: u64| directory.path().join(number.to_string());
    let began = Instant::now();
    let whole = answer(start(&directory.path().join("whole"), false));
    kill(
        began.elapsed(),
        |number, resume| start(&db(number), resume),
        |number, child| assert_eq!(answer(child), whole, "search {number}"),
    );
}

/// A command that adds a line to a file for each thing it has measured.
fn grow(words: &str, out: &Path) -> Child {
    let mut command = Command::new(binary());
    command.arg("-q").args(words.split(' ')).arg("--out").arg(out);
    command.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().expect("it starts")
}

#[test]
fn a_file_that_grows_is_the_same_however_often_its_maker_was_killed() {
    let label = "keeper label --set flash.blocks_per_plane=128 --requests 200 --working-set 512 \
                 --rate-max 16000 --mixes 60 --tenants 4,2";
    let sweep = "predict-perf sweep --device haml --set bus.channels=2 --set \
                 flash.blocks_per_plane=64 --sample 200";
    for words in [label, sweep] {
        let directory = tempfile::tempdir().expect("a directory");
        let file = |name: &str| directory.path().join(name);
        let ended = |child: Child, name: &str| {
            let output = child.wait_with_output().expect("it ends");
            let said = String::from_utf8_lossy(&output.stderr);
            assert!(output.status.success(), "{words}: {:?}: {said}", output.status);
            std::fs::read_to_string(file(name)).expect("its file")
        };
        let began = Instant::now();
        let whole = ended(grow(words, &file("whole")), "whole");
        assert!(whole.lines().count() > 20, "{words}: too short to be killed");
        kill(
            began.elapsed(),
            |number, _| grow(words, &file(&number.to_string())),
            |number, child| {
                assert_eq!(ended(child, &number.to_string()), whole, "{words}, run {number}");
            },
        );
    }
}
