//! README.md and the pages of the reference: every command of their blocks runs, on files that
//! stand for those of a reader.
//!
//! What takes minutes is made small (`SMALL`, `Page::small`); what cannot run everywhere is left
//! out, with the reason (`Page::left_out`). `tests/book.rs` runs the tutorial and the how-tos.

use crate::support::{Shell, is_long, root};

/// What makes the files that the pages speak of as the reader's own.
const STAND_INS: [&str; 16] = [
    "ssdtune trace generate database -n 8000 -o a.csv",
    "ssdtune trace generate ycsb -n 8000 -o b.csv",
    "ssdtune trace generate websearch -n 8000 -o c.csv",
    "cp b.csv my.csv",
    "cp c.csv web.csv",
    "cp b.csv long.csv",
    "gzip --keep a.csv",
    "zstd --quiet b.csv",
    "ssdtune config convert intel-750 --to toml -o my.toml",
    "ssdtune config convert z-ssd --to toml -o other.toml",
    "cp my.toml mine.toml",
    "cp other.toml 980pro.toml",
    "ssdtune config convert intel-750 --to xml -o ssdconfig.xml",
    "cp my.toml a.toml",
    "cp other.toml b.toml",
    "cp configs/keeper/ssdkeeper.json model.json",
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

/// A page whose commands run, all in one directory.
struct Page {
    /// Its path from the root of the repository.
    file: &'static str,
    /// Commands that make what other pages have made, run first.
    before: &'static [&'static str],
    /// Words of this page that stand for other words, beside `SMALL`.
    small: &'static [(&'static str, &'static str)],
    /// Beginnings of lines that are left out, and why. One that is not there any more is an error.
    left_out: &'static [(&'static str, &'static str)],
}

/// A model of a drive's points that was learned from few of them.
const MODEL: [&str; 2] = [
    "ssdtune predict-perf sweep --device z-ssd --sample 130 --pages 500 --requests-max 200 \
     --out z-ssd.jsonl",
    "ssdtune predict-perf fit z-ssd.jsonl --train 100 --folds 2 --out z-ssd.model.json",
];

const MEASUREMENTS: &str = "needs measurements of a real drive";

const PAGES: [Page; 10] = [
    Page {
        file: "README.md",
        before: &[],
        small: &[],
        left_out: &[
            ("cargo ", "builds the command that this test has"),
            ("./scripts/", "builds, or runs this test"),
            ("pip ", "tests of the Python package do what follows"),
            ("python ", "they do this, too"),
            ("my-optimiser ", "a program of the reader"),
            (
                "ssdtune search --target websearch --device intel-750 --evaluator mqsim:",
                "needs MQSim",
            ),
            ("ssdtune simulate --mqsim ", "a pair of files: tests/validate.rs has many"),
            ("ssdtune validate ", "tests/validate.rs does it"),
            ("ssdtune calibrate points.csv ", MEASUREMENTS),
            ("ssdtune calibrate runs.csv ", MEASUREMENTS),
            ("ssdtune calibrate --capacity ", "needs a calibrated drive: tests/calibrate.rs"),
            ("ssdtune predict-perf ftl ", "takes minutes under valgrind: tests/firmware.rs"),
            ("ssdtune simulate --device lpm-znand ", "needs the model of the line above it"),
        ],
    },
    Page {
        file: "docs/autodb.md",
        before: &["ssdtune grade --target websearch --requests 300 --db ssdtune.autodb z-ssd"],
        small: &[],
        left_out: &[],
    },
    Page {
        file: "docs/calibration.md",
        before: &[],
        small: &[],
        left_out: &[
            ("ssdtune calibrate points.csv ", MEASUREMENTS),
            ("ssdtune calibrate fio-results/ ", MEASUREMENTS),
            ("ssdtune calibrate results.json ", MEASUREMENTS),
            ("ssdtune calibrate runs.csv ", MEASUREMENTS),
            ("ssdtune calibrate --capacity ", "needs a calibrated drive: tests/calibrate.rs"),
            ("fio ", "reads a drive for minutes"),
            ("iodepth=2,8,32 & ", "a condition, no command"),
            ("bs>4k | ", "a condition"),
            ("outstanding=16..64 & ", "a condition"),
            ("note: outside of ", "what a command prints"),
        ],
    },
    Page {
        file: "docs/choose.md",
        before: &[],
        small: &[("--workload kvstore", "--requests 2000 --workload kvstore")],
        left_out: &[],
    },
    Page {
        file: "docs/cluster.md",
        before: &["ssdtune keeper label --mixes 16 --requests 500 --rate-max 20000 --part 1/16 \
             --out part-1.jsonl"],
        small: &[("--mixes 5000 --rate-max 200000", "--mixes 16 --requests 500 --rate-max 20000")],
        left_out: &[("python ", "needs the Python package and a cluster")],
    },
    Page {
        file: "docs/keeper.md",
        before: &[],
        small: &[
            ("--out labels.jsonl", "--mixes 20 --requests 500 --rate-max 20000 --out labels.jsonl"),
            ("--level 16", "--level 16 --requests 500"),
            ("ssdtune drives", "ssdtune drives --drives 0-0 --mixes 1"),
        ],
        left_out: &[
            ("ssdtune keeper train ", "needs libtorch: tests/keeper.rs"),
            ("ssdtune --seed 2 keeper train ", "needs libtorch too"),
        ],
    },
    Page {
        file: "docs/placement.md",
        before: &[],
        small: &[
            ("--workload proj_0", "--requests 2000 --workload proj_0"),
            ("--volumes", "--volumes --requests 2000"),
            // So few writes as those of a.csv tell neither eight clusters nor response times apart.
            ("--trace a.csv --policy haml", "--workload wdev_0 --requests 20000 --policy haml"),
            ("--trace a.csv --response", "--workload wdev_0 --requests 20000 --response"),
            ("--response 200000", "--response 2000"),
        ],
        left_out: &[],
    },
    Page {
        file: "docs/predict-perf.md",
        before: &["for n in 1 2 3 4 5 6 7; do \
             ssdtune --seed $n trace generate database -n 4000 -o d$n.csv; done"],
        small: &[(" ... --calibrate", " d?.csv --calibrate")],
        left_out: &[
            ("fio ", "reads a drive for minutes"),
            ("ssdtune predict-perf import ", MEASUREMENTS),
            ("ssdtune predict-perf fit my-ssd.jsonl ", MEASUREMENTS),
            ("ssdtune predict-perf predict --model my-ssd.model.json ", MEASUREMENTS),
            ("ssdtune predict-perf fit other.jsonl ", MEASUREMENTS),
        ],
    },
    Page {
        file: "docs/reports.md",
        before: &[],
        small: &[],
        left_out: &[("ssdtune calibrate points.csv ", MEASUREMENTS)],
    },
    Page { file: "docs/sampling.md", before: &MODEL, small: &[], left_out: &[] },
];

