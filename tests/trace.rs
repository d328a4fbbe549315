//! Tests of `ssdtune trace` through the command.

use crate::support::{self, ssdtune};
use predicates::prelude::*;
use serde_json::Value;
use ssdtune_experiment::livepoints::LivePoints;
use ssdtune_model::testing::shared;
use std::path::Path;

fn directory() -> tempfile::TempDir {
    tempfile::tempdir().expect("a directory")
}

fn text(path: &Path) -> &str {
    path.to_str().expect("a path in Unicode")
}

/// Runs `ssdtune trace` and returns the JSON document that it prints.
fn json(arguments: &[&str]) -> Value {
    support::document(ssdtune().arg("trace").args(arguments))
}

#[test]
fn generated_traces_survive_conversion() {
    let directory = directory();
    let path = |name: &str| directory.path().join(name);
    let generated = path("generated.ssdt");
    let report = json(&["generate", "tpcc", "-n", "3000", "-o", text(&generated)]);
    assert_eq!((&report["requests"], &report["model"]), (&3000.into(), &"database".into()));

    let mut from = generated;
    let mut described = Vec::new();
    // Converts through text and compressed formats and back. Every reading counts times from the
    // first request, so all the files agree.
    for name in ["a.csv.zst", "b.trace.gz", "c.csv.xz", "d.ssdt"] {
        let to = path(name);
        let written = json(&["convert", text(&from), "-o", text(&to)]);
        assert_eq!(written[0]["requests"], 3000, "{name}");
        let mut info = json(&["info", text(&to)])[0].take();
        assert_eq!(info["requests"], 3000, "{name}");
        let format = info["format"].take();
        assert!(format.as_str().is_some_and(|f| ["csv", "mqsim", "ssdt"].contains(&f)), "{format}");
        info["file"].take();
        described.push(info);
        from = to;
    }
    assert!(described.windows(2).all(|pair| pair[0] == pair[1]), "{described:#?}");
    let first = json(&["head", text(&path("a.csv.zst")), "-n", "3000"]);
    assert_eq!(first, json(&["head", text(&path("d.ssdt")), "-n", "3000"]));
}

/// Flags for windows that a short trace has enough of.
const SHORT: [&str; 6] = ["--windows", "16", "--measured", "100", "--warm-up", "50"];

#[test]
fn a_sample_is_that_of_the_trace_whatever_its_format() {
    let directory = directory();
    let path = |name: &str| directory.path().join(name);
    let (trace, csv) = (path("a.ssdt"), path("a.csv.zst"));
    json(&["generate", "ycsb", "-n", "6000", "-o", text(&path("generated.ssdt"))]);
    // Times of what is converted count from the first request.
    json(&["convert", text(&path("generated.ssdt")), "-o", text(&csv)]);
    json(&["convert", text(&csv), "-o", text(&trace)]);
    let sample = |trace: &Path, out: &Path, more: &[&str]| {
        json(&[&["sample", text(trace), "-o", text(out)], &SHORT[..], more].concat())
    };
    let (one, other) = (path("one.points"), path("other.points"));
    let said = sample(&trace, &one, &[]);
    let windows = said["windows"].as_u64().expect("a number");
    assert!((8..=16).contains(&windows), "{said}");
    assert_eq!((&said["requests"], &said["measured"]), (&6_000.into(), &100.into()));
    let points = LivePoints::read(&one).expect("live-points");
    assert_eq!((points.windows.len() as u64, points.requests), (windows, 6_000));
    assert_eq!(points.about.trace, text(&trace));
    let length = std::fs::metadata(&one).expect("a file").len();
    assert_eq!(said["file_bytes"], length);

    assert_eq!(sample(&csv, &other, &[])["fingerprint"], said["fingerprint"]);
    let mut again = LivePoints::read(&other).expect("live-points");
    again.about.trace.clone_from(&points.about.trace);
    assert_eq!(again, points);
    // Gaps are closed, and a pipe is read once.
    let compact = sample(&trace, &path("compact.points"), &["--compact"]);
    assert_eq!(compact["footprint_bytes"], said["footprint_bytes"]);
    let points = LivePoints::read(&path("compact.points")).expect("live-points");
    assert_eq!(points.footprint.max(), Some(points.footprint.len() - 1));
    let mut piped = ssdtune();
    piped.args(["trace", "sample", "-", "-o"]).arg(path("piped.points")).args(SHORT);
    piped.pipe_stdin(&csv).expect("a file").assert().success();
    let seeded = sample(&trace, &path("seeded.points"), &["--seed", "9"]);
    assert_eq!(seeded["fingerprint"], said["fingerprint"]);
    let seeded = LivePoints::read(&path("seeded.points")).expect("live-points");
    assert!(seeded.windows != again.windows);
}

