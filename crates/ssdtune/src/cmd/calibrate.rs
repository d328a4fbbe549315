//! `ssdtune calibrate`: a simulated drive fitted to measurements of a real one.

mod plan;

use crate::context::{Context, Level};
use crate::device::{self, Overrides};
use crate::global::whole;
use crate::interrupt::Deferred;
use crate::outcome::{Failure, Outcome};
use crate::outputs::{self, GrowingFile, OutFile};
use crate::program::simulator;
use crate::progress::Progress;
use ssdtune_calibrate::{
    AXES, CalibrateError, Expression, FitOptions, LOOKS, Order, Reason, calibrate_found, derive,
    read,
};
use ssdtune_model::{Bytes, source::Format};
use std::path::PathBuf;

/// Arguments of `ssdtune calibrate`.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Points are read from columns (source, drive, op, rwmix_read, bs, iodepth, \
    numjobs, iops, bw, lat_mean_us, lat_p50, p99, p999, notes), from fio's JSON (json, json+), \
    also a folder of it as bench-fio leaves, and from what SPDK's perf prints below its command \
    line. Contaminated points are refused, each with its reason. Columns source, run, pattern, \
    details, span_gib, bs, run_s, write_mb_s, wa, or t_s, are runs of writes: spare is fitted.\n\n\
    Example:\n  ssdtune calibrate points.csv --drive \"Samsung 980 PRO 1TB\" --base intel-750 \
    --out drive.toml --hold-out 'iodepth=2,8,32 | bs>4k'"
)]
pub(crate) struct Args {
    /// Files or folders of measured points.
    #[arg(required_unless_present_any = ["capacity", "plan"], value_name = "POINTS")]
    points: Vec<PathBuf>,

    /// The drive, as the points name it; needed where they are of several.
    #[arg(long, value_name = "NAME")]
    drive: Option<String>,

    /// Use only the points for which this holds (a rule as for --hold-out), as in `op=randread`.
    #[arg(long, value_name = "EXPR")]
    only: Option<Expression>,

    /// The drive that the fit begins with: a preset, a TOML file or an MQSim ssdconfig.xml. What no
    /// point tells stays as it is there.
    #[arg(long, value_name = "DEVICE", required_unless_present = "plan")]
    base: Option<String>,

    #[command(flatten)]
    overrides: Overrides,

    /// File for the calibrated drive, or for the jobs of --plan.
    #[arg(long, value_name = "FILE", required_unless_present = "plan")]
    out: Option<OutFile>,

    /// Hold out the points for which this holds, to test the drive on them: conditions on bs,
    /// iodepth, numjobs, outstanding, rwmix_read, offered_iops, iops, op, source, drive, run and
    /// notes, as in `iodepth=2,8,32 & op=randread | bs>4k`. Default: every second load of each
    /// sweep, never its ends.
    #[arg(long, value_name = "EXPR")]
    hold_out: Option<Expression>,

    /// Points that another rig measured: this holds for them (a rule as for --hold-out). The times
    /// of its host's software are fitted beside the drive, and are not in the drive's file. Several
    /// times for several rigs; the points that no rule chooses are those of the drive itself.
    #[arg(long, value_name = "EXPR")]
    rig: Vec<Expression>,

    /// Runs of writes before which the drive was sanitised: this holds for them (a rule as for
    /// --hold-out, fields pattern, span_gib, bs, wa, source, run). Other runs begin with the state
    /// that the one before left; the first of each source with a drive that holds nothing.
    #[arg(long, value_name = "EXPR")]
    sanitised: Option<Expression>,

    /// Runs of writes before which it was sanitised, and their span then written once in order.
    #[arg(long, value_name = "EXPR")]
    filled: Option<Expression>,

    /// Keep points that would be refused for this reason: little, percentiles, bandwidth,
    /// contradiction, spread, load-order, file-system or host-queue.
    #[arg(long, value_name = "REASON", value_delimiter = ',')]
    allow: Vec<Reason>,

    /// Requests of each point in the last round; earlier rounds take fewer.
    #[arg(long, value_name = "N", default_value_t = LOOKS[LOOKS.len() - 1].requests)]
    #[arg(value_parser = whole::<u32>(100..=10_000_000))]
    requests: u32,

