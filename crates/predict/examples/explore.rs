//! Cost and noise of points, by device, effort and seed.
use ssdtune_predict::blackbox::{grid, measure::*, point::*};
use std::sync::atomic::AtomicBool;
use std::time::Instant;
fn main() {
    let args: Vec<String> = std::env::args().collect();
    let stride: usize = args[1].parse().unwrap();
    let stop = AtomicBool::new(false);
    for name in &args[2..] {
        let config = ssdtune_model::presets::load(name).unwrap().check().unwrap();
        let mut columns: Vec<Vec<f64>> = Vec::new();
        for (pages, seed) in [(8192, 1), (16384, 1), (32768, 1), (16384, 2)] {
            let effort = Effort { pages, requests_min: 256.max(pages / 32), requests_max: pages / 2, lead_in_percent: 50 };
            let bench = Bench { config: &config, settings: Settings { effort, seed, ..Settings::default() }, stop: &stop };
            let start = Instant::now();
            let mut n = 0u64;
            let values: Vec<f64> = grid::closed().iter().step_by(stride).map(|p| { let f = bench.measure(p, 0.0).unwrap(); n += f.requests; f.latency_ns }).collect();
            println!("{name} pages {pages} seed {seed}: {:.2} ms a point, {n} requests, {} points", start.elapsed().as_secs_f64() * 1e3 / values.len() as f64, values.len());
            columns.push(values);
        }
        let diff = |a: &Vec<f64>, b: &Vec<f64>| { let mut d: Vec<f64> = a.iter().zip(b).map(|(a, b)| (a / b - 1.0).abs()).collect(); d.sort_by(f64::total_cmp); format!("mean {:.3} median {:.3} p90 {:.3} max {:.3}", d.iter().sum::<f64>() / d.len() as f64, d[d.len() / 2], d[d.len() * 9 / 10], d[d.len() - 1]) };
        println!("  8k vs 16k: {}", diff(&columns[0], &columns[1]));
        println!("  16k vs 32k: {}", diff(&columns[1], &columns[2]));
        println!("  seed 1 vs 2 at 16k: {}", diff(&columns[1], &columns[3]));
    }
    let _ = Load::Depth(1);
}
