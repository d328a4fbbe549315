//! Reads a trace, simulates a drive with it, and looks for a better drive.
//!
//!     cargo run -- TRACE
//!
//! Prints one figure on each line: its name, `:` and the number.

use ssdtune_model::{CheckedConfig, presets};
use ssdtune_sim::{Observe, Outcome, Report, Simulator, Stream, Tenant};
use ssdtune_trace::{ReadOptions, Request, Requests, open_path};
use ssdtune_tune::search::{self, Algorithm, Found};
use ssdtune_tune::{
    CachedEvaluator, InProcess, Limits, PriorKnowledge, Settings, Space, Task, Trace, Weights,
    Workload,
};
use std::error::Error;
use std::sync::atomic::AtomicBool;

fn main() -> Result<(), Box<dyn Error>> {
    let path = std::env::args().nth(1).ok_or("name the trace to read")?;
    let trace = open_path(path.as_ref(), &ReadOptions::default())?;
    let requests = Requests::new(trace.source).collect::<Result<Vec<Request>, _>>()?;
    println!("requests read: {}", requests.len());

    let drive = presets::load("samsung-850-pro")?.check()?;
    let report = simulate(&drive, &requests)?;
    println!("requests completed: {}", report.requests.completed);
    let (read, write) = (&report.total.read, &report.total.write);
    println!("reads completed: {}", read.requests);
    println!("writes completed: {}", write.requests);
    let latency = write.device_latency_ns.as_ref().ok_or("the trace writes nothing")?;
    println!("mean write latency in us: {:.3}", latency.mean / 1e3);

    let found = improve(&drive, requests)?;
    let grade = |number: usize| found.trials[number].grade.ok_or("it was not graded");
    println!("drives tried: {}", found.trials.len());
    println!("grade of the first drive: {}", grade(0)?);
    let best = found.best().ok_or("nothing keeps the limits")?;
    println!("grade of the best drive: {}", best.grade.ok_or("it was not graded")?);
    Ok(())
}

/// Serves the requests at their own times on a new drive.
fn simulate(drive: &CheckedConfig, requests: &[Request]) -> Result<Report, Box<dyn Error>> {
    let mut simulator = Simulator::new(drive, &[Tenant::sole(drive)], Observe::default())?;
    match simulator.run(vec![Stream::open(requests.iter().copied())], |_| true) {
        Outcome::Completed => Ok(simulator.report()),
        other => Err(format!("the run did not end: {other:?}").into()),
    }
}

/// Tries random drives of the same capacity and cost.
fn improve(drive: &CheckedConfig, requests: Vec<Request>) -> Result<Found, Box<dyn Error>> {
    let traces = vec![Trace::new("mine", requests)];
    let target = Workload { name: "mine".to_owned(), depth: 16, traces };
    let task = Task {
        space: Space::autoblox().around(drive),
        limits: Limits::around(drive),
        base: drive.clone(),
        target,
        others: Vec::new(),
        weights: Weights::default(),
        max_harm: None,
    };
    let settings = Settings { algorithm: Algorithm::Random, budget: 6.0, ..Settings::default() };
    let (simulator, stop) = (InProcess::default(), AtomicBool::new(false));
    let evaluator = CachedEvaluator::new(&simulator, None, &stop, &|_| {});
    Ok(search::run(&task, &PriorKnowledge::default(), &settings, &evaluator, &mut |_, _| {})?)
}
