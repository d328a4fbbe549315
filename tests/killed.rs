//! Long commands killed (`kill -9`) at many moments, several times each: gone on with to the end,
//! they give the answer, or the file, of a run that nobody killed.
//!
//! An ordinary run kills each command four times. With `SSDTUNE_LONG=1` it does so a hundred times.

use crate::support::{binary, is_long};
use serde_json::Value;
use std::collections::BTreeSet;
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

/// Kills of one run before it is left to end.
const KILLS_OF_ONE: u64 = 5;

/// Kills of a command in all.
fn kills_wanted() -> u64 {
    if is_long() { 100 } else { 4 }
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

/// A search of a second or two, without its AutoDB.
pub const SEARCH: [&str; 14] = [
    "search",
    "--space=autoblox",
    "-q",
    "--json",
    "--target",
    "websearch",
    "--others",
    "database",
    "--requests",
    "600",
    "--budget",
    "6",
    "--prefix",
    "150",
];

fn start(db: &Path, resume: bool) -> Child {
    let mut command = Command::new(binary());
    command.args(SEARCH).arg("--db").arg(db).args(resume.then_some("--resume"));
    command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("it starts")
}

/// The answer of a search, without what depends on the clock and on evaluations that were stored
/// before.
pub fn answer(output: &Output) -> Value {
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
    let ended = |child: Child| answer(&child.wait_with_output().expect("it ends"));
    let whole = ended(start(&directory.path().join("whole"), false));
    kill(
        began.elapsed(),
        |number, resume| start(&db(number), resume),
        |number, child| assert_eq!(ended(child), whole, "search {number}"),
    );
}

/// A command that adds lines to a file for each thing it has measured, and what of a line must be
/// the same in every run.
type Grower = (&'static str, fn(&str) -> String);

/// Starts a command that adds to a file. Files of its own lie beside it.
fn grow(words: &str, out: &Path) -> Child {
    let mut command = Command::new(binary());
    command.arg("-q").args(words.split_whitespace()).arg("--out").arg(out);
    command.env("TMPDIR", out.parent().expect("a directory"));
    command.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().expect("it starts")
}

/// A line of a profile without the times measured: how many there are stays.
pub fn work_of(line: &str) -> String {
    let mut row: Value = serde_json::from_str(line).expect("one JSON document");
    if let Some(times) = row.get_mut("ns") {
        let measured = times.as_array().expect("times");
        assert!(measured.iter().all(|ns| ns.as_u64() > Some(0)), "{line}");
        *times = measured.len().into();
    }
    row.to_string()
}

/// `keeper label`, `predict-perf sweep` and `predict-perf ftl profile`, each for a second or more.
const GROWERS: [Grower; 3] = [
    (
        "keeper label --set flash.blocks_per_plane=128 --requests 200 --working-set 512 --rate-max \
         16000 --mixes 60 --tenants 4,2",
        str::to_owned,
    ),
    (
        "predict-perf sweep --device haml --set bus.channels=2 --set flash.blocks_per_plane=64 \
         --sample 200",
        str::to_owned,
    ),
    (
        "predict-perf ftl profile --size small --groups-max 2 --repeats 2 --warm-up 0 \
         --events none",
        work_of,
    ),
];

#[test]
fn a_file_that_grows_is_the_same_however_often_its_maker_was_killed() {
    for (words, counts) in GROWERS {
        let directory = tempfile::tempdir().expect("a directory");
        let file = |name: &str| directory.path().join(name);
        let lines = |text: &str| text.lines().map(counts).collect::<Vec<_>>();
        let ended = |child: Child, name: &str| {
            let output = child.wait_with_output().expect("it ends");
            let said = String::from_utf8_lossy(&output.stderr);
            assert!(output.status.success(), "{words}: {:?}: {said}", output.status);
            let text = std::fs::read_to_string(file(name)).expect("its file");
            assert!(text.ends_with('\n'), "{words}: half a line is left");
            lines(&text)
        };
        let began = Instant::now();
        let whole = ended(grow(words, &file("whole")), "whole");
        assert!(whole.len() > 20, "{words}: too short to be killed");
        kill(
            began.elapsed(),
            |number, goes_on| {
                let file = file(&number.to_string());
                if goes_on {
                    // What a killed run has left is some of the whole, nothing of it twice.
                    let left = std::fs::read_to_string(&file).unwrap_or_default();
                    let sound = lines(left.rfind('\n').map_or("", |end| &left[..end]));
                    let some: BTreeSet<_> = sound.iter().collect();
                    assert!(some.is_subset(&whole.iter().collect()), "{words}: {left}");
                    assert!(some.len() == sound.len(), "{words}: a line is there twice: {left}");
                }
                grow(words, &file)
            },
            |number, child| {
                let made = ended(child, &number.to_string());
                assert!(made == whole, "{words}, run {number}: {made:#?}");
            },
        );
    }
}
