//! What commands say when something is wrong: a JSON object with `--json`, the place without the
//! content, hints that fit, counts that are true, times that jump back.

use crate::support::{document, parse, root, ssdtune};
use assert_cmd::assert::Assert;
use predicates::prelude::*;
use serde_json::{Value, json};
use std::fmt::Write as _;
use std::path::Path;

fn run(line: &str) -> assert_cmd::Command {
    let mut command = ssdtune();
    command.args(line.split(' '));
    command
}

fn said(done: &Assert) -> String {
    String::from_utf8_lossy(&done.get_output().stderr).into_owned()
}

fn write(directory: &Path, name: &str, text: &str) -> String {
    let path = directory.join(name);
    std::fs::write(&path, text).expect("written");
    path.display().to_string()
}

/// A trace of which the third line is wrong, and what stands there.
fn faulty(directory: &Path) -> (String, &'static str) {
    let text = "time_ns,tenant,op,lba,sectors\n0,0,W,0,8\n1000,0,R,hunter2-5c,8\n2000,0,R,0,8\n";
    (write(directory, "faulty.csv", text), "hunter2-5c")
}

#[test]
fn json_has_an_error_object_in_every_command() {
    let directory = tempfile::tempdir().unwrap();
    let (trace, _) = faulty(directory.path());
    let drive = write(directory.path(), "d.toml", "[gc]\nthreshold = 7\n[bus]\nchannels = \"x\"\n");
    let labels = write(directory.path(), "labels.jsonl", "{}\n");
    let model = write(directory.path(), "model.toml", "name = \"m\"\nrequests = \"many\"\n");
    let shipped = root().join("configs/keeper/ssdkeeper.json").display().to_string();
    let on = "simulate --device intel-750";
    let db = directory.path().join("db").display().to_string();
    let missing = json!(format!("{trace}.missing"));
    for (line, code, file, at) in [
        ("config check intel-751".to_owned(), 2, Value::Null, Value::Null),
        ("search --budget 5".into(), 2, Value::Null, Value::Null),
        ("keeper shares --level 77".into(), 2, Value::Null, Value::Null),
        (format!("config show {drive}"), 3, json!(drive), json!(2)),
        (format!("{on} --workload {model}"), 3, json!(model), Value::Null),
        (format!("trace info {trace}"), 3, json!(trace), json!(3)),
        (format!("trace convert {trace} -o {trace}.ssdt"), 3, json!(trace), json!(3)),
        (format!("{on} --trace {trace} --format csv"), 3, json!(trace), json!(3)),
        (format!("grade --no-db --target {trace} intel-750"), 3, json!(trace), json!(3)),
        (format!("keeper eval --model {shipped} {labels}"), 3, json!(labels), json!(1)),
        (format!("keeper eval --model {labels} {labels}"), 3, json!(labels), Value::Null),
        ("db list --db /nonexistent/db".into(), 2, Value::Null, Value::Null),
        (format!("db import {labels} --db {db}"), 3, json!(labels), json!(1)),
        (format!("db import {trace}.missing --db {db}"), 3, missing, Value::Null),
        (format!("trace fit {trace} --format csv -o {trace}.toml"), 3, json!(trace), json!(3)),
        (format!("predict-perf grid --grid {labels}"), 3, json!(labels), json!(1)),
        (
            format!("predict-perf import {labels} --device d --out {labels}.o"),
            3,
            json!(labels),
            Value::Null,
        ),
        (format!("{on} --trace {trace} --restore {labels}"), 3, json!(labels), Value::Null),
    ] {
        let done = run(&line).arg("--json").assert().code(code);
        let document = parse(&done);
        let error = &document["error"];
        assert_eq!((&error["code"], &error["file"]), (&json!(code), &file), "{line}: {document}");
        assert_eq!(error["line"], at, "{line}: {document}");
        let message = error["message"].as_str().expect("a text");
        assert!(said(&done).contains(message.lines().next().unwrap()), "{line}: {message}");
    }
    // Several faults: each has its place.
    let document = parse(&run(&format!("config show {drive} --json")).assert().code(3));
    let lines: Vec<&Value> =
        document["faults"].as_array().unwrap().iter().map(|fault| &fault["line"]).collect();
    assert_eq!(lines, [&json!(2), &json!(4)], "{document}");
    // Without --json nothing is printed.
    let plain = run("config show intel-751").assert().code(2);
    assert!(plain.get_output().stdout.is_empty());
}

/// A line that is not of a trace may be a secret: its place and kind are said, the content with -v.
#[test]
fn content_of_wrong_lines_is_shown_only_with_v() {
    let directory = tempfile::tempdir().unwrap();
    let (trace, secret) = faulty(directory.path());
    let no_trace = write(directory.path(), "id_rsa", &format!("{secret}\nsecond\n"));
    let out = directory.path().join("out.ssdt").display().to_string();
    let on = "simulate --device intel-750";
    let mut lines: Vec<String> =
        [&trace, &no_trace].into_iter().map(|path| format!("trace info {path}")).collect();
    lines.push(format!("trace head {trace} --format csv"));
    lines.push(format!("trace info {trace} --format csv --lenient"));
    lines.push(format!("trace convert {trace} --format csv -o {out}"));
    lines.push(format!("trace fit {no_trace}"));
    lines.push(format!("{on} --trace {trace} --format csv"));
    lines.push(format!("{on} --trace {trace} --format csv --lenient"));
    lines.push(format!("compare placement --trace {no_trace}"));
    lines.push(format!("choose --trace {trace} --format csv intel-750"));
    for line in lines {
        let quiet = run(&line).assert();
        assert!(said(&quiet).contains("-v shows"), "{line}: {}", said(&quiet));
        for output in [&quiet.get_output().stderr, &quiet.get_output().stdout] {
            let text = String::from_utf8_lossy(output).into_owned();
            assert!(!text.contains("hunter2"), "{line}: {text}");
        }
        let verbose = run(&line).arg("-v").assert();
        assert!(said(&verbose).contains(secret), "{line}: {}", said(&verbose));
    }
}

