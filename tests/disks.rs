//! Disks that are full and disks that are read only, at every output: `fixtures/outputs.txt` lists
//! them. Files appear whole or not at all, what grows can be gone on with, and where nothing can be
//! written that is said before the work.
//!
//! The disks are file systems in memory (tmpfs), mounted where nobody else sees them. Where the
//! system does not allow that, the tests say so and pass. An ordinary run fills each disk in the
//! middle of an output; with `SSDTUNE_LONG=1` also after a page, and before the first byte.

use crate::killed::{SEARCH, answer, work_of};
use crate::support::{Scratch, binary, is_long, root};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::process::{Command, Output, Stdio};
use std::sync::LazyLock;

/// Bytes that a page of memory takes, and so the least room of a file on such a disk.
const PAGE: u64 = 4096;

/// What the system says of a full disk.
const FULL: &str = "No space left on device";

/// Words for several that the table uses.
const WORDS: [(&str, &str); 4] = [
    (
        "SMALL",
        "--set bus.channels=2 --set bus.chips_per_channel=1 --set flash.blocks_per_plane=64 \
         --set flash.pages_per_block=32 --set gc.threshold=0.1",
    ),
    ("POINTS", "--pages 64 --requests-min 24 --requests-max 64 --rounds 1"),
    ("LABEL", "--set flash.blocks_per_plane=128 --requests 200 --working-set 512 --rate-max 16000"),
    (
        "PROFILE",
        "--size small --groups-max 4 --repeats 1 --events none --workloads SR,SW,RR,RW,TC,LB",
    ),
];

/// A row of the table.
struct Row {
    argument: &'static str,
    leaves: &'static str,
    command: &'static str,
}

fn table() -> impl Iterator<Item = Row> {
    let text = include_str!("fixtures/outputs.txt");
    let rows = text.lines().filter(|line| !line.is_empty() && !line.starts_with('#'));
    rows.map(|line| {
        let columns: Vec<&str> = line.split('|').map(str::trim).collect();
        let [argument, leaves, command] = columns[..] else { panic!("three columns: {line}") };
        Row { argument, leaves, command }
    })
}

impl Row {
    /// The words of the command, which writes in this directory.
    fn words(&self, directory: &Path) -> Vec<String> {
        let mut command = self.command.to_owned();
        for (name, words) in WORDS {
            command = command.replace(name, words);
        }
        let out = directory.join("out").display().to_string();
        command.split_whitespace().map(|word| word.replace("OUT", &out)).collect()
    }
}

