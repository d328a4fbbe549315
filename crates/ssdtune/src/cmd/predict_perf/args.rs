//! Arguments and small steps that several subcommands of `predict-perf` share.

use crate::context::Context;
use crate::global::whole;
use crate::outcome::{Failure, InFile, Outcome};
use crate::preparation::PreparationArgs;
use crate::read_args::{ReadArgs, warn_of};
use anyhow::anyhow;
use ssdtune_experiment::{Origin, RequestSource, is_pipe};
use ssdtune_predict::blackbox::grid;
use ssdtune_predict::blackbox::windows::{WINDOW_REQUESTS, Window};
use ssdtune_predict::blackbox::{
    AnyModel, BlackBoxModel, MeasureError, MeasureSettings, Point, ResultsError, SampleSize,
};
use std::path::{Path, PathBuf};

/// Which points.
#[derive(Debug, clap::Args)]
pub(super) struct GridArgs {
    /// The grid: `closed` (the paper's), `open` (offered loads), or a file that lists points.
    #[arg(long, value_name = "NAME|FILE", default_value = "closed")]
    grid: String,

    /// Take N of the points, drawn at random. Points that differ only in their load are taken
    /// together; of the last ones drawn, only as many as make N.
    #[arg(long, value_name = "N", value_parser = whole::<u32>(1..))]
    sample: Option<u32>,
}

impl GridArgs {
    /// The points that the arguments name.
    pub(super) fn points(&self, context: &Context) -> Outcome<Vec<Point>> {
        let points = grid_points(&self.grid)?;
        Ok(match self.sample {
            Some(count) => grid::sample(&points, count as usize, context.seed().unwrap_or(0)),
            None => points,
        })
    }
}

/// How a simulated drive is measured.
#[derive(Debug, clap::Args)]
#[command(mut_arg("start", |start| start.default_value("sequential")))]
pub(super) struct MeasureArgs {
    #[command(flatten)]
    preparation: PreparationArgs,

    /// Count as many requests as move N pages of 4 KiB, within the limits of --requests-max,
    /// --requests-min and --rounds.
    #[arg(long, value_name = "N", default_value_t = SampleSize::default().pages)]
    #[arg(value_parser = whole::<u64>(1..=1 << 32))]
    pages: u64,

    /// Count at most N requests, unless --requests-min or --rounds ask for more.
    #[arg(long, value_name = "N", default_value_t = SampleSize::default().requests_max)]
    #[arg(value_parser = whole::<u64>(1..=1 << 32))]
    requests_max: u64,

    /// Count at least N requests.
    #[arg(long, value_name = "N", default_value_t = SampleSize::default().requests_min)]
    #[arg(value_parser = whole::<u64>(1..=1 << 32))]
    requests_min: u64,

    /// Count at least N requests for each one outstanding.
    #[arg(long, value_name = "N", default_value_t = SampleSize::default().rounds)]
    #[arg(value_parser = whole::<u64>(0..=1 << 16))]
    rounds: u64,

    /// Requests before those that are counted, in percent of them.
    #[arg(long, value_name = "PERCENT", default_value_t = SampleSize::default().lead_in_percent)]
    #[arg(value_parser = whole::<u64>(0..=1000))]
    lead_in: u64,
}

impl MeasureArgs {
    /// The settings that the arguments name, with the seed of the command line.
    pub(super) fn settings(&self, context: &Context) -> Outcome<MeasureSettings> {
        let sample = SampleSize {
            pages: self.pages,
            requests_max: self.requests_max,
            requests_min: self.requests_min,
            rounds: self.rounds,
            lead_in_percent: self.lead_in,
        };
        let seed = context.seed().unwrap_or(0);
        let preparation = self.preparation.preparation(seed)?;
        MeasureSettings::new(preparation, sample, seed).map_err(Failure::usage)
    }
}

/// How traces are cut into windows.
#[derive(Debug, clap::Args)]
pub(super) struct WindowArgs {
    /// Requests of a window.
    #[arg(long, value_name = "N", default_value_t = WINDOW_REQUESTS as u32)]
    #[arg(value_parser = whole::<u32>(10..))]
    pub(super) window: u32,

    #[command(flatten)]
    read: ReadArgs,
}

impl WindowArgs {
    /// A trace, not yet opened.
    pub(super) fn source(&self, path: &Path, context: &Context) -> Outcome<RequestSource> {
        Ok(RequestSource::new(Origin::File(path.to_owned()), self.read.options(context)?))
    }

    /// The number of windows of a trace that can be read again; 1 of a pipe.
    pub(super) fn count(&self, path: &Path, context: &Context) -> Outcome<usize> {
        if is_pipe(path) {
            return Ok(1);
        }
        let mut source = self.read.open(path, context)?.source;
        Window::cut("", source.as_mut(), self.window as usize, &mut drop).map_err(Failure::input)
    }

    /// Hands out the windows of a trace.
    pub(super) fn windows(
        &self,
        path: &Path,
        context: &Context,
        mut take: impl FnMut(Window),
    ) -> Outcome {
        let mut source = self.read.open(path, context)?.source;
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        let length = self.window as usize;
        let cut = Window::cut(&name, source.as_mut(), length, &mut take);
        let windows = cut.map_err(Failure::input)?;
        warn_of(&source.read_stats(), context);
        if windows == 0 {
            context.warn(format_args!(
                "{}: its reads and writes fill no window of {length}: give a smaller --window",
                path.display(),
            ));
        }
        Ok(())
    }
}

/// The model of `--model`.
#[derive(Debug, clap::Args)]
pub(super) struct ModelArg {
    /// A model made by `predict-perf fit`.
    #[arg(long, value_name = "FILE")]
    model: PathBuf,
}

impl ModelArg {
    /// Reads the model, of either kind.
    pub(super) fn read_any(&self) -> Outcome<AnyModel> {
        AnyModel::read(&self.model).map_err(Failure::input)
    }

    /// Reads the model, which must be one that can predict windows.
    pub(super) fn read(&self) -> Outcome<BlackBoxModel> {
        match self.read_any()? {
            AnyModel::Grid(model) => Ok(*model),
            AnyModel::Few(_) => Err(Failure::usage(anyhow!(
                "{}: a model of few points predicts points (--point), and no windows of traces",
                self.model.display()
            ))),
        }
    }
}

/// The points of a grid, which is given by its name or a file.
pub(super) fn grid_points(file: &str) -> Outcome<Vec<Point>> {
    let read = || grid::parse(file, &read_text(Path::new(file))?).map_err(Failure::input);
    grid::named(file).map_or_else(read, Ok)
}

/// Reads a text file that the user names.
pub(super) fn read_text(path: &Path) -> Outcome<String> {
    std::fs::read_to_string(path).map_err(|error| InFile::failure(path, None, error))
}

/// What an error of a results file means for the exit code.
pub(super) fn results_failure(error: ResultsError) -> Failure {
    match error {
        ResultsError::Other { .. } | ResultsError::Foreign(_) => Failure::usage(error),
        other => Failure::input(other),
    }
}

/// What an error of measuring means for the exit code.
pub(super) fn measure_failure(error: MeasureError) -> Failure {
    match error {
        MeasureError::Interrupted => Failure::Interrupted,
        MeasureError::Jobs(_) => Failure::usage(error),
        other => Failure::Work(other.into()),
    }
}
