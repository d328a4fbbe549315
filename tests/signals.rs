//! Termination signals end every command within a second, whatever it is doing; `--threads` asks
//! for no more than the machine can use.

use crate::support::{binary, root, ssdtune};
use std::io::{Read as _, Write as _};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::time::{Duration, Instant};

/// A command that runs, and its standard input, which stays open.
struct Running {
    child: Child,
    input: ChildStdin,
}

impl Running {
    /// Starts a command, sends it some input and lets it come to the moment that is meant.
    fn start(line: &str, input: &str, directory: &std::path::Path) -> Self {
        Self::begin(by_default(), line, input, directory)
    }

    /// Starts `command`, which may change how signals are met, with the program's path and the
    /// words of `line` added.
    fn begin(mut command: Command, line: &str, input: &str, directory: &std::path::Path) -> Self {
        let mut child = command
            .arg(binary())
            .args(line.split(' '))
            .current_dir(root())
            .env("TMPDIR", directory)
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .expect("it runs");
        let mut pipe = child.stdin.take().expect("piped");
        // It may have read all that it wants.
        let _ = pipe.write_all(input.as_bytes());
        std::thread::sleep(Duration::from_millis(1500));
        Self { child, input: pipe }
    }

    /// Sends a signal. Gives the time until the process ends, its exit code and what it said.
    fn end(mut self, signal: &str) -> (Duration, Option<i32>, String) {
        assert_eq!(self.child.try_wait().expect("it is there"), None, "it has ended before");
        let id = self.child.id().to_string();
        let start = Instant::now();
        assert!(Command::new("kill").args(["-s", signal, &id]).status().expect("kill").success());
        let deadline = Duration::from_secs(20);
        let status = loop {
            match self.child.try_wait().expect("it is there") {
                Some(status) => break status,
                None if start.elapsed() > deadline => {
                    self.child.kill().expect("it still runs");
                    panic!("{signal} has not ended it within {deadline:?}");
                }
                None => std::thread::sleep(Duration::from_millis(5)),
            }
        };
        let took = start.elapsed();
        drop(self.input);
        let mut said = String::new();
        self.child.stderr.take().expect("piped").read_to_string(&mut said).expect("text");
        (took, status.code(), said)
    }
}

/// A command for which SIGHUP does what it does by default, also where these tests run under
/// `nohup`.
fn by_default() -> Command {
    let mut command = Command::new("env");
    let flag = "--default-signal=HUP";
    let knows = Command::new("env").args([flag, "true"]).output();
    command.args(knows.is_ok_and(|done| done.status.success()).then_some(flag));
    command
}

/// Rows of a trace, more than its reader buffers.
fn rows() -> String {
    (0..60_000).map(|n| format!("{},0,W,{},8\n", n * 1_000, n * 8)).collect()
}

/// What a command may take to end: a second on a machine that does nothing else. Tests run beside
/// others, so that the process waits for a processor, too.
const LONGEST: Duration = Duration::from_secs(2);

/// The most awkward moments: results are to be kept, so the signal is deferred, and the command
/// waits for something else.
#[test]
fn every_signal_ends_a_command_within_a_second() {
    let directory = tempfile::tempdir().expect("a directory");
    let out = directory.path().join("out.ssdt").display().to_string();
    let labels = directory.path().join("labels.jsonl").display().to_string();
    let convert = format!("trace convert - --format csv -o {out}");
    let label = format!("keeper label --mixes 10000 --requests 1000000 --out {labels}");
    let tune = "--target database --others none --no-db";
    for (line, input, signal) in [
        (convert.as_str(), rows().as_str(), "TERM"),
        (&format!("grade {tune} --requests 200 --points"), "", "TERM"),
        (&format!("search {tune} --requests 200000"), "", "HUP"),
        (
            "simulate --device intel-750 --workload database --requests 1000 \
             --start sequential:0.9 --age random:50",
            "",
            "INT",
        ),
        (&label, "", "TERM"),
        ("compare placement --workload database --requests 20000000", "", "TERM"),
        ("choose --workload database --start footprint intel-750 z-ssd", "", "INT"),
    ] {
        let (took, code, said) = Running::start(line, input, directory.path()).end(signal);
        assert_eq!(code, Some(130), "{line}: {said}");
        assert!(took < LONGEST, "{line}: took {took:?} to end: {said}");
    }
}

/// As under `nohup`. Other signals end it as ever.
#[test]
fn a_hangup_that_is_ignored_stays_ignored() {
    let directory = tempfile::tempdir().expect("a directory");
    let out = directory.path().join("out.ssdt").display().to_string();
    let convert = format!("trace convert - --format csv -o {out}");
    let search = "search --target database --others none --no-db --requests 200000";
    for (line, input) in [(convert.as_str(), rows().as_str()), (search, "")] {
        let mut command = Command::new("sh");
        command.args(["-c", "trap '' HUP; exec \"$@\"", "sh"]);
        let mut running = Running::begin(command, line, input, directory.path());
        let id = running.child.id().to_string();
        for _ in 0..2 {
            assert!(
                Command::new("kill").args(["-s", "HUP", &id]).status().expect("kill").success()
            );
        }
        std::thread::sleep(Duration::from_millis(700));
        let ended = running.child.try_wait().expect("it is there");
        assert_eq!(ended, None, "{line} has ended by SIGHUP");
        let (_, code, said) = running.end("TERM");
        assert_eq!(code, Some(130), "{line}: {said}");
    }
}

#[test]
fn threads_are_no_more_than_the_machine_can_use() {
    let line = "simulate --device intel-750 --workload database --requests 200 --threads 100000";
    let done = ssdtune().args(line.split(' ')).timeout(Duration::from_secs(120)).assert().success();
    let said = String::from_utf8_lossy(&done.get_output().stderr).into_owned();
    assert!(said.contains("--threads 100000: working with "), "{said}");
    let quiet = ssdtune().args(line.split(' ')).arg("--quiet").assert().success();
    assert!(quiet.get_output().stderr.is_empty());
}
