//! The command line as a whole: help, exit codes, pipes, colour, completions, manual pages.

use crate::support::{binary, root, ssdtune};
use predicates::prelude::*;
use std::process::{Command, Stdio};

#[test]
fn help_documents_every_exit_code() {
    for line in ["--help", "search --help", "search -h", "keeper eval --help", "config check -h"] {
        let help = ssdtune().args(line.split(' ')).assert().success();
        let text = String::from_utf8_lossy(&help.get_output().stdout).into_owned();
        for code in ["0    done", "1    ", "2    ", "3    ", "130  interrupted"] {
            assert!(text.contains(code), "{line}: {text}");
        }
    }
}

#[test]
fn the_command_line_is_consistent_and_every_help_says_the_exit_codes() {
    fn walk(command: &mut clap::Command, seen: &mut usize) {
        let name = command.get_name().to_owned();
        // Made by the library, it prints the help of another command.
        if name == "help" {
            return;
        }
        for help in [command.render_help(), command.render_long_help()] {
            let help = help.to_string();
            assert_eq!(help.matches("Exit codes:").count(), 1, "{name}");
            assert!(help.contains("130  interrupted"), "{name}");
        }
        *seen += 1;
        command.get_subcommands_mut().for_each(|inner| walk(inner, seen));
    }
    let mut command = ssdtune::command_line();
    command.clone().debug_assert();
    let mut seen = 0;
    walk(&mut command, &mut seen);
    assert!(seen > 50, "only {seen} commands");
}

#[test]
fn wrong_command_lines_end_with_2() {
    for line in [
        // What has no effect is refused.
        "simulate --device z-ssd --workload ycsb --format csv",
        "simulate --device z-ssd --workload ycsb --lenient",
        "choose intel-750 z-ssd --workload ycsb --format csv",
        "predict-perf predict --model m.json --points paper --rate 5",
        "predict-perf predict --model m.json --trace a.csv --depth 4 --rate 5",
        "predict-perf predict --model m.json --point w0-q1-R4k.r0 --depth 4",
        "predict-perf sweep --device z-ssd --sample 4 --depth 2 --out a.jsonl",
        "nothing",
        "config",
        "config check",
        "config check --threads 0 intel-750",
        "config check intel-751",
        "config check intel-750 --set gc.threshold",
        "config check intel-750 --set gc.threshold=7",
        "config check intel-750 --set gc.treshold=0.1",
        "config params gc.treshold",
        "config check intel-750 --seed 9223372036854775808",
        "config params --markdown --json",
    ] {
        let assert = ssdtune().args(line.split(' ')).assert().code(2);
        let output = assert.get_output();
        assert_eq!(output.stdout.is_empty(), !line.contains("--json"), "{line}");
        assert!(!output.stderr.is_empty(), "{line}");
    }
}

/// A number below zero is a wrong value, not an argument that nobody knows.
#[test]
fn negative_values_are_answered_by_the_range() {
    for (line, range) in [
        ("simulate --device intel-750 --workload database --requests -1", "at least 1"),
        ("simulate --device intel-750 --workload database --requests 0", "at least 1"),
        ("simulate --device intel-750 --workload database --requests 1.5", "at least 1"),
        ("keeper label --mixes 99999999999999999999 --out x", "from 1 to 1000000"),
        (
            "simulate --device intel-750 --workload database --series x --interval -0.5",
            "0.001 to 1000000000",
        ),
        ("search --target database --budget -1", "from 1 to 1000000"),
        ("search --target database --trace-seed -1", "from 0 to 9223372036854775807"),
        ("search --target database --alpha -0.5", "from 0 to 1"),
        ("keeper shares --level -3", "from 1 to 20"),
        ("trace head -n -5 x", "at least 0"),
        ("config check intel-750 --threads -1", "at least 1"),
    ] {
        let assert = ssdtune().args(line.split(' ')).assert().code(2);
        let said = String::from_utf8_lossy(&assert.get_output().stderr).into_owned();
        assert!(said.contains(range) && !said.contains("unexpected"), "{line}: {said}");
    }
}