    /// Make another capacity of --base, a calibrated drive, instead of fitting one: as many more or
    /// fewer dies on each channel as that takes, and nothing else. SIZE is what the host sees, as
    /// in 2TB, within 1 %.
    #[arg(long, value_name = "SIZE", conflicts_with_all = ["points", "drive", "set", "hold_out"])]
    #[arg(conflicts_with_all = ["sanitised", "filled", "requests"])]
    #[arg(conflicts_with_all = ["allow", "only", "rig", "own_structure", "no_profiles", "journal"])]
    capacity: Option<Bytes>,

    /// Keep the structure of the base (channels, chips, cache reads, order on the bus), and fit
    /// only parameters.
    #[arg(long)]
    own_structure: bool,

    /// Do not look which parameters the points tell, which takes about half of the time.
    #[arg(long)]
    no_profiles: bool,

    /// File of JSON lines that keeps what was evaluated, so that the same command goes on after an
    /// interruption.
    #[arg(long, value_name = "FILE")]
    journal: Option<GrowingFile>,

    #[command(flatten)]
    plan: plan::PlanArgs,
}

/// Reads, fits, writes and prints.
pub(crate) fn run(args: &Args, context: &Context) -> Outcome {
    if args.plan.plan {
        return plan::run(&args.plan, args.out.as_deref(), context);
    }
    let base_name = args.base.as_deref().unwrap_or_default();
    if let Some(size) = args.capacity {
        return other_capacity(args, base_name, size, context);
    }
    let found = read(&args.points).map_err(Failure::input)?;
    found.notes().iter().for_each(|note| context.note(note));
    let (base, file) = device::load_own_seed(base_name, &args.overrides, context)?;
    let order = Order {
        drive: args.drive.clone(),
        only: args.only.clone(),
        base_name: base_name.to_owned(),
        base_text: (file.format == Format::Toml).then_some(file.text),
        made_by: simulator(),
        hold_out: args.hold_out.clone(),
        sanitised: args.sanitised.clone(),
        filled: args.filled.clone(),
        allowed: args.allow.iter().copied().collect(),
        fit: FitOptions {
            rigs: args.rig.clone(),
            seed: context.seed().unwrap_or(1),
            profiles: !args.no_profiles,
            axes: if args.own_structure { Vec::new() } else { AXES.to_vec() },
            ..FitOptions::default().with_requests(args.requests)
        },
        journal: args.journal.as_ref().map(|path| path.to_path_buf()),
    };
    let deferred = Deferred::new();
    let progress = Progress::new(1, context.level() > Level::Quiet);
    let tell = |at: ssdtune_calibrate::Progress| progress.cell(0, at.share(), 0);
    let fit = || calibrate_found(found, &base, &order, deferred.flag(), &tell);
    let outcome = context.pool()?.install(fit);
    progress.finish();
    let calibration = outcome.map_err(failure)?;
    args.out.iter().try_for_each(|path| outputs::write(path, calibration.drive_file()))?;
    context.report(|| calibration.page())?;
    context.show(&calibration, calibration.text())
}

/// Derives another capacity, writes and prints.
fn other_capacity(args: &Args, name: &str, size: Bytes, context: &Context) -> Outcome {
    let (base, file) = device::load_own_seed(name, &args.overrides, context)?;
    let real = file.calibrated.ok_or_else(|| {
        Failure::usage(anyhow::anyhow!(
            "--base {name}: --capacity derives from a calibrated drive, and this one has no table \
             [calibration]"
        ))
    })?;
    let made = derive(&real, &base, size, &simulator()).map_err(Failure::usage)?;
    args.out.iter().try_for_each(|path| outputs::write(path, &made.text))?;
    context.show(&made, made.words())
}

/// What an error means for the exit code.
fn failure(error: CalibrateError) -> Failure {
    match error {
        error if error.is_interrupted() => Failure::Interrupted,
        error if error.is_of_the_order() => Failure::usage(error),
        error if error.is_of_the_points() => Failure::input(error),
        error => Failure::Work(error.into()),
    }
}
