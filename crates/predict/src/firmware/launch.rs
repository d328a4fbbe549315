//! Runs of the firmware as child processes: plain, under an emulator, under valgrind.
//!
//! The child is the program itself, `predict-perf ftl run`. It prints one [`Message`] a line.
//! Valgrind sees a child that waits when it has rehearsed, and is told to look only then: a
//! rehearsal costs more instructions than the groups do. It looks on while the drive is made, so
//! that the groups meet warm caches as they do without it, and collects in the groups alone.

use super::callgrind::{self, Caches, CallgrindError};
use super::run::{Group, Plan, Task};
use serde::{Deserialize, Serialize};
use std::io::{self, BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

/// What a child says.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Message {
    /// It has rehearsed, and goes on when a line comes in.
    Ready,
    /// A pass over the workload.
    Pass(Vec<Group>),
    /// Events that this CPU has no counter for.
    Missing(Vec<String>),
}

/// How to run the program.
#[derive(Clone, Debug)]
pub struct Launcher {
    /// The program.
    pub program: PathBuf,
    /// A command that runs it, with its arguments; nothing runs it plainly.
    pub under: Vec<String>,
    /// A folder for files that children need.
    pub scratch: PathBuf,
}

/// What a child measured.
#[derive(Clone, Debug, Default)]
pub struct Measured {
    /// Pass by pass.
    pub passes: Vec<Vec<Group>>,
    /// Events without a counter.
    pub missing: Vec<String>,
}

/// Why a child did not do its work.
#[derive(Debug, thiserror::Error)]
pub enum LaunchError {
    /// It could not be started.
    #[error(
        "cannot run {program}: {source}. `valgrind` and `qemu-x86_64` are in the packages valgrind and qemu-user"
    )]
    Start {
        /// What was to be run.
        program: String,
        /// What the system says.
        source: io::Error,
    },
    /// It ended badly.
    #[error("{program} failed ({status}): {stderr}")]
    Failed {
        /// What was run.
        program: String,
        /// How it ended.
        status: String,
        /// The end of what it said.
        stderr: String,
    },
    /// It said something else than a message.
    #[error("{program} said {line:?}, which is no message: is it another version of this program?")]
    Message {
        /// What was run.
        program: String,
        /// The line.
        line: String,
    },
    /// A file between us.
    #[error("{}: {source}", path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// What the system says.
        source: io::Error,
    },
    /// What valgrind wrote.
    #[error("{}: {source}", path.display())]
    Callgrind {
        /// The file.
        path: PathBuf,
        /// What is wrong.
        source: CallgrindError,
    },
    /// Passes and events do not match.
    #[error("{program} served {served} groups and callgrind wrote {written} down")]
    Groups {
        /// What was run.
        program: String,
        /// Groups served.
        served: usize,
        /// Groups written.
        written: usize,
    },
}

impl Launcher {
    /// Times of a workload, so many of each group; with performance counters if asked for.
    ///
    /// # Errors
    /// The child fails.
    pub fn times(
        &self,
        task: &Task,
        repeats: u32,
        counters: bool,
    ) -> Result<Measured, LaunchError> {
        let mut words = self.under.clone();
        words.push(self.program.display().to_string());
        words.extend(arguments(task, &self.plan_path(task)));
        words.extend(["--repeats".to_owned(), repeats.to_string()]);
        if counters {
            words.push("--counters".to_owned());
        }
        self.converse(&words, None)
    }

    /// Events of a workload under callgrind: one pass, and what was counted in each group.
    ///
    /// # Errors
    /// Valgrind is absent or the child fails.
    pub fn callgrind(
        &self,
        task: &Task,
        caches: Caches,
    ) -> Result<(Vec<Group>, callgrind::Output), LaunchError> {
        let out = self.scratch.join(format!("callgrind-{}.out", task.workload.label));
        let begin_idle = can_control();
        let mut words = vec!["valgrind".to_owned()];
        words.extend(callgrind::arguments(&out, caches, begin_idle));
        words.push(self.program.display().to_string());
        words.extend(arguments(task, &self.plan_path(task)));
        words.extend(["--repeats".to_owned(), "1".to_owned()]);
        let measured = match begin_idle {
            true => {
                words.push("--wait".to_owned());
                self.converse(&words, Some(&begin_counting))?
            }
            false => self.converse(&words, None)?,
        };
        let text = std::fs::read_to_string(&out)
            .map_err(|source| LaunchError::File { path: out.clone(), source })?;
        let output = callgrind::parse(&text)
            .map_err(|source| LaunchError::Callgrind { path: out.clone(), source })?;
        // Of what was written nothing else is of use, and it is large.
        let _ = std::fs::remove_file(&out);
        let groups = measured.passes.into_iter().next().unwrap_or_default();
        if groups.len() != output.groups.len() {
            return Err(LaunchError::Groups {
                program: words[0].clone(),
                served: groups.len(),
                written: output.groups.len(),
            });
        }
        Ok((groups, output))
    }

