//! `ssdtune-train`: trains one network on libtorch.
//!
//! A [`TrainingJob`] in JSON comes from standard input, a [`TrainingAnswer`] in JSON goes to
//! standard output. `ssdtune` starts it when it needs a network; nobody has to call it by hand.

use ssdtune_learn::mlp::{MlpError, TrainingAnswer, TrainingJob};
use std::error::Error;
use std::io::{BufWriter, Write, stdin, stdout};
use std::process::ExitCode;

fn main() -> ExitCode {
    if std::env::args_os().len() > 1 {
        println!(
            "ssdtune-train trains a neural network for ssdtune, which starts it when it needs \
             one.\nA job in JSON comes from standard input, the network goes to standard output.\n\
             It takes no arguments."
        );
        return ExitCode::from(2);
    }
    #[cfg(unix)]
    std::thread::spawn(end_with_caller);
    match run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}

/// Ends this process soon after the one that has started it: nobody reads the network any more.
#[cfg(unix)]
fn end_with_caller() {
    use std::os::unix::process::parent_id;
    let caller = parent_id();
    while parent_id() == caller {
        std::thread::sleep(std::time::Duration::from_millis(200));
    }
    std::process::exit(1);
}

fn run() -> Result<(), Box<dyn Error>> {
    // The whole job is read before anything is written: the caller writes first, then reads.
    let job = std::io::read_to_string(stdin())?;
    let job: TrainingJob = serde_json::from_str(&job)?;
    job.check()?;
    let answer = match ssdtune_train::train(&job) {
        Ok(training) => TrainingAnswer::Trained(training),
        Err(MlpError::Diverged { epoch }) => TrainingAnswer::Diverged { epoch },
        Err(other) => return Err(other.into()),
    };
    let mut output = BufWriter::new(stdout().lock());
    serde_json::to_writer(&mut output, &answer)?;
    Ok(output.flush()?)
}