/// What would have no effect is refused, and the message names what is missing or in the way.
#[test]
fn options_without_an_effect_are_refused() {
    let directory = tempfile::tempdir().unwrap();
    let trace = directory.path().join("a.csv");
    std::fs::write(&trace, "time_ns,tenant,op,lba,sectors\n0,0,R,0,8\n5,0,W,64,8\n").unwrap();
    let (trace, out) = (trace.display(), directory.path().join("out.csv"));
    let convert = |more: &str| format!("trace convert {trace} -o {} {more}", out.display());
    let simulate = "simulate --device intel-750 --workload database --requests 10";
    let keeper = "keeper compare --model configs/keeper/ssdkeeper.json --workload ycsb database";
    for (line, words) in [
        (format!("{simulate} --strict"), "--strict is about trace files"),
        ("choose z-ssd --workload ycsb --strict".to_owned(), "--strict is about trace files"),
        ("compare placement --volumes --strict".to_owned(), "--strict is about trace files"),
        (format!("{keeper} --strict"), "--strict is about trace files"),
        (format!("{simulate} --interval 5"), "--series"),
        (
            format!("{simulate} --set bus.channels=4 --sweep bus.channels=4,8"),
            "bus.channels: --set and --sweep both name it",
        ),
        ("predict-perf predict --model x --point w0-q1-R4k.r100 --window 9".to_owned(), "--window"),
        ("predict-perf predict --model x --points quick --window 99".to_owned(), "--window"),
        (convert("--pause 1s"), "--join"),
        (convert("--join merge --pause 1s"), "--pause needs --join concat"),
        (convert("--chunk 4KiB"), "--remap"),
        (convert("--remap modulo --capacity 1GiB --chunk 4KiB"), "--chunk needs --remap dense"),
        (convert("--capacity 1GiB"), "--remap"),
        (convert("--remap modulo"), "--remap modulo needs --capacity"),
    ] {
        let assert = ssdtune().current_dir(root()).args(line.split(' ')).assert().code(2);
        let said = String::from_utf8_lossy(&assert.get_output().stderr).into_owned();
        assert!(said.contains(words), "{line}: {said}");
        assert!(!out.exists(), "{line}");
    }
    let assert = ssdtune().args(convert("--start 1s").split_whitespace()).assert().success();
    let said = String::from_utf8_lossy(&assert.get_output().stderr).into_owned();
    assert!(said.contains("out.csv holds no request"), "{said}");
}

#[test]
fn a_missing_file_is_a_faulty_input() {
    for line in ["config check nowhere/drive", "config check drive.toml", "trace info nowhere.csv"]
    {
        let assert = ssdtune().args(line.split(' ')).assert().code(3);
        let text = String::from_utf8_lossy(&assert.get_output().stderr).into_owned();
        assert!(text.contains("No such file"), "{line}: {text}");
    }
}

#[test]
fn a_reader_that_leaves_is_no_error() {
    let (reader, writer) = std::io::pipe().expect("a pipe");
    drop(reader);
    let mut command = Command::new(binary());
    let output = command.args(["config", "params"]).stdout(writer).stderr(Stdio::piped()).output();
    let output = output.expect("it runs");
    assert_eq!(output.status.code(), Some(0));
    assert_eq!(String::from_utf8_lossy(&output.stderr), "");
}

#[cfg(target_os = "linux")]
#[test]
fn a_full_disk_is_a_failure_of_the_work() {
    let full = std::fs::OpenOptions::new().write(true).open("/dev/full").expect("a full device");
    let status = Command::new(binary()).args(["config", "params"]).stdout(full).output();
    assert_eq!(status.expect("it runs").status.code(), Some(1));
}

#[test]
fn colour_goes_to_terminals_and_where_it_is_asked_for() {
    let escape = || predicate::str::contains("\u{1b}[");
    ssdtune().args(["config", "check", "x"]).assert().stderr(escape().not());
    ssdtune().args(["config", "check", "x", "--color", "always"]).assert().stderr(escape());
}

#[test]
fn completions_and_manual_pages_know_every_subcommand() {
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        let script = ssdtune().args(["completions", shell]).assert().success();
        assert!(String::from_utf8_lossy(&script.get_output().stdout).contains("params"), "{shell}");
    }
    let directory = tempfile::tempdir().expect("a directory");
    let pages = directory.path().join("man1");
    ssdtune().arg("man").arg(&pages).assert().success();
    for page in ["ssdtune.1", "ssdtune-config.1", "ssdtune-config-check.1"] {
        assert!(pages.join(page).is_file(), "{page}");
    }
    ssdtune().args(["man", "/dev/null/x"]).assert().code(2);
}
