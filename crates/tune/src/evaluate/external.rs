//! Measuring with any other simulator: `CMD {config.xml} {workload.xml}`.
//!
//! Each run has a directory of its own, and the command is started in it. There lie the drive in
//! the form of MQSim's `ssdconfig.xml`, the trace in MQSim's ASCII format, and a `workload.xml`
//! that names the trace. The command is run twice. For the latency, requests have the trace's own
//! times. For the throughput, all requests come at once to a drive whose queue holds the closed
//! loop's depth. The result of a run is MQSim's `workload_scenario_1.xml` if the command left one.
//! Otherwise it is the last line of its standard output, as JSON: `{"latency_ns": 81000,
//! "throughput_bps": 3.1e9}`.
//!
//! A run that takes longer than its timeout is killed. A run that fails or times out is tried
//! again. After the last attempt the drive counts as unfit, and the end of the command's standard
//! error is the reason. A command that cannot be started at all is an error of the evaluator, and
//! ends the search.

use super::{EvaluationError, Evaluator, Job, Measurement};
use crate::grade::Figures;
use serde::Deserialize;
use ssdtune_experiment::{Preparation, Start};
use ssdtune_model::DeviceConfig;
use ssdtune_mqsim::result::{RunContext, read_result};
use ssdtune_mqsim::{Scenario, unknown_to_mqsim, write_device, write_workload};
use ssdtune_trace::{Op, Request};
use std::fmt::Write as _;
use std::fs::{self, File};
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// Why an evaluator outside this process does not work.
#[derive(Debug, thiserror::Error)]
pub enum ExternalError {
    /// The command cannot be started.
    #[error("cannot start {command}: {source}; --evaluator takes a program and its arguments")]
    Start {
        /// The command.
        command: String,
        /// Why not.
        source: std::io::Error,
    },
    /// The command line names no configuration or no workload.
    #[error(
        "--evaluator {command}: write {{config.xml}} and {{workload.xml}} where it takes its two \
         files, or mqsim:PATH for MQSim itself"
    )]
    Placeholders {
        /// The command.
        command: String,
    },
    /// The files of a run cannot be written or read.
    #[error("the files of an external run: {0}")]
    Files(#[from] std::io::Error),
    /// An evaluator of another kind does not work, for this reason.
    #[error("{0}")]
    Other(String),
}

/// An evaluator that runs a command for each simulation.
#[derive(Clone, Debug)]
pub struct External {
    words: Vec<String>,
    /// The longest that one run may take.
    pub timeout: Duration,
    /// How often a failed run is tried again.
    pub retries: u32,
}

const CONFIG: &str = "{config.xml}";
const WORKLOAD: &str = "{workload.xml}";
/// Time between two looks at a running command.
const LOOK: Duration = Duration::from_millis(5);
/// The greatest number of characters of standard error that a reason quotes.
const QUOTED: usize = 400;

/// The line of JSON that a command other than MQSim prints.
#[derive(Deserialize)]
struct Printed {
    latency_ns: Option<f64>,
    throughput_bps: Option<f64>,
}

impl External {
    /// Reads a command line, whose words are separated by blanks: a program with `{config.xml}` and
    /// `{workload.xml}` among its arguments, or `mqsim:PATH`.
    ///
    /// # Errors
    /// A placeholder is missing.
    pub fn parse(command: &str) -> Result<Self, ExternalError> {
        let words: Vec<String> = match command.strip_prefix("mqsim:") {
            Some(path) => [path, "-i", CONFIG, "-w", WORKLOAD].map(str::to_owned).to_vec(),
            None => command.split_whitespace().map(str::to_owned).collect(),
        };
        let has = |placeholder: &str| words.iter().any(|word| word.contains(placeholder));
        if words.is_empty() || !has(CONFIG) || !has(WORKLOAD) {
            return Err(ExternalError::Placeholders { command: command.to_owned() });
        }
        Ok(Self { words, timeout: Duration::from_secs(600), retries: 1 })
    }

