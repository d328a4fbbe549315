//! Calibrated drives from end to end: what their files say of the range in which they were tested,
//! and the line and the field where they are used outside of it.

use crate::support::{Scratch, document, ssdtune};
use assert_cmd::Command;
use std::fs;
use std::path::{Path, PathBuf};

/// What a calibration would have left: random reads of 4 to 16 KiB, alone.
const TABLE: &str = r#"
[calibration]
drive = "Real 256GB"
sources = ["rig"]
points_fitted = 6
points_held_out = 3
errors_held_out_percent = { mean = 1.25 }

[[calibration.tested]]
direction = "read"
sequential = false
read_percent = [100.0, 100.0]
block_bytes = [4096, 16384]
outstanding = [1, 32]
"#;

/// A drive that is made in milliseconds, with and without a table.
fn drive(scratch: &Scratch, name: &str, table: &str) -> PathBuf {
    let path = scratch.path(name);
    let small = "base = \"samsung-850-pro\"\nname = \"drive\"\n[flash]\nblocks_per_plane = 64\n";
    fs::write(&path, format!("{small}{table}")).unwrap();
    path
}

/// Reads far from each other, a millisecond apart, as CSV.
fn reads(scratch: &Scratch, bytes: u32) -> PathBuf {
    let path = scratch.path(&format!("{bytes}.csv"));
    let line = |n: u64| {
        let lba = 4096 * (n * 7_919 % 100);
        format!("{},0,{lba},{},1\n", n * 1_000_000, bytes / 512)
    };
    let lines: String = (0..300).map(line).collect();
    // MQSim's format: time, device, address, size, type.
    fs::write(&path, lines.replace(',', " ")).unwrap();
    path
}

fn simulate(device: &Path, trace: &Path, more: &[&str]) -> Command {
    let mut command = ssdtune();
    command.args(["simulate", "--device"]).arg(device).arg("--trace").arg(trace);
    let replay: &[&str] = if more.contains(&"--replay") { &[] } else { &["--replay", "closed:4"] };
    command.args(replay).args(more);
    command
}

/// What a command that succeeds says on standard error.
fn said(command: &mut Command) -> String {
    String::from_utf8(command.assert().success().get_output().stderr.clone()).unwrap()
}

#[test]
fn a_run_outside_of_the_range_says_so_once_and_is_the_same_run() {
    let scratch = Scratch::new();
    let real = drive(&scratch, "real.toml", TABLE);
    let plain = drive(&scratch, "plain.toml", "");
    let [small, large] = [4_096, 131_072].map(|bytes| reads(&scratch, bytes));
    let words = "note: outside of what Real 256GB was tested at: reads of 128 KiB \
                 (tested: 4 to 16 KiB)";
    assert_eq!(said(&mut simulate(&real, &small, &[])), "");
    assert_eq!(said(&mut simulate(&plain, &large, &[])), "");
    let sweep = ["--sweep", "run.seed=1,2,3"];
    assert_eq!(said(&mut simulate(&real, &large, &sweep)).trim_end(), words);
    let outside = document(&mut simulate(&real, &large, &[]));
    let cell = &outside["cells"][0];
    assert_eq!(cell["outside_tested_range"][0], "reads of 128 KiB (tested: 4 to 16 KiB)");
    let inside = document(&mut simulate(&real, &small, &[]));
    assert_eq!(inside["cells"][0]["outside_tested_range"].as_array().unwrap().len(), 0);
    let bare = document(&mut simulate(&plain, &large, &[]));
    assert_eq!(bare["cells"][0]["report"], cell["report"]);
    assert!(bare["cells"][0].get("outside_tested_range").is_none());
    let other = said(&mut simulate(&real, &small, &["--set", "bus.channels=4"]));
    assert!(other.contains("tested at: another bus.channels"), "{other}");
    let deep = said(&mut simulate(&real, &small, &["--replay", "closed:64"]));
    assert!(deep.contains("64 requests outstanding (tested: 1 to 32)"), "{deep}");
}

