//! Arguments and small steps that several subcommands of `predict-perf ftl` share.

use crate::outcome::{Failure, Outcome};
use anyhow::anyhow;
use ssdtune_predict::firmware::DriveSize;
use std::path::Path;

/// The drive that the firmware runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(super) enum SizeArg {
    /// The paper's: 1 TiB.
    Paper,
    /// 8 GiB, to try things out.
    Small,
}

impl From<SizeArg> for DriveSize {
    fn from(size: SizeArg) -> Self {
        match size {
            SizeArg::Paper => Self::Paper,
            SizeArg::Small => Self::Small,
        }
    }
}

/// Whether the folder of a file that is wanted exists: said before minutes of work, not after them.
pub(super) fn has_folder(path: &Path) -> Outcome {
    match path.parent() {
        Some(folder) if !folder.as_os_str().is_empty() && !folder.is_dir() => Err(Failure::usage(
            anyhow!("cannot write {}: there is no folder {}", path.display(), folder.display()),
        )),
        _ => Ok(()),
    }
}
