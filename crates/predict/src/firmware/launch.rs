//! Runs of the firmware in child processes: plain, under an emulator, or under valgrind.
//!
//! The child is this program itself with the command `predict-perf ftl run`, which prints one
//! [`ChildMessage`] in each line. A child under valgrind waits when it has rehearsed, and valgrind
//! is told to look only then: a rehearsal costs more instructions than the groups do. Valgrind
//! looks on while the drive is made, so that the groups meet warm caches as they do without it, and
//! counts events in the groups only.

use super::callgrind::{self, CallgrindError, CallgrindOutput, Simulated};
use super::run::{MeasuredGroup, RehearsalPlan, WorkloadRun};
use serde::{Deserialize, Serialize};
use std::io::{self, BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

/// A line that a child prints.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ChildMessage {
    /// The child has rehearsed, and goes on when it reads a line.
    Ready,
    /// The groups that a pass over the workload measured.
    Pass(Vec<MeasuredGroup>),
    /// Events of Table 5 that this CPU has no counter for.
    Missing(Vec<String>),
}

/// How children are started.
#[derive(Clone, Debug)]
pub struct Launcher {
    /// The program that the child runs, and the arguments that stand before those of the command.
    pub program: Vec<String>,
    /// A command that runs the program, such as an emulator, with its arguments. Empty: the program
    /// runs plainly.
    pub under: Vec<String>,
    /// A folder for files that parent and children exchange.
    pub scratch: PathBuf,
}

/// All that a child printed.
#[derive(Clone, Debug, Default)]
pub struct ChildOutput {
    /// The groups of each pass.
    pub passes: Vec<Vec<MeasuredGroup>>,
    /// Events of Table 5 that this CPU has no counter for.
    pub missing: Vec<String>,
}

/// Why a child did not do its work.
#[derive(Debug, thiserror::Error)]
pub enum LaunchError {
    /// The child could not be started.
    #[error(
        "cannot run {program}: {source}. `valgrind` and `qemu-x86_64` are in the packages valgrind \
         and qemu-user"
    )]
    Start {
        /// The program that was to be run.
        program: String,
        /// What the system says.
        source: io::Error,
    },
    /// The child failed.
    #[error("{program} failed ({status}): {stderr}")]
    Failed {
        /// What was run.
        program: String,
        /// Its exit status.
        status: String,
        /// The last lines of its standard error.
        stderr: String,
    },
    /// The child printed something other than a message.
    #[error("{program} said {line:?}, which is no message: is it another version of this program?")]
    Message {
        /// What was run.
        program: String,
        /// The line.
        line: String,
    },
    /// A file that parent and child exchange cannot be read or written.
    #[error("{}: {source}", path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// What the system says.
        source: io::Error,
    },
    /// Valgrind's output cannot be used.
    #[error("{}: {source}", path.display())]
    Callgrind {
        /// The file.
        path: PathBuf,
        /// What is wrong.
        source: CallgrindError,
    },
    /// The child served another number of groups than callgrind wrote down.
    #[error("{program} served {served} groups and callgrind wrote {written} down")]
    Groups {
        /// What was run.
        program: String,
        /// How many groups the child served.
        served: usize,
        /// How many groups callgrind wrote down.
        written: usize,
    },
}

impl Launcher {
    /// Times of a workload: of each group as many as there are `repeats`. With `counters` the first
    /// passes count events with performance counters instead.
    ///
    /// # Errors
    /// The child fails.
    pub fn times(
        &self,
        task: &WorkloadRun,
        repeats: u32,
        counters: bool,
    ) -> Result<ChildOutput, LaunchError> {
        let mut words = self.under.clone();
        words.extend(self.program.iter().cloned());
        words.extend(arguments(task, &self.plan_path(task)));
        words.extend(["--repeats".to_owned(), repeats.to_string()]);
        if counters {
            words.push("--counters".to_owned());
        }
        self.converse(&words, None)
    }