/// The commands of a page's blocks in their order, without comments. A line that ends with `\` goes
/// on in the next.
fn commands(text: &str) -> Vec<String> {
    let blocks = text.lines().filter_map(|line| line.strip_prefix("    "));
    let bare = blocks.map(|line| line.split(" #").next().unwrap_or(line).trim());
    let is_python = |line: &str| line.starts_with("import ") || line.contains(" = st.");
    let mut found: Vec<String> = Vec::new();
    for line in bare.filter(|line| !line.is_empty() && !is_python(line)) {
        match found.last_mut().and_then(|last| Some((last.strip_suffix('\\')?.to_owned(), last))) {
            Some((begun, last)) => *last = begun + line,
            None => found.push(line.to_owned()),
        }
    }
    found
}

/// Runs the commands of a page, and returns how many there were.
fn run(page: &Page) -> usize {
    let text = std::fs::read_to_string(root().join(page.file)).unwrap();
    let shell = Shell::new();
    for line in STAND_INS.iter().chain(page.before) {
        shell.run(line);
    }
    let (mut run, mut left_out) = (0, vec![false; page.left_out.len()]);
    for command in commands(&text) {
        match page.left_out.iter().position(|(start, _)| command.starts_with(start)) {
            Some(which) => left_out[which] = true,
            None => {
                let small = |line: String, words: &(&str, &str)| line.replace(words.0, words.1);
                shell.run(&SMALL.iter().chain(page.small).fold(command, small));
                run += 1;
            }
        }
    }
    let unused: Vec<_> = page.left_out.iter().zip(left_out).filter(|one| !one.1).collect();
    assert!(unused.is_empty(), "{}: left out and not there: {unused:?}", page.file);
    run
}

#[test]
fn every_command_of_readme_and_of_the_reference_runs() {
    if !is_long() {
        eprintln!("skipped: takes minutes; SSDTUNE_LONG=1 runs it");
        return;
    }
    let run: Vec<(&str, usize)> = PAGES.iter().map(|page| (page.file, run(page))).collect();
    eprintln!("commands that ran: {run:?}");
    // A page whose blocks are written in another way would have none.
    assert!(run[0].1 > 40 && run.iter().all(|page| page.1 > 0), "{run:?}");
}