#[test]
fn a_sample_that_cannot_be_says_what_to_do() {
    let directory = directory();
    let path = |name: &str| directory.path().join(name);
    let (trace, two) = (path("a.ssdt"), path("two.csv"));
    json(&["generate", "ycsb", "-n", "3000", "-o", text(&trace)]);
    let row = |nth: usize| format!("{},{},W,{},8\n", 1_000 * nth, nth % 2, 8 * nth);
    let rows: String = (0..1_000).map(row).collect();
    std::fs::write(&two, format!("time_ns,tenant,op,lba,sectors\n{rows}")).expect("written");
    let fails = |trace: &str, more: &[&str], code: i32, words: &str| {
        let out = path("out.points");
        let mut command = ssdtune();
        command.args(["trace", "sample", trace, "-o"]).arg(&out).args(more);
        command.assert().code(code).stderr(predicate::str::contains(words));
        assert!(!out.exists());
    };
    let least = "3000 requests, and two windows need 3128";
    fails(text(&trace), &[], 3, least);
    fails(text(&trace), &["--page-bytes", "5000"], 2, "pages of 5000 bytes");
    fails(text(&trace), &["--windows", "1"], 2, "at least two windows");
    let little = [&SHORT[..], &["--memory", "1KiB"]].concat();
    fails(text(&trace), &little, 3, "allow more (--memory)");
    fails(text(&two), &SHORT, 3, "--merge-devices");
    fails("-", &["--compact"], 2, "--compact reads - twice");
    let mut merged = ssdtune();
    merged.args(["trace", "sample", text(&two), "--merge-devices", "-o"]);
    merged.arg(path("merged.points")).args(SHORT).assert().success();
}

#[test]
fn a_seed_gives_the_same_trace_again_and_another_another() {
    let directory = directory();
    let make = |name: &str, seed: &str, set: &str| {
        let path = directory.path().join(name);
        let arguments = ["trace", "generate", "ycsb", "-n", "500", "--seed", seed];
        ssdtune().args(arguments).args(["--seed-set", set]).arg("-o").arg(&path).assert().success();
        std::fs::read(path).expect("a trace")
    };
    let one = make("1.csv", "7", "training");
    assert_eq!(one, make("2.csv", "7", "training"));
    assert_ne!(one, make("3.csv", "8", "training"));
    assert_ne!(one, make("4.csv", "7", "held-out"));
}

#[test]
fn a_model_fitted_to_a_trace_generates_one_like_it() {
    let directory = directory();
    let path = |name: &str| directory.path().join(name);
    let (trace, model, again) = (path("t.ssdt"), path("model.toml"), path("again.ssdt"));
    json(&["generate", "database", "-n", "4000", "-o", text(&trace)]);
    let fitted = json(&["fit", text(&trace), "-o", text(&model)]);
    assert_eq!(fitted["requests"], 4000);
    json(&["generate", text(&model), "-n", "4000", "-o", text(&again)]);
    let reads = |path: &Path| json(&["info", text(path)])[0]["reads"].as_u64().unwrap_or(0);
    assert!(reads(&trace).abs_diff(reads(&again)) < 200);
    // All commands take the same flags for reading.
    json(&["fit", text(&trace), "--merge-devices", "--max-gap", "1h"]);
}

#[test]
fn a_model_can_be_held_against_a_trace() {
    let directory = directory();
    let trace = directory.path().join("t.ssdt");
    json(&["generate", "database", "-n", "4000", "-o", text(&trace)]);
    let off = |model: &str| {
        let report = json(&["fit", text(&trace), "--against", model]);
        assert_eq!(report["model"]["name"], model);
        report["distance"]["read_size_ks"].as_f64().expect("a distance")
    };
    assert!(off("database") < 0.05 && off("hdfs") > 0.5);
    let refused = ["trace", "fit", text(&trace), "--against", "databas"];
    let message = predicate::str::contains("did you mean `database`?");
    ssdtune().args(refused).assert().code(2).stderr(message);
}

#[test]
fn standard_input_is_read_once() {
    let directory = directory();
    let (trace, out) = (directory.path().join("t.ssdt"), directory.path().join("out.csv"));
    json(&["generate", "tpcc", "-n", "1000", "-o", text(&trace)]);
    let piped = std::fs::read(&trace).expect("a trace");
    let convert = ["trace", "convert", "-", "-o", text(&out)];
    ssdtune().args(convert).write_stdin(piped.clone()).assert().success();
    assert_eq!(json(&["info", text(&out)])[0]["requests"], 1000);
    for twice in [["--split", "70/20/10"], ["--remap", "dense"]] {
        let message =
            predicate::str::contains("twice").and(predicate::str::contains("can be read once"));
        let mut run = ssdtune();
        run.args(convert).args(twice).write_stdin(piped.clone()).assert().code(2).stderr(message);
    }
}

#[test]
fn a_file_of_two_lines_is_told_by_their_form_and_the_bad_one_is_named() {
    let directory = directory();
    let path = directory.path().join("t.trace");
    for (line, complaint) in
        [("2000 0 8 0 1", "no sectors"), ("2000 0 18446744073709551000 8 1", "past the end")]
    {
        std::fs::write(&path, format!("1000 0 100 8 0\n{line}\n")).expect("a file");
        let message = predicate::str::contains("line 2").and(predicate::str::contains(complaint));
        ssdtune().args(["trace", "info"]).arg(&path).assert().code(3).stderr(message);
    }
}