    fn plan_path(&self, task: &Task) -> PathBuf {
        self.scratch.join(format!("plan-{}.json", task.workload.label))
    }

    /// Runs a child to its end; `when_ready` is called between its two halves.
    fn converse(
        &self,
        words: &[String],
        when_ready: Option<&dyn Fn(u32) -> Result<(), LaunchError>>,
    ) -> Result<Measured, LaunchError> {
        let program = words[0].clone();
        let mut child = Command::new(&words[0])
            .args(&words[1..])
            // The C library is to keep what a pass frees for the next, so that no pass pays for
            // fresh pages.
            .env("MALLOC_MMAP_MAX_", "0")
            .env("MALLOC_TRIM_THRESHOLD_", "1099511627776")
            .env("MALLOC_TOP_PAD_", "67108864")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .map_err(|source| LaunchError::Start { program: program.clone(), source })?;
        // Read beside, so that a child that says much is never held up by a full pipe.
        let errors = child.stderr.take().map(|errors| std::thread::spawn(|| read_all(errors)));
        let heard = hear(&mut child, &program, when_ready);
        if heard.is_err() {
            let _ = child.kill();
        }
        let status = child
            .wait()
            .map_err(|source| LaunchError::Start { program: program.clone(), source })?;
        let stderr = errors.and_then(|errors| errors.join().ok()).unwrap_or_default();
        // One that was killed for what it said did not fail by itself.
        if !status.success() && heard.is_ok() {
            let last: Vec<&str> = stderr.lines().rev().take(8).collect();
            let stderr = last.into_iter().rev().collect::<Vec<_>>().join("\n");
            return Err(LaunchError::Failed { program, status: status.to_string(), stderr });
        }
        heard
    }
}

fn read_all(mut from: impl io::Read) -> String {
    let mut text = Vec::new();
    // What was read before a failure is what there is to tell.
    let _ = from.read_to_end(&mut text);
    String::from_utf8_lossy(&text).into_owned()
}

fn hear(
    child: &mut Child,
    program: &str,
    when_ready: Option<&dyn Fn(u32) -> Result<(), LaunchError>>,
) -> Result<Measured, LaunchError> {
    let mut measured = Measured::default();
    let Some(out) = child.stdout.take() else { return Ok(measured) };
    for line in BufReader::new(out).lines() {
        let line =
            line.map_err(|source| LaunchError::Start { program: program.to_owned(), source })?;
        let message = serde_json::from_str(&line)
            .map_err(|_| LaunchError::Message { program: program.to_owned(), line })?;
        match message {
            Message::Pass(groups) => measured.passes.push(groups),
            Message::Missing(events) => measured.missing.extend(events),
            Message::Ready => {
                if let Some(act) = when_ready {
                    act(child.id())?;
                }
                if let Some(stdin) = &mut child.stdin {
                    // A child that has gone shows in its status.
                    let _ = stdin.write_all(b"go\n").and_then(|()| stdin.flush());
                }
            }
        }
    }
    measured.missing.sort();
    measured.missing.dedup();
    Ok(measured)
}

/// What a child is called with.
fn arguments(task: &Task, plan: &Path) -> Vec<String> {
    let pairs = [
        ("--workload", task.workload.label.to_owned()),
        ("--groups", task.groups.to_string()),
        ("--warm-up", task.warm_up.to_string()),
        ("--size", task.size.name().to_owned()),
        ("--seed", task.seed.to_string()),
        ("--plan", plan.display().to_string()),
    ];
    let words = ["predict-perf", "ftl", "run"].map(str::to_owned).into_iter();
    words.chain(pairs.into_iter().flat_map(|(flag, value)| [flag.to_owned(), value])).collect()
}

/// Reads the plan of a rehearsal, if there was one.
pub fn read_plan(path: &Path) -> io::Result<Option<Plan>> {
    match std::fs::read_to_string(path) {
        Ok(text) => Ok(Some(serde_json::from_str(&text)?)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error),
    }
}

/// Whether a tool answers to `--version`.
pub fn is_installed(tool: &str) -> bool {
    let mut command = Command::new(tool);
    command.arg("--version").stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    command.status().is_ok_and(|status| status.success())
}

/// Whether callgrind can be told to begin: by a script of its own, through a debugger's door.
fn can_control() -> bool {
    is_installed("callgrind_control")
}

fn begin_counting(process: u32) -> Result<(), LaunchError> {
    let program = "callgrind_control".to_owned();
    let output = Command::new(&program)
        .args(["-i", "on", &process.to_string()])
        .output()
        .map_err(|source| LaunchError::Start { program: program.clone(), source })?;
    match output.status.success() {
        true => Ok(()),
        false => Err(LaunchError::Failed {
            program,
            status: output.status.to_string(),
            stderr: String::from_utf8_lossy(&output.stderr).into_owned(),
        }),
    }
}
