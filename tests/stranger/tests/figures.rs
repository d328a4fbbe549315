//! The program's figures agree with the trace that it is given, and with each other.

use std::fmt::Write as _;
use std::path::Path;
use std::process::Command;

/// Requests of the trace; every third is a read.
const REQUESTS: u64 = 600;

/// Random requests of 4 KiB, 20 us apart, as text.
fn trace() -> String {
    let mut text = String::from("time_ns,tenant,op,lba,sectors\n");
    for number in 0..REQUESTS {
        let op = if number % 3 == 0 { 'R' } else { 'W' };
        let lba = number * 7_919 % 50_000 * 8;
        writeln!(text, "{},0,{op},{lba},8", number * 20_000).expect("a string grows");
    }
    text
}

#[test]
fn figures_agree() {
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join("trace.csv");
    std::fs::write(&path, trace()).expect("a file");
    let done = Command::new(env!("CARGO_BIN_EXE_stranger")).arg(&path).output().expect("it starts");
    let errors = String::from_utf8_lossy(&done.stderr);
    assert!(done.status.success(), "{errors}");
    let text = String::from_utf8(done.stdout).expect("text");
    let figure = |name: &str| -> f64 {
        let mut lines = text.lines().filter_map(|line| line.split_once(": "));
        let (_, number) = lines.find(|line| line.0 == name).expect(name);
        number.parse().expect(name)
    };
    assert_eq!(figure("requests read"), REQUESTS as f64);
    assert_eq!(figure("requests completed"), REQUESTS as f64);
    assert_eq!(figure("reads completed"), REQUESTS.div_ceil(3) as f64);
    assert_eq!(figure("writes completed"), (REQUESTS - REQUESTS.div_ceil(3)) as f64);
    // A write goes to the drive's cache: faster than flash, slower than its link alone.
    let latency_us = figure("mean write latency in us");
    assert!((1.0..1_000.0).contains(&latency_us), "{latency_us}");
    // Grades are logarithms of ratios to the first drive.
    assert_eq!(figure("grade of the first drive"), 0.0);
    assert!(figure("drives tried") >= 2.0);
    assert!(figure("grade of the best drive") >= 0.0);
}