    /// Runs the command once. Returns its standard output, or why it failed.
    fn attempt(
        &self,
        directory: &Path,
        stop: &AtomicBool,
    ) -> Result<Result<String, String>, EvaluationError> {
        let broken = |error| EvaluationError::Broken(ExternalError::Files(error));
        let words: Vec<String> = (self.words.iter())
            .map(|word| word.replace(CONFIG, "config.xml").replace(WORKLOAD, "workload.xml"))
            .collect();
        let (out, err) = (directory.join("stdout"), directory.join("stderr"));
        let mut child = Command::new(&words[0])
            .args(&words[1..])
            .current_dir(directory)
            // MQSim waits for a key before it ends.
            .stdin(Stdio::null())
            .stdout(File::create(&out).map_err(broken)?)
            .stderr(File::create(&err).map_err(broken)?)
            .spawn()
            .map_err(|source| ExternalError::Start { command: words[0].clone(), source })?;
        let start = Instant::now();
        let status = loop {
            if let Some(status) = child.try_wait().map_err(broken)? {
                break Some(status);
            }
            let interrupted = stop.load(Ordering::Relaxed);
            if interrupted || start.elapsed() > self.timeout {
                // If it has ended meanwhile, there is nothing to kill, and the error does not
                // matter.
                let _ = child.kill();
                child.wait().map_err(broken)?;
                if interrupted {
                    return Err(EvaluationError::Interrupted);
                }
                break None;
            }
            std::thread::sleep(LOOK);
        };
        let said = fs::read(&err).map_err(broken)?;
        let said = String::from_utf8_lossy(&said);
        let said: String = said.trim().chars().rev().take(QUOTED).collect();
        let said: String = said.chars().rev().collect();
        Ok(match status {
            Some(status) if status.success() => {
                Ok(String::from_utf8_lossy(&fs::read(&out).map_err(broken)?).into_owned())
            }
            Some(status) => Err(format!("{} ended with {status}: {said}", words[0])),
            None => {
                let seconds = self.timeout.as_secs();
                Err(format!("{} took longer than {seconds} s: {said}", words[0]))
            }
        })
    }

    /// Writes the files, runs the command until it succeeds or no attempt is left, and reads the
    /// result: latency in nanoseconds and throughput in bytes a second, where it tells them.
    fn run(
        &self,
        config: &DeviceConfig,
        requests: &mut dyn Iterator<Item = Request>,
        mean_bytes: f64,
        stop: &AtomicBool,
    ) -> Result<(Option<f64>, Option<f64>), EvaluationError> {
        let broken = |error| EvaluationError::Broken(ExternalError::Files(error));
        let directory = tempfile::tempdir().map_err(broken)?;
        let at = directory.path();
        let device =
            write_device(config).map_err(|faults| EvaluationError::Unfit(faults.to_string()))?;
        fs::write(at.join("config.xml"), device.value).map_err(broken)?;
        let replay = Scenario::replay_of("requests.trace", config);
        fs::write(at.join("workload.xml"), write_workload(&[replay])).map_err(broken)?;
        fs::write(at.join("requests.trace"), ascii(requests)).map_err(broken)?;
        let mut reason = String::new();
        for _ in 0..=self.retries {
            match self.attempt(at, stop)? {
                Ok(printed) => {
                    let left = fs::read_to_string(at.join("workload_scenario_1.xml")).ok();
                    let outstanding = outstanding(config);
                    let context = RunContext { mean_bytes, outstanding };
                    let read = match left {
                        Some(xml) => read_result(&xml, context)
                            .map(|read| (Some(read.latency_ns), Some(read.throughput_bps))),
                        None => printed_figures(&printed),
                    };
                    match read {
                        Ok(figures) => return Ok(figures),
                        Err(wrong) => reason = wrong,
                    }
                }
                Err(failed) => reason = failed,
            }
        }
        Err(EvaluationError::Unfit(reason))
    }
}

