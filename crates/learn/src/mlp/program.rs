//! Training by the program `ssdtune-train`, which alone is linked to libtorch.
//!
//! libtorch takes 500 MB of disk and a quarter of a second to load. A program that only now and
//! then trains a network should not pay that at every start, so training is a process of its own:
//! a [`TrainingJob`] goes to its standard input and a [`TrainingAnswer`] comes from its standard
//! output, both as JSON that keeps every bit of a number.
//!
//! Cost: the start of a process, 0.3 s, beside the training itself.

use super::job::TrainingJob;
use super::training::{Targets, Training};
use super::{MlpError, MlpParams, MlpValidParams};
use ndarray::ArrayView2;
use serde::{Deserialize, Serialize};
use std::ffi::OsString;
use std::io::{ErrorKind, Write};
use std::path::PathBuf;
use std::process::{Command, Stdio};

/// Name of the program.
const PROGRAM: &str = "ssdtune-train";
/// Environment variable that says where the program is.
const VARIABLE: &str = "SSDTUNE_TRAIN";

/// What the program answers.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TrainingAnswer {
    /// The network was trained.
    Trained(Training),
    /// The loss became infinite or NaN after this epoch, counted from 0.
    Diverged {
        /// Number of the epoch.
        epoch: usize,
    },
}

impl MlpParams {
    /// Checks the parameters and the data, then trains a network by the program `ssdtune-train`:
    /// the one that the environment variable `SSDTUNE_TRAIN` names, or one in the folder of the
    /// running program or in the folder above it, or one in `PATH`.
    ///
    /// # Errors
    /// A parameter or the data cannot be used, there is no such program, or training diverged.
    pub fn fit(&self, x: ArrayView2<'_, f64>, targets: Targets<'_>) -> Result<Training, MlpError> {
        run(&self.job(x, targets)?)
    }
}

impl MlpValidParams {
    /// Checks the data, then trains a network as [`MlpParams::fit`] does.
    ///
    /// # Errors
    /// The data cannot be used, there is no program that trains, or training diverged.
    pub fn fit(&self, x: ArrayView2<'_, f64>, targets: Targets<'_>) -> Result<Training, MlpError> {
        run(&self.job(x, targets)?)
    }
}

/// Whether the program that trains networks is there.
pub fn can_train() -> bool {
    let program = program();
    let in_path = || {
        let folders = std::env::var_os("PATH").unwrap_or_default();
        std::env::split_paths(&folders).any(|folder| folder.join(&program).is_file())
    };
    PathBuf::from(&program).is_file() || in_path()
}

/// The program: what the environment names, or one beside the running program, or, for the search
/// path of the system, its name alone.
fn program() -> OsString {
    if let Some(named) = std::env::var_os(VARIABLE) {
        return named;
    }
    let name = format!("{PROGRAM}{}", std::env::consts::EXE_SUFFIX);
    let beside = std::env::current_exe().ok().and_then(|running| {
        // Test programs and examples of cargo lie one folder below the programs.
        let folders = running.ancestors().skip(1).take(2);
        folders.map(|folder| folder.join(&name)).find(|path| path.is_file())
    });
    beside.map_or_else(|| name.into(), PathBuf::into_os_string)
}

/// Runs the job in a process of its own.
fn run(job: &TrainingJob) -> Result<Training, MlpError> {
    let program = program();
    let failed = |what: String| MlpError::Trainer(format!("{}: {what}", program.display()));
    let mut command = Command::new(&program);
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().map_err(|error| match error.kind() {
        ErrorKind::NotFound => MlpError::NoTrainer,
        _ => failed(error.to_string()),
    })?;
    let asked = serde_json::to_vec(job).expect("finite numbers");
    let mut input = child.stdin.take().expect("piped above");
    // It reads all before it writes anything, so neither waits for the other. If it stops reading
    // it says why at its end.
    let _ = input.write_all(&asked);
    drop(input);
    let done = child.wait_with_output().map_err(|error| failed(error.to_string()))?;
    if !done.status.success() {
        let said = String::from_utf8_lossy(&done.stderr);
        return Err(failed(format!("{}: {}", done.status, said.trim())));
    }
    match serde_json::from_slice(&done.stdout) {
        Ok(TrainingAnswer::Trained(training)) => Ok(training),
        Ok(TrainingAnswer::Diverged { epoch }) => Err(MlpError::Diverged { epoch }),
        Err(error) => Err(failed(format!("an answer that is none: {error}"))),
    }
}