    /// Events of a workload under callgrind: the groups of one pass, and what callgrind counted.
    ///
    /// # Errors
    /// Valgrind is absent or the child fails.
    pub fn callgrind(
        &self,
        task: &WorkloadRun,
        simulated: Simulated,
    ) -> Result<(Vec<MeasuredGroup>, CallgrindOutput), LaunchError> {
        let out = self.scratch.join(format!("callgrind-{}.out", task.workload.label));
        let begin_idle = can_control();
        let mut words = vec!["valgrind".to_owned()];
        words.extend(callgrind::arguments(&out, simulated, begin_idle));
        words.extend(self.program.iter().cloned());
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
        // The file is large, and nothing else in it is of use.
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

    /// Where the findings of the rehearsal of a run are kept.
    fn plan_path(&self, task: &WorkloadRun) -> PathBuf {
        self.scratch.join(format!("plan-{}.json", task.workload.label))
    }

    /// Runs a child to its end. `when_ready` is called with its process number when it has
    /// rehearsed.
    fn converse(
        &self,
        words: &[String],
        when_ready: Option<&dyn Fn(u32) -> Result<(), LaunchError>>,
    ) -> Result<ChildOutput, LaunchError> {
        let program = words[0].clone();
        let mut child = Command::new(&words[0])
            .args(&words[1..])
            // The C library keeps what a pass frees for the next pass, so that no pass pays for
            // fresh pages.
            .env("MALLOC_MMAP_MAX_", "0")
            .env("MALLOC_TRIM_THRESHOLD_", "1099511627776")
            .env("MALLOC_TOP_PAD_", "67108864")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .map_err(|source| LaunchError::Start { program: program.clone(), source })?;
        // Read by another thread, so that no child waits for a full pipe.
        let errors = child.stderr.take().map(|errors| std::thread::spawn(|| read_all(errors)));
        let heard = hear(&mut child, &program, when_ready);
        if heard.is_err() {
            let _ = child.kill();
        }
        let status = child
            .wait()
            .map_err(|source| LaunchError::Start { program: program.clone(), source })?;
        let stderr = errors.and_then(|errors| errors.join().ok()).unwrap_or_default();
        // A child that was killed for its message did not fail by itself.
        if !status.success() && heard.is_ok() {
            let last: Vec<&str> = stderr.lines().rev().take(8).collect();
            let stderr = last.into_iter().rev().collect::<Vec<_>>().join("\n");
            return Err(LaunchError::Failed { program, status: status.to_string(), stderr });
        }
        heard
    }
}

/// Everything that comes until the end or a failure.
fn read_all(mut from: impl io::Read) -> String {
    let mut text = Vec::new();
    // What was read before a failure is still worth telling.
    let _ = from.read_to_end(&mut text);
    String::from_utf8_lossy(&text).into_owned()
}

/// Reads the messages of a child, and lets it go on when it is ready.
fn hear(
    child: &mut Child,
    program: &str,
    when_ready: Option<&dyn Fn(u32) -> Result<(), LaunchError>>,
) -> Result<ChildOutput, LaunchError> {
    let mut measured = ChildOutput::default();
    let Some(out) = child.stdout.take() else { return Ok(measured) };
    for line in BufReader::new(out).lines() {
        let line =
            line.map_err(|source| LaunchError::Start { program: program.to_owned(), source })?;
        let message = serde_json::from_str(&line)
            .map_err(|_| LaunchError::Message { program: program.to_owned(), line })?;
        match message {
            ChildMessage::Pass(groups) => measured.passes.push(groups),
            ChildMessage::Missing(events) => measured.missing.extend(events),
            ChildMessage::Ready => {
                if let Some(act) = when_ready {
                    act(child.id())?;
                }
                if let Some(stdin) = &mut child.stdin {
                    // If the child has ended, its exit status says why.
                    let _ = stdin.write_all(b"go\n").and_then(|()| stdin.flush());
                }
            }
        }
    }
    measured.missing.sort();
    measured.missing.dedup();
    Ok(measured)
}

/// The command and the arguments of a child.
fn arguments(task: &WorkloadRun, plan: &Path) -> Vec<String> {
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

/// The findings of an earlier rehearsal; `None` if there is no such file.
pub fn read_plan(path: &Path) -> io::Result<Option<RehearsalPlan>> {
    match std::fs::read_to_string(path) {
        Ok(text) => Ok(Some(serde_json::from_str(&text)?)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error),
    }
}

/// Whether a program answers to `--version`.
pub fn is_installed(tool: &str) -> bool {
    let mut command = Command::new(tool);
    command.arg("--version").stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    command.status().is_ok_and(|status| status.success())
}

/// Whether callgrind can be told to begin, by a script that comes with valgrind.
fn can_control() -> bool {
    is_installed("callgrind_control")
}

/// Tells the callgrind that runs a process to begin.
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