/// A row that jumps back by 27 hours is told and, with --strict, refused.
#[test]
fn a_jump_back_is_told_and_strict_refuses_it() {
    let directory = tempfile::tempdir().unwrap();
    let mut text = "time_ns,tenant,op,lba,sectors\n".to_owned();
    for n in 0..200u64 {
        let second = if n == 100 { 0 } else { 100_000 };
        let _ = writeln!(text, "{},0,W,{},8", second * 1_000_000_000 + n * 1_000_000, n * 8);
    }
    let trace = write(directory.path(), "jump.csv", &text);
    let out = directory.path().join("out.ssdt").display().to_string();
    let on = "simulate --device intel-750 --trace";
    for line in [
        format!("{on} {trace}"),
        format!("{on} {trace} --sweep run.seed=1,2"),
        format!("trace info {trace}"),
        format!("trace head {trace} -n 500"),
        format!("trace convert {trace} -o {out}"),
    ] {
        let told = said(&run(&line).assert().success());
        assert!(told.contains("jump.csv: the request in line 102 is 99999.9"), "{line}: {told}");
        assert!(told.contains("without them 199.00 ms") && told.contains("--strict"), "{told}");
        // The first run has written it.
        let _ = std::fs::remove_file(&out);
        let refused = said(&run(&line).arg("--strict").assert().code(3));
        assert!(refused.contains("line 102") && refused.contains("a minute"), "{line}: {refused}");
        let _ = std::fs::remove_file(&out);
        let skipped = said(&run(&line).args(["--strict", "--lenient"]).assert().success());
        assert!(skipped.contains("1 skipped"), "{line}: {skipped}");
        let _ = std::fs::remove_file(&out);
    }
    // So few writes tell no policies apart: the load is left out, and nothing is measured.
    let line = format!("compare placement --trace {trace} --policy none");
    let told = said(&run(&line).assert().code(1));
    assert!(told.contains("jump.csv: the request in line 102"), "{told}");
    assert!(told.contains("nothing was measured"), "{told}");
    let refused = said(&run(&line).arg("--strict").assert().code(3));
    assert!(refused.contains("line 102"), "{refused}");
    let line = format!("grade --no-db --others none --requests 500 --target {trace} intel-750");
    let told = said(&run(&line).assert().success());
    assert!(told.contains("the request in line 102") && told.contains("--strict"), "{told}");
    let refused = said(&run(&line).arg("--strict").assert().code(3));
    assert!(refused.contains("line 102"), "{refused}");
    let report = document(&mut run(&format!("{on} {trace}")));
    let warnings = report["cells"][0]["report"]["warnings"].to_string();
    assert!(warnings.contains("line 102"), "{warnings}");
}

#[test]
fn hints_fit_what_is_wrong() {
    let directory = tempfile::tempdir().unwrap();
    let db = directory.path().join("db").display().to_string();
    let limits = write(directory.path(), "limits.toml", "colour = \"red\"\nmax_chip = 3\n");
    for (line, right, wrong) in [
        ("search --target ycb.csv --no-db".to_owned(), "no such file", "did you mean"),
        (format!("workload learn ycb.csv --db {db}"), "no such file", "did you mean"),
        ("trace generate ycb.csv -o x.ssdt".into(), "No such file", "did you mean"),
        ("trace generate qqqqq -o x.ssdt".into(), "no bundled workload", "did you mean"),
        ("trace generate ycbs -o x.ssdt".into(), "did you mean `ycsb`", "No such file"),
        (
            format!("config check intel-750 --constraints {limits}"),
            "a constraints file has capacity_bytes",
            "config params",
        ),
        (
            format!("config check intel-750 --constraints {limits}"),
            "did you mean max_chips?",
            "config params",
        ),
    ] {
        let text = said(&run(&line).assert().failure());
        assert!(text.contains(right) && !text.contains(wrong), "{line}: {text}");
    }
    // A newer file is not a model to train.
    let labels = write(directory.path(), "labels.jsonl", "{\"version\":9}\n");
    let shipped = root().join("configs/keeper/ssdkeeper.json").display().to_string();
    let text = said(&run(&format!("keeper eval --model {shipped} {labels}")).assert().code(3));
    assert!(text.contains("version 9") && !text.contains("train the model"), "{text}");
}

#[test]
fn every_fault_is_counted() {
    let directory = tempfile::tempdir().unwrap();
    let many: String = (0..20_000).fold("[gc]\n".to_owned(), |text, n| text + &format!("k{n}=1\n"));
    let drive = write(directory.path(), "many.toml", &many);
    let done = run(&format!("config check {drive}")).assert().code(3);
    let printed = predicate::str::contains("20000 faults")
        .and(predicate::str::contains("and 19900 more faults"));
    done.stdout(printed);
}

#[test]
fn a_sample_has_as_many_points_as_are_asked_for() {
    for count in [1, 3, 10] {
        let done = run(&format!("predict-perf grid --sample {count}")).assert().success();
        let text = String::from_utf8_lossy(&done.get_output().stdout).into_owned();
        assert_eq!(text.lines().count(), count, "{text}");
    }
}
