//! `keeper shares`: two tenants, one writing and one reading, at nine write shares under every
//! strategy (Fig. 2).

use super::settings::SettingsArgs;
use super::{DriveArgs, simulation_failure};
use crate::context::Context;
use crate::global::whole;
use crate::interrupt::Deferred;
use crate::outcome::Outcome;
use ssdtune_keeper::{MixSimulator, MixStyle, shares_text};

/// Arguments of `keeper shares`.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    #[command(flatten)]
    drive: DriveArgs,

    #[command(flatten)]
    settings: SettingsArgs,

    /// The intensity level, 1 to 20.
    #[arg(long, value_name = "LEVEL", default_value_t = 16, value_parser = whole::<u8>(1..=20))]
    level: u8,
}

/// Measures every strategy and prints a table for each figure.
pub(super) fn run(args: &Args, context: &Context) -> Outcome {
    let config = args.drive.load_labelled(context)?;
    let deferred = Deferred::new();
    let settings =
        args.settings.settings(&config, (false, MixStyle::PLAIN), deferred.flag(), context)?;
    let shares = || MixSimulator::new(&config, settings, deferred.flag()).write_shares(args.level);
    let outcomes = context.pool()?.install(shares).map_err(simulation_failure)?;
    context.show(&outcomes, shares_text(&outcomes))
}