/// The queue's length and the number of requests in service that keep a drive at a closed loop's
/// depth while more requests wait.
///
/// A slot of the queue is free again when a completion tells the host that its entry was fetched.
/// So a queue of two slots never has more than one request outstanding, and a short queue takes
/// long to fill a deep drive.
pub(super) fn full_queue(depth: u32) -> (u32, u32) {
    (depth / 2 + 3, depth)
}

/// The number of requests that MQSim keeps between submission and completion when more wait.
pub(super) fn outstanding(config: &DeviceConfig) -> u32 {
    (config.host.queue_depth + config.host.queue_fetch_size).saturating_sub(2).max(1)
}

fn printed_figures(printed: &str) -> Result<(Option<f64>, Option<f64>), String> {
    let last = printed.trim().lines().last().unwrap_or_default();
    let read: Printed = serde_json::from_str(last).map_err(|error| {
        format!(
            "no workload_scenario_1.xml and no JSON in the last line printed ({error}): `{}`",
            last.chars().take(80).collect::<String>()
        )
    })?;
    Ok((read.latency_ns, read.throughput_bps))
}

/// Requests in the text format that MQSim reads. Trims and flushes, which it does not know, are
/// left out.
fn ascii(requests: &mut dyn Iterator<Item = Request>) -> String {
    let mut text = String::new();
    for request in requests {
        let op = match request.op {
            Op::Read => 1,
            Op::Write => 0,
            Op::Trim | Op::Flush => continue,
        };
        // Writing to a String cannot fail.
        let _ = writeln!(text, "{} 0 {} {} {op}", request.at.0, request.lba.0, request.sectors);
    }
    text
}

impl Evaluator for External {
    fn identity(&self) -> String {
        format!("{}, twice: own times, and a queue kept full", self.words.join(" "))
    }

    fn preparation(&self) -> Preparation {
        // The other simulator decides what a drive has been through.
        Preparation::of(Start::Empty, 0)
    }

    fn untold(&self, drive: &DeviceConfig) -> Vec<String> {
        // The mode of the cache is in the workload's file.
        let unknown = unknown_to_mqsim(drive).filter(|row| row.key != "cache.mode");
        unknown.map(|row| format!("{} = {}", row.key, row.get(drive))).collect()
    }

    fn measure(&self, job: &Job, stop: &AtomicBool) -> Result<Measurement, EvaluationError> {
        if job.trace.windows().is_some() {
            // Another simulator cannot begin where a window begins.
            let name = &job.trace.name;
            return Err(EvaluationError::Unfit(format!("{name} is known by its windows alone")));
        }
        let requests = job.trace.requests();
        let moving = requests.iter().filter(|request| matches!(request.op, Op::Read | Op::Write));
        let (count, sectors) = moving.fold((0_u64, 0_u64), |(count, sectors), request| {
            (count + 1, sectors + u64::from(request.sectors))
        });
        let mean_bytes = 512.0 * sectors as f64 / count.max(1) as f64;
        let (latency, _) = self.run(job.config, &mut requests.iter().copied(), mean_bytes, stop)?;
        let mut full: DeviceConfig = (**job.config).clone();
        (full.host.queue_depth, full.host.queue_fetch_size) = full_queue(job.depth);
        let mut at_once = requests.iter().enumerate().map(|(number, request)| Request {
            at: ssdtune_model::Nanos(number as u64),
            ..*request
        });
        let (_, throughput) = self.run(&full, &mut at_once, mean_bytes, stop)?;
        match (latency, throughput) {
            (Some(latency_ns), Some(throughput_bps))
                if latency_ns > 0.0 && throughput_bps > 0.0 =>
            {
                let figures = Figures { latency_ns, throughput_bps };
                Ok(Measurement::of(figures))
            }
            _ => Err(EvaluationError::Unfit(format!(
                "{} tells no latency or no throughput above 0",
                self.words[0]
            ))),
        }
    }
}
