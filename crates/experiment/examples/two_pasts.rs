//! The same writes on a new drive and on one that has been in use: `cargo run -p ssdtune-experiment
//! --example two_pasts`
//!
//! Prints the mean latency of the writes and how many pages the flash programmed for each page of
//! the host.

use ssdtune_experiment::{AddressFit, Experiment, Preparation, RequestSource, RunOptions, Start};
use ssdtune_model::presets;
use ssdtune_sim::Replay;
use ssdtune_trace::workload::{Seed, bundled};
use std::error::Error;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

fn main() -> Result<(), Box<dyn Error>> {
    let device = presets::load("samsung-850-pro")?.check()?;
    let model = Arc::new(bundled("database")?);
    let mut source = RequestSource::of_model(model, Seed::default(), 20_000);
    source.fit = Some(AddressFit::Wrap);

    let stop = AtomicBool::new(false);
    let options = RunOptions { stop: &stop, progress: &|_, _| {}, exact_percentiles: false };
    for start in [Start::Empty, Start::steady(1.0)] {
        let mut experiment = Experiment::new(&device, source.clone(), Replay::Open);
        experiment.preparation = Preparation::of(start.clone(), device.run.seed);
        let report = experiment.run(&options, &mut [])?;
        let latency = report.total.write.device_latency_ns.as_ref().map_or(0.0, |ns| ns.mean);
        let amplification = report.write_amplification.total;
        println!("{start}: {:.0} us a write, {amplification:.2} pages for one", latency / 1e3);
    }
    Ok(())
}
