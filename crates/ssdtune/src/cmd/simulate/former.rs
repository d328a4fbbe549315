//! Former flags of `simulate`. They still work, are hidden in the help, and tell what to write
//! instead.

use crate::global::real;
use crate::outcome::{Failure, Outcome};
use ssdtune_experiment::{Preparation, WarmUp};

/// The former flags.
#[derive(Clone, Debug, clap::Args)]
pub(super) struct FormerArgs {
    /// Now --age.
    #[arg(long, value_name = "HOW", hide = true, conflicts_with_all = ["mqsim", "age"])]
    pub(super) warm_up: Option<WarmUp>,

    /// Now the SHARE of --start.
    #[arg(long, value_name = "SHARE", hide = true, value_parser = real(0.0..=1.0))]
    pub(super) occupancy: Option<f64>,
}

impl FormerArgs {
    /// Changes a preparation as the former flags say. If one was given, the text tells what to
    /// write instead.
    pub(super) fn apply(&self, preparation: &mut Preparation) -> Outcome<Option<String>> {
        preparation.apply_former(self.warm_up, self.occupancy).map_err(Failure::usage)
    }
}
