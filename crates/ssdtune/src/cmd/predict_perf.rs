//! `ssdtune predict-perf …`: black-box performance models of drives, simulated or real, and the
//! time of their firmware.
//!
//! `docs/predict-perf.md` and `docs/firmware-time.md` are the tours.

mod check;
mod fio_jobs;
mod fit;
mod ftl;
mod grid;
mod import;
mod predict;
mod sweep;

use crate::context::Context;
use crate::device::{self, Overrides};
use crate::outcome::{Failure, Outcome};
use clap::Subcommand;
use ssdtune_model::CheckedConfig;
use ssdtune_predict::blackbox::model::Model;
use ssdtune_predict::blackbox::point::Point;
use ssdtune_predict::blackbox::results::{Results, ResultsError};
use std::path::Path;

/// What to do with performance models.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Measure a simulated drive at every point of a grid.
    Sweep(Box<sweep::Args>),
    /// Print the names of a grid's points.
    Grid(grid::Args),
    /// Write fio job files that measure a real device at the points of a grid.
    FioJobs(fio_jobs::Args),
    /// Take what fio measured.
    Import(import::Args),
    /// Learn a model from measured points, and say how good it is on the others.
    Fit(fit::Args),
    /// Predict a workload: a point, characteristics, or a trace.
    Predict(Box<predict::Args>),
    /// Compare a model with the simulator on windows of real traces.
    Check(Box<check::Args>),
    /// The learned time of firmware on its own CPU.
    #[command(subcommand)]
    Ftl(ftl::Command),
}

impl Command {
    /// Runs it.
    pub(crate) fn run(self, context: &Context) -> Outcome {
        match self {
            Self::Sweep(args) => sweep::run(&args, context),
            Self::Grid(args) => grid::run(&args, context),
            Self::FioJobs(args) => fio_jobs::run(&args, context),
            Self::Import(args) => import::run(&args, context),
            Self::Fit(args) => fit::run(&args, context),
            Self::Predict(args) => predict::run(&args, context),
            Self::Check(args) => check::run(&args, context),
            Self::Ftl(command) => command.run(context),
        }
    }
}

/// Which points.
#[derive(Debug, clap::Args)]
struct GridArgs {
    /// The grid: `closed` (the paper's), `open` (offered loads), or a file that lists points.
    #[arg(long, value_name = "NAME|FILE", default_value = "closed")]
    grid: String,

    /// Only so many of the points, drawn at random; of simulated families all loads or none.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    sample: Option<u32>,
}

impl GridArgs {
    fn points(&self, context: &Context) -> Outcome<Vec<Point>> {
        use ssdtune_predict::blackbox::grid;
        let points = match self.grid.as_str() {
            "closed" => grid::closed(),
            "open" => grid::open(),
            file => {
                let text = read_text(Path::new(file))?;
                grid::parse(file, &text).map_err(Failure::input)?
            }
        };
        Ok(match self.sample {
            Some(count) => grid::sample(&points, count as usize, context.seed().unwrap_or(0)),
            None => points,
        })
    }
}

/// The drive, checked.
fn drive(name: &str, overrides: &Overrides, context: &Context) -> Outcome<CheckedConfig> {
    let loaded = device::load(name, overrides, context)?;
    loaded.notes.iter().for_each(|note| context.note(format_args!("{name}: {note}")));
    loaded.config.check().map_err(Failure::input)
}

fn read_text(path: &Path) -> Outcome<String> {
    std::fs::read_to_string(path)
        .map_err(|error| Failure::input(anyhow::anyhow!("{}: {error}", path.display())))
}

fn read_model(path: &Path) -> Outcome<Model> {
    Model::read(path).map_err(Failure::input)
}

fn read_results(path: &Path) -> Outcome<Results> {
    Results::read(path).map_err(results_failure)
}

/// What a library error means for the exit code.
fn results_failure(error: ResultsError) -> Failure {
    match error {
        ResultsError::Other { .. } => Failure::usage(error),
        other => Failure::input(other),
    }
}

/// The program and the version of its simulator's results.
fn simulator() -> String {
    let (name, version) = (env!("CARGO_PKG_NAME"), env!("CARGO_PKG_VERSION"));
    format!("{name} {version}, results {}", ssdtune_tune::memory::RESULTS_EPOCH)
}

/// The command line as it was given, without the path of the program.
fn command_line() -> String {
    let arguments = std::env::args_os().skip(1);
    let words: Vec<String> = arguments.map(|word| word.to_string_lossy().into_owned()).collect();
    format!("ssdtune {}", words.join(" "))
}
