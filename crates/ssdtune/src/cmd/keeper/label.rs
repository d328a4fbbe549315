//! `keeper label`: the best strategy of each of many mixes.

use super::settings::SettingsArgs;
use super::{DriveArgs, labels_failure};
use crate::context::{Context, Level};
use crate::global::{real, whole};
use crate::interrupt::Deferred;
use crate::outcome::{Failure, Outcome};
use crate::outputs::GrowingFile;
use crate::program::simulator;
use crate::progress::Progress;
use ssdtune_keeper::{LabelSource, LabelsError, MixSimulator, MixStyle, label_mixes, mix};
use ssdtune_model::given::Part;
use std::sync::atomic::{AtomicU64, Ordering};

/// Arguments of `keeper label`.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    #[command(flatten)]
    drive: DriveArgs,

    /// Number of mixes to label.
    #[arg(long, value_name = "N", default_value_t = 5_000)]
    #[arg(value_parser = whole::<u64>(1..=1_000_000))]
    mixes: u64,

    /// Numbers of tenants of the mixes, taken in turn: `4`, or `4,4,4,4,2` for two tenants in every
    /// fifth mix.
    #[arg(long, value_name = "LIST", value_delimiter = ',', default_value = "4")]
    #[arg(value_parser = whole::<u8>(2..=8))]
    tenants: Vec<u8>,

    #[command(flatten)]
    settings: SettingsArgs,

    /// Share of the mixes whose tenants come in bursts, of shapes fitted to recorded traces, and
    /// with requests of 4 to 64 KiB. The paper has none: 0.
    #[arg(long, value_name = "SHARE", default_value_t = mix::BURSTY)]
    #[arg(value_parser = real(0.0..=1.0))]
    bursty: f64,

    /// Share of the mixes in which the tenants of one kind ask for 1 to 12 % of the pages. The
    /// paper has none: 0.
    #[arg(long, value_name = "SHARE", default_value_t = mix::UNEVEN)]
    #[arg(value_parser = real(0.0..=1.0))]
    uneven: f64,

    /// Draw bursts of the shapes that no shipped network was trained on.
    #[arg(long)]
    unseen: bool,

    /// Label the K-th of N equal parts of the mixes alone: one of N jobs (docs/cluster.md).
    #[arg(long, value_name = "K/N", default_value = "1/1")]
    part: Part,

    /// Run every strategy to its end, also those that can no longer win.
    #[arg(long)]
    no_elimination: bool,

    /// File of JSON lines for the results. A file that the same command began is continued.
    #[arg(long, value_name = "FILE")]
    out: GrowingFile,
}

/// Labels the mixes that the file does not hold yet.
pub(super) fn run(args: &Args, context: &Context) -> Outcome {
    ssdtune_keeper::check_labels_file(&args.out).map_err(labels_failure)?;
    let config = args.drive.load_labelled(context)?;
    let style = MixStyle { bursty: args.bursty, uneven: args.uneven, unseen: args.unseen };
    let (deferred, kind) = (Deferred::new(), (!args.no_elimination, style));
    let settings = args.settings.settings(&config, kind, deferred.flag(), context)?;
    let tenants = args.tenants.iter().map(|&tenants| tenants.into()).collect();
    let source = LabelSource::new(&config, simulator(), tenants, settings);
    let mixes = MixSimulator::new(&config, settings, deferred.flag());
    let progress = Progress::new(1, context.level() > Level::Quiet);
    let done = AtomicU64::new(0);
    let tell = |more: u64| {
        let done = done.fetch_add(more, Ordering::Relaxed) + more;
        progress.cell(0, done as f64 / args.part.count(args.mixes) as f64, 0);
    };
    let part = (0..args.mixes).filter(|number| args.part.has(*number));
    let outcome = context.pool()?.install(|| label_mixes(&mixes, &source, part, &args.out, &tell));
    progress.finish();
    let labels = outcome.map_err(|error| {
        let is_io = matches!(error, LabelsError::Io { .. });
        if is_io || matches!(error, LabelsError::Simulation(_)) {
            let file = args.out.display();
            context.note(format_args!("what was labelled is in {file}; the same command goes on"));
        }
        if is_io { Failure::Work(error.into()) } else { labels_failure(error) }
    })?;
    context.show(&labels.summary(&args.out), labels.text(&args.out))
}
