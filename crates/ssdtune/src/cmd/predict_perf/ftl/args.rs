//! Arguments that several subcommands of `predict-perf ftl` share.

use ssdtune_predict::firmware::DriveSize;

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