#[test]
fn searches_and_grades_say_it_too() {
    let scratch = Scratch::new();
    let real = drive(&scratch, "real.toml", TABLE);
    let name = real.to_str().unwrap();
    let tune = ["--target", "websearch", "--others", "none", "--requests", "300", "--no-db"];
    let fit = ["--fit-addresses", "wrap"];
    let mut grade = ssdtune();
    grade.args(["grade", "--device", "samsung-850-pro", name]).args(tune).args(fit);
    let words = said(&mut grade);
    assert_eq!(words.matches("outside of what Real 256GB was tested at: ").count(), 1, "{words}");
    let graded = document(&mut grade);
    assert!(!graded[0]["outside_tested_range"].as_array().unwrap().is_empty(), "{graded}");
    let mut search = ssdtune();
    search.args(["search", "--device", name, "--budget", "2", "--prefix", "0"]);
    let search = search.args(tune).args(fit);
    let words = said(search);
    assert_eq!(words.matches("outside of what Real 256GB was tested at: ").count(), 1, "{words}");
    let found = document(search);
    let outside = found["question"]["outside_tested_range"].as_array().unwrap();
    assert!(outside.iter().all(|one| one.as_str().unwrap().contains("tested: ")), "{found}");
    let mut plain = ssdtune();
    plain.args(["grade", "--device", "samsung-850-pro", "samsung-850-pro"]).args(tune).args(fit);
    assert!(document(&mut plain)[0].get("outside_tested_range").is_none());
}

#[test]
fn a_table_stays_with_its_drive_and_faults_in_it_are_named() {
    let scratch = Scratch::new();
    let real = drive(&scratch, "real.toml", TABLE);
    let show = |more: &[&str]| {
        let mut command = ssdtune();
        command.args(["config", "show"]).arg(&real).args(more);
        String::from_utf8(command.assert().success().get_output().stdout.clone()).unwrap()
    };
    for text in [show(&[]), show(&["--full"])] {
        assert!(text.contains("drive = \"Real 256GB\""), "{text}");
        fs::write(scratch.path("again.toml"), text).unwrap();
        let large = reads(&scratch, 131_072);
        assert!(said(&mut simulate(&scratch.path("again.toml"), &large, &[])).contains("Real"));
    }
    let wrong = drive(&scratch, "wrong.toml", &TABLE.replace("[1, 32]", "[32, 1]"));
    let small = reads(&scratch, 4_096);
    let failed = simulate(&wrong, &small, &[]).assert().code(3);
    let words = String::from_utf8_lossy(&failed.get_output().stderr).into_owned();
    assert!(words.contains("wrong.toml:6: calibration: tested.outstanding"), "{words}");
}

#[test]
fn another_capacity_differs_by_its_dies_alone_and_says_that_nobody_tested_it() {
    let scratch = Scratch::new();
    let real = drive(&scratch, "real.toml", TABLE);
    let derive = |size: &str, name: &str| {
        let mut command = ssdtune();
        command.args(["calibrate", "--capacity", size, "--base"]).arg(&real);
        command.arg("--out").arg(scratch.path(name));
        command
    };
    let visible = |path: &Path| {
        let run = document(&mut simulate(path, &reads(&scratch, 4_096), &[]));
        run["cells"][0]["report"]["capacity"]["visible_bytes"].as_f64().unwrap()
    };
    let own = visible(&real);
    let twice = format!("{}", 2.0 * own);
    let made = document(&mut derive(&twice, "twice.toml"));
    assert_eq!(made["dies"].as_u64(), made["dies_tested"].as_u64().map(|dies| 2 * dies));
    assert!((visible(&scratch.path("twice.toml")) / own - 2.0).abs() < 0.01);
    let text = fs::read_to_string(scratch.path("twice.toml")).unwrap();
    // The lines of the header are wrapped.
    assert!(text.replace("\n# ", " ").contains("and never tested itself."), "{text}");
    let words = said(&mut simulate(&scratch.path("twice.toml"), &reads(&scratch, 4_096), &[]));
    assert!(words.contains("tested at: the drive itself, derived from Real 256GB"), "{words}");
    let wrong = |command: &mut Command, word: &str| {
        let failed = command.assert().code(2);
        let words = String::from_utf8_lossy(&failed.get_output().stderr).into_owned();
        assert!(words.contains(word), "{word}\n{words}");
        assert!(!scratch.path("wrong.toml").exists());
    };
    let between = format!("{}", 1.03 * own);
    wrong(&mut derive(&between, "wrong.toml"), "the nearest");
    wrong(&mut derive("much", "wrong.toml"), "--capacity");
    wrong(derive(&twice, "wrong.toml").args(["--set", "bus.channels=4"]), "cannot be used with");
    let mut plain = ssdtune();
    plain.args(["calibrate", "--capacity", "1TB", "--base", "intel-750", "--out"]);
    wrong(plain.arg(scratch.path("wrong.toml")), "no table [calibration]");
    wrong(ssdtune().args(["calibrate", "--base", "intel-750"]), "POINTS");
}
