//! Ranks two presets for a bundled workload model.
//!
//!     cargo run -p ssdtune-choose --example rank_presets

use ssdtune_choose::{Candidate, Figure, Question, choose};
use ssdtune_experiment::{AddressFit, FlowSet, Preparation, RequestSource, Start};
use ssdtune_model::presets;
use ssdtune_sim::Replay;
use ssdtune_trace::workload::{Seed, bundled};
use std::error::Error;
use std::sync::atomic::AtomicBool;

fn main() -> Result<(), Box<dyn Error>> {
    let mut drives = Vec::new();
    for name in ["samsung-850-pro", "z-ssd"] {
        let device = presets::load(name)?.check()?;
        drives.push(Candidate { name: name.to_owned(), device, calibrated: None });
    }
    let mut source = RequestSource::of_model(bundled("kvstore")?, Seed::default(), 20_000);
    source.fit = Some(AddressFit::Wrap);
    let question = Question {
        flows: FlowSet::of_model(source, Replay::Open)?,
        preparation: Preparation::of(Start::Footprint, 0),
        by: Figure::Mean,
        windows: 20,
    };
    let choice = choose(&drives, &question, &AtomicBool::new(false), &|_, _, _| {})?;
    print!("{}", choice.text());
    Ok(())
}