/// The files that the commands of the table read, made once.
static DESK: LazyLock<Scratch> = LazyLock::new(|| {
    let desk = Scratch::new();
    let run = |words: &str| {
        let done = program(&desk).args(words.split_whitespace()).output().expect("it runs");
        assert!(done.status.success(), "{words}: {}", String::from_utf8_lossy(&done.stderr));
    };
    run("trace generate websearch -n 9000 -o in.csv");
    run("workload learn websearch tpcc --windows 8 --db db");
    let best = crate::workload::stored(1, 0, 0.2, "name = \"good\"\nbase = \"intel-750\"\n");
    let header = r#"{"autodb":"ssdtune","schema":1,"generation":1}"#;
    fs::write(desk.path("best.jsonl"), format!("{header}\n{best}\n")).expect("written");
    run("db import best.jsonl --db db");
    for (from, to) in [
        ("configs/keeper/ssdkeeper.json", "keeper.json"),
        ("tests/fixtures/former/points.jsonl", "points.jsonl"),
    ] {
        fs::copy(root().join(from), desk.path(to)).expect("copied");
    }
    let side = r#"{"total_ios":10,"iops":5.0,"bw_bytes":20480,"lat_ns":{"mean":200000.0}}"#;
    let job = |n: u32| format!(r#"{{"jobname":"w0-q{n}-R4k.r100","error":0,"read":{side}}}"#);
    let jobs = (1..=64).map(job).collect::<Vec<_>>().join(",");
    let fio = format!(r#"{{"fio version":"fio-3.33","jobs":[{jobs}]}}"#);
    fs::write(desk.path("fio.json"), fio).expect("written");
    let rig = "op,bs,iodepth,iops,lat_mean_us\nrandread,4k,1,10000,99\nrandread,4k,4,36000,110\n";
    fs::write(desk.path("rig.csv"), rig).expect("written");
    for trace in 1..=9 {
        run(&format!("trace generate ycsb -n 60 --seed {trace} -o t{trace}.csv"));
    }
    let sweep = format!("predict-perf sweep --device haml {} {}", WORDS[0].1, WORDS[1].1);
    run(&format!("{sweep} --sample 130 --out own.jsonl"));
    run("predict-perf fit own.jsonl --train 100 --folds 2 --out own.json");
    run(&format!("keeper label {} --mixes 24 --tenants 4,2 --out labels.jsonl", WORDS[2].1));
    run(&format!("predict-perf ftl profile {} --out profile.jsonl", WORDS[3].1));
    fs::write(desk.path("host.jsonl"), with_events(&desk.path("profile.jsonl"))).expect("written");
    desk
});

/// A profile with events, as callgrind counts them. They are made up of what the firmware did.
fn with_events(profile: &Path) -> String {
    let text = fs::read_to_string(profile).expect("a profile");
    let rows = text.lines().enumerate().map(|(at, line)| {
        let mut row: Value = serde_json::from_str(line).expect("one JSON document");
        if at == 0 {
            row["events"] = json!({"kind": "callgrind", "described": []});
        } else {
            let ns = row["ns"][0].as_u64().expect("a time");
            row["events"] = json!({"INSTR": ns * 3, "L1D_LOADS": ns + at as u64});
        }
        row.to_string() + "\n"
    });
    rows.collect()
}

/// The program, in the directory of these files.
fn program(desk: &Scratch) -> Command {
    let mut command = Command::new(binary());
    command.current_dir(desk.path("")).stdin(Stdio::null());
    command
}

/// The command before which a shell's commands may mount. `None`, with a word about it, where
/// nothing may.
fn unshare() -> Option<Command> {
    static WORKS: LazyLock<Option<&str>> = LazyLock::new(|| {
        let works = |flags: &&&str| {
            let mut command = Command::new("unshare");
            command.args([flags, "sh", "-c", "mount -t tmpfs none /tmp"]);
            command.output().is_ok_and(|done| done.status.success())
        };
        ["-m", "-rm"].iter().find(works).copied()
    });
    let Some(flags) = *WORKS else {
        println!("skipped: this system lets nobody mount (unshare -m, unshare -rm)");
        return None;
    };
    let mut command = Command::new("unshare");
    command.arg(flags);
    Some(command)
}

/// What a disk is like.
#[derive(Clone, Copy)]
enum Disk {
    /// It is empty and has this size, in bytes.
    Room(u64),
    /// It is read only, and holds the files of this directory.
    ReadOnly,
}

/// How a command has ended on such a disk, and what the disk holds then, by names.
struct Ended {
    done: Output,
    left: Scratch,
}

/// Runs a command in a directory `disk` of its own. The disk holds a file of the user.
fn run_on(disk: Disk, words: impl Fn(&Path) -> Vec<String>) -> Option<Ended> {
    let left = Scratch::new();
    let place = Scratch::new();
    let script = "set -e
        mount -t tmpfs -o size=$SIZE none \"$DISK\"
        head -c 4096 /dev/zero > \"$DISK/precious\"
        if [ -n \"$READ_ONLY\" ]; then mount -o remount,ro \"$DISK\"; fi
        set +e
        \"$@\"
        code=$?
        cp -a \"$DISK/.\" \"$LEFT\"
        exit $code";
    let (size, read_only) = match disk {
        Disk::Room(bytes) => (bytes / PAGE * PAGE + PAGE, ""),
        Disk::ReadOnly => (1 << 20, "yes"),
    };
    let mut command = unshare()?;
    command.args(["sh", "-c", script, "sh"]).arg(binary()).args(words(&place.path("")));
    command.env("SIZE", size.to_string()).env("READ_ONLY", read_only);
    command.env("DISK", place.path("")).env("LEFT", left.path(""));
    command.current_dir(DESK.path("")).stdin(Stdio::null());
    Some(Ended { done: command.output().expect("it runs"), left })
}

impl Ended {
    fn said(&self) -> String {
        String::from_utf8_lossy(&self.done.stderr).into_owned()
    }

    /// What the disk holds, without the user's file, which is whole.
    fn files(&self) -> BTreeMap<String, Vec<u8>> {
        let mut files = files_of(&self.left.path(""));
        assert_eq!(files.remove("precious"), Some(vec![0; PAGE as usize]), "{}", self.said());
        files
    }
}

/// All files below a directory, by their paths.
fn files_of(directory: &Path) -> BTreeMap<String, Vec<u8>> {
    let mut files = BTreeMap::new();
    let mut folders = vec![directory.to_path_buf()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).expect("a directory") {
            let path = entry.expect("an entry").path();
            if path.is_dir() {
                folders.push(path);
                continue;
            }
            let name = path.strip_prefix(directory).expect("below it").display().to_string();
            files.insert(name, fs::read(&path).expect("a file"));
        }
    }
    files
}

/// What a command writes where there is room; `None`, with a word about it, if it needs a program
/// that is not there.
fn written(row: &Row) -> Option<Scratch> {
    let place = Scratch::new();
    let done = program(&DESK).args(row.words(&place.path(""))).output().expect("it runs");
    let said = String::from_utf8_lossy(&done.stderr);
    if said.contains("ssdtune-train") {
        println!("skipped: {}, which trains by ssdtune-train", row.argument);
        return None;
    }
    assert!(done.status.success(), "{}: {said}", row.argument);
    Some(place)
}

/// Checks what is left after the disk was full.
fn check_left(row: &Row, ended: &Ended, whole: &BTreeMap<String, Vec<u8>>) {
    let (argument, said, left) = (row.argument, ended.said(), ended.files());
    assert_eq!(ended.done.status.code(), Some(1), "{argument}: {said}");
    assert!(said.contains(FULL), "{argument}: {said}");
    match row.leaves {
        "nothing" => {
            assert!(said.contains("nothing was written to "), "{argument}: {said}");
            assert!(left.is_empty(), "{argument} left {:?}", left.keys());
        }
        "whole" => {
            for (name, bytes) in &left {
                // The report of a search says how long it took.
                let is_whole = whole.get(name).is_some_and(|all| {
                    bytes == all || (argument == "search --out" && !bytes.is_empty())
                });
                assert!(is_whole, "{argument} left {name} of {} bytes", bytes.len());
            }
            assert!(left.len() < whole.len(), "{argument}: {said}");
        }
        "begun" => go_on(row, ended, whole),
        other => panic!("{argument}: {other:?} is not of the table"),
    }
}

/// Goes on with what a full disk has left, where there is room: it becomes what it would have been.
fn go_on(row: &Row, ended: &Ended, whole: &BTreeMap<String, Vec<u8>>) {
    let words = row.words(&ended.left.path(""));
    let done = program(&DESK).args(words).output().expect("it runs");
    let said = String::from_utf8_lossy(&done.stderr);
    assert!(done.status.success(), "{}: {said}", row.argument);
    let counts = match row.argument {
        "predict-perf ftl profile --out" => work_of,
        _ => str::to_owned,
    };
    let lines = |bytes: &[u8]| -> Vec<String> {
        String::from_utf8_lossy(bytes).lines().map(counts).collect()
    };
    assert_eq!(lines(&ended.files()["out"]), lines(&whole["out"]), "{}", row.argument);
}

#[test]
fn a_full_disk_leaves_whole_files_or_nothing() {
    for row in table() {
        let Some(place) = written(&row) else { continue };
        let whole = files_of(&place.path(""));
        let pages = |bytes: &Vec<u8>| (bytes.len() as u64).div_ceil(PAGE);
        let taken = whole.values().map(pages).sum::<u64>();
        let half = taken / 2 * PAGE;
        // In the middle of what is written, and at its first byte.
        let rooms: &[u64] = if is_long() { &[half, PAGE, 0] } else { &[half] };
        for &room in rooms.iter().filter(|room| **room < taken * PAGE) {
            let Some(ended) = run_on(Disk::Room(room), |disk| row.words(disk)) else { return };
            check_left(&row, &ended, &whole);
        }
    }
}

#[test]
fn a_read_only_disk_is_refused_before_the_work() {
    for row in table() {
        let Some(ended) = run_on(Disk::ReadOnly, |disk| row.words(disk)) else { return };
        let (argument, said) = (row.argument, ended.said());
        assert_eq!(ended.done.status.code(), Some(1), "{argument}: {said}");
        assert!(said.contains("cannot write there: "), "{argument}: {said}");
        let flag = argument.rsplit(' ').next().expect("a flag");
        assert!(said.contains(&format!("error: {flag} ")), "{argument}: {said}");
        assert!(ended.files().is_empty() && ended.done.stdout.is_empty(), "{argument}");
    }
}

/// A search whose AutoDB has no more room ends, and goes on where there is room, to the answer of
/// one that nobody disturbed.
#[test]
fn an_autodb_on_a_full_disk_is_sound_and_gone_on_with() {
    let search = |directory: &Path, more: &[&str]| -> Vec<String> {
        let db = directory.join("db").display().to_string();
        SEARCH
            .iter()
            .chain(&["--db", db.as_str()])
            .chain(more)
            .map(|word| (*word).to_owned())
            .collect()
    };
    let run = |directory: &Path, more: &[&str]| {
        program(&DESK).args(search(directory, more)).output().expect("it runs")
    };
    let place = Scratch::new();
    let whole = answer(&run(&place.path(""), &[]));
    let bytes: usize = files_of(&place.path("")).values().map(Vec::len).sum();
    for room in [0, bytes as u64 / 4, bytes as u64 / 2] {
        let Some(ended) = run_on(Disk::Room(room), |disk| search(disk, &[])) else { return };
        let said = ended.said();
        assert_eq!(ended.done.status.code(), Some(1), "{room}: {said}");
        // The engine's own word for it.
        assert!(said.contains("no storage space") || said.contains(FULL), "{room}: {said}");
        // Where not even its first file fitted in, there is none.
        let verified = ended.left.db("db", &["verify"]).assert();
        let code = verified.get_output().status.code();
        assert!(code == Some(0) || room == 0 && code == Some(2), "{room}: {verified}");
        assert_eq!(answer(&run(&ended.left.path(""), &["--resume"])), whole, "{room}");
    }
    let Some(ended) = run_on(Disk::ReadOnly, |disk| search(disk, &[])) else { return };
    assert_eq!(ended.done.status.code(), Some(1), "{}", ended.said());
    assert!(ended.said().contains("Read-only file system"), "{}", ended.said());
    assert!(ended.files().is_empty());
}

/// Results that standard output has no room for.
#[test]
fn a_full_standard_output_is_failed_work() {
    let Ok(full) = fs::OpenOptions::new().write(true).open("/dev/full") else { return };
    for words in [
        "config params --markdown",
        "config show intel-750 --json",
        "trace info in.csv",
        "trace head in.csv",
        "trace convert in.csv --to csv -o /dev/stdout",
        "db export --db db",
        "simulate --device intel-750 --trace in.csv",
        "completions bash",
        "--help",
        "--version",
    ] {
        let mut command = program(&DESK);
        command.args(words.split_whitespace()).stdout(full.try_clone().expect("a handle"));
        let done = command.output().expect("it runs");
        let said = String::from_utf8_lossy(&done.stderr);
        assert_eq!(done.status.code(), Some(1), "{words}: {said}");
        assert!(said.contains(FULL), "{words}: {said}");
    }
}
