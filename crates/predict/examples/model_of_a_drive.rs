//! Measures a small simulated drive at 480 points of the paper's grid, learns a black-box model
//! from 400 of them, and predicts a workload that is not among the points.
//!
//!     cargo run --release -p ssdtune-predict --example model_of_a_drive

use ssdtune_experiment::{Preparation, Start};
use ssdtune_model::DeviceConfig;
use ssdtune_predict::blackbox::{
    FitOptions, MeasureSettings, ResultsFile, ResultsSource, SampleSize, SimulatedDrive, Target,
    fit, grid, sweep,
};
use ssdtune_predict::{Characteristics, Point};
use std::error::Error;
use std::sync::atomic::AtomicBool;

fn main() -> Result<(), Box<dyn Error>> {
    // A small drive. Nine tenths of its pages hold data, in steady state.
    let mut config = DeviceConfig::default();
    (config.flash.blocks_per_plane, config.flash.pages_per_block) = (64, 32);
    let config = config.check()?;
    let start = Preparation::of(Start::steady(0.9), 0);
    let sample =
        SampleSize { pages: 400, requests_min: 50, requests_max: 100, ..SampleSize::default() };
    let settings = MeasureSettings::new(start, sample, 1)?;

    // Results are kept in a file as soon as they are known, so that a sweep can be continued.
    let points = grid::sample(&grid::closed(), 480, 1);
    let path = std::env::temp_dir().join(format!("points-{}.jsonl", std::process::id()));
    let source = ResultsSource::simulated(&config, "example".into(), settings.clone(), &points);
    let file = ResultsFile::open(&path, source)?;
    let stop = AtomicBool::new(false);
    let drive = SimulatedDrive { config: &config, settings, stop: &stop };
    let results = sweep(&drive, &points, file, &|_| {})?;
    std::fs::remove_file(&path)?;

    let options = FitOptions {
        train: 400,
        seed: 1,
        folds: 3,
        program: "example".to_owned(),
        command: String::new(),
    };
    let (model, report) = fit(&results, &options)?;
    for entry in report.entries.iter().filter(|entry| entry.target == Target::Latency) {
        println!("{:>16}: mean relative error {:.3}", entry.model, entry.error.mre);
    }

    let point: Point = "w40-q12-W8k.r100-R8k.r100".parse()?;
    let predicted = model.predict(&Characteristics::of_point(&point, None)).strong[0];
    let measured = drive.family(&[point])?[0];
    let text = |ns: f64| Target::Latency.text(ns);
    let interval = predicted.interval.ok_or("points have intervals")?;
    println!(
        "{point}: {} predicted ({} to {}), {} measured",
        text(predicted.value),
        text(interval.low),
        text(interval.high),
        text(measured.latency_ns)
    );
    Ok(())
}
