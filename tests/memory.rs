//! Where memory ends (`ulimit -v`): commands that stream a trace need little of it, however long
//! the trace is, and those that hold its requests end with exit code 1 and say how many they were.

use crate::support::{Scratch, binary, is_long, root};
use serde_json::Value;
use std::process::{Command, Output, Stdio};
use std::sync::LazyLock;

/// Requests of the trace. In memory they take 92 MiB, 24 bytes each.
const REQUESTS: u64 = 4_000_000;
/// The address space that suffices for streaming it, program, threads and the mapped file included,
/// in KiB. The file has 29 MiB.
const STREAMED_KIB: u64 = 150_000;
/// The address space that suffices for simulating it on a small drive that was empty, in KiB.
const SIMULATED_KIB: u64 = 300_000;
/// An address space in which the requests do not fit with what is made of them, in KiB.
const TIGHT_KIB: u64 = 150_000;

/// A directory with the trace, made once.
static DESK: LazyLock<Scratch> = LazyLock::new(|| {
    let desk = Scratch::new();
    let words = format!("trace generate ycsb -n {REQUESTS} -q -o big.ssdt");
    let mut command = Command::new(binary());
    command.args(words.split(' ')).current_dir(desk.path(""));
    assert!(command.status().expect("it runs").success());
    desk
});

/// Runs a command of one thread in so much address space. The C library would reserve another
/// 64 MiB of it for each thread that allocates, but only where the system's random addresses leave
/// an aligned place: then the same command fits on one day and not on the next.
fn within(kib: u64, words: &str) -> Output {
    let script = "ulimit -v \"$KIB\"; exec \"$@\"";
    let mut command = Command::new("sh");
    command.args(["-c", script, "sh"]).arg(binary()).args(words.split_whitespace());
    command.args(["--threads", "1"]).env("KIB", kib.to_string()).env("MALLOC_ARENA_MAX", "1");
    command.current_dir(DESK.path("")).stdin(Stdio::null()).output().expect("it runs")
}

fn said(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

/// A file of the repository.
fn file(name: &str) -> String {
    root().join(name).display().to_string()
}

#[test]
fn what_streams_a_trace_needs_little_memory() {
    let model = file("tests/fixtures/former/model.json");
    // A simulation of the whole takes a minute in a debug build.
    let simulated = if is_long() { REQUESTS } else { 200_000 };
    let simulate = "simulate --trace big.ssdt --device haml --set bus.channels=2 --set \
                    flash.blocks_per_plane=256 --fit-addresses wrap --requests";
    // The pass over the whole takes ten seconds in a debug build.
    let sample = if is_long() { " --sample" } else { "" };
    let check = format!(
        "predict-perf check --model {model} --depth 8 --windows 4 --trace big.ssdt --device haml \
         --set bus.channels=2 --set flash.blocks_per_plane=256"
    );
    for (kib, words) in [
        (STREAMED_KIB, "trace info big.ssdt"),
        (STREAMED_KIB, "trace convert big.ssdt -o out.csv.zst --force"),
        (
            STREAMED_KIB,
            &*format!("predict-perf predict --model {model} --depth 8 --trace big.ssdt"),
        ),
        (SIMULATED_KIB, &format!("{simulate} {simulated} --start empty --replay closed:8")),
        // A drive that holds what the trace touches takes memory for that, not for the requests.
        (SIMULATED_KIB, &format!("{simulate} 200000")),
        // Of all windows only those that are compared are held, be they cold or restored. A trace
        // of which all were held needed more.
        (TIGHT_KIB, &check),
        (SIMULATED_KIB, &format!("{check}{sample}")),
        // Only the first requests of a trace are read where only these are wanted.
        (
            SIMULATED_KIB,
            "grade intel-750 --target big.ssdt --others none --no-db --requests 1000 \
             --fit-addresses wrap",
        ),
    ] {
        let output = within(kib, words);
        assert!(output.status.success(), "{words} in {kib} KiB: {}", said(&output));
    }
}

#[test]
fn what_holds_a_trace_says_so_where_memory_ends() {
    let network = file("configs/keeper/ssdkeeper.json");
    let all = format!("--others none --no-db --fit-addresses wrap --requests {REQUESTS}");
    for (words, remedy) in [
        ("trace fit big.ssdt -o out.toml", "--requests N"),
        ("compare placement --trace big.ssdt --policy none", "--requests N"),
        (
            &*format!(
                "keeper compare --trace big.ssdt big.ssdt --model {network} --requests {REQUESTS}"
            ),
            "--requests N",
        ),
        (&format!("grade intel-750 --target big.ssdt {all}"), "--requests N"),
        (&format!("search --target big.ssdt {all} --budget 2 --out out"), "--requests N"),
    ] {
        let output = within(TIGHT_KIB, words);
        let said = said(&output);
        assert_eq!(output.status.code(), Some(1), "{words}: {said}");
        let error = said.lines().find(|line| line.starts_with("error: ")).expect("an error");
        let (before, _) = error
            .split_once(" requests of traces were taken into memory, 24 bytes")
            .unwrap_or_else(|| panic!("{words}: {said}"));
        let count: u64 = before.rsplit(' ').next().and_then(|n| n.parse().ok()).expect("a number");
        assert!((100_000..=2 * REQUESTS).contains(&count), "{words}: {error}");
        assert!(error.contains("MiB more were asked for"), "{words}: {error}");
        assert!(error.contains(remedy) && error.contains("ulimit -v"), "{words}: {error}");
        assert!(!DESK.path("out.toml").exists() && !DESK.path("out").exists(), "{words}");
    }
}

/// What was being written is removed, and `--json` prints a document, as after any failure.
#[test]
fn nothing_is_left_where_memory_ends() {
    let before = std::fs::read_dir(DESK.path("")).expect("a directory").count();
    let words = "simulate --device intel-750 --start steady --workload database --requests 1000 \
                 --log log.csv --json";
    let output = within(100_000, words);
    assert_eq!(output.status.code(), Some(1), "{}", said(&output));
    let document: Value = serde_json::from_slice(&output.stdout).expect("a document");
    let message = document["error"]["message"].as_str().expect("a message");
    assert!(message.starts_with("memory has ended: "), "{document}");
    assert_eq!(document["error"]["code"], 1);
    assert!(said(&output).contains("nothing was written to log.csv"), "{}", said(&output));
    let after = std::fs::read_dir(DESK.path("")).expect("a directory");
    let names: Vec<_> = after.map(|entry| entry.expect("an entry").file_name()).collect();
    assert!(names.len() <= before + 1, "{names:?}");
    assert!(!names.iter().any(|name| name.to_string_lossy().ends_with(".partial")), "{names:?}");
}