#[test]
fn wrong_files_end_with_3_and_say_what_to_do() {
    let directory = directory();
    let file = |name: &str, content: &[u8]| {
        let path = directory.path().join(name);
        std::fs::write(&path, content).expect("a file");
        path
    };
    let junk: Vec<u8> = (0..4000u32).map(|i| (i.wrapping_mul(2_654_435_761) >> 24) as u8).collect();
    let csv = file("sound.csv", b"0,0,W,8,8\n5,0,R,8,8\n");
    let cut = directory.path().join("cut.ssdt");
    json(&["generate", "tpcc", "-n", "1000", "-o", text(&cut)]);
    let whole = std::fs::read(&cut).expect("a trace");
    std::fs::write(&cut, &whole[..whole.len() / 2]).expect("a file");
    let cases = [
        (directory.path().join("missing.csv"), "auto", "missing.csv: opening failed"),
        (file("junk.ssdt", &junk), "auto", "no known trace format fits"),
        (csv.clone(), "mqsim", "line 1, column 2 (mqsim): expected a blank, then the device"),
        (file("empty.trace", b""), "auto", "no request in it"),
        (file("late.trace", b"99999999999999999999999 0 1 8 0\n"), "mqsim", "out of the range"),
        (file("far.trace", b"1 0 18446744073709551615 8 0\n"), "mqsim", "column 5"),
        (directory.path().to_path_buf(), "auto", "a directory"),
        (cut, "auto", "cut short"),
    ];
    let out = directory.path().join("out.ssdt");
    for (path, format, complaint) in cases {
        for command in ["info", "head", "fit", "convert"] {
            let mut run = ssdtune();
            run.args(["trace", command, "--format", format]).arg(&path);
            if command == "convert" {
                run.arg("-o").arg(&out);
            }
            let message = predicate::str::starts_with("error: ")
                .and(predicate::str::contains(complaint))
                .and(predicate::str::contains("cause:").not());
            run.assert().code(3).stdout("").stderr(message);
        }
    }
    let left: Vec<_> = std::fs::read_dir(directory.path()).expect("lists").flatten().collect();
    let partial = |name: &std::ffi::OsStr| name.to_string_lossy().contains("out.ssdt");
    assert!(!left.iter().any(|entry| partial(&entry.file_name())), "no half-written trace is left");
    ssdtune().args(["trace", "info", "--format", "nonsense"]).arg(csv).assert().code(2);
}

#[test]
fn lenient_reading_counts_what_it_skips() {
    let directory = directory();
    let path = directory.path().join("t.trace");
    std::fs::write(&path, "1 0 8 8 0\n2 0 x 8 0\n3 0 8 0 0\n4 0 16 8 1\n").expect("a file");
    for command in ["info", "head"] {
        let mut run = ssdtune();
        run.args(["trace", command, "--format", "mqsim", "--lenient"]).arg(&path);
        let message = predicate::str::contains("2 skipped").and(predicate::str::contains("line 2"));
        run.assert().success().stderr(message);
    }
    assert_eq!(json(&["info", "--format", "mqsim", "--lenient", text(&path)])[0]["skipped"], 2);
}

#[cfg(unix)]
#[test]
fn a_device_is_written_to_and_not_replaced() {
    use std::os::unix::fs::FileTypeExt;
    let directory = directory();
    let link = directory.path().join("sink");
    std::os::unix::fs::symlink("/dev/null", &link).expect("a link");
    let arguments = ["trace", "generate", "tpcc", "-n", "10"];
    let trace = directory.path().join("t.ssdt");
    ssdtune().args(arguments).arg("-o").arg(&trace).assert().success();
    ssdtune()
        .args(["trace", "convert", "--to", "csv"])
        .arg(&trace)
        .arg("-o")
        .arg(&link)
        .assert()
        .success();
    let metadata = std::fs::metadata(&link).expect("still there");
    assert!(metadata.file_type().is_char_device());
}

#[test]
fn formats_and_models_are_listed() {
    let formats = json(&["formats"]);
    assert_eq!(formats.as_array().map(Vec::len), Some(22));
    let models = json(&["models"]);
    let names = models.as_array().expect("a list").iter().map(|m| m["name"].clone());
    let names: Vec<Value> = names.collect();
    assert!(names.contains(&"database".into()) && names.len() > 10, "{names:?}");
    ssdtune().args(["trace", "models", "database"]).assert().success().stdout(
        predicate::str::contains("name = \"database\"").and(predicate::str::contains("# Guesses")),
    );
    let wrong = ssdtune().args(["trace", "models", "databse"]).assert().code(2);
    wrong.stderr(predicate::str::contains("did you mean `database`?"));
}

#[test]
fn a_real_trace_is_described() {
    let Some(path) = shared("traces/mqsim_tpcc-small.trace") else { return };
    let info = &json(&["info", text(&path)])[0];
    assert_eq!((&info["requests"], &info["format"]), (&6999.into(), &"mqsim".into()));
    let one = json(&["info", "--devices", "4", text(&path)]);
    assert!(one[0]["requests"].as_u64().is_some_and(|n| n > 0 && n < 6999));
}
