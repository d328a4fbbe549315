//! `keeper map`: which strategy a network chooses, by intensity and write share (Fig. 6).

use crate::context::Context;
use crate::device::{self, Overrides};
use crate::global::whole;
use crate::outcome::{Failure, Outcome};
use crate::outputs::{self, OutFile};
use ssdtune_keeper::evaluation::choice_map;
use ssdtune_keeper::{choice_map_chart, choice_map_text};
use std::path::PathBuf;

/// Arguments of `keeper map`.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The network.
    #[arg(long, value_name = "FILE")]
    model: PathBuf,

    /// The drive that a network of several drives is put on.
    #[arg(long, value_name = "DEVICE", default_value = "ssdkeeper")]
    device: String,

    /// Number of tenants: half write and half read, each kind in equal shares.
    #[arg(long, value_name = "N", default_value_t = 4, value_parser = whole::<u8>(2..=8))]
    tenants: u8,

    /// Also draw the map as an SVG file.
    #[arg(long, value_name = "FILE")]
    plot: Option<OutFile>,
}

/// Asks the network at every intensity level and write share, and prints its choices.
pub(super) fn run(args: &Args, context: &Context) -> Outcome {
    let config = device::load_checked(&args.device, &Overrides::default(), context)?;
    // No note on the drive that nobody asked for.
    let to = (args.device != "ssdkeeper").then_some(context);
    let policy = device::network(&args.model, &config, to)?;
    let points = choice_map(&policy, args.tenants.into()).map_err(Failure::usage)?;
    if let Some(path) = &args.plot {
        outputs::write(path, choice_map_chart(&points).as_str())?;
    }
    context.show(&points, choice_map_text(&points))
}
