//! README.md: every command of its blocks runs, on files that stand for those of a reader.
//!
//! What takes minutes is made small (`SMALL`); what cannot run everywhere is left out, with the
//! reason (`LEFT_OUT`).

use crate::support::{Shell, is_long, root};

/// What makes the files that README speaks of as the reader's own.
const STAND_INS: [&str; 12] = [
    "ssdtune trace generate database -n 8000 -o a.csv",
    "ssdtune trace generate ycsb -n 8000 -o b.csv",
    "ssdtune trace generate websearch -n 8000 -o c.csv",
    "cp b.csv my.csv",
    "cp b.csv long.csv",
    "gzip --keep a.csv",
    "zstd --quiet b.csv",
    "ssdtune config convert intel-750 --to toml -o my.toml",
    "ssdtune config convert z-ssd --to toml -o other.toml",
    "cp my.toml mine.toml",
    "cp other.toml 980pro.toml",
    "ssdtune config convert intel-750 --to xml -o ssdconfig.xml",
];

/// Words that stand for other words, so that a run takes seconds: it does the same things.
const SMALL: [(&str, &str); 11] = [
    ("search --target websearch", "search --requests 300 --budget 3 --target websearch"),
    ("search --target database", "search --requests 300 --budget 3 --target database"),
    ("search --target my.csv", "search --requests 300 --budget 3 --target my.csv"),
    ("search --target traces/samples/database.csv", "search --requests 300 --target a.csv"),
    ("prune ", "prune --requests 300 --samples 20 --no-pairs --start footprint "),
    ("--latency 3x", "--latency 1.2x --requests 300 --budget 6"),
    ("ablate beta", "ablate beta --requests 300 --budget 3"),
    ("grade ", "grade --requests 300 "),
    ("--out z-ssd.jsonl", "--out z-ssd.jsonl --sample 130 --pages 500 --requests-max 200"),
    ("fit z-ssd.jsonl", "fit z-ssd.jsonl --train 100 --folds 2"),
    ("--workloads 1000", "--workloads 100"),
];

/// Beginnings of lines that are left out, and why.
const LEFT_OUT: [(&str, &str); 13] = [
    ("cargo ", "builds the command that this test has"),
    ("./scripts/", "builds, or runs this test"),
    ("pip ", "tests of the Python package do what follows"),
    ("python ", "they do this, too"),
    ("my-optimiser ", "a program of the reader"),
    ("ssdtune search --target websearch --evaluator mqsim:", "needs MQSim"),
    ("ssdtune simulate --mqsim ", "a pair of files: tests/validate.rs has many"),
    ("ssdtune validate ", "tests/validate.rs does it"),
    ("ssdtune calibrate points.csv ", "needs measurements: tests/calibrate.rs"),
    ("ssdtune calibrate runs.csv ", "needs measurements: tests/calibrate.rs"),
    ("ssdtune calibrate --capacity ", "needs a calibrated drive: tests/calibrate.rs"),
    ("ssdtune predict-perf ftl ", "takes minutes under valgrind: tests/firmware.rs"),
    ("ssdtune simulate --device lpm-znand ", "needs the model of the line above it"),
];

/// The commands of README's blocks in their order, without comments.
fn commands(text: &str) -> Vec<&str> {
    let blocks = text.lines().filter_map(|line| line.strip_prefix("    "));
    let bare = blocks.map(|line| line.split(" #").next().unwrap_or(line).trim_end());
    let is_python = |line: &str| line.starts_with("import ") || line.contains(" = st.");
    bare.filter(|line| !line.is_empty() && !is_python(line)).collect()
}

#[test]
fn every_command_of_the_readme_runs() {
    if !is_long() {
        eprintln!("skipped: takes minutes; SSDTUNE_LONG=1 runs it");
        return;
    }
    let text = std::fs::read_to_string(root().join("README.md")).unwrap();
    let shell = Shell::new();
    for line in STAND_INS {
        shell.run(line);
    }
    let (mut run, mut left_out) = (0, [false; LEFT_OUT.len()]);
    for command in commands(&text) {
        match LEFT_OUT.iter().position(|(start, _)| command.starts_with(start)) {
            Some(which) => left_out[which] = true,
            None => {
                let small = |line: String, words: &(&str, &str)| line.replace(words.0, words.1);
                shell.run(&SMALL.iter().fold(command.to_owned(), small));
                run += 1;
            }
        }
    }
    assert!(run > 40, "only {run} commands of README ran");
    let unused: Vec<_> = (LEFT_OUT.iter().zip(left_out)).filter(|one| !one.1).collect();
    assert!(unused.is_empty(), "left out and not there: {unused:?}");
}
