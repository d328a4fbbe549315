//! How often intervals hold what a whole run says: `cargo run --release -p ssdtune-estimate
//! --example coverage -- WINDOW COUNT TRIALS BASE.csv CANDIDATE.csv...`
//!
//! The files are logs of `ssdtune simulate --log` of the same requests on several drives. They are
//! cut into windows of WINDOW requests, COUNT of them are drawn TRIALS times (seeds from 0), and
//! each estimate is compared with that of all windows. So this tells of drawing windows alone: in a
//! log each window has the state that the run before it left.

use ssdtune_estimate::{Drawn, Latencies, Measured, Population, Ratio, Tail, TailWindow};
use std::error::Error;
use std::fs;

fn main() -> Result<(), Box<dyn Error>> {
    let all: Vec<String> = std::env::args().skip(1).collect();
    let [window, count, trials, files @ ..] = all.as_slice() else {
        return Err("arguments: WINDOW COUNT TRIALS BASE.csv CANDIDATE.csv...".into());
    };
    let (window, count, trials): (usize, usize, u64) =
        (window.parse()?, count.parse()?, trials.parse()?);
    let logs: Result<Vec<Vec<Latencies>>, _> =
        files.iter().map(|file| windows(file, window)).collect();
    let logs = logs?;
    let Some((base, candidates)) = logs.split_first() else { return Err("no logs".into()) };
    let sizes: Vec<f64> = base.iter().map(Latencies::sum).collect();
    println!(
        "{} windows; mean: ratio, held %, +- %, off %; p99: ratio, held %, off %",
        sizes.len()
    );
    for (file, candidate) in files[1..].iter().zip(candidates) {
        let measured = |drawn: &Drawn| Measured {
            chance: drawn.chance,
            below: sizes[drawn.window],
            above: candidate[drawn.window].sum(),
        };
        let tail = |drawn: &Drawn| TailWindow {
            chance: drawn.chance,
            below: &base[drawn.window],
            above: &candidate[drawn.window],
        };
        let estimate = |count: usize, seed: u64| {
            let sample = Population::new(&sizes, 1.0, seed).ok()?.sample(count);
            let pairs: Vec<Measured> = sample.drawn.iter().map(measured).collect();
            let tails: Vec<TailWindow<'_>> = sample.drawn.iter().map(tail).collect();
            Some((Ratio::of(&pairs, sample.reach)?, Tail::of(&tails, 0.99, sample.reach, seed)?))
        };
        let (mean, p99) = estimate(sizes.len(), 0).ok_or("a log without latencies")?;
        let (mut held, mut held_p99, mut known) = (0, 0, 0);
        let (mut halves, mut off, mut off_p99) = (Vec::new(), Vec::new(), Vec::new());
        for seed in 0..trials {
            let Some((own, own_p99)) = estimate(count, seed) else { continue };
            let (Some(of_mean), Some(of_p99)) = (own.interval, own_p99.interval) else { continue };
            known += 1;
            held += u32::from(of_mean.holds(mean.value));
            held_p99 += u32::from(of_p99.holds(p99.value));
            halves.push(of_mean.half_width());
            off.push((own.value / mean.value).ln().abs());
            off_p99.push((own_p99.value / p99.value).ln().abs());
        }
        let share = |count: u32| 100.0 * f64::from(count) / f64::from(known);
        println!(
            "{file}: {:.4} {:.1} {:.2} {:.2}; {:.4} {:.1} {:.2}",
            mean.value,
            share(held),
            100.0 * median(halves),
            100.0 * median(off),
            p99.value,
            share(held_p99),
            100.0 * median(off_p99)
        );
    }
    Ok(())
}

/// The latencies of a log's windows, in the order of the requests; what is left over is cut off.
fn windows(file: &str, window: usize) -> Result<Vec<Latencies>, Box<dyn Error>> {
    let text = fs::read_to_string(file)?;
    let mut lines = text.lines();
    let names: Vec<&str> = lines.next().unwrap_or("").split(',').collect();
    let place = |name: &str| {
        names.iter().position(|own| *own == name).ok_or(format!("{file}: no column {name}"))
    };
    let (number, latency) = (place("number")?, place("device_latency_ns")?);
    let mut all = Vec::new();
    for line in lines {
        let cells: Vec<&str> = line.split(',').collect();
        let cell = |at: usize| cells.get(at).and_then(|cell| cell.parse::<u64>().ok());
        let pair = cell(number).zip(cell(latency));
        all.push(pair.ok_or_else(|| format!("{file}: not a line of a log: {line}"))?);
    }
    all.sort_unstable();
    let latencies: Vec<u64> = all.into_iter().map(|(_, nanos)| nanos).collect();
    Ok(latencies.chunks_exact(window).map(|own| Latencies::new(own.to_vec())).collect())
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values.get(values.len() / 2).copied().unwrap_or(f64::NAN)
}
