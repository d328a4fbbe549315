//! Sweeps.
use ssdtune_predict::blackbox::{grid, measure::*, results::*, sweep};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
fn main() {
    let args: Vec<String> = std::env::args().collect();
    let stop = AtomicBool::new(false);
    let config = ssdtune_model::presets::load(&args[1]).unwrap().check().unwrap();
    let points = if args[2].starts_with("open") { grid::open() } else { grid::closed() };
    let mut settings = Settings::default();
    if let Some(n) = args.get(4) {
        settings.state = if n == "steady" { State::Steady } else { State::Sequential };
    }
    if let Some(n) = args.get(5) {
        settings.seed = n.parse().unwrap();
    }
    let source = Source::simulated(&config, "ssdtune, results 2".into(), settings, &points);
    let store = Store::open(args[3].as_ref(), source).unwrap();
    let bench = Bench { config: &config, settings, stop: &stop };
    let (done, start) = (AtomicUsize::new(0), std::time::Instant::now());
    sweep::run(&bench, &points, store, &|k| {
        let n = done.fetch_add(k, Ordering::Relaxed) + k;
        if n % 500 < k {
            eprintln!("{n} {:.0}s", start.elapsed().as_secs_f64())
        }
    })
    .unwrap();
}
