//! What commands write, whatever they are: never in the place of an input or of another output,
//! never silently in the place of a file that is there, whole or not at all, and refused at once
//! where it cannot be written.

use crate::support::{binary, ssdtune};
use predicates::prelude::*;
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::time::{Duration, Instant};

/// A directory with files that a user owns.
struct Desk(tempfile::TempDir);

impl Desk {
    /// A trace of 40 reads.
    fn new() -> Self {
        let desk = Self(tempfile::tempdir().unwrap());
        let rows: String =
            (0..40).map(|n| format!("{},0,R,{},8\n", n * 1_000_000, n * 8)).collect();
        fs::write(desk.path("in.csv"), format!("time_ns,tenant,op,lba,sectors\n{rows}")).unwrap();
        desk
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    fn with(self, name: &str, text: &str) -> Self {
        fs::write(self.path(name), text).unwrap();
        self
    }

    /// Every file by its name below the directory, with what it holds.
    fn files(&self) -> BTreeMap<String, Vec<u8>> {
        let entries = fs::read_dir(self.0.path()).unwrap().map(|entry| entry.unwrap());
        let files = entries.filter(|entry| entry.path().is_file());
        let name = |entry: &fs::DirEntry| entry.file_name().to_string_lossy().into_owned();
        files.map(|entry| (name(&entry), fs::read(entry.path()).unwrap())).collect()
    }

    /// The command with its words, in the directory.
    fn run(&self, words: &str) -> assert_cmd::Command {
        let mut command = ssdtune();
        command.args(words.split_whitespace()).current_dir(self.0.path());
        command
    }

    /// Runs a command that is refused with these words and changes no file.
    fn refuses(&self, command: &str, code: i32, words: &[&str]) {
        let before = self.files();
        let done = self.run(command).assert().code(code);
        let said = String::from_utf8_lossy(&done.get_output().stderr).into_owned();
        for word in words {
            assert!(said.contains(word), "{command}: {said}");
        }
        assert!(self.files() == before, "{command}: a file was changed or made");
    }
}

const SIMULATE: &str = "simulate --trace in.csv --device mqsim-default --set bus.channels=2 \
    --set bus.chips_per_channel=1 --set flash.dies_per_chip=1 --set flash.blocks_per_plane=256 \
    --set flash.pages_per_block=32 --set flash.planes_per_die=2";

#[cfg(unix)]
#[test]
fn an_input_is_never_an_output_by_whatever_name() {
    let desk = Desk::new();
    std::os::unix::fs::symlink("in.csv", desk.path("soft.csv")).unwrap();
    fs::hard_link(desk.path("in.csv"), desk.path("hard.csv")).unwrap();
    fs::create_dir(desk.path("a")).unwrap();
    for name in ["in.csv", "soft.csv", "hard.csv", "./a/../in.csv"] {
        for output in ["--log", "--series", "--save"] {
            for force in ["", "--force"] {
                let command = format!("{SIMULATE} {output} {name} {force}");
                desk.refuses(&command, 2, &[output, "--trace reads this file"]);
            }
        }
        let convert = format!("trace convert in.csv -o {name} --force");
        desk.refuses(&convert, 2, &["--output", "IN reads this file"]);
        desk.refuses(&format!("trace fit in.csv -o {name} --force"), 2, &["reads this file"]);
    }
}

#[test]
fn every_command_knows_its_inputs() {
    let drive = "[bus]\nchannels = 4\n";
    let desk =
        Desk::new().with("drive.toml", drive).with("own.jsonl", "{}\n").with("in-2.csv", "x");
    for command in [
        "config convert drive.toml --to xml -o drive.toml --force",
        "simulate --device drive.toml --trace in.csv --log drive.toml --force",
        "simulate --device intel-750 --trace in.csv --restore own.jsonl --log own.jsonl --force",
        "predict-perf fit own.jsonl --out own.jsonl --force",
        "predict-perf sweep --device drive.toml --out drive.toml",
        "predict-perf import own.jsonl --device d --out own.jsonl --force",
        "keeper train own.jsonl --out own.jsonl --force",
        "keeper map --model own.jsonl --plot own.jsonl --force",
        "trace convert in.csv in-2.csv --join concat -o in.csv --split 50/50 --force",
    ] {
        desk.refuses(command, 2, &["reads this file"]);
    }
    desk.refuses("config convert drive.toml -o drive.toml", 2, &["--output", "DEVICE reads"]);
}

#[test]
fn the_traces_that_a_workload_file_names_are_inputs_too() {
    let agreement = crate::support::root().join("tests/agreement");
    let desk = Desk::new();
    let xml = fs::read_to_string(agreement.join("workload/r_rr4k_qd4.xml")).unwrap();
    let at = xml.find("<File_Path>").expect("a trace") + "<File_Path>".len();
    let end = at + xml[at..].find('<').unwrap();
    let trace = desk.path("named.trace");
    fs::write(&trace, "0 0 0 8 1\n").unwrap();
    let named = format!("{}{}{}", &xml[..at], trace.display(), &xml[end..]);
    fs::write(desk.path("workload.xml"), named).unwrap();
    fs::copy(agreement.join("ssd/r_rr4k_qd4.xml"), desk.path("ssd.xml")).unwrap();
    let command = "simulate --mqsim ssd.xml workload.xml --log named.trace --force";
    desk.refuses(command, 2, &["--log", "reads this file"]);
}

#[test]
fn two_outputs_are_two_files() {
    let desk = Desk::new();
    desk.refuses(
        &format!("{SIMULATE} --log x.csv --series ./x.csv"),
        2,
        &["--series", "--log writes the same file"],
    );
    desk.refuses(&format!("{SIMULATE} --log x --save x"), 2, &["writes the same file"]);
    // Numbered files are compared by their own names.
    let sweep = format!("{SIMULATE} --sweep cache.mode=off,write");
    desk.refuses(&format!("{sweep} --log x.csv --series x.csv"), 2, &["x-0.csv"]);
    desk.run(&format!("{SIMULATE} --log /dev/null --series /dev/null")).assert().success();
}

#[cfg(unix)]
#[test]
fn the_file_of_standard_output_is_an_output_too() {
    let desk = Desk::new();
    let run = |script: &str| {
        let mut command = Command::new("sh");
        command.args(["-c", script]).env("SSDTUNE", binary()).current_dir(desk.0.path());
        command.output().unwrap()
    };
    let done = run("\"$SSDTUNE\" config show intel-750 > shown; \
                    \"$SSDTUNE\" trace convert in.csv -o shown --to csv --force >> shown");
    assert_eq!(done.status.code(), Some(2), "{done:?}");
    assert!(String::from_utf8_lossy(&done.stderr).contains("standard output writes the same file"));
    assert!(!fs::read(desk.path("shown")).unwrap().is_empty());
    // By its own name it is written as ever, after what is there.
    let done = run("echo before > both; \
                    \"$SSDTUNE\" config convert intel-750 -o /dev/stdout >> both");
    assert!(done.status.success(), "{done:?}");
    let both = fs::read_to_string(desk.path("both")).unwrap();
    assert!(both.starts_with("before\n") && both.contains("Device_Parameter_Set"), "{both}");
    let done = run("\"$SSDTUNE\" trace convert - -o in.csv --force < in.csv");
    assert_eq!(done.status.code(), Some(2), "{done:?}");
}

#[test]
fn the_document_of_a_refusal_names_the_file() {
    let desk = Desk::new();
    let done = desk.run(&format!("{SIMULATE} --log in.csv --json")).assert().code(2);
    let document = crate::support::parse(&done);
    assert_eq!(document["error"]["file"], "in.csv", "{document}");
}

#[test]
fn a_file_that_exists_is_replaced_only_by_force() {
    for (command, file) in [
        (&*format!("{SIMULATE} --log old"), "old"),
        (&format!("{SIMULATE} --series old"), "old"),
        (&format!("{SIMULATE} --save old"), "old"),
        (&format!("{SIMULATE} --sweep cache.mode=off,write --log old.csv"), "old-1.csv"),
        ("trace convert in.csv -o old.csv", "old.csv"),
        ("trace convert in.csv -o old.csv --split 50/50", "old-2.csv"),
        ("trace generate ycsb -n 10 -o old.csv", "old.csv"),
        ("config convert intel-750 -o old", "old"),
        ("predict-perf fio-jobs --filename x --size 64MiB --sample 4 --out .", "points.fio"),
        ("man .", "ssdtune-search.1"),
    ] {
        let desk = Desk::new().with(file, "precious");
        let before = desk.files();
        desk.refuses(command, 2, &["exists", "--force"]);
        desk.run(&format!("{command} --force")).assert().success();
        let after = desk.files();
        assert_ne!(after[file], b"precious", "{command}");
        assert_eq!(after["in.csv"], before["in.csv"]);
    }
}

#[test]
fn what_cannot_be_written_is_refused_before_the_work() {
    let desk = Desk::new().with("file", "precious");
    let began = Instant::now();
    for command in [
        // Hours of work, were it begun.
        "search --target ycsb --no-db --out file/result --budget 100000 --requests 1000000",
        "search --target ycsb --no-db --out file --budget 100000 --requests 1000000",
        "predict-perf sweep --device intel-750 --out missing/points",
        "keeper label --mixes 1000000 --out missing/labels",
        "compare placement --volumes --plots file",
        "predict-perf ftl profile --out missing/groups",
        "trace generate ycsb -n 1000000000 -o missing/x.csv",
        &format!("{SIMULATE} --log missing/x.csv"),
        &format!("{SIMULATE} --save ."),
    ] {
        desk.refuses(command, 2, &["cannot write there"]);
    }
    assert!(began.elapsed() < Duration::from_secs(30), "{:?}", began.elapsed());
    let old = Desk::new();
    fs::create_dir(old.path("out")).unwrap();
    fs::write(old.path("out/report.md"), "precious").unwrap();
    for more in ["", "--resume"] {
        let search = format!("search --target ycsb --db db --out out --budget 1000 {more}");
        old.refuses(&search, 2, &["out/report.md", "exists"]);
    }
}

#[test]
fn a_search_that_goes_on_replaces_its_own_result_and_no_input() {
    let desk = Desk::new();
    let search = "search --target ycsb --others none --requests 300 --budget 4 --prefix 100 \
                  --batch 2 --db db --out out";
    desk.run(search).assert().success();
    let first = fs::read(desk.path("out/result.json")).unwrap();
    let drive = fs::read(desk.path("out/recommended.toml")).unwrap();
    let names = || -> BTreeSet<_> {
        fs::read_dir(desk.path("out")).unwrap().map(|file| file.unwrap().file_name()).collect()
    };
    let written = names();
    desk.refuses(search, 2, &["out/recommended.toml", "exists"]);
    desk.run(&format!("{search} --resume")).assert().success();
    assert_eq!(names(), written, "its own files, and nothing beside them");
    assert!(written.len() >= 4, "{written:?}");
    // The result of another search is not its own.
    let other = format!("{search} --resume --seed 7");
    desk.refuses(&other, 2, &["out/recommended.toml", "exists"]);
    assert_eq!(fs::read(desk.path("out/recommended.toml")).unwrap(), drive);
    assert!(!first.is_empty());
    // What it has recommended is the drive to beat of the next one.
    let next = format!("{search} --device out/recommended.toml");
    for more in ["--resume", "--force"] {
        desk.refuses(&format!("{next} {more}"), 2, &["--device reads this file"]);
    }
}

/// Runs a shell's script with the command as `$SSDTUNE`.
#[cfg(unix)]
fn shell(desk: &Desk, script: &str) -> Output {
    let mut command = Command::new("sh");
    command.args(["-c", script]).env("SSDTUNE", binary()).current_dir(desk.0.path());
    command.stdin(Stdio::null()).output().unwrap()
}

#[cfg(unix)]
#[test]
fn a_full_disk_leaves_nothing_behind() {
    // A limit to the size of files stands for the end of the disk: it needs no rights.
    let full = "trap '' XFSZ; ulimit -f 2; exec \"$SSDTUNE\"";
    for (words, output) in [
        ("trace generate ycsb -n 100000 -o out.csv", "out.csv"),
        ("trace generate ycsb -n 100000 -o out.ssdt", "out.ssdt"),
        ("trace convert in.csv in.csv in.csv in.csv --join concat -o out.csv", "out.csv"),
        ("config convert intel-750 -o out.xml", "out.xml"),
        ("simulate --device intel-750 --workload ycsb --requests 2000 --log out.csv", "out.csv"),
        (&*format!("{SIMULATE} --save out"), "out"),
    ] {
        for old in [None, Some("precious")] {
            let desk = Desk::new();
            old.iter().for_each(|text| fs::write(desk.path(output), text).unwrap());
            let before = desk.files();
            let done = shell(&desk, &format!("{full} {words} --force"));
            let said = String::from_utf8_lossy(&done.stderr);
            if done.status.success() {
                // What is short enough is written.
                assert!(desk.files()[output].len() <= 2048, "{words}: {said}");
                continue;
            }
            assert_eq!(done.status.code(), Some(1), "{words}: {said}");
            assert!(said.contains(&format!("nothing was written to {output}")), "{words}: {said}");
            assert!(desk.files() == before, "{words} left {:?}", desk.files().keys());
        }
    }
}

#[test]
fn bad_input_leaves_nothing_behind() {
    let rows = "0,0,R,0,8\n1000,0,R,8,8\nnonsense\n";
    let bad = format!("time_ns,tenant,op,lba,sectors\n{rows}");
    let desk = Desk::new().with("bad.csv", &bad);
    let told = ["line 4", "nothing was written to out"];
    desk.refuses("trace convert bad.csv -o out.csv", 3, &told);
    let simulate = format!("{SIMULATE} --log out.csv --series out2.csv");
    desk.refuses(&simulate.replace("in.csv", "bad.csv"), 3, &told);
}

#[cfg(unix)]
#[test]
fn a_signal_leaves_nothing_behind() {
    for signal in ["-INT", "-TERM"] {
        let desk = Desk::new();
        let before = desk.files();
        let mut child = Command::new(binary())
            .args(["trace", "generate", "ycsb", "-n", "4000000000", "-o", "out.csv.zst"])
            .current_dir(desk.0.path())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let began = Instant::now();
        while desk.files().len() == before.len() && began.elapsed() < Duration::from_secs(60) {
            std::thread::sleep(Duration::from_millis(5));
        }
        assert!(desk.files().len() > before.len(), "it writes beside the place of its file");
        let killed = Command::new("kill").args([signal, &child.id().to_string()]).status();
        assert!(killed.is_ok_and(|status| status.success()));
        assert_eq!(child.wait().unwrap().code(), Some(130));
        assert!(desk.files() == before, "left {:?}", desk.files().keys());
        let mut said = String::new();
        std::io::Read::read_to_string(&mut child.stderr.take().unwrap(), &mut said).unwrap();
        assert!(said.contains("nothing was written to out.csv.zst"), "{said}");
    }
}

#[test]
fn only_a_file_of_its_own_is_continued() {
    let thesis = "my thesis, which has taken years";
    for foreign in [thesis, "my thesis\nhas lines\n", "{\"version\": 1}\n", "{\"kind\":\"fio\"}\n"]
    {
        let desk = Desk::new().with("own", foreign);
        for command in [
            "predict-perf sweep --device haml --sample 2 --out own",
            "keeper label --mixes 2 --out own",
            "predict-perf ftl profile --size small --events none --out own",
        ] {
            for force in ["", "--force"] {
                let command = format!("{command} {force}");
                desk.refuses(&command, 2, &["own is no file of", "name another file"]);
            }
        }
    }
}

#[cfg(unix)]
#[test]
fn endless_and_huge_files_are_refused_at_once() {
    let desk = Desk::new();
    // A hole of 64 GiB takes no room, and more memory than there is to read it whole.
    let huge = fs::File::create(desk.path("huge")).unwrap();
    huge.set_len(1 << 36).unwrap();
    let began = Instant::now();
    for command in [
        "predict-perf sweep --device haml --sample 2 --out",
        "keeper label --mixes 2 --out",
        "predict-perf ftl profile --size small --events none --out",
    ] {
        for (file, told) in [
            ("huge", "is no file of"),
            ("/dev/full", "cannot be continued"),
            ("/dev/zero", "cannot be continued"),
            ("/dev/stdout", "cannot be continued"),
        ] {
            let mut run = desk.run(command);
            run.arg(file).timeout(Duration::from_secs(20));
            run.assert().code(2).stderr(predicate::str::contains(told));
        }
    }
    assert!(began.elapsed() < Duration::from_secs(20), "{:?}", began.elapsed());
    assert_eq!(fs::metadata(desk.path("huge")).unwrap().len(), 1 << 36);
}

#[cfg(unix)]
#[test]
fn a_full_device_is_failed_work() {
    if Path::new("/dev/full").exists() {
        let desk = Desk::new();
        desk.refuses("trace convert in.csv -o /dev/full --to csv", 1, &["/dev/full"]);
        desk.refuses(&format!("{SIMULATE} --log /dev/full"), 1, &["/dev/full"]);
    }
}
