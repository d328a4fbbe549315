//! How a run ends: the exit codes, and the error type that stands for them.
//!
//! A subcommand returns an [`Outcome`] and turns errors of libraries into a [`Failure`]:
//! [`Failure::input`] for a faulty file, [`Failure::usage`] for arguments that clap cannot judge.
//! The operator `?` makes all other errors failed work.

use ssdtune_report::in_full;
use std::error::Error;
use std::fmt::{self, Display};
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};

/// What a subcommand returns.
pub(crate) type Outcome<T = ()> = Result<T, Failure>;

/// Files without content that are named when a run fails.
const UNWRITTEN_MAX: usize = 4;

/// The text at the end of every `--help`.
pub(crate) const EXIT_CODES: &str = "Exit codes:
  0    done
  1    the work failed, or nothing keeps what was asked for (limits, constraints, checks)
  2    the command line is wrong
  3    an input file is wrong
  130  interrupted";

/// Why a run ended early.
#[derive(Debug)]
pub enum Failure {
    /// The work failed, as when a disk is full.
    Work(anyhow::Error),
    /// The command line contradicts itself, or asks for something that does not exist.
    Usage(anyhow::Error),
    /// An input file is faulty.
    Input(anyhow::Error),
    /// The reasons are printed already. The process ends with this exit code.
    Reported(u8),
    /// Ctrl-C or a termination signal. Finished results were kept.
    Interrupted,
    /// The reader of the output has gone, which is no error.
    BrokenPipe,
}

impl Failure {
    /// The failure of a file or a value in it that is wrong. Where a disk is full or memory has
    /// ended while it was read or written, no file is wrong.
    pub fn input(error: impl Into<anyhow::Error>) -> Self {
        let error = error.into();
        let kind = |cause: &(dyn Error + 'static)| Some(cause.downcast_ref::<io::Error>()?.kind());
        let ended = [ErrorKind::StorageFull, ErrorKind::QuotaExceeded, ErrorKind::OutOfMemory];
        match error.chain().filter_map(kind).any(|kind| ended.contains(&kind)) {
            true => Self::Work(error),
            false => Self::Input(error),
        }
    }

    /// The failure of an argument that is wrong.
    pub fn usage(error: impl Into<anyhow::Error>) -> Self {
        Self::Usage(error.into())
    }

    /// The error, unless there is nothing more to say than its kind.
    pub const fn error(&self) -> Option<&anyhow::Error> {
        match self {
            Self::Work(error) | Self::Usage(error) | Self::Input(error) => Some(error),
            Self::Reported(_) | Self::Interrupted | Self::BrokenPipe => None,
        }
    }

    /// What to say of it; empty if everything is said.
    pub fn message(&self) -> String {
        match (self, self.error()) {
            (_, Some(error)) => in_full(error.as_ref()),
            (Self::Interrupted, None) => "interrupted".to_owned(),
            (_, None) => String::new(),
        }
    }

    /// The exit code of the process.
    pub const fn code(&self) -> u8 {
        match self {
            Self::BrokenPipe => 0,
            Self::Work(_) => 1,
            Self::Usage(_) => 2,
            Self::Input(_) => 3,
            Self::Reported(code) => *code,
            Self::Interrupted => 130,
        }
    }
}

/// An error in a file that it does not name itself.
#[derive(Debug)]
pub(crate) struct InFile {
    pub(crate) path: PathBuf,
    pub(crate) line: Option<u64>,
    message: String,
}

impl InFile {
    /// The failure of a wrong file, or of a line of it.
    pub(crate) fn failure(path: &Path, line: Option<u64>, error: impl Display) -> Failure {
        let message = format!("{}: {error}", path.display());
        Failure::input(Self { path: path.to_path_buf(), line, message })
    }
}

impl Display for InFile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for InFile {}

impl From<io::Error> for Failure {
    fn from(error: io::Error) -> Self {
        match error.kind() {
            ErrorKind::BrokenPipe => Self::BrokenPipe,
            _ => Self::Work(error.into()),
        }
    }
}

impl From<serde_json::Error> for Failure {
    fn from(error: serde_json::Error) -> Self {
        match error.io_error_kind() {
            Some(ErrorKind::BrokenPipe) => Self::BrokenPipe,
            _ => Self::Work(error.into()),
        }
    }
}

impl From<anyhow::Error> for Failure {
    fn from(error: anyhow::Error) -> Self {
        // The error is only looked at: taking it out would lose its context, as the file's name.
        match error.downcast_ref::<io::Error>().map(io::Error::kind) {
            Some(ErrorKind::BrokenPipe) => Self::BrokenPipe,
            _ => Self::Work(error),
        }
    }
}

/// Prints a failure on standard error and gives the exit code.
pub(crate) fn report(outcome: Outcome) -> u8 {
    let Err(failure) = outcome else { return 0 };
    let message = failure.message();
    if !message.is_empty() {
        let red = anstyle::AnsiColor::Red.on_default().bold();
        anstream::eprintln!("{red}error:{red:#} {message}");
    }
    tell_unwritten(&ssdtune_output::given_up());
    failure.code()
}

/// Says on standard error where nothing was written.
pub(crate) fn tell_unwritten(paths: &[PathBuf]) {
    for path in paths.iter().take(UNWRITTEN_MAX) {
        anstream::eprintln!("nothing was written to {}", path.display());
    }
    if let Some(more) = paths.len().checked_sub(UNWRITTEN_MAX).filter(|more| *more > 0) {
        anstream::eprintln!("nor to {more} other files");
    }
}
