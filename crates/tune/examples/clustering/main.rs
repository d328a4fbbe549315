//! A study: how well categories of workloads recognise requests they have not seen. It prints the
//! figures of docs/results/clustering.md.
//!
//!     cargo run --release -p ssdtune-tune --example clustering -- [--develop] [TRACES]
//!
//! Categories of bundled models are learned from training seeds and tested on held-out seeds. If
//! TRACES, a directory of real traces, is given, each long trace is also a category: learned from
//! its first 70 % and tested on the rest, and by fifths, each tested in turn. Then it is counted
//! which windows are called outliers and which traces found a category.
//!
//! Choices were made with `--develop`, which tests on validation seeds and judges every other trace
//! only (the others are learned, and no window of theirs is judged).

mod judge;
mod material;
mod novelty;
mod recognition;
mod share;

use judge::learn;
use material::{Labelled, Side, long_traces, real_traces, streams};
use ssdtune_trace::Request;
use ssdtune_trace::workload::SeedSet;
use ssdtune_tune::cluster::{FeatureSet, Threshold};
use ssdtune_tune::workload::published_categories;
use std::error::Error;
use std::path::Path;
use std::time::Instant;

const NEW_SIX: [&str; 6] = ["vdi", "fiu", "radiusauth", "leveldb", "mysql", "hdfs"];
/// The number of streams of each model that are learned, and of those that are tested.
const STREAMS: u64 = 2;
type Outcome<T = ()> = Result<T, Box<dyn Error>>;

fn main() -> Outcome {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let develop = arguments.iter().any(|argument| argument == "--develop");
    let seeds = if develop { SeedSet::Validation } else { SeedSet::HeldOut };
    let shown = if develop { &[Side::Develop][..] } else { &[Side::Develop, Side::Verdict] };
    let seven = published_categories();
    let learned = streams(&seven, SeedSet::Training, STREAMS)?;
    let tested = streams(&seven, seeds, STREAMS)?;
    println!("## Bundled models: {} seeds\n", seeds.name());
    recognition::models(&learned, &tested)?;
    let real = match arguments.iter().find(|argument| !argument.starts_with("--")) {
        Some(directory) => real_traces(Path::new(directory))?,
        None => Vec::new(),
    };
    if !real.is_empty() {
        let traces = long_traces(&real);
        println!("\n## Real traces, each a category: learned to 70 %, judged on the rest\n");
        recognition::last_of_traces(&traces, shown)?;
        println!("\n## Real traces, each a category: each fifth judged in turn\n");
        recognition::fifths_of_traces(&traces, shown)?;
        println!("\n## Outliers, and new categories");
        for features in FeatureSet::ALL {
            novelty::judge(features, &traces, shown)?;
        }
        println!("\n## Few categories\n");
        novelty::few(&traces, shown)?;
    }
    strangers(&learned, if develop { &[] } else { &real }, seeds)?;
    timing(&learned, &tested[0].requests)
}

/// Classifies workloads that no category was learned from: six further models, and real traces.
fn strangers(learned: &[Labelled], real: &[(String, Vec<Request>)], seeds: SeedSet) -> Outcome {
    println!("\n## Never learned, against the categories of the models\n");
    println!("| workload | windows | nearest | distance | inside 20 | next | windows there |");
    println!("|---|---|---|---|---|---|---|");
    let categories = learn(FeatureSet::Profile, learned)?;
    let six = streams(&NEW_SIX, seeds, 1)?;
    let six = six.iter().map(|one| (one.category.as_str(), &one.requests));
    for (name, requests) in six.chain(real.iter().map(|(name, all)| (name.as_str(), all))) {
        let verdict = categories.classify(name, requests, Threshold::default())?;
        let (next, distance) = &verdict.distances[1];
        println!(
            "| {name} | {} | {} | {:.2} | {} | {next} {distance:.2} | {:.0} % |",
            verdict.windows,
            verdict.name,
            verdict.distance,
            if verdict.inside { "yes" } else { "no" },
            100.0 * verdict.windows_share
        );
    }
    Ok(())
}

/// Prints how long it takes to classify a stream.
fn timing(learned: &[Labelled], requests: &[Request]) -> Outcome {
    let categories = learn(FeatureSet::Profile, learned)?;
    let mut times: Vec<f64> = Vec::new();
    for _ in 0..20 {
        let began = Instant::now();
        categories.classify("x", requests, Threshold::default())?;
        times.push(began.elapsed().as_secs_f64() * 1e3);
    }
    times.sort_by(f64::total_cmp);
    println!(
        "\nclassifying {} requests: median {:.2} ms, slowest {:.2} ms of {}",
        requests.len(),
        times[times.len() / 2],
        times[times.len() - 1],
        times.len()
    );
    Ok(())
}
